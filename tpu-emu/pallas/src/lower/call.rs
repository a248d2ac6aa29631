//! A kernel's function with what is around it: arguments, index maps, the grid.
use super::code::Refused;
use super::memory::{cell, space};
use super::values::{Slots, Val};
use super::{Lowering, Open};
use crate::form::{
    Argument, Array, Cores, Entry, Extent, Int, Program, Register, Source, Step, Window as Blocks,
};
use crate::piece::Planner;
use std::ops::RangeInclusive;
use tpu_base::tensor::Shape;
use tpu_mosaic::ir::{
    AffineResult, Block, CoreType, DYNAMIC, DimensionSemantics, Function, Kernel, LocationId,
    MemorySpace, Memref, RevisitMode, Transform, Type, Value, Window,
};
use tpu_mosaic::{Config, Module};

/// Bytes of a tile: what the compiler's own scratch has at least.
const TILE_BYTES: u64 = 8 * 128 * 4;
/// TensorCores that a device has at most.
const MAX_TENSOR_CORES: i64 = 2;

/// What a kernel is called with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signature<'a> {
    /// The name of the kernel.
    pub(crate) name: &'a str,
    /// The operands of the call.
    pub(crate) operands: &'a [Shape],
    /// The results of the call.
    pub(crate) results: &'a [Shape],
    /// TensorCores of a device.
    pub(crate) tensor_cores: usize,
}

/// Lowers the kernels of a module.
///
/// # Errors
/// Everything that is not supported, with its place.
pub(crate) fn lower(
    module: &Module,
    config: &Config,
    signature: Signature<'_>,
    planner: &dyn Planner,
) -> Result<Program, Vec<(String, LocationId)>> {
    let program = Program {
        name: signature.name.into(),
        locations: module.locations.clone(),
        semaphore_checks: !config.disable_semaphore_checks,
        compact_arrays: config.compact_arrays || !config.sparse_core,
        bounds_checks: !config.disable_bounds_checks,
        ..Program::default()
    };
    let mut lowering = Lowering {
        module,
        planner,
        program,
        refusals: Vec::new(),
        scopes: Vec::new(),
        vectors: Vec::new(),
        references: Vec::new(),
        written: Vec::new(),
        outside: Vec::new(),
        named: Vec::new(),
        covered: Vec::new(),
        slots: Slots::default(),
        open: Open::default(),
        depth: 0,
        regions: Vec::new(),
        operations: 0,
        place: LocationId::UNKNOWN,
        core: CoreType::TensorCore,
        names_cores: false,
        internal_scratch: config.internal_scratch_bytes,
    };
    if let Some(asked) = config.internal_scratch_bytes.filter(|&asked| asked < TILE_BYTES) {
        let least = TILE_BYTES;
        lowering.refuse(
            format!("Requested internal scratch size {asked} needs to be at least {least}"),
            LocationId::UNKNOWN,
        );
    }
    for (key, _) in &module.attributes.0 {
        lowering.refuse(format!("the attribute {key} of the module"), LocationId::UNKNOWN);
    }
    let mut kernels = 0;
    for function in &module.functions {
        let Some(kernel) = &function.kernel else { continue };
        kernels += 1;
        if let Err(what) = lowering.kernel(function, kernel, signature) {
            lowering.refuse(what, function.location);
        }
    }
    if kernels == 0 {
        // Modules without an attribute for it have their kernel first.
        lowering.refuse("a module without a kernel".to_owned(), LocationId::UNKNOWN);
    }
    if lowering.refusals.is_empty() { Ok(lowering.program) } else { Err(lowering.refusals) }
}

/// An argument that is a memory, before the kernel's code is lowered.
struct Prepared {
    val: Val,
    memory: usize,
    source: Source,
    transform: Option<(Transform, usize)>,
}

