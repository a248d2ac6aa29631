//! Calls, tuples and control flow.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::scope::{Binding, Scope};
use super::{Loader, one_block, operands};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;
use tpu_ops::{Operator, Structural, TOP_K, callee, top_k};
use tpu_stablehlo::ir::{Operation, Region};

impl<'m> Loader<'m> {
    /// One operation of any kind.
    pub(crate) fn operation(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        if self.devices.count > 1 && self.marked(scope, operation, into)? {
            return Ok(());
        }
        // A composite that is an operation to us is not taken apart.
        let operator = match Operator::of(operation) {
            Operator::Structural(Structural::Composite) if top_k(operation).is_some() => {
                Operator::Row(&TOP_K)
            }
            operator => operator,
        };
        let passes = match operator {
            Operator::Structural(structural) => match structural {
                Structural::Call
                | Structural::Composite
                | Structural::ManualComputation
                | Structural::NamedComputation
                | Structural::ConversionCast
                | Structural::Tuple
                | Structural::GetTupleElement => true,
                Structural::While
                | Structural::If
                | Structural::Case
                | Structural::Return
                | Structural::Yield => false,
            },
            Operator::Row(_) | Operator::Registered | Operator::Unknown => false,
        };
        if self.devices.count > 1 && !passes && self.reads_copies(scope, operation) {
            return self.on_copies(scope, operation, into);
        }
        match operator {
            Operator::Structural(structural) => self.structural(scope, operation, structural, into),
            Operator::Registered => self.registered_call(scope, operation, into),
            Operator::Row(_) | Operator::Unknown => self.tabled(scope, operation, into),
        }
    }

    /// An operation that is taken apart here.
    fn structural(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        structural: Structural,
        into: &mut Subgraph,
    ) -> Result<()> {
        match structural {
            Structural::Call | Structural::Composite => {
                let callee = callee(operation).unwrap_or_default();
                let outside = self.called_at;
                if super::has_line(&self.module.locations, operation.location) {
                    self.called_at = Some(operation.location);
                }
                let inlined = self.inlined_call(scope, operation, callee, into);
                self.called_at = outside;
                inlined
            }
            Structural::While => self.r#while(scope, operation, into),
            Structural::If => self.branches(scope, operation, true, into),
            Structural::Case => self.branches(scope, operation, false, into),
            Structural::Tuple => {
                let items = operands(scope, &operation.operands)?.into_iter().cloned().collect();
                bind_all(scope, operation, vec![Binding::Tuple(items)])
            }
            Structural::GetTupleElement => {
                let index = operation.attributes.integer("index");
                let item = match &operands(scope, &operation.operands)?[..] {
                    [Binding::Tuple(items)] => {
                        index.and_then(|index| items.get(usize::try_from(index).ok()?)).cloned()
                    }
                    _ => None,
                };
                let missing = || Error::bad(format!("{} of element {index:?}", operation.name));
                bind_all(scope, operation, vec![item.ok_or_else(missing)?])
            }
            Structural::ManualComputation if self.devices.count > 1 => {
                self.manual_region(scope, operation, into)
            }
            Structural::ManualComputation | Structural::NamedComputation => {
                self.inlined_region(scope, operation, into)
            }
            Structural::ConversionCast => {
                let same = operands(scope, &operation.operands)?.into_iter().cloned().collect();
                bind_all(scope, operation, same)
            }
            Structural::Return | Structural::Yield => self.tabled(scope, operation, into),
        }
    }

    fn inlined_call(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        callee: &str,
        into: &mut Subgraph,
    ) -> Result<()> {
        let arguments = operands(scope, &operation.operands)?.into_iter().cloned().collect();
        let results = self.call(callee, arguments, into)?;
        bind_all(scope, operation, results)
    }

    /// A region that runs once, in place.
    fn inlined_region(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let block = one_block(region(operation, 0)?, &operation.name)?;
        let arguments: Vec<Binding> =
            operands(scope, &operation.operands)?.into_iter().cloned().collect();
        if block.arguments.len() != arguments.len() {
            let (had, wanted) = (arguments.len(), block.arguments.len());
            let name = &operation.name;
            return Err(Error::bad(format!("{name} has {had} operands and {wanted} parameters")));
        }
        for (&parameter, argument) in block.arguments.iter().zip(arguments) {
            argument.check(scope.type_of(parameter)?)?;
            scope.bind(parameter, argument)?;
        }
        let results = self.block(scope, block, into)?;
        bind_all(scope, operation, results)
    }

