//! `chlo.zeta`: the Hurwitz zeta function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::kernels::special;
use crate::tensor::element::{for_dtype, Real};

pub(super) const OP: Entry = Entry { mnemonic: "zeta", infer: same::<2>, lower };

/// `Σ (q + k)^-x` for `k` from 0 on; NaN below `x = 1`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "zeta".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T, b: T| T::from_f64(special::zeta(a.to_f64(), b.to_f64()))));
    lane_of(site, OP.mnemonic, run, true)
}
