//! Parts of an array that are made where the whole is put together.
use super::{Assignment, number};
use crate::graph::ValueId;
use crate::passes::fuse::{FusedStep, StepBlock, StepKind};
use crate::plan::Slot;
use crate::plan::live_range::BlockTimes;
use crate::tuning::{MAX_PLACED_PARTS_BYTES, PART_ALIGN_BYTES};
use tpu_kernels::movement::move_list::Move;
use tpu_ops::Kernel;

impl Assignment<'_> {
    /// Lets operands that lie side by side in a result be made there, where nothing else needs that
    /// memory before.
    pub(super) fn place_parts(&mut self, code: &StepBlock, times: &BlockTimes) {
        for (step, times) in code.steps.iter().zip(&times.steps) {
            match &step.kind {
                StepKind::Kernel(kernel) if kernel.joins().is_some() => {
                    self.place_operands(step, &**kernel, times.start);
                }
                // Its machine code moves elements itself.
                StepKind::While { scalar: Some(_), .. } => {}
                kind => {
                    for (block, times) in kind.blocks().zip(&times.blocks) {
                        self.place_parts(block, times);
                    }
                }
            }
        }
    }

    fn place_operands(&mut self, step: &FusedStep, kernel: &dyn Kernel, now: usize) {
        let &[result] = &step.results[..] else { return };
        // Each operand is one run.
        let Some(moved) = kernel.moves(step.operands.len()) else { return };
        if !self.begins_with(result, now) {
            return;
        }
        let mut any = false;
        for run in &moved.moves {
            let value = step.operands[run.operand];
            if self.is_free_part(value, run, now) {
                self.sets.lay_inside(value, result, run.to);
                any = true;
            }
        }
        if any {
            self.joined.insert(result, moved.moves);
        }
    }

    /// Whether a value's memory has nothing of the program before the step that makes the value, and
    /// is not much.
    fn begins_with(&self, value: ValueId, now: usize) -> bool {
        let Some(set) = self.sets.get(value) else { return false };
        let alone = |pin: u32| {
            let donated = |result: &usize| self.results + number(*result) == pin;
            let sets = self.sets.all().filter(|(_, set)| set.pin == Some(pin));
            (self.results..self.rows).contains(&pin)
                && !self.donated.iter().flatten().any(donated)
                && sets.count() == 1
        };
        let small = set.bytes <= MAX_PLACED_PARTS_BYTES;
        small && set.range.defined == now && !self.is_on_host(set) && set.pin.is_none_or(alone)
    }

    /// Whether a value ends with the step that joins it, and its memory may be anywhere.
    fn is_free_part(&self, value: ValueId, run: &Move, now: usize) -> bool {
        let Some(set) = self.sets.get(value) else { return false };
        let free = set.is_free() && !self.is_guarded(set) && !self.is_on_host(set);
        let whole = run.bytes > 0 && set.bytes == run.bytes;
        free && whole && set.range.last == now && run.to.is_multiple_of(PART_ALIGN_BYTES)
    }

    /// Whether operands of a step were made in its result.
    pub(super) fn is_joined(&self, step: &FusedStep) -> bool {
        step.results.first().is_some_and(|result| self.joined.contains_key(result))
    }

    /// The copies that such a step still needs.
    pub(super) fn missing_parts(&mut self, step: &FusedStep) -> Vec<(Slot, Slot)> {
        let result = step.results[0];
        let whole = self.slot(result);
        let moves = self.joined.get(&result).cloned().unwrap_or_default();
        let copies = moves.into_iter().map(|Move { operand, from, to, bytes }| {
            let value = self.slot(step.operands[operand]);
            (value.part(from, bytes), whole.part(to, bytes))
        });
        copies.filter(|(from, to)| from != to).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{plan_of, results};
    use crate::plan::{Plan, PlannedStep, Step};

    /// A product and a sum, side by side.
    const STACK: &str = "
        %p = stablehlo.multiply %x, %y : tensor<512xf32>
        %q = stablehlo.add %x, %y : tensor<512xf32>
        %a = stablehlo.reshape %p : (tensor<512xf32>) -> tensor<1x512xf32>
        %b = stablehlo.reshape %q : (tensor<512xf32>) -> tensor<1x512xf32>
        %c = stablehlo.concatenate %a, %b, dim = 0 :
            (tensor<1x512xf32>, tensor<1x512xf32>) -> tensor<2x512xf32>";

    fn program(body: &str, returned: &str, of: &str) -> String {
        format!(
            "func.func public @main(%x: tensor<512xf32>, %y: tensor<512xf32>) -> ({of}) {{
            {body}
            return {returned} : {of}
            }}"
        )
    }

    /// The copies of all joins.
    fn copies(plan: &Plan) -> Vec<usize> {
        let of = |step: &Step| match &step.kind {
            PlannedStep::Copies(copies) if !step.results.is_empty() => Some(copies.len()),
            _ => None,
        };
        plan.steps.iter().filter_map(of).collect()
    }

    #[test]
    fn parts_of_a_result_are_made_there() {
        let plan = plan_of(&program(STACK, "%c", "tensor<2x512xf32>"));
        assert_eq!((copies(&plan), plan.arena), (vec![0], 0));
    }

    #[test]
    fn large_arrays_are_put_together_as_a_chip_does() {
        let text = program(STACK, "%c", "tensor<2x512xf32>").replace("512", "1048576");
        assert_eq!(copies(&plan_of(&text)), []);
    }

    #[test]
    fn what_is_read_later_or_lies_elsewhere_is_copied() {
        let two = "tensor<2x512xf32>, tensor<512xf32>";
        let plan = plan_of(&program(STACK, "%c, %p", two));
        assert_eq!(copies(&plan), [1]);
        // The second time.
        let body = STACK.replace("%a, %b, dim", "%a, %a, dim");
        assert_eq!(copies(&plan_of(&program(&body, "%c", "tensor<2x512xf32>"))), [1]);
        // An argument.
        let body = STACK.replace("%q = stablehlo.add %x, %y", "%q = stablehlo.reshape %x");
        let body = body.replace(
            "%q = stablehlo.reshape %x : ",
            "%q = stablehlo.reshape %x : (tensor<512xf32>) -> ",
        );
        assert_eq!(copies(&plan_of(&program(&body, "%c", "tensor<2x512xf32>"))), [1]);
    }

    #[test]
    fn the_bits_are_those_of_copies() {
        for (returned, of) in [
            ("%c", "tensor<2x512xf32>"),
            ("%c, %c", "tensor<2x512xf32>, tensor<2x512xf32>"),
            ("%p, %c", "tensor<512xf32>, tensor<2x512xf32>"),
        ] {
            let text = program(STACK, returned, of);
            let of = |passes| results(&text, &[None, None], passes);
            assert_eq!(of(Passes::ALL), of(Passes::NONE));
        }
    }
}
