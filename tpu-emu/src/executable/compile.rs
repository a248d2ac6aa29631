//! From a module to an executable.
use super::device_plan::{self, DevicePlan};
use super::free_layouts::{DimensionOrder, orders};
use super::kernels;
use super::labels::{labels, sources};
use super::laid_anew;
use super::oom::too_large;
use super::{
    CompileOptions, CostAnalysis, Donation, Executable, Format, MemoryAnalysis, Parameter,
    ResultInfo,
};
use crate::hbm::layout::Layout;
use crate::hbm::spec::{ArraySpec, LayoutRequest, Specs};
use crate::memory::MemoryKind;
use crate::origin::Labels;
use crate::topology::Generation;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_base::units::{Bytes, to_u64, to_usize};
use tpu_ops::{CallCompiler, Numerics};
use tpu_pallas::core_memory::CalledKernel;
use tpu_program::compile::{Passes, plan};
use tpu_program::graph::Graph;
use tpu_program::import::{BodyMaker, load};
use tpu_program::plan::{Plan, StorageForm};
use tpu_program::rewrite::custom_partitioning::partitioned;
use tpu_program::rewrite::unreduced::without_unreduced;
use tpu_program::sharding::groups::Devices;
use tpu_program::sharding::io_shardings::{IoSharding, IoShardings, reported};
use tpu_program::spmd::alone::is_alone;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attributes, Function, Type};

/// What a program is compiled for.
#[derive(Debug)]
pub(crate) struct CompileTarget<'t> {
    /// Descriptions of arrays, with the tile rules of the device.
    pub(crate) specs: &'t Specs,
    /// HBM of one device.
    pub(crate) limit: Bytes,
    /// Rates of the device, and what a result of several arrays costs.
    pub(crate) generation: &'t Generation,
    /// What blocks are for, in words.
    pub(crate) labels: &'t Labels,
    /// Rounding of matrix products.
    pub(crate) numerics: Numerics,
    /// The targets that programs can call.
    pub(crate) custom_calls: &'t dyn CallCompiler,
    /// The kernels that were made.
    pub(crate) kernels: &'t RefCell<Vec<CalledKernel>>,
    /// Makes bodies that need a run of their own.
    pub(crate) make_body: BodyMaker,
}

