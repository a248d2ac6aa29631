//! An operation that machine code calls, and what is called.
use crate::elementwise::program::ElementwiseOp;

/// Operands of an operation that can be called.
pub(super) const OPERANDS: usize = 3;
/// Bytes of one operand, or of the result: as many elements as that has room for.
pub(super) const CELL_BYTES: usize = 64;

/// An operation, and the bytes of its operands and of its result.
#[derive(Debug)]
pub(super) struct Callee {
    pub(super) op: ElementwiseOp,
    pub(super) widths: [usize; OPERANDS],
    pub(super) operands: usize,
    pub(super) result: usize,
}

/// Where operands and the result lie: the code aligns the first cell to its size.
pub(super) type Cells = [[u8; CELL_BYTES]; OPERANDS + 1];

/// Runs an operation on some elements: from the first cells into the last one.
#[inline]
pub(super) fn operate(callee: &Callee, [a, b, c, result]: &mut Cells) {
    let [x, y, z] = callee.widths;
    let inputs: [&[u8]; OPERANDS] = [&a[..x], &b[..y], &c[..z]];
    let result = &mut result[..callee.result];
    (callee.op.run)(callee.op.immediate, &inputs[..callee.operands], result);
}
