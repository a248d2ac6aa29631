//! What a kernel takes of its core's memories, as the compiler counts: the buffers of windows,
//! scratch, and what is allocated while it runs.
mod allocations;
mod index_map;
mod tiles;

use crate::config::Config;
use crate::ir::{
    Cell, CoreType, DYNAMIC, Function, LocationId, MemorySpace, Memref, Module, PipelineMode, Type,
};
use std::sync::Arc;
pub use tiles::Tiling;

/// What one kernel takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The symbol of its function.
    pub kernel: Arc<str>,
    /// The cores that it runs on.
    pub core: CoreType,
    /// Everything that it takes of [`Budget::MEMORIES`], in the order of its arguments; of what is
    /// allocated while it runs, what is there when most is.
    pub taken: Vec<Taken>,
}

/// An allocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// In which memory.
    pub memory: MemorySpace,
    /// For what.
    pub role: Role,
    /// What lies there: type and shape of one buffer.
    pub of: Memref,
    /// The shape of the array that a window shows a part of, where it is known.
    pub whole: Option<Vec<i64>>,
    /// How many buffers there are.
    pub buffers: u64,
    /// Bytes of all buffers, padded to tiles; for semaphores, how many there are.
    pub size: u64,
    /// The bytes of all buffers without padding.
    pub unpadded: u64,
    /// Where it was written, if it is allocated by an operation.
    pub location: LocationId,
}

/// What an allocation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Blocks of an operand. Scalar operands are counted before the others, bounds of the grid are
    /// not counted.
    Input(usize),
    /// Blocks of a result.
    Output(usize),
    /// A scalar operand.
    Scalar(usize),
    /// A scratch argument.
    Scratch(usize),
    /// Memory that an operation allocates.
    Allocated,
    /// What the compiler keeps for itself.
    Internal,
}

impl Budget {
    /// The memories that are counted.
    pub const MEMORIES: [MemorySpace; 4] =
        [MemorySpace::Vmem, MemorySpace::Smem, MemorySpace::Semaphore, MemorySpace::VmemShared];

    /// How much it takes of a memory.
    pub fn total(&self, memory: MemorySpace) -> u64 {
        let of = self.taken.iter().filter(|taken| taken.memory == memory);
        of.fold(0, |sum, taken| sum.saturating_add(taken.size))
    }

    /// What it takes of a memory, the largest first.
    pub fn largest(&self, memory: MemorySpace) -> Vec<&Taken> {
        let mut of: Vec<&Taken> =
            self.taken.iter().filter(|taken| taken.memory == memory).collect();
        of.sort_by_key(|taken| std::cmp::Reverse(taken.size));
        of
    }
}

/// What is known of a call: the extents of its operands and results.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Operands, the bounds of the grid included.
    pub operands: &'a [Vec<i64>],
    /// Results.
    pub results: &'a [Vec<i64>],
}

/// What each kernel of a module takes.
pub fn budgets(module: &Module, config: &Config, call: Call<'_>, tiling: Tiling) -> Vec<Budget> {
    let mut allocations = allocations::Allocations::new(module, tiling);
    let mut budgets = Vec::new();
    for function in module.kernels() {
        let mut taken = arguments(module, function, call, tiling);
        taken.extend(allocations.peak(function));
        taken.extend(internal(config));
        let core = function.kernel.as_ref().map_or(CoreType::TensorCore, |kernel| kernel.core);
        budgets.push(Budget { kernel: Arc::clone(&function.name), core, taken });
    }
    budgets
}

fn internal(config: &Config) -> Option<Taken> {
    let size = config.internal_scratch_bytes?;
    let dims = vec![i64::try_from(size).unwrap_or(i64::MAX)];
    let cell = Cell::Element(crate::ir::Element::S8);
    Some(Taken {
        memory: MemorySpace::Vmem,
        role: Role::Internal,
        of: Memref { cell, dims, layout: None, space: None },
        whole: None,
        buffers: 1,
        size,
        unpadded: size,
        location: LocationId::UNKNOWN,
    })
}

/// The memory of a type of references, if it is one that is counted. A reference without one is
/// in vector memory, where kernels without a grid have their arguments.
fn memory_of(memref: &Memref) -> Option<MemorySpace> {
    let memory = memref.space.map_or(MemorySpace::Vmem, |space| space.memory);
    let memory = match memref.cell {
        Cell::Element(_) => memory,
        Cell::Semaphore | Cell::DmaSemaphore => MemorySpace::Semaphore,
    };
    Budget::MEMORIES.contains(&memory).then_some(memory)
}

fn taken(memref: &Memref, role: Role, buffers: u64, tiling: Tiling) -> Option<Taken> {
    let memory = memory_of(memref)?;
    let [size, unpadded] = tiling.sizes(memref, memory);
    Some(Taken {
        memory,
        role,
        of: memref.clone(),
        whole: None,
        buffers,
        size: size.saturating_mul(buffers),
        unpadded: unpadded.saturating_mul(buffers),
        location: LocationId::UNKNOWN,
    })
}

/// What the arguments of a kernel take.
fn arguments(module: &Module, function: &Function, call: Call<'_>, tiling: Tiling) -> Vec<Taken> {
    let Some(kernel) = &function.kernel else { return Vec::new() };
    let grid = kernel.grid.as_deref().unwrap_or(&[]);
    let dynamic = grid.iter().filter(|&&bound| bound == DYNAMIC).count();
    let scalars = kernel.scalar_prefetch;
    let mut arguments = function.body.arguments.iter().skip(grid.len());
    let windows = arguments.len().saturating_sub(scalars + kernel.scratch_operands);
    let inputs = windows.saturating_sub(call.results.len());
    let mut all = Vec::new();
    for place in 0..arguments.len() {
        let Some(Type::Memref(memref)) = arguments.next().map(|&value| function.type_of(value))
        else {
            continue;
        };
        let window = place.checked_sub(scalars).filter(|&window| window < windows);
        let role = match window {
            None if place < scalars => Role::Scalar(place),
            None => Role::Scratch(place - scalars - windows),
            Some(window) if window < inputs => Role::Input(place),
            Some(window) => Role::Output(window - inputs),
        };
        let stated = window.and_then(|window| kernel.windows.as_ref()?.get(window));
        let buffers = match stated {
            Some(window) if window.bounds.is_none() && kernel.grid.is_some() => {
                // The whole array, where it lies: whoever put it there has counted it.
                continue;
            }
            Some(window) if window.pipeline_mode == Some(PipelineMode::Synchronous) => 1,
            Some(window) if index_map::moves(module, window, grid) => 2,
            _ => 1,
        };
        let Some(mut taken) = taken(memref, role, buffers, tiling) else { continue };
        taken.whole = match role {
            Role::Input(operand) => call.operands.get(dynamic + operand).cloned(),
            Role::Output(result) => call.results.get(result).cloned(),
            _ => None,
        };
        all.push(taken);
    }
    all
}
