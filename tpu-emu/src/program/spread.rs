//! How the parameters and results of a program are split over its devices.
use super::executable::Inspection;
use super::load::{Devices, sum};
use super::propagate::Propagation;
use super::tiling::Tiling;
use crate::error::{Error, Result};
use crate::ops::Body;
use crate::tensor::Shape;
use crate::units::{Bytes, to_u64};
use std::sync::Arc;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, Function};

/// A parameter or result of a program over several devices.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    /// The array that the program sees.
    pub(crate) whole: Shape,
    /// Which part of it each device has.
    pub(crate) tiling: Tiling,
    /// Extents of that part in the whole.
    pub(crate) tile: Vec<usize>,
    /// The array on a device.
    pub(crate) shard: Shape,
    /// Adds two elements, where a tile is a sum of what several devices have.
    pub(crate) sum: Option<Arc<dyn Body>>,
}

impl Spread {
    fn new(whole: Shape, tiling: Tiling, replicas: bool) -> Result<Self> {
        let tile = tiling.shard(&whole.dims)?;
        // Rows of replicas are arrays without that axis.
        let dims = if replicas { tile[1..].to_vec() } else { tile.clone() };
        let shard = Shape::new(whole.dtype, dims);
        let sum = if tiling.terms > 1 { Some(sum(whole.dtype)?) } else { None };
        Ok(Self { whole, tiling, tile, shard, sum })
    }

    /// Whether the array on a device is the whole as it is.
    pub(crate) fn is_whole(&self) -> bool {
        self.tiling.is_replicated() && self.whole.dtype.element().bits >= 8
    }
}

/// The parameters and results of a program over several devices.
#[derive(Debug)]
pub(crate) struct Spreads {
    pub(crate) parameters: Vec<Spread>,
    pub(crate) results: Vec<Spread>,
    /// What the program asks about its shardings.
    pub(crate) inspections: Vec<Inspection>,
}

impl Spreads {
    /// What the program states. Where it states nothing, parameters are whole on every device,
    /// and results split as what they are made of.
    ///
    /// # Errors
    /// `BadArgument` and `Unimplemented` with the number of the parameter or result.
    pub(crate) fn new(
        module: &Module,
        entry: &Function,
        (parameters, results): (Vec<Shape>, &[Shape]),
        devices: Devices,
    ) -> Result<Self> {
        let (rows, count) = (devices.replicas, devices.count);
        let none = Attributes::default();
        let numbered = |what: &str, index: usize, error: Error| match error {
            Error::Unimplemented(why) => Error::Unimplemented(format!("{what} {index}: {why}")),
            Error::BadArgument(why) => Error::BadArgument(format!("{what} {index}: {why}")),
            other => other,
        };
        let mut known = Vec::new();
        let mut made =
            Self { parameters: Vec::new(), results: Vec::new(), inspections: Vec::new() };
        for (index, whole) in parameters.into_iter().enumerate() {
            let attributes = entry.arguments.get(index).unwrap_or(&none);
            let rank = whole.rank();
            let numbered = |error| numbered("parameter", index, error);
            let stated = if rows {
                None
            } else {
                stated(module, attributes, (rank, count)).map_err(numbered)?
            };
            known.push(stated.clone());
            let other =
                || if rows { Tiling::rows(rank, count) } else { Tiling::replicated(rank, count) };
            let tiling = stated.unwrap_or_else(other);
            made.parameters.push(Spread::new(whole, tiling, rows).map_err(numbered)?);
        }
        let mut propagation = Propagation::new(module, count);
        let mut follows = propagation.entry(entry, known);
        made.inspections = propagation.inspections;
        follows.resize(results.len(), None);
        for (index, (whole, follows)) in results.iter().zip(follows).enumerate() {
            let attributes = entry.results.get(index).map_or(&none, |(_, attributes)| attributes);
            let rank = whole.rank();
            let numbered = |error| numbered("result", index, error);
            let tiling = if rows {
                Tiling::rows(rank, count)
            } else {
                let stated = stated(module, attributes, (rank, count)).map_err(numbered)?;
                stated.or(follows).unwrap_or_else(|| Tiling::replicated(rank, count))
            };
            made.results.push(Spread::new(whole.clone(), tiling, rows).map_err(numbered)?);
        }
        Ok(made)
    }

    /// Bytes of the whole arrays that a run makes from parts.
    pub(crate) fn assembled(&self) -> Bytes {
        let all = self.parameters.iter().chain(&self.results).filter(|spread| !spread.is_whole());
        Bytes(all.fold(0, |sum, spread| sum.saturating_add(to_u64(spread.whole.bytes()))))
    }
}

/// The sharding that the attributes of a parameter or result state.
fn stated(
    module: &Module,
    attributes: &Attributes,
    (rank, devices): (usize, usize),
) -> Result<Option<Tiling>> {
    if let Some(Attribute::Sharding(sharding)) = attributes.get("sdy.sharding") {
        return Tiling::of(sharding, module, (rank, devices), &|_| true).map(Some);
    }
    let text = attributes.text("mhlo.sharding");
    text.map(|text| Tiling::parse(text, rank, devices)).transpose()
}

/// The words for a sharding that clients are told.
pub(crate) fn told(spread: &Spread) -> Arc<str> {
    spread.tiling.text().into()
}
