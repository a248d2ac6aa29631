//! From a program over whole arrays to the program of one device: arrays are the device's parts, and
//! what devices exchange is written out as collectives.
//!
//! 1. `axes`: the axes along which the devices are numbered.
//! 2. `propagate`: how every value is split.
//! 3. `emit`: the operations over parts. `operation` does one whose axes belong together
//!    (`factors`) piece by piece; one without factors takes its operands whole. `reshard` brings an
//!    array from one layout to another, `halo` adds what lies next to a piece, `lookup` looks
//!    elements up in a piece of a table, `collective` writes what devices exchange, `waiting` makes
//!    sums together, `pieces` has small operations that these are made of.
//!
//! Where the devices do not share an extent evenly, each has as many elements as the first one, of
//! which those past the end of the whole are anything: sums leave them out, and arrays that are
//! whole again do (docs/decisions/0195).
//!
//! It tells what each device needs: its memory, its work, its text. What runs is the program over
//! whole arrays (docs/decisions/0016), but where the parts need nothing of one another
//! (docs/decisions/0108).
mod axes;
mod collective;
mod control;
#[cfg(test)]
mod differential;
mod emit;
mod factors;
mod halo;
mod linker;
mod lookup;
mod operation;
mod pieces;
mod propagate;
mod reach;
mod reshard;
mod waiting;

pub(crate) use collective::{is_planned_gather, is_planned_scatter};
pub use linker::Unlinked;

use crate::operation_factors::dims;
use crate::sharding::Sharding;
use crate::sharding::io_shardings::{IoSharding, IoShardings};
use crate::tuning::MAX_PARTITIONED_OPERATIONS;
use axes::{Axes, Layout};
use emit::Emitter;
use propagate::{Layouts, Propagation};
use tpu_base::error::{Error, Result};
use tpu_ops::{Operator, Structural};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attributes, Block, Function, Locations, Value};

/// What a partitioned program is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// To be planned: collectives are calls of nobody ([`Unlinked`]), and the device is the first.
    Plan,
    /// To be read: collectives with their groups, by channels.
    Text,
    /// To be run over as many replicas.
    #[cfg(test)]
    Replicas,
}

/// The program of one device.
#[derive(Debug)]
pub struct DevicePart {
    /// The program.
    pub module: Module,
    /// Whether it is the same for all devices, also where a plan has the first device's: nobody
    /// needs a number of the device.
    pub everywhere: bool,
    /// Whether all that it computes is code per device in the program that it came from.
    pub per_device: bool,
}

/// A program over whole arrays, with the bodies of calls in their place where that is not too much.
struct WholeProgram<'m> {
    module: &'m Module,
    entry: &'m Function,
    block: &'m Block,
    axes: Axes,
    /// Values that one call gave.
    together: &'m [Vec<Value>],
}

impl<'m> WholeProgram<'m> {
    fn of(
        module: &'m Module,
        inlined: Option<&'m (Module, Vec<Vec<Value>>)>,
        devices: usize,
    ) -> Result<Self> {
        let (module, together) = match inlined {
            Some((module, together)) => (module, &together[..]),
            None => (module, &[][..]),
        };
        let entry = module.entry().ok_or_else(|| Error::bad("the module has no function main"))?;
        let block = entry.block().ok_or_else(|| Error::bad("the entry has no body"))?;
        let axes = Axes::of(module, entry, devices)?;
        Ok(Self { module, entry, block, axes, together })
    }

    /// The values that it gives back.
    fn returned(&self) -> &'m [Value] {
        self.block.operations.last().map_or(&[][..], |last| &last.operands)
    }

    /// How all values are split, from parameters and results.
    fn layouts(&self, parameters: &[Layout], results: &[Layout]) -> Result<Layouts> {
        let program = (self.module, self.entry, &self.axes);
        Propagation::run(program, self.together, (parameters, results))
    }
}

