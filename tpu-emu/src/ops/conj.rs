//! `chlo.conj`: complex conjugates.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{Complex, for_dtype, ComplexNumber};

pub(super) const OP: Entry = Entry { mnemonic: "conj", infer: same::<1>, lower };

/// The conjugate; a real number is its own.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "conj".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Complex => {lane!(|a: T| { let z = a.parts(); T::from_parts(Complex::new(z.re, -z.im)) })})
        .or_else(|| for_dtype!(dtype, T: Real => lane!(|a: T| a)));
    lane_of(site, OP.mnemonic, run, false)
}
