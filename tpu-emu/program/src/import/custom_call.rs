//! Custom calls to registered targets: what the handler is told, layouts, shared memory.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::Loader;
use super::op::{gathered, leaf_types};
use super::scope::Scope;
use super::types::declared;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::movement::strided_view::Access;
use tpu_ops::custom_call::{Abi, Backend, CallKernel, CallSite};
use tpu_ops::{Kernel, name_of};
use tpu_stablehlo::ir::{Attribute, Attributes, Operation, Type};

/// A call with what it takes and gives.
struct Called {
    site: CallSite,
    values: Vec<ValueId>,
    shapes: Vec<Shape>,
    made: Vec<Shape>,
    /// The order of axes, major first, that each operand is to have; `None` where it is row-major.
    operand_orders: Vec<Option<Vec<usize>>>,
    /// The order of axes that each result has.
    result_orders: Vec<Option<Vec<usize>>>,
}

impl<'m> Loader<'m> {
    /// The place of a call, with the operands' values and shapes, the shapes of the results, and
    /// the order of axes that each operand and result is to have.
    fn call_site(&self, scope: &Scope<'m>, operation: &'m Operation) -> Result<Called> {
        let name = operation.attributes.text("call_target_name").unwrap_or_default();
        let (abi, backend) = interface(name, &operation.attributes)?;

        let (mut values, mut shapes) = (Vec::new(), Vec::new());
        let mut types = Vec::new();
        for &operand in &operation.operands {
            scope.binding(operand)?.arrays(&mut values, &mut shapes);
            leaf_types(scope.type_of(operand)?, &mut types);
        }
        let operands = seen(&shapes, &types);
        let result_types: Vec<&Type> =
            operation.results.iter().map(|&result| scope.type_of(result)).collect::<Result<_>>()?;
        let mut leaves = Vec::new();
        result_types.iter().for_each(|of| leaf_types(of, &mut leaves));
        let made: Vec<Shape> = leaves
            .iter()
            .map(|of| {
                let unknown = || {
                    let what = "a result of unknown extent";
                    Error::Unimplemented(format!("custom call \"{name}\" with {what}"))
                };
                declared(of)?.shape().ok_or_else(unknown)
            })
            .collect::<Result<_>>()?;
        let results = seen(&made, &leaves);
        let aliases = aliases(&operation.attributes, &operands, &results)?;
        let orders = |name, of: &[Shape]| orders(&operation.attributes, name, of);
        let operand_orders = orders("operand_layouts", &operands)?;
        let result_orders = orders("result_layouts", &results)?;
        for (alias, order) in aliases.iter().zip(&result_orders) {
            if alias.is_some_and(|operand| operand_orders[operand] != *order) {
                return Err(Error::bad(format!(
                    "custom call \"{name}\": a result shares memory of another layout"
                )));
            }
        }

        let line = self.module.locations.line(operation.location).map(Into::into);
        let site = CallSite {
            target: name.into(),
            kernel_name: operation.attributes.text("kernel_name").map(Into::into),
            abi,
            backend,
            operands,
            results,
            tuple: !matches!(result_types[..], [of] if !matches!(of, Type::Tuple(_))),
            aliases,
            partition: self.partition,
            line,
        };
        Ok(Called { site, values, shapes, made, operand_orders, result_orders })
    }

    /// The kernel of a call on devices that run it together, and the shapes of what each gives.
    pub(crate) fn compiled_kernel(
        &mut self,
        scope: &Scope<'m>,
        operation: &'m Operation,
        devices: &[usize],
    ) -> Result<(Arc<dyn Kernel>, Vec<Shape>)> {
        let Called { site, made, operand_orders, result_orders, .. } =
            self.call_site(scope, operation)?;
        let name = &site.target;
        if operand_orders.iter().chain(&result_orders).any(Option::is_some) {
            let what = format!("custom call \"{name}\" with arrays that are not row-major");
            return Err(Error::Unimplemented(what));
        }
        let kernel = self.custom_calls.and_then(|linker| linker.compiled(&site, devices));
        let kernel = kernel.ok_or_else(|| {
            let what = "over several devices, which are planned one by one";
            Error::Unimplemented(format!("custom call \"{name}\" {what}"))
        })??;
        self.count_call(&*kernel, &site);
        Ok((kernel.into(), made))
    }

