//! Runs over several devices whose client calls once for each device: the calls meet, and the
//! last one runs the program.
use super::checks::{check_arguments, check_channels, check_donations};
use super::dependencies::{ArgumentHolds, Kept, Runnable as _};
use super::launch::{Blocks, LaunchOptions, Launched};
use super::output_buffers::OutputBuffers;
use super::rendezvous::{Contribution, Rendezvous, RunKey};
use super::sharded::ShardedRun;
use crate::buffer::{Buffer, Hold};
use crate::executable::Executable;
use crate::machine::Emulator;
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;

impl Emulator {
    /// One device's part of a run over several devices, with its results in memory of the client
    /// as for [`Emulator::launch_into`]. Returns when the run has ended, on all devices with the
    /// same outcome: the last device's call runs the program.
    ///
    /// # Errors
    /// As for [`Emulator::launch_into`], of any of the devices; the error of a device that does
    /// not come ([`Emulator::abandon`]); `BadArgument` for a device that is not of the run;
    /// `DeadlineExceeded` where a device has not arrived after [`Emulator::call_timeout`].
    pub fn launch_into_part(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        results: &[Arc<Buffer>],
        options: &LaunchOptions,
        key: &RunKey,
    ) -> Result<()> {
        if executable.spreads.is_none() {
            return self.launch_into(executable, device, arguments, results, options)?.wait();
        }
        let (place, devices) = self.place(executable, device, key)?;
        let checked = || {
            self.check_not_forked()?;
            check_arguments(executable, device, arguments)?;
            check_channels(executable, &options.transfers)?;
            let given = OutputBuffers::of(executable, device, arguments, results, options)?;
            let mut claims = ArgumentHolds::of(arguments.len(), arguments.iter());
            given.in_place.iter().for_each(|&index| claims.leave(index));
            let (claims, results) = (claims.kept(), given.results);
            Ok(Contribution { claims, results, options: options.clone() })
        };
        let part = checked();
        let own = part.as_ref().err().cloned();
        let Arrived { number, outcome, .. } =
            self.arrive(executable, key.run, (place, devices), part);
        match own {
            Some(error) => Err(error),
            None => self.wait_for_run(number, &outcome),
        }
    }

    /// One device's part of a run over several devices, as for [`Emulator::launch`]: returns at
    /// once, and the run begins when all devices have their part. `run` is the client's number
    /// of it.
    ///
    /// # Errors
    /// As for [`Emulator::launch`], which the other devices' parts then end with; through the
    /// results' events the errors of the others, and `DeadlineExceeded` where a device has not
    /// come after [`Emulator::call_timeout`]. A replica's part is a run of its own, which fails by
    /// itself: with the errors of the others and for lack of them at its collectives, and
    /// with `WrongState` where the replicas do not agree about these.
    pub fn launch_part(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
        run: i64,
    ) -> Result<Launched> {
        if !executable.is_joint() {
            return self.launch(executable, device, arguments, options);
        }
        let key = RunKey { run, devices: Vec::new() };
        let (place, devices) = self.place(executable, device, &key)?;
        if executable.options.replicas > 1 {
            return self.launch_replica(executable, (place, device), arguments, options, run);
        }
        let part = self.part(executable, device, arguments, options);
        let (part, made) = match part {
            Ok((part, blocks)) => (Ok(part), Ok(blocks)),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        let Arrived { number, outcome, first } =
            self.arrive(executable, run, (place, devices), part);
        let blocks = made?;
        if first {
            // Nobody else waits: clients of this kind look at the results when they want them.
            let (machine, outcome) = (Arc::clone(self), outcome.clone());
            let ended = Event::pending();
            self.workers.apart(ended, move || machine.wait_for_run(number, &outcome));
        }
        Ok(self.launched(executable, device, blocks, &outcome))
    }

    /// What a device brings whose results have new memory, and that memory.
    fn part(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        arguments: &[Arc<Buffer>],
        options: &LaunchOptions,
    ) -> Result<(Contribution, Blocks)> {
        self.check_not_forked()?;
        check_arguments(executable, device, arguments)?;
        let gives = |index: usize| options.gives(executable, index);
        check_donations(arguments, &gives)?;
        check_channels(executable, &options.transfers)?;
        let claims = ArgumentHolds::of(arguments.len(), arguments.iter());
        let (origin, lists) = (self.ledger().origin(), [(device, arguments)]);
        let (claims, mut blocks) =
            self.result_blocks(executable, &lists, claims, origin, &gives)?;
        let blocks = blocks.pop().unwrap_or_default();
        let results = blocks.iter().cloned().map(Hold::from).collect();
        let claims = claims.kept();
        for (index, argument) in arguments.iter().enumerate() {
            if gives(index) {
                argument.delete();
            }
        }
        Ok((Contribution { claims, results, options: options.clone() }, blocks))
    }

    /// Says that a device does not come to a run that the others may wait for: they fail with
    /// `error`.
    ///
    /// # Errors
    /// `BadArgument` for a device that is not of the run.
    pub fn abandon(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        device: usize,
        key: &RunKey,
        error: Error,
    ) -> Result<()> {
        if executable.spreads.is_some() {
            let place = self.place(executable, device, key)?;
            self.arrive(executable, key.run, place, Err(error));
        }
        Ok(())
    }

    /// The place of a device in the assignment of a run, and the assignment.
    fn place<'a>(
        &self,
        executable: &'a Executable,
        device: usize,
        key: &'a RunKey,
    ) -> Result<(usize, &'a [usize])> {
        let (name, run, wanted) = (&executable.name, key.run, executable.devices.len());
        let devices: &[usize] =
            if key.devices.is_empty() { &executable.devices } else { &key.devices };
        let mut distinct = devices.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if devices.len() != wanted || distinct.len() != wanted {
            let (given, distinct) = (devices.len(), distinct.len());
            return Err(Error::bad(format!(
                "{name}, run {run}, is over {wanted} devices; {given} were given, {distinct} of \
                 them distinct"
            )));
        }
        let text = self.device_name(device)?;
        let place = devices.iter().position(|&other| other == device);
        let place = place.ok_or_else(|| {
            Error::bad(format!("{text} is none of the {wanted} devices of {name}, run {run}"))
        })?;
        Ok((place, devices))
    }