    fn r#while(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let carried: Vec<Binding> =
            operands(scope, &operation.operands)?.into_iter().cloned().collect();
        let mut initial = Vec::new();
        carried.iter().for_each(|binding| binding.leaves(&mut initial));
        let mark = self.mark();
        let (condition, decided) =
            self.nested(scope, region(operation, 0)?, operation, &carried)?;
        let (body, made) = self.nested(scope, region(operation, 1)?, operation, &carried)?;
        if decided.iter().chain(&made).any(Binding::has_copies) {
            self.back_to(&mark);
            return self.on_copies(scope, operation, into);
        }
        returns(scope, operation, &made)?;
        let [decision] = condition.results[..] else {
            let count = condition.results.len();
            return Err(Error::bad(format!("the condition of a while has {count} results")));
        };
        let decided = &self.graph.value(decision).shape;
        if decided.dtype != DType::Pred || decided.elements() != 1 {
            return Err(Error::bad(format!("the condition of a while gives {decided}")));
        }
        self.same_sizes(operation, &body.results, &initial)?;
        let work = NodeKind::While(Arc::new(condition), Arc::new(body));
        let results = self.control(operation, work, initial, into)?;
        let mut values = results.into_iter();
        let bindings: Option<Vec<Binding>> =
            carried.iter().map(|binding| binding.rebuilt(&mut values)).collect();
        bind_all(scope, operation, bindings.unwrap_or_default())
    }

    fn branches(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        by_predicate: bool,
        into: &mut Subgraph,
    ) -> Result<()> {
        let [selector] = &operands(scope, &operation.operands)?[..] else {
            let (name, count) = (&operation.name, operation.operands.len());
            return Err(Error::bad(format!("{name} has {count} operands and takes 1")));
        };
        let (value, shape) = selector.array()?;
        let wanted = if by_predicate { DType::Pred } else { DType::S32 };
        if shape.dtype != wanted || shape.elements() != 1 {
            return Err(Error::bad(format!("{} is decided by {shape}", operation.name)));
        }
        if operation.regions.is_empty() {
            return Err(Error::bad(format!("{} has no branch", operation.name)));
        }
        let mut blocks = Vec::new();
        let mut structure: Option<Vec<Binding>> = None;
        let mark = self.mark();
        for region in &operation.regions {
            let source = one_block(region, &operation.name)?;
            if !source.arguments.is_empty() {
                return Err(Error::bad(format!("a branch of {} has parameters", operation.name)));
            }
            let mut block = Subgraph::default();
            let results = self.block(scope, source, &mut block)?;
            if results.iter().any(Binding::has_copies) {
                self.back_to(&mark);
                return self.on_copies(scope, operation, into);
            }
            results.iter().for_each(|binding| binding.leaves(&mut block.results));
            returns(scope, operation, &results)?;
            if let Some(first) = blocks.first() {
                let first: &Subgraph = first;
                self.same_sizes(operation, &block.results, &first.results)?;
            }
            structure.get_or_insert(results);
            blocks.push(block);
        }
        let shapes = blocks[0].results.clone();
        let structure = structure.unwrap_or_default();
        // A predicate is 1 for the first region, which `if` names true.
        if by_predicate {
            blocks.reverse();
        }
        let mut values = self.branch(operation, blocks, value, &shapes, into).into_iter();
        let bindings: Option<Vec<Binding>> =
            structure.iter().map(|binding| binding.rebuilt(&mut values)).collect();
        bind_all(scope, operation, bindings.unwrap_or_default())
    }

    /// Adds the choice between branches, whose results are like those of `like`.
    pub(crate) fn branch(
        &mut self,
        operation: &Operation,
        blocks: Vec<Subgraph>,
        selector: ValueId,
        like: &[ValueId],
        into: &mut Subgraph,
    ) -> Vec<ValueId> {
        let name: Arc<str> = (*operation.name).into();
        let results: Vec<ValueId> = like
            .iter()
            .map(|&id| {
                let shape = self.graph.value(id).shape.clone();
                self.graph.add(shape)
            })
            .collect();
        let work = NodeKind::Branch(blocks);
        let effect = work.has_effect();
        into.nodes.push(Node {
            work,
            operands: vec![selector],
            shapes: Vec::new(),
            results: results.clone(),
            name,
            location: operation.location,
            effect,
        });
        results
    }

    /// A region of a loop: its parameters are new values.
    fn nested(
        &mut self,
        scope: &mut Scope<'m>,
        region: &'m Region,
        operation: &Operation,
        carried: &[Binding],
    ) -> Result<(Subgraph, Vec<Binding>)> {
        let source = one_block(region, &operation.name)?;
        if source.arguments.len() != carried.len() {
            let (name, had, wanted) = (&operation.name, carried.len(), source.arguments.len());
            return Err(Error::bad(format!("{name} has {had} operands and {wanted} parameters")));
        }
        let mut block = Subgraph::default();
        for (&parameter, initial) in source.arguments.iter().zip(carried) {
            initial.check(scope.type_of(parameter)?)?;
            let binding = self.parameter(scope.type_of(parameter)?, &mut block)?;
            scope.bind(parameter, binding)?;
        }
        let results = self.block(scope, source, &mut block)?;
        results.iter().for_each(|binding| binding.leaves(&mut block.results));
        Ok((block, results))
    }

    pub(crate) fn control(
        &mut self,
        operation: &Operation,
        work: NodeKind,
        operands: Vec<ValueId>,
        into: &mut Subgraph,
    ) -> Result<Vec<ValueId>> {
        let results: Vec<ValueId> = operands
            .iter()
            .map(|&id| {
                let shape = self.graph.value(id).shape.clone();
                self.graph.add(shape)
            })
            .collect();
        let (name, location) = ((*operation.name).into(), operation.location);
        // A loop has the effects of what is inside.
        let effect = work.has_effect();
        let shapes = Vec::new();
        into.nodes.push(Node {
            work,
            operands,
            shapes,
            results: results.clone(),
            name,
            location,
            effect,
        });
        Ok(results)
    }

    /// Whether values that share their memory have the same types.
    pub(crate) fn same_sizes(
        &self,
        operation: &Operation,
        a: &[ValueId],
        b: &[ValueId],
    ) -> Result<()> {
        let shape = |id: &ValueId| &self.graph.value(*id).shape;
        let same = |(a, b): (&ValueId, &ValueId)| {
            let (a, b) = (shape(a), shape(b));
            a.bytes() == b.bytes()
        };
        if a.len() == b.len() && a.iter().zip(b).all(same) {
            return Ok(());
        }
        let text = |ids: &[ValueId]| -> Vec<String> {
            ids.iter().map(|id| shape(id).to_string()).collect()
        };
        let (name, a, b) = (&operation.name, text(a).join(", "), text(b).join(", "));
        Err(Error::bad(format!("{name}: a region gives ({a}) where ({b}) is needed")))
    }
}

