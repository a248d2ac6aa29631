//! Fusion makes a program's steps: runs of elementwise nodes become one loop over tiles. What is
//! not elementwise stays a step of its own; what nobody needs disappears.
//!
//! Loop fusion (`loop_fusion`) takes the nodes in order:
//!
//! | node | what becomes of it |
//! |---|---|
//! | elementwise, all operands one known element | that element; no operation is left |
//! | elementwise | joins the open loops that make its operands, or opens one |
//! | transpose, broadcast, slice, reversal | a view; views of views are one where they can be |
//! | slice of what a loop converts to wider elements | a loop over the narrow ones (`widened`) |
//! | iota, splat | made where it is read |
//! | gather of single elements | a look-up in the loop of its indices (`gather_operands`) |
//! | concatenate of long operands | read in place by each loop (`concat_operands`, `concat`) |
//! | any other kernel, loop or branch | a step; what it reads must be in memory before |
//!
//! * Loops are joined if they have equally many elements, up to `MAX_FUSED_STEPS` operations and
//!   `MAX_FUSED_LOADS` inputs, or `MAX_MIXED_STEPS` where some elements have 64 bits. A loop is
//!   closed once something else needs one of its values, and has no operation twice.
//! * A view that swaps axes is copied before it is read, by blocks, from
//!   `MIN_BLOCKED_TRANSPOSE_ELEMENTS` on. A loop that only reorders becomes a strided copy.
//! * A gather is fused where each slice is one element and the result has
//!   `MIN_FUSED_GATHER_ELEMENTS` or more, by up to `MAX_GATHER_COMPONENTS` components and loops. A
//!   look-up's numbers have 32 bits, so larger tables keep the gather. JAX surrounds indices with
//!   comparisons and choices, so one loop replaces four passes over memory (docs/decisions/0026).
//! * A concatenate is fused from `MIN_FUSED_CONCAT_ELEMENTS` on, with up to `MAX_CONCAT_OPERANDS`
//!   operands of `MIN_CONCAT_OPERAND_ELEMENTS` in a row, in the mean. Other readers get the kernel.
//!   Loops that make its operands and gather the same elements for them are one loop.
//! * A slice of widened elements is a loop from `MIN_WIDENED_PART_ELEMENTS` on.
//!
//! `operand_access` then says how a loop reads each input, by the first that fits:
//!
//! 1. In place: elements side by side, a whole table, concatenated operands, one element for all.
//! 2. In place, or one element, a span at a time. Spans have `MIN_SPAN_ELEMENTS` at least, or a
//!    tile where not all of the loop is machine code.
//! 3. A short period, gathered once a chunk, of up to `MAX_KEPT_PERIOD_ELEMENTS`.
//! 4. Gathered for each span.
//!
//! Row fusion (`row_fusion`) joins steps over the same rows: loops, strided copies, reductions and
//! gathers (`row_step`). A block of rows goes through all stages while it is in the cache. It takes
//! up to `MAX_ROW_FUSION_STEPS` steps with up to `MAX_ROW_BYTES` a row; what members read of one
//! another must keep to its row. A reduction alone is cut into rows from
//! `MIN_SHARED_REDUCTION_BYTES` on. Threads take `ROW_CHUNK_ELEMENTS`. Blocks have
//! `ROW_BLOCK_BYTES`, or `COLUMN_BLOCK_BYTES` where rows are columns of another value.
//!
//! What holds for all: a fused operation has the bits of the operation alone. What is looked up in,
//! or concatenated, is made before the loop, and no result takes its memory. Constants stand in
//! `tpu-program`'s `tuning.rs`.
pub(crate) mod concat;
mod concat_operands;
mod fusion_candidate;
mod gather_operands;
mod loop_builder;
pub(crate) mod loop_fusion;
pub(crate) mod operand_access;
pub(crate) mod row_fusion;
pub(crate) mod row_step;
pub(crate) mod scalar_program;
mod widened;

use crate::graph::ValueId;
use concat::ConcatView;
use operand_access::AddressMode;
use row_step::RowFusion;
use scalar_program::ScalarProgram;
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

impl LoopInput {
    /// The operand that has an element of it; `None` for what is counted.
    pub(crate) fn operand_with(&self, element: usize) -> Option<usize> {
        match self {
            Self::Dense(operand) | Self::Strided(operand, _) | Self::Table(operand, _) => {
                Some(*operand)
            }
            Self::Concat(view) => Some(view.at(element).0),
            Self::Iota(..) => None,
        }
    }
}

/// One loop over `elements` elements.
#[derive(Debug, Clone)]
pub(crate) struct FusedLoop {
    pub(crate) elements: usize,
    /// One a parameter of the program.
    pub(crate) inputs: Vec<LoopInput>,
    /// How the elements of each parameter are got at.
    pub(crate) modes: Vec<AddressMode>,
    /// Inputs that are gathered together: the columns, in order, of an operand of short rows.
    pub(crate) columns: Vec<Vec<usize>>,
    /// Where in the scratch memory each parameter has the elements that are gathered for it.
    pub(crate) scratch_offsets: Vec<usize>,
    /// Bytes of that memory.
    pub(crate) scratch_bytes: usize,
    /// Whether all of it can be machine code.
    pub(crate) native: bool,
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
    Each(Box<EachStep>),
}

/// A block that runs several times, over other rows of the step's operands and results.
#[derive(Debug, Clone)]
pub(crate) struct EachStep {
    pub(crate) body: StepBlock,
    /// The rows of the step's results that a run makes, as values of their own.
    pub(crate) made: Vec<ValueId>,
    pub(crate) runs: usize,
    /// The row of each operand that each run reads.
    pub(crate) rows: Vec<Arc<[usize]>>,
    /// The device of each run, where that matters.
    pub(crate) devices: Arc<[usize]>,
}

impl EachStep {
    /// Whether each run reads the row of an operand that has its own number.
    pub(crate) fn reads_in_order(&self, operand: usize) -> bool {
        self.rows[operand].iter().enumerate().all(|(run, &row)| run == row)
    }
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
            Self::Each(each) => ([Some(&each.body), None], &[][..]),
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
            Self::Each(each) => each.reads_in_order(operand),
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
