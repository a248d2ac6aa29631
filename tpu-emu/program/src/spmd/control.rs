//! Calls and control flow around collectives: the participants go through them together.
use super::super::graph::{NodeKind, Subgraph, ValueId};
use super::super::import::control::{bind_all, region, returns};
use super::super::import::scope::{Binding, Scope};
use super::super::import::{Loader, fits, one_block};
pub(crate) use super::manual::Participants;
use crate::sharding::groups::collective;
use crate::sharding::groups::communicates;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_ops::decision::Decision;
use tpu_ops::{Operator, Structural, across, callee, name_of};
use tpu_stablehlo::ir::{Operation, Region, Value};

impl<'m> Loader<'m> {
    /// An operation with collectives inside.
    pub(super) fn joint(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let Operator::Structural(structural) = Operator::of(operation) else {
            return inside_of(operation);
        };
        match structural {
            Structural::Call | Structural::Composite => {
                let callee = callee(operation).unwrap_or_default();
                self.joint_call(participants, operation, callee, into)
            }
            Structural::While => self.joint_while(participants, operation, into),
            Structural::If => self.joint_branches(participants, operation, true, into),
            Structural::Case => self.joint_branches(participants, operation, false, into),
            Structural::NamedComputation => {
                let source = one_block(region(operation, 0)?, &operation.name)?;
                let arguments = participants.bindings(&operation.operands)?;
                for (scope, arguments) in participants.scopes.iter_mut().zip(arguments) {
                    bind_parameters(scope, source, arguments, &operation.name)?;
                }
                let results = self.lockstep(participants, source, into)?;
                bind_each(participants, operation, results)
            }
            Structural::Tuple
            | Structural::GetTupleElement
            | Structural::ManualComputation
            | Structural::ConversionCast
            | Structural::Return
            | Structural::Yield => inside_of(operation),
        }
    }

    fn joint_call(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        name: &str,
        into: &mut Subgraph,
    ) -> Result<()> {
        let arguments = participants.bindings(&operation.operands)?;
        let (callee, block) = self.enter(name)?;
        let mut scopes = Vec::new();
        for arguments in arguments {
            let mut scope = Scope::new(callee);
            bind_parameters(&mut scope, block, arguments, name)?;
            scopes.push(scope);
        }
        let mut inner = Participants {
            group: Arc::clone(&participants.group),
            numbers: participants.numbers.clone(),
            scopes,
        };
        let results = self.lockstep(&mut inner, block, into);
        self.leave();
        let results = results?;
        results.iter().try_for_each(|results| fits(results, callee))?;
        bind_each(participants, operation, results)
    }

    fn joint_while(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let carried = participants.bindings(&operation.operands)?;
        let mut classes = Classes::default();
        for carried in &carried {
            let key = carried.iter().map(|binding| self.key(std::slice::from_ref(binding)));
            classes.add(key.map(|key| (usize::MAX, key)).collect());
        }
        // What participants carry alike is one value, as long as they make it alike too.
        let deciding = participants.devices();
        let mark = self.mark();
        let (condition, mut body, made) = loop {
            let (mut condition, decisions) = self.joint_nested(
                participants,
                region(operation, 0)?,
                operation,
                (&carried, &classes),
            )?;
            let decisions: Vec<Binding> = decisions.into_iter().flatten().collect();
            if decisions.len() != participants.numbers.len() {
                let count = decisions.len() / participants.numbers.len();
                return Err(Error::bad(format!("the condition of a while has {count} results")));
            }
            let decision =
                self.agreed(operation, (&decisions, &deciding), DType::Pred, &mut condition)?;
            condition.results = vec![decision];
            let (body, made) = self.joint_nested(
                participants,
                region(operation, 1)?,
                operation,
                (&carried, &classes),
            )?;
            for (scope, made) in participants.scopes.iter().zip(&made) {
                returns(scope, operation, made)?;
            }
            let mut finer = Classes::default();
            for (made, before) in made.iter().zip(&classes.of) {
                let key = made.iter().zip(before);
                let key = key.map(|(made, &class)| (class, self.key(std::slice::from_ref(made))));
                finer.add(key.collect());
            }
            if finer.first.len() == classes.first.len() {
                break (condition, body, made);
            }
            classes = finer;
            self.back_to(&mark);
        };
        let mut initial = Vec::new();
        classes.each(&carried).for_each(|binding| binding.leaves(&mut initial));
        classes.each(&made).for_each(|binding| binding.leaves(&mut body.results));
        self.same_sizes(operation, &body.results, &initial)?;
        let work = NodeKind::While(Arc::new(condition), Arc::new(body));
        let results = self.control(operation, work, initial, into)?;
        bind_values(participants, operation, (&carried, &classes), results)
    }

