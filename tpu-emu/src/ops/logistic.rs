//! `stablehlo.logistic`: the logistic function.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::complex;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Float, ComplexNumber};

pub(super) const OP: Entry = Entry { mnemonic: "logistic", infer: same::<1>, lower };

/// `1 / (1 + e^-operand)`.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "logistic", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::narrow(1.0 / (1.0 + (-a.widen()).exp()))))
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::logistic(a.widen())))));
    lane_of(site, OP.mnemonic, run, true)
}
