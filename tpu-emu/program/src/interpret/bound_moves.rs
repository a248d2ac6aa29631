//! Kernels that only move a few short runs of elements, with the places of those, for hot loops.
use super::frame::{Frame, move_cells};
use crate::plan::{Slot, Step};
use crate::tuning::{COPY_CHUNK_BYTES, MAX_BOUND_PARTS};
use std::cell::Cell;
use tpu_kernels::movement::index::{IndexReader, Outside, clamped, reader};
use tpu_kernels::movement::move_list::Moves;
use tpu_ops::Kernel;

/// An index that is read before elements are moved.
#[derive(Debug)]
struct BoundIndex<'f> {
    at: &'f [Cell<u8>],
    read: IndexReader,
    /// The largest that is inside.
    room: usize,
    /// Bytes from one index to the next.
    step: usize,
}

impl BoundIndex<'_> {
    fn value(&self) -> i64 {
        let mut bytes = [0; 8];
        match *self.at {
            // That of nearly all loops.
            [ref a, ref b, ref c, ref d] => {
                bytes[..4].copy_from_slice(&[a.get(), b.get(), c.get(), d.get()]);
            }
            ref cells => {
                for (byte, cell) in bytes.iter_mut().zip(cells) {
                    *byte = cell.get();
                }
            }
        }
        (self.read)(&bytes, 0)
    }
}

/// A run of so many bytes: what lies from its first place on, and where it goes to, likewise.
#[derive(Debug)]
struct BoundMove<'f> {
    from: &'f [Cell<u8>],
    to: &'f [Cell<u8>],
    bytes: usize,
}

/// What a kernel moves, from and to which places.
#[derive(Debug)]
pub(super) struct BoundMoves<'f> {
    /// Copies that the result starts from.
    before: &'f [(Slot, Slot)],
    indices: Vec<BoundIndex<'f>>,
    outside: Outside,
    /// Whether indices count from the places in the result on, and not from those in operands.
    into: bool,
    moves: Vec<BoundMove<'f>>,
}

impl<'f> BoundMoves<'f> {
    /// Those of a step; `None` for a kernel that does anything else, or moves so much that threads
    /// may share it.
    pub(super) fn new(
        frame: &'f Frame,
        kernel: &dyn Kernel,
        step: &Step,
        before: &'f [(Slot, Slot)],
    ) -> Option<Self> {
        let &[result] = &step.results[..] else { return None };
        let Moves { moves, starts, outside, into, .. } = kernel.moves(MAX_BOUND_PARTS)?;
        if moves.iter().map(|run| run.bytes).sum::<usize>() > COPY_CHUNK_BYTES {
            return None;
        }
        let mut indices = Vec::with_capacity(starts.len());
        for start in starts {
            let at = step.operands[start.operand].part(start.at, start.dtype.host_bytes());
            let read = reader(start.dtype)?;
            let at = frame.cells(at);
            indices.push(BoundIndex { at, read, room: start.room, step: start.step });
        }
        let moves = moves.iter().map(|run| BoundMove {
            from: &frame.cells(step.operands[run.operand])[run.from..],
            to: &frame.cells(result)[run.to..],
            bytes: run.bytes,
        });
        Some(Self { before, indices, outside, into, moves: moves.collect() })
    }

    /// Moves it.
    pub(super) fn run(&self, frame: &Frame) {
        self.before.iter().for_each(|&(from, to)| frame.copy(from, to));
        let mut shift = 0;
        for at in &self.indices {
            let index = at.value();
            let near = clamped(index, at.room);
            if self.outside == Outside::Skip && i64::try_from(near) != Ok(index) {
                return;
            }
            shift += near * at.step;
        }
        let (read, written) = if self.into { (0, shift) } else { (shift, 0) };
        for &BoundMove { from, to, bytes } in &self.moves {
            move_cells(&from[read..read + bytes], &to[written..written + bytes]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::{plan_of, results};
    use crate::plan::PlannedStep;
    use crate::tuning::HOT_LOOP_ITERATIONS;
    use tpu_kernels::aligned::Aligned;

    const ARRAY: &str = "tensor<6x300xf32>";

    /// What an iteration does with `%a`, at indices `%i` and `%j` that also lead outside.
    const SLICE: &str = "
        %p = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 100] :
            (tensor<6x300xf32>, tensor<i32>, tensor<i32>) -> tensor<2x100xf32>
        %m = stablehlo.negate %p : tensor<2x100xf32>
        %r = stablehlo.dynamic_update_slice %a, %m, %j, %i :
            (tensor<6x300xf32>, tensor<2x100xf32>, tensor<i32>, tensor<i32>) -> tensor<6x300xf32>";
    const TURN: &str = "
        %p = stablehlo.slice %a [2:6, 0:300] : (tensor<6x300xf32>) -> tensor<4x300xf32>
        %q = stablehlo.slice %a [3:5, 0:300] : (tensor<6x300xf32>) -> tensor<2x300xf32>
        %r = stablehlo.concatenate %p, %q, dim = 0 :
            (tensor<4x300xf32>, tensor<2x300xf32>) -> tensor<6x300xf32>";
    const PUT: &str = "
        %p = stablehlo.slice %a [3:4, 0:300] : (tensor<6x300xf32>) -> tensor<1x300xf32>
        %q = stablehlo.negate %p : tensor<1x300xf32>
        %m = stablehlo.reshape %q : (tensor<1x300xf32>) -> tensor<300xf32>
        %v = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
        %r = \"stablehlo.scatter\"(%a, %v, %m) ({
            ^bb0(%old: tensor<f32>, %new: tensor<f32>):
            stablehlo.return %new : tensor<f32>
        }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>} :
            (tensor<6x300xf32>, tensor<1xi32>, tensor<300xf32>) -> tensor<6x300xf32>";

