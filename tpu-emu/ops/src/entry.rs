//! A row of the table of operations: how one is checked and compiled, and what those who look at
//! whole programs have to know of it.
use super::factors::{self, FactorsOf};
use super::{Lowered, Numerics, Site};
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_stablehlo::ir::Attributes;

/// A row of the table of operations.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The operation's name without its dialect, or a custom call's target.
    pub mnemonic: &'static str,
    /// Checks the operands and attributes and tells the results' shapes.
    pub infer: fn(&Site<'_>) -> Result<Vec<Shape>>,
    /// Compiles the operation; shapes are checked before.
    pub lower: fn(&Site<'_>) -> Result<Lowered>,
    /// How it hands shardings from operands to results, and back.
    pub sharding: ShardingRule,
    /// Which of its axes belong together, so that devices can do it piece by piece.
    pub factors: FactorsOf,
    /// How results of free layout lie.
    pub layout: LayoutRule,
    /// What of it a chip must store in another layout.
    pub relayout: Relayout,
    /// What it has to do with the device that it runs on.
    pub devices: DeviceDependence,
    /// What is done with it before the program runs.
    pub simplification: Simplification,
    /// How many units in the last place a result of single precision is off at most, for
    /// functions that are not exact.
    pub ulps: Option<f64>,
}

impl Entry {
    /// An operation whose results are like its operands: split alike, lying alike, the same on
    /// all devices.
    pub(crate) const fn new(
        mnemonic: &'static str,
        infer: fn(&Site<'_>) -> Result<Vec<Shape>>,
        lower: fn(&Site<'_>) -> Result<Lowered>,
    ) -> Self {
        Self {
            mnemonic,
            infer,
            lower,
            sharding: ShardingRule::Same,
            factors: factors::whole,
            layout: LayoutRule::LikeOperand,
            relayout: Relayout::Nothing,
            devices: DeviceDependence::Alike,
            simplification: Simplification::Folded,
            ulps: None,
        }
    }

    /// An operation on elements at the same place.
    pub(crate) const fn elementwise(
        mnemonic: &'static str,
        infer: fn(&Site<'_>) -> Result<Vec<Shape>>,
        lower: fn(&Site<'_>) -> Result<Lowered>,
    ) -> Self {
        Self { factors: factors::elementwise, ..Self::new(mnemonic, infer, lower) }
    }

    /// The target of a custom call: nobody sees through it.
    pub(crate) const fn target(
        mnemonic: &'static str,
        infer: fn(&Site<'_>) -> Result<Vec<Shape>>,
        lower: fn(&Site<'_>) -> Result<Lowered>,
    ) -> Self {
        Self {
            sharding: ShardingRule::Whole,
            simplification: Simplification::Kept,
            ..Self::new(mnemonic, infer, lower)
        }
    }

    /// The elementwise operation that it is on elements of these types, for code that the
    /// compiler adds to programs itself.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn on_scalars(
        &self,
        attributes: &Attributes,
        operands: &[DType],
        result: DType,
    ) -> Result<ElementwiseOp> {
        let operands: Vec<Shape> = operands.iter().map(|&dtype| Shape::scalar(dtype)).collect();
        let site = Site {
            name: &format!("stablehlo.{}", self.mnemonic),
            attributes,
            operands: &operands,
            known: &vec![None; operands.len()],
            declared: &[],
            results: &[Shape::scalar(result)],
            bodies: &[],
            numerics: Numerics::Ieee,
            partition: 0,
        };
        match (self.lower)(&site)? {
            Lowered::Elementwise(op) => Ok(op),
            other => Err(site.unimplemented(format!("{other:?} for {operands:?}"))),
        }
    }

    /// A function whose results of single precision are off by so many units in the last place
    /// at most.
    pub(crate) const fn within(self, ulps: f64) -> Self {
        Self { ulps: Some(ulps), ..self }
    }
}

/// How an operation hands shardings from its operands to its results, and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardingRule {
    /// Along the axes in which operand and result have the same extent.
    Same,
    /// Along all axes, whatever their extents: the result has pieces of the operand, or the
    /// operand is one.
    Pieces,
    /// Along the axes in the order of `permutation`.
    Permuted,
    /// Along those that `broadcast_dimensions` names.
    Broadcast,
    /// Along all but `dimensions`.
    Reduced,
    /// From the factors of a product along the axes that they keep.
    Contracted,
    /// From what the windows of a convolution, a pool or its gradient lie in, along the axes that they
    /// lie along.
    Windowed,
    /// From a table along the axes that its slices take whole, from the indices along theirs.
    Gathered,
    /// Along the axes that begin in the result where they do in the operand.
    Reshaped,
    /// As the attribute `sharding` states.
    Stated,
    /// As the members of its group, which have its `group_id`.
    Grouped,
    /// As the attribute `mhlo.sharding` states.
    Annotated,
    /// From arrays over all devices to one device's part of them, as older versions of JAX say
    /// it.
    Split,
    /// From one device's part to arrays over all devices, as `mhlo.sharding` states.
    Join,
    /// The operand's: it is in another place.
    Moved,
    /// The operand's, which the program asks for.
    Inspected,
    /// None: every device has all of the results.
    Whole,
}

/// How results of free layout lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutRule {
    /// As the first operand of their shape.
    LikeOperand,
    /// Result `k` as operand `k`.
    LikeOperands,
    /// As the operand, with its axes in the order of `permutation`.
    Permuted,
    /// As `result_layouts` states.
    Stated,
    /// By default: they are made anew.
    Default,
}

/// What of an operation a chip must store in another layout than it was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relayout {
    /// Nothing.
    Nothing,
    /// The elements under other extents.
    Reshaped,
    /// The slices that it takes of a table.
    Gathered,
    /// What it adds to slices, and what these are of.
    Scattered,
    /// The operand of windows over all that lies before.
    Windows,
    /// Both sides of the gradient of a pool.
    Selected,
    /// The operand that is read backwards.
    Reversed,
    /// Rows that are sorted.
    Sorted,
    /// Rows whose first elements in order are taken.
    Ranked,
    /// Images of few features.
    Convolved,
    /// The result of a reduction.
    Reduced,
    /// A piece of an array.
    Cut,
    /// Pieces that are put side by side.
    Joined,
    /// The operand that something is put around, or the result that has room between elements.
    Padded,
    /// An operand of a product that the core reads ahead.
    Multiplied,
    /// Real and imaginary parts of both sides of a transform.
    Transformed,
    /// The matrices whose factors are made.
    Factored,
}

/// What an operation has to do with the device that it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceDependence {
    /// Nothing: devices that give it the same operands get the same results.
    Alike,
    /// It exchanges values with other devices.
    Collective(CollectiveKind),
    /// It is the number of the device's replica.
    ReplicaId,
    /// It is the number of the device's partition.
    PartitionId,
    /// It talks to the client of the launch.
    HostTransfer,
    /// It draws random numbers without a state.
    Random,
}

/// What devices exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveKind {
    /// Everyone gets the values of all, side by side.
    AllGather,
    /// Everyone gets what a computation makes of the values of all.
    AllReduce,
    /// Everyone gets one part of the value of each.
    AllToAll,
    /// Everyone gets the value of the first.
    CollectiveBroadcast,
    /// Everyone gets the value of the one that sends to it.
    CollectivePermute,
    /// Everyone gets the sum of the values of all.
    CrossReplicaSum,
    /// Everyone gets slices of the value of each, as long as the data says.
    RaggedAllToAll,
    /// Everyone gets one part of what a computation makes of the values of all.
    ReduceScatter,
}

/// What is done with an operation before the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Simplification {
    /// It is computed, where operands are known and results small.
    Folded,
    /// It is folded, and XLA moves it behind conversions of booleans, or folds it into them.
    Moved,
    /// Nothing.
    Kept,
}