    /// Counts the work of a call.
    fn count_call(&mut self, kernel: &dyn Kernel, site: &CallSite) {
        let cost = kernel.cost();
        self.graph.cost.flops += cost.flops;
        self.graph.cost.transcendentals += cost.transcendentals;
        let moved: usize = site.operands.iter().chain(&site.results).map(Shape::bytes).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let moved = kernel.bytes_accessed().unwrap_or(moved as f64);
        self.graph.bytes_accessed += moved;
    }

    /// A call of a target that somebody registered.
    pub(super) fn registered_call(
        &mut self,
        scope: &mut Scope<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let name = operation.attributes.text("call_target_name").unwrap_or_default();
        let linker = self.custom_calls.ok_or_else(|| {
            let what = "inside of a computation that runs once an element";
            Error::Unimplemented(format!("custom call \"{name}\" {what}"))
        })?;
        let Called { site, mut values, mut shapes, made, operand_orders, result_orders } =
            self.call_site(scope, operation)?;
        let result_types: Vec<&Type> =
            operation.results.iter().map(|&result| scope.type_of(result)).collect::<Result<_>>()?;
        let kernel: Arc<dyn Kernel> = match linker.compiled(&site, &[self.partition]) {
            Some(kernel) => {
                let kernel = kernel?;
                self.count_call(&*kernel, &site);
                kernel.into()
            }
            None => {
                let moved: usize = shapes.iter().chain(&made).map(Shape::bytes).sum();
                let kernel = CallKernel::new(linker.link(site)?, self.graph.calls);
                self.graph.calls += 1;
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let moved = moved as f64;
                self.graph.bytes_accessed += moved;
                Arc::new(kernel)
            }
        };
        self.count_nodes(1)?;
        for (at, order) in operand_orders.into_iter().enumerate() {
            let Some(order) = order else { continue };
            let (access, shape) = to_order(&shapes[at], &order);
            values[at] = self.access(operation, access, values[at], &shapes[at], &shape, into)?;
            shapes[at] = shape;
        }
        let physical: Vec<Shape> = made
            .iter()
            .zip(&result_orders)
            .map(|(shape, order)| match order {
                Some(order) => to_order(shape, order).1,
                None => shape.clone(),
            })
            .collect();
        let ids: Vec<ValueId> =
            physical.iter().map(|shape| self.graph.add(shape.clone())).collect();
        into.nodes.push(Node {
            work: NodeKind::Kernel(kernel),
            operands: values,
            shapes,
            results: ids.clone(),
            name: name.into(),
            location: operation.location,
            effect: operation.attributes.flag("has_side_effect"),
        });
        let mut arrays = Vec::new();
        for (((&id, shape), order), made) in ids.iter().zip(&physical).zip(&result_orders).zip(made)
        {
            let value = match order {
                Some(order) => {
                    let access = from_order(shape, order);
                    self.access(operation, access, id, shape, &made, into)?
                }
                None => id,
            };
            arrays.push((value, made));
        }
        let mut arrays = arrays.into_iter();
        for (&result, of) in operation.results.iter().zip(result_types) {
            let binding = gathered(of, &mut arrays)?;
            scope.bind(result, binding)?;
        }
        Ok(())
    }

    /// Puts a reordering into the block.
    fn access(
        &mut self,
        operation: &Operation,
        access: Access,
        from: ValueId,
        shape: &Shape,
        to: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        self.count_nodes(1)?;
        let result = self.graph.add(to.clone());
        into.nodes.push(Node {
            work: NodeKind::Access(access),
            operands: vec![from],
            shapes: vec![shape.clone()],
            results: vec![result],
            name: name_of(operation).into(),
            location: operation.location,
            effect: false,
        });
        Ok(result)
    }
}

/// Arrays as a handler sees them: tokens are tokens.
fn seen(shapes: &[Shape], types: &[&Type]) -> Vec<Shape> {
    let one = |(shape, of): (&Shape, &&Type)| match of {
        Type::Token => Shape::scalar(DType::Token),
        _ => shape.clone(),
    };
    shapes.iter().zip(types).map(one).collect()
}

