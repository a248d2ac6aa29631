//! Whole arrays become rows where code per device begins, and rows become whole arrays where it
//! ends.
use super::Rows;
use super::classes::ClassId;
use super::nested::{interleaved, joined_shape};
use crate::graph::{Subgraph, ValueId};
use crate::import::Loader;
use crate::import::control::region;
use crate::import::scope::{Binding, Scope};
use crate::import::types::declared;
use crate::import::{fits, one_block};
use crate::sharding::Sharding;
use crate::spmd::manual::shardings;
use crate::spmd::participants::ManualGroup;
use crate::spmd::replicas::of_parameters;
use crate::spmd::rows::segments::in_rows;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::{Function, Operation, Type};

impl<'m> Loader<'m> {
    /// `sdy.manual_computation` with one body for all devices. Whether that could be done; if
    /// not, nothing has happened.
    pub(crate) fn manual_in_rows(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        (group, apart): (&Arc<ManualGroup>, &[usize]),
        into: &mut Subgraph,
    ) -> bool {
        let fits = region(operation, 0).is_ok_and(|region| self.fits_rows(region));
        if !fits || self.reads_copies(scope, operation) {
            return false;
        }
        let (mark, nodes) = (self.mark(), into.nodes.len());
        let mut inner = scope.clone();
        let before = std::mem::replace(&mut self.partition_context, true);
        let done = self.region_of_rows(&mut inner, operation, (group, apart), into);
        self.partition_context = before;
        self.own_number = None;
        if done.is_ok() && self.no_reasons_since(&mark) {
            *scope = inner;
            return true;
        }
        // Emitting it for each device gives the reasons, or can do it.
        into.nodes.truncate(nodes);
        self.back_to(&mark);
        false
    }

    /// A program over replicas with one body for all of them; gives the shapes of the results with
    /// their rows. `None` where that cannot be done; then nothing has happened.
    pub(crate) fn replicas_in_rows(
        &mut self,
        entry: &'m Function,
        main: &mut Subgraph,
    ) -> Option<Vec<Shape>> {
        if !self.fits_rows(&entry.body) || self.is_manual_inside(&entry.body, &mut HashSet::new()) {
            return None;
        }
        let mark = self.mark();
        let mut block = Subgraph::default();
        let done = self.entry_of_rows(entry, &mut block);
        self.own_number = None;
        match done {
            Ok(shapes) if self.no_reasons_since(&mark) => {
                *main = block;
                Some(shapes)
            }
            _ => {
                self.back_to(&mark);
                None
            }
        }
    }

    fn entry_of_rows(&mut self, entry: &'m Function, main: &mut Subgraph) -> Result<Vec<Shape>> {
        let block = one_block(&entry.body, &entry.name)?;
        let count = self.devices.count;
        let all: Vec<usize> = (0..count).collect();
        let mut rows = Rows::new(Arc::new(ManualGroup::alone(count, false)), &entry.name);
        let operation = Operation { location: entry.location, ..of_parameters() };
        self.own_number = Some(self.device_numbers(&mut rows, &operation, main)?);
        let mut scope = Scope::new(entry);
        for &argument in &block.arguments {
            let unknown = || Error::Unimplemented("a parameter with an unknown extent".to_owned());
            let row = declared(scope.type_of(argument)?)?.shape().ok_or_else(unknown)?;
            let array = in_rows(&row, count)?;
            let array = self.graph.add(array);
            main.parameters.push(array);
            let value = self.rows_in(&mut rows, array, (&row, &all), main)?;
            scope.bind(argument, Binding::Array(value, row))?;
        }
        let results = self.block_of_rows(&mut rows, &mut scope, block, main)?;
        fits(&results, entry)?;
        let mut shapes = Vec::new();
        for result in results {
            let (value, shape) = result.array()?;
            let array = self.array_for(&mut rows, value, &all, main)?;
            main.results.push(array);
            shapes.push(in_rows(shape, count)?);
        }
        Ok(shapes)
    }

    fn region_of_rows(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        (group, apart): (&Arc<ManualGroup>, &[usize]),
        into: &mut Subgraph,
    ) -> Result<()> {
        let source = one_block(region(operation, 0)?, &operation.name)?;
        let mut rows = Rows::new(Arc::clone(group), &operation.name);
        rows.apart = rows.maps.by(apart.iter());
        self.own_number = Some(self.device_numbers(&mut rows, operation, into)?);
        self.parts_for(&mut rows, scope, operation, into)?;
        let given = operation.operands.iter().filter_map(|&one| scope.binding(one).ok());
        let given: Vec<ValueId> =
            given.filter_map(|one| one.array().ok()).map(|(value, _)| value).collect();
        let shown = self.show_masks(&given, (into, &mut rows.block.loose));
        rows.block.placed = rows.block.loose.nodes.len();
        let results = self.block_of_rows(&mut rows, scope, source, into);
        self.hide_masks(shown);
        let results = results?;
        self.close_all(&mut rows, into)?;
        self.wholes_of(&mut rows, scope, (operation, ClassId::ALIKE), &results, into)
    }

    /// Binds the parameters of code per device to the parts of its operands.
    pub(super) fn parts_for(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let axes = operation.attributes.manual_axes();
        let counts = |axis: &str| axes.iter().any(|known| **known == *axis);
        let ins = shardings(operation, "in_shardings", operation.operands.len())?;
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
        Ok(())
    }

