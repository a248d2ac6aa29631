//! Pieces of arrays that are read where the arrays lie.
use super::{Assignment, number};
use crate::graph::ValueId;
use crate::passes::fuse::{FusedStep, StepBlock, StepKind};
use crate::plan::Plan;
use crate::plan::live_range::FOREVER;
use crate::plan::window::Window;
use std::sync::Arc;

impl Assignment<'_> {
    /// Lets pieces of arrays have no memory of their own, where the arrays stay what they are for as
    /// long as the pieces are read.
    pub(super) fn place_windows(&mut self, code: &StepBlock) {
        for step in &code.steps {
            match &step.kind {
                StepKind::Kernel(kernel) => {
                    let &[piece] = &step.results[..] else { continue };
                    let Some(window) = Window::of(&**kernel, self.graph.bytes(piece)) else {
                        continue;
                    };
                    if self.outlives(step.operands[0], piece) && !self.on_host.contains(&piece) {
                        self.sets.pin(piece, Plan::WINDOWS + number(self.windows.len()));
                        let array = step.operands[0];
                        self.windows.insert(piece, (Arc::new(window), array));
                    }
                }
                // Its machine code moves elements itself.
                StepKind::While { scalar: Some(_), .. } => {}
                kind => kind.blocks().for_each(|block| self.place_windows(block)),
            }
        }
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

    /// Which piece of its first operand a step's result is, if it is no array of its own.
    pub(super) fn window(&self, step: &FusedStep) -> Option<Arc<Window>> {
        let (window, _) = self.windows.get(step.results.first()?)?;
        Some(Arc::clone(window))
    }
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

    /// A loop over layers, of which `body` makes the next `%y` of `%w`, a layer of `%l`; the layers
    /// that the next iteration has are `next`.
    fn program(body: &str, next: &str, returned: &str) -> String {
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
                %w = stablehlo.dynamic_slice %l, %i, %o, %o, sizes = [1, 128, 128] :
                    ({LAYERS}, tensor<i32>, tensor<i32>, tensor<i32>) -> {LAYER}
                {body}
                %one = stablehlo.constant dense<1> : tensor<i32>
                %j = stablehlo.add %i, %one : tensor<i32>
                stablehlo.return %j, %y, {next} : tensor<i32>, {LAYER}, {LAYERS}
            }}
            return %s#1, {returned} : {LAYER}, {LAYERS}
            }}"
        )
    }

    fn product(of: &str) -> String {
        format!(
            "%y = stablehlo.dot_general %a, {of}, batching_dims = [0] x [0], \
                contracting_dims = [2] x [1] : ({LAYER}, {LAYER}) -> {LAYER}"
        )
    }

    fn windows(steps: &[Step]) -> usize {
        let of = |step: &Step| {
            let own = usize::from(matches!(step.kind, PlannedStep::Window(_)));
            own + step.kind.blocks().map(windows).sum::<usize>()
        };
        steps.iter().map(of).sum()
    }

    fn checked(text: &str) -> Plan {
        let donated = [None, Some(1)];
        let plan = planned(&mut graph_of(text, Passes::ALL), &donated, Passes::ALL);
        let of = |passes| results(text, &donated, passes);
        assert!(of(Passes::ALL) == of(Passes::NONE), "{text}");
        assert_eq!(windows(&plan.steps), plan.windows, "{text}");
        plan
    }

    #[test]
    fn layers_that_stay_are_read_where_they_lie() {
        let text = program(&product("%w"), "%l", "%s#2");
        let plan = checked(&text);
        assert_eq!((plan.windows, plan.arena / (128 * 128 * 4)), (1, 1));
        // A window of a window, from an index beyond all on.
        let body = format!(
            "%h = stablehlo.dynamic_slice %w, %i, %i, %o, sizes = [1, 64, 128] :
                ({LAYER}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x128xf32>
            %v = stablehlo.concatenate %h, %h, dim = 1 :
                (tensor<1x64x128xf32>, tensor<1x64x128xf32>) -> {LAYER}
            {}",
            product("%v")
        );
        assert_eq!(checked(&program(&body, "%l", "%s#2")).windows, 2);
    }

    #[test]
    fn layers_that_are_replaced_while_they_are_read_are_copied() {
        // The update is made, in place, before the old layer is read.
        let body = format!(
            "%n = stablehlo.negate %a : {LAYER}
            %u = stablehlo.dynamic_update_slice %l, %n, %i, %o, %o :
                ({LAYERS}, {LAYER}, tensor<i32>, tensor<i32>, tensor<i32>) -> {LAYERS}
            %m = stablehlo.dynamic_slice %u, %i, %o, %o, sizes = [1, 128, 128] :
                ({LAYERS}, tensor<i32>, tensor<i32>, tensor<i32>) -> {LAYER}
            %q = stablehlo.add %m, %w : {LAYER}
            {}",
            product("%q")
        );
        assert!(checked(&program(&body, "%u", "%s#2")).windows <= 1);
        // What the next iteration has is copied at the end of this one.
        let body = format!("%y = stablehlo.reshape %w : ({LAYER}) -> {LAYER}");
        assert_eq!(checked(&program(&body, "%l", "%s#2")).windows, 1);
    }
}