    /// Takes a device's part, and starts the program if it is the last.
    fn arrive(
        self: &Arc<Self>,
        executable: &Arc<Executable>,
        run: i64,
        (place, devices): (usize, &[usize]),
        part: Result<Contribution>,
    ) -> Arrived {
        let (now, patience) = (self.ledger().now(), self.call_timeout());
        let patience = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let (part, error) = match part {
            Ok(part) => (Some(part), None),
            Err(error) => (None, Some(error)),
        };
        // Made by the first call, and not while others wait for the lock.
        executable.likeness();
        let mut dropped = Vec::new();
        let (arrived, full, _forgotten) = {
            let mut open = self.meetings.0.lock();
            let forgotten = open.forget(now.0.saturating_sub(patience));
            let at = open.find(executable, run, devices, place);
            let meeting = &mut open.meetings[at];
            let first = !meeting.arrived.contains(&true);
            meeting.arrived[place] = true;
            meeting.parts[place] = part;
            if error.is_some() {
                meeting.failed.get_or_insert(now);
            }
            if meeting.failed.is_some() {
                dropped.append(&mut meeting.parts);
                meeting.parts.resize_with(devices.len(), || None);
            }
            let arrived =
                Arrived { number: meeting.number, outcome: meeting.outcome.clone(), first };
            let all = meeting.arrived.iter().all(|&arrived| arrived);
            let full = if all { Some(open.meetings.remove(at)) } else { None };
            (arrived, full, forgotten)
        };
        drop(dropped);
        if let Some(error) = error {
            arrived.outcome.settle(Err(error));
        } else if let Some(meeting) = full.filter(|meeting| meeting.failed.is_none()) {
            self.start_parts(executable, meeting);
        }
        arrived
    }

    /// Waits for the end of a run, but no longer than the machine's patience for its beginning.
    fn wait_for_run(self: &Arc<Self>, number: u64, outcome: &Event) -> Result<()> {
        if let Some(outcome) = outcome.wait_for(self.call_timeout()) {
            return outcome;
        }
        let now = self.ledger().now();
        let mut dropped = Vec::new();
        let late = {
            let mut open = self.meetings.0.lock();
            let mut meetings = open.meetings.iter_mut();
            // One that is not there any more has begun.
            meetings.find(|meeting| meeting.number == number).map(|meeting| {
                meeting.failed.get_or_insert(now);
                let none = meeting.devices.iter().map(|_| None).collect();
                dropped = std::mem::replace(&mut meeting.parts, none);
                meeting.late(self)
            })
        };
        drop(dropped);
        if let Some(message) = late {
            let code = Code::DeadlineExceeded;
            outcome.settle(Err(Error::Verbatim { code, message: message.into() }));
        }
        outcome.wait()
    }

