//! `TpuExecutable_ExecuteAsyncOnStream`: a run of a program on one device.
// UNSAFETY: exports a function, follows its pointers and calls the client's allocator.
#![expect(unsafe_code, reason = "a function of the C interface")]
use crate::abi::{self, Abi};
use crate::allocator::{Allocator, Taken};
use crate::boundary::report;
use crate::compiled::{Compiled, compiled};
use crate::inputs::{Input, Leaf, inputs};
use crate::memory::{self, At};
use crate::module::assigned;
use crate::objects::{Stream, stream};
use crate::results::{MadeResults, Nodes};
use crate::sys::{
    SE_Executable, SE_ExecutableRunOptions, SE_ExecutionInput, SE_ExecutionOutput, TF_Status,
};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use tpu_emu::executable::{Donation, Parameter};
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest, RunKey};
use tpu_emu::units::Bytes;
use tpu_emu::{Buffer, Error, Result};

/// Runs a program on the device of a stream; the results are there when this returns.
///
/// Memory for the results comes from the client's allocator, which may call this library back.
/// An argument that the client gives up becomes the result that the program pairs it with, or is
/// handed back to be released. The calls for the devices of a program over several of them meet:
/// each waits for the others.
///
/// Up to TensorFlow 2.18 there is a profile in front of the output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TpuExecutable_ExecuteAsyncOnStream(
    executable: *mut SE_Executable,
    se_options: *mut SE_ExecutableRunOptions,
    se_arguments: *mut *mut SE_ExecutionInput,
    se_arguments_size: c_int,
    fifth: *mut c_void,
    sixth: *mut c_void,
    seventh: *mut c_void,
) {
    let abi = abi::current();
    let (output, status) = output_and_status(abi.as_ref().ok().copied(), fifth, sixth, seventh);
    report(&"TpuExecutable_ExecuteAsyncOnStream", status, || {
        let abi = abi?;
        // SAFETY: the contract of the interface.
        let options = unsafe { memory::get(se_options, "se_options") }?;
        let run = DeviceRun::new(compiled(executable)?, &options)?;
        // From here on the other devices of the run are told where this one fails.
        // SAFETY: as above.
        let output = unsafe { At::new(output, "se_output") };
        let arguments = output
            .clone()
            // SAFETY: as above.
            .and_then(|_| unsafe { read(abi, se_arguments, se_arguments_size) });
        let made = run.meet(arguments)?;
        made.write(abi, output?, &run.program.result, run.ordinal);
        Ok(())
    });
}

/// The last two of the arguments of [`TpuExecutable_ExecuteAsyncOnStream`] that a dialect has.
/// Where it is not known, the seventh may not be there.
fn output_and_status(
    abi: Option<&Abi>,
    fifth: *mut c_void,
    sixth: *mut c_void,
    seventh: *mut c_void,
) -> (*mut SE_ExecutionOutput, *mut TF_Status) {
    if abi.is_some_and(|abi| abi.calls.execute_takes_profile) {
        return (sixth.cast(), seventh.cast());
    }
    (fifth.cast(), sixth.cast())
}

/// Reads the arguments of a run.
///
/// # Safety
/// As [`At::new`] asks, for each of `count` pointers.
unsafe fn read(
    abi: &Abi,
    arguments: *mut *mut SE_ExecutionInput,
    count: c_int,
) -> Result<Vec<Input>> {
    let count = memory::count_of(count.into(), "arguments")?;
    // SAFETY: the promise of this function's caller.
    let pointers = unsafe { memory::slice(arguments.cast_const(), count, "se_arguments") }?;
    // SAFETY: as above.
    let places = pointers.iter().map(|&pointer| unsafe { At::new(pointer, "an argument") });
    inputs(abi, &places.collect::<Result<Vec<_>>>()?)
}

/// One device's run.
struct DeviceRun {
    program: Arc<Compiled>,
    stream: Arc<Stream>,
    device: usize,
    /// The client's number of the device.
    ordinal: c_int,
    /// The number of the device that the options ask for; negative for the stream's.
    asked: c_int,
    key: RunKey,
    allocator: Allocator,
}

