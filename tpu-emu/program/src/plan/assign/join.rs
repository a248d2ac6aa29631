//! Which values follow one another in one piece of memory.
use super::{Assignment, number};
use crate::graph::ValueId;
use crate::passes::fuse::{EachStep, FusedStep, StepBlock, StepKind};
use crate::plan::live_range::{BlockTimes, Times};
use rustc_hash::{FxHashMap, FxHashSet};

impl Assignment<'_> {
    /// Joins alias sets in the order of the program.
    pub(super) fn join(&mut self, code: &StepBlock, times: &BlockTimes) {
        for (step, times) in code.steps.iter().zip(&times.steps) {
            match &step.kind {
                StepKind::Fused(_) | StepKind::Rows(_) => {
                    let dies = |value: ValueId| {
                        self.live_range(value).last == times.start && self.writable(value)
                    };
                    let all = 0..step.operands.len();
                    let dying: Vec<usize> = all.filter(|&at| dies(step.operands[at])).collect();
                    self.join_dying(step, dying);
                }
                StepKind::Kernel(kernel) => {
                    for (index, &result) in step.results.iter().enumerate() {
                        let Some(from) = kernel.starts_from(index) else { continue };
                        let Some(&value) = step.operands.get(from) else { continue };
                        let once =
                            step.operands.iter().filter(|&&other| other == value).count() == 1;
                        let others =
                            (0..index).any(|other| kernel.starts_from(other) == Some(from));
                        let dies = self.live_range(value).last == times.start;
                        // Behind a row of an array is the next one, and no room for mistakes.
                        let in_row = self.sets.get(value).and_then(|set| set.pin);
                        let in_row = in_row.is_some_and(|pin| pin >= self.rows);
                        let mistaken = in_row && kernel.custom_call().is_some();
                        if once && !others && dies && !mistaken && self.writable(value) {
                            self.sets.join(value, result);
                        }
                    }
                }
                StepKind::While { condition, body, .. } => {
                    self.join_loop(step, times, condition, body)
                }
                StepKind::Branch(branches) => self.join_branches(step, times, branches),
                StepKind::Each(each) => self.join_each(step, times, each),
                StepKind::Copy(_) => {}
            }
        }
    }

    /// Lets results of a step have the memory of operands that end with it: first those whose memory
    /// is that of the program's result that a result is, or of what a loop carries there.
    fn join_dying(&mut self, step: &FusedStep, mut dying: Vec<usize>) {
        let mut open: Vec<usize> = (0..step.results.len()).collect();
        open.retain(|&number| !self.is_placed(step.results[number]));
        for at_home in [true, false] {
            open.retain(|&number| {
                let result = step.results[number];
                let bytes = self.graph.bytes(result);
                let home = self.homes.get(&result).copied();
                let carried = self.carried.get(&result).copied();
                let fits = |&at: &usize| {
                    let operand = step.operands[at];
                    let Some(set) = self.sets.get(operand) else { return false };
                    let there = !at_home
                        || (home.is_some() && set.pin == home)
                        || carried.is_some_and(|carried| self.sets.same(operand, carried));
                    there && set.bytes == bytes && step.kind.takes_over(at, number)
                };
                let Some(at) = dying.iter().position(fits) else { return true };
                let operand = step.operands[dying.swap_remove(at)];
                self.sets.join(operand, result);
                false
            });
        }
    }

    fn join_loop(
        &mut self,
        step: &FusedStep,
        times: &Times,
        condition: &StepBlock,
        body: &StepBlock,
    ) {
        let [before, inside] = &times.blocks[..] else { return };
        let mut uses: FxHashMap<ValueId, usize> = FxHashMap::default();
        step.operands.iter().for_each(|&value| *uses.entry(value).or_default() += 1);
        for (index, &initial) in step.operands.iter().enumerate() {
            let [carried, tested, result] =
                [body.parameters[index], condition.parameters[index], step.results[index]];
            self.sets.join(result, tested);
            self.sets.join(result, carried);
            // The body reads what the condition has read.
            if let Some(range) = self.ranges.of.get_mut(&tested) {
                range.last = range.last.max(inside.start);
            }
            if uses[&initial] == 1
                && self.live_range(initial).last == times.start
                && self.writable(initial)
            {
                self.sets.join(initial, result);
            }
        }
        for (&made, &carried) in body.results.iter().zip(&body.parameters) {
            self.carried.entry(made).or_insert(carried);
        }
        self.join(condition, before);
        self.join(body, inside);
        if !self.reuse {
            return;
        }
        for (index, &made) in body.results.iter().enumerate() {
            let carried = body.parameters[index];
            if self.sets.same(made, carried) {
                continue;
            }
            let Some(set) = self.sets.get(made) else { continue };
            let (first, pinned) = (set.range.defined, set.pin.is_some());
            let own = first > inside.start && first < inside.end && !pinned;
            let read = self.sets.last_inside(carried, &self.ranges.of, inside.start, inside.end);
            if own && read < first {
                self.sets.join(carried, made);
            }
        }
    }

    fn join_branches(&mut self, step: &FusedStep, times: &Times, branches: &[StepBlock]) {
        let results: FxHashSet<ValueId> = step.results.iter().copied().collect();
        for (branch, times) in branches.iter().zip(&times.blocks) {
            self.join(branch, times);
            if !self.reuse {
                continue;
            }
            for (&result, &made) in step.results.iter().zip(&branch.results) {
                let Some(set) = self.sets.get(made) else { continue };
                let own = set.range.defined > times.start && set.range.defined < times.end;
                let taken = set.members.iter().any(|member| results.contains(member));
                if own && !taken && set.pin.is_none() {
                    self.sets.join(result, made);
                }
            }
        }
    }

    fn join_each(&mut self, step: &FusedStep, times: &Times, each: &EachStep) {
        let [inside] = &times.blocks[..] else { return };
        let mut read = FxHashSet::default();
        note_reads(&each.body, &mut read);
        let mut given = Vec::new();
        for (index, (&value, &row)) in step.operands.iter().zip(&each.body.parameters).enumerate() {
            let once = step.operands.iter().filter(|&&other| other == value).count() == 1;
            // It ends with the step that reads it last: this one.
            let last = self.live_range(value).last;
            let dies = inside.end < last && last <= inside.end + 1;
            let mut seen = FxHashSet::default();
            let apart = each.rows[index].iter().all(|&row| seen.insert(row));
            if once && dies && apart && self.writable(value) && !read.contains(&value) {
                self.given_up.insert(row);
                given.push((index, value, row));
            }
        }
        self.join(&each.body, inside);
        if !self.reuse {
            return;
        }
        let made = each.body.results.iter().zip(&each.made).zip(&step.results);
        for ((&value, &row), &result) in made {
            let Some(set) = self.sets.get(value) else { continue };
            let own = set.range.defined > inside.start && set.range.defined < inside.end;
            if self.is_guarded(set) {
                continue;
            }
            if own && set.pin.is_none() {
                if let Some(memory) = self.sets.get(row).and_then(|set| set.pin) {
                    self.sets.pin(value, memory);
                }
                continue;
            }
            // What lies where a row was that is given up lies where its own row is to be.
            let place = given.iter().position(|&(index, _, taken)| {
                each.reads_in_order(index) && self.sets.same(taken, value)
            });
            if let Some(place) = place {
                let (_, operand, _) = given.swap_remove(place);
                self.sets.join(operand, result);
            }
        }
    }

    /// Lets values be made where the caller wants them.
    pub(super) fn pin_results(&mut self, code: &StepBlock) {
        if !self.reuse {
            return;
        }
        let mut donors = vec![None; code.results.len()];
        for (parameter, taken) in self.donated.iter().enumerate() {
            if let Some(donor) = taken.and_then(|result| donors.get_mut(result)) {
                donor.get_or_insert(parameter);
            }
        }
        for (index, &value) in code.results.iter().enumerate() {
            let memory = self.results + number(index);
            let Some(set) = self.sets.get(value) else { continue };
            if set.pin.is_some() || self.packed(value) {
                continue;
            }
            let free = donors[index].is_none_or(|parameter: usize| {
                let parameter = code.parameters.get(parameter);
                let old = parameter.and_then(|&parameter| self.sets.get(parameter));
                old.is_none_or(|old| old.range.last < set.range.defined)
            });
            if free {
                self.sets.pin(value, memory);
            }
        }
    }
}

