//! The step of a program that is a Pallas kernel.
use crate::core_memory::CalledKernel;
use crate::extents::settle;
use crate::form::Program;
use crate::kept::Kept;
use crate::lower::{Signature, lower};
use crate::machine::copies::CopyOrder;
use crate::machine::memory::Place;
use crate::machine::records::Records;
use crate::machine::watch::{Checks, Fill};
use crate::machine::{Arrays, Failure, Machine};
use crate::outside::Outside;
use crate::piece::Pieces;
use crate::shares::has_shares;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tpu_base::error::{Code, Error, Result};
use tpu_base::tensor::Shape;
use tpu_mosaic::ir::{LocationId, Locations, user_line};
use tpu_mosaic::memory::{Budget, Call, Tiling, budgets};
use tpu_mosaic::{Config, Module, Refusal};
use tpu_ops::core_arrays::CoreArrays;
use tpu_ops::custom_call::{Backend, CallSite};
use tpu_ops::{Cost, Cx, Kernel, Numerics};

/// The target of a custom call that is a kernel.
pub const TARGET: &str = "tpu_custom_call";

/// Refusals that are told.
const MAX_TOLD: usize = 32;

/// How kernels are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// When copies that run beside them are done.
    pub order: CopyOrder,
    /// What they are watched for.
    pub checks: Checks,
}

/// Makes kernels.
pub struct Compiler {
    numerics: Numerics,
    pieces: Pieces,
    outside: Outside,
    settings: Settings,
    /// Words of rows that the smallest tile of vector memory has.
    least_words: u64,
    /// TensorCores of a device.
    tensor_cores: usize,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler").field("numerics", &self.numerics).finish_non_exhaustive()
    }
}

impl Compiler {
    /// A compiler for a machine that computes so, whose smallest tile of vector memory has so many
    /// words of rows, and whose devices have so many TensorCores.
    pub fn new(
        numerics: Numerics,
        (least_words, tensor_cores): (u64, usize),
        outside: Outside,
        settings: Settings,
    ) -> Self {
        let pieces = Pieces::new(numerics);
        Self { numerics, pieces, outside, settings, least_words, tensor_cores }
    }

    /// The kernel of a call on devices that run it together, by their numbers: it takes the
    /// operands of the first one, then those of the second, and gives results in the same order.
    ///
    /// # Errors
    /// Everything in it that cannot be read or is not supported, with its lines.
    pub fn kernel(
        &self,
        site: &CallSite,
        devices: &[usize],
    ) -> Result<(Box<dyn Kernel>, CalledKernel)> {
        let Backend::Opaque(text) = &site.backend else {
            return Err(Error::bad("tpu_custom_call whose configuration is no text"));
        };
        let text = std::str::from_utf8(text)
            .map_err(|error| Error::bad(format!("tpu_custom_call: {error}")))?;
        let unread = |error: tpu_mosaic::Error| match error {
            tpu_mosaic::Error::Refused(refusals) => refused(&refusals),
            other => Error::Unimplemented(other.to_string()),
        };
        let config = Config::read(text).map_err(unread)?;
        let mut module =
            tpu_mosaic::read(&config.body, config.debug_locations.as_deref()).map_err(unread)?;
        let settled = settle(&mut module, &site.operands, &self.pieces);
        settled.map_err(|refusals| told(&module, refusals))?;
        // Up to JAX 0.8 the module of every kernel calls it "main".
        let own_name = || module.kernels().next().map(|function| Arc::clone(&function.name));
        let name: Arc<str> =
            site.kernel_name.clone().or_else(own_name).unwrap_or_else(|| "kernel".into());
        let signature = Signature {
            name: &name,
            operands: &site.operands,
            results: &site.results,
            tensor_cores: self.tensor_cores,
        };
        let program = lower(&module, &config, signature, &self.pieces)
            .map_err(|refusals| told(&module, refusals))?;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let bytes_accessed = config.cost_estimate.map(|cost| cost.bytes_accessed as f64);
        let cost = config.cost_estimate.unwrap_or_default();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let cost = Cost { flops: cost.flops as f64, transcendentals: cost.transcendentals as f64 };
        let extents = |shapes: &[Shape]| -> Vec<Vec<i64>> {
            let signed = |&dim: &usize| i64::try_from(dim).unwrap_or(i64::MAX);
            shapes.iter().map(|shape| shape.dims.iter().map(signed).collect()).collect()
        };
        let tiling = match config.sparse_core {
            true => Tiling::Flat,
            false => Tiling::Rows { least_words: self.least_words },
        };
        let (operands, results) = (extents(&site.operands), extents(&site.results));
        let call = Call { operands: &operands, results: &results };
        let budgets = budgets(&module, &config, call, tiling);
        let called = CalledKernel {
            name,
            configuration: text.into(),
            operands,
            results,
            line: site.line.clone(),
            config: Arc::new(config),
            module: Arc::new(module),
        };
        let kept = Kept::new(&program, &called.config, (&site.operands, &site.results), devices);
        let kernel = PallasKernel {
            has_shares: AtomicBool::new(has_shares(&program, &site.aliases)),
            program: Arc::new(program),
            aliases: site.aliases.clone(),
            operands: site.operands.len(),
            kept,
            devices: devices.to_vec(),
            settings: self.settings,
            site: Arc::new(CallSite { backend: Backend::Opaque([].into()), ..site.clone() }),
            takes: (budgets, tiling),
            cost,
            bytes_accessed,
            outside: self.outside.clone(),
        };
        Ok((Box::new(kernel), called))
    }
}

