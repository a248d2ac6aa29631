//! What the emitter knows: operations by kind and element type.
use super::encode::Opcode;
use super::lower_divide::{Part, needs_doubles};
use crate::elementwise::kind::{Direction, ElementwiseKind, Order};
use crate::elementwise::program::ElementwiseOp;
use tpu_base::tensor::DType;

/// How elements of a type are computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberKind {
    F32,
    F64,
    F16,
    Bf16,
    /// Integers of so many bytes, with or without a sign.
    Integer(usize, bool),
    Pred,
    /// Bytes that are only moved.
    Raw(usize),
}

impl NumberKind {
    pub(super) fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::F32 => Self::F32,
            DType::F64 => Self::F64,
            DType::F16 => Self::F16,
            DType::Bf16 => Self::Bf16,
            DType::S8 => Self::Integer(1, true),
            DType::S16 => Self::Integer(2, true),
            DType::S32 => Self::Integer(4, true),
            DType::S64 => Self::Integer(8, true),
            DType::U8 => Self::Integer(1, false),
            DType::U16 => Self::Integer(2, false),
            DType::U32 => Self::Integer(4, false),
            DType::U64 => Self::Integer(8, false),
            DType::Pred => Self::Pred,
            other => match other.host_bytes() {
                width @ (1 | 2 | 4 | 8) => Self::Raw(width),
                _ => return None,
            },
        })
    }

    pub(super) fn width(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::F16 | Self::Bf16 => 2,
            Self::Pred => 1,
            Self::Integer(width, _) | Self::Raw(width) => width,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::Bf16)
    }
}

/// An instruction on floats: `vxxxps` or `vxxxpd`.
pub(super) fn float(kind: NumberKind, [single, double]: [Opcode; 2]) -> Opcode {
    if kind == NumberKind::F64 { double } else { single }
}

/// An operation that the emitter knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JitOp {
    Add,
    Subtract,
    Multiply,
    Square,
    Divide,
    /// Of integers.
    Division(Part),
    Maximum,
    Minimum,
    Clamp,
    Negate,
    Absolute,
    Sign,
    Root,
    InverseRoot,
    /// By the immediate of the rounding instruction.
    Round(u8),
    RoundAway,
    /// By the classes of the classifying instruction, and whether the others are meant.
    Classify(u8, bool),
    Compare(Relation),
    Select,
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
    ShiftArithmetic,
    /// How many bits are set.
    Ones,
    /// How many bits before the first that is set are not.
    LeadingZeros,
    Convert(NumberKind),
    /// The same bytes.
    Same,
    /// The element of an array with this number; the array has so many elements behind its first.
    Take(u32),
}

/// A direction of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    /// The immediate of the comparison of floats: false for NaN, but for `NotEqual`.
    pub(super) fn of_floats(self) -> u8 {
        match self {
            Self::Equal => 0x00,
            Self::NotEqual => 0x04,
            Self::Less => 0x11,
            Self::LessOrEqual => 0x12,
            Self::Greater => 0x1e,
            Self::GreaterOrEqual => 0x1d,
        }
    }

    /// The immediate of the comparison of integers.
    pub(super) fn of_integers(self) -> u8 {
        match self {
            Self::Equal => 0,
            Self::Less => 1,
            Self::LessOrEqual => 2,
            Self::NotEqual => 4,
            Self::GreaterOrEqual => 5,
            Self::Greater => 6,
        }
    }
}

