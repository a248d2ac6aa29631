//! Compiles a program and runs what compiles, on two machines.
use crate::inputs::argument;
use crate::random::Random;
use crate::readers::rewritten;
use crate::seeds::Form;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Sender, channel};
use tpu_emu::buffer::{HostArray, HostTarget};
use tpu_emu::custom_call::Registry;
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest, LoadedExecutable};
use tpu_emu::units::Bytes;
use tpu_emu::{Buffer, Code, Config, Emulator, Error, Memory, Result};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::Region;

/// The HBM of one device. What needs more is refused by the compiler.
const HBM: Bytes = Bytes(64 << 20);

/// What a program may need and still be run: a debug build is slow.
const SMALL: Bytes = Bytes(2 << 20);

/// Arithmetic operations that a program may have and still be run.
const QUICK: f64 = 2e7;

/// How far the check of a program is. Written by the check, read by who watches it.
#[derive(Debug, Default)]
pub struct Progress(AtomicU8);

/// What is being done to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It is read and compiled, or nothing is done: that takes no time.
    Compile,
    /// It runs and has no loop whose end its data decide.
    Run,
    /// It runs and has such a loop, which need not end.
    Loop,
}

impl Progress {
    /// What is being done.
    pub fn phase(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Compile,
            1 => Phase::Run,
            _ => Phase::Loop,
        }
    }

    fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }
}

/// What became of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was refused, with an error.
    Refused,
    /// It compiled, and is too large to be run here.
    Large,
    /// It compiled, and its run ended, well or with an error.
    Ran,
}

/// Two machines that must agree: one with a single thread, one with several.
#[derive(Debug)]
pub struct Checker {
    machines: [Arc<Emulator>; 2],
    /// How far the check is.
    pub progress: Arc<Progress>,
}

/// Devices that share a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// Copies on different data.
    pub replicas: usize,
    /// Devices of one copy.
    pub partitions: usize,
}

/// What a run gave: the bytes of each result of each device, or an error's text.
type Answer = std::result::Result<Vec<Vec<u8>>, String>;

impl Checker {
    /// Machines that know the targets of `registry`.
    ///
    /// # Errors
    /// Those of [`Emulator::new`].
    pub fn new(registry: &Arc<Registry>) -> Result<Self> {
        let machine = |threads| {
            Emulator::new(Config {
                hbm: Some(HBM),
                threads: NonZeroUsize::new(threads),
                custom_calls: Arc::clone(registry),
                // What nobody has written is the same in every run, and shows.
                poison: true,
                ..Config::plain()
            })
        };
        Ok(Self { machines: [machine(1)?, machine(3)?], progress: Arc::default() })
    }

    /// Reads, compiles and runs a program. `seed` decides its arguments.
    ///
    /// # Errors
    /// A fault of the machine, in words.
    pub fn check(
        &self,
        form: Form,
        bytes: &[u8],
        spread: Spread,
        seed: u64,
    ) -> std::result::Result<Outcome, String> {
        let guarded = catch_unwind(AssertUnwindSafe(|| self.checked(form, bytes, spread, seed)));
        self.progress.set(Phase::Compile);
        guarded.unwrap_or_else(|payload| {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            Err(format!("a panic: {}", text.unwrap_or("without a text")))
        })
    }

    fn checked(
        &self,
        form: Form,
        bytes: &[u8],
        spread: Spread,
        seed: u64,
    ) -> std::result::Result<Outcome, String> {
        let Some(module) = module(form, bytes) else { return Ok(Outcome::Refused) };
        let [one, two] = &self.machines;
        let compiled = match compile(one, &module, bytes, spread) {
            Ok(compiled) => compiled,
            Err(error) => return own(&error).map_or(Ok(Outcome::Refused), Err),
        };
        // Names may hold anything in bytecode and in messages, but not in text.
        if form == Form::Text
            && let Some(fault) = rewritten(&module)
        {
            return Err(fault);
        }
        if compiled.memory.total() > SMALL
            || compiled.memory.host_arguments > SMALL
            || compiled.memory.host_outputs > SMALL
            || compiled.memory.host_temporaries > SMALL
            || compiled.cost.flops > QUICK
        {
            return Ok(Outcome::Large);
        }
        // Kernels have loops of their own.
        let loops = has(&module, "stablehlo.while") || !compiled.kernels.is_empty();
        self.progress.set(if loops { Phase::Loop } else { Phase::Run });
        let first = answer(one, &compiled, seed)?;
        let again = answer(one, &compiled, seed)?;
        same("two runs", &first, &again, &module)?;
        let compiled = match compile(two, &module, bytes, spread) {
            Ok(compiled) => compiled,
            Err(error) => return Err(format!("compiled once, and then not: {error}")),
        };
        same("one thread and three", &first, &answer(two, &compiled, seed)?, &module)?;
        Ok(Outcome::Ran)
    }
}

