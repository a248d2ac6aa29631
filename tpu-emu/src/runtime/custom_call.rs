//! Dispatch of custom calls: stages, scratch memory, calls that go on after they have returned.
use super::call_memory::{FEW, aligned, places};
use super::custom_call_services::Dispatch;
use super::emulator::Emulator;
use super::request::Context;
use crate::executable::Executable;
use crate::memory::{Memory, MemoryKind};
use crate::origin::Origin;
use crate::trace::{Dispatched, Operand};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;
use tpu_base::transport::ArrayBytes;
use tpu_base::units::{Bytes, Nanos, to_u64};
use tpu_kernels::aligned::Aligned;
use tpu_ops::core_records::CoreRecords;
use tpu_ops::custom_call::{
    Abi, Call, CallKernel, CallMemory, CallSite, Linker, Moment, Partitioner, Progress, Services,
    Stage, instantiate,
};
use tpu_ops::host_transfer::HostTransfers;
use tpu_ops::replica_exchange::Others;
use tpu_ops::{CallCompiler, Kernel};
use tpu_pallas::core_memory::CalledKernel;
use tpu_program::interpret::custom_call::{LaunchServices, PendingCall};
use tpu_program::interpret::frame::Frame;
use tpu_program::interpret::step::Interpreter;
use tpu_program::plan::{CallAlone, Slot, Step};

/// One launch, as its custom calls see it.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) machine: Arc<Emulator>,
    /// Device of each partition: number among those of the topology, and what it does for calls.
    pub(super) devices: Vec<(usize, OnceLock<Device>)>,
    pub(super) origin: Origin,
    pub(super) program: Arc<str>,
    pub(super) context: Option<Context>,
    /// The clients that serve host transfers, one a device; none where nobody does.
    pub(super) transfers: Vec<Arc<dyn HostTransfers>>,
    /// The other replicas, where each runs a program of its own.
    pub(super) others: Option<Arc<dyn Others>>,
    /// Who takes the calls of other processes' devices through their stages.
    pub(super) remote: Option<Arc<dyn RemoteCalls>>,
    pub(super) number: i64,
    /// What each call keeps for this launch.
    states: Vec<OnceLock<Option<Context>>>,
    /// What it keeps for each device, where one call serves several.
    own_states: Mutex<HashMap<(usize, usize), Option<Context>>>,
}

/// What a device does for the calls of a launch, which run one after the other.
#[derive(Debug)]
pub(super) struct Device {
    dispatch: Arc<Dispatch>,
    /// What the device does, as the targets see it.
    services: Arc<dyn Services>,
}

impl Launch {
    /// A launch of a program with `calls` custom calls.
    pub(super) fn new(
        machine: &Arc<Emulator>,
        (devices, number): (Vec<usize>, i64),
        origin: Origin,
        program: &Arc<str>,
        context: Option<Context>,
        calls: usize,
    ) -> Self {
        let (machine, program) = (Arc::clone(machine), Arc::clone(program));
        let states = (0..calls).map(|_| OnceLock::new()).collect();
        let devices = devices.into_iter().map(|device| (device, OnceLock::new())).collect();
        let (transfers, others, remote) = (Vec::new(), None, None);
        Self {
            machine,
            devices,
            origin,
            program,
            context,
            transfers,
            others,
            remote,
            number,
            states,
            own_states: Mutex::default(),
        }
    }
}

/// A call whose stage has returned and goes on.
#[derive(Debug)]
pub(super) struct OpenCall {
    event: Event,
    dispatch: Arc<Dispatch>,
    timeout: std::time::Duration,
    record: Option<Box<Record>>,
    /// What the handler may still write to.
    held: Arc<dyn Any + Send + Sync>,
}

impl PendingCall for OpenCall {
    fn finish(self: Box<Self>) -> Result<()> {
        let Self { event, dispatch, timeout, record, held } = *self;
        let outcome = event.wait_for(timeout).unwrap_or_else(|| {
            let target = dispatch.target();
            let message = format!(
                "custom call \"{target}\" has not ended {timeout:?} after its handler returned"
            );
            let keep = (Arc::clone(&dispatch), held);
            event.on_ready(move |_| {
                keep.0.close();
                drop(keep);
            });
            Err(Error::Verbatim { code: Code::DeadlineExceeded, message: message.into() })
        });
        if event.is_ready() {
            dispatch.close();
        }
        if let Some(record) = record {
            record.write(&dispatch, &outcome);
        }
        outcome
    }
}

