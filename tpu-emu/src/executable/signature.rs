//! What a program takes and gives: arrays with their layouts, memories and shardings, and which
//! argument's memory each result takes over.
use super::compile::CompileTarget;
use super::free_layouts::{FollowedOrder, followed_orders};
use super::{Donation, Parameter, ResultInfo};
use crate::hbm::layout::{Layout, preferred_order};
use crate::hbm::spec::{ArraySpec, LayoutRequest};
use crate::memory::MemoryKind;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_base::units::{Bytes, to_u64};
use tpu_program::graph::Graph;
use tpu_program::sharding::io_shardings::{IoSharding, IoShardings, reported};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attributes, Function, Type};

/// The parameters of `entry`, whose values are `graph`'s and whose types are `types`, and its
/// results, which have these shapes.
///
/// # Errors
/// `BadArgument` for layouts, memories and aliases that do not fit.
pub(super) fn signature(
    target: &CompileTarget<'_>,
    graph: &Graph,
    types: &[&Type],
    (shapes, io_shardings): (&[Shape], Option<&IoShardings>),
    (module, entry): (&Module, &Function),
) -> Result<(Vec<Parameter>, Vec<ResultInfo>)> {
    let mut parameters = parameters(target, graph, types, io_shardings, entry)?;
    let mut results = results(target, (shapes, io_shardings), entry)?;
    if parameters.iter().any(|of| of.auto_layout) || results.iter().any(|of| of.auto_layout) {
        settle_free_layouts(target, (module, entry), &mut parameters, &mut results)?;
    }
    pair(&mut parameters, &mut results, io_shardings.is_some())?;
    Ok((parameters, results))
}

fn parameters(
    target: &CompileTarget<'_>,
    graph: &Graph,
    types: &[&Type],
    io_shardings: Option<&IoShardings>,
    entry: &Function,
) -> Result<Vec<Parameter>> {
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
    Ok(parameters)
}

fn results(
    target: &CompileTarget<'_>,
    (shapes, io_shardings): (&[Shape], Option<&IoShardings>),
    entry: &Function,
) -> Result<Vec<ResultInfo>> {
    let none = Attributes::default();
    let mut results = Vec::new();
    for (index, shape) in shapes.iter().enumerate() {
        let declared = entry.results.get(index);
        let (of, attributes) =
            declared.map_or((None, &none), |(of, attributes)| (Some(of), attributes));
        let spread = io_shardings.map(|io_shardings| &io_shardings.results[index]);
        let shape = spread.map_or(shape, |spread| &spread.shard);
        let (spec, auto_layout) = spec(target, shape, attributes)?;
        results.push(ResultInfo {
            spec,
            kind: kind(attributes)?,
            sharding: sharding(attributes, spread),
            alias: None,
            auto_layout,
            token: matches!(of, Some(Type::Token)),
        });
    }
    Ok(results)
}

