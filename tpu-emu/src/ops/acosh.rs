//! `chlo.acosh`: inverse hyperbolic cosines.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::complex_inverse;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Real, ComplexNumber};

pub(super) const OP: Entry = Entry { mnemonic: "acosh", infer: same::<1>, lower };

/// The inverse hyperbolic cosine; NaN below 1 for floats.
///
/// Shapes: operand and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "acosh".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Float => lane!(|a: T| T::from_f64(libm::acosh(a.to_f64()))))
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex_inverse::acosh(a.widen())))));
    lane_of(site, OP.mnemonic, run, true)
}