    /// Binds the results of code per device to the wholes of what it made, for each class of the
    /// participants that the code around it tells apart.
    pub(super) fn wholes_of(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        (operation, around): (&'m Operation, ClassId),
        made: &[Binding],
        into: &mut Subgraph,
    ) -> Result<()> {
        let axes = operation.attributes.manual_axes();
        let counts = |axis: &str| axes.iter().any(|known| **known == *axis);
        let outs = shardings(operation, "out_shardings", operation.results.len())?;
        if made.len() != outs.len() {
            return Err(Error::bad("results and values"));
        }
        let count = self.devices.count;
        for ((made, stated), &result) in made.iter().zip(outs).zip(&operation.results) {
            let (value, shape) = made.array()?;
            let given = (value, shape.clone());
            let sharding = if matches!(scope.type_of(result)?, Type::Token) {
                Sharding::replicated(shape.rank(), count)
            } else {
                Sharding::of(stated, self.module, (shape.rank(), count), &counts)?
            };
            let whole = self.joined_rows(rows, (operation, around), given, &sharding, into)?;
            whole.check(scope.type_of(result)?)?;
            scope.bind(result, whole)?;
        }
        Ok(())
    }

    /// The shards of an array, as rows in the order of their numbers; those of each row, one row after
    /// the other.
    pub(super) fn split_in_rows(
        &mut self,
        rows: &mut Rows,
        operation: &'m Operation,
        (value, shape): (ValueId, &Shape),
        sharding: &Sharding,
        into: &mut Subgraph,
    ) -> Result<Binding> {
        if sharding.is_replicated() {
            return Ok(Binding::Array(value, shape.clone()));
        }
        if sharding.partial_sums > 1 {
            return Err(Error::Unimplemented("partial sums as rows".to_owned()));
        }
        let (array, place) = self.array_of(rows, value, into)?;
        let whole = self.whole_of_rows(array, shape)?;
        let row = Shape::new(shape.dtype, sharding.shard(&shape.dims)?);
        let strides = whole.strides();
        let (mut dims, mut by) = (vec![whole.dims[0]], vec![strides[0]]);
        for (axis, &shards) in sharding.shards.iter().enumerate().filter(|(_, shards)| **shards > 1)
        {
            dims.push(shards);
            by.push(strides[axis + 1] * row.dims[axis]);
        }
        dims.extend(&row.dims);
        by.extend(&strides[1..]);
        let parts = Shape::new(shape.dtype, dims);
        let array = self.moved(operation, (array, &whole), by, &parts, into)?;
        let count: usize = sharding.shards.iter().product();
        let ids = rows.group.ids.iter().zip(&place);
        let of: Vec<usize> = ids.map(|(&id, row)| row * count + sharding.part(id)).collect();
        let id = self.rows_in(rows, array, (&row, &of), into)?;
        Ok(Binding::Array(id, row))
    }

    /// The wholes from rows that are shards of them, one for each class of the code around.
    fn joined_rows(
        &mut self,
        rows: &mut Rows,
        (operation, around): (&'m Operation, ClassId),
        (value, row): (ValueId, Shape),
        sharding: &Sharding,
        into: &mut Subgraph,
    ) -> Result<Binding> {
        if sharding.partial_sums > 1 {
            return Err(Error::Unimplemented("partial sums as rows".to_owned()));
        }
        let (array, of) = self.array_of(rows, value, into)?;
        let around = rows.maps.get(around).clone();
        let parts: usize = sharding.shards.iter().product();
        let mut owners = vec![vec![None; parts]; around.firsts.len()];
        let mut agree = true;
        for (participant, (&class, &device)) in around.of.iter().zip(&rows.group.ids).enumerate() {
            let owner = owners[class][sharding.part(device)].get_or_insert(participant);
            agree &= of[*owner] == of[participant];
        }
        if !agree {
            // Only devices that all run code of their own can go on with their own copies.
            if rows.maps.get(rows.apart).firsts.len() < rows.participants() {
                let what = "devices with other copies of one array";
                return Err(Error::Unimplemented(what.to_owned()));
            }
            return self.apart(rows, operation, ((value, &row), (array, &of)), sharding, into);
        }
        // Classes whose parts are the same have the same whole.
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
        if parts == 1 {
            let id = self.rows_in(rows, array, (&row, &of), into)?;
            return Ok(Binding::Array(id, row));
        }
        let whole = joined_shape(operation, &row, sharding)?;
        let array = self.array_for(rows, value, &taken, into)?;
        let (parts, result, by) = interleaved(&row, sharding, known.len());
        let array = self.moved(operation, (array, &parts), by, &result, into)?;
        let of: Vec<usize> = around.of.iter().map(|&class| number_of[class]).collect();
        let id = self.rows_in(rows, array, (&whole, &of), into)?;
        Ok(Binding::Array(id, whole))
    }

    /// The whole as each device sees it, from rows of which devices that should have the same have
    /// others.
    fn apart(
        &mut self,
        rows: &mut Rows,
        operation: &'m Operation,
        ((value, row), (array, of)): ((ValueId, &Shape), (ValueId, &[usize])),
        sharding: &Sharding,
        into: &mut Subgraph,
    ) -> Result<Binding> {
        let map = rows.maps.get(rows.class(value)).clone();
        let mut each = Vec::new();
        for &first in &*map.firsts {
            let id = self.row_of(rows, (array, of[first]), row, into)?;
            each.push(Binding::Array(id, row.clone()));
        }
        let group = Arc::clone(&rows.group);
        let part = |participant: &Option<usize>| participant.map(|one| &each[map.of[one]]);
        let parts: Vec<Option<&Binding>> = group.of.iter().map(part).collect();
        let all: Vec<usize> = (0..self.devices.count).collect();
        let seen = self.seen(operation, &parts, (sharding, &group.zone, &all), into)?;
        Ok(self.agreed_on(seen))
    }
}