    /// Starts a program whose devices have all arrived, once their arguments are there.
    fn start_parts(self: &Arc<Self>, executable: &Arc<Executable>, meeting: Rendezvous) {
        let Rendezvous { devices, parts, outcome, .. } = meeting;
        let mut parts: Vec<Contribution> = parts.into_iter().flatten().collect();
        let transfers = parts.iter().flat_map(|part| part.options.transfers.iter().cloned());
        let job = ShardedRun {
            machine: Arc::clone(self),
            executable: Arc::clone(executable),
            devices,
            seed: self.seed(executable),
            origin: self.ledger().origin(),
            context: parts.iter().find_map(|part| part.options.context.clone()),
            transfers: transfers.collect(),
            results: parts.iter_mut().map(|part| std::mem::take(&mut part.results)).collect(),
        };
        let start = move |parts: &[Contribution], outcome: &Event| {
            let claims: Vec<&Kept> = parts.iter().map(|part| &part.claims).collect();
            job.start(ArgumentHolds::joined(&claims), outcome, None).pass();
        };
        if parts.iter().all(|part| part.claims.there().is_ready()) {
            return start(&parts, &outcome);
        }
        // Its own outcome is nobody's: the run's is the meeting's.
        self.workers.apart(Event::pending(), move || {
            parts.iter().try_for_each(|part| part.claims.there().wait())?;
            start(&parts, &outcome);
            Ok(())
        });
    }
}

/// How a device's part was taken.
struct Arrived {
    /// The number of the run.
    number: u64,
    /// Ends as the run does.
    outcome: Event,
    /// Whether no other device had come before.
    first: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::executable::{CompileOptions, Format};
    use crate::runtime::rendezvous::REMEMBERED;
    use std::thread;
    use std::time::Duration;
    use tpu_base::units::Bytes;

    /// The sum over three replicas plus the replica's number; it takes over `x`.
    const PROGRAM: &str = "module @sum { func.func @main(%x: tensor<2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<2xf32> {
    %0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> ({
    ^bb0(%l: tensor<f32>, %m: tensor<f32>):
      %s = stablehlo.add %l, %m : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %n = stablehlo.replica_id : tensor<ui32>
    %f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.add %0, %b : tensor<2xf32>
    return %1 : tensor<2xf32>
  } }";

    struct Client {
        machine: Arc<Emulator>,
        program: Arc<Executable>,
        key: RunKey,
    }

    impl Client {
        fn new(call_timeout: Duration) -> Self {
            let machine = Emulator::new(Config { call_timeout, ..Config::plain() }).unwrap();
            let options = CompileOptions { replicas: 3, ..CompileOptions::default() };
            let program = machine.compile(Format::Mlir, PROGRAM.as_bytes(), options).unwrap();
            Self { machine, program, key: RunKey { run: 5, devices: Vec::new() } }
        }

        fn patient() -> Self {
            Self::new(Duration::from_secs(60))
        }

        fn block(&self, device: usize, values: [f32; 2]) -> usize {
            let address = self.machine.allocate_raw(device, Bytes(1024)).unwrap();
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.machine.write_raw(address, &bytes).unwrap();
            address
        }

        fn read(&self, address: usize) -> [f32; 2] {
            let mut bytes = [0; 8];
            self.machine.read_raw(address, &mut bytes).unwrap();
            let [low, high] = [0, 4].map(|at| bytes[at..at + 4].try_into().unwrap());
            [f32::from_le_bytes(low), f32::from_le_bytes(high)]
        }

        /// The call of one device.
        fn call(&self, device: usize, argument: usize, result: usize) -> Result<()> {
            let spec = &self.program.results[0].spec;
            let buffer = |at| self.machine.raw_buffer(device, at, spec.padded, spec).unwrap();
            let (arguments, results) = ([buffer(argument)], [buffer(result)]);
            let (options, key) = (LaunchOptions::default(), &self.key);
            self.machine.launch_into_part(
                &self.program,
                device,
                &arguments,
                &results,
                &options,
                key,
            )
        }

        /// The calls of several devices at once, in place.
        fn calls(&self, devices: &[usize]) -> Vec<Result<()>> {
            let call = |&device: &usize| {
                let block = self.block(device, [1.0, 2.0]);
                self.call(device, block, block)
            };
            thread::scope(|scope| {
                let threads: Vec<_> =
                    devices.iter().map(|device| scope.spawn(move || call(device))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            })
        }

        fn abandon(&self, device: usize, why: &str) {
            let (program, key) = (&self.program, &self.key);
            self.machine.abandon(program, device, key, Error::bad(why)).unwrap();
        }

        fn is_idle(&self) -> bool {
            self.machine.meetings.0.lock().meetings.is_empty()
        }
    }

    impl Drop for Client {
        fn drop(&mut self) {
            self.machine.claims.end();
        }
    }