pub(crate) fn region(operation: &Operation, index: usize) -> Result<&Region> {
    let missing = || Error::bad(format!("{} lacks region {index}", operation.name));
    operation.regions.get(index).ok_or_else(missing)
}

/// Whether a region of control flow returns what the operation gives.
pub(crate) fn returns(scope: &Scope<'_>, operation: &Operation, results: &[Binding]) -> Result<()> {
    if results.len() != operation.results.len() {
        let (name, had, wanted) = (&operation.name, results.len(), operation.results.len());
        return Err(Error::bad(format!(
            "a region of {name} returns {had} values where {wanted} are needed"
        )));
    }
    let mut pairs = results.iter().zip(&operation.results);
    let check = |(binding, &result): (&Binding, _)| binding.check(scope.type_of(result)?);
    pairs
        .try_for_each(check)
        .map_err(|error| Error::bad(format!("a region of {} returns {error}", operation.name)))
}

pub(crate) fn bind_all(
    scope: &mut Scope<'_>,
    operation: &Operation,
    bindings: Vec<Binding>,
) -> Result<()> {
    if bindings.len() != operation.results.len() {
        let (name, had, wanted) = (&operation.name, bindings.len(), operation.results.len());
        return Err(Error::bad(format!("{name} gives {had} results where {wanted} are declared")));
    }
    for (&result, binding) in operation.results.iter().zip(bindings) {
        binding.check(scope.type_of(result)?)?;
        scope.bind(result, binding)?;
    }
    Ok(())
}
