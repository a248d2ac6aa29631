//! `stablehlo.subtract`: differences.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Number};

pub(super) const OP: Entry = Entry { mnemonic: "subtract", infer: same::<2>, lower };

/// `lhs - rhs`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "subtract", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Number => lane!(|a: T, b: T| a.sub(b)));
    lane_of(site, OP.mnemonic, run, false)
}
