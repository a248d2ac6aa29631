//! What integers are at most, by the operations that make them.
use crate::elementwise::kind::ElementwiseKind;
use crate::elementwise::program::{ElementwiseProgram, Register};
use tpu_base::tensor::DType;

/// Operations that are looked at, one behind the other.
const DEPTH: usize = 8;

/// The most that an integer is which is never negative; `None` where that is not seen.
pub(super) fn most(program: &ElementwiseProgram, register: Register) -> Option<u64> {
    within(program, register, DEPTH)
}

fn within(program: &ElementwiseProgram, register: Register, depth: usize) -> Option<u64> {
    let of_type = match program.dtype(register) {
        DType::Pred => Some(1),
        DType::U8 => Some(u8::MAX.into()),
        DType::U16 => Some(u16::MAX.into()),
        DType::U32 => Some(u32::MAX.into()),
        DType::U64 => Some(u64::MAX),
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => None,
        // No integer, or one that is not stored by itself.
        _ => return None,
    };
    let depth = depth.checked_sub(1)?;
    let known = match register {
        Register::Parameter(_) => None,
        Register::Constant(_) => constant(program, register),
        Register::Step(step) => {
            let step = program.steps.get(step)?;
            let of = |input: usize| within(program, *step.inputs.get(input)?, depth);
            match step.op.kind {
                ElementwiseKind::And => match (of(0), of(1)) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                },
                ElementwiseKind::Convert => converted(of(0)?, step.op.result),
                ElementwiseKind::Select => Some(of(1)?.max(of(2)?)),
                ElementwiseKind::Remainder => {
                    // By zero, it is all that is divided.
                    let by = constant(program, *step.inputs.get(1)?)?.checked_sub(1)?;
                    of(0).map(|most| most.min(by))
                }
                ElementwiseKind::ShiftRightLogical => {
                    let by = u32::try_from(constant(program, *step.inputs.get(1)?)?).ok()?;
                    let bits = u32::try_from(8 * step.op.result.host_bytes()).ok()?;
                    // A distance that is too far leaves nothing.
                    (by > 0).then(|| u64::MAX.checked_shr(64 - bits + by).unwrap_or(0))
                }
                _ => None,
            }
        }
    };
    match (known, of_type) {
        (Some(known), Some(of_type)) => Some(known.min(of_type)),
        (known, of_type) => known.or(of_type),
    }
}

/// A constant that is no negative integer.
fn constant(program: &ElementwiseProgram, register: Register) -> Option<u64> {
    let Register::Constant(index) = register else { return None };
    let constant = program.constants.get(index)?;
    let mut bits = [0; 8];
    bits.get_mut(..constant.bytes.len())?.copy_from_slice(&constant.bytes);
    let value = u64::from_le_bytes(bits);
    let sign = 1_u64.checked_shl(u32::try_from(8 * constant.bytes.len()).ok()?.checked_sub(1)?)?;
    let integer = match constant.dtype {
        DType::Pred | DType::U8 | DType::U16 | DType::U32 | DType::U64 => true,
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => value & sign == 0,
        _ => false,
    };
    integer.then_some(value)
}

/// The most of what an integer of at most `most` becomes in another type.
fn converted(most: u64, to: DType) -> Option<u64> {
    let room = match to {
        DType::U8 => u8::MAX.into(),
        DType::U16 => u16::MAX.into(),
        DType::U32 => u32::MAX.into(),
        DType::S8 => 0x7f,
        DType::S16 => 0x7fff,
        DType::S32 => 0x7fff_ffff,
        DType::U64 | DType::S64 => u64::MAX >> 1,
        _ => return None,
    };
    // What does not fit becomes another number.
    (most <= room).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::program::{ElementwiseConstant, ElementwiseOp, Instr};

    /// A program with one operation behind another.
    struct Steps(ElementwiseProgram);

    impl Steps {
        fn constant(&mut self, dtype: DType, value: i64) -> Register {
            let bytes = value.to_le_bytes()[..dtype.host_bytes()].into();
            self.0.constants.push(ElementwiseConstant { dtype, bytes });
            Register::Constant(self.0.constants.len() - 1)
        }

        fn step(&mut self, kind: ElementwiseKind, result: DType, inputs: &[Register]) -> Register {
            let operand = inputs.last().map_or(result, |&input| self.0.dtype(input));
            let (transcendental, immediate) = (false, [0; 2]);
            let run = |_, _: &[&[u8]], _: &mut [u8]| {};
            let op = ElementwiseOp { kind, operand, result, run, immediate, transcendental };
            self.0.steps.push(Instr { op, inputs: inputs.to_vec() });
            Register::Step(self.0.steps.len() - 1)
        }
    }

    #[test]
    fn bounds_are_those_of_the_operations() {
        use ElementwiseKind::{And, Convert, Remainder, Select, ShiftRightLogical};
        let parameters = vec![DType::S32, DType::U8, DType::U32, DType::F32, DType::Pred];
        let mut steps = Steps(ElementwiseProgram { parameters, ..ElementwiseProgram::default() });
        let [signed, small, long, float, test] = [0, 1, 2, 3, 4].map(Register::Parameter);
        for (register, wanted) in [(signed, None), (small, Some(255)), (float, None)] {
            assert_eq!(most(&steps.0, register), wanted, "{register:?}");
        }
        let [mask, minus] = [7, -1].map(|value| steps.constant(DType::S32, value));
        let [none, far] = [0, 40].map(|value| steps.constant(DType::S32, value));
        let five = steps.constant(DType::U8, 5);
        for (kind, dtype, inputs, wanted) in [
            (And, DType::S32, vec![signed, mask], Some(7)),
            (And, DType::S32, vec![mask, signed], Some(7)),
            (And, DType::S32, vec![signed, minus], None),
            (And, DType::S32, vec![signed, signed], None),
            (Convert, DType::S32, vec![small], Some(255)),
            (Convert, DType::S32, vec![long], None),
            (Convert, DType::S8, vec![small], None),
            (Convert, DType::S32, vec![float], None),
            (Remainder, DType::U8, vec![small, five], Some(4)),
            (Remainder, DType::S32, vec![signed, mask], None),
            (Remainder, DType::S32, vec![mask, none], None),
            (ShiftRightLogical, DType::S32, vec![signed, mask], Some(u64::from(u32::MAX >> 7))),
            (ShiftRightLogical, DType::S32, vec![signed, none], None),
            (ShiftRightLogical, DType::S32, vec![signed, far], Some(0)),
            (ShiftRightLogical, DType::S32, vec![signed, signed], None),
            (Select, DType::S32, vec![test, mask, far], Some(40)),
            (Select, DType::S32, vec![test, mask, signed], None),
            (ElementwiseKind::Add, DType::S32, vec![mask, mask], None),
        ] {
            let register = steps.step(kind, dtype, &inputs);
            assert_eq!(most(&steps.0, register), wanted, "{kind:?} of {inputs:?}");
        }
    }

    #[test]
    fn a_chain_that_is_too_long_is_not_followed() {
        let mut steps = Steps(ElementwiseProgram::default());
        let mut last = steps.constant(DType::S32, 3);
        for _ in 0..DEPTH - 1 {
            assert_eq!(most(&steps.0, last), Some(3));
            last = steps.step(ElementwiseKind::Convert, DType::S32, &[last]);
        }
        assert_eq!(most(&steps.0, last), Some(3));
        last = steps.step(ElementwiseKind::Convert, DType::S32, &[last]);
        assert_eq!(most(&steps.0, last), None);
    }
}
