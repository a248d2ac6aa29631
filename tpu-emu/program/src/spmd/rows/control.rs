//! Calls and control flow around collectives, once for all participants.
use super::classes::ClassId;
use super::segments::in_rows;
use super::{RowPlace, RowValue, Rows};
use crate::graph::{NodeKind, Subgraph, ValueId};
use crate::import::control::{bind_all, region, returns};
use crate::import::scope::{Binding, Scope};
use crate::import::{Loader, fits, one_block};
use crate::sharding::groups::connected;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_ops::{Operator, Structural, callee, rows as kernels};
use tpu_stablehlo::ir::{Operation, Region};

/// What a loop carries: each array with how participants differ in it.
type Carried = Vec<(ValueId, Shape, ClassId)>;

impl<'m> Loader<'m> {
    /// An operation with collectives inside.
    pub(super) fn control_of_rows(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let Operator::Structural(structural) = Operator::of(operation) else {
            return Err(with_collectives(operation));
        };
        match structural {
            Structural::Call | Structural::Composite => {
                let arguments = self.given(scope, operation)?;
                let name = callee(operation).unwrap_or_default();
                let (callee, block) = self.enter(name)?;
                if block.arguments.len() != arguments.len() {
                    self.leave();
                    let (given, takes) = (arguments.len(), block.arguments.len());
                    let message = format!("{given} arguments for @{name}, which takes {takes}");
                    return Err(Error::bad(message));
                }
                let mut inner = Scope::new(callee);
                for (&parameter, argument) in block.arguments.iter().zip(arguments) {
                    inner.bind(parameter, argument)?;
                }
                let results = self.block_of_rows(rows, &mut inner, block, into);
                self.leave();
                let results = results?;
                fits(&results, callee)?;
                bind_all(scope, operation, results)
            }
            Structural::NamedComputation => {
                let source = one_block(region(operation, 0)?, &operation.name)?;
                let arguments = self.given(scope, operation)?;
                for (&parameter, argument) in source.arguments.iter().zip(arguments) {
                    scope.bind(parameter, argument)?;
                }
                let results = self.block_of_rows(rows, scope, source, into)?;
                bind_all(scope, operation, results)
            }
            Structural::ManualComputation => {
                self.nested_region_of_rows(rows, scope, operation, into)
            }
            Structural::While => self.while_of_rows(rows, scope, operation, into),
            Structural::If => self.branches_of_rows(rows, scope, (operation, true), into),
            Structural::Case => self.branches_of_rows(rows, scope, (operation, false), into),
            Structural::Tuple
            | Structural::GetTupleElement
            | Structural::ConversionCast
            | Structural::Return
            | Structural::Yield => Err(with_collectives(operation)),
        }
    }

    #[expect(clippy::unused_self, reason = "reads as a question to the loader")]
    fn given(&self, scope: &Scope<'m>, operation: &Operation) -> Result<Vec<Binding>> {
        operation.operands.iter().map(|&value| scope.binding(value).cloned()).collect()
    }

    fn while_of_rows(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let mut carried: Carried = Vec::new();
        for binding in self.given(scope, operation)? {
            let (value, shape) = binding.array()?;
            carried.push((value, shape.clone(), rows.class(value)));
        }
        self.close_all(rows, into)?;
        // What participants carry alike is one value, as long as they make it alike too.
        let mark = self.mark();
        let (condition, body) = loop {
            let test = region(operation, 0)?;
            let (mut condition, decided) = self.nested_rows(rows, (scope, test), &carried)?;
            let [decision] = &decided[..] else {
                let count = decided.len();
                return Err(Error::bad(format!("the condition of a while has {count} results")));
            };
            let decision =
                self.decided_by_all(rows, operation, (decision, DType::Pred), &mut condition)?;
            condition.results = vec![decision];
            let again = region(operation, 1)?;
            let (mut body, made) = self.nested_rows(rows, (scope, again), &carried)?;
            returns(scope, operation, &made)?;
            let mut same = true;
            for ((.., class), made) in carried.iter_mut().zip(&made) {
                let finer = rows.maps.joined(*class, rows.class(made.array()?.0));
                same &= finer == *class;
                *class = finer;
            }
            if same {
                for ((.., class), made) in carried.iter().zip(&made) {
                    let array = self.carried_array(rows, made.array()?.0, *class, &mut body)?;
                    body.results.push(array);
                }
                break (condition, body);
            }
            self.back_to(&mark);
        };
        let mut initial = Vec::new();
        for (value, _, class) in &carried {
            initial.push(self.carried_array(rows, *value, *class, into)?);
        }
        self.same_sizes(operation, &body.results, &initial)?;
        let work = NodeKind::While(Arc::new(condition), Arc::new(body));
        let results = self.control(operation, work, initial, into)?;
        let mut bindings = Vec::new();
        for ((_, shape, class), array) in carried.into_iter().zip(results) {
            bindings.push(Binding::Array(self.carried(rows, array, &shape, class), shape));
        }
        bind_all(scope, operation, bindings)
    }