/// What an operation is, on what type of operand; `None` for those that stay calls.
pub(super) fn job(op: &ElementwiseOp) -> Option<(JitOp, NumberKind)> {
    let (kind, result) = (NumberKind::of(op.operand)?, NumberKind::of(op.result)?);
    let float = kind.is_float();
    let pred = kind == NumberKind::Pred;
    let integer = matches!(kind, NumberKind::Integer(..));
    let number = float || integer;
    // Of more bits than these have, no float has all.
    let short = matches!(kind, NumberKind::Integer(..=4, _));
    let (job, known) = match op.kind {
        ElementwiseKind::Add => (JitOp::Add, number || pred),
        ElementwiseKind::Subtract => (JitOp::Subtract, number),
        ElementwiseKind::Multiply => (JitOp::Multiply, number || pred),
        ElementwiseKind::Square => (JitOp::Square, number),
        ElementwiseKind::Divide if float => (JitOp::Divide, true),
        ElementwiseKind::Divide => (JitOp::Division(Part::Quotient), short),
        ElementwiseKind::Remainder => (JitOp::Division(Part::Rest), short),
        ElementwiseKind::Maximum => (JitOp::Maximum, number || pred),
        ElementwiseKind::Minimum => (JitOp::Minimum, number || pred),
        ElementwiseKind::Clamp => (JitOp::Clamp, number),
        ElementwiseKind::Negate => (JitOp::Negate, number),
        ElementwiseKind::Abs => {
            (JitOp::Absolute, float || matches!(kind, NumberKind::Integer(_, true)))
        }
        ElementwiseKind::Sign => {
            (JitOp::Sign, float || matches!(kind, NumberKind::Integer(4.., _)))
        }
        ElementwiseKind::Sqrt => (JitOp::Root, float),
        ElementwiseKind::Rsqrt => (JitOp::InverseRoot, float),
        ElementwiseKind::Floor => (JitOp::Round(9), float),
        ElementwiseKind::Ceil => (JitOp::Round(10), float),
        ElementwiseKind::RoundNearestEven => (JitOp::Round(8), float),
        ElementwiseKind::RoundNearestAfz => (JitOp::RoundAway, float),
        ElementwiseKind::IsFinite => (JitOp::Classify(0x99, true), float),
        ElementwiseKind::IsInfinite => (JitOp::Classify(0x18, false), float),
        ElementwiseKind::Compare(direction, order) => {
            let relation = match direction {
                Direction::Eq => Relation::Equal,
                Direction::Ne => Relation::NotEqual,
                Direction::Lt => Relation::Less,
                Direction::Le => Relation::LessOrEqual,
                Direction::Gt => Relation::Greater,
                Direction::Ge => Relation::GreaterOrEqual,
            };
            (JitOp::Compare(relation), order == Order::Value && (number || pred))
        }
        ElementwiseKind::Take => (JitOp::Take(op.immediate[0]), kind.width() >= 4),
        ElementwiseKind::Select => (JitOp::Select, true),
        ElementwiseKind::And => (JitOp::And, integer || pred),
        ElementwiseKind::Or => (JitOp::Or, integer || pred),
        ElementwiseKind::Xor => (JitOp::Xor, integer || pred),
        ElementwiseKind::Not => (JitOp::Not, integer || pred),
        ElementwiseKind::ShiftLeft => (JitOp::ShiftLeft, integer),
        ElementwiseKind::ShiftRightLogical => (JitOp::ShiftRight, integer),
        ElementwiseKind::ShiftRightArithmetic => (JitOp::ShiftArithmetic, integer),
        ElementwiseKind::PopulationCount => (JitOp::Ones, integer),
        ElementwiseKind::CountLeadingZeros => (JitOp::LeadingZeros, short),
        ElementwiseKind::BitcastConvert => {
            let whole = |kind: NumberKind| !matches!(kind, NumberKind::Pred | NumberKind::Raw(_));
            (JitOp::Same, whole(kind) && whole(result) && kind.width() == result.width())
        }
        ElementwiseKind::Convert => (JitOp::Convert(result), converts(kind, result)),
        ElementwiseKind::Acos
        | ElementwiseKind::Acosh
        | ElementwiseKind::Asin
        | ElementwiseKind::Asinh
        | ElementwiseKind::Atan
        | ElementwiseKind::Atan2
        | ElementwiseKind::Atanh
        | ElementwiseKind::BesselI1e
        | ElementwiseKind::Cbrt
        | ElementwiseKind::Complex
        | ElementwiseKind::Conjugate
        | ElementwiseKind::Cosh
        | ElementwiseKind::Cosine
        | ElementwiseKind::Digamma
        | ElementwiseKind::Erf
        | ElementwiseKind::ErfInv
        | ElementwiseKind::Erfc
        | ElementwiseKind::Exponential
        | ElementwiseKind::ExponentialMinusOne
        | ElementwiseKind::Imaginary
        | ElementwiseKind::IsNegativeInfinite
        | ElementwiseKind::IsPositiveInfinite
        | ElementwiseKind::LogGamma
        | ElementwiseKind::Log
        | ElementwiseKind::LogPlusOne
        | ElementwiseKind::Logistic
        | ElementwiseKind::MultiplyHigh
        | ElementwiseKind::NextAfter
        | ElementwiseKind::Polygamma
        | ElementwiseKind::Power
        | ElementwiseKind::Real
        | ElementwiseKind::ReducePrecision
        | ElementwiseKind::Sine
        | ElementwiseKind::Sinh
        | ElementwiseKind::Tan
        | ElementwiseKind::Tanh
        | ElementwiseKind::Zeta => return None,
    };
    known.then_some((job, kind))
}

/// Bytes of the lanes in which an operation is done, where its second operand is that constant or
/// none.
pub(super) fn computed_lane(job: JitOp, kind: NumberKind, by: Option<u64>) -> usize {
    match (job, kind) {
        (JitOp::Division(_), NumberKind::Integer(width, signed)) => {
            if needs_doubles(width, signed, by) { 8 } else { 4 }
        }
        // No instruction shifts bytes, and AVX2 has none that shifts words by several numbers.
        (
            JitOp::ShiftLeft | JitOp::ShiftRight | JitOp::ShiftArithmetic,
            NumberKind::Integer(..=2, _),
        ) if by.is_none() => 4,
        (JitOp::LeadingZeros, _) => 4,
        _ => kind.width(),
    }
}

fn converts(from: NumberKind, to: NumberKind) -> bool {
    let raw = |kind| matches!(kind, NumberKind::Raw(_));
    if raw(from) || raw(to) {
        return false;
    }
    match (from, to) {
        (NumberKind::F64, NumberKind::F32 | NumberKind::Pred) => true,
        (NumberKind::F64, _) => false,
        (_, NumberKind::Integer(8, _)) if from.is_float() => false,
        // Two roundings happen to large integers on their way to small floats.
        (NumberKind::Integer(8, _), NumberKind::F16 | NumberKind::Bf16) => true,
        _ => true,
    }
}