/// Compiles a module that was read from `source`, for all devices or for the one replica `only`,
/// which meets the others in its collectives. Of the parameters in `own_copies` every device reads its
/// own copy.
///
/// # Errors
/// `Program` with every reason; `Verbatim` in the compiler's words for one that cannot fit.
pub(crate) fn compile(
    target: &CompileTarget<'_>,
    module: Arc<Module>,
    source: (Format, Arc<[u8]>),
    options: CompileOptions,
    (devices, only): (Vec<usize>, Option<usize>),
    own_copies: &BTreeMap<usize, IoSharding>,
) -> Result<Executable> {
    let module = module.without_futures().map_or(module, Arc::new);
    let count = options.replicas.max(1).saturating_mul(options.partitions.max(1));
    let replicas = options.replicas > 1;
    // A program that is compiled once more for copies that differ is rewritten already.
    let (module, source) = if replicas || count == 1 || !own_copies.is_empty() {
        (module, source)
    } else {
        per_device(target, module, source, (count, &options))?
    };
    let spread = match only {
        None if replicas && is_alone(&module) => Devices::ONE,
        _ => Devices { count, replicas, only },
    };
    let passes = Passes::ALL;
    let loaded = load(
        &module,
        target.numerics,
        target.custom_calls,
        target.make_body,
        (spread, own_copies),
        passes,
    )?;
    let entry = loaded.entry;
    let mut graph = loaded.graph;
    let mut io_shardings = if spread.count > 1 && only.is_none() {
        let shape = |&value| graph.value(value).shape.clone();
        let parameters = graph.main.parameters.iter().map(shape).collect();
        let settled = (spread, own_copies, &options.propagate_to_parameters[..]);
        Some(IoShardings::new(&module, entry, (parameters, &loaded.results), settled)?)
    } else {
        None
    };
    for (index, copies) in loaded.copies.iter().enumerate() {
        let (Some(io_shardings), Some(copies)) = (&mut io_shardings, copies) else { continue };
        let made = io_shardings.results[index].joined_rows(&mut graph, copies, entry.location)?;
        (io_shardings.results[index], graph.main.results[index]) = made;
    }
    for (index, spread) in io_shardings.iter_mut().flat_map(|of| &mut of.results).enumerate() {
        spread.settle_element(&mut graph, index, entry.location);
    }
    let (parameters, results) = {
        let block = entry.block().ok_or_else(|| Error::bad("the entry has no body"))?;
        let types: Vec<&Type> = block.arguments.iter().map(|&value| entry.type_of(value)).collect();
        signature(
            target,
            &graph,
            &types,
            (&loaded.results, io_shardings.as_ref()),
            (&module, entry),
        )?
    };
    let donated: Vec<Option<usize>> = parameters
        .iter()
        .map(|parameter| match parameter.donation {
            Donation::To(result) => Some(result),
            Donation::Kept | Donation::Free => None,
        })
        .collect();
    let generation = target.generation;
    let kernels = kernels::fit(&target.kernels.borrow(), generation)?;
    let elsewhere = results.iter().enumerate().filter(|(_, of)| of.kind != MemoryKind::Device);
    let elsewhere: Vec<usize> = elsewhere.map(|(index, _)| index).collect();
    let packed = StorageForm::Packed { donated: &donated, elsewhere: &elsewhere, apart: false };
    let rules = target.specs.rules();
    let laid_anew = |of: (&Module, &Plan)| laid_anew::of(of, rules, &parameters, &results);
    // A program that cannot be taken apart is told as it is, an equal share for each device.
    let own = io_shardings.as_ref().and_then(|io_shardings| {
        let how = (target.numerics, target.make_body);
        DevicePlan::of(how, &module, (io_shardings, spread), packed, laid_anew)
            .inspect_err(|why| tracing::debug!(?module.name, %why, "told as shares of the whole"))
            .ok()
    });
    let (work, moved) = own
        .as_ref()
        .map_or((graph.cost, graph.bytes_accessed), |own| (own.cost, own.bytes_accessed));
    let cost = CostAnalysis {
        flops: work.flops,
        transcendentals: work.transcendentals,
        bytes_accessed: moved,
        optimal_seconds: seconds(moved, generation.hbm_rate)
            .max(seconds(work.flops, generation.flop_rate)),
    };
    let sources = sources(&graph.main);
    // Shards become whole arrays, and those become shards, outside of the plan.
    let outside = if io_shardings.is_some() { StorageForm::Unpacked(&[]) } else { packed };
    let plan = plan(&mut graph, outside, passes);
    let (arena, pool) = match (&own, &io_shardings) {
        (Some(own), _) => (own.temporaries(), 0),
        (None, Some(io_shardings)) => (share(io_shardings, &plan, spread.count), 0),
        (None, None) => (plan.arena, plan.pool.len()),
    };
    let laid_anew = match (&own, &io_shardings) {
        (Some(own), _) => own.laid_anew.clone(),
        (None, Some(_)) => None,
        (None, None) => laid_anew((&module, &plan)),
    };
    // It is charged where the plan's own need is less, and nobody touches it.
    let touched = arena;
    let laid_anew = laid_anew.filter(|of| of.charge(touched) > touched);
    let arena = laid_anew.as_ref().map_or(touched, |of| of.charge(touched));
    // One device's own run has no host memory for temporaries: they are told, and lie in HBM.
    let host = match &own {
        Some(own) => own.plan.host,
        None if io_shardings.is_none() => {
            let how = (target.numerics, target.make_body);
            device_plan::told(how, &module, packed).ok().flatten().map_or(0, |told| told.host)
        }
        None => 0,
    };
    let told = own.as_ref().map_or(&plan, |own| &own.plan);
    let mut memory = analysis(generation, told.size(), (arena, pool), &parameters, &results);
    memory.host_temporaries = Bytes(to_u64(host));
    let name: Arc<str> = module.name.clone().unwrap_or_else(|| "module".into());
    if memory.total() > target.limit {
        return Err(too_large(&module, (told, laid_anew.as_ref()), &memory, target.limit));
    }
    let labels = labels(target.labels, &name, &module, (told, laid_anew.as_ref()), &sources);
    let fingerprint = fingerprint(&source, &options, target.numerics);
    let new = results.iter().filter(|result| result.alias.is_none());
    let written = new.fold(to_u64(touched), |sum, result| sum.saturating_add(result.spec.padded.0));
    Ok(Executable {
        written: Bytes(written),
        name,
        module,
        source,
        options,
        devices,
        parameters,
        results,
        memory,
        cost,
        run_flops: graph.cost.flops,
        inspections: io_shardings
            .as_ref()
            .map_or_else(Vec::new, |io_shardings| io_shardings.inspections.clone()),
        fingerprint,
        kernels,
        numerics: target.numerics,
        draws: graph.draws,
        arena: raw_bytes(target.specs, arena)?,
        pool: raw_bytes(target.specs, pool)?,
        io_shardings,
        spread,
        own,
        laid_anew,
        plan,
        labels,
        other: None,
        likeness: std::sync::OnceLock::new(),
    })
}

