//! Nodes whose operands are known are run at compile time.
use crate::graph::{BodyMaker, Graph, Node, NodeKind, Subgraph, ValueId};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::aligned::Aligned;
use tpu_ops::{CONSTANT, Numerics};
use tpu_stablehlo::ir::LocationId;

/// The bytes of a node's results, with the bits that a run under `numerics` would give: the node
/// is planned and run as a program of its own. `None` for what no program can know.
///
/// # Errors
/// Those of the node.
pub(crate) fn fold(
    kind: &NodeKind,
    operands: &[Arc<[u8]>],
    shapes: &[Shape],
    results: &[Shape],
    making: (Numerics, BodyMaker),
) -> Result<Option<Vec<Arc<[u8]>>>> {
    fold_rows((kind, 1), operands, shapes, results, making)
}

/// The bytes of a node's results, over so many rows of each operand that lie one after the other.
///
/// # Errors
/// Those of the node.
pub(crate) fn fold_rows(
    (kind, count): (&NodeKind, usize),
    operands: &[Arc<[u8]>],
    shapes: &[Shape],
    results: &[Shape],
    (numerics, make_body): (Numerics, BodyMaker),
) -> Result<Option<Vec<Arc<[u8]>>>> {
    match kind {
        // They have their bytes, and a program has many of them.
        NodeKind::Constant(bytes) if count == 1 => return Ok(Some(vec![Arc::clone(bytes)])),
        NodeKind::Splat(element) => {
            return Ok(Some(vec![element.repeat(results[0].elements() * count).into()]));
        }
        NodeKind::Constant(_) | NodeKind::While(..) | NodeKind::Branch(_) | NodeKind::Each(_) => {
            return Ok(None);
        }
        NodeKind::Kernel(kernel) if kernel.channel().is_some() => return Ok(None),
        NodeKind::Elementwise(_)
        | NodeKind::Access(_)
        | NodeKind::Iota(_)
        | NodeKind::Kernel(_) => {}
    }
    let mut graph = Graph { numerics, ..Graph::default() };
    let mut add = |shape: &Shape| graph.add(shape.clone());
    let parameters: Vec<ValueId> = shapes.iter().map(&mut add).collect();
    let made: Vec<ValueId> = results.iter().map(&mut add).collect();
    let node = Node {
        work: kind.clone(),
        operands: parameters.clone(),
        shapes: shapes.to_vec(),
        results: made.clone(),
        name: CONSTANT.mnemonic.into(),
        location: LocationId::UNKNOWN,
        effect: false,
    };
    graph.main = Subgraph { parameters, nodes: vec![node], results: made };
    let program = make_body(graph, shapes.to_vec(), results.to_vec())?;
    let _mode = numerics.subnormals().enter();
    let inputs: Vec<&[u8]> = operands.iter().map(|bytes| &**bytes).collect();
    let mut outputs: Vec<Aligned> =
        results.iter().map(|shape| Aligned::zeros(shape.bytes() * count)).collect();
    let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(Aligned::bytes_mut).collect();
    program.apply(count, &inputs, &mut slices)?;
    Ok(Some(outputs.iter().map(|output| output.bytes().into()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Passes;
    use crate::differential::{graph_of, results};

    #[test]
    fn every_kind_of_node_over_known_values_is_known_and_has_the_bits_of_a_run() {
        let text = "func.func public @main() -> (tensor<4xi32>, tensor<4xi32>, tensor<4xf32>) {
            %a = stablehlo.constant dense<[3, -1, 4, 7]> : tensor<4xi32>
            %b = stablehlo.constant dense<[9, 8]> : tensor<2xi32>
            %one = stablehlo.constant dense<1> : tensor<i32>
            %i = stablehlo.iota dim = 0 : tensor<4xi32>
            %r = stablehlo.reverse %a, dims = [0] : tensor<4xi32>
            %s = stablehlo.add %r, %i : tensor<4xi32>
            %u = stablehlo.dynamic_update_slice %s, %b, %one :
                (tensor<4xi32>, tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
            %t = stablehlo.convert %u : (tensor<4xi32>) -> tensor<4xf32>
            return %s, %u, %t : tensor<4xi32>, tensor<4xi32>, tensor<4xf32>
          }";
        let graph = graph_of(text, Passes::ALL);
        let kinds = graph.main.nodes.iter().map(|node| &node.work);
        assert!(kinds.clone().all(|kind| matches!(kind, NodeKind::Constant(_))), "{graph:?}");
        let found: Vec<Vec<u8>> = graph
            .main
            .results
            .iter()
            .map(|&id| graph.value(id).known.as_deref().unwrap().to_vec())
            .collect();
        let bytes = |numbers: [i32; 4]| numbers.map(i32::to_le_bytes).concat();
        let floats = [7.0_f32, 9.0, 8.0, 6.0].map(f32::to_le_bytes).concat();
        assert_eq!(found, [bytes([7, 5, 1, 6]), bytes([7, 9, 8, 6]), floats]);
        let ran = results(text, &[], Passes { constant_folding: false, ..Passes::ALL });
        assert_eq!(found, ran);
        let unfolded = graph_of(text, Passes::NONE).main.nodes;
        assert!(unfolded.iter().any(|node| matches!(node.work, NodeKind::Kernel(_))));
    }
}