    #[test]
    fn runs_with_one_number_follow_one_another_and_every_device_gets_its_part() {
        let client = Client::patient();
        thread::scope(|scope| {
            for device in 0..3_u8 {
                let client = &client;
                scope.spawn(move || {
                    let place = usize::from(device);
                    let argument = client.block(place, [0.0; 2]);
                    // The first device keeps its argument.
                    let result = if device == 0 { client.block(place, [0.0; 2]) } else { argument };
                    for round in 0..50_u8 {
                        let value = f32::from(round) + f32::from(device);
                        let bytes = [value.to_le_bytes(), 1_f32.to_le_bytes()].concat();
                        client.machine.write_raw(argument, &bytes).unwrap();
                        client.call(place, argument, result).unwrap();
                        let sum = f32::from(round) * 3.0 + 3.0;
                        let own = f32::from(device);
                        assert_eq!(client.read(result), [sum + own, 3.0 + own]);
                        let kept = if device == 0 { [value, 1.0] } else { [sum + own, 3.0 + own] };
                        assert_eq!(client.read(argument), kept);
                    }
                });
            }
        });
        assert!(client.is_idle());
    }

    #[test]
    fn the_run_says_which_devices_it_is_on() {
        let mut client = Client::patient();
        client.key.devices = vec![6, 4, 5];
        let blocks = [4, 5, 6].map(|device| client.block(device, [1.0, 2.0]));
        thread::scope(|scope| {
            for (device, block) in (4..7).zip(blocks) {
                let client = &client;
                scope.spawn(move || client.call(device, block, block).unwrap());
            }
        });
        assert_eq!(blocks.map(|block| client.read(block)), [[4.0, 7.0], [5.0, 8.0], [3.0, 6.0]]);

        let refused = |client: &Client, device| client.calls(&[device]).remove(0).unwrap_err();
        let text = refused(&client, 0).to_string();
        assert_eq!(text, "TPU_0 is none of the 3 devices of sum, run 5");
        client.key.devices = vec![4, 5, 5];
        let text = refused(&client, 5).to_string();
        assert_eq!(text, "sum, run 5, is over 3 devices; 3 were given, 2 of them distinct");
    }

    #[test]
    fn a_device_that_does_not_come_fails_the_others_before_it_and_after() {
        let client = Client::patient();
        let failed = vec![Err(Error::bad("no room")); 2];
        thread::scope(|scope| {
            let others = scope.spawn(|| client.calls(&[0, 2]));
            client.abandon(1, "no room");
            assert_eq!(others.join().unwrap(), failed);
        });
        client.abandon(0, "no room");
        assert_eq!(client.calls(&[1, 2]), failed);
        assert!(client.is_idle());
        assert_eq!(client.calls(&[0, 1, 2]), [Ok(()), Ok(()), Ok(())]);
    }

    #[test]
    fn a_part_that_is_refused_fails_all() {
        let client = Client::patient();
        let spec = &client.program.results[0].spec;
        let block = client.block(1, [0.0; 2]);
        let argument = client.machine.raw_buffer(1, block, spec.padded, spec).unwrap();
        let (options, key) = (LaunchOptions::default(), &client.key);
        let part =
            client.machine.launch_into_part(&client.program, 1, &[argument], &[], &options, key);
        let error = part.unwrap_err();
        assert_eq!(error.to_string(), "sum has 1 results; memory for 0 was given");
        assert_eq!(client.calls(&[0, 2]), [Err(error.clone()), Err(error)]);
    }

    #[test]
    fn patience_ends_with_the_names_of_those_who_came_and_who_did_not() {
        let client = Client::new(Duration::from_millis(1));
        let mut errors = client.calls(&[1]);
        // Those who come late hear of it.
        errors.extend(client.calls(&[0]));
        assert!(!client.is_idle());
        errors.extend(client.calls(&[2]));
        assert!(client.is_idle());
        let text = "sum, run 5: after 1ms TPU_0, TPU_2 had not arrived; TPU_1 had";
        for error in errors {
            let error = error.unwrap_err();
            assert_eq!((error.code(), error.to_string().as_str()), (Code::DeadlineExceeded, text));
        }
    }

    #[test]
    fn runs_that_failed_are_forgotten_in_the_end() {
        let client = Client::patient();
        (0..2 * REMEMBERED).for_each(|_| client.abandon(0, "no room"));
        assert_eq!(client.machine.meetings.0.lock().meetings.len(), REMEMBERED + 1);
        let forgotten = client.machine.meetings.0.lock().forget(1);
        assert_eq!(forgotten.len(), REMEMBERED + 1);
    }
}