/// A program, and what it came from.
type Sourced = (Arc<Module>, (Format, Arc<[u8]>));

/// The program with the code per device that stands in it in other words, and what it came from:
/// code that the client gave for this compilation is not there for another.
fn per_device(
    target: &CompileTarget<'_>,
    module: Arc<Module>,
    source: (Format, Arc<[u8]>),
    (devices, options): (usize, &CompileOptions),
) -> Result<Sourced> {
    let free = &options.propagate_to_parameters[..];
    let (module, source) = match partitioned(&module, target.custom_calls, (devices, free))? {
        Some(made) => {
            let text = made.to_mlir(true).into_bytes();
            (Arc::new(made), (Format::Mlir, text.into()))
        }
        None => (module, source),
    };
    Ok((without_unreduced(&module)?.map_or(module, Arc::new), source))
}

/// One device's share of what a run over several needs besides arguments and results, where it is
/// not known what each does.
fn share(io_shardings: &IoShardings, plan: &Plan, devices: usize) -> usize {
    let all = plan.arena.saturating_add(plan.pool.len());
    all.saturating_add(to_usize(io_shardings.assembled().0)).div_ceil(devices)
}

/// The description of a block of so many bytes; `None` for none.
pub(super) fn raw_bytes(specs: &Specs, count: usize) -> Result<Option<Arc<ArraySpec>>> {
    if count == 0 {
        return Ok(None);
    }
    specs.intern(DType::U8, &[to_u64(count)], LayoutRequest::Default).map(Some)
}

fn signature(
    target: &CompileTarget<'_>,
    graph: &Graph,
    types: &[&Type],
    (shapes, io_shardings): (&[Shape], Option<&IoShardings>),
    (module, entry): (&Module, &Function),
) -> Result<(Vec<Parameter>, Vec<ResultInfo>)> {
    let none = Attributes::default();
    let mut parameters = Vec::new();
    for (index, &value) in graph.main.parameters.iter().enumerate() {
        let attributes = entry.arguments.get(index).unwrap_or(&none);
        let spread = io_shardings.map(|io_shardings| &io_shardings.parameters[index]);
        let shape = spread.map_or(&graph.value(value).shape, |spread| &spread.shard);
        let (spec, auto_layout) = spec(target, shape, attributes)?;
        let aliased = attributes.integer("tf.aliasing_output").map(usize::try_from);
        let donation = match aliased {
            Some(Ok(result)) if result < graph.main.results.len() => Donation::To(result),
            Some(_) => {
                let count = graph.main.results.len();
                let message =
                    format!("parameter {index} aliases a result that is not among {count}");
                return Err(Error::bad(message));
            }
            None if attributes.flag("jax.buffer_donor") => Donation::Free,
            None => Donation::Kept,
        };
        parameters.push(Parameter {
            spec,
            kind: kind(attributes)?,
            sharding: sharding(attributes, spread),
            donation,
            auto_layout,
            token: matches!(types.get(index), Some(Type::Token)),
        });
    }
    let orders = free_orders(module, entry, &parameters);
    let mut results = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let declared = entry.results.get(index);
        let (of, attributes) =
            declared.map_or((None, &none), |(of, attributes)| (Some(of), attributes));
        let spread = io_shardings.map(|io_shardings| &io_shardings.results[index]);
        let shape = spread.map_or(shape, |spread| &spread.shard);
        let (mut spec, auto_layout) = spec(target, shape, attributes)?;
        if let Some(Some(order)) = orders.get(index).filter(|_| auto_layout)
            && order.len() == spec.dims.len()
            && *order != spec.layout.minor_to_major
        {
            let request = LayoutRequest::Order(order.clone());
            spec = target.specs.intern(spec.dtype, &spec.dims, request)?;
        }
        results.push(ResultInfo {
            spec,
            kind: kind(attributes)?,
            sharding: sharding(attributes, spread),
            alias: None,
            auto_layout,
            token: matches!(of, Some(Type::Token)),
        });
    }
    pair(&mut parameters, &mut results, io_shardings.is_some())?;
    Ok((parameters, results))
}

