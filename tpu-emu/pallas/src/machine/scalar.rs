//! Arithmetic on scalar integers: two's complement in the width of the type, kept in an `i64` with
//! its sign; booleans are 0 and 1.
use crate::form::ScalarOp;

/// The low bits of a number, with their sign.
pub(crate) fn wrap(bits: u32, value: i64) -> i64 {
    match bits {
        1 => value & 1,
        0 | 64.. => value,
        bits => (value << (64 - bits)) >> (64 - bits),
    }
}

/// The low bits of a number, without a sign.
pub(crate) fn low(bits: u32, value: i64) -> u64 {
    let all = value.cast_unsigned();
    if bits >= 64 { all } else { all & ((1 << bits) - 1) }
}

/// What an operation on numbers of so many bits gives.
pub(crate) fn compute(op: ScalarOp, bits: u32, a: i64, b: i64) -> i64 {
    let (ua, ub) = (low(bits, a), low(bits, b));
    let from = |value: u64| value.cast_signed();
    let flag = |holds: bool| i64::from(holds);
    // As a signed number, true is less than false.
    let (sa, sb) = if bits == 1 { (-(a & 1), -(b & 1)) } else { (a, b) };
    let amount = u32::try_from(ub).unwrap_or(u32::MAX);
    let made = match op {
        ScalarOp::Add => a.wrapping_add(b),
        ScalarOp::Sub => a.wrapping_sub(b),
        ScalarOp::Mul => a.wrapping_mul(b),
        // What XLA gives for zero.
        ScalarOp::DivS if b == 0 => -1,
        ScalarOp::DivS => sa.wrapping_div(sb),
        ScalarOp::RemS if b == 0 => a,
        ScalarOp::RemS => sa.wrapping_rem(sb),
        ScalarOp::DivU => ua.checked_div(ub).map_or(-1, from),
        ScalarOp::RemU => ua.checked_rem(ub).map_or(a, from),
        ScalarOp::CeilDivS | ScalarOp::CeilDivU | ScalarOp::FloorDivS if b == 0 => -1,
        ScalarOp::CeilDivS => {
            let (quotient, rest) = (sa.wrapping_div(sb), sa.wrapping_rem(sb));
            quotient.wrapping_add(flag(rest != 0 && (rest < 0) == (sb < 0)))
        }
        ScalarOp::CeilDivU => from(ua.div_ceil(ub)),
        ScalarOp::FloorDivS => {
            let (quotient, rest) = (sa.wrapping_div(sb), sa.wrapping_rem(sb));
            quotient.wrapping_sub(flag(rest != 0 && (rest < 0) != (sb < 0)))
        }
        ScalarOp::And => a & b,
        ScalarOp::Or => a | b,
        ScalarOp::Xor => a ^ b,
        ScalarOp::Shl if amount >= bits => 0,
        ScalarOp::Shl => from(ua << amount),
        ScalarOp::ShrU if amount >= bits => 0,
        ScalarOp::ShrU => from(ua >> amount),
        ScalarOp::ShrS => sa >> amount.min(bits.saturating_sub(1)),
        ScalarOp::MaxS => sa.max(sb),
        ScalarOp::MinS => sa.min(sb),
        ScalarOp::MaxU => from(ua.max(ub)),
        ScalarOp::MinU => from(ua.min(ub)),
        ScalarOp::Abs => sa.wrapping_abs(),
        ScalarOp::CountOnes => i64::from(ua.count_ones()),
        ScalarOp::LeadingZeros => i64::from(ua.leading_zeros().saturating_sub(64 - bits.min(64))),
        ScalarOp::Signed => a,
        ScalarOp::Unsigned(width) => from(low(width, a)),
        ScalarOp::Eq => return flag(ua == ub),
        ScalarOp::Ne => return flag(ua != ub),
        ScalarOp::LtS => return flag(sa < sb),
        ScalarOp::LeS => return flag(sa <= sb),
        ScalarOp::GtS => return flag(sa > sb),
        ScalarOp::GeS => return flag(sa >= sb),
        ScalarOp::LtU => return flag(ua < ub),
        ScalarOp::LeU => return flag(ua <= ub),
        ScalarOp::GtU => return flag(ua > ub),
        ScalarOp::GeU => return flag(ua >= ub),
    };
    wrap(bits, made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_wrap_in_the_width_of_their_type() {
        let max = i64::from(i32::MAX);
        assert_eq!(compute(ScalarOp::Add, 32, max, 1), i64::from(i32::MIN));
        assert_eq!(compute(ScalarOp::Mul, 32, max, 2), -2);
        assert_eq!(compute(ScalarOp::Add, 1, 1, 1), 0);
        assert_eq!(compute(ScalarOp::DivS, 32, i64::from(i32::MIN), -1), i64::from(i32::MIN));
    }

    #[test]
    fn division_rounds_as_its_name_says_and_by_zero_gives_what_xla_gives() {
        for (op, expected) in [
            (ScalarOp::DivS, [2, -2, -2, 2]),
            (ScalarOp::FloorDivS, [2, -3, -3, 2]),
            (ScalarOp::CeilDivS, [3, -2, -2, 3]),
            (ScalarOp::RemS, [1, -1, 1, -1]),
        ] {
            let pairs = [(7, 3), (-7, 3), (7, -3), (-7, -3)];
            assert_eq!(pairs.map(|(a, b)| compute(op, 32, a, b)), expected, "{op:?}");
        }
        assert_eq!(compute(ScalarOp::DivS, 32, 5, 0), -1);
        assert_eq!(compute(ScalarOp::RemS, 32, 5, 0), 5);
        assert_eq!(compute(ScalarOp::DivU, 32, -1, 2), 0x7fff_ffff);
        assert_eq!(compute(ScalarOp::RemU, 32, -1, 10), 5);
    }

    #[test]
    fn shifts_by_the_width_or_more_leave_nothing_but_the_sign() {
        assert_eq!(compute(ScalarOp::Shl, 32, 1, 31), i64::from(i32::MIN));
        assert_eq!(
            [ScalarOp::Shl, ScalarOp::ShrU, ScalarOp::ShrS].map(|op| compute(op, 32, -8, 32)),
            [0, 0, -1]
        );
        assert_eq!(compute(ScalarOp::ShrU, 32, -1, 28), 15);
        assert_eq!(compute(ScalarOp::LeadingZeros, 32, 1, 0), 31);
        assert_eq!(compute(ScalarOp::Unsigned(8), 32, -1, 0), 255);
        assert_eq!(compute(ScalarOp::LtU, 32, -1, 1), 0);
        assert_eq!(compute(ScalarOp::LtS, 32, -1, 1), 1);
    }
}
