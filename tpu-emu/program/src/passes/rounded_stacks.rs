//! Arrays that a loop fills part by part are rounded as they are filled, if only products that round
//! what they read take their parts.
//!
//! A layer that runs in a loop keeps what its gradient needs in arrays with one part for each
//! iteration. Other loops read a part in each of theirs. Where that goes to products that round their
//! operands to bf16, the parts are rounded before they are kept: such an array needs half the memory.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::absorbed_work::each_use;
use crate::passes::rounded::{Rounding, converting, narrow, rounding};
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_ops::Kernel;

/// Rounds the arrays of so many bytes that loops of a block fill, with what stands inside of loops.
pub(super) fn round(graph: &mut Graph, code: &mut Subgraph, least: usize) {
    let mut before: Vec<(usize, Node)> = Vec::new();
    for at in 0..code.nodes.len() {
        let NodeKind::While(_, body) = &code.nodes[at].work else { continue };
        for carried in 0..body.parameters.len() {
            let Some(stack) = Stack::of(graph, code, (at, carried), least) else { continue };
            let Some(initial) = stack.round(graph, code) else { continue };
            before.push((at, initial));
        }
    }
    for (at, node) in before.into_iter().rev() {
        code.nodes.insert(at, node);
    }
}

/// An array that a loop fills, and only products read.
struct Stack {
    /// The node of the loop.
    at: usize,
    /// Which of the carried values it is.
    carried: usize,
    /// The node of the body that replaces a part.
    update: usize,
    /// That, for rounded elements.
    kernel: Arc<dyn Kernel>,
}

impl Stack {
    fn of(
        graph: &Graph,
        code: &Subgraph,
        (at, carried): (usize, usize),
        least: usize,
    ) -> Option<Self> {
        let NodeKind::While(condition, body) = &code.nodes[at].work else { return None };
        let (parameter, made) = (body.parameters[carried], *body.results.get(carried)?);
        let shape = &graph.value(parameter).shape;
        let filled = *code.nodes[at].results.get(carried)?;
        if shape.dtype != DType::F32 || shape.bytes() < least || code.results.contains(&filled) {
            return None;
        }
        let initial = code.nodes[at].operands[carried];
        let maker = code.nodes[..at].iter().rfind(|node| node.results.contains(&initial))?;
        maker.only_element(graph)?;
        let update = body.nodes.iter().position(|node| node.results[..] == [made])?;
        // Nothing else reads the array while it is filled.
        let mut reads = 0;
        each_use(&body.nodes, &body.results, &mut |value, by| {
            let expected = [(parameter, (update, Some(0))), (made, (body.nodes.len(), None))];
            let is_read = value == parameter || value == made;
            reads +=
                usize::from(is_read) + 2 * usize::from(is_read && !expected.contains(&(value, by)));
        });
        let own = condition.parameters[carried];
        each_use(&condition.nodes, &condition.results, &mut |value, _| {
            reads += 3 * usize::from(value == own);
        });
        if reads != 2 {
            return None;
        }
        let (kernel, _) = of_rounded(graph, &body.nodes[update])?;
        let mut slices = 0;
        let taken = takes(graph, code, filled, &mut slices);
        (taken && slices > 0).then_some(Self { at, carried, update, kernel })
    }

    /// Rounds what is kept, and lets its readers read that; gives the node that rounds what the
    /// loop begins with.
    fn round(self, graph: &mut Graph, code: &mut Subgraph) -> Option<Node> {
        let Self { at, carried, update, kernel } = self;
        let filled = code.nodes[at].results[carried];
        let initial = rounding(graph, &code.nodes[at], code.nodes[at].operands[carried])?;
        code.nodes[at].operands[carried] = initial.results[0];
        let NodeKind::While(condition, body) = &mut code.nodes[at].work else { return None };
        let body = Arc::make_mut(body);
        let part = rounding(graph, &body.nodes[update], body.nodes[update].operands[1])?;
        let changed = [condition.parameters[carried], body.parameters[carried]];
        for value in changed.into_iter().chain([body.results[carried], filled]) {
            narrow(&mut graph.values[value.index()].shape);
        }
        let node = &mut body.nodes[update];
        node.operands[1] = part.results[0];
        node.shapes.iter_mut().take(2).for_each(narrow);
        node.work = NodeKind::Kernel(kernel);
        body.nodes.insert(update, part);
        take_rounded(graph, code, filled);
        Some(initial)
    }
}