/// What is refused in a module, with its lines.
fn told(module: &Module, refusals: Vec<(String, LocationId)>) -> Error {
    let tell = |(what, id): (String, LocationId)| Refusal {
        what,
        line: user_line(&module.locations, id),
        location: module.locations.to_mlir(id),
    };
    refused(&refusals.into_iter().map(tell).collect::<Vec<_>>())
}

/// Refusals as an error in the form that JAX reads: the first one's location on a line of its own.
fn refused(refusals: &[Refusal]) -> Error {
    let mut message = String::from("Mosaic failed to compile TPU kernel:");
    for (number, refusal) in refusals.iter().take(MAX_TOLD).enumerate() {
        message.push_str(if number == 0 { " " } else { "\n" });
        message.push_str(&refusal.to_string());
    }
    if refusals.len() > MAX_TOLD {
        message.push_str(&format!("\nand {} more", refusals.len() - MAX_TOLD));
    }
    let located = refusals.iter().map(|refusal| &refusal.location);
    if let Some(location) = located.into_iter().find(|location| location.starts_with("loc(\"")) {
        message.push_str("\n\nThe MLIR operation involved is at:\n");
        message.push_str(location);
    }
    Error::Verbatim { code: Code::Unimplemented, message: message.into() }
}

/// What a kernel did wrong, likewise. Where its place is not known, that of the call stands for it.
fn failed(name: &str, failure: &Failure, locations: &Locations, call: Option<&str>) -> Error {
    let line = user_line(locations, failure.place).or_else(|| call.map(str::to_owned));
    let line = line.map_or_else(String::new, |line| format!("{line}: "));
    let mut message = format!("Mosaic kernel {name}: {line}{}", failure.what);
    let location = locations.to_mlir(failure.place);
    if location.starts_with("loc(\"") {
        message.push_str("\nThe operation involved is at:\n");
        message.push_str(&location);
    }
    Error::Verbatim { code: Code::Internal, message: message.into() }
}

