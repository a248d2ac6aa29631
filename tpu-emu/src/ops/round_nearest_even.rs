//! `stablehlo.round_nearest_even`: rounding to the nearest, ties to even.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Float};

pub(super) const OP: Entry = Entry { mnemonic: "round_nearest_even", infer: same::<1>, lower };

/// The nearest integer, of two the even one.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "round_nearest_even", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(a.widen().round_ties_even())));
    lane_of(site, OP.mnemonic, run, false)
}
