//! What counts the iterations of hot loops: a sum or a comparison of two numbers, which costs less than
//! a call of machine code.
use super::frame::Frame;
use crate::passes::fuse::{FusedLoop, LoopInput};
use crate::plan::Step;
use std::cell::Cell;
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::kind::{Direction, ElementwiseKind};
use tpu_kernels::elementwise::program::Register;

/// A number of 32 bits with a sign.
#[derive(Debug)]
enum BoundOperand<'f> {
    Constant(i32),
    Memory(&'f [Cell<u8>; 4]),
}

impl BoundOperand<'_> {
    fn value(&self) -> i32 {
        match self {
            Self::Constant(value) => *value,
            Self::Memory(cells) => i32::from_le_bytes(cells.each_ref().map(Cell::get)),
        }
    }
}

/// Where the outcome goes, and so what is done.
#[derive(Debug)]
enum Outcome<'f> {
    /// The sum, modulo 2^32.
    Sum(&'f [Cell<u8>; 4]),
    /// Whether the first number is less.
    IsLess(&'f Cell<u8>),
}

/// A loop of one operation on one pair of numbers.
#[derive(Debug)]
pub(super) struct BoundNumber<'f> {
    operands: [BoundOperand<'f>; 2],
    outcome: Outcome<'f>,
}

impl<'f> BoundNumber<'f> {
    /// That of a step; `None` for a loop that does anything else.
    pub(super) fn new(frame: &'f Frame, fused: &FusedLoop, step: &Step) -> Option<Self> {
        let program = fused.code.program();
        let ([one], &[result], 1) = (&program.steps[..], &step.results[..], fused.elements) else {
            return None;
        };
        let &[a, b] = &one.inputs[..] else { return None };
        if program.results != [Register::Step(0)] {
            return None;
        }
        let operand = |register: Register| -> Option<BoundOperand<'f>> {
            if program.dtype(register) != DType::S32 {
                return None;
            }
            match register {
                Register::Constant(index) => {
                    let bytes = &program.constants[index].bytes;
                    Some(BoundOperand::Constant(i32::from_le_bytes(bytes[..].try_into().ok()?)))
                }
                Register::Parameter(index) => {
                    let LoopInput::Dense(operand) = fused.inputs[index] else { return None };
                    let cells = frame.cells(step.operands[operand]);
                    Some(BoundOperand::Memory(cells.try_into().ok()?))
                }
                Register::Step(_) => None,
            }
        };
        let operands = [operand(a)?, operand(b)?];
        let result = frame.cells(result);
        let outcome = match one.op.kind {
            ElementwiseKind::Add => Outcome::Sum(result.try_into().ok()?),
            ElementwiseKind::Compare(Direction::Lt, _) => Outcome::IsLess(result.first()?),
            _ => return None,
        };
        Some(Self { operands, outcome })
    }

    /// Does it.
    pub(super) fn run(&self) {
        let [a, b] = self.operands.each_ref().map(BoundOperand::value);
        match self.outcome {
            Outcome::Sum(cells) => {
                for (cell, byte) in cells.iter().zip(a.wrapping_add(b).to_le_bytes()) {
                    cell.set(byte);
                }
            }
            Outcome::IsLess(cell) => cell.set(u8::from(a < b)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Passes;
    use crate::differential::{plan_of, results};
    use crate::plan::PlannedStep;
    use crate::tuning::HOT_LOOP_ITERATIONS;

    /// Loops one after the other, each from where the one before has ended, of so many iterations: a
    /// number goes from `first` on by `by`, another one passes the largest that there is, and each
    /// iteration changes an array by both.
    fn program(loops: usize, iterations: usize, [first, by]: [i32; 2]) -> String {
        let list = "tensor<i32>, tensor<i32>, tensor<40xi32>";
        let round = |number: usize| {
            let from = match number {
                0 => "%first".to_owned(),
                _ => format!("%s{number}#0"),
            };
            let (wrap, array) = match number {
                0 => ("%most".to_owned(), "%x".to_owned()),
                _ => (format!("%s{number}#1"), format!("%s{number}#2")),
            };
            let last = first + by * i32::try_from((number + 1) * iterations).unwrap();
            format!(
                "%last{number} = stablehlo.constant dense<{last}> : tensor<i32>
                %s{}:3 = stablehlo.while(%n = {from}, %m = {wrap}, %a = {array}) : {list}
                cond {{
                    %go = stablehlo.compare LT, %n, %last{number}, SIGNED :
                        (tensor<i32>, tensor<i32>) -> tensor<i1>
                    stablehlo.return %go : tensor<i1>
                }} do {{
                    %by = stablehlo.constant dense<{by}> : tensor<i32>
                    %b = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<i32>) -> tensor<40xi32>
                    %c = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<40xi32>
                    %d = stablehlo.multiply %a, %b : tensor<40xi32>
                    %r = stablehlo.add %d, %c : tensor<40xi32>
                    %next = stablehlo.add %n, %by : tensor<i32>
                    %sum = stablehlo.add %n, %m : tensor<i32>
                    stablehlo.return %next, %sum, %r : {list}
                }}\n",
                number + 1
            )
        };
        let rounds: String = (0..loops).map(round).collect();
        format!(
            "func.func public @main(%x: tensor<40xi32>) -> ({list}) {{
            %first = stablehlo.constant dense<{first}> : tensor<i32>
            %most = stablehlo.constant dense<2147483647> : tensor<i32>
            {rounds}
            return %s{loops}#0, %s{loops}#1, %s{loops}#2 : {list}
            }}"
        )
    }

    #[test]
    fn a_hot_loop_counts_as_several_cold_ones_do() {
        for from in [[0, 1], [-100, 3]] {
            let [hot, cold] = [(1, 3 * HOT_LOOP_ITERATIONS), (3, HOT_LOOP_ITERATIONS)]
                .map(|(loops, iterations)| program(loops, iterations, from));
            let plan = plan_of(&hot);
            let while_ = plan.steps.iter().find_map(|step| match &step.kind {
                PlannedStep::While { condition, body, .. } => Some((condition, body)),
                _ => None,
            });
            let (condition, body) = while_.unwrap();
            let single = |step: &&Step| match &step.kind {
                PlannedStep::Fused(fused) => fused.elements == 1,
                _ => false,
            };
            assert_eq!(condition.iter().filter(single).count(), 1);
            assert!(body.iter().any(|step| single(&step)));
            let of = |text: &str| results(text, &[None], Passes::ALL);
            let wanted = of(&cold);
            assert!(of(&hot) == wanted, "{from:?}");
            assert!(wanted != of(&program(1, 1, from)), "{from:?}");
            let end = from[0] + from[1] * i32::try_from(3 * HOT_LOOP_ITERATIONS).unwrap();
            assert_eq!(wanted[0], end.to_le_bytes());
        }
    }
}
