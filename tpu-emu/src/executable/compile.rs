//! From a module to an executable.
use super::charge::Charge;
use super::device_plan::{self, DevicePlan};
use super::kernels;
use super::labels::{labels, sources};
use super::laid_anew;
use super::oom::{rematerialized, too_large};
use super::signature::signature;
use super::stored_array::constant_bytes;
use super::{
    CompileOptions, CostAnalysis, Donation, Executable, Format, MemoryAnalysis, Parameter,
    ResultInfo,
};
use crate::hbm::spec::{ArraySpec, LayoutRequest, Specs};
use crate::memory::MemoryKind;
use crate::origin::Labels;
use crate::topology::Generation;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_u64, to_usize};
use tpu_ops::{CallCompiler, Numerics};
use tpu_pallas::core_memory::CalledKernel;
use tpu_program::compile::{Passes, plan};
use tpu_program::core_parts::give_each_core_its_part;
use tpu_program::import::{BodyMaker, load};
use tpu_program::partition::split_results;
use tpu_program::plan::{Plan, StorageForm};
use tpu_program::rewrite::custom_partitioning::partitioned;
use tpu_program::rewrite::unreduced::without_unreduced;
use tpu_program::sharding::groups::Devices;
use tpu_program::sharding::io_shardings::{IoSharding, IoShardings};
use tpu_program::spmd::alone::is_alone;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::Type;

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
    let mut passes = Passes::ALL;
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
    if target.generation.num_cores > 1 {
        give_each_core_its_part(&mut graph, &module.locations)?;
    }
    let mut io_shardings = if spread.count > 1 && only.is_none() {
        let shape = |&value| graph.value(value).shape.clone();
        let parameters = graph.main.parameters.iter().map(shape).collect();
        let settled = (spread, own_copies, &options.propagate_to_parameters[..]);
        Some(IoShardings::new(
            &module,
            entry,
            (parameters, &loaded.results),
            settled,
            split_results,
        )?)
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
    let charge = |of: (&Module, &Plan)| laid_anew::of(of, rules, &parameters, &results);
    let lasting = analysis(generation, 0, (0, 0), &parameters, &results).total();
    passes.room = to_usize(target.limit.0.saturating_sub(lasting.0));
    // A program that cannot be taken apart is told as it is, an equal share for each device.
    let own = io_shardings.as_ref().and_then(|io_shardings| {
        let how = (target.numerics, target.make_body);
        DevicePlan::of(how, &module, (io_shardings, spread), (packed, passes), (charge, rules))
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
    let outside = if io_shardings.is_some() {
        passes.room = usize::MAX;
        StorageForm::Unpacked(&[])
    } else {
        packed
    };
    let plan = plan(&mut graph, outside, passes);
    let (arena, pool) = match (&own, &io_shardings) {
        (Some(own), _) => (own.temporaries(), 0),
        (None, Some(io_shardings)) => (share(io_shardings, &plan, spread.count), 0),
        (None, None) => (plan.arena, constant_bytes(&plan, rules)),
    };
    let mut charge = match (&own, &io_shardings) {
        (Some(own), _) => own.charge.clone(),
        (None, Some(_)) => Charge::default(),
        (None, None) => laid_anew::with_rows_in_core(charge((&module, &plan)), &plan),
    };
    // It is charged where the plan's own need is less, and nobody touches it.
    let touched = arena;
    charge.laid_anew = charge.laid_anew.filter(|of| of.charge(touched) > touched);
    let (arena, Charge { laid_anew, in_core }) = (charge.of(touched), charge);
    // One device's own run has no host memory for temporaries: they are told, and lie in HBM.
    let host = match &own {
        Some(own) => own.host,
        None if io_shardings.is_none() => {
            let how = (target.numerics, target.make_body);
            device_plan::told(how, &module, (packed, passes))
                .ok()
                .flatten()
                .map_or(0, |told| told.host)
        }
        None => 0,
    };
    let told = own.as_ref().map_or(&plan, |own| &own.plan);
    let mut memory = analysis(generation, told.size(), (arena, pool), &parameters, &results);
    memory.host_temporaries = Bytes(to_u64(host));
    let name: Arc<str> = module.name.clone().unwrap_or_else(|| "module".into());
    if memory.total() > target.limit {
        let told = (told, laid_anew.as_ref(), in_core);
        return Err(too_large(&module, told, &memory, target.limit));
    }
    if let Some(again) = rematerialized(&module, told) {
        tracing::warn!(program = %name, "{again}");
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
        in_core,
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
