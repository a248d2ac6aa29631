//! Code inside of reductions, scatters, sorts: an elementwise program where every operation is
//! elementwise, a small program of its own otherwise.
use super::super::graph::{Graph, Node, NodeKind, Subgraph};
use super::masks::{Masks, choice, is_mask};
use super::op::entry_of;
use super::scope::{Binding, Scope};
use super::types::declared;
use super::{Loader, one_block};
use crate::elementwise_body::ElementwiseBody;
use crate::sharding::groups::Devices;
use crate::tuning::{MAX_CALL_DEPTH, MAX_REGION_STEPS};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::elementwise::program::{
    ElementwiseConstant, ElementwiseOp, ElementwiseProgram, Instr, Register,
};
use tpu_kernels::vm::CompiledLoop;
use tpu_ops;
use tpu_ops::{CONSTANT, Lowered, RegionCode, Site, callee, name_of};
use tpu_stablehlo::ir::{self, Operation, Region, Value};

/// Registers of the values of one function, while its code becomes an elementwise program.
struct ElementwiseBuilder<'l, 'm> {
    loader: &'l Loader<'m>,
    program: ElementwiseProgram,
    /// Functions that were inlined.
    calls: usize,
}

type NodeRegisters = HashMap<Value, (Register, Shape)>;

impl<'m> Loader<'m> {
    /// The code of a region.
    pub(crate) fn body(
        &self,
        scope: &Scope<'m>,
        region: &'m Region,
        of: &str,
        called: Option<&'m str>,
    ) -> Result<Arc<dyn RegionCode>> {
        let block = one_block(region, of)?;
        let parameters: Vec<Shape> = block
            .arguments
            .iter()
            .map(|&argument| {
                let shape = declared(scope.type_of(argument)?)?.shape();
                shape.ok_or_else(|| {
                    Error::Unimplemented(format!("{of} with unknown extents inside"))
                })
            })
            .collect::<Result<_>>()?;
        let mut builder =
            ElementwiseBuilder { loader: self, program: ElementwiseProgram::default(), calls: 0 };
        if parameters.iter().all(|shape| shape.elements() == 1)
            && let Some(results) = builder.whole(scope, block, &parameters)
        {
            let code = CompiledLoop::of(builder.program);
            return Ok(Arc::new(ElementwiseBody { code, parameters, results }));
        }
        self.general(scope, block, parameters, called)
    }

    /// A region with other operations than elementwise ones.
    fn general(
        &self,
        scope: &Scope<'m>,
        block: &'m ir::Block,
        parameters: Vec<Shape>,
        called: Option<&'m str>,
    ) -> Result<Arc<dyn RegionCode>> {
        let mut inner = Loader {
            module: self.module,
            numerics: self.numerics,
            custom_calls: None,
            make_body: self.make_body,
            folds: self.folds,
            one_body: self.one_body,
            graph: Graph { numerics: self.numerics, ..Graph::default() },
            reasons: Vec::new(),
            code: None,
            calls: self.calls.iter().copied().chain(called).collect(),
            called_at: self.called_at,
            nodes: 0,
            inlined: 0,
            devices: Devices::ONE,
            partition: self.partition,
            own_number: None,
            partition_context: false,
            inside: HashMap::new(),
            alike: HashMap::new(),
            constants: HashMap::new(),
            masks: Masks::default(),
            common: self.common.emptied(),
        };
        let mut main = Subgraph::default();
        let mut inside = scope.known_only(&self.graph, &mut inner.graph, &mut main);
        for &argument in &block.arguments {
            let binding = inner.parameter(scope.type_of(argument)?, &mut main)?;
            inside.bind(argument, binding)?;
        }
        let bindings = inner.block(&mut inside, block, &mut main)?;
        if let Some(code) = inner.code {
            return Err(Error::Program { code, reasons: inner.reasons });
        }
        let mut results = Vec::new();
        bindings.iter().for_each(|binding| binding.arrays(&mut main.results, &mut results));
        inner.graph.main = main;
        (self.make_body)(inner.graph, parameters, results)
    }
}

