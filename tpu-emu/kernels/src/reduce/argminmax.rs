//! Recognises the body of an argmax or argmin.
use crate::elementwise::kind::{Direction, ElementwiseKind, Order};
use crate::elementwise::program::{ElementwiseProgram, Instr, Register};
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Element, for_dtype};

/// Whether a program on `(held value, held index, value, index)` keeps the first extreme value, or
/// the first NaN, with its index. Such a body is associative.
///
/// The form is that of JAX: values are picked by `held > value or held != held` (the second part
/// is for floats), indices by the same or `held == value and held index < index`.
pub fn is_pick(program: &ElementwiseProgram) -> bool {
    recognise(program).is_some()
}

fn recognise(program: &ElementwiseProgram) -> Option<()> {
    let [held, held_index, value, index] = [0, 1, 2, 3].map(Register::Parameter);
    let [value_result, index_result] = program.results[..] else { return None };
    let selection = |result: Register, kept: Register, other: Register| {
        let [condition, a, b] = operands(program, result, ElementwiseKind::Select)?[..] else {
            return None;
        };
        (a == kept && b == other).then_some(condition)
    };
    let by_value = selection(value_result, held, value)?;
    let by_index = selection(index_result, held_index, index)?;
    let more = |register: Register| {
        [Direction::Gt, Direction::Lt].iter().any(|&way| is(program, register, way, held, value))
    };
    let nan = |register: Register| is(program, register, Direction::Ne, held, held);
    let integers = is_integer(program.dtype(held));
    let values = match operands(program, by_value, ElementwiseKind::Or) {
        Some(&[a, b]) => (more(a) && nan(b)) || (more(b) && nan(a)),
        _ => integers && more(by_value),
    };
    let tie = |register: Register| match operands(program, register, ElementwiseKind::And) {
        Some(&[a, b]) => {
            let equal = |register| {
                is(program, register, Direction::Eq, held, value)
                    || is(program, register, Direction::Eq, value, held)
            };
            let before = |register| is(program, register, Direction::Lt, held_index, index);
            (equal(a) && before(b)) || (equal(b) && before(a))
        }
        _ => false,
    };
    let [a, b] = operands(program, by_index, ElementwiseKind::Or)?[..] else { return None };
    let indices = (a == by_value && tie(b)) || (b == by_value && tie(a));
    (values && indices && is_integer(program.dtype(held_index))).then_some(())
}

fn operands(
    program: &ElementwiseProgram,
    result: Register,
    kind: ElementwiseKind,
) -> Option<&[Register]> {
    let Register::Step(index) = result else { return None };
    let named = |step: &&Instr| step.op.kind == kind;
    program.steps.get(index).filter(named).map(|step| &step.inputs[..])
}

/// Whether a result compares two registers by value.
fn is(
    program: &ElementwiseProgram,
    result: Register,
    direction: Direction,
    a: Register,
    b: Register,
) -> bool {
    let kind = ElementwiseKind::Compare(direction, Order::Value);
    operands(program, result, kind) == Some(&[a, b])
}

fn is_integer(dtype: DType) -> bool {
    for_dtype!(dtype, T: Int => T::DTYPE).is_some()
}
