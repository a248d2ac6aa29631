//! Code per device inside of code per device: the participants of the outer code are those of the
//! inner one from the beginning, and have the same until the inner code parts them.
use super::Rows;
use crate::graph::{Subgraph, ValueId};
use crate::grid::Grid;
use crate::import::Loader;
use crate::import::control::region;
use crate::import::one_block;
use crate::import::scope::{Binding, Scope};
use crate::sharding::Sharding;
use crate::spmd::manual::{is_manual, shardings};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_ops::callee;
use tpu_stablehlo::ir::{AxisRef, Operation, Region, Type};

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

    /// Whether there is code per device inside of code.
    pub(super) fn has_code_per_device(&self, region: &'m Region) -> bool {
        let mut axes = Vec::new();
        self.axes_inside(region, &mut axes, &mut HashSet::new());
        !axes.is_empty()
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
        let counts = |axis: &str| axes.iter().any(|known| **known == *axis);
        let ins = shardings(operation, "in_shardings", operation.operands.len())?;
        let outs = shardings(operation, "out_shardings", operation.results.len())?;
        let source = one_block(region(operation, 0)?, &operation.name)?;
        if source.arguments.len() != operation.operands.len() {
            return Err(Error::bad("operands and parameters"));
        }
        let count = self.devices.count;
        for ((&operand, &parameter), stated) in
            operation.operands.iter().zip(&source.arguments).zip(ins)
        {
            let (value, shape) = scope.binding(operand)?.array()?;
            let shape = shape.clone();
            let binding = if matches!(scope.type_of(operand)?, Type::Token) {
                Binding::Array(value, shape)
            } else {
                let sharding = Sharding::of(stated, self.module, (shape.rank(), count), &counts)?;
                self.split_in_rows(rows, operation, (value, &shape), &sharding, into)?
            };
            binding.check(scope.type_of(parameter)?)?;
            scope.bind(parameter, binding)?;
        }
        let grid = self.grid_with((ins, outs), axes)?;
        let outer = Arc::clone(&rows.apart);
        rows.apart = parted(rows, &grid, axes)?;
        let numbers = self.device_numbers(rows, operation, into)?;
        let number = self.own_number.replace(numbers);
        let results = self.block_of_rows(rows, scope, source, into);
        self.own_number = number;
        rows.apart = outer;
        let results = results?;
        if results.len() != outs.len() {
            return Err(Error::bad("results and values"));
        }
        for ((made, stated), &result) in results.iter().zip(outs).zip(&operation.results) {
            let (value, shape) = made.array()?;
            let given = (value, shape.clone());
            let whole = if matches!(scope.type_of(result)?, Type::Token) {
                Binding::Array(given.0, given.1)
            } else {
                let sharding = Sharding::of(stated, self.module, (given.1.rank(), count), &counts)?;
                self.joined_in_rows(rows, operation, given, &sharding, into)?
            };
            whole.check(scope.type_of(result)?)?;
            scope.bind(result, whole)?;
        }
        Ok(())
    }

    /// The wholes from rows that are shards of them, for each participant of the code around.
    fn joined_in_rows(
        &mut self,
        rows: &mut Rows,
        operation: &'m Operation,
        (value, row): (ValueId, Shape),
        sharding: &Sharding,
        into: &mut Subgraph,
    ) -> Result<Binding> {
        if sharding.partial_sums > 1 {
            return Err(Error::Unimplemented("partial sums as rows".to_owned()));
        }
        let (_, of) = self.array_of(rows, value, into)?;
        let parts: usize = sharding.shards.iter().product();
        let groups = rows.apart.iter().max().map_or(0, |most| most + 1);
        let mut owners = vec![vec![None; parts]; groups];
        for (participant, (&group, &device)) in rows.apart.iter().zip(&rows.group.ids).enumerate() {
            let owner = owners[group][sharding.part(device)].get_or_insert(participant);
            if of[*owner] != of[participant] {
                let what = "devices with other copies of one array";
                return Err(Error::Unimplemented(what.to_owned()));
            }
        }
        if parts == 1 {
            return Ok(Binding::Array(value, row));
        }
        // Participants around whose parts are the same have the same whole.
        let (mut taken, mut number_of) = (Vec::new(), Vec::new());
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        for owners in owners {
            let holes = || Error::bad(format!("{} gives a result with holes", operation.name));
            let owners = owners.into_iter().collect::<Option<Vec<usize>>>().ok_or_else(holes)?;
            let next = known.len();
            let key = owners.iter().map(|&owner| of[owner]).collect();
            let number = *known.entry(key).or_insert(next);
            if number == next {
                taken.extend(owners);
            }
            number_of.push(number);
        }
        let whole = joined_shape(operation, &row, sharding)?;
        let array = self.array_for(rows, value, &taken, into)?;
        let (parts, result, by) = interleaved(&row, sharding, known.len());
        let array = self.moved(operation, (array, &parts), by, &result, into)?;
        let of: Vec<usize> = rows.apart.iter().map(|&group| number_of[group]).collect();
        let id = self.rows_in(rows, array, (&whole, &of), into)?;
        Ok(Binding::Array(id, whole))
    }
}

/// Participants of the code at hand, parted along more axes.
fn parted(rows: &Rows, grid: &Grid<'_>, axes: &[Arc<str>]) -> Result<Arc<[usize]>> {
    let mut known: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
    let mut apart = Vec::with_capacity(rows.apart.len());
    for (&outer, &device) in rows.apart.iter().zip(&rows.group.ids) {
        let along = |name: &Arc<str>| {
            let axis = AxisRef { name: Arc::clone(name), part: None };
            Ok(grid.along(device, &axis)?.0)
        };
        let key = (outer, axes.iter().map(along).collect::<Result<_>>()?);
        let next = known.len();
        apart.push(*known.entry(key).or_insert(next));
    }
    Ok(apart.into())
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