impl<'m> ElementwiseBuilder<'_, 'm> {
    fn whole(
        &mut self,
        scope: &Scope<'m>,
        block: &'m ir::Block,
        parameters: &[Shape],
    ) -> Option<Vec<Shape>> {
        let mut registers = NodeRegisters::new();
        for (index, (&argument, shape)) in block.arguments.iter().zip(parameters).enumerate() {
            self.program.parameters.push(shape.dtype);
            registers.insert(argument, (Register::Parameter(index), shape.clone()));
        }
        let results = self.block(scope, block, &mut registers, 0)?;
        self.program.results = results.iter().map(|(register, _)| *register).collect();
        Some(results.into_iter().map(|(_, shape)| shape).collect())
    }

    fn block(
        &mut self,
        scope: &Scope<'m>,
        block: &'m ir::Block,
        registers: &mut NodeRegisters,
        depth: usize,
    ) -> Option<Vec<(Register, Shape)>> {
        let (last, operations) = block.operations.split_last()?;
        for operation in operations {
            self.operation(scope, operation, registers, depth)?;
        }
        last.operands.iter().map(|value| self.read(scope, *value, registers)).collect()
    }

    fn operation(
        &mut self,
        scope: &Scope<'m>,
        operation: &'m Operation,
        registers: &mut NodeRegisters,
        depth: usize,
    ) -> Option<()> {
        let operands: Vec<(Register, Shape)> = operation
            .operands
            .iter()
            .map(|value| self.read(scope, *value, registers))
            .collect::<Option<_>>()?;
        if let Some(name) = callee(operation) {
            let callee = self.loader.module.function(name)?;
            let block = one_block(&callee.body, name).ok()?;
            self.calls += 1;
            if depth >= MAX_CALL_DEPTH
                || self.calls > MAX_REGION_STEPS
                || block.arguments.len() != operands.len()
            {
                return None;
            }
            let mut inner: NodeRegisters = block.arguments.iter().copied().zip(operands).collect();
            let results = self.block(&Scope::new(callee), block, &mut inner, depth + 1)?;
            registers.extend(operation.results.iter().copied().zip(results));
            return Some(());
        }
        if !operation.regions.is_empty() || self.program.steps.len() >= MAX_REGION_STEPS {
            return None;
        }
        let entry = entry_of(operation).ok()?;
        let shapes: Vec<Shape> = operands.iter().map(|(_, shape)| shape.clone()).collect();
        let known: Vec<_> = operands.iter().map(|(register, _)| self.known(*register)).collect();
        let types =
            operation.results.iter().map(|&result| declared(scope.type_of(result).ok()?).ok());
        let declared = types.collect::<Option<Vec<_>>>()?;
        let mut site = Site {
            name: name_of(operation),
            attributes: &operation.attributes,
            operands: &shapes,
            known: &known,
            declared: &declared,
            results: &[],
            bodies: &[],
            numerics: self.loader.numerics,
            partition: self.loader.partition,
        };
        let results = (entry.infer)(&site).ok()?;
        site.results = &results;
        if results.iter().any(|shape| shape.elements() != 1) {
            return None;
        }
        let lowered = (entry.lower)(&site).ok()?;
        let mut bound = Vec::new();
        match lowered {
            Lowered::Elementwise(op) => {
                let inputs: Vec<Register> =
                    operands.iter().map(|(register, _)| *register).collect();
                let step = match self.choice(&op, &inputs, &results[0]) {
                    Some(step) => step,
                    None => Instr { op, inputs },
                };
                self.program.steps.push(step);
                bound.push(Register::Step(self.program.steps.len() - 1));
            }
            Lowered::View | Lowered::Access(_) => bound.push(operands.first()?.0),
            Lowered::Forward | Lowered::Barrier => {
                bound.extend(operands.iter().map(|(register, _)| *register))
            }
            Lowered::Constant(bytes) | Lowered::Splat(bytes) => {
                bound.push(self.constant(&bytes, &results[0]));
            }
            Lowered::Iota(_) => {
                let zero = vec![0; results[0].dtype.host_bytes()];
                bound.push(self.constant(&zero, &results[0]));
            }
            Lowered::Spread(..) | Lowered::Kernel(_) => return None,
        }
        let bound = bound.into_iter().zip(results);
        registers.extend(operation.results.iter().copied().zip(bound));
        Some(())
    }

    /// The choice that a product is, if one of its operands is a mask.
    fn choice(
        &mut self,
        product: &ElementwiseOp,
        inputs: &[Register],
        shape: &Shape,
    ) -> Option<Instr> {
        let &[a, b] = inputs else { return None };
        let (pred, other) = [(a, b), (b, a)].into_iter().find_map(|(mask, other)| {
            let Register::Step(index) = mask else { return None };
            let step = self.program.steps.get(index).filter(|step| is_mask(&step.op))?;
            let pred = *step.inputs.first()?;
            (!matches!(pred, Register::Constant(_))).then_some((pred, other))
        })?;
        let op = choice(product, shape).ok()??;
        let zero = self.constant(&vec![0; shape.dtype.host_bytes()], shape);
        Some(Instr { op, inputs: vec![pred, other, zero] })
    }

    fn constant(&mut self, bytes: &[u8], shape: &Shape) -> Register {
        let constant = ElementwiseConstant { dtype: shape.dtype, bytes: bytes.into() };
        let constants = &mut self.program.constants;
        let found = constants.iter().position(|known| *known == constant);
        Register::Constant(found.unwrap_or_else(|| {
            constants.push(constant);
            constants.len() - 1
        }))
    }

    fn known(&self, register: Register) -> Option<Arc<[u8]>> {
        match register {
            Register::Constant(index) => Some((*self.program.constants[index].bytes).into()),
            _ => None,
        }
    }

    /// A value of the region, or a known one around it.
    fn read(
        &mut self,
        scope: &Scope<'m>,
        value: Value,
        registers: &NodeRegisters,
    ) -> Option<(Register, Shape)> {
        if let Some(found) = registers.get(&value) {
            return Some(found.clone());
        }
        let (id, shape) = scope.binding(value).ok()?.array().ok()?;
        let known = self.loader.graph.value(id).known.clone()?;
        (shape.elements() == 1).then(|| (self.constant(&known, shape), shape.clone()))
    }
}

impl<'m> Scope<'m> {
    /// A scope for code that is compiled on its own: only what is known at compile time is
    /// visible in it.
    fn known_only(&self, from: &Graph, to: &mut Graph, into: &mut Subgraph) -> Self {
        let mut copy = self.emptied();
        copy.adopt(self, &mut |binding| {
            let Binding::Array(id, shape) = binding else { return None };
            let known = from.value(*id).known.clone()?;
            let value = to.add(shape.clone());
            to.values[value.index()].known = Some(Arc::clone(&known));
            into.nodes.push(Node {
                work: NodeKind::Constant(known),
                operands: Vec::new(),
                shapes: Vec::new(),
                results: vec![value],
                name: CONSTANT.mnemonic.into(),
                location: ir::LocationId::UNKNOWN,
                effect: false,
            });
            Some(Binding::Array(value, shape.clone()))
        });
        copy
    }
}
