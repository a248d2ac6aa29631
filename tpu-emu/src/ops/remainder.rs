//! `stablehlo.remainder`: remainders of division.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Real};

pub(super) const OP: Entry = Entry { mnemonic: "remainder", infer: same::<2>, lower };

/// The remainder of the division that truncates: the sign is that of `lhs`, and `lhs` over an
/// integer zero stays.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "remainder", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Real => lane!(|a: T, b: T| a.rem(b)));
    lane_of(site, OP.mnemonic, run, false)
}