/// How the results whose layout is free lie: as the parameter that is given up for them, or as
/// what they are made of. Empty where none is free.
fn free_orders(module: &Module, entry: &Function, parameters: &[Parameter]) -> Vec<DimensionOrder> {
    let free = |attributes: &Attributes| attributes.text("mhlo.layout_mode") == Some("auto");
    if !entry.results.iter().any(|(_, attributes)| free(attributes)) {
        return Vec::new();
    }
    let order = |of: &Parameter| Some(of.spec.layout.minor_to_major.clone());
    let mut found = orders(module, entry, parameters.iter().map(order).collect());
    for parameter in parameters {
        if let Donation::To(result) = parameter.donation
            && let Some(found) = found.get_mut(result)
        {
            *found = order(parameter);
        }
    }
    found
}

fn sharding(attributes: &Attributes, spread: Option<&IoSharding>) -> Option<Arc<str>> {
    spread.map(reported).or_else(|| attributes.text("mhlo.sharding").map(Into::into))
}

/// Gives donated parameters to results: as the program says, then to the first one of the same
/// size that is free.
fn pair(parameters: &mut [Parameter], results: &mut [ResultInfo], spread: bool) -> Result<()> {
    for (index, parameter) in parameters.iter_mut().enumerate() {
        let Donation::To(result) = parameter.donation else { continue };
        let taken = &mut results[result];
        if taken.spec.padded != parameter.spec.padded || taken.kind != parameter.kind {
            // The result's shards may have another size than the program's author thought.
            if spread {
                parameter.donation = Donation::Free;
                continue;
            }
            let (from, to) = (parameter.spec.text(), taken.spec.text());
            let message = format!("parameter {index}, {from}, cannot alias result {result}, {to}");
            return Err(Error::bad(message));
        }
        if let Some(other) = taken.alias.replace(index) {
            let message = format!("parameters {other} and {index} both alias result {result}");
            return Err(Error::bad(message));
        }
    }
    for (index, result) in free_pairs(parameters, results) {
        results[result].alias = Some(index);
        parameters[index].donation = Donation::To(result);
    }
    if spread {
        keep_misfits(parameters, results);
    }
    Ok(())
}

/// Parameters that any result may take over, each with the first result like it that no other has
/// and that takes as many bytes: another layout may need more.
fn free_pairs(parameters: &[Parameter], results: &[ResultInfo]) -> Vec<(usize, usize)> {
    let mut free: HashMap<(MemoryKind, DType, &[u64], Bytes), VecDeque<usize>> = HashMap::new();
    for (index, result) in results.iter().enumerate().filter(|(_, result)| result.alias.is_none()) {
        let like = (result.kind, result.spec.dtype, &*result.spec.dims, result.spec.padded);
        free.entry(like).or_default().push_back(index);
    }
    let offered = parameters.iter().enumerate().filter(|(_, one)| one.donation == Donation::Free);
    offered
        .filter_map(|(index, one)| {
            let like = (one.kind, one.spec.dtype, &*one.spec.dims, one.spec.padded);
            Some((index, free.get_mut(&like)?.pop_front()?))
        })
        .collect()
}

