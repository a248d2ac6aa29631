//! Operations without control flow: inferred, checked, lowered, folded where small.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::super::passes::constant_fold::fold;
use super::Loader;
use super::masks::Choice;
use super::scope::{Binding, Scope};
use super::types::declared;
use crate::sharding::groups;
use crate::tuning::{MAX_CALL_DEPTH, MAX_FOLDED_BYTES};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::{
    Declared, DeviceDependence, Entry, Lowered, Operator, RegionCode, Simplification, Site, TOP_K,
    name_of, top_k,
};
use tpu_stablehlo::ir::{Attribute, LocationId, Operation, Type};

/// The row of an operation.
pub(super) fn entry_of(operation: &Operation) -> Result<&'static Entry> {
    if top_k(operation).is_some() {
        return Ok(&TOP_K);
    }
    let name = name_of(operation);
    match Operator::of(operation) {
        Operator::Row(entry) => Ok(entry),
        Operator::Registered => {
            Err(Error::Unimplemented(format!("custom call target \"{name}\" is not registered")))
        }
        Operator::Structural(_) | Operator::Unknown => {
            Err(Error::Unimplemented(format!("operation {name} is not supported")))
        }
    }
}

impl<'m> Loader<'m> {
    /// An operation that the table knows.
    pub(super) fn tabled(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let entry = entry_of(operation)?;
        if let DeviceDependence::Collective(kind) = entry.devices {
            groups::alone(operation, kind, self.module)?;
        }
        let (mut values, mut shapes) = (Vec::new(), Vec::new());
        for &operand in &operation.operands {
            scope.binding(operand)?.arrays(&mut values, &mut shapes);
        }
        let candidate = self.common.candidate(scope, (operation, entry), &values);
        if let Some(candidate) = &candidate
            && self.bind_common(scope, candidate, into)?
        {
            return Ok(());
        }
        let known: Vec<_> =
            values.iter().map(|&value| self.graph.value(value).known.clone()).collect();
        let bodies = self.bodies(scope, operation)?;
        let types: Vec<&Type> =
            operation.results.iter().map(|&result| scope.type_of(result)).collect::<Result<_>>()?;
        let mut leaves = Vec::new();
        types.iter().for_each(|of| leaf_types(of, &mut leaves));
        let declared: Vec<Declared> = leaves.into_iter().map(declared).collect::<Result<_>>()?;
        let mut site = Site {
            name: name_of(operation),
            attributes: top_k(operation).unwrap_or(&operation.attributes),
            operands: &shapes,
            known: &known,
            declared: &declared,
            results: &[],
            bodies: &bodies,
            numerics: self.numerics,
            partition: self.partition,
        };
        let inferred = (entry.infer)(&site)?;
        agree(&site, &inferred)?;
        site.results = &inferred;
        let lowered = (entry.lower)(&site)?;
        let before = into.nodes.len();
        let results = self.emit((operation, entry), lowered, &values, &shapes, &inferred, into)?;
        if let Some(candidate) = candidate.filter(|_| into.nodes.len() > before) {
            let bytes = inferred.iter().map(Shape::bytes).sum();
            self.common.note(candidate, (&results, bytes), into);
        }
        let mut results = results.into_iter().zip(inferred);
        for (&result, of) in operation.results.iter().zip(types) {
            let binding = gathered(of, &mut results)?;
            scope.bind(result, binding)?;
        }
        Ok(())
    }

