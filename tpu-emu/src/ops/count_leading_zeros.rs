//! `stablehlo.count_leading_zeros`: zeros before the first set bit.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Int};

pub(super) const OP: Entry = Entry { mnemonic: "count_leading_zeros", infer: same::<1>, lower };

/// How many bits above the highest set one; the width for 0.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "count_leading_zeros", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T| T::wrap((a.bits() << (64 - T::BITS)).leading_zeros().min(T::BITS).into())));
    lane_of(site, OP.mnemonic, run, false)
}
