//! Calls and control flow around collectives: the members of a crew go through them together.
use super::super::super::graph::{Block, ValueId, Work};
use super::super::control::{bind_all, region, returns};
use super::super::scope::{Binding, Scope};
use super::super::{Loader, fits, one_block};
use super::Crew;
use crate::error::{Error, Result};
use crate::ops::across;
use crate::tensor::{DType, Shape};
use std::sync::Arc;
use tpu_stablehlo::ir::{Operation, Region};

impl<'m> Loader<'m> {
    /// An operation with collectives inside.
    pub(super) fn joint(
        &mut self,
        crew: &mut Crew<'m>,
        operation: &'m Operation,
        into: &mut Block,
    ) -> Result<()> {
        match operation.name.split_once('.').map_or("", |(_, mnemonic)| mnemonic) {
            "call" => {
                let callee = operation.attributes.text("callee").unwrap_or_default();
                self.joint_call(crew, operation, callee, into)
            }
            "composite" => {
                let callee = operation.attributes.text("decomposition").unwrap_or_default();
                self.joint_call(crew, operation, callee, into)
            }
            "while" => self.joint_while(crew, operation, into),
            "if" => self.joint_branches(crew, operation, true, into),
            "case" => self.joint_branches(crew, operation, false, into),
            "named_computation" => {
                let source = one_block(region(operation, 0)?, &operation.name)?;
                let arguments = crew.bindings(&operation.operands)?;
                for (scope, arguments) in crew.scopes.iter_mut().zip(arguments) {
                    bind_parameters(scope, source, arguments, &operation.name)?;
                }
                let results = self.lockstep(crew, source, into)?;
                bind_each(crew, operation, results)
            }
            _ => Err(Error::Unimplemented(format!("{} with collectives inside", operation.name))),
        }
    }

    fn joint_call(
        &mut self,
        crew: &mut Crew<'m>,
        operation: &'m Operation,
        name: &str,
        into: &mut Block,
    ) -> Result<()> {
        let arguments = crew.bindings(&operation.operands)?;
        let (callee, block) = self.enter(name)?;
        let mut scopes = Vec::new();
        for arguments in arguments {
            let mut scope = Scope::new(callee);
            bind_parameters(&mut scope, block, arguments, name)?;
            scopes.push(scope);
        }
        let mut inner =
            Crew { team: Arc::clone(&crew.team), members: crew.members.clone(), scopes };
        let results = self.lockstep(&mut inner, block, into);
        self.leave();
        let results = results?;
        results.iter().try_for_each(|results| fits(results, callee))?;
        bind_each(crew, operation, results)
    }

    fn joint_while(
        &mut self,
        crew: &mut Crew<'m>,
        operation: &'m Operation,
        into: &mut Block,
    ) -> Result<()> {
        let carried = crew.bindings(&operation.operands)?;
        let mut initial = Vec::new();
        carried.iter().flatten().for_each(|binding| binding.leaves(&mut initial));
        let (mut condition, decisions) =
            self.joint_nested(crew, region(operation, 0)?, operation, &carried)?;
        let decisions: Vec<Binding> = decisions.into_iter().flatten().collect();
        if decisions.len() != crew.members.len() {
            let count = decisions.len() / crew.members.len();
            return Err(Error::bad(format!("the condition of a while has {count} results")));
        }
        let decision = self.agreed(operation, &decisions, DType::Pred, &mut condition)?;
        condition.results = vec![decision];
        let (mut body, made) =
            self.joint_nested(crew, region(operation, 1)?, operation, &carried)?;
        for (scope, made) in crew.scopes.iter().zip(&made) {
            returns(scope, operation, made)?;
        }
        made.iter().flatten().for_each(|binding| binding.leaves(&mut body.results));
        self.same_sizes(operation, &body.results, &initial)?;
        let work = Work::While(Arc::new(condition), Arc::new(body));
        let results = self.control(operation, work, initial, into)?;
        bind_values(crew, operation, &carried, results)
    }

