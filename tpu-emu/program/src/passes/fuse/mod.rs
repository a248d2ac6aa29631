//! Runs of elementwise nodes become one loop over tiles. What is not elementwise stays a step of
//! its own; what nobody needs disappears.
pub(crate) mod concat;
mod concat_operands;
mod gather_operands;
mod loop_builder;
pub(crate) mod loop_fusion;
pub(crate) mod operand_access;
pub(crate) mod row_fusion;
pub(crate) mod row_step;

use super::scalar_loops::ScalarProgram;
use crate::graph::ValueId;
use concat::ConcatView;
use operand_access::AddressMode;
use row_step::RowFusion;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::movement::strided_view::AccessMap;
use tpu_kernels::vm::CompiledLoop;
use tpu_ops::Kernel;
use tpu_stablehlo::ir::LocationId;

/// How a loop reads one of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoopInput {
    /// Element `i` of the operand for element `i` of the result.
    Dense(usize),
    /// Elements of the operand in another order.
    Strided(usize, AccessMap),
    /// Counts along an axis: elements an index, indices.
    Iota(usize, usize),
    /// Operands side by side.
    Concat(ConcatView),
    /// An operand of so many elements, in which each element looks one up.
    Table(usize, usize),
}

/// One loop over `elements` elements.
#[derive(Debug, Clone)]
pub(crate) struct FusedLoop {
    pub(crate) elements: usize,
    /// One a parameter of the program.
    pub(crate) inputs: Vec<LoopInput>,
    /// How the elements of each parameter are got at.
    pub(crate) modes: Vec<AddressMode>,
    /// Where in the scratch memory each parameter has the elements that are gathered for it.
    pub(crate) scratch_offsets: Vec<usize>,
    /// Bytes of that memory.
    pub(crate) scratch_bytes: usize,
    pub(crate) code: CompiledLoop,
}

/// The elements of an operand in another order.
#[derive(Debug)]
pub(crate) struct StridedCopy {
    pub(crate) elements: usize,
    pub(crate) dtype: DType,
    pub(crate) map: AccessMap,
}

/// What a step does.
#[derive(Debug, Clone)]
pub(crate) enum StepKind {
    Fused(Arc<FusedLoop>),
    Copy(Arc<StridedCopy>),
    Rows(Arc<RowFusion>),
    Kernel(Arc<dyn Kernel>),
    While {
        condition: StepBlock,
        body: StepBlock,
        /// Both as one piece of machine code, where they can be that.
        scalar: Option<Arc<ScalarProgram>>,
    },
    Branch(Vec<StepBlock>),
}

/// A step, before it is known where its values lie.
#[derive(Debug, Clone)]
pub(crate) struct FusedStep {
    pub(crate) kind: StepKind,
    pub(crate) operands: Vec<ValueId>,
    pub(crate) results: Vec<ValueId>,
    pub(crate) name: Arc<str>,
    pub(crate) location: LocationId,
}

impl StepKind {
    /// The blocks inside of control flow, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &StepBlock> {
        let (pair, branches) = match self {
            Self::While { condition, body, .. } => ([Some(condition), Some(body)], &[][..]),
            Self::Branch(branches) => ([None; 2], &branches[..]),
            Self::Fused(_) | Self::Copy(_) | Self::Rows(_) | Self::Kernel(_) => {
                ([None; 2], &[][..])
            }
        };
        pair.into_iter().flatten().chain(branches)
    }

    /// Whether a result may lie where an operand lies that has the same size and that nobody
    /// needs afterwards.
    pub(crate) fn takes_over(&self, operand: usize, result: usize) -> bool {
        match self {
            Self::Fused(fused) => fused.reads_densely(operand),
            Self::Rows(rows) => rows.takes_over(operand, result),
            Self::Kernel(kernel) => kernel.starts_from(result) == Some(operand),
            Self::Copy(_) | Self::While { .. } | Self::Branch(_) => false,
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