impl DeviceRun {
    fn new(program: Arc<Compiled>, options: &SE_ExecutableRunOptions) -> Result<Self> {
        let stream = stream(options.stream)?;
        let device = stream.executor.device;
        let ordinal = stream.executor.ordinal();
        let assignment = &options.device_assignment;
        // SAFETY: the contract of the interface.
        let bytes = unsafe {
            memory::slice(assignment.bytes.cast(), assignment.size, "device_assignment")
        }?;
        // TensorFlow sends none; a program of one device is where its stream is.
        let several = program.executable.devices.len() > 1;
        let devices = match several {
            true => program.machine.devices_with_ids(&assigned(bytes)?)?,
            false => Vec::new(),
        };
        let key = RunKey { run: options.run_id, devices };
        let (allocator, asked) = (Allocator::new(options.allocator), options.device_ordinal);
        Ok(Self { program, stream, device, ordinal, asked, key, allocator })
    }

    /// Runs the program with the arguments that could be read; where this device cannot, the
    /// others are told.
    fn meet(&self, arguments: Result<Vec<Input>>) -> Result<MadeResults> {
        let prepared = arguments.and_then(|arguments| self.prepare(arguments));
        let machine = &self.program.machine;
        let executable = &self.program.executable;
        match prepared {
            Ok(prepared) => {
                let Prepared { arguments, results, options, .. } = &prepared;
                let results = Some(&**results);
                let one = DeviceRequest { device: self.device, arguments, results };
                machine.join(&LaunchRequest { executable, devices: &[one], options }, &self.key)?;
                Ok(prepared.made())
            }
            Err(error) => {
                // That this device is not of the run is no news to the others.
                drop(machine.abandon(executable, self.device, &self.key, error.clone()));
                Err(error)
            }
        }
    }

    /// Checks the arguments and takes memory for the results.
    fn prepare(&self, arguments: Vec<Input>) -> Result<Prepared<'_>> {
        self.stream.outcome()?;
        if self.asked >= 0 && self.asked != self.ordinal {
            let (asked, own) = (self.asked, self.ordinal);
            return Err(Error::bad(format!("device {asked} with a stream of device {own}")));
        }
        let Compiled { machine, executable, result, .. } = &*self.program;
        let leaves: Vec<&Leaf> = arguments.iter().flat_map(|argument| &argument.leaves).collect();
        let (name, wanted, given) = (&executable.name, executable.parameters.len(), leaves.len());
        if wanted != given {
            let message = format!("{name} takes {wanted} arrays; {given} were given");
            return Err(Error::bad(message));
        }
        for (index, (leaf, parameter)) in leaves.iter().zip(&executable.parameters).enumerate() {
            leaf.check(machine.specs(), &parameter.spec)
                .map_err(|error| Error::bad(format!("{name}: parameter {index}: {error}")))?;
        }
        let buffer = |(leaf, parameter): (&&Leaf, &Parameter)| {
            let base = &leaf.memory.memory;
            let address = base.opaque.expose_provenance();
            machine.raw_buffer(self.device, address, Bytes(base.size), &parameter.spec)
        };
        let buffers: Result<Vec<Arc<Buffer>>> =
            leaves.iter().zip(&executable.parameters).map(buffer).collect();
        let given_up = |index: usize| leaves[index].memory.owned;
        let kept = executable.parameters.iter().enumerate();
        let not_donated = kept
            .filter(|(index, parameter)| parameter.donation != Donation::Kept && !given_up(*index))
            .map(|(index, _)| index)
            .collect();
        let mut nodes = Nodes::new(&self.program, &leaves, self.allocator.taking(self.ordinal));
        nodes.visit(result, &mut Vec::new())?;
        let Nodes { taken, bases, arrays, aliased, used, .. } = nodes;
        let results: Result<Vec<Arc<Buffer>>> = arrays
            .iter()
            .zip(&executable.results)
            .map(|(base, result)| {
                let address = base.opaque.expose_provenance();
                machine.raw_buffer(self.device, address, Bytes(base.size), &result.spec)
            })
            .collect();
        // What the client gave up and no result lies in goes back to it.
        let unused = leaves.iter().zip(&used).filter(|(leaf, used)| leaf.memory.owned && !**used);
        let tables = arguments.iter().flat_map(|argument| &argument.tables);
        let tables = tables.filter(|table| table.owned).copied();
        let released = unused.map(|(leaf, _)| leaf.memory).chain(tables).collect();
        Ok(Prepared {
            arguments: buffers?,
            results: results?,
            options: LaunchOptions { not_donated, ..LaunchOptions::default() },
            made: MadeResults { bases, aliased, released },
            taken,
        })
    }
}