impl LaunchServices for Launch {
    fn dispatch(
        &self,
        run: &Interpreter<'_>,
        step: &Step,
        kernel: &CallKernel,
        stage: Stage,
    ) -> Result<Option<Box<dyn PendingCall>>> {
        let call = kernel.call();
        let site = call.site();
        let target = || format!("custom call \"{}\"", site.target);
        let place = run.device.unwrap_or(site.partition);
        if let Some(remote) = self.remote.as_ref().filter(|remote| remote.serves(place)) {
            return elsewhere((&**remote, place), run, step, kernel, stage).map(|()| None);
        }
        let state = self
            .states
            .get(kernel.number())
            .ok_or_else(|| Error::bad(format!("{} is not of this program", target())))?;
        let (number, device) = self.devices.get(place).ok_or_else(|| {
            let (number, count) = (place, self.devices.len());
            Error::bad(format!("{} on device {number} of {count}", target()))
        })?;
        let number = *number;
        let own;
        let state = if run.device.is_some() {
            let mut states = self.own_states.lock();
            own = states.entry((kernel.number(), place)).or_insert_with(|| call.begin()).clone();
            own.as_ref()
        } else {
            state.get_or_init(|| call.begin()).as_ref()
        };
        let Device { dispatch, services } = device.get_or_init(|| {
            let dispatch = Arc::new(Dispatch {
                machine: Arc::clone(&self.machine),
                device: number,
                run: self.number,
                origin: self.origin,
                context: self.context.clone(),
                scratch: Mutex::default(),
            });
            let services: Arc<dyn Services> = Arc::clone(&dispatch) as Arc<dyn Services>;
            Device { dispatch, services }
        });
        let mut few = [[CallMemory::default(); FEW]; 2];
        let mut many = [Vec::new(), Vec::new()];
        let ([few_operands, few_results], [many_operands, many_results]) = (&mut few, &mut many);
        let results = places(run.frame, &step.results, few_results, many_results);
        let operands = places(run.frame, &step.operands, few_operands, many_operands);
        let copies = match run.device {
            Some(_) if stage == Stage::Execute => aligned(run.frame, &step.operands, operands)?,
            _ => Vec::new(),
        };
        for (&alias, &result) in site.aliases.iter().zip(&*results) {
            if let Some(operand) = alias.and_then(|at| operands.get_mut(at)) {
                *operand = result;
            }
        }
        let (operands, results) = (&*operands, &*results);
        dispatch.open(&site.target);
        run.guard(step, stage);
        let record = Record::begin(self, number, kernel, stage, operands, results);
        let moment = Moment { services, state, operands, results };
        let progress = match call.run(stage, &moment) {
            Ok(Progress::Pending(event)) => match event.outcome() {
                Some(outcome) => outcome.clone().map(|()| None),
                None => Ok(Some(event)),
            },
            Ok(Progress::Done) => Ok(None),
            Err(error) => Err(error),
        };
        match progress {
            Ok(Some(event)) => {
                let timeout = self.machine.call_timeout();
                let held: Arc<dyn Any + Send + Sync> = match &copies[..] {
                    [] => run.frame.held(),
                    _ => Arc::new((run.frame.held(), copies)),
                };
                let dispatch = Arc::clone(dispatch);
                Ok(Some(Box::new(OpenCall { event, dispatch, timeout, record, held })))
            }
            over => {
                dispatch.close();
                let outcome = over.and_then(|_| run.unharmed(step, stage));
                if let Some(record) = record {
                    record.write(dispatch, &outcome);
                }
                outcome.map(|()| None)
            }
        }
    }

    fn poison(&self, result: &mut [u8]) {
        self.machine.poison(result);
    }

    fn transfers(&self) -> &[Arc<dyn HostTransfers>] {
        &self.transfers
    }

    fn others(&self) -> Option<&dyn Others> {
        self.others.as_deref()
    }

    fn cores(&self) -> Option<&dyn CoreRecords> {
        self.machine.ledger().is_heard().then_some(self as &dyn CoreRecords)
    }
}

