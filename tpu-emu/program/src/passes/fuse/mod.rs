//! Runs of elementwise nodes become one loop over tiles. What is not elementwise stays a step of
//! its own; what nobody needs disappears.
pub(crate) mod concat;
mod concat_operands;
mod gather_operands;
mod loop_builder;
mod loop_fusion;
pub(crate) mod operand_access;
mod row_fusion;
pub(crate) mod row_step;

use super::loop_invariants::simplify;
use super::options::Tactics;
use crate::graph::{Graph, NodeKind, Subgraph, ValueId};
use concat::Pieces;
use loop_fusion::Fuser;
use operand_access::AddressMode;
use row_step::RowFusion;
use std::sync::Arc;
use tpu_kernels::elementwise::vm::CompiledLoop;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_ops::Kernel;
use tpu_stablehlo::ir::LocationId;

/// How a loop reads one of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoopInput {
    /// Element `i` of the operand for element `i` of the result.
    Dense(usize),
    /// Elements of the operand in another order.
    Map(usize, AccessMap),
    /// Counts along an axis: elements an index, indices.
    Iota(usize, usize),
    /// Operands side by side.
    Pieces(Pieces),
    /// An operand of so many elements, in which each lane looks up its own.
    All(usize, usize),
}

/// One loop over `elements` elements.
#[derive(Debug, Clone)]
pub(crate) struct FusedLoop {
    pub(crate) elements: usize,
    /// One a parameter of the program.
    pub(crate) loads: Vec<LoopInput>,
    /// How the elements of each parameter are got at.
    pub(crate) ways: Vec<AddressMode>,
    /// Where in the memory beside the loop each parameter has what is filled.
    pub(crate) aside: Vec<usize>,
    /// Bytes of that memory.
    pub(crate) room: usize,
    pub(crate) code: CompiledLoop,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(crate) enum StepKind {
    Fused(Arc<FusedLoop>),
    Rows(Arc<RowFusion>),
    Kernel(Arc<dyn Kernel>),
    While(StepBlock, StepBlock),
    Branch(Vec<StepBlock>),
}

/// A step, before it is known where its values lie.
#[derive(Debug, Clone)]
pub(crate) struct FusedStep {
    pub(crate) work: StepKind,
    pub(crate) operands: Vec<ValueId>,
    pub(crate) results: Vec<ValueId>,
    pub(crate) name: Arc<str>,
    pub(crate) location: LocationId,
}

impl StepKind {
    /// Whether a result may lie where an operand lies that has the same size and that nobody
    /// needs afterwards.
    pub(crate) fn takes_over(&self, operand: usize, result: usize) -> bool {
        match self {
            Self::Fused(fused) => fused.reads_densely(operand),
            Self::Rows(rows) => rows.takes_over(operand, result),
            Self::Kernel(kernel) => kernel.starts_from(result) == Some(operand),
            Self::While(..) | Self::Branch(_) => false,
        }
    }
}

/// A block of steps.
#[derive(Debug, Clone, Default)]
pub struct StepBlock {
    pub(crate) parameters: Vec<ValueId>,
    pub(crate) steps: Vec<FusedStep>,
    pub(crate) results: Vec<ValueId>,
}

/// Fuses a program. Constants that steps read get a `known` value in the graph.
pub fn fuse(graph: &mut Graph, tactics: Tactics) -> StepBlock {
    if tactics.fuse {
        simplify(graph);
    }
    let mut main = std::mem::take(&mut graph.main);
    prune(&mut main);
    let code = Fuser::new(graph, tactics).block(&main);
    if tactics.fuse { row_fusion::group(graph, code) } else { code }
}

/// Removes nodes whose results nobody reads and that do nothing else.
fn prune(block: &mut Subgraph) -> std::collections::HashSet<ValueId> {
    let mut used: std::collections::HashSet<ValueId> = block.results.iter().copied().collect();
    let mut kept = Vec::new();
    for mut node in std::mem::take(&mut block.nodes).into_iter().rev() {
        if !node.effect && !node.results.iter().any(|result| used.contains(result)) {
            continue;
        }
        used.extend(node.operands.iter().copied());
        match &mut node.work {
            NodeKind::While(condition, body) => {
                for block in [condition, body] {
                    used.extend(prune(Arc::make_mut(block)));
                }
            }
            NodeKind::Branch(blocks) => {
                for block in blocks {
                    used.extend(prune(block));
                }
            }
            _ => {}
        }
        kept.push(node);
    }
    kept.reverse();
    block.nodes = kept;
    used
}