    fn joint_branches(
        &mut self,
        crew: &mut Crew<'m>,
        operation: &'m Operation,
        by_predicate: bool,
        into: &mut Block,
    ) -> Result<()> {
        let selectors: Vec<Binding> =
            crew.bindings(&operation.operands)?.into_iter().flatten().collect();
        if selectors.len() != crew.members.len() || operation.regions.is_empty() {
            let (name, count) = (&operation.name, operation.operands.len());
            return Err(Error::bad(format!("{name} has {count} operands and takes 1")));
        }
        let wanted = if by_predicate { DType::Pred } else { DType::S32 };
        let selector = self.agreed(operation, &selectors, wanted, into)?;
        let mut blocks: Vec<Block> = Vec::new();
        let mut structure: Option<Vec<Vec<Binding>>> = None;
        for region in &operation.regions {
            let source = one_block(region, &operation.name)?;
            let mut block = Block::default();
            let results = self.lockstep(crew, source, &mut block)?;
            for (scope, results) in crew.scopes.iter().zip(&results) {
                returns(scope, operation, results)?;
            }
            results.iter().flatten().for_each(|binding| binding.leaves(&mut block.results));
            if let Some(first) = blocks.first() {
                self.same_sizes(operation, &block.results, &first.results)?;
            }
            structure.get_or_insert(results);
            blocks.push(block);
        }
        let shapes = blocks[0].results.clone();
        // A predicate is 1 for the first region, which `if` names true.
        if by_predicate {
            blocks.reverse();
        }
        let results = self.branch(operation, blocks, selector, &shapes, into);
        bind_values(crew, operation, &structure.unwrap_or_default(), results)
    }

    /// A region of a loop on all members: its parameters are new values.
    fn joint_nested(
        &mut self,
        crew: &mut Crew<'m>,
        region: &'m Region,
        operation: &Operation,
        carried: &[Vec<Binding>],
    ) -> Result<(Block, Vec<Vec<Binding>>)> {
        let source = one_block(region, &operation.name)?;
        let mut block = Block::default();
        for (scope, carried) in crew.scopes.iter_mut().zip(carried) {
            if source.arguments.len() != carried.len() {
                let (name, had, wanted) = (&operation.name, carried.len(), source.arguments.len());
                let message = format!("{name} has {had} operands and {wanted} parameters");
                return Err(Error::bad(message));
            }
            for (&parameter, initial) in source.arguments.iter().zip(carried) {
                initial.check(scope.type_of(parameter)?)?;
                let binding = self.parameter(scope.type_of(parameter)?, &mut block)?;
                scope.bind(parameter, binding)?;
            }
        }
        let results = self.lockstep(crew, source, &mut block)?;
        Ok((block, results))
    }

    /// What all members decide.
    fn agreed(
        &mut self,
        operation: &Operation,
        decisions: &[Binding],
        wanted: DType,
        into: &mut Block,
    ) -> Result<ValueId> {
        let mut values: Vec<(ValueId, Shape)> = Vec::new();
        for decision in decisions {
            let (id, shape) = decision.array()?;
            if shape.dtype != wanted || shape.elements() != 1 {
                return Err(Error::bad(format!("{} is decided by {shape}", operation.name)));
            }
            if values.iter().all(|(known, _)| *known != id) {
                values.push((id, shape.clone()));
            }
        }
        if values.len() == 1 {
            return Ok(values[0].0);
        }
        let shape = values[0].1.clone();
        let kernel = across::agreement(&operation.name);
        self.kernel(operation, kernel, values, &shape, into)
    }
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

fn bind_each(crew: &mut Crew<'_>, operation: &Operation, results: Vec<Vec<Binding>>) -> Result<()> {
    for (scope, results) in crew.scopes.iter_mut().zip(results) {
        bind_all(scope, operation, results)?;
    }
    Ok(())
}

/// Binds the results of control flow, which are those of all members, one after the other.
fn bind_values(
    crew: &mut Crew<'_>,
    operation: &Operation,
    structure: &[Vec<Binding>],
    results: Vec<ValueId>,
) -> Result<()> {
    let mut values = results.into_iter();
    for (scope, structure) in crew.scopes.iter_mut().zip(structure) {
        let bindings: Option<Vec<Binding>> =
            structure.iter().map(|binding| binding.rebuilt(&mut values)).collect();
        bind_all(scope, operation, bindings.unwrap_or_default())?;
    }
    Ok(())
}
