//! A compiled program: what can be asked about it, and what it runs.
mod charge;
pub(crate) mod compile;
mod device_plan;
mod free_layouts;
mod image_padding;
mod kernels;
mod labels;
mod laid_anew;
mod likeness;
pub mod listing;
mod oom;
mod other_plan;
mod planned;
mod serialized;
mod signature;
mod stored_array;
mod stored_by_chip;

use crate::hbm::spec::ArraySpec;
use crate::memory::{MemoryKind, taken_for};
use crate::origin::LabelId;
use device_plan::DevicePlan;
pub(crate) use oom::too_large_for;
pub use other_plan::{OtherCompiler, OtherPlan};
pub use serialized::Serialized;
use std::sync::{Arc, OnceLock};
use tpu_base::units::Bytes;
use tpu_ops::Numerics;
pub use tpu_pallas::core_memory::KernelMemory;
use tpu_program::plan::Plan;
use tpu_program::sharding::groups::Devices;
pub use tpu_program::sharding::io_shardings::Inspection;
use tpu_program::sharding::io_shardings::IoShardings;
use tpu_stablehlo::Module;

/// What the bytes of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// MLIR bytecode or text.
    Mlir,
    /// A serialized `HloModuleProto`.
    Hlo,
    /// A serialized `HloModuleProtoWithConfig`.
    HloWithConfig,
}

/// How a program is to be compiled, besides what it says itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompileOptions {
    /// Copies of the program that run on different data.
    pub replicas: usize,
    /// Devices that share the work of one copy.
    pub partitions: usize,
    /// Device ids, replica major; empty for the first devices.
    pub devices: Vec<i64>,
    /// Whether all arguments are fields of one tuple parameter (HLO programs only).
    pub tupled_arguments: bool,
    /// Whether the compiler may choose each parameter's sharding; one answer may stand for all.
    pub propagate_to_parameters: Vec<bool>,
    /// Whether the compiler may choose each result's sharding.
    pub propagate_to_results: Vec<bool>,
}

/// Whether the caller gives a parameter's memory up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Donation {
    /// No.
    #[default]
    Kept,
    /// The result with this number takes it over (`tf.aliasing_output`).
    To(usize),
    /// Yes, for whatever result fits (`jax.buffer_donor`); nobody took it.
    Free,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Type, shape and layout. A token is `pred[0]`.
    pub spec: Arc<ArraySpec>,
    /// Where it must be.
    pub kind: MemoryKind,
    /// The sharding as the program states it (`mhlo.sharding` text), if it does.
    pub sharding: Option<Arc<str>>,
    /// Whether it is donated.
    pub donation: Donation,
    /// Whether the layout was chosen by the compiler (`mhlo.layout_mode = "auto"`).
    pub auto_layout: bool,
    /// Whether it is a token.
    pub token: bool,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultInfo {
    /// Type, shape and layout. A token is `pred[0]`.
    pub spec: Arc<ArraySpec>,
    /// Where it will be.
    pub kind: MemoryKind,
    /// The sharding as the program states it, if it does.
    pub sharding: Option<Arc<str>>,
    /// The parameter whose memory it takes over.
    pub alias: Option<usize>,
    /// Whether the layout was chosen by the compiler.
    pub auto_layout: bool,
    /// Whether it is a token.
    pub token: bool,
}

/// Labels of the blocks that a run takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockLabels {
    pub(crate) temporaries: LabelId,
    pub(crate) constants: LabelId,
    pub(crate) results: Vec<LabelId>,
}

/// Sizes of a program's memory, padded to the device's tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryAnalysis {
    /// Instructions: the plan's own size.
    pub code: Bytes,
    /// Parameters in HBM.
    pub arguments: Bytes,
    /// Results in HBM.
    pub outputs: Bytes,
    /// Results that live in donated parameters.
    pub alias: Bytes,
    /// Temporaries, constants included.
    pub temporaries: Bytes,
    /// The most that is in use at once, arguments and results included, instructions not.
    pub peak: Bytes,
    /// Parameters in host memory.
    pub host_arguments: Bytes,
    /// Results in host memory.
    pub host_outputs: Bytes,
    /// Results in donated host parameters.
    pub host_alias: Bytes,
    /// Temporaries in host memory.
    pub host_temporaries: Bytes,
}