/// What a node does with an array of rounded elements, and the part of it, if it replaces or reads
/// one.
fn of_rounded(graph: &Graph, node: &Node) -> Option<(Arc<dyn Kernel>, ValueId)> {
    let (NodeKind::Kernel(kernel), &[result]) = (&node.work, &node.results[..]) else {
        return None;
    };
    let replaces = usize::from(kernel.starts_from(0).is_some());
    let mut shapes = node.shapes.clone();
    shapes.iter_mut().take(1 + replaces).for_each(narrow);
    let result_shape = graph.value(result).shape.with(DType::Bf16);
    Some((kernel.of_elements(&shapes, &result_shape)?, result))
}

/// Whether a node reads a part of its first operand as it is.
pub(crate) fn reads_part(graph: &Graph, node: &Node) -> bool {
    let reads = matches!(&node.work, NodeKind::Kernel(kernel) if kernel.starts_from(0).is_none());
    reads && of_rounded(graph, node).is_some()
}

/// The parts of an array that nodes of a block read, if they do no more with it.
fn slices(graph: &Graph, code: &Subgraph, array: ValueId) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for (at, node) in code.nodes.iter().enumerate() {
        if !node.operands.contains(&array) {
            continue;
        }
        let once = node.operands.iter().filter(|&&value| value == array).count() == 1;
        if !once || node.operands[0] != array || !reads_part(graph, node) {
            return None;
        }
        found.push(at);
    }
    Some(found)
}

/// Whether all that a block does with an array is to take parts of it for products that round them;
/// counts the parts.
pub(super) fn takes(graph: &Graph, code: &Subgraph, array: ValueId, count: &mut usize) -> bool {
    let Some(slices) = slices(graph, code, array) else { return false };
    if !slices.is_empty() {
        let uses = Rounding::of(graph, code, 1);
        let rounded = |&at: &usize| uses.readers(graph, code, code.nodes[at].results[0]).is_some();
        if !slices.iter().all(rounded) {
            return false;
        }
    }
    *count += slices.len();
    let mut inner = code.nodes.iter().flat_map(|node| node.work.blocks());
    !code.results.contains(&array) && inner.all(|block| takes(graph, block, array, count))
}