/// Chooses the layouts that are free: of a parameter, that in which what is made of it lies as it
/// must, or the one with the fewest tiles; of a result, that of the parameter that is given up for
/// it, or of what it is made of.
fn settle_free_layouts(
    target: &CompileTarget<'_>,
    (module, entry): (&Module, &Function),
    parameters: &mut [Parameter],
    results: &mut [ResultInfo],
) -> Result<()> {
    let mut orders = Vec::with_capacity(parameters.len());
    for parameter in &*parameters {
        let spec = &parameter.spec;
        orders.push(if parameter.auto_layout {
            preferred_order(target.specs.rules(), spec.dtype.element(), &spec.dims)?
        } else {
            spec.layout.minor_to_major.clone()
        });
    }
    let made = followed_orders(module, entry, orders.iter().cloned().map(Some).collect());
    let mut settled = orders.clone();
    for (index, parameter) in parameters.iter_mut().enumerate().filter(|(_, of)| of.auto_layout) {
        let from_it = |made: &&FollowedOrder| made.parameter == Some(index);
        let fixed = made.iter().zip(&*results).filter_map(|(made, result)| {
            let made = made.as_ref().filter(from_it).filter(|_| !result.auto_layout)?;
            Some((made, &result.spec.layout.minor_to_major))
        });
        // What is returned as it came decides, else the last result.
        let decides = fixed.max_by_key(|(made, _)| made.untouched);
        let order = match decides {
            Some((made, wanted)) => moved_along(&made.order, &orders[index], wanted),
            None if made.iter().flatten().any(|made| from_it(&made)) => Some(orders[index].clone()),
            None => None,
        };
        settled[index] = order.unwrap_or_else(|| parameter.spec.layout.minor_to_major.clone());
        relaid(target, &mut parameter.spec, &settled[index])?;
    }
    for (index, result) in results.iter_mut().enumerate().filter(|(_, of)| of.auto_layout) {
        let given_up = parameters.iter().position(|of| of.donation == Donation::To(index));
        let order = match (given_up, made.get(index).and_then(Option::as_ref)) {
            (Some(parameter), _) => Some(settled[parameter].clone()),
            (None, Some(made)) => match made.parameter {
                Some(of) => moved_along(&orders[of], &made.order, &settled[of]),
                None => Some(made.order.clone()),
            },
            (None, None) => None,
        };
        if let Some(order) = order.filter(|order| order.len() == result.spec.dims.len()) {
            relaid(target, &mut result.spec, &order)?;
        }
    }
    Ok(())
}

/// The order `wanted` of the axes of one array, told in the axes of another: the axes at the same
/// places of `from` and `to` are the same. `None` where the arrays have not the same axes.
fn moved_along(from: &[usize], to: &[usize], wanted: &[usize]) -> Option<Vec<usize>> {
    let place = |axis: &usize| from.iter().position(|of| of == axis);
    wanted.iter().map(|axis| to.get(place(axis)?).copied()).collect()
}

/// Describes the array in another order of its dimensions.
fn relaid(target: &CompileTarget<'_>, spec: &mut Arc<ArraySpec>, order: &[usize]) -> Result<()> {
    if order != spec.layout.minor_to_major {
        let request = LayoutRequest::Order(order.to_vec());
        *spec = target.specs.intern(spec.dtype, &spec.dims, request)?;
    }
    Ok(())
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
        // Of what several devices may give up, only what some result has the size of is given up.
        for parameter in parameters.iter_mut().filter(|one| one.donation == Donation::Free) {
            parameter.donation = Donation::Kept;
        }
    }
    Ok(())
}

/// Parameters that any result may take over, each with the first result like it that no other has and
/// that takes as many bytes, for another layout may need more; those that are left, with the first
/// result of as many elements and bytes.
fn free_pairs(parameters: &[Parameter], results: &[ResultInfo]) -> Vec<(usize, usize)> {
    let alike = |spec: &ArraySpec, result: &ArraySpec| {
        (spec.dtype, &spec.dims) == (result.dtype, &result.dims)
    };
    let any = |_: &ArraySpec, _: &ArraySpec| true;
    let is_free = |parameter: &usize| parameters[*parameter].donation == Donation::Free;
    let mut offered: Vec<usize> = (0..parameters.len()).filter(is_free).collect();
    let mut free: HashMap<(MemoryKind, Bytes, Bytes), VecDeque<usize>> = HashMap::new();
    for (index, result) in results.iter().enumerate().filter(|(_, result)| result.alias.is_none()) {
        free.entry(memory_of(result.kind, &result.spec)).or_default().push_back(index);
    }
    let mut pairs = Vec::new();
    for fits in [alike as fn(&ArraySpec, &ArraySpec) -> bool, any] {
        offered.retain(|&index| {
            let Parameter { kind, spec, .. } = &parameters[index];
            let taken = free.get_mut(&memory_of(*kind, spec)).and_then(|like| {
                let place = like.iter().position(|&result| fits(spec, &results[result].spec))?;
                like.remove(place)
            });
            pairs.extend(taken.map(|result| (index, result)));
            taken.is_none()
        });
    }
    pairs
}

/// Where an array lies, and the bytes of its elements, dense and padded.
fn memory_of(kind: MemoryKind, spec: &ArraySpec) -> (MemoryKind, Bytes, Bytes) {
    (kind, spec.logical, spec.padded)
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