/// The values that a block and the blocks inside it read.
fn note_reads(code: &StepBlock, into: &mut FxHashSet<ValueId>) {
    for step in &code.steps {
        into.extend(&step.operands);
        step.kind.blocks().for_each(|block| note_reads(block, into));
    }
    into.extend(&code.results);
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::graph_of;
    use crate::plan::check::planned;
    use crate::plan::{PlannedStep, Step};

    #[test]
    fn results_of_one_loop_take_the_memory_that_was_given_up_for_each() {
        // Adam: the first result is made of the arguments of all others.
        let text = "func.func public @main(%w: tensor<64x64xf32>, %m: tensor<64x64xf32>, \
            %v: tensor<64x64xf32>, %g: tensor<64x64xf32>) \
            -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
            %m1 = stablehlo.add %m, %g : tensor<64x64xf32>
            %g2 = stablehlo.multiply %g, %g : tensor<64x64xf32>
            %v1 = stablehlo.add %v, %g2 : tensor<64x64xf32>
            %s = stablehlo.sqrt %v1 : tensor<64x64xf32>
            %d = stablehlo.divide %m1, %s : tensor<64x64xf32>
            %w1 = stablehlo.subtract %w, %d : tensor<64x64xf32>
            return %w1, %m1, %v1 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
          }";
        for donated in [[Some(0), Some(1), Some(2), None], [None, Some(2), None, Some(0)]] {
            let mut graph = graph_of(text, Passes::ALL);
            let plan = planned(&mut graph, &donated, Passes::ALL);
            assert_eq!((plan.arena, plan.steps.len()), (0, 1), "{donated:?}");
        }
    }

    #[test]
    fn results_of_a_loop_take_the_memory_of_what_it_carries_in_their_place() {
        // Of two that end with one step, each is made where it is read in the next iteration.
        let all = "tensor<64x64xf32>";
        let text = format!(
            "func.func public @main(%x: {all}, %y: {all}, %n: tensor<i32>) -> ({all}, {all}) {{
            %r:3 = stablehlo.while(%i = %n, %a = %x, %b = %y) : tensor<i32>, {all}, {all} cond {{
              %t = stablehlo.constant dense<3> : tensor<i32>
              %q = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %q : tensor<i1>
            }} do {{
              %k = stablehlo.add %i, %i : tensor<i32>
              %c = stablehlo.add %b, %a : {all}
              %d = stablehlo.multiply %c, %a : {all}
              stablehlo.return %k, %d, %c : tensor<i32>, {all}, {all}
            }}
            return %r#1, %r#2 : {all}, {all}
          }}"
        );
        let mut graph = graph_of(&text, Passes::ALL);
        let plan = planned(&mut graph, &[Some(0), Some(1), None], Passes::ALL);
        let looped = plan.steps.iter().find_map(|step| match &step.kind {
            PlannedStep::While { body, .. } => Some(body),
            _ => None,
        });
        let copies = |step: &Step| matches!(step.kind, PlannedStep::Copies(_));
        assert!(!looped.unwrap().iter().any(copies), "{looped:?}");
    }
}
