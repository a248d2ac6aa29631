//! `stablehlo.shift_right_arithmetic`: bits moved down, the sign moved in.
use super::elementwise::{dtype, lane_of, same};
use super::{Entry, Lowered, Site};
use crate::error::Result;
use crate::kernels::map::lane;
use crate::tensor::element::{Int, for_dtype};

pub(super) const OP: Entry = Entry { mnemonic: "shift_right_arithmetic", infer: same::<2>, lower };

/// `lhs >> rhs` with copies of the highest bit; only those for a shift by the width or more.
///
/// Shapes: operands and result `[d..]`.
/// Errors: `Constraint` C1 for operands of different types, `BadArgument` for an element type
/// that the operation does not take.
/// Source: StableHLO specification, "shift_right_arithmetic", C1.
fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = dtype(site)?;
    let run = for_dtype!(dtype, T: Int => lane!(|a: T, b: T| shift(a, b)));
    lane_of(site, OP.mnemonic, run, false)
}

fn shift<T: Int>(value: T, distance: T) -> T {
    let unused = 64 - T::BITS;
    let signed = (value.bits() << unused).cast_signed() >> unused;
    T::wrap((signed >> distance.distance().min(T::BITS - 1)).cast_unsigned())
}