fn module(form: Form, bytes: &[u8]) -> Option<Module> {
    match form {
        Form::Bytecode => tpu_stablehlo::bytecode::read(bytes).ok(),
        Form::Text => tpu_stablehlo::text::parse(std::str::from_utf8(bytes).ok()?).ok(),
        Form::HloProto => tpu_hlo::read(bytes, false).ok(),
        Form::HloText => {
            let message = tpu_hlo::text::parse(std::str::from_utf8(bytes).ok()?).ok()?;
            tpu_hlo::read_message(&message, bytes.len()).ok()
        }
    }
}

fn compile(
    machine: &Arc<Emulator>,
    module: &Module,
    bytes: &[u8],
    spread: Spread,
) -> Result<Arc<LoadedExecutable>> {
    let Spread { replicas, partitions } = spread;
    let options = CompileOptions { replicas, partitions, ..CompileOptions::default() };
    machine.compile_module(module.clone(), (Format::Mlir, bytes.into()), options)
}

/// What an error says if it says that the fault is ours. What kernels do wrong is internal to
/// JAX, which makes an error of its own of it.
fn own(error: &Error) -> Option<String> {
    let is_kernel = error.to_string().contains("Mosaic kernel ");
    (error.code() == Code::Internal && !is_kernel).then(|| format!("an error of our own: {error}"))
}

/// What a run gives.
///
/// # Errors
/// A fault of the machine.
fn answer(
    machine: &Arc<Emulator>,
    executable: &Arc<LoadedExecutable>,
    seed: u64,
) -> std::result::Result<Answer, String> {
    match results(machine, executable, seed) {
        Ok(results) => Ok(Ok(results)),
        Err(error) => own(&error).map_or_else(|| Ok(Err(error.to_string())), Err),
    }
}

fn results(
    machine: &Arc<Emulator>,
    executable: &Arc<LoadedExecutable>,
    seed: u64,
) -> Result<Vec<Vec<u8>>> {
    let mut random = Random::new(seed);
    let mut lists = Vec::new();
    for &device in &executable.devices {
        let mut list = Vec::new();
        for parameter in &executable.parameters {
            let bytes = argument(&mut random, &parameter.spec);
            let array = HostArray { bytes: &bytes, low: 0, strides: None };
            let memory = Memory { device, kind: parameter.kind };
            list.push(Arc::new(machine.put(memory, Arc::clone(&parameter.spec), array)?));
        }
        lists.push(list);
    }
    let options = LaunchOptions::default();
    let devices = executable.devices.iter().zip(&lists);
    let devices: Vec<_> = devices.map(|(&device, list)| DeviceRequest::new(device, list)).collect();
    let request = LaunchRequest { executable, devices: &devices, options: &options };
    let launched = machine.launch(&request)?;
    let mut results = Vec::new();
    for one in launched {
        one.done.wait()?;
        for result in one.results {
            results.push(get(&Arc::new(result))?);
        }
    }
    Ok(results)
}

#[derive(Debug)]
struct Target {
    bytes: Vec<u8>,
    back: Sender<Vec<u8>>,
}

impl HostTarget for Target {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // Nobody waits where the transfer failed.
        let _ = self.back.send(std::mem::take(&mut self.bytes));
    }
}

fn get(buffer: &Arc<Buffer>) -> Result<Vec<u8>> {
    let size = usize::try_from(buffer.spec().host_size().0).unwrap_or(0);
    let (back, bytes) = channel();
    buffer.get(None, Box::new(Target { bytes: vec![0; size], back }))?.wait()?;
    bytes.recv().map_err(|_| Error::bad("a transfer ended without its bytes"))
}

/// What is wrong where two answers to the same question differ.
fn same(
    what: &str,
    one: &Answer,
    two: &Answer,
    module: &Module,
) -> std::result::Result<(), String> {
    // Each launch draws its own numbers.
    if one == two || has(module, "stablehlo.rng") || one.is_ok() == two.is_ok() && one.is_err() {
        return Ok(());
    }
    let place = match (one, two) {
        (Ok(one), Ok(two)) => {
            let result = one.iter().zip(two).position(|(one, two)| one != two);
            format!("result {}", result.unwrap_or_default())
        }
        (Ok(_), Err(error)) | (Err(error), _) => format!("an error: {error}"),
    };
    Err(format!("{what} differ in {place}"))
}

/// Whether some operation has this name.
fn has(module: &Module, name: &str) -> bool {
    fn inside(region: &Region, name: &str) -> bool {
        let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
        operations.any(|operation| {
            operation.name == name || operation.regions.iter().any(|region| inside(region, name))
        })
    }
    module.functions.iter().any(|function| inside(&function.body, name))
}
