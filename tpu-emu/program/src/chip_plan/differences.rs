//! Differences of logits to the greatest of their row, which a chip stores before it makes logarithms.
//!
//! Of an argument in f32 with three axes and more, none of one element, and rows of up to 8,192
//! elements, the loop that finds the greatest of a row gives the differences as well, and the next one
//! sums their exponentials. In longer rows, in matrices, and where 16 bits are converted to f32 before
//! all else, they are made again for each reader, and so they are in `logsumexp`, and in a `softmax` that
//! is a result and has rows of up to 4,096. Where a product makes the logits, what [`super::loss`] says holds.
//!
//! Source: what libtpu 0.0.51 says of some 300 losses and normalizations on a v5e.
use super::loss::products_of;
use super::{is_conversion_to_f32, is_narrow, makers, stored_result};
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::plan::StoredByChip;
use crate::tuning::{MAX_DIFFERENCE_ROW_ELEMENTS, MAX_SOFTMAX_ROW_ELEMENTS, MIN_SHRUNK_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;

/// Axes that their array has at least, all of several elements.
const LEAST_AXES: usize = 3;

/// All differences of a program that multiplies nothing, as the largest of them.
pub(super) fn all(graph: &Graph, code: &Subgraph) -> Option<StoredByChip> {
    let difference = |node| {
        let (logits, shape) = difference(graph, node)?;
        (shape.bytes() >= MIN_SHRUNK_BYTES && has_rows(shape)).then_some((node, logits, shape))
    };
    let found: Vec<(&Node, ValueId, &Shape)> = code.nodes.iter().filter_map(difference).collect();
    // A reduction's second operand is the value that it begins with.
    let multiplies =
        |node: &Node| node.work.is_product() && node.shapes.iter().all(|of| of.elements() > 1);
    if found.is_empty() || code.nodes.iter().any(multiplies) {
        return None;
    }
    let makers = makers(code);
    let is_stored = |&(node, logits, shape): &(&Node, ValueId, &Shape)| {
        is_greatest_of_row(graph, &makers, (logits, node.operands[1]))
            && Exponentials::of(code, node.results[0]).are_made_behind(shape)
            && !is_widened(&makers, logits)
            && is_of_arguments(graph, &makers, (logits, shape))
    };
    let stored = found.into_iter().filter(is_stored);
    let stored: Vec<StoredByChip> =
        stored.map(|(node, _, shape)| stored_result(node, shape, shape.bytes())).collect();
    let bytes = stored.iter().map(|stored| stored.bytes).sum();
    let others = stored.len().saturating_sub(1);
    let largest = stored.into_iter().max_by_key(|stored| stored.bytes)?;
    Some(StoredByChip { bytes, others, ..largest })
}

/// What a node subtracts something from, and the array that it makes.
fn difference<'g>(graph: &'g Graph, node: &Node) -> Option<(ValueId, &'g Shape)> {
    let (NodeKind::Elementwise(op), &[result]) = (&node.work, &node.results[..]) else {
        return None;
    };
    let subtracts = op.kind == ElementwiseKind::Subtract;
    subtracts.then(|| (node.operands[0], &graph.value(result).shape))
}

/// Whether an array is of f32 and has as many axes as it takes, the last of them short enough.
fn has_rows(shape: &Shape) -> bool {
    let has_axes = shape.dims.len() >= LEAST_AXES && shape.dims.iter().all(|&dim| dim > 1);
    let row = shape.dims.last().copied().unwrap_or_default();
    shape.dtype == DType::F32 && has_axes && row <= MAX_DIFFERENCE_ROW_ELEMENTS
}

