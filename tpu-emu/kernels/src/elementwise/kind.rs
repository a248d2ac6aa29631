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

/// Which order of floats a comparison goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// That of the values: zeros are equal, NaN is unequal to everything.
    Value,
    /// The total one of IEEE 754: -NaN first, -0 before +0, NaN last.
    Total,
}

/// What an elementwise operation computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementwiseKind {
    /// Magnitude.
    Abs,
    /// Inverse cosine.
    Acos,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Sum; the disjunction of booleans.
    Add,
    /// Bitwise conjunction.
    And,
    /// Inverse sine.
    Asin,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse tangent.
    Atan,
    /// Angle of a point.
    Atan2,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Scaled modified Bessel function of order 1.
    BesselI1e,
    /// The same bits as another type.
    BitcastConvert,
    /// Cube root.
    Cbrt,
    /// The next integer above.
    Ceil,
    /// Between a lower and an upper bound.
    Clamp,
    /// A complex number of its parts.
    Complex,
    /// Complex conjugate.
    Conjugate,
    /// The same number in another type.
    Convert,
    /// Hyperbolic cosine.
    Cosh,
    /// Cosine.
    Cosine,
    /// Zeros before the first one bit.
    CountLeadingZeros,
    /// Logarithmic derivative of the gamma function.
    Digamma,
    /// Quotient.
    Divide,
    /// Error function.
    Erf,
    /// Inverse error function.
    ErfInv,
    /// Complement of the error function.
    Erfc,
    /// Exponential.
    Exponential,
    /// Exponential minus one.
    ExponentialMinusOne,
    /// The next integer below.
    Floor,
    /// Imaginary part.
    Imaginary,
    /// Whether a number is finite.
    IsFinite,
    /// Whether a number is infinite.
    IsInfinite,
    /// Whether a number is negative infinity.
    IsNegativeInfinite,
    /// Whether a number is positive infinity.
    IsPositiveInfinite,
    /// Logarithm of the gamma function.
    LogGamma,
    /// Natural logarithm.
    Log,
    /// Logarithm of one more.
    LogPlusOne,
    /// Logistic function.
    Logistic,
    /// The larger one.
    Maximum,
    /// The smaller one.
    Minimum,
    /// Upper half of a product.
    MultiplyHigh,
    /// Product; the conjunction of booleans.
    Multiply,
    /// Negative.
    Negate,
    /// The next number towards another.
    NextAfter,
    /// Bitwise complement.
    Not,
    /// Bitwise disjunction.
    Or,
    /// Derivatives of the digamma function.
    Polygamma,
    /// One bits.
    PopulationCount,
    /// Power.
    Power,
    /// Real part.
    Real,
    /// Rounded to fewer bits.
    ReducePrecision,
    /// Remainder of a truncated quotient.
    Remainder,
    /// The nearest integer, halves away from zero.
    RoundNearestAfz,
    /// The nearest integer, halves to the even one.
    RoundNearestEven,
    /// Reciprocal square root.
    Rsqrt,
    /// One of two, by a boolean.
    Select,
    /// Shifted to the left.
    ShiftLeft,
    /// Shifted to the right, with copies of the sign.
    ShiftRightArithmetic,
    /// Shifted to the right, with zeros.
    ShiftRightLogical,
    /// Sign.
    Sign,
    /// Sine.
    Sine,
    /// Hyperbolic sine.
    Sinh,
    /// Square root.
    Sqrt,
    /// Square.
    Square,
    /// Difference.
    Subtract,
    /// Tangent.
    Tan,
    /// Hyperbolic tangent.
    Tanh,
    /// Bitwise difference.
    Xor,
    /// Hurwitz zeta function.
    Zeta,
    /// Whether the first one stands in a relation to the second.
    Compare(Direction, Order),
    /// The element of an array with a number that the program computes.
    Take,
}