/// Of what several devices may give up, only what some result has the size of is given up.
fn keep_misfits(parameters: &mut [Parameter], results: &[ResultInfo]) {
    let mut taken: Vec<bool> = results.iter().map(|result| result.alias.is_some()).collect();
    for parameter in parameters {
        if parameter.donation != Donation::Free {
            continue;
        }
        let bytes = (parameter.kind, parameter.spec.logical, parameter.spec.padded);
        let fits = |(result, taken): (&ResultInfo, &mut bool)| {
            let same = (result.kind, result.spec.logical, result.spec.padded) == bytes;
            same && !std::mem::replace(taken, true)
        };
        if !results.iter().zip(&mut taken).any(fits) {
            parameter.donation = Donation::Kept;
        }
    }
}

fn spec(
    target: &CompileTarget<'_>,
    shape: &Shape,
    attributes: &Attributes,
) -> Result<(Arc<ArraySpec>, bool)> {
    let (request, auto) = match attributes.text("mhlo.layout_mode") {
        None | Some("default" | "") => (LayoutRequest::Default, false),
        Some("auto") => (LayoutRequest::Default, true),
        Some(text) => {
            let layout = Layout::parse(text)?;
            let order = layout.minor_to_major.clone();
            let plain = layout == Layout { minor_to_major: order.clone(), ..Layout::default() };
            let request =
                if plain { LayoutRequest::Order(order) } else { LayoutRequest::Tiled(layout) };
            (request, false)
        }
    };
    let dims: Vec<u64> = shape.dims.iter().map(|&dim| to_u64(dim)).collect();
    Ok((target.specs.intern(shape.dtype, &dims, request)?, auto))
}

fn kind(attributes: &Attributes) -> Result<MemoryKind> {
    let Some(name) = attributes.text("mhlo.memory_kind") else { return Ok(MemoryKind::Device) };
    let found = MemoryKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| Error::bad(format!("a memory kind {name:?}")))
}

fn analysis(
    generation: &Generation,
    code: usize,
    (arena, pool): (usize, usize),
    parameters: &[Parameter],
    results: &[ResultInfo],
) -> MemoryAnalysis {
    let mut memory = MemoryAnalysis {
        code: Bytes(to_u64(code)),
        temporaries: Bytes(to_u64(arena).saturating_add(to_u64(pool))),
        outputs: generation.tuple_table(to_u64(results.len())),
        ..MemoryAnalysis::default()
    };
    for parameter in parameters {
        let total = match parameter.kind {
            MemoryKind::Device => &mut memory.arguments,
            MemoryKind::PinnedHost | MemoryKind::UnpinnedHost => &mut memory.host_arguments,
        };
        total.0 = total.0.saturating_add(parameter.spec.padded.0);
    }
    for result in results {
        let (total, alias) = match result.kind {
            MemoryKind::Device => (&mut memory.outputs, &mut memory.alias),
            MemoryKind::PinnedHost | MemoryKind::UnpinnedHost => {
                (&mut memory.host_outputs, &mut memory.host_alias)
            }
        };
        total.0 = total.0.saturating_add(result.spec.padded.0);
        if result.alias.is_some() {
            alias.0 = alias.0.saturating_add(result.spec.padded.0);
        }
    }
    memory.peak = Bytes(memory.total().0.saturating_sub(memory.code.0));
    memory
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn seconds(amount: f64, rate: u64) -> f64 {
    amount / rate as f64
}

/// A hash of everything that decides what a program does.
fn fingerprint(
    source: &(Format, Arc<[u8]>),
    options: &CompileOptions,
    numerics: Numerics,
) -> Arc<str> {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        format!("{:?} {options:?} {numerics:?}", source.0).hash(&mut hasher);
        source.1.hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(0), half(1)).into()
}