impl MemoryAnalysis {
    /// What lives from the start of a run to its end: parameters, results, instructions.
    pub fn lasting(&self) -> Bytes {
        let taken = self.arguments.0.saturating_add(self.outputs.0).saturating_add(self.code.0);
        Bytes(taken.saturating_sub(self.alias.0))
    }

    /// All that a run takes in HBM.
    pub fn total(&self) -> Bytes {
        Bytes(self.lasting().0.saturating_add(self.temporaries.0))
    }
}

/// Work of one run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CostAnalysis {
    /// Arithmetic operations.
    pub flops: f64,
    /// Transcendental functions.
    pub transcendentals: f64,
    /// Bytes that the operations read and write.
    pub bytes_accessed: f64,
    /// Seconds at the chip's peak rates.
    pub optimal_seconds: f64,
}

/// A program that is ready to run.
#[derive(Debug)]
pub struct Executable {
    /// The module's name.
    pub name: Arc<str>,
    /// The program as it was read.
    pub module: Arc<Module>,
    /// The bytes it was read from, and what they are.
    pub source: (Format, Arc<[u8]>),
    /// The options it was compiled with.
    pub options: CompileOptions,
    /// Indices of the devices it runs on, in the order of the assignment.
    pub devices: Vec<usize>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Results.
    pub results: Vec<ResultInfo>,
    /// Sizes.
    pub memory: MemoryAnalysis,
    /// Work.
    pub cost: CostAnalysis,
    /// Arithmetic of a run, which all of its devices share.
    pub run_flops: f64,
    /// What its kernels take of their cores' memories.
    pub kernels: Vec<KernelMemory>,
    /// What the program asks about its own shardings.
    pub inspections: Vec<Inspection>,
    /// A hash of the program, the options and this version of the emulator, as hex digits.
    pub fingerprint: Arc<str>,
    /// How products round, and what becomes of subnormal floats.
    pub(crate) numerics: Numerics,
    /// Whether it draws random numbers without a state.
    pub(crate) draws: bool,
    /// What it runs.
    pub(crate) plan: Plan,
    /// Over what it is spread.
    pub(crate) spread: Devices,
    /// What each of several devices does, where that is known.
    pub(crate) own: Option<DevicePlan>,
    /// What a chip lays anew, where that is more than all of the plan's temporaries.
    pub(crate) laid_anew: Option<charge::LaidAnew>,
    /// Bytes of temporaries that a chip has in the memory of its core.
    pub(crate) in_core: Bytes,
    /// What its blocks are for.
    pub(crate) labels: BlockLabels,
    /// The arena of a run, as a block of bytes; `None` for a program without temporaries. Of a
    /// program on several devices, that of one device, constants included.
    pub(crate) arena: Option<Arc<ArraySpec>>,
    /// What a run on one device writes: its temporaries, and results in memory of their own.
    pub(crate) written: Bytes,
    /// How parameters and results are split; `None` for a program on one device, and for one
    /// over replicas each of which computes by itself.
    pub(crate) io_shardings: Option<IoShardings>,
    /// The pool of constants, as a block of bytes; `None` for a program without constants.
    pub(crate) pool: Option<Arc<ArraySpec>>,
    /// The plan of another compiler, which stands for the one of this one.
    pub(crate) other: Option<OtherPlan>,
    /// See [`Executable::likeness`].
    pub(crate) likeness: OnceLock<u128>,
}

impl Executable {
    /// Whether its devices run as one. A program on one device does not, nor one over replicas
    /// each of which computes by itself: any device may run that without the others.
    pub(crate) fn is_joint(&self) -> bool {
        self.io_shardings.is_some()
    }

    /// Runs `take`, by which a client takes memory for a result of this program: the blocks of
    /// the result's size that this thread takes meanwhile are known as that result.
    pub fn for_result<R>(
        &self,
        index: usize,
        spec: &Arc<ArraySpec>,
        take: impl FnOnce() -> R,
    ) -> R {
        let label = self.labels.results.get(index).copied().unwrap_or(LabelId::NONE);
        taken_for(spec, label, take)
    }
}
