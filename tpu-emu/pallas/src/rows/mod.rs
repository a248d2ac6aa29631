//! What the operations of a piece are in StableHLO: a row each.
mod arith;
mod bits;
mod lanes;
pub(crate) mod lookup;
mod math;
mod matmul;
mod reduce;
mod shape;

use crate::lower::code::{Code, Refused};
use tpu_mosaic::ir::{Attribute, CoreType, Element, Op, Operation};
use tpu_stablehlo::ir::Value;

/// An operation as its row sees it.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    /// Where the code goes.
    pub(crate) code: &'a mut Code,
    /// The operation.
    pub(crate) operation: &'a Operation,
    /// The operands, scalars among them as arrays without dimensions.
    pub(crate) operands: Vec<Value>,
    /// What is known of each operand when the kernel is compiled.
    pub(crate) known: Vec<Known>,
    /// Type and extents of its result.
    pub(crate) element: Element,
    /// Extents of its result.
    pub(crate) dims: Vec<i64>,
    /// Type and extents of each of its results.
    pub(crate) results: Vec<(Element, Vec<i64>)>,
    /// Where the kernel runs.
    pub(crate) core: CoreType,
}

/// What is known of an operand when the kernel is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing.
    No,
    /// A scalar integer.
    Integer(i64),
    /// The bits of an element that repeats.
    Splat(u64),
}

/// Writes the code of an operation; gives its result.
pub(crate) type Row = fn(&mut Site<'_>) -> Refused<Value>;

/// Writes the code of an operation with several results.
pub(crate) type Several = fn(&mut Site<'_>) -> Refused<Vec<Value>>;

impl Site<'_> {
    /// Operand number `index`.
    pub(crate) fn operand(&self, index: usize) -> Refused<Value> {
        let missing = || format!("{} has no operand {index}", self.operation.op.row().name);
        self.operands.get(index).copied().ok_or_else(missing)
    }

    /// An attribute that is an integer.
    pub(crate) fn integer(&self, name: &str) -> Refused<i64> {
        self.operation.integer(name).ok_or_else(|| self.without(name))
    }

    /// An attribute that is an axis of extents.
    pub(crate) fn axis(&self, name: &str, dims: &[i64]) -> Refused<usize> {
        let axis = self.integer(name)?;
        usize::try_from(axis).ok().filter(|&axis| axis < dims.len()).ok_or_else(|| {
            format!("{}: {name} is {axis} of {dims:?}", self.operation.op.row().name)
        })
    }

    /// An attribute that is a list of distinct axes of extents.
    pub(crate) fn axes(&self, name: &str, dims: &[i64]) -> Refused<Vec<usize>> {
        let listed = self.integers(name)?;
        let mut axes: Vec<usize> = Vec::with_capacity(listed.len());
        for &axis in &listed {
            let found = usize::try_from(axis).ok().filter(|axis| *axis < dims.len());
            match found.filter(|axis| !axes.contains(axis)) {
                Some(axis) => axes.push(axis),
                None => {
                    let of = self.operation.op.row().name;
                    return Err(format!("{of}: {name} is {listed:?} of {dims:?}"));
                }
            }
        }
        Ok(axes)
    }

    /// An attribute that is a list of integers.
    pub(crate) fn integers(&self, name: &str) -> Refused<Vec<i64>> {
        self.operation.integers(name).ok_or_else(|| self.without(name))
    }

    /// An attribute.
    pub(crate) fn attribute(&self, name: &str) -> Refused<&Attribute> {
        self.operation.attributes.get(name).ok_or_else(|| self.without(name))
    }

    /// Refuses the operation in words.
    pub(crate) fn refused<T>(&self, what: impl std::fmt::Display) -> Refused<T> {
        Err(format!("{}: {what}", self.operation.op.row().name))
    }

    fn without(&self, name: &str) -> String {
        format!("{} without {name}", self.operation.op.row().name)
    }
}

/// The row of an operation; `None` for what is no part of a piece.
pub(crate) fn row(op: Op) -> Option<Row> {
    arith::row(op)
        .or_else(|| math::row(op))
        .or_else(|| shape::row(op))
        .or_else(|| reduce::row(op))
        .or_else(|| lookup::row(op))
        .or_else(|| bits::row(op))
        .or_else(|| matmul::row(op))
        .or_else(|| lanes::row(op))
}

/// The row of an operation with several results.
pub(crate) fn several(op: Op) -> Option<Several> {
    lanes::several(op)
}
