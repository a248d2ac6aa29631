//! What the kernels that a program calls take of their cores' memories, and whether there is so
//! much.
mod refusal;

use std::sync::Arc;
use tpu_mosaic::Config;
use tpu_mosaic::ir::{CoreType, MemorySpace, Module};
use tpu_mosaic::memory::{Budget, Call, Role, Taken, Tiling, budgets};

/// A kernel that a program calls.
#[derive(Debug, Clone)]
pub struct CalledKernel {
    /// The kernel's name, as the call has it.
    pub name: Arc<str>,
    /// What the call says of it, its module included, as it was written.
    pub configuration: Arc<str>,
    /// What the call says of it, read.
    pub config: Arc<Config>,
    /// The kernel's module.
    pub module: Arc<Module>,
    /// The extents of the call's operands.
    pub operands: Vec<Vec<i64>>,
    /// The extents of its results.
    pub results: Vec<Vec<i64>>,
    /// Where it is called: file and line.
    pub line: Option<Arc<str>>,
}

/// The memories of a device's cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreMemories {
    /// Bytes of vector memory of a TensorCore.
    pub vmem: u64,
    /// Bytes of it that a kernel gets without asking for more.
    pub scoped_vmem: u64,
    /// Bytes of scalar memory.
    pub smem: u64,
    /// Bytes of the vector memory of a SparseCore's subcore; 0 without SparseCores.
    pub subcore_vmem: u64,
    /// Words of rows that the smallest tile has.
    pub least_words: u64,
}

/// What a kernel takes of its cores' memories.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelMemory {
    /// The kernel's name, as the call has it.
    pub name: Arc<str>,
    /// What the call says of it.
    pub configuration: Arc<str>,
    /// Bytes of vector memory that it may take.
    pub vmem_limit: u64,
    /// Where it is called: file and line.
    pub line: Option<Arc<str>>,
    /// Each of its functions: more than one on SparseCores alone.
    pub budgets: Vec<Budget>,
}

impl CalledKernel {
    /// Whether two are the same call.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.configuration, &self.line) == (&other.configuration, &other.line)
            && (&self.operands, &self.results) == (&other.operands, &other.results)
    }

    /// What it takes.
    pub fn memory(&self, cores: &CoreMemories) -> KernelMemory {
        let call = Call { operands: &self.operands, results: &self.results };
        let tiling = if self.config.sparse_core {
            Tiling::Flat
        } else {
            Tiling::Rows { least_words: cores.least_words }
        };
        let vmem = if self.config.sparse_core { cores.subcore_vmem } else { cores.vmem };
        let unasked = if self.config.sparse_core { vmem } else { cores.scoped_vmem };
        KernelMemory {
            name: Arc::clone(&self.name),
            configuration: Arc::clone(&self.configuration),
            vmem_limit: self.config.vmem_limit_bytes.unwrap_or(unasked).min(vmem),
            line: self.line.clone(),
            budgets: budgets(&self.module, &self.config, call, tiling),
        }
    }
}

impl KernelMemory {
    /// The most that one of its functions takes of a memory.
    pub fn most(&self, memory: MemorySpace) -> u64 {
        self.budgets.iter().map(|budget| budget.total(memory)).max().unwrap_or(0)
    }

    /// Bytes of vector memory.
    pub fn vmem(&self) -> u64 {
        self.most(MemorySpace::Vmem)
    }

    /// Bytes of scalar memory.
    pub fn smem(&self) -> u64 {
        self.most(MemorySpace::Smem)
    }

    /// How many semaphores it has.
    pub fn semaphores(&self) -> u64 {
        self.most(MemorySpace::Semaphore)
    }

    /// Why it cannot be compiled, in the compiler's words, if it takes more than there is.
    pub fn too_large(&self, cores: &CoreMemories) -> Option<String> {
        let line = self.line.as_deref();
        self.budgets.iter().find_map(|budget| {
            if let Some(size) = internal_scratch_too_small(budget) {
                return Some(refusal::internal_scratch(&self.name, line, size, LEAST_INTERNAL));
            }
            let limits = [(MemorySpace::Vmem, self.vmem_limit), (MemorySpace::Smem, cores.smem)];
            let over = |(memory, limit): &(MemorySpace, u64)| budget.total(*memory) > *limit;
            let (memory, limit) = limits.into_iter().find(over)?;
            let scoped = memory == MemorySpace::Vmem && budget.core == CoreType::TensorCore;
            let may_ask = if scoped && limit < cores.vmem { Some(cores.vmem) } else { None };
            Some(refusal::too_large(&self.name, line, budget, (memory, limit), may_ask))
        })
    }

    /// The configuration of the call as a compiled program shows it: with the vector memory that
    /// the kernel takes. `None` for what is no JSON.
    pub fn described(&self) -> Option<String> {
        tpu_mosaic::config::described(&self.configuration, self.vmem())
    }
}

/// Bytes of the compiler's own scratch that every kernel needs: a register's worth.
const LEAST_INTERNAL: u64 = 4096;

/// The size that a call states for the compiler's own scratch, if that is too little.
fn internal_scratch_too_small(budget: &Budget) -> Option<u64> {
    let internal = |taken: &&Taken| taken.role == Role::Internal;
    let size = budget.taken.iter().find(internal)?.size;
    (size < LEAST_INTERNAL).then_some(size)
}