/// How a target is called and what it is told. A dictionary beside the operation makes the call
/// typed, whatever version it states: so JAX writes it.
fn interface(name: &str, attributes: &Attributes) -> Result<(Abi, Backend)> {
    let version = attributes.text("api_version").unwrap_or("API_VERSION_ORIGINAL");
    let own = attributes.get("backend_config");
    let beside = attributes.get("mhlo.backend_config");
    for found in [beside, own].into_iter().flatten() {
        if let Attribute::Dictionary(given) = found {
            let mut given = given.clone();
            given.sort();
            return Ok((Abi::Typed, Backend::Attributes(given)));
        }
    }
    let text: Arc<[u8]> = match own.or(beside) {
        None => Arc::default(),
        Some(Attribute::String(text)) => Arc::clone(text),
        Some(other) => {
            let what = format!("a backend_config that is neither text nor dictionary: {other:?}");
            return Err(Error::bad(format!("custom call \"{name}\" with {what}")));
        }
    };
    let abi = match version {
        "API_VERSION_UNSPECIFIED" | "API_VERSION_ORIGINAL" => Abi::Original,
        "API_VERSION_STATUS_RETURNING" => Abi::Status,
        "API_VERSION_STATUS_RETURNING_UNIFIED" => Abi::StatusUnified,
        "API_VERSION_TYPED_FFI" => {
            return Ok((Abi::Typed, Backend::Attributes(dictionary(name, &text)?)));
        }
        other => {
            return Err(Error::Unimplemented(format!("custom call \"{name}\" of version {other}")));
        }
    };
    Ok((abi, Backend::Opaque(text)))
}

/// The attributes of a typed call that come as MLIR text.
fn dictionary(name: &str, text: &[u8]) -> Result<Attributes> {
    if text.is_empty() {
        return Ok(Attributes::default());
    }
    let wrong = |why: String| Error::bad(format!("custom call \"{name}\": backend_config: {why}"));
    let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
    match tpu_stablehlo::text::attribute(text).map_err(|error| wrong(error.to_string()))? {
        Attribute::Dictionary(mut given) => {
            given.sort();
            Ok(given)
        }
        _ => Err(wrong("no dictionary".to_owned())),
    }
}

/// The operand whose memory each result shares.
fn aliases(
    attributes: &Attributes,
    operands: &[Shape],
    results: &[Shape],
) -> Result<Vec<Option<usize>>> {
    let mut aliases = vec![None; results.len()];
    let Some(Attribute::Array(stated)) = attributes.get("output_operand_aliases") else {
        return Ok(aliases);
    };
    for stated in stated {
        let Attribute::OutputAlias(alias) = stated else {
            return Err(Error::bad(format!("output_operand_aliases has {stated:?}")));
        };
        let result = match &alias.output[..] {
            [] => Some(0),
            [index] => usize::try_from(*index).ok(),
            path => {
                let what = format!("an output alias at path {path:?}");
                return Err(Error::Unimplemented(what));
            }
        };
        if !alias.operand_path.is_empty() {
            let path = &alias.operand_path;
            return Err(Error::Unimplemented(format!("an operand alias at path {path:?}")));
        }
        let operand = usize::try_from(alias.operand).ok();
        let shapes = (
            result.and_then(|result| results.get(result)),
            operand.and_then(|operand| operands.get(operand)),
        );
        let ((Some(made), Some(from)), Some(result), Some(operand)) = (shapes, result, operand)
        else {
            let (had, wanted) = (operands.len(), results.len());
            return Err(Error::bad(format!("{alias:?} with {had} operands and {wanted} results")));
        };
        if made != from {
            return Err(Error::bad(format!(
                "result {result}, {made}, cannot share the memory of operand {operand}, {from}"
            )));
        }
        if aliases.contains(&Some(operand)) || aliases[result].is_some() {
            return Err(Error::bad(format!("two output aliases of operand {operand}")));
        }
        aliases[result] = Some(operand);
    }
    Ok(aliases)
}

/// The order of axes, major first, that each array is to have; `None` where it is row-major.
fn orders(
    attributes: &Attributes,
    name: &str,
    shapes: &[Shape],
) -> Result<Vec<Option<Vec<usize>>>> {
    let Some(Attribute::Array(stated)) = attributes.get(name) else {
        return Ok(vec![None; shapes.len()]);
    };
    if stated.len() != shapes.len() {
        let (had, wanted) = (stated.len(), shapes.len());
        return Err(Error::bad(format!("{name} has {had} layouts for {wanted} arrays")));
    }
    let order = |(stated, shape): (&Attribute, &Shape)| {
        let wrong = || Error::bad(format!("{name}: {stated:?} is no order of the axes of {shape}"));
        let given = match stated {
            Attribute::Elements(none) if none.count() == Some(0) => Vec::new(),
            stated => stated.integers().ok_or_else(wrong)?,
        };
        let order: Option<Vec<usize>> =
            given.iter().rev().map(|&axis| usize::try_from(axis).ok()).collect();
        let order = order.ok_or_else(wrong)?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..shape.rank()) {
            return Err(wrong());
        }
        Ok((!order.iter().copied().eq(0..shape.rank())).then_some(order))
    };
    stated.iter().zip(shapes).map(order).collect()
}