    /// So many loops one after the other, of so many iterations each.
    fn program(loops: usize, iterations: usize, body: &str) -> String {
        let round = |number: usize| {
            let [from, array] = match number {
                0 => ["%zero".to_owned(), "%x".to_owned()],
                _ => [0, 1].map(|at| format!("%s{number}#{at}")),
            };
            format!(
                "%last{number} = stablehlo.constant dense<{}> : tensor<i32>
                %s{}:2 = stablehlo.while(%n = {from}, %a = {array}) : tensor<i32>, {ARRAY}
                cond {{
                    %go = stablehlo.compare LT, %n, %last{number}, SIGNED :
                        (tensor<i32>, tensor<i32>) -> tensor<i1>
                    stablehlo.return %go : tensor<i1>
                }} do {{
                    %one = stablehlo.constant dense<1> : tensor<i32>
                    %ten = stablehlo.constant dense<10> : tensor<i32>
                    %far = stablehlo.constant dense<30> : tensor<i32>
                    %k = stablehlo.remainder %n, %ten : tensor<i32>
                    %two = stablehlo.add %one, %one : tensor<i32>
                    %i = stablehlo.subtract %k, %two : tensor<i32>
                    %w = stablehlo.multiply %i, %far : tensor<i32>
                    %j = stablehlo.add %w, %n : tensor<i32>
                    {body}
                    %next = stablehlo.add %n, %one : tensor<i32>
                    stablehlo.return %next, %r : tensor<i32>, {ARRAY}
                }}\n",
                (number + 1) * iterations,
                number + 1
            )
        };
        let rounds: String = (0..loops).map(round).collect();
        format!(
            "func.func public @main(%x: {ARRAY}) -> {ARRAY} {{
            %zero = stablehlo.constant dense<0> : tensor<i32>
            {rounds}
            return %s{loops}#1 : {ARRAY}
            }}"
        )
    }

    #[test]
    fn a_hot_loop_moves_what_several_cold_ones_move() {
        for body in [SLICE, TURN, PUT] {
            let [hot, cold] = [(1, 3 * HOT_LOOP_ITERATIONS), (3, HOT_LOOP_ITERATIONS)]
                .map(|(loops, iterations)| program(loops, iterations, body));
            let plan = plan_of(&hot);
            let while_ = plan.steps.iter().find_map(|step| match &step.kind {
                PlannedStep::While { body, .. } => Some(body),
                _ => None,
            });
            // The program's own memory and constants, and its parameter and result.
            let array = || Aligned::zeros(6 * 300 * 4);
            let own = [Aligned::zeros(plan.arena), Aligned::of(&plan.pool)];
            let frame = Frame::new(own.into_iter().chain([array(), array()]).collect());
            let bound = |step: &Step| match &step.kind {
                PlannedStep::Kernel { kernel, starts, .. } => {
                    BoundMoves::new(&frame, &**kernel, step, starts).is_some()
                }
                _ => false,
            };
            assert!(while_.unwrap().iter().any(bound), "{body}");
            let of = |text: &str| results(text, &[None], crate::compile::Passes::ALL);
            let wanted = of(&cold);
            assert!(of(&hot) == wanted, "{body}");
            assert!(wanted != of(&program(1, 1, body)), "{body}");
        }
    }
}
