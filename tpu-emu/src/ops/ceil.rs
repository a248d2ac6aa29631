//! `stablehlo.ceil`: rounding up.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Float};

pub(super) const OP: Entry = Entry { mnemonic: "ceil", infer: same::<1>, lower };

/// The smallest integer that is not smaller.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "ceil", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(a.widen().ceil())));
    lane_of(site, OP.mnemonic, run, false)
}