impl<'m> Lowering<'m> {
    fn kernel(
        &mut self,
        function: &'m Function,
        kernel: &'m Kernel,
        signature: Signature<'_>,
    ) -> Refused<()> {
        self.place = function.location;
        self.core = kernel.core;
        self.names_cores = false;
        let bounds = kernel.grid.clone().unwrap_or_default();
        let mut dynamic = 0;
        let mut grid = Vec::new();
        for &bound in &bounds {
            grid.push(match bound {
                DYNAMIC => {
                    dynamic += 1;
                    Extent::Operand(dynamic - 1)
                }
                bound => Extent::Known(bound),
            });
        }
        let parameters = &function.body.arguments;
        let scalars = parameters
            .iter()
            .take_while(|&&parameter| matches!(function.type_of(parameter), Type::Scalar(_)))
            .count();
        if scalars != bounds.len() && kernel.grid.is_some() {
            return Err(format!("{scalars} indices for a grid of {} dimensions", bounds.len()));
        }
        let rest = parameters.len() - scalars;
        let (prefetch, scratch) = (kernel.scalar_prefetch, kernel.scratch_operands);
        let arrays = signature.operands.len().saturating_sub(dynamic) + signature.results.len();
        if rest.checked_sub(scratch) != Some(arrays)
            || prefetch + dynamic > signature.operands.len()
        {
            let (operands, results) = (signature.operands.len(), signature.results.len());
            return Err(format!(
                "{rest} arguments, {scratch} of them scratch, for {operands} operands and \
                 {results} results"
            ));
        }
        let registers: Vec<Register> = (0..scalars).map(|_| self.register()).collect();
        let start = self.here();
        let mut values: Vec<Val> = registers.iter().map(|&at| Val::Int(Int::In(at))).collect();
        let indices = values.clone();
        let mut prepared = Vec::new();
        for (number, &parameter) in parameters[scalars..].iter().enumerate() {
            let Type::Memref(memref) = function.type_of(parameter) else {
                return Err(format!("argument {number} is no memref"));
            };
            let array = if number >= arrays {
                None
            } else if number + dynamic < signature.operands.len() {
                Some(Array::Operand(number + dynamic))
            } else {
                Some(Array::Result(number + dynamic - signature.operands.len()))
            };
            let of = |array| match array {
                Array::Operand(at) => &signature.operands[at],
                Array::Result(at) => &signature.results[at],
            };
            let window = number
                .checked_sub(prefetch)
                .and_then(|number| kernel.windows.as_ref().and_then(|all| all.get(number)));
            let shape = array.map(of);
            let one = self.argument(memref, (array, shape), window, number < prefetch)?;
            values.push(one.val);
            prepared.push(one);
        }
        if kernel.grid.is_some() || prefetch > 0 {
            self.index_maps(&indices, prefetch, &mut prepared)?;
        }
        self.step(Step::Blocks);
        self.enter(function, values)?;
        self.regions.push(Vec::new());
        let outer = self.scopes.len() - 1;
        let ended = self.block(&function.body).map(|_| ());
        let closed = self.close();
        let memory = self.regions.pop().unwrap_or_default();
        self.scopes.truncate(outer);
        ended.and(closed)?;
        if !memory.is_empty() {
            self.step(Step::Free(memory.into()));
        }
        self.step(Step::NextPoint(start));
        self.step(Step::End);
        let mut arguments = Vec::new();
        for one in prepared {
            let reference = self.reference(one.val)?.clone();
            let extents = reference.memref.dims.iter().enumerate().map(|(axis, &dim)| {
                let array = match &one.source {
                    Source::Whole(array) | Source::Copy(array) => Some(*array),
                    _ => None,
                };
                let of = array.map(|array| match array {
                    Array::Operand(at) => &signature.operands[at],
                    Array::Result(at) => &signature.results[at],
                });
                let known = usize::try_from(dim).ok();
                known
                    .or_else(|| of.and_then(|of| of.dims.get(axis).copied()))
                    .ok_or_else(|| format!("an argument with an extent of {dim}"))
            });
            arguments.push(Argument {
                view: reference.view,
                cell: cell(reference.memref.cell)?,
                dims: extents.collect::<Refused<_>>()?,
                space: space(&reference.memref),
                source: one.source,
                written: self.written[one.memory],
                covered: self.covered[one.memory] == Some(reference.view),
            });
        }
        let named = self.names_cores.then_some(1..=MAX_TENSOR_CORES);
        let all = i64::try_from(signature.tensor_cores).unwrap_or(1);
        let own = (all > 1 && has_state(kernel, &arguments)).then_some(all..=all);
        self.program.entries.push(Entry {
            start,
            core: kernel.core,
            cores: cores(kernel, named.or(own)),
            grid,
            independent: independent(kernel),
            indices: registers,
            arguments,
        });
        Ok(())
    }

