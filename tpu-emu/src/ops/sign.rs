//! `stablehlo.sign`: signs.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::complex;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Real, ComplexNumber};

pub(super) const OP: Entry = Entry { mnemonic: "sign", infer: same::<1>, lower };

/// -1, 0 or 1; zeros and NaN are their own; `z / |z|` for complex numbers.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "sign", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Real => lane!(|a: T| a.signum()))
        .or_else(|| for_dtype!(dtype, T: Complex => lane!(|a: T| T::narrow(complex::sign(a.widen())))));
    lane_of(site, OP.mnemonic, run, false)
}