/// Takes calls through their stages in the processes that have their devices.
pub(super) trait RemoteCalls: fmt::Debug + Send + Sync {
    /// Whether a device of the program, told by its place, is another process's.
    fn serves(&self, place: usize) -> bool;

    /// Takes call number `number` of a device through a stage, with the bytes of its operands for
    /// [`Stage::Execute`]; gives those of its results.
    ///
    /// # Errors
    /// The target's own, and what befell its process.
    fn call(
        &self,
        place: usize,
        number: usize,
        stage: Stage,
        operands: &[Vec<u8>],
    ) -> Result<Vec<Vec<u8>>>;
}

/// The processes that have the other devices of a run.
pub(super) trait OtherProcesses: fmt::Debug + Send + Sync {
    /// Who takes their calls of the program in which every device reads its own copy of some
    /// parameters ([`Emulator::reading_own_copies`]).
    fn calls(&self, own_copies: Vec<usize>) -> Arc<dyn RemoteCalls>;
}

/// Has a call taken through a stage by another process.
fn elsewhere(
    (remote, place): (&dyn RemoteCalls, usize),
    run: &Interpreter<'_>,
    step: &Step,
    kernel: &CallKernel,
    stage: Stage,
) -> Result<()> {
    let (site, executes) = (kernel.call().site(), stage == Stage::Execute);
    let mut slots = step.operands.to_vec();
    for (&alias, &result) in site.aliases.iter().zip(&step.results) {
        if let Some(operand) = alias.and_then(|at| slots.get_mut(at)) {
            *operand = result;
        }
    }
    let given = slots.iter().filter(|_| executes).map(|&slot| run.frame.bytes(slot).to_vec());
    let given: Vec<Vec<u8>> = given.collect();
    let made = remote.call(place, kernel.number(), stage, &given)?;
    for (&to, from) in step.results.iter().zip(&made).filter(|_| executes) {
        if to.bytes != from.len() {
            let (name, wanted, given) = (&site.target, to.bytes, from.len());
            let message = format!("custom call \"{name}\" gave {given} bytes, not {wanted}");
            return Err(Error::bad(message));
        }
        run.frame.bytes_mut(to).copy_from_slice(from);
    }
    Ok(())
}

impl Launch {
    /// Takes a call of this process's devices through a stage for a run of another process:
    /// [`RemoteCalls::call`] on the other side.
    ///
    /// # Errors
    /// The target's own; `BadArgument` for a number that no call has, and for other operands.
    pub(super) fn serve(
        &self,
        executable: &Executable,
        (place, number): (usize, usize),
        stage: Stage,
        operands: &[ArrayBytes],
    ) -> Result<Vec<Vec<u8>>> {
        let (plan, name) = (&executable.plan, &executable.name);
        let alone = plan.call(number).map(Step::call_alone).transpose()?.flatten();
        let none = || Error::bad(format!("{name} has no custom call {number}"));
        let CallAlone { step, mut memories } = alone.ok_or_else(none)?;
        let kernel = step.call().ok_or_else(none)?;
        if stage == Stage::Execute {
            let fits = |(given, slot): (&ArrayBytes, &Slot)| (**given).as_ref().len() == slot.bytes;
            let all = operands.len() == step.operands.len();
            if !all || !operands.iter().zip(&step.operands).all(fits) {
                let message = format!("operands that custom call {number} of {name} does not take");
                return Err(Error::bad(message));
            }
            let results = memories.iter_mut().skip(step.operands.len());
            results.for_each(|memory| self.machine.poison(memory.bytes_mut()));
            let fill = |memory: &mut Aligned, bytes: &ArrayBytes| {
                let bytes = (**bytes).as_ref();
                memory.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
            };
            memories.iter_mut().zip(operands).for_each(|(memory, bytes)| fill(memory, bytes));
            for (result, &alias) in (step.operands.len()..).zip(&kernel.call().site().aliases) {
                let Some((memory, bytes)) =
                    alias.and_then(|at| Some((memories.get_mut(result)?, operands.get(at)?)))
                else {
                    continue;
                };
                fill(memory, bytes);
            }
        }
        let frame = Frame::new(memories);
        let (launch, device) = (Some(self as &dyn LaunchServices), Some(place));
        let run = Interpreter { launch, device, ..Interpreter::alone(&frame) };
        let _mode = executable.numerics.subnormals().enter();
        if let Some(open) = self.dispatch(&run, &step, kernel, stage)? {
            open.finish()?;
            run.unharmed(&step, stage)?;
        }
        let results = step.results.iter().filter(|_| stage == Stage::Execute);
        Ok(results.map(|&slot| frame.bytes(slot).to_vec()).collect())
    }
}

