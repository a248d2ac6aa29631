//! `chlo.mulhi`: the upper half of products.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{for_dtype, Int};

pub(super) const OP: Entry = Entry { mnemonic: "mulhi", infer: same::<2>, lower };

/// The bits of the exact product above those that `multiply` gives.
///
/// Shapes: operands and result [d..].
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: CHLO, "mulhi".
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| high(a, b)));
    lane_of(site, OP.mnemonic, run, false)
}

fn high<T: Int>(a: T, b: T) -> T {
    // Sign extension makes one rule for all: the product is exact in 128 bits.
    let wide = |x: T| {
        if T::SIGNED { i128::from(x.bits().cast_signed()) } else { i128::from(x.bits()) }
    };
    let product = wide(a).wrapping_mul(wide(b)).cast_unsigned() >> T::BITS;
    T::wrap(u64::try_from(product & u128::from(u64::MAX)).unwrap_or_default())
}