    fn argument(
        &mut self,
        memref: &Memref,
        (array, shape): (Option<Array>, Option<&Shape>),
        window: Option<&Window>,
        prefetched: bool,
    ) -> Refused<Prepared> {
        let memory = self.new_memory();
        let place = space(memref);
        // Memory of another kind of core is an array that its kernel takes.
        let other = memref.space.and_then(|space| space.core).is_some_and(|of| of != self.core);
        let inside = matches!(place, MemorySpace::Vmem | MemorySpace::Smem) && !other;
        let mut transform = None;
        let source = match (array, window) {
            (None, _) => Source::Scratch,
            (Some(array), Some(Window { bounds: Some(bounds), transform: Some(by), .. })) => {
                let window = window.ok_or("a window")?;
                transform = Some((by.clone(), bounds.len()));
                let bounds = super::values::extents(bounds)?;
                let shown = super::values::extents(&memref.dims)?;
                if elements(&bounds).is_none() || elements(&bounds) != elements(&shown) {
                    return Err(format!("a window of {bounds:?} for an argument of {shown:?}"));
                }
                let of = shape.map(|shape| shape.dims.to_vec()).unwrap_or_default();
                let of = whole_blocks(of, bounds.len())?;
                Source::Window(Blocks {
                    array,
                    of,
                    bounds,
                    index: Vec::new(),
                    low: window.element_window.as_ref().map(|(low, _)| low.clone()),
                    revisits: window.revisit_mode == Some(RevisitMode::Any),
                    follows_data: self.follows_data(by),
                    place: self.place_of_map(by),
                })
            }
            (Some(array), _) if inside || prefetched => Source::Copy(array),
            (Some(array), _) => Source::Whole(array),
        };
        self.outside[memory] = matches!(source, Source::Whole(_));
        let (val, _) = self.refer(memref.clone(), memory);
        Ok(Prepared { val, memory, source, transform })
    }

    /// Whether an index map reads memory.
    fn follows_data(&self, map: &Transform) -> bool {
        let Transform::Function(name) = map else { return false };
        self.module.function(name).is_some_and(|map| reads_memory(map, &map.body))
    }

    /// Where an index map was written.
    fn place_of_map(&self, map: &Transform) -> LocationId {
        let Transform::Function(name) = map else { return LocationId::UNKNOWN };
        let Some(map) = self.module.function(name) else { return LocationId::UNKNOWN };
        let places = map.body.operations.iter().rev().map(|operation| operation.location);
        let mut places = places.chain([map.location]);
        let line = |place: &LocationId| self.module.locations.line(*place).is_some();
        places.find(line).unwrap_or(LocationId::UNKNOWN)
    }

