//! Pieces of arrays that are read where the arrays lie, and made where arrays are to have them.
use super::{Assignment, plain};
use crate::graph::ValueId;
use crate::passes::fuse::{FusedStep, StepBlock, StepKind};
use crate::plan::live_range::FOREVER;
use crate::plan::window::ArrayWindow;
use crate::plan::{Plan, PlannedStep, Step};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use tpu_ops::Kernel;

/// An array's update that is made where it is stored.
#[derive(Debug)]
pub(super) struct PlacedUpdate {
    window: Arc<ArrayWindow>,
    /// What the step reads that stores it: the array, the update, and where it goes.
    operands: Box<[ValueId]>,
    /// The array with it.
    updated: ValueId,
}

impl Assignment<'_> {
    /// Lets pieces of arrays have no memory of their own, where the arrays stay what they are for as
    /// long as the pieces are read, and updates be made where they are stored.
    pub(super) fn place_windows(&mut self, code: &StepBlock) {
        let mut makers = None;
        for step in &code.steps {
            match &step.kind {
                StepKind::Kernel(kernel) => {
                    self.place_piece(step, &**kernel);
                    self.place_update((code, &mut makers), step, &**kernel);
                }
                // Its machine code moves elements itself.
                StepKind::While { scalar: Some(_), .. } => {}
                kind => kind.blocks().for_each(|block| self.place_windows(block)),
            }
        }
    }

    fn place_piece(&mut self, step: &FusedStep, kernel: &dyn Kernel) {
        let &[piece] = &step.results[..] else { return };
        let Some(window) = ArrayWindow::read(kernel, self.graph.bytes(piece)) else { return };
        if self.outlives(step.operands[0], piece) && !self.on_host.contains(&piece) {
            self.pin_to_window(piece);
            self.windows.insert(piece, (Arc::new(window), step.operands[0]));
        }
    }

    fn pin_to_window(&mut self, piece: ValueId) {
        self.sets.pin(piece, Plan::WINDOWS + self.window_count);
        self.window_count += 1;
    }

    /// Whether nothing is written to an array for as long as a piece of it is read: what takes its
    /// memory over is made when it is read last, or later.
    fn outlives(&self, mut array: ValueId, piece: ValueId) -> bool {
        while let Some((_, whole)) = self.windows.get(&array) {
            array = *whole;
        }
        let last = self.live_range(piece).last;
        let parameters = Plan::PARAMETERS..self.results;
        let memory = self.sets.get(array).and_then(|set| set.pin);
        let is_kept = memory.is_some_and(|memory| parameters.contains(&memory));
        last != FOREVER && (is_kept || last < self.live_range(array).last)
    }

    /// Lets what a step stores in an array be made there, if only that step reads the array, and all
    /// that says where is known before.
    fn place_update<'c>(
        &mut self,
        (code, makers): (&'c StepBlock, &mut Option<FxHashMap<ValueId, &'c StepKind>>),
        step: &FusedStep,
        kernel: &dyn Kernel,
    ) {
        let (&[updated], [array, update, ..]) = (&step.results[..], &step.operands[..]) else {
            return;
        };
        let Some(window) = ArrayWindow::written(kernel, self.graph.bytes(*update)) else { return };
        let made = self.live_range(*update);
        let early = |value: ValueId| {
            self.ranges.of.get(&value).is_none_or(|range| range.defined < made.defined)
        };
        let known = window.indices().all(|at| early(step.operands[at]));
        let makers = makers.get_or_insert_with(|| makers_of(code));
        let is_plain = makers.get(update).is_some_and(|kind| match kind {
            StepKind::Fused(_) | StepKind::Copy(_) | StepKind::Rows(_) => true,
            StepKind::Kernel(kernel) => kernel.starts_from(0).is_none(),
            StepKind::While { .. } | StepKind::Branch(_) | StepKind::Each(_) => false,
        });
        let in_block = makers.contains_key(array) || code.parameters.contains(array);
        let stays = made.last < self.live_range(updated).last;
        let fits = known && is_plain && in_block && early(*array) && stays;
        let free = self.sets.get(*update).is_some_and(|set| set.is_free() && !self.is_guarded(set));
        if fits && free && !self.on_host.contains(update) && reads(code, *array) == 1 {
            self.pin_to_window(*update);
            let (window, operands) = (Arc::new(window), step.operands.clone().into());
            self.updates.insert(*update, PlacedUpdate { window, operands, updated });
        }
    }

    /// Whether a value is an update that is made where it is stored.
    pub(super) fn is_placed(&self, value: ValueId) -> bool {
        self.updates.contains_key(&value)
    }

    /// Lets updates have memory of their own after all where the array with one lies elsewhere.
    pub(super) fn drop_lost_updates(&mut self) {
        let lost =
            self.updates.iter().filter(|(_, of)| !self.sets.same(of.operands[0], of.updated));
        let lost: Vec<ValueId> = lost.map(|(&update, _)| update).collect();
        for update in lost {
            self.updates.remove(&update);
            self.sets.unpin(update);
        }
    }

    /// Which piece of its first operand a step's result is, if it is no array of its own.
    pub(super) fn window(&self, step: &FusedStep) -> Option<Arc<ArrayWindow>> {
        let (window, _) = self.windows.get(step.results.first()?)?;
        Some(Arc::clone(window))
    }

    /// Whether a step stores what was made there.
    pub(super) fn stores_placed(&self, step: &FusedStep) -> bool {
        let update = step.operands.get(1).and_then(|update| self.updates.get(update));
        update.is_some_and(|update| step.results[..] == [update.updated])
    }

    /// The steps that say where the updates lie that a step makes.
    pub(super) fn windows_of_updates(&mut self, step: &FusedStep) -> Vec<Step> {
        let placed =
            step.results.iter().filter_map(|&update| Some((update, self.updates.get(&update)?)));
        let placed: Vec<_> = placed
            .map(|(update, of)| (update, Arc::clone(&of.window), of.operands.clone()))
            .collect();
        let open = |(update, window, operands): (ValueId, _, Box<[ValueId]>)| {
            let result = self.slot(update);
            plain(PlannedStep::Window(window), self.slots(&operands).into(), vec![result])
        };
        placed.into_iter().map(open).collect()
    }
}