    fn branches_of_rows(
        &mut self,
        rows: &mut Rows,
        scope: &mut Scope<'m>,
        (operation, by_predicate): (&'m Operation, bool),
        into: &mut Subgraph,
    ) -> Result<()> {
        let [selector] = &self.given(scope, operation)?[..] else {
            let (name, count) = (&operation.name, operation.operands.len());
            return Err(Error::bad(format!("{name} has {count} operands and takes 1")));
        };
        let wanted = if by_predicate { DType::Pred } else { DType::S32 };
        self.close_all(rows, into)?;
        let selector = self.decided_by_all(rows, operation, (selector, wanted), into)?;
        let (mut blocks, mut made): (Vec<Subgraph>, Vec<Vec<Binding>>) = (Vec::new(), Vec::new());
        for region in &operation.regions {
            let (block, results) = self.nested_rows(rows, (scope, region), &[])?;
            returns(scope, operation, &results)?;
            blocks.push(block);
            made.push(results);
        }
        let mut bindings = Vec::new();
        // What participants make alike in every branch is one value.
        for at in 0..operation.results.len() {
            let mut class = ClassId::ALIKE;
            for made in &made {
                class = rows.maps.joined(class, rows.class(made[at].array()?.0));
            }
            for (block, made) in blocks.iter_mut().zip(&made) {
                let array = self.carried_array(rows, made[at].array()?.0, class, block)?;
                block.results.push(array);
            }
            bindings.push((made[0][at].array()?.1.clone(), class));
        }
        for block in blocks.get(1..).unwrap_or_default() {
            self.same_sizes(operation, &block.results, &blocks[0].results)?;
        }
        let Some(first) = blocks.first() else {
            return Err(Error::bad(format!("{} has no branch", operation.name)));
        };
        let shapes = first.results.clone();
        // A predicate is 1 for the first region, which `if` names true.
        if by_predicate {
            blocks.reverse();
        }
        let results = self.branch(operation, blocks, selector, &shapes, into);
        let results = results.into_iter().zip(bindings).map(|(array, (shape, class))| {
            Binding::Array(self.carried(rows, array, &shape, class), shape)
        });
        let results = results.collect();
        bind_all(scope, operation, results)
    }

    /// A region, with what it carries as its parameters.
    fn nested_rows(
        &mut self,
        rows: &mut Rows,
        (scope, region): (&mut Scope<'m>, &'m Region),
        carried: &[(ValueId, Shape, ClassId)],
    ) -> Result<(Subgraph, Vec<Binding>)> {
        let source = one_block(region, "control flow")?;
        if source.arguments.len() != carried.len() {
            let (had, wanted) = (carried.len(), source.arguments.len());
            return Err(Error::bad(format!("{had} operands for {wanted} parameters of a region")));
        }
        let mut block = Subgraph::default();
        for (&parameter, (_, shape, class)) in source.arguments.iter().zip(carried) {
            let array = if *class == ClassId::ALIKE {
                self.graph.add(shape.clone())
            } else {
                let count = rows.maps.get(*class).firsts.len();
                self.graph.add(in_rows(shape, count)?)
            };
            block.parameters.push(array);
            let value = self.carried(rows, array, shape, *class);
            let binding = Binding::Array(value, shape.clone());
            binding.check(scope.type_of(parameter)?)?;
            scope.bind(parameter, binding)?;
        }
        let outer = std::mem::take(&mut rows.block);
        let done = self.block_of_rows(rows, scope, source, &mut block);
        let done = done.and_then(|made| self.close_all(rows, &mut block).map(|()| made));
        rows.block = outer;
        Ok((block, done?))
    }

    /// A value whose rows are an array in the order of their classes.
    fn carried(
        &mut self,
        rows: &mut Rows,
        array: ValueId,
        shape: &Shape,
        class: ClassId,
    ) -> ValueId {
        if class == ClassId::ALIKE {
            return array;
        }
        let value = self.graph.add(shape.clone());
        rows.values.insert(value, RowValue { class, place: RowPlace::Rows(array, None) });
        value
    }

    /// The array with a row of a value for each class.
    fn carried_array(
        &mut self,
        rows: &mut Rows,
        value: ValueId,
        class: ClassId,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        if class == ClassId::ALIKE {
            return Ok(value);
        }
        let firsts = Arc::clone(&rows.maps.get(class).firsts);
        self.array_for(rows, value, &firsts, into)
    }

    /// What all participants decide: those that wait for one another must decide alike.
    fn decided_by_all(
        &mut self,
        rows: &mut Rows,
        operation: &'m Operation,
        (decision, wanted): (&Binding, DType),
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let (value, shape) = decision.array()?;
        if shape.dtype != wanted || shape.elements() != 1 {
            return Err(Error::bad(format!("{} is decided by {shape}", operation.name)));
        }
        let class = rows.class(value);
        if class == ClassId::ALIKE {
            return Ok(value);
        }
        let devices = self.groups_inside(operation)?.unwrap_or_default();
        let groups = rows.groups(operation, &devices)?;
        if connected(rows.participants(), &groups).len() > 1 {
            return Err(Error::Unimplemented("devices that decide by themselves".to_owned()));
        }
        let array = self.carried_array(rows, value, class, into)?;
        let map = rows.maps.get(class);
        let mut devices = vec![Vec::new(); map.firsts.len()];
        for (device, of) in rows.group.of.iter().enumerate() {
            of.iter().for_each(|&participant| devices[map.of[participant]].push(device));
        }
        let given = (array, self.graph.value(array).shape.clone());
        let kernel = kernels::agreed(self.decision(operation), devices);
        self.kernel(operation, kernel, vec![given], &Shape::scalar(wanted), into)
    }
}

fn with_collectives(operation: &Operation) -> Error {
    Error::Unimplemented(format!("{} with collectives inside", operation.name))
}