/// A run that has all its memory. Dropped, it gives the results' memory back.
struct Prepared<'run> {
    arguments: Vec<Arc<Buffer>>,
    results: Vec<Arc<Buffer>>,
    options: LaunchOptions,
    made: MadeResults,
    taken: Taken<'run>,
}

impl Prepared<'_> {
    /// Leaves the memory to the client.
    fn made(self) -> MadeResults {
        self.taken.keep();
        self.made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::said;
    use crate::client::{dialect, executor, stream as new_stream};
    use crate::launcher::{INC, LaunchCall, Pool, code, compile, f32s, held, pair, program, sum};
    use crate::module::ModuleConfig;
    use crate::{TpuExecutable_Free, TpuExecutor_DeallocateStream, TpuStream_Free};
    use std::{ptr, thread};
    use tpu_proto::Message as _;

    #[test]
    fn a_run_gives_its_result_in_the_client_s_memory() {
        let (executable, x, mut pool) = (program(&code(INC)), held(2, &[1.0, 2.0]), Pool::new(2));
        for ordinal in [-1, 2] {
            let mut call =
                LaunchCall::new(executable, &mut pool, 2).with(&f32s(&[2]), &[(x.base, false)]);
            call.options.device_ordinal = ordinal;
            let output = call.run().unwrap();
            assert_eq!((output.shape.text().as_str(), output.ordinal), ("f32[2]", 2));
            assert_eq!((pair(x.base), pair(output.bases[0])), ([1.0, 2.0], [2.0, 3.0]));
        }
        assert_eq!(pool.asked, [512, 512]);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let (executable, x, mut pool) = (program(&code(INC)), held(0, &[1.0, 2.0]), Pool::new(0));
        let freed = program(&code(INC));
        TpuExecutable_Free(freed);
        let gone = new_stream(0);
        TpuStream_Free(gone);
        type Change<'a> = &'a dyn Fn(&mut LaunchCall);
        let changes: [(Change<'_>, &str); 5] = [
            (&|call| call.options.device_ordinal = 1, "device 1 with a stream of device 0"),
            (&|call| call.options.stream = ptr::null_mut(), "SE_Stream"),
            (&|call| call.options.stream = gone, "SE_Stream"),
            (&|call| call.executable = ptr::null_mut(), "SE_Executable"),
            (&|call| call.executable = freed, "SE_Executable"),
        ];
        for (change, why) in changes {
            let mut call =
                LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
            change(&mut call);
            let error = call.run().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(pool.asked.is_empty());
    }

    #[test]
    fn a_failed_stream_runs_nothing() {
        let (executable, x, mut pool) = (program(&code(INC)), held(0, &[1.0, 2.0]), Pool::new(0));
        let mut call =
            LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
        stream(call.options.stream).unwrap().fail(Error::bad("the copy before"));
        assert!(call.run().unwrap_err().contains("the copy before"));
        TpuExecutor_DeallocateStream(executor(0), call.options.stream);
    }

    #[test]
    fn the_output_is_where_the_dialect_has_it() {
        let [fifth, sixth, seventh] = [5, 6, 7].map(ptr::without_provenance_mut);
        let places = |name| {
            let abi = abi::named(name).ok();
            let (output, status) = output_and_status(abi, fifth, sixth, seventh);
            (output.addr(), status.addr())
        };
        for abi in abi::ROWS {
            let late = ["tf-2.19", "tf-2.20"].contains(&abi.name);
            assert_eq!(places(abi.name), if late { (5, 6) } else { (6, 7) }, "{}", abi.name);
        }
        assert_eq!(places("not known"), (5, 6));
    }

    #[test]
    fn missing_structs_are_named() {
        dialect();
        let (executable, mut pool) = (program(&code(INC)), Pool::new(0));
        let mut call = LaunchCall::new(executable, &mut pool, 0);
        let mut output = crate::client::words(dialect().fields.execution_output.size);
        let mut none = [ptr::null_mut::<SE_ExecutionInput>()];
        let options = &raw mut call.options;
        let place = output.as_mut_ptr().cast::<c_void>();
        let arguments = none.as_mut_ptr();
        let nothing = ptr::null_mut();
        for (options, arguments, place, why) in [
            (ptr::null_mut(), arguments, place, "se_options"),
            (options, ptr::null_mut(), place, "se_arguments"),
            (options, arguments, place, "an argument"),
            (options, arguments, ptr::null_mut(), "se_output"),
        ] {
            // SAFETY: structs of the dialect, or null.
            let error = said(|status| unsafe {
                let status = status.cast();
                let execute = TpuExecutable_ExecuteAsyncOnStream;
                execute(executable, options, arguments, 1, nothing, place, status);
            });
            let error = error.unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    /// What each of 7 devices gives for its `x`, all at once; device 3 has memory or not.
    fn calls(executable: usize, third_has_memory: bool) -> Vec<Result<[f32; 2], String>> {
        let call = |device: u8| {
            let (place, own) = (usize::from(device), f32::from(device));
            let (x, mut pool) = (held(place, &[own, 1.0]), Pool::new(place));
            if device == 3 && !third_has_memory {
                pool.fails_at = Some(0);
            }
            let executable = ptr::without_provenance_mut(executable);
            let mut call =
                LaunchCall::new(executable, &mut pool, place).with(&f32s(&[2]), &[(x.base, false)]);
            let outcome = call.run().map(|output| pair(output.bases[0]));
            assert_eq!(pool.live.len(), usize::from(outcome.is_ok()));
            outcome
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..7).map(|device| scope.spawn(move || call(device))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn the_calls_of_seven_replicas_meet() {
        let executable = compile(&sum().encode_to_vec(), &ModuleConfig::over(7, 1)).unwrap();
        let all = vec![Ok([21.0, 7.0]); 7];
        assert_eq!(calls(executable.addr(), true), all);
        for outcome in calls(executable.addr(), false) {
            assert!(outcome.unwrap_err().contains("the pool is dry"));
        }
        assert_eq!(calls(executable.addr(), true), all);
    }

    #[test]
    fn a_device_with_a_bad_argument_does_not_leave_the_others_waiting() {
        let executable = compile(&sum().encode_to_vec(), &ModuleConfig::over(2, 1)).unwrap();
        let executable = executable.addr();
        let call = |device: usize, count: Option<c_int>| {
            let (x, mut pool) = (held(device, &[1.0, 2.0]), Pool::new(device));
            let executable = ptr::without_provenance_mut(executable);
            let mut call = LaunchCall::new(executable, &mut pool, device)
                .with(&f32s(&[2]), &[(x.base, false)]);
            call.count = count;
            call.run().unwrap_err()
        };
        thread::scope(|scope| {
            let good = scope.spawn(|| call(0, None));
            let bad = scope.spawn(|| call(1, Some(-1)));
            for error in [good.join().unwrap(), bad.join().unwrap()] {
                assert!(error.contains("-1 arguments"), "{error}");
            }
        });
    }

    #[test]
    fn an_assignment_names_devices_that_there_are() {
        let executable = compile(&sum().encode_to_vec(), &ModuleConfig::over(2, 1)).unwrap();
        let (x, mut pool) = (held(0, &[1.0, 2.0]), Pool::new(0));
        for (bytes, why) in [
            (&b"\x08\x01\x10\x01\x1a\x02\x0a\x00"[..], "0 devices for 1 replicas"),
            (b"\x08\x01\x10\x01\x1a\x03\x0a\x01\x7f", "no device has the id 127"),
            (b"\x08\x01\x10\x01\x1a\x03\x0a\x01\x00", "is over 2 devices; 1 were given"),
            (b"\xff", "a device assignment"),
        ] {
            let mut call =
                LaunchCall::new(executable, &mut pool, 0).with(&f32s(&[2]), &[(x.base, false)]);
            call.options.device_assignment.bytes = bytes.as_ptr().cast();
            call.options.device_assignment.size = bytes.len();
            let error = call.run().unwrap_err();
            assert!(error.contains(why), "{error}");
            assert!(pool.live.is_empty());
        }
    }
}