/// The steps of a block by what they make.
fn makers_of(code: &StepBlock) -> FxHashMap<ValueId, &StepKind> {
    let mut makers = FxHashMap::default();
    for step in &code.steps {
        makers.extend(step.results.iter().map(|&result| (result, &step.kind)));
    }
    makers
}

/// How often a block and those inside read a value.
fn reads(code: &StepBlock, value: ValueId) -> usize {
    let count = |values: &[ValueId]| values.iter().filter(|&&read| read == value).count();
    let of = |step: &FusedStep| {
        count(&step.operands) + step.kind.blocks().map(|block| reads(block, value)).sum::<usize>()
    };
    count(&code.results) + code.steps.iter().map(of).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use crate::compile::Passes;
    use crate::differential::{graph_of, results};
    use crate::plan::PlannedStep;
    use crate::plan::check::planned;
    use crate::plan::{Plan, Step};

    const LAYERS: &str = "tensor<4x128x128xf32>";
    const LAYER: &str = "tensor<1x128x128xf32>";

    /// A loop of which `body` makes the next `%y` of `%a`, and the next layers, `next`, of `%l`.
    fn program(body: &str, next: &str) -> String {
        format!(
            "func.func public @main(%x: {LAYER}, %layers: {LAYERS}) -> ({LAYER}, {LAYERS}) {{
            %zero = stablehlo.constant dense<0> : tensor<i32>
            %s:3 = stablehlo.while(%i = %zero, %a = %x, %l = %layers) :
                tensor<i32>, {LAYER}, {LAYERS} cond {{
                %last = stablehlo.constant dense<6> : tensor<i32>
                %go = stablehlo.compare LT, %i, %last, SIGNED :
                    (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %go : tensor<i1>
            }} do {{
                %o = stablehlo.constant dense<0> : tensor<i32>
                %one = stablehlo.constant dense<1> : tensor<i32>
                %j = stablehlo.add %i, %one : tensor<i32>
                {body}
                stablehlo.return %j, %y, {next} : tensor<i32>, {LAYER}, {LAYERS}
            }}
            return %s#1, %s#2 : {LAYER}, {LAYERS}
            }}"
        )
    }

    /// A layer of these, by an index.
    fn slice(made: &str, of: &str, index: &str) -> String {
        format!(
            "{made} = stablehlo.dynamic_slice {of}, {index}, %o, %o, sizes = [1, 128, 128] :
                ({LAYERS}, tensor<i32>, tensor<i32>, tensor<i32>) -> {LAYER}\n"
        )
    }

    /// These with another layer.
    fn store(made: &str, (of, layer): (&str, &str), index: &str) -> String {
        format!(
            "{made} = stablehlo.dynamic_update_slice {of}, {layer}, {index}, %o, %o :
                ({LAYERS}, {LAYER}, tensor<i32>, tensor<i32>, tensor<i32>) -> {LAYERS}\n"
        )
    }

    fn product(of: &str) -> String {
        format!(
            "%y = stablehlo.dot_general %a, {of}, batching_dims = [0] x [0], \
                contracting_dims = [2] x [1] : ({LAYER}, {LAYER}) -> {LAYER}\n"
        )
    }

    fn negate(made: &str, of: &str) -> String {
        format!("{made} = stablehlo.negate {of} : {LAYER}\n")
    }

    fn count(steps: &[Step], wanted: fn(&PlannedStep) -> bool) -> usize {
        let of = |step: &Step| {
            let inside = step.kind.blocks().map(|steps| count(steps, wanted)).sum::<usize>();
            usize::from(wanted(&step.kind)) + inside
        };
        steps.iter().map(of).sum()
    }

    /// The plan of a program, whose windows are followed, and how often it stores what lies there.
    fn checked(text: &str) -> (Plan, usize) {
        let donated = [None, Some(1)];
        let plan = planned(&mut graph_of(text, Passes::ALL), &donated, Passes::ALL);
        let of = |passes| results(text, &donated, passes);
        assert!(of(Passes::ALL) == of(Passes::NONE), "{text}");
        let windows = count(&plan.steps, |kind| matches!(kind, PlannedStep::Window(_)));
        assert_eq!(windows, plan.windows, "{text}");
        let is_stored = |kind: &_| matches!(kind, PlannedStep::Copies(of) if of.is_empty());
        let stored = count(&plan.steps, is_stored);
        (plan, stored)
    }

    #[test]
    fn layers_that_stay_are_read_where_they_lie() {
        let body = slice("%w", "%l", "%i") + &product("%w");
        let (plan, _) = checked(&program(&body, "%l"));
        assert_eq!((plan.windows, plan.arena / (128 * 128 * 4)), (1, 1));
        // A window of a window, from an index beyond all on.
        let half = format!(
            "%h = stablehlo.dynamic_slice %w, %i, %i, %o, sizes = [1, 64, 128] :
                ({LAYER}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x128xf32>
            %v = stablehlo.concatenate %h, %h, dim = 1 :
                (tensor<1x64x128xf32>, tensor<1x64x128xf32>) -> {LAYER}\n"
        );
        let body = slice("%w", "%l", "%i") + &half + &product("%v");
        assert_eq!(checked(&program(&body, "%l")).0.windows, 2);
        // What the next iteration has is copied at the end of this one.
        let same = format!("%y = stablehlo.reshape %w : ({LAYER}) -> {LAYER}\n");
        let body = slice("%w", "%l", "%i") + &same;
        assert_eq!(checked(&program(&body, "%l")).0.windows, 1);
    }

    #[test]
    fn layers_that_are_replaced_while_they_are_read_are_copied() {
        // The update is made, in place, before the old layer is read.
        let body = slice("%w", "%l", "%i")
            + &negate("%n", "%a")
            + &store("%u", ("%l", "%n"), "%i")
            + &slice("%m", "%u", "%i")
            + &format!("%q = stablehlo.add %m, %w : {LAYER}\n")
            + &product("%q");
        let (plan, stored) = checked(&program(&body, "%u"));
        assert_eq!((plan.windows, stored), (1, 0));
    }

    #[test]
    fn what_a_loop_stores_is_made_where_it_is_stored() {
        // And is read behind that as well.
        let once = negate("%n", "%a") + &store("%u", ("%l", "%n"), "%i");
        let more = negate("%v", "%n") + &product("%v");
        let (plan, stored) = checked(&program(&(once.clone() + &more), "%u"));
        assert_eq!((plan.windows, stored), (1, 1));
        // Another layer is stored before it is read, it goes on elsewhere, the array is read too, and an
        // index comes late.
        let twice = once.clone() + &store("%t", ("%u", "%n"), "%j") + &more;
        assert_eq!(checked(&program(&twice, "%t")).1, 0);
        let next = negate("%y", "%a") + &store("%u", ("%l", "%y"), "%i");
        assert_eq!(checked(&program(&next, "%u")).1, 0);
        let kept = once.clone() + &slice("%w", "%l", "%i") + &product("%w");
        assert_eq!(checked(&program(&kept, "%u")).1, 0);
        let late = negate("%n", "%a")
            + &format!(
                "%z = stablehlo.reduce(%n init: %f) applies stablehlo.maximum across dimensions = \
                    [0, 1, 2] : ({LAYER}, tensor<f32>) -> tensor<f32>
                %k = stablehlo.convert %z : (tensor<f32>) -> tensor<i32>\n"
            )
            + &store("%u", ("%l", "%n"), "%k")
            + &more;
        let late = format!("%f = stablehlo.constant dense<0.0> : tensor<f32>\n{late}");
        assert_eq!(checked(&program(&late, "%u")).1, 0);
    }
}
