//! Arrays that last longer than a kernel in memories which each core has for itself: on a device of
//! several TensorCores there are as many of each. The program keeps them as parts of one array,
//! one after the other.
use crate::form::{Array, Entry, Program, Source};
use crate::kernel::PallasKernel;
use crate::machine::memory::{Place, poison};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tpu_base::tensor::Shape;
use tpu_mosaic::Config;
use tpu_mosaic::config::Color;
use tpu_mosaic::ir::CoreType;
use tpu_ops::core_arrays::CoreArrays;

/// Numbers of memories that a TensorCore has for itself, as a call's configuration has them:
/// vector memory, semaphores, scalar memory.
const OF_A_CORE: [i64; 3] = [1, 2, 4];

/// What a kernel has in memories of its cores that lasts longer than it.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// All arrays that lie in such memories, of all devices one after the other.
    pub(crate) all: CoreArrays,
    /// Those that have a part for each core, likewise.
    parts: CoreArrays,
}

impl Kept {
    /// What a kernel keeps whose call has these operands and results on each of its devices.
    pub(crate) fn new(
        program: &Program,
        config: &Config,
        (operands, results): (&[Shape], &[Shape]),
        devices: &[usize],
    ) -> Self {
        let tensor_core = program.entries.iter().all(|entry| entry.core == CoreType::TensorCore);
        let arguments = || program.entries.iter().flat_map(|entry| &entry.arguments);
        let operand = |at| {
            let is = |source: &Source| source.array() == Some(Array::Operand(at));
            tensor_core && arguments().any(|of| is(&of.source) && of.is_of_core())
        };
        let result = |at| {
            let colors = &config.output_colors;
            let is_kept = |of: &Color| of.index == at && OF_A_CORE.contains(&of.color);
            tensor_core && colors.iter().any(is_kept)
        };
        let operands: Vec<bool> = (0..operands.len()).map(operand).collect();
        let results: Vec<bool> = (0..results.len()).map(result).collect();
        let all = CoreArrays {
            cores: program.entries.iter().map(Entry::core_count).max().unwrap_or(1),
            operands: operands.repeat(devices.len()),
            results: results.repeat(devices.len()),
        };
        let parts = CoreArrays {
            cores: 1,
            operands: vec![false; all.operands.len()],
            results: vec![false; all.results.len()],
        };
        Self { all, parts }
    }

    /// The arrays of one device that have parts, of which each has so many operands and results.
    pub(crate) fn of_device(&self, at: usize, (taken, made): (usize, usize)) -> CoreArrays {
        CoreArrays {
            cores: self.parts.cores,
            operands: self.parts.operands[at * taken..][..taken].to_vec(),
            results: self.parts.results[at * made..][..made].to_vec(),
        }
    }
}

impl PallasKernel {
    /// The kernel whose arrays of these numbers have a part for each core; `None` where several
    /// cores have blocks of such an array.
    pub(crate) fn in_parts(&self, parts: CoreArrays) -> Option<Self> {
        let (taken, made) = (self.operands.max(1), self.aliases.len().max(1));
        let has_parts = |array| match array {
            Array::Operand(at) => parts.operands.iter().skip(at).step_by(taken).any(|&has| has),
            Array::Result(at) => parts.results.iter().skip(at).step_by(made).any(|&has| has),
        };
        let several = self.kept.all.cores > 1;
        let arguments = self.program.entries.iter().flat_map(|entry| &entry.arguments);
        for argument in arguments {
            if let Source::Window(window) = &argument.source
                && several
                && has_parts(window.array)
            {
                return None;
            }
        }
        Some(Self {
            program: Arc::clone(&self.program),
            aliases: self.aliases.clone(),
            operands: self.operands,
            kept: Kept { all: self.kept.all.clone(), parts },
            devices: self.devices.clone(),
            settings: self.settings,
            has_shares: AtomicBool::new(false),
            site: Arc::clone(&self.site),
            takes: self.takes.clone(),
            cost: self.cost,
            bytes_accessed: self.bytes_accessed,
            outside: self.outside.clone(),
        })
    }

    /// Fills the parts of results whose cores do not run the kernel with numbers that show.
    pub(crate) fn leave_out_cores(&self, results: &[Place]) {
        let Kept { all, parts } = &self.kept;
        let made = self.aliases.len().max(1);
        for (at, place) in results.iter().enumerate() {
            let alone = self.aliases.get(at % made).is_some_and(Option::is_none);
            if !alone || !parts.results.get(at).is_some_and(|&has| has) {
                continue;
            }
            let arguments = self.program.entries.iter().flat_map(|entry| &entry.arguments);
            let array = Some(Array::Result(at % made));
            let mut cells = arguments.filter(|of| of.source.array() == array).map(|of| of.cell);
            let Some(cell) = cells.next() else { continue };
            let bytes = place.len() / parts.cores;
            for core in all.cores..parts.cores {
                poison(place.part(core * bytes, bytes), cell.dtype());
            }
        }
    }
}