/// Lets all that takes parts of an array take rounded ones, which products read as they are
/// (`absorbed_work`).
pub(super) fn take_rounded(graph: &mut Graph, code: &mut Subgraph, array: ValueId) {
    for at in slices(graph, code, array).into_iter().flatten().rev() {
        let slice = &mut code.nodes[at];
        let Some((kernel, part)) = of_rounded(graph, slice) else { continue };
        let shape = graph.value(part).shape.with(DType::Bf16);
        let rounded = graph.add(shape.clone());
        let widening = converting(slice, (rounded, shape), (part, DType::F32));
        let Some(widening) = widening else { continue };
        slice.work = NodeKind::Kernel(kernel);
        narrow(&mut slice.shapes[0]);
        slice.results = vec![rounded];
        code.nodes.insert(at + 1, widening);
    }
    for node in &mut code.nodes {
        node.work.blocks_mut().for_each(|block| take_rounded(graph, block, array));
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::{Passes, plan};
    use crate::differential::{graph_under, results_under};
    use crate::plan::StorageForm;
    use tpu_base::tensor::DType;
    use tpu_kernels::simd::at_every_level;
    use tpu_ops::Numerics;

    /// A loop that keeps an array with a part of each iteration, and one that reads them backwards
    /// and does `use_part` with each, `%u`, and a matrix, `%g`; `kept` is returned besides.
    fn program(use_part: &str, kept: &str) -> String {
        let (one, all, number) = ("tensor<192x192xf32>", "tensor<4x192x192xf32>", "tensor<i32>");
        let part = "tensor<1x192x192xf32>";
        let [starts, none] = ["tensor<i32>, tensor<i32>, tensor<i32>", "%n, %n"];
        let last = format!(
            "%c = stablehlo.slice %f#2 [1:2, 0:192, 0:192] : ({all}) -> {part}
               %y = stablehlo.reshape %c : ({part}) -> {one}"
        );
        let last = if kept == "%y" { &last } else { "" };
        format!(
            "func.func public @main(%x: {one}, %w: {one}, %n: {number}) -> ({one}, {one}) {{
               %z = stablehlo.constant dense<0.0> : tensor<f32>
               %e = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {all}
               %f:3 = stablehlo.while(%i = %n, %a = %x, %s = %e) : {number}, {one}, {all} cond {{
                 %t = stablehlo.constant dense<4> : {number}
                 %q = stablehlo.compare LT, %i, %t : ({number}, {number}) -> tensor<i1>
                 stablehlo.return %q : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : {number}
                 %j = stablehlo.add %i, %o : {number}
                 %h = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : ({one}, {one}) -> {one}
                 %b = stablehlo.tanh %h : {one}
                 %p = stablehlo.reshape %b : ({one}) -> {part}
                 %d = stablehlo.dynamic_update_slice %s, %p, %i, {none} : ({all}, {part}, {starts}) -> {all}
                 stablehlo.return %j, %b, %d : {number}, {one}, {all}
               }}
               %r:3 = stablehlo.while(%i = %n, %g = %f#1, %s = %f#2) : {number}, {one}, {all} cond {{
                 %t = stablehlo.constant dense<4> : {number}
                 %q = stablehlo.compare LT, %i, %t : ({number}, {number}) -> tensor<i1>
                 stablehlo.return %q : tensor<i1>
               }} do {{
                 %o = stablehlo.constant dense<1> : {number}
                 %l = stablehlo.constant dense<3> : {number}
                 %j = stablehlo.add %i, %o : {number}
                 %k = stablehlo.subtract %l, %i : {number}
                 %p = stablehlo.dynamic_slice %s, %k, {none}, sizes = [1, 192, 192] : ({all}, {starts}) -> {part}
                 %u = stablehlo.reshape %p : ({part}) -> {one}
                 {use_part}
                 stablehlo.return %j, %m, %s : {number}, {one}, {all}
               }}
               {last}
               return %r#1, {kept} : {one}, {one}
             }}"
        )
    }

    const MULTIPLIED: &str = "%m = stablehlo.dot_general %u, %g, contracting_dims = [0] x [0] : \
        (tensor<192x192xf32>, tensor<192x192xf32>) -> tensor<192x192xf32>";
    const ADDED: &str = "%m = stablehlo.add %u, %g : tensor<192x192xf32>";

    /// The arena of a program's plan, and the bytes of its largest array in 16 bits.
    fn planned(text: &str, numerics: Numerics, passes: Passes) -> [usize; 2] {
        let mut graph = graph_under(numerics, text, passes);
        let outside = StorageForm::Packed { donated: &[None; 3], elsewhere: &[], apart: false };
        let arena = plan(&mut graph, outside, passes).arena;
        let narrow = graph.values.iter().filter(|value| value.shape.dtype == DType::Bf16);
        [arena, narrow.map(|value| value.shape.bytes()).max().unwrap_or(0)]
    }

    #[test]
    fn what_a_loop_keeps_for_products_has_half_the_bytes() {
        let passes = Passes { rounded_from: 1 << 19, ..Passes::ALL };
        let (all, text) = (4 * 192 * 192, program(MULTIPLIED, "%x"));
        let [less, narrow] = planned(&text, Numerics::Tpu, passes);
        let [before, weights] = planned(&text, Numerics::Tpu, Passes::ALL);
        // Without the array, that is a matrix that the second loop reads from outside.
        assert_eq!((narrow, weights), (all * DType::Bf16.host_bytes(), all / 2), "{text}");
        assert!(less + all <= before, "{less} of {before}");
        // Others read it too, and products that round nothing.
        let kept = [program(ADDED, "%x"), program(MULTIPLIED, "%y")];
        for (text, numerics) in
            [(&kept[0], Numerics::Tpu), (&kept[1], Numerics::Tpu), (&text, Numerics::Ieee)]
        {
            assert!(planned(text, numerics, passes)[1] < all, "{text}");
        }
    }

    #[test]
    fn what_a_loop_keeps_rounded_gives_the_bits_of_what_products_round() {
        let rounded = Passes { rounded_from: 1 << 19, ..Passes::ALL };
        let texts = [(MULTIPLIED, "%x"), (ADDED, "%x"), (MULTIPLIED, "%y")];
        for text in texts.map(|(part, kept)| program(part, kept)) {
            at_every_level(|level| {
                let [found, wanted] = [rounded, Passes::NONE]
                    .map(|passes| results_under(Numerics::Tpu, &text, &[None; 3], passes));
                assert!(found == wanted, "{level:?}: {text}");
            });
        }
    }
}