/// Whether what is subtracted from logits is one number for each row, which a reduction of them gave as
/// it is: `logsumexp` asks whether that is finite, and has no differences stored.
fn is_greatest_of_row(
    graph: &Graph,
    makers: &FxHashMap<ValueId, &Node>,
    (logits, subtracted): (ValueId, ValueId),
) -> bool {
    let shape = &graph.value(logits).shape;
    let mut open = vec![subtracted];
    let mut seen = FxHashSet::default();
    while let Some(value) = open.pop() {
        let Some(maker) = makers.get(&value).filter(|_| seen.insert(value)) else { continue };
        match &maker.work {
            NodeKind::Access(_) => open.extend(&maker.operands),
            NodeKind::Elementwise(op) if op.kind == ElementwiseKind::Maximum => {
                open.extend(&maker.operands);
            }
            NodeKind::Kernel(kernel) => {
                let of_rows = kernel.reduction().is_some_and(|reduced| {
                    reduced.dims[2] == 1 && shape.dims.last() == Some(&reduced.dims[1])
                });
                if of_rows && maker.operands.first() == Some(&logits) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// What becomes of the exponentials of differences.
struct Exponentials {
    /// Whether there are any.
    are_there: bool,
    /// Whether they and their sums are read for results of the program alone, as those of a softmax.
    are_of_softmax: bool,
}

impl Exponentials {
    fn of(code: &Subgraph, differences: ValueId) -> Self {
        let readers =
            |value: ValueId| code.nodes.iter().filter(move |node| node.operands.contains(&value));
        let is_kind = |node: &Node, kind: ElementwiseKind| matches!(&node.work, NodeKind::Elementwise(op) if op.kind == kind);
        let is_result = |node: &Node| {
            let is_last = |node: &Node| code.results.contains(&node.results[0]);
            is_last(node)
                || readers(node.results[0])
                    .all(|of| is_kind(of, ElementwiseKind::Convert) && is_last(of))
        };
        let is_softmax = |node: &Node| match &node.work {
            NodeKind::Kernel(kernel) => kernel.reduction().is_some(),
            _ => is_kind(node, ElementwiseKind::Divide) && is_result(node),
        };
        let of_differences: Vec<&Node> = readers(differences).collect();
        let is_exponential = |node: &&&Node| is_kind(node, ElementwiseKind::Exponential);
        let exponentials: Vec<&&Node> = of_differences.iter().filter(is_exponential).collect();
        let are_of_softmax = exponentials.len() == of_differences.len()
            && exponentials.iter().all(|node| readers(node.results[0]).all(is_softmax));
        Self { are_there: !exponentials.is_empty(), are_of_softmax }
    }

    /// Whether a loop behind that over rows of this array makes them.
    fn are_made_behind(&self, of: &Shape) -> bool {
        let is_short = of.dims.last().is_some_and(|&row| row <= MAX_SOFTMAX_ROW_ELEMENTS);
        self.are_there && !(self.are_of_softmax && is_short)
    }
}

/// Whether a value is another one of 16 bits that was converted.
fn is_widened(makers: &FxHashMap<ValueId, &Node>, value: ValueId) -> bool {
    makers
        .get(&value)
        .is_some_and(|node| is_conversion_to_f32(node) && is_narrow(node.shapes[0].dtype))
}

/// Whether operations on elements make a value of arguments of the program.
fn is_of_arguments(
    graph: &Graph,
    makers: &FxHashMap<ValueId, &Node>,
    (value, of): (ValueId, &Shape),
) -> bool {
    let mut products = Vec::new();
    products_of(graph, makers, (value, of), &mut FxHashSet::default(), &mut products);
    products.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::ChipProgram;
    use crate::compile::Passes;
    use crate::differential::graph_of;
    use crate::tuning::MIN_SHRUNK_BYTES;

    /// Bytes of the differences that a chip stores of logarithms of an argument with these extents,
    /// of which `first` makes `%l`.
    fn stored(outer: &str, [rows, columns]: [usize; 2], first: &str, last: &str) -> Option<usize> {
        let rows_of = |element: &str| format!("tensor<{outer}{rows}x{element}>");
        let (all, sums) = (rows_of(&format!("{columns}xf32")), rows_of("f32"));
        let axes = outer.matches('x').count() + 1;
        let kept = (0..axes).map(|axis| axis.to_string()).collect::<Vec<_>>().join(", ");
        let greatest = if first.contains("%asked") { "%a" } else { "%m" };
        let text = format!(
            "func.func public @main(%x: ARGUMENT) -> ALL {{
               {first}
               %c = stablehlo.constant dense<0.0> : tensor<f32>
               %m = stablehlo.reduce(%l init: %c) applies stablehlo.maximum across dimensions = [{axes}] : (ALL, tensor<f32>) -> {sums}
               %a = stablehlo.abs %m : {sums}
               %b = stablehlo.broadcast_in_dim {greatest}, dims = [{kept}] : ({sums}) -> ALL
               %s = stablehlo.subtract %l, %b : ALL
               %e = stablehlo.exponential %s : ALL
               %z = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [{axes}] : (ALL, tensor<f32>) -> {sums}
               %g = stablehlo.broadcast_in_dim %z, dims = [{kept}] : ({sums}) -> ALL
               {last} : ALL
               return %r : ALL
             }}"
        );
        let argument =
            if first.contains("HALF") { all.replace("f32", "bf16") } else { all.clone() };
        let text = text.replace("ARGUMENT", &argument).replace("HALF", &argument);
        let graph = graph_of(&text.replace("ALL", &all), Passes::ALL);
        ChipProgram::of(&graph).differences.map(|stored| stored.bytes)
    }

    #[test]
    fn differences_of_short_rows_are_stored_before_logarithms() {
        let (same, log) = ("%l = stablehlo.negate %x : ALL", "%r = stablehlo.subtract %s, %g");
        let bytes = Some(MIN_SHRUNK_BYTES);
        let rows = |columns: usize| [MIN_SHRUNK_BYTES / 4 / 8 / columns, columns];
        assert_eq!(stored("8x", rows(512), same, log), bytes);
        assert_eq!(stored("8x", rows(8192), same, log), bytes);
        assert_eq!(stored("2x4x", rows(512), same, log), bytes, "more axes");
        assert_eq!(stored("8x", rows(16_384), same, log), None, "long rows");
        let [half, columns] = rows(512);
        assert_eq!(stored("", [8 * half, columns], same, log), None, "a matrix");
        assert_eq!(stored("8x1x", [half, columns], same, log), None, "an axis of one");
        assert_eq!(
            stored("1x", [8 * half, columns], same, log),
            None,
            "a matrix with one more axis"
        );
        assert_eq!(stored("8x", [half - 1, columns], same, log), None, "few");
        let softmax = "%r = stablehlo.divide %e, %g";
        assert_eq!(stored("8x", rows(4096), same, softmax), None, "softmax");
        assert_eq!(stored("8x", rows(8192), same, softmax), bytes, "softmax of longer rows");
        let read = "%q = stablehlo.divide %e, %g : ALL\n%r = stablehlo.multiply %q, %x";
        assert_eq!(stored("8x", rows(4096), same, read), bytes, "softmax that is no result");
        // What others ask of the greatest keeps it from being found in the same loop.
        let asked = format!("{same}\n%asked = stablehlo.constant dense<0.0> : tensor<f32>");
        assert_eq!(stored("8x", rows(512), &asked, log), None, "logsumexp");
        let convert = "%l = stablehlo.convert %x : (HALF) -> ALL";
        assert_eq!(stored("8x", rows(512), convert, log), None, "of 16 bits");
        let more = "%h = stablehlo.convert %x : (HALF) -> ALL\n%l = stablehlo.tanh %h : ALL";
        assert_eq!(stored("8x", rows(512), more, log), bytes, "a function of 16 bits");
    }
}
