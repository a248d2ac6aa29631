//! How the parameters and results of a program are split over its devices.
use super::load::Devices;
use super::tiling::Tiling;
use crate::error::{Error, Result};
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
}

impl Spread {
    fn new(whole: Shape, tiling: Tiling, replicas: bool) -> Result<Self> {
        let tile = tiling.shard(&whole.dims)?;
        // Rows of replicas are arrays without that axis.
        let dims = if replicas { tile[1..].to_vec() } else { tile.clone() };
        let shard = Shape::new(whole.dtype, dims);
        Ok(Self { whole, tiling, tile, shard })
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
}

impl Spreads {
    /// What the program states; whole on every device where it states nothing.
    ///
    /// # Errors
    /// `BadArgument` and `Unimplemented` with the number of the parameter or result.
    pub(crate) fn new(
        module: &Module,
        entry: &Function,
        (parameters, results): (Vec<Shape>, &[Shape]),
        devices: Devices,
    ) -> Result<Self> {
        let none = Attributes::default();
        let spread = |whole: &Shape, attributes: &Attributes| {
            let tiling = if devices.replicas {
                Tiling::rows(whole.rank(), devices.count)
            } else {
                let size = (whole.rank(), devices.count);
                stated(module, attributes, size)?
                    .unwrap_or_else(|| Tiling::replicated(size.0, size.1))
            };
            Spread::new(whole.clone(), tiling, devices.replicas)
        };
        let numbered = |what: &str, index: usize, error: Error| match error {
            Error::Unimplemented(why) => Error::Unimplemented(format!("{what} {index}: {why}")),
            Error::BadArgument(why) => Error::BadArgument(format!("{what} {index}: {why}")),
            other => other,
        };
        let parameters = parameters.iter().enumerate().map(|(index, whole)| {
            spread(whole, entry.arguments.get(index).unwrap_or(&none))
                .map_err(|error| numbered("parameter", index, error))
        });
        let results = results.iter().enumerate().map(|(index, whole)| {
            spread(whole, entry.results.get(index).map_or(&none, |(_, attributes)| attributes))
                .map_err(|error| numbered("result", index, error))
        });
        Ok(Self { parameters: parameters.collect::<Result<_>>()?, results: results.collect::<Result<_>>()? })
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