    /// Puts a lowered operation into the block; gives its results.
    fn emit(
        &mut self,
        (operation, entry): (&'m Operation, &Entry),
        lowered: Lowered,
        values: &[ValueId],
        shapes: &[Shape],
        results: &[Shape],
        into: &mut Subgraph,
    ) -> Result<Vec<ValueId>> {
        self.count(&lowered, shapes, results);
        let spread = match &lowered {
            Lowered::Spread(_, accesses) => {
                Some(self.spread(operation, accesses, (values, shapes), &results[0], into)?)
            }
            _ => None,
        };
        let first = || {
            let none = || Error::bad(format!("{} has no operand", operation.name));
            values.first().copied().ok_or_else(none)
        };
        let work = match lowered {
            Lowered::View => return Ok(vec![first()?]),
            Lowered::Barrier => {
                self.common.pass_barrier();
                let behind = self.behind_barrier(values, into);
                self.graph.handed_on.extend(&behind);
                return Ok(behind);
            }
            Lowered::Forward => return Ok(values.to_vec()),
            Lowered::Access(access) if self.is_whole(&access, &shapes[0], &results[0]) => {
                return Ok(vec![first()?]);
            }
            Lowered::Elementwise(op) | Lowered::Spread(op, _) => NodeKind::Elementwise(op),
            Lowered::Access(access) => NodeKind::Access(access),
            Lowered::Iota(axis) => NodeKind::Iota(axis),
            Lowered::Splat(bytes) => NodeKind::Splat(bytes),
            Lowered::Constant(bytes) => NodeKind::Constant(bytes),
            Lowered::Kernel(kernel) => NodeKind::Kernel(kernel.into()),
        };
        let choice = match &work {
            NodeKind::Elementwise(op) if spread.is_none() => {
                self.choice(op, (values, shapes), into)?
            }
            _ => None,
        };
        let (work, values, shapes) = match (&choice, &spread) {
            (Some(Choice { op, operands, shapes }), _) => {
                (NodeKind::Elementwise(*op), &operands[..], &shapes[..])
            }
            (None, Some((values, shapes))) => (work, &values[..], &shapes[..]),
            (None, None) => (work, values, shapes),
        };
        let waits = matches!(&work, NodeKind::Kernel(kernel) if kernel.channel().is_some());
        let effect = waits || operation.attributes.flag("has_side_effect");
        self.count_nodes(1)?;
        let ids: Vec<ValueId> = results.iter().map(|shape| self.graph.add(shape.clone())).collect();
        // What makes no element is known: no step after this one has to look after that case.
        let empty = !results.is_empty() && results.iter().all(|shape| shape.elements() == 0);
        let folded = if empty && !effect {
            Some(vec![Arc::from([]); results.len()])
        } else {
            self.folded(entry, &work, values, shapes, results)?
        };
        let name: Arc<str> = name_of(operation).into();
        let location = self.line_of(operation);
        self.note(entry, (&work, values), &ids, into);
        self.graph.draws |= entry.devices == DeviceDependence::Random;
        match folded {
            Some(known) => {
                for (&id, bytes) in ids.iter().zip(known) {
                    self.graph.values[id.index()].known = Some(Arc::clone(&bytes));
                    let (operands, shapes, results) = (Vec::new(), Vec::new(), vec![id]);
                    let (work, name) = (NodeKind::Constant(bytes), Arc::clone(&name));
                    into.nodes.push(Node {
                        work,
                        operands,
                        shapes,
                        results,
                        name,
                        location,
                        effect,
                    });
                }
            }
            None => {
                // A source has no operands, whatever shape operands the operation had.
                let source =
                    matches!(work, NodeKind::Iota(_) | NodeKind::Splat(_) | NodeKind::Constant(_));
                let kept = match work {
                    _ if source => 0,
                    NodeKind::Access(_) => 1,
                    _ => values.len(),
                };
                let (operands, shapes) = (values[..kept].to_vec(), shapes[..kept].to_vec());
                let results = ids.clone();
                into.nodes.push(Node { work, operands, shapes, results, name, location, effect });
            }
        }
        Ok(ids)
    }

    /// Where an operation was written. Functions of a library have no lines of their own: those of
    /// their calls stand for them.
    fn line_of(&self, operation: &Operation) -> LocationId {
        let known = || super::has_line(&self.module.locations, operation.location);
        self.called_at.filter(|_| !known()).unwrap_or(operation.location)
    }

    /// The operands of an operation in the order of its result, with their shapes.
    fn spread(
        &mut self,
        operation: &Operation,
        accesses: &[Access],
        (values, shapes): (&[ValueId], &[Shape]),
        result: &Shape,
        into: &mut Subgraph,
    ) -> Result<(Vec<ValueId>, Vec<Shape>)> {
        self.count_nodes(accesses.len())?;
        let (name, location) = (Arc::<str>::from(name_of(operation)), self.line_of(operation));
        let operands = accesses.iter().zip(values).zip(shapes).map(|((access, &value), shape)| {
            let spread = self.graph.add(result.with(shape.dtype));
            into.nodes.push(Node {
                work: NodeKind::Access(access.clone()),
                operands: vec![value],
                shapes: vec![shape.clone()],
                results: vec![spread],
                name: Arc::clone(&name),
                location,
                effect: false,
            });
            spread
        });
        let operands = operands.collect();
        Ok((operands, shapes.iter().map(|shape| result.with(shape.dtype)).collect()))
    }

    /// Whether an access takes all elements in their order.
    #[expect(clippy::unused_self, reason = "reads as a question to the loader")]
    pub(crate) fn is_whole(&self, access: &Access, from: &Shape, to: &Shape) -> bool {
        if access.offset != 0 || from.elements() != to.elements() {
            return false;
        }
        let dense = to.strides();
        let same = |axis: usize| {
            to.dims[axis] == 1 || isize::try_from(dense[axis]) == Ok(access.strides[axis])
        };
        (0..to.rank()).all(same)
    }

    /// The values of the results, where they are small and the operands are known.
    fn folded(
        &self,
        entry: &Entry,
        work: &NodeKind,
        values: &[ValueId],
        shapes: &[Shape],
        results: &[Shape],
    ) -> Result<Option<Vec<Arc<[u8]>>>> {
        let small = results.iter().map(Shape::bytes).sum::<usize>() <= MAX_FOLDED_BYTES;
        if !self.folds || entry.simplification == Simplification::Kept || !small {
            return Ok(None);
        }
        let operands: Option<Vec<Arc<[u8]>>> =
            values.iter().map(|&value| self.graph.value(value).known.clone()).collect();
        let Some(operands) = operands else { return Ok(None) };
        fold(work, &operands, shapes, results, (self.numerics, self.make_body))
    }

    /// Adds an operation's work to the analysis.
    fn count(&mut self, lowered: &Lowered, shapes: &[Shape], results: &[Shape]) {
        let elements = results.first().map_or(0, Shape::elements);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let elements = elements as f64;
        let cost = &mut self.graph.cost;
        match lowered {
            Lowered::Spread(..) => cost.flops += elements,
            Lowered::Elementwise(op) if op.transcendental => cost.transcendentals += elements,
            Lowered::Elementwise(op)
                if !matches!(
                    op.kind,
                    ElementwiseKind::Select
                        | ElementwiseKind::Convert
                        | ElementwiseKind::BitcastConvert
                ) =>
            {
                cost.flops += elements;
            }
            Lowered::Kernel(kernel) => {
                let own = kernel.cost();
                cost.flops += own.flops;
                cost.transcendentals += own.transcendentals;
            }
            _ => {}
        }
        if !matches!(lowered, Lowered::View | Lowered::Forward | Lowered::Barrier) {
            let bytes = shapes.iter().chain(results).map(Shape::bytes);
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let bytes: f64 = bytes.map(|bytes| bytes as f64).sum();
            self.graph.bytes_accessed += bytes;
        }
    }

    /// The regions of an operation, or the functions that a custom call names, as bodies.
    fn bodies(
        &self,
        scope: &Scope<'m>,
        operation: &'m Operation,
    ) -> Result<Vec<Arc<dyn RegionCode>>> {
        let mut bodies = Vec::new();
        for region in &operation.regions {
            bodies.push(self.body(scope, region, &operation.name, None)?);
        }
        if let Some(Attribute::Array(called)) = operation.attributes.get("called_computations") {
            for name in called.iter().filter_map(Attribute::as_str) {
                let callee = self.module.function(name);
                let callee = callee.ok_or_else(|| Error::bad(format!("@{name} is not there")))?;
                if self.calls.len() >= MAX_CALL_DEPTH || self.calls.contains(&&*callee.name) {
                    return Err(Error::Unimplemented(format!("@{name} calls itself")));
                }
                let scope = Scope::new(callee);
                bodies.push(self.body(&scope, &callee.body, name, Some(&callee.name))?);
            }
        }
        Ok(bodies)
    }
}

/// Compares inferred shapes with declared types.
fn agree(site: &Site<'_>, inferred: &[Shape]) -> Result<()> {
    if inferred.len() != site.declared.len() {
        let (name, had, wanted) = (site.name, site.declared.len(), inferred.len());
        return Err(Error::bad(format!("{name} has {had} results declared and gives {wanted}")));
    }
    for (declared, inferred) in site.declared.iter().zip(inferred) {
        let same =
            declared.dtype == inferred.dtype
                && declared.dims.len() == inferred.rank()
                && declared.dims.iter().zip(&inferred.dims).all(|(declared, inferred)| {
                    declared.is_none_or(|declared| declared == *inferred)
                });
        if !same {
            let dims: Vec<String> = declared
                .dims
                .iter()
                .map(|dim| dim.map_or_else(|| "?".to_owned(), |dim| dim.to_string()))
                .collect();
            let (name, dtype, dims) = (site.name, declared.dtype.name(), dims.join(","));
            let message = format!("{name} gives {inferred} where {dtype}[{dims}] is declared");
            return Err(Error::bad(message));
        }
    }
    Ok(())
}

pub(super) fn leaf_types<'t>(of: &'t Type, into: &mut Vec<&'t Type>) {
    match of {
        Type::Tuple(items) => items.iter().for_each(|item| leaf_types(item, into)),
        other => into.push(other),
    }
}

/// The binding of a result of this type from the arrays in order.
pub(super) fn gathered(
    of: &Type,
    results: &mut impl Iterator<Item = (ValueId, Shape)>,
) -> Result<Binding> {
    if let Type::Tuple(items) = of {
        let items = items.iter().map(|item| gathered(item, results));
        return Ok(Binding::Tuple(items.collect::<Result<_>>()?));
    }
    let missing = || Error::bad("fewer results than declared");
    let (value, shape) = results.next().ok_or_else(missing)?;
    Ok(Binding::Array(value, shape))
}