    fn joint_branches(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        by_predicate: bool,
        into: &mut Subgraph,
    ) -> Result<()> {
        let selectors: Vec<Binding> =
            participants.bindings(&operation.operands)?.into_iter().flatten().collect();
        if selectors.len() != participants.numbers.len() || operation.regions.is_empty() {
            let (name, count) = (&operation.name, operation.operands.len());
            return Err(Error::bad(format!("{name} has {count} operands and takes 1")));
        }
        let wanted = if by_predicate { DType::Pred } else { DType::S32 };
        let deciding = participants.devices();
        let selector = self.agreed(operation, (&selectors, &deciding), wanted, into)?;
        let mut blocks: Vec<Subgraph> = Vec::new();
        let mut made: Vec<Vec<Vec<Binding>>> = Vec::new();
        for region in &operation.regions {
            let source = one_block(region, &operation.name)?;
            let mut block = Subgraph::default();
            let results = self.lockstep(participants, source, &mut block)?;
            for (scope, results) in participants.scopes.iter().zip(&results) {
                returns(scope, operation, results)?;
            }
            blocks.push(block);
            made.push(results);
        }
        // What participants make alike in every branch is one value.
        let mut classes = Classes::default();
        for participant in 0..participants.numbers.len() {
            let key = |(at, _): (usize, &Value)| {
                let all: Vec<Binding> =
                    made.iter().map(|made| made[participant][at].clone()).collect();
                (usize::MAX, self.key(&all))
            };
            let key = operation.results.iter().enumerate().map(key).collect();
            classes.add(key);
        }
        for (block, made) in blocks.iter_mut().zip(&made) {
            classes.each(made).for_each(|binding| binding.leaves(&mut block.results));
        }
        for block in &blocks[1..] {
            self.same_sizes(operation, &block.results, &blocks[0].results)?;
        }
        let shapes = blocks[0].results.clone();
        // A predicate is 1 for the first region, which `if` names true.
        if by_predicate {
            blocks.reverse();
        }
        let results = self.branch(operation, blocks, selector, &shapes, into);
        bind_values(participants, operation, (&made[0], &classes), results)
    }

    /// A region of a loop on all participants: its parameters are new values.
    fn joint_nested(
        &mut self,
        participants: &mut Participants<'m>,
        region: &'m Region,
        operation: &Operation,
        (carried, classes): (&[Vec<Binding>], &Classes),
    ) -> Result<(Subgraph, Vec<Vec<Binding>>)> {
        let source = one_block(region, &operation.name)?;
        let mut block = Subgraph::default();
        let mut parameters: Vec<Binding> = Vec::new();
        for ((scope, carried), of) in participants.scopes.iter_mut().zip(carried).zip(&classes.of) {
            if source.arguments.len() != carried.len() {
                let (name, had, wanted) = (&operation.name, carried.len(), source.arguments.len());
                let message = format!("{name} has {had} operands and {wanted} parameters");
                return Err(Error::bad(message));
            }
            for ((&parameter, initial), &class) in source.arguments.iter().zip(carried).zip(of) {
                initial.check(scope.type_of(parameter)?)?;
                if class == parameters.len() {
                    parameters.push(self.parameter(scope.type_of(parameter)?, &mut block)?);
                }
                scope.bind(parameter, parameters[class].clone())?;
            }
        }
        let results = self.lockstep(participants, source, &mut block)?;
        Ok((block, results))
    }

