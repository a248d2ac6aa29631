//! `stablehlo.floor`: rounding down.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Float};

pub(super) const OP: Entry = Entry { mnemonic: "floor", infer: same::<1>, lower };

/// The largest integer that is not larger.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "floor", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(a.widen().floor())));
    lane_of(site, OP.mnemonic, run, false)
}