    /// The index maps of a point, each to the index of its window.
    fn index_maps(
        &mut self,
        indices: &[Val],
        prefetch: usize,
        prepared: &mut [Prepared],
    ) -> Refused<()> {
        let scalars: Vec<Val> = prepared[..prefetch].iter().map(|one| one.val).collect();
        for one in prepared.iter_mut() {
            let Some((transform, rank)) = one.transform.take() else { continue };
            let index = match transform {
                Transform::Function(name) => {
                    let module = self.module;
                    let map = module.function(&name);
                    let map = map.ok_or_else(|| format!("no index map @{name}"))?;
                    let arguments = indices.iter().chain(&scalars).copied().collect();
                    self.indices(map, arguments)?
                }
                Transform::Map(map) => {
                    let one = |of: &AffineResult| match *of {
                        AffineResult::Constant(value) => Ok(Int::Known(value)),
                        AffineResult::Dim(dim) => match indices.get(dim) {
                            Some(Val::Int(int)) => Ok(*int),
                            _ => Err(format!("an index map over dimension {dim}")),
                        },
                    };
                    map.results.iter().map(one).collect::<Refused<_>>()?
                }
            };
            self.close()?;
            if index.len() != rank {
                return Err(format!("{} indices for a block of {rank} dimensions", index.len()));
            }
            if let Source::Window(window) = &mut one.source {
                window.index = index;
            }
        }
        Ok(())
    }
}

/// Whether code reads memory, or hands it on.
fn reads_memory(of: &Function, code: &Block) -> bool {
    let memory = |&value: &Value| matches!(of.type_of(value), Type::Memref(_));
    code.operations.iter().any(|operation| {
        let blocks = operation.regions.iter().filter_map(|region| region.block.as_ref());
        operation.operands.iter().any(memory)
            || blocks.into_iter().any(|code| reads_memory(of, code))
    })
}

/// Whether what a kernel leaves at one point of its grid for the next is of a core, so that it
/// matters on which core a point runs: scratch, scalars that it writes, arrays of a mesh.
fn has_state(kernel: &Kernel, arguments: &[Argument]) -> bool {
    let windows = kernel.windows.as_deref().unwrap_or(&[]);
    let mesh = windows.iter().all(|window| window.bounds.is_none());
    let own = arguments.iter().skip(kernel.scalar_prefetch).any(Argument::is_of_core);
    let lasts = |of: &Argument| match of.source {
        Source::Scratch => true,
        Source::Copy(Array::Operand(_)) => of.written,
        Source::Copy(_) | Source::Whole(_) | Source::Window(_) => false,
    };
    (mesh && own) || arguments.iter().any(lasts)
}

/// The dimensions of a kernel's grid that are cores. That of a mesh of TensorCores is said to be
/// independent only, as are dimensions that a device of several TensorCores shares out to them: the
/// points are cores where the code names them, or where each core has something for itself. So many
/// cores there may be.
fn cores(kernel: &Kernel, mesh: Option<RangeInclusive<i64>>) -> Cores {
    let semantics = kernel.semantics.as_deref().unwrap_or(&[]);
    let dimension = |wanted| semantics.iter().position(|of| *of == wanted);
    let extent = kernel.grid.as_ref().and_then(|grid| grid.first());
    let is_mesh = kernel.core == CoreType::TensorCore
        && semantics.first() == Some(&DimensionSemantics::Parallel)
        && extent.zip(mesh).is_some_and(|(extent, mesh)| mesh.contains(extent));
    Cores {
        core: dimension(DimensionSemantics::CoreParallel).or(is_mesh.then_some(0)),
        subcore: dimension(DimensionSemantics::SubcoreParallel),
    }
}

/// How many dimensions of a kernel's grid, from the first on, have independent points.
fn independent(kernel: &Kernel) -> usize {
    let semantics = kernel.semantics.as_deref().unwrap_or(&[]);
    semantics.iter().take_while(|of| **of == DimensionSemantics::Parallel).count()
}

/// The extents of an array whose blocks have so many dimensions: keys of random numbers have one
/// more than they show.
fn whole_blocks(of: Vec<usize>, rank: usize) -> Refused<Vec<usize>> {
    if of.len() == rank {
        return Ok(of);
    }
    Err(format!("blocks of {rank} dimensions of an array of {}", of.len()))
}

/// How many elements an array has; `None` where that is no number.
fn elements(extents: &[usize]) -> Option<usize> {
    extents.iter().try_fold(1_usize, |count, &extent| count.checked_mul(extent))
}