    /// What control flow with collectives inside lets devices do, for those that disagree.
    pub(super) fn decision(&self, operation: &'m Operation) -> Decision {
        let way = |region: &'m Region| match self.first_collective(region, &mut HashSet::new()) {
            Some(first) => {
                let name = name_of(first);
                let line = self.module.locations.line(first.location);
                line.map_or_else(
                    || format!("to wait in {name}"),
                    |line| format!("to wait in {name} at {line}"),
                )
            }
            None => "to wait for nobody".to_owned(),
        };
        let mut ways: Vec<String> = operation.regions.iter().map(way).collect();
        match Operator::of(operation) {
            // The second region is what is done again.
            Operator::Structural(Structural::While) => {
                ways[0] = "to leave the loop".to_owned();
            }
            Operator::Structural(Structural::If) => ways.reverse(),
            _ => {}
        }
        Decision { what: (*operation.name).into(), ways }
    }

    /// The first collective in a region, those in functions that it calls included.
    fn first_collective(
        &self,
        region: &'m Region,
        seen: &mut HashSet<&'m str>,
    ) -> Option<&'m Operation> {
        let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
        operations.find_map(|inner| {
            if collective(inner).is_some() || communicates(inner) {
                return Some(inner);
            }
            let callee = callee(inner).filter(|name| seen.insert(name));
            let callee = callee.and_then(|name| self.module.function(name));
            let callee = callee.map(|callee| &callee.body);
            let mut regions = inner.regions.iter().chain(callee);
            regions.find_map(|region| self.first_collective(region, seen))
        })
    }

    /// What all participants decide.
    fn agreed(
        &mut self,
        operation: &Operation,
        (decisions, deciding): (&[Binding], &[Vec<usize>]),
        wanted: DType,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let mut values: Vec<(ValueId, Shape)> = Vec::new();
        let mut devices: Vec<Vec<usize>> = Vec::new();
        for (decision, deciding) in decisions.iter().zip(deciding) {
            let (id, shape) = decision.array()?;
            if shape.dtype != wanted || shape.elements() != 1 {
                return Err(Error::bad(format!("{} is decided by {shape}", operation.name)));
            }
            match values.iter().position(|(known, _)| *known == id) {
                Some(at) => devices[at].extend(deciding),
                None => {
                    values.push((id, shape.clone()));
                    devices.push(deciding.clone());
                }
            }
        }
        if values.len() == 1 {
            return Ok(values[0].0);
        }
        let shape = values[0].1.clone();
        let kernel = across::agreement(self.decision(operation), devices);
        self.kernel(operation, kernel, values, &shape, into)
    }
}

/// The refusal of an operation with collectives inside.
fn inside_of(operation: &Operation) -> Result<()> {
    Err(Error::Unimplemented(format!("{} with collectives inside", operation.name)))
}

fn bind_parameters<'m>(
    scope: &mut Scope<'m>,
    block: &'m tpu_stablehlo::ir::Block,
    arguments: Vec<Binding>,
    name: &str,
) -> Result<()> {
    if block.arguments.len() != arguments.len() {
        let (given, takes) = (arguments.len(), block.arguments.len());
        return Err(Error::bad(format!("{given} arguments for {name}, which takes {takes}")));
    }
    for (&parameter, argument) in block.arguments.iter().zip(arguments) {
        argument.check(scope.type_of(parameter)?)?;
        scope.bind(parameter, argument)?;
    }
    Ok(())
}

fn bind_each(
    participants: &mut Participants<'_>,
    operation: &Operation,
    results: Vec<Vec<Binding>>,
) -> Result<()> {
    for (scope, results) in participants.scopes.iter_mut().zip(results) {
        bind_all(scope, operation, results)?;
    }
    Ok(())
}

/// Values of participants that are one: by participant and place, the number of the value, counted
/// in the order in which they are met.
#[derive(Default)]
struct Classes {
    of: Vec<Vec<usize>>,
    /// Where each is met first.
    first: Vec<(usize, usize)>,
    known: HashMap<(usize, (usize, Vec<ValueId>)), usize>,
}

impl Classes {
    /// Adds a participant's values; those with the same key at the same place are one.
    fn add(&mut self, keys: Vec<(usize, Vec<ValueId>)>) {
        let participant = self.of.len();
        let mut of = Vec::with_capacity(keys.len());
        for (place, key) in keys.into_iter().enumerate() {
            let next = self.known.len();
            let class = *self.known.entry((place, key)).or_insert(next);
            if class == next {
                self.first.push((participant, place));
            }
            of.push(class);
        }
        self.of.push(of);
    }

    /// One binding of each class.
    fn each<'a>(&'a self, all: &'a [Vec<Binding>]) -> impl Iterator<Item = &'a Binding> {
        self.first.iter().map(|&(participant, place)| &all[participant][place])
    }
}

/// Binds the results of control flow, which are those of all classes, one after the other.
fn bind_values(
    participants: &mut Participants<'_>,
    operation: &Operation,
    (structure, classes): (&[Vec<Binding>], &Classes),
    results: Vec<ValueId>,
) -> Result<()> {
    let mut values = results.into_iter();
    let bindings = classes.each(structure).map(|binding| binding.rebuilt(&mut values));
    let bindings: Vec<Binding> = bindings.collect::<Option<_>>().unwrap_or_default();
    for (scope, of) in participants.scopes.iter_mut().zip(&classes.of) {
        let mine = of.iter().filter_map(|&class| bindings.get(class).cloned()).collect();
        bind_all(scope, operation, mine)?;
    }
    Ok(())
}
