//! Code per device inside of code per device: the participants of the outer code are those of the
//! inner one from the beginning, and have the same until the inner code parts them.
use super::Rows;
use crate::graph::Subgraph;
use crate::grid::Grid;
use crate::import::Loader;
use crate::import::control::region;
use crate::import::one_block;
use crate::import::scope::Scope;
use crate::sharding::Sharding;
use crate::spmd::manual::{is_manual, shardings};
use std::collections::HashSet;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::callee;
use tpu_stablehlo::ir::{AxisRef, Operation, Region};

impl<'m> Loader<'m> {
    /// The axes that an operation with code per device is written for, with those of such operations
    /// inside of it.
    pub(crate) fn all_manual_axes(&self, operation: &'m Operation) -> Vec<Arc<str>> {
        let mut axes = operation.attributes.manual_axes().to_vec();
        if let Ok(region) = region(operation, 0) {
            self.axes_inside(region, &mut axes, &mut HashSet::new());
        }
        axes
    }

    fn axes_inside(
        &self,
        region: &'m Region,
        axes: &mut Vec<Arc<str>>,
        seen: &mut HashSet<&'m str>,
    ) {
        for inner in region.blocks.iter().flat_map(|block| &block.operations) {
            if is_manual(inner) {
                for axis in inner.attributes.manual_axes() {
                    if !axes.contains(axis) {
                        axes.push(Arc::clone(axis));
                    }
                }
            }
            let callee = callee(inner).filter(|name| seen.insert(name));
            let callee = callee.and_then(|name| self.module.function(name));
            let callee = callee.map(|callee| &callee.body);
            for region in inner.regions.iter().chain(callee) {
                self.axes_inside(region, axes, seen);
            }
        }
    }

    /// `sdy.manual_computation` inside of such code.
    pub(super) fn nested_region_of_rows(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let axes = operation.attributes.manual_axes();
        let ins = shardings(operation, "in_shardings", operation.operands.len())?;
        let outs = shardings(operation, "out_shardings", operation.results.len())?;
        let source = one_block(region(operation, 0)?, &operation.name)?;
        self.parts_for(rows, scope, operation, into)?;
        let grid = self.grid_with((ins, outs), axes)?;
        let around = rows.apart;
        let places = rows.group.ids.iter().map(|&device| places(&grid, axes, device));
        let places = rows.maps.by(places.collect::<Result<Vec<_>>>()?.into_iter());
        rows.apart = rows.maps.joined(around, places);
        let numbers = self.device_numbers(rows, operation, into)?;
        let number = self.own_number.replace(numbers);
        let results = self.block_of_rows(rows, scope, source, into);
        self.own_number = number;
        rows.apart = around;
        self.wholes_of(rows, scope, (operation, around), &results?, into)
    }
}

/// Where a device stands along axes of the mesh.
fn places(grid: &Grid<'_>, axes: &[Arc<str>], device: usize) -> Result<Vec<usize>> {
    let along = |name: &Arc<str>| {
        let axis = AxisRef { name: Arc::clone(name), part: None };
        Ok(grid.along(device, &axis)?.0)
    };
    axes.iter().map(along).collect()
}

/// The shape of the whole that rows are shards of.
pub(super) fn joined_shape(
    operation: &Operation,
    row: &Shape,
    sharding: &Sharding,
) -> Result<Shape> {
    let past = || Error::bad(format!("{} gives a result past 2^63 bytes", operation.name));
    let grown = row.dims.iter().zip(&sharding.shards).map(|(dim, shards)| dim.checked_mul(*shards));
    let whole = Shape::new(row.dtype, grown.collect::<Option<Vec<_>>>().ok_or_else(past)?);
    let bytes = whole.dims.iter().try_fold(whole.dtype.host_bytes(), |all, &dim| {
        all.checked_mul(dim.max(1)).filter(|&all| isize::try_from(all).is_ok())
    });
    bytes.map(|_| whole).ok_or_else(past)
}

/// How shards of `count` wholes, which follow one another, become these: the extents of an array with
/// an axis for each axis that is split, those of the result, and its steps in the array.
pub(super) fn interleaved(
    row: &Shape,
    sharding: &Sharding,
    count: usize,
) -> (Shape, Shape, Vec<usize>) {
    let split: Vec<usize> = (0..row.rank()).filter(|&axis| sharding.shards[axis] > 1).collect();
    let mut dims = vec![count];
    dims.extend(split.iter().map(|&axis| sharding.shards[axis]));
    dims.extend(&row.dims);
    let parts = Shape::new(row.dtype, dims);
    let strides = parts.strides();
    let (mut dims, mut by) = (vec![count], vec![strides[0]]);
    for axis in 0..row.rank() {
        if let Some(at) = split.iter().position(|&one| one == axis) {
            dims.push(sharding.shards[axis]);
            by.push(strides[1 + at]);
        }
        dims.push(row.dims[axis]);
        by.push(strides[1 + split.len() + axis]);
    }
    (parts, Shape::new(row.dtype, dims), by)
}