fn stride(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}

/// The reordering of a row-major array to axes in another order, and the shape that has.
fn to_order(shape: &Shape, order: &[usize]) -> (Access, Shape) {
    let dense = shape.strides();
    let strides = order.iter().map(|&axis| stride(dense[axis])).collect();
    let dims: Vec<usize> = order.iter().map(|&axis| shape.dims[axis]).collect();
    (Access { offset: 0, strides }, Shape::new(shape.dtype, dims))
}

/// The way back: from axes in this order to row-major.
fn from_order(shape: &Shape, order: &[usize]) -> Access {
    let dense = shape.strides();
    let mut strides = vec![0; order.len()];
    for (place, &axis) in order.iter().enumerate() {
        strides[axis] = stride(dense[place]);
    }
    Access { offset: 0, strides }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_major_order_goes_there_and_back() {
        let shape = Shape::new(DType::F32, vec![2, 3]);
        let (there, physical) = to_order(&shape, &[1, 0]);
        assert_eq!((there.strides, &physical.dims[..]), (vec![1, 3], &[3, 2][..]));
        assert_eq!(from_order(&physical, &[1, 0]).strides, [1, 2]);
    }

    #[test]
    fn a_dictionary_makes_a_call_typed() {
        let mut attributes = Attributes::default();
        attributes.set("backend_config", Attribute::string(""));
        assert_eq!(interface("f", &attributes).unwrap().0, Abi::Original);
        let mut given = Attributes::default();
        given.set("b", Attribute::Bool(true));
        given.set("a", Attribute::Unit);
        attributes.set("mhlo.backend_config", Attribute::Dictionary(given));
        let (abi, Backend::Attributes(given)) = interface("f", &attributes).unwrap() else {
            panic!("attributes")
        };
        assert_eq!(abi, Abi::Typed);
        assert_eq!(given.0.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn versions_and_opaque_texts_are_told_apart() {
        let mut attributes = Attributes::default();
        attributes.set("backend_config", Attribute::string("opaque"));
        for (version, abi) in [
            ("API_VERSION_ORIGINAL", Abi::Original),
            ("API_VERSION_STATUS_RETURNING", Abi::Status),
            ("API_VERSION_STATUS_RETURNING_UNIFIED", Abi::StatusUnified),
        ] {
            attributes.set("api_version", Attribute::Word(version.into()));
            let opaque = Backend::Opaque((*b"opaque").into());
            assert_eq!(interface("f", &attributes).unwrap(), (abi, opaque));
        }
        attributes.set("api_version", Attribute::Word("API_VERSION_TYPED_FFI".into()));
        let text = interface("f", &attributes).unwrap_err().to_string();
        assert!(text.starts_with("custom call \"f\": backend_config: "), "{text}");
        attributes.set("backend_config", Attribute::string("{x = 1 : i32}"));
        assert!(matches!(interface("f", &attributes), Ok((Abi::Typed, _))));
    }

    #[test]
    fn shared_memory_is_checked() {
        let shapes = |count| vec![Shape::scalar(DType::F32); count];
        let alias = |output: &[i64], operand| {
            let alias = tpu_stablehlo::ir::OutputAlias {
                output: output.to_vec(),
                operand,
                operand_path: Vec::new(),
            };
            let mut attributes = Attributes::default();
            let list = Attribute::Array(vec![Attribute::OutputAlias(alias)]);
            attributes.set("output_operand_aliases", list);
            attributes
        };
        let found = aliases(&alias(&[1], 0), &shapes(1), &shapes(2)).unwrap();
        assert_eq!(found, [None, Some(0)]);
        assert_eq!(aliases(&alias(&[], 0), &shapes(1), &shapes(1)).unwrap(), [Some(0)]);
        assert!(aliases(&alias(&[2], 0), &shapes(1), &shapes(2)).is_err());
        assert!(aliases(&alias(&[0], -1), &shapes(1), &shapes(2)).is_err());
        let other = [Shape::scalar(DType::S32)];
        assert!(aliases(&alias(&[0], 0), &other, &shapes(1)).is_err());
    }
}
