//! What elementwise operations compute, as values.
//!
//! Whatever is chosen by operation (instructions, combiners, known comparators) matches on
//! [`ElementwiseKind`]; operations' files in `tpu-ops` name theirs.

/// A direction of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Direction {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// The word of the specification.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eq => "EQ",
            Self::Ne => "NE",
            Self::Lt => "LT",
            Self::Le => "LE",
            Self::Gt => "GT",
            Self::Ge => "GE",
        }
    }
}

/// Which order of floats a comparison goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// That of the values: zeros are equal, NaN is unequal to everything.
    Value,
    /// The total one of IEEE 754: -NaN first, -0 before +0, NaN last.
    Total,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What an elementwise operation computes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ElementwiseKind {
            $($(#[$doc])* $kind,)*
            /// Whether the first one stands in a relation to the second.
            Compare(Direction, Order),
            /// The element of an array with a number that the program computes.
            Take,
        }

        impl ElementwiseKind {
            /// Those that are operations by themselves: all but comparisons and [`Self::Take`].
            pub const PLAIN: &[Self] = &[$(Self::$kind),*];

            /// The operation's mnemonic; a comparison's direction follows a dot.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                    Self::Compare(Direction::Eq, _) => "compare.EQ",
                    Self::Compare(Direction::Ne, _) => "compare.NE",
                    Self::Compare(Direction::Lt, _) => "compare.LT",
                    Self::Compare(Direction::Le, _) => "compare.LE",
                    Self::Compare(Direction::Gt, _) => "compare.GT",
                    Self::Compare(Direction::Ge, _) => "compare.GE",
                    Self::Take => "take",
                }
            }
        }
    };
}

kinds! {
    /// Magnitude.
    Abs = "abs",
    /// Inverse cosine.
    Acos = "acos",
    /// Inverse hyperbolic cosine.
    Acosh = "acosh",
    /// Sum; the disjunction of booleans.
    Add = "add",
    /// Bitwise conjunction.
    And = "and",
    /// Inverse sine.
    Asin = "asin",
    /// Inverse hyperbolic sine.
    Asinh = "asinh",
    /// Inverse tangent.
    Atan = "atan",
    /// Angle of a point.
    Atan2 = "atan2",
    /// Inverse hyperbolic tangent.
    Atanh = "atanh",
    /// Scaled modified Bessel function of order 1.
    BesselI1e = "bessel_i1e",
    /// The same bits as another type.
    BitcastConvert = "bitcast_convert",
    /// Cube root.
    Cbrt = "cbrt",
    /// The next integer above.
    Ceil = "ceil",
    /// Between a lower and an upper bound.
    Clamp = "clamp",
    /// A complex number of its parts.
    Complex = "complex",
    /// Complex conjugate.
    Conjugate = "conj",
    /// The same number in another type.
    Convert = "convert",
    /// Hyperbolic cosine.
    Cosh = "cosh",
    /// Cosine.
    Cosine = "cosine",
    /// Zeros before the first one bit.
    CountLeadingZeros = "count_leading_zeros",
    /// Logarithmic derivative of the gamma function.
    Digamma = "digamma",
    /// Quotient.
    Divide = "divide",
    /// Error function.
    Erf = "erf",
    /// Inverse error function.
    ErfInv = "erf_inv",
    /// Complement of the error function.
    Erfc = "erfc",
    /// Exponential.
    Exponential = "exponential",
    /// Exponential minus one.
    ExponentialMinusOne = "exponential_minus_one",
    /// The next integer below.
    Floor = "floor",
    /// Imaginary part.
    Imaginary = "imag",
    /// Whether a number is finite.
    IsFinite = "is_finite",
    /// Whether a number is infinite.
    IsInfinite = "is_inf",
    /// Whether a number is negative infinity.
    IsNegativeInfinite = "is_neg_inf",
    /// Whether a number is positive infinity.
    IsPositiveInfinite = "is_pos_inf",
    /// Logarithm of the gamma function.
    LogGamma = "lgamma",
    /// Natural logarithm.
    Log = "log",
    /// Logarithm of one more.
    LogPlusOne = "log_plus_one",
    /// Logistic function.
    Logistic = "logistic",
    /// The larger one.
    Maximum = "maximum",
    /// The smaller one.
    Minimum = "minimum",
    /// Upper half of a product.
    MultiplyHigh = "mulhi",
    /// Product; the conjunction of booleans.
    Multiply = "multiply",
    /// Negative.
    Negate = "negate",
    /// The next number towards another.
    NextAfter = "next_after",
    /// Bitwise complement.
    Not = "not",
    /// Bitwise disjunction.
    Or = "or",
    /// Derivatives of the digamma function.
    Polygamma = "polygamma",
    /// One bits.
    PopulationCount = "popcnt",
    /// Power.
    Power = "power",
    /// Real part.
    Real = "real",
    /// Rounded to fewer bits.
    ReducePrecision = "reduce_precision",
    /// Remainder of a truncated quotient.
    Remainder = "remainder",
    /// The nearest integer, halves away from zero.
    RoundNearestAfz = "round_nearest_afz",
    /// The nearest integer, halves to the even one.
    RoundNearestEven = "round_nearest_even",
    /// Reciprocal square root.
    Rsqrt = "rsqrt",
    /// One of two, by a boolean.
    Select = "select",
    /// Shifted to the left.
    ShiftLeft = "shift_left",
    /// Shifted to the right, with copies of the sign.
    ShiftRightArithmetic = "shift_right_arithmetic",
    /// Shifted to the right, with zeros.
    ShiftRightLogical = "shift_right_logical",
    /// Sign.
    Sign = "sign",
    /// Sine.
    Sine = "sine",
    /// Hyperbolic sine.
    Sinh = "sinh",
    /// Square root.
    Sqrt = "sqrt",
    /// Square.
    Square = "square",
    /// Difference.
    Subtract = "subtract",
    /// Tangent.
    Tan = "tan",
    /// Hyperbolic tangent.
    Tanh = "tanh",
    /// Bitwise difference.
    Xor = "xor",
    /// Hurwitz zeta function.
    Zeta = "zeta",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_kinds_have_one_name() {
        let compared =
            Direction::ALL.map(|direction| ElementwiseKind::Compare(direction, Order::Value));
        let all = ElementwiseKind::PLAIN.iter().chain(&compared).chain([&ElementwiseKind::Take]);
        let names: Vec<&str> = all.map(|kind| kind.name()).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
        for direction in Direction::ALL {
            let name = ElementwiseKind::Compare(direction, Order::Total).name();
            assert_eq!(name.strip_prefix("compare."), Some(direction.name()));
        }
    }
}