/// A kernel as a step of a program.
pub(crate) struct PallasKernel {
    pub(crate) program: Arc<Program>,
    /// The operand whose memory each result shares.
    pub(crate) aliases: Vec<Option<usize>>,
    /// How many operands each device has.
    pub(crate) operands: usize,
    /// What lasts longer than it in memories of its cores.
    pub(crate) kept: Kept,
    /// The numbers of its devices in the run.
    pub(crate) devices: Vec<usize>,
    pub(crate) settings: Settings,
    /// Whether points of its grid may run beside each other.
    pub(crate) has_shares: AtomicBool,
    /// The call, without what it says of the kernel.
    pub(crate) site: Arc<CallSite>,
    /// What each entry takes of its core's memories, and how arrays are tiled there.
    pub(crate) takes: (Vec<Budget>, Tiling),
    pub(crate) cost: Cost,
    /// Bytes of memory that a run moves, by the kernel's author.
    pub(crate) bytes_accessed: Option<f64>,
    pub(crate) outside: Outside,
}

impl fmt::Debug for PallasKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PallasKernel").field("program", &self.program).finish_non_exhaustive()
    }
}

impl PallasKernel {
    /// What each device has of the arrays of a call.
    pub(crate) fn arrays(
        &self,
        device: Option<usize>,
        operands: &[&[u8]],
        results: &[Place],
    ) -> Vec<Arrays> {
        let (taken, made) = (self.operands, self.aliases.len());
        let arrays = |(at, &device): (usize, &usize)| {
            let results = results[at * made..][..made].to_vec();
            let mut operands: Vec<Place> =
                operands[at * taken..][..taken].iter().map(|bytes| Place::of(bytes)).collect();
            let mut shared = vec![false; taken];
            for (result, from) in self.aliases.iter().enumerate() {
                if let Some(from) = *from {
                    (operands[from], shared[from]) = (results[result], true);
                }
            }
            let parts = self.kept.of_device(at, (taken, made));
            Arrays { operands, results, shared, device, parts }
        };
        let devices = device.as_ref().map_or(&self.devices[..], std::slice::from_ref);
        devices.iter().enumerate().map(arrays).collect()
    }

    /// The error of a failure.
    fn error(&self, failure: &Failure, interrupted: bool) -> Error {
        let (name, call) = (&self.program.name, self.site.line.as_deref());
        let error = failed(name, failure, &self.program.locations, call);
        if interrupted {
            // Python raises `KeyboardInterrupt` in place of the error.
            (self.outside.prints)(&format!("tpu-emu: {error}"));
        }
        error
    }
}

impl Kernel for PallasKernel {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let places: Vec<Place> = results.iter_mut().map(|bytes| Place::of_mut(bytes)).collect();
        let Settings { order, checks } = self.settings;
        let kept = if checks.uninit { self.kept(&places) } else { Vec::new() };
        if cx.cores.is_none()
            && let Some(done) = self.run_shares(cx.device, operands, &places)
        {
            return done.map_err(|failure| self.error(&failure, true));
        }
        self.leave_out_cores(&places);
        let arrays = self.arrays(cx.device, operands, &places);
        let mut machine =
            Machine::new(&self.program, arrays, &self.outside, (order, checks, Fill::Usual));
        if let Some(to) = cx.cores {
            machine.record(Records::new(to, (&self.takes.0, self.takes.1), &self.site));
        }
        let mut done = machine.run();
        machine.records_end(done.as_ref().err().map(|failure| &*failure.what));
        if checks.uninit && done.is_ok() {
            done = self.is_determined(&machine, (cx.device, operands), (&places, &kept));
        }
        done.map_err(|failure| self.error(&failure, machine.is_interrupted()))
    }

    fn is_own(&self) -> bool {
        true
    }

    fn core_arrays(&self) -> Option<CoreArrays> {
        Some(self.kept.all.clone())
    }

    fn with_core_parts(&self, parts: CoreArrays) -> Option<Arc<dyn Kernel>> {
        Some(Arc::new(self.in_parts(parts)?))
    }

    fn starts_from(&self, result: usize) -> Option<usize> {
        let made = self.aliases.len().max(1);
        let from = self.aliases.get(result % made).copied().flatten()?;
        Some(result / made * self.operands + from)
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn bytes_accessed(&self) -> Option<f64> {
        self.bytes_accessed
    }
}