/// How the results of a program are split, those in `stated` as they are stated and the others as
/// Shardy splits them. `None` for programs that are not written for it, for those with calls that
/// are too large to be followed, and where code per device states how all of them are split.
///
/// # Errors
/// `Unimplemented` for shardings that are none along common axes of the devices.
pub fn split_results(
    module: &Module,
    (parameters, stated): (&[IoSharding], &[Option<Sharding>]),
    devices: usize,
) -> Result<Option<Vec<Sharding>>> {
    if module.meshes.is_empty() || module.entry().is_some_and(all_are_per_device) {
        return Ok(None);
    }
    let inlined = module.with_calls_inlined_together(MAX_PARTITIONED_OPERATIONS);
    if inlined.is_none() && module.functions.len() > 1 {
        return Ok(None);
    }
    let whole = WholeProgram::of(module, inlined.as_ref(), devices)?;
    let WholeProgram { entry, axes, .. } = &whole;
    let rank = |value: Value| dims(entry, value).map_or(0, <[i64]>::len);
    let given = whole.block.arguments.iter().zip(parameters);
    let given = given.map(|(&value, of)| axes.found(&without_rows(&of.sharding, rank(value))));
    let given: Vec<Layout> = given.collect::<Result<_>>()?;
    let returned = whole.returned();
    let said = returned.iter().zip(stated).map(|(&value, stated)| match stated {
        Some(stated) => axes.found(&stated.clone().with_copies()),
        None => Ok(Layout::whole(rank(value))),
    });
    let said: Vec<Layout> = said.collect::<Result<_>>()?;
    let layouts = whole.layouts(&given, &said)?;
    let made = returned.iter().zip(stated).map(|(&value, stated)| {
        let of = || axes.known(layouts.of(value), dims(entry, value).unwrap_or_default());
        stated.clone().unwrap_or_else(of)
    });
    Ok(Some(made.collect()))
}

/// Whether code per device makes all that a function returns.
fn all_are_per_device(function: &Function) -> bool {
    let operations = function.block().map_or(&[][..], |block| &block.operations);
    let per_device = operations.iter().filter(|operation| {
        matches!(Operator::of(operation), Operator::Structural(Structural::ManualComputation))
    });
    let made: Vec<Value> = per_device.flat_map(|of| of.results.iter().copied()).collect();
    operations.last().is_some_and(|last| last.operands.iter().all(|value| made.contains(value)))
}

/// The program of one device, out of one over whole arrays; or, of a program over replicas, which
/// is one device's already, the same in this form.
///
/// # Errors
/// `Unimplemented` for shardings that are none along common axes of the devices.
pub fn partition(
    module: &Module,
    io: &IoShardings,
    (devices, replicas): (usize, bool),
    form: Form,
) -> Result<DevicePart> {
    let inlined = module.with_calls_inlined_together(MAX_PARTITIONED_OPERATIONS);
    let whole = WholeProgram::of(module, inlined.as_ref(), devices)?;
    let &WholeProgram { module, entry, block, ref axes, .. } = &whole;
    let side = |values: &[Value], all: &[IoSharding]| -> Result<Vec<Layout>> {
        let one = |(value, of): (&Value, &IoSharding)| {
            let rank = entry.type_of(*value).tensor().map_or(0, |tensor| tensor.dims.len());
            if replicas {
                return Ok(Layout::whole(rank));
            }
            axes.found(&without_rows(&of.sharding, rank))
        };
        values.iter().zip(all).map(one).collect()
    };
    let parameters = side(&block.arguments, &io.parameters)?;
    let results = side(whole.returned(), &io.results)?;
    let layouts = whole.layouts(&parameters, &results)?;
    let mut emitter = Emitter::new((module, entry, axes), &layouts, form);
    let (body, values) = emitter.main(block, &parameters, &results)?;
    let name = |name: &str| !name.starts_with("sdy.") && name != "mhlo.sharding";
    let plain = |attributes: &Attributes| {
        let kept = attributes.0.iter().filter(|(key, _)| name(key));
        Attributes(kept.cloned().collect())
    };
    let types = body.blocks[0].operations.last().map_or(&[][..], |last| &last.operands);
    let types = types.iter().map(|value| values[value.0 as usize].clone());
    let made = Function {
        name: entry.name.clone(),
        public: true,
        attributes: plain(&entry.attributes),
        arguments: entry.arguments.iter().map(plain).collect(),
        results: types.zip(entry.results.iter().map(|(_, of)| plain(of))).collect(),
        values,
        body,
        location: entry.location,
    };
    // A plan has the numbers of lines, which are those of the module that it was made of.
    let locations = match form {
        Form::Plan => Locations::default(),
        _ => module.locations.clone(),
    };
    let (everywhere, per_device) = (emitter.everywhere, replicas || emitter.per_device);
    let mut functions = vec![made];
    let others = module.functions.iter().filter(|other| !std::ptr::eq(*other, entry));
    functions.extend(others.cloned());
    let module = Module {
        name: module.name.clone(),
        attributes: plain(&module.attributes),
        meshes: Vec::new(),
        functions,
        locations,
    };
    Ok(DevicePart { module, everywhere, per_device })
}

/// A sharding without the axis of copies that differ between devices.
fn without_rows(sharding: &Sharding, rank: usize) -> Sharding {
    let more = sharding.shards.len().saturating_sub(rank);
    if more == 0 {
        return sharding.clone();
    }
    let places = sharding.places.iter().map(|place| place[more..].to_vec()).collect();
    Sharding { shards: sharding.shards[more..].to_vec(), places, ..sharding.clone() }
}