/// Makes the calls of a program, and tells the trace of it.
#[derive(Debug)]
pub(super) struct Linking<'a> {
    pub(super) machine: &'a Emulator,
    /// The program's name.
    pub(super) program: &'a Arc<str>,
    /// The kernels that were made.
    pub(super) kernels: &'a RefCell<Vec<CalledKernel>>,
}

impl CallCompiler for Linking<'_> {
    fn compiled(&self, site: &CallSite, devices: &[usize]) -> Option<Result<Box<dyn Kernel>>> {
        (&*site.target == tpu_pallas::TARGET).then(|| {
            let (kernel, called) = self.machine.pallas().kernel(site, devices)?;
            let mut known = self.kernels.borrow_mut();
            // What is emitted once more is the same call.
            if !known.iter().any(|other| other.is_same(&called)) {
                known.push(called);
            }
            Ok(kernel)
        })
    }
}

impl Linker for Linking<'_> {
    fn partitioner(&self, target: &str) -> Option<Arc<dyn Partitioner>> {
        self.machine.custom_calls().partitioner(target)
    }

    fn link(&self, site: CallSite) -> Result<Arc<dyn Call>> {
        let site = Arc::new(site);
        let target = self.machine.custom_calls().find(&site.target, site.abi == Abi::Typed)?;
        let ledger = self.machine.ledger();
        if !ledger.is_heard() {
            return instantiate(&*target, site);
        }
        let origin = ledger.origin();
        let made = instantiate(&*target, Arc::clone(&site));
        // Without a handler for the stage nothing was called.
        if made.as_ref().is_ok_and(|call| !call.has(Stage::Instantiate)) {
            return made;
        }
        ledger.dispatched(&Dispatched {
            device: 0,
            stage: Stage::Instantiate,
            run: 0,
            program: Arc::clone(self.program),
            operands: Vec::new(),
            results: Vec::new(),
            duration: Nanos(ledger.now().0.saturating_sub(origin.time.0)),
            scratch: Vec::new(),
            error: made.as_ref().err().map(ToString::to_string),
            site,
            origin,
        });
        made
    }
}

/// What the trace will say of a dispatch.
#[derive(Debug)]
struct Record {
    dispatched: Dispatched,
    begun: Nanos,
}

impl Record {
    /// Takes down what is known before the call; `None` where nobody listens.
    ///
    /// Inlined, so that stacks begin with the dispatch.
    #[inline(always)]
    fn begin(
        launch: &Launch,
        device: usize,
        kernel: &CallKernel,
        stage: Stage,
        operands: &[CallMemory],
        results: &[CallMemory],
    ) -> Option<Box<Self>> {
        let ledger = launch.machine.ledger();
        if !ledger.is_heard() {
            return None;
        }
        let site = Arc::clone(kernel.call().site());
        let heap = launch.machine.heap(Memory { device, kind: MemoryKind::Device });
        let operand = |place: &CallMemory| Operand {
            address: if place.bytes == 0 { None } else { heap.addr_of(place.address) },
            bytes: Bytes(to_u64(place.bytes)),
        };
        let begun = ledger.now();
        let mut origin = ledger.origin_of(&launch.origin);
        origin.time = begun;
        let dispatched = Dispatched {
            operands: operands.iter().map(operand).collect(),
            results: results.iter().map(operand).collect(),
            site,
            stage,
            device,
            run: launch.number,
            program: Arc::clone(&launch.program),
            origin,
            duration: Nanos(0),
            scratch: Vec::new(),
            error: None,
        };
        Some(Box::new(Self { dispatched, begun }))
    }

    fn write(self, dispatch: &Dispatch, outcome: &Result<()>) {
        let Self { mut dispatched, begun } = self;
        let ledger = dispatch.machine.ledger();
        dispatched.duration = Nanos(ledger.now().0.saturating_sub(begun.0));
        dispatched.scratch = std::mem::take(&mut dispatch.scratch.lock().taken);
        dispatched.error = outcome.as_ref().err().map(ToString::to_string);
        ledger.dispatched(&dispatched);
    }
}
