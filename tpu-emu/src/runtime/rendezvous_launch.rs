//! Runs over several devices whose client calls once for each device: the calls meet, and the
//! last one runs the program.
use super::dependencies::{ArgumentHolds, Kept};
use super::emulator::Emulator;
use super::job::Job;
use super::launch::{Blocks, RunBlocks, give_up, held, places};
use super::loaded::LoadedExecutable;
use super::rendezvous::{Contribution, Rendezvous, RunKey};
use super::request::{LaunchRequest, Launched};
use super::run_record::RunRecord;
use crate::buffer::Hold;
use crate::executable::Executable;
use std::sync::Arc;
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;

impl Emulator {
    /// Starts one device's part of a run over several devices: the run begins when all of its
    /// devices have theirs. A program whose devices do not run as one is started as
    /// [`Emulator::launch`] does.
    ///
    /// Returns at once where the results have new memory. Where they are in the client's, it
    /// returns when the run has ended, on all devices with the same outcome.
    ///
    /// # Errors
    /// As for [`Emulator::launch`], which the other devices' parts then end with; `BadArgument`
    /// for a device that is not of the run. As the error of the run: those of the others, also of
    /// a device that does not come ([`Emulator::abandon`]), and `DeadlineExceeded` where a device
    /// has not come after [`Emulator::call_timeout`].
    /// A replica's part with new memory is a run of its own, which fails by itself: with the
    /// errors of the others and for lack of them at its collectives, and with `WrongState` where
    /// the replicas do not agree about these.
    pub fn join(self: &Arc<Self>, request: &LaunchRequest<'_>, key: &RunKey) -> Result<Launched> {
        let LaunchRequest { executable, devices: [one], .. } = *request else {
            let given = request.devices.len();
            return Err(Error::bad(format!("{given} argument lists for one device of a run")));
        };
        let waits = one.results.is_some();
        if !executable.is_joint() {
            self.check(request)?;
            let launched = self.start_one(request, None)?;
            if waits {
                launched.done.wait()?;
            }
            return Ok(launched);
        }
        let (place, devices) = self.place(executable, one.device, key)?;
        if executable.options.replicas > 1 && !waits {
            return self.start_replica(request, place, key.run);
        }
        let (part, made) = match self.contribution(request) {
            Ok((part, blocks)) => (Ok(part), Ok(blocks)),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        let Arrived { number, outcome, first } =
            self.arrive(executable, key.run, (place, devices), part);
        let blocks = made?;
        if waits {
            self.wait_for_run(number, &outcome)?;
        } else if first {
            // Nobody else waits: clients of this kind look at the results when they want them.
            let (machine, outcome) = (Arc::clone(self), outcome.clone());
            let ended = Event::pending();
            self.workers.run_dedicated(ended, move || machine.wait_for_run(number, &outcome));
        }
        Ok(self.launched(executable, one, blocks.into_iter(), &outcome))
    }

    /// What a device brings, and the new memory of its results.
    fn contribution(
        self: &Arc<Self>,
        request: &LaunchRequest<'_>,
    ) -> Result<(Contribution, Blocks)> {
        self.check(request)?;
        let (holds, outputs) = held(request)?;
        let origin = self.ledger().origin();
        let (holds, RunBlocks { results: blocks, arenas }) = self
            .run_blocks(request, holds, origin)
            .map_err(|why| self.explained_launch(why, request))?;
        // The temporaries of a run over whole arrays are never touched.
        drop(arenas);
        blocks.iter().flatten().for_each(|block| block.place().uses().wait());
        let results = places(request, &blocks, outputs);
        let holds = holds.kept();
        give_up(request);
        let options = request.options.clone();
        Ok((Contribution { holds, results, options }, blocks))
    }

    /// Says that a device does not come to a run that the others may wait for: they fail with
    /// `error`.
    ///
    /// # Errors
    /// `BadArgument` for a device that is not of the run.
    pub fn abandon(
        self: &Arc<Self>,
        executable: &Arc<LoadedExecutable>,
        device: usize,
        key: &RunKey,
        error: Error,
    ) -> Result<()> {
        if executable.is_joint() {
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
        executable: &Arc<LoadedExecutable>,
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
            let mut open = self.rendezvous.0.lock();
            let forgotten = open.forget(now.0.saturating_sub(patience));
            let at = open.find(executable, run, devices, place);
            let one = &mut open.waiting[at];
            let first = !one.arrived.contains(&true);
            one.arrived[place] = true;
            one.parts[place] = part;
            if error.is_some() {
                one.failed.get_or_insert(now);
            }
            if one.failed.is_some() {
                dropped.append(&mut one.parts);
                one.parts.resize_with(devices.len(), || None);
            }
            let arrived = Arrived { number: one.number, outcome: one.outcome.clone(), first };
            let all = one.arrived.iter().all(|&arrived| arrived);
            let full = if all { Some(open.waiting.remove(at)) } else { None };
            (arrived, full, forgotten)
        };
        drop(dropped);
        if let Some(error) = error {
            arrived.outcome.settle(Err(error));
        } else if let Some(run) = full.filter(|run| run.failed.is_none()) {
            self.start_all(executable, run);
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
            let mut open = self.rendezvous.0.lock();
            let mut waiting = open.waiting.iter_mut();
            // One that is not there any more has begun.
            waiting.find(|one| one.number == number).map(|one| {
                one.failed.get_or_insert(now);
                let none = one.devices.iter().map(|_| None).collect();
                dropped = std::mem::replace(&mut one.parts, none);
                one.late(self, self.call_timeout())
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
    fn start_all(self: &Arc<Self>, executable: &Arc<LoadedExecutable>, all: Rendezvous) {
        let Rendezvous { devices, parts, outcome, .. } = all;
        let mut parts: Vec<Contribution> = parts.into_iter().flatten().collect();
        let transfers = parts.iter().flat_map(|part| part.options.transfers.iter().cloned());
        let (number, origin) = (self.next_launch(), self.ledger().origin());
        let record = RunRecord::new(self, executable, (&devices, number), origin);
        let job = Job {
            machine: Arc::clone(self),
            executable: Arc::clone(executable),
            devices,
            seed: self.seed(executable),
            origin,
            number,
            record,
            watch: None,
            context: parts.iter().find_map(|part| part.options.context.clone()),
            arena: Hold::Empty,
            constants: Hold::Empty,
            transfers: transfers.collect(),
            others: None,
            remote: None,
            results: parts.iter_mut().flat_map(|part| std::mem::take(&mut part.results)).collect(),
        };
        let start = move |parts: &[Contribution], outcome: &Event| {
            let holds: Vec<&Kept> = parts.iter().map(|part| &part.holds).collect();
            job.start(ArgumentHolds::joined(&holds), Vec::new(), outcome, None).pass();
        };
        if parts.iter().all(|part| part.holds.there().is_ready()) {
            return start(&parts, &outcome);
        }
        // Its own outcome is nobody's: the run's is the rendezvous'.
        self.workers.run_dedicated(Event::pending(), move || {
            parts.iter().try_for_each(|part| part.holds.there().wait())?;
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
    use crate::buffer::Buffer;
    use crate::config::Config;
    use crate::executable::{CompileOptions, Format};
    use crate::runtime::rendezvous::REMEMBERED;
    use crate::runtime::{DeviceRequest, LaunchOptions};
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
        program: Arc<LoadedExecutable>,
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
            self.join(device, &arguments, &results)
        }

        fn join(
            &self,
            device: usize,
            arguments: &[Arc<Buffer>],
            results: &[Arc<Buffer>],
        ) -> Result<()> {
            let options = &LaunchOptions::default();
            let one = DeviceRequest { device, arguments, results: Some(results) };
            let request = LaunchRequest { executable: &self.program, devices: &[one], options };
            self.machine.join(&request, &self.key).map(drop)
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
            self.machine.rendezvous.0.lock().waiting.is_empty()
        }
    }

    impl Drop for Client {
        fn drop(&mut self) {
            self.machine.end_raw();
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
    fn one_launch_has_results_in_the_clients_memory_and_in_new_memory() {
        let client = Client::patient();
        let blocks = [0, 1, 2].map(|device| client.block(device, [1.0, 2.0]));
        let place = client.block(2, [0.0; 2]);
        let spec = &client.program.results[0].spec;
        let buffer = |device, at| client.machine.raw_buffer(device, at, spec.padded, spec).unwrap();
        let arguments = [0, 1, 2].map(|device| [buffer(device, blocks[device])]);
        let results = [[buffer(0, blocks[0])], [buffer(2, place)]];
        let devices = [
            DeviceRequest { results: Some(&results[0]), ..DeviceRequest::new(0, &arguments[0]) },
            DeviceRequest::new(1, &arguments[1]),
            DeviceRequest { results: Some(&results[1]), ..DeviceRequest::new(2, &arguments[2]) },
        ];
        let options = &LaunchOptions::default();
        let request = LaunchRequest { executable: &client.program, devices: &devices, options };
        let launched = client.machine.launch(&request).unwrap();
        launched[0].done.wait().unwrap();
        assert_eq!([blocks[0], place].map(|at| client.read(at)), [[3.0, 6.0], [5.0, 8.0]]);
        let [none, made, no_more] = &launched[..] else { panic!("three devices") };
        assert_eq!((none.results.len(), no_more.results.len()), (0, 0));
        let mut bytes = [0; 8];
        made.results[0].region().unwrap().unwrap().read(Bytes::ZERO, &mut bytes).unwrap();
        assert_eq!(bytes[..], [4_f32, 7.0].map(f32::to_le_bytes).concat());
        let deleted = arguments.map(|[argument]| argument.is_deleted());
        assert_eq!(deleted, [false, true, false]);
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
        let error = client.join(1, &[argument], &[]).unwrap_err();
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
        assert_eq!(client.machine.rendezvous.0.lock().waiting.len(), REMEMBERED + 1);
        let forgotten = client.machine.rendezvous.0.lock().forget(1);
        assert_eq!(forgotten.len(), REMEMBERED + 1);
    }
}
