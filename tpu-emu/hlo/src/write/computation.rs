//! One computation: instructions over instructions.
use super::{ModuleWriter, WriteResult, memory, operations, program_shape, results, shapes};
use crate::sharding;
use std::collections::HashMap;
use tpu_proto::xla::{
    FrontendAttributes, HloComputationProto, HloInstructionProto, OpMetadata, ShapeProto,
};
use tpu_stablehlo::ir::{Attribute, Function, LocationId, Operation, Value};

/// A computation while it is written.
pub(super) struct Computation<'w, 'm> {
    pub(super) writer: &'w mut ModuleWriter<'m>,
    /// The function that the code is of, whose values have their types there.
    pub(super) function: &'m Function,
    instructions: Vec<HloInstructionProto>,
    /// The instruction of each value.
    values: HashMap<Value, i64>,
    /// The place of each instruction.
    places: HashMap<i64, usize>,
    /// Where the operation that is written comes from.
    metadata: Option<OpMetadata>,
    frontend: Option<FrontendAttributes>,
}

impl<'w, 'm> Computation<'w, 'm> {
    pub(super) fn new(writer: &'w mut ModuleWriter<'m>, function: &'m Function) -> Self {
        Self {
            writer,
            function,
            instructions: Vec::new(),
            values: HashMap::new(),
            places: HashMap::new(),
            metadata: None,
            frontend: None,
        }
    }

    /// A parameter for each value.
    pub(super) fn parameters(&mut self, values: &[Value]) -> WriteResult<()> {
        for (number, value) in (0_i64..).zip(values) {
            let shape = self.type_shape(*value)?;
            let id = self.parameter(number, shape);
            self.values.insert(*value, id);
        }
        Ok(())
    }

    /// One parameter.
    pub(super) fn parameter(&mut self, number: i64, shape: ShapeProto) -> i64 {
        let id = self.push("parameter", shape, &[]);
        let of = self.last();
        of.parameter_number = number;
        of.name = format!("Arg_{number}.{id}");
        id
    }

    pub(super) fn operations(&mut self, operations: &'m [Operation]) -> WriteResult<()> {
        let Some((_, all)) = operations.split_last() else {
            return Err("code without an end".into());
        };
        for operation in all {
            self.metadata = self.origin(operation.location);
            self.frontend = frontend(operation);
            let found = operations::write(self, operation)
                .map_err(|error| format!("{}: {error}", operation.name))?;
            self.metadata = None;
            self.frontend = None;
            match (&*operation.results, found) {
                ([], _) => {}
                ([one], id) => {
                    self.values.insert(*one, id);
                }
                (several, id) => self.take_apart(several, id)?,
            }
        }
        Ok(())
    }

    /// Each value is a part of a tuple.
    pub(super) fn take_apart(&mut self, values: &[Value], tuple: i64) -> WriteResult<()> {
        for (index, value) in (0_i64..).zip(values) {
            let part = self.part(tuple, index)?;
            self.values.insert(*value, part);
        }
        Ok(())
    }

    /// A part of a tuple.
    pub(super) fn part(&mut self, tuple: i64, index: i64) -> WriteResult<i64> {
        let parts = &self.shape(tuple).tuple_shapes;
        let shape = usize::try_from(index).ok().and_then(|at| parts.get(at)).cloned();
        let shape = shape.ok_or_else(|| format!("part {index} of {} results", parts.len()))?;
        let id = self.push("get-tuple-element", shape, &[tuple]);
        self.last().tuple_index = index;
        Ok(id)
    }

    /// Several instructions as one; one alone is itself.
    pub(super) fn joined(&mut self, ids: &[i64]) -> i64 {
        match ids {
            [one] => *one,
            several => self.tuple(several),
        }
    }

    /// A tuple.
    pub(super) fn tuple(&mut self, ids: &[i64]) -> i64 {
        let shape = shapes::tuple(ids.iter().map(|id| self.shape(*id).clone()).collect());
        self.push("tuple", shape, ids)
    }

    /// Adds an instruction.
    pub(super) fn push(&mut self, opcode: &str, shape: ShapeProto, operands: &[i64]) -> i64 {
        self.writer.instructions += 1;
        let id = self.writer.instructions;
        self.places.insert(id, self.instructions.len());
        self.instructions.push(HloInstructionProto {
            name: format!("{opcode}.{id}"),
            opcode: opcode.to_owned(),
            shape: Some(shape),
            metadata: self.metadata.clone(),
            frontend_attributes: self.frontend.clone(),
            id,
            operand_ids: operands.to_vec(),
            ..HloInstructionProto::default()
        });
        id
    }

    /// The instruction that was added last.
    pub(super) fn last(&mut self) -> &mut HloInstructionProto {
        let last = self.instructions.len() - 1;
        &mut self.instructions[last]
    }

    /// The shape of an instruction.
    pub(super) fn shape(&self, id: i64) -> &ShapeProto {
        static NONE: std::sync::LazyLock<ShapeProto> =
            std::sync::LazyLock::new(ShapeProto::default);
        let place = self.places.get(&id).and_then(|place| self.instructions.get(*place));
        place.and_then(|one| one.shape.as_ref()).unwrap_or(&NONE)
    }

    /// The instruction of a value.
    pub(super) fn value(&self, value: Value) -> WriteResult<i64> {
        let found = self.values.get(&value).copied();
        found.ok_or_else(|| format!("value {} of outside", value.0).into())
    }

    pub(super) fn values_of(&self, values: &[Value]) -> WriteResult<Vec<i64>> {
        values.iter().map(|value| self.value(*value)).collect()
    }

    /// The instruction of a value that is a constant.
    pub(super) fn constant(&self, value: Value) -> Option<&HloInstructionProto> {
        let place = self.places.get(self.values.get(&value)?)?;
        self.instructions.get(*place).filter(|one| one.opcode == "constant")
    }

    pub(super) fn define(&mut self, value: Value, id: i64) {
        self.values.insert(value, id);
    }

    /// The shape of a value by its type.
    pub(super) fn type_shape(&self, value: Value) -> WriteResult<ShapeProto> {
        shapes::of(self.function.type_of(value))
    }

    /// The shape of what an operation gives.
    pub(super) fn result_shape(&self, operation: &Operation) -> WriteResult<ShapeProto> {
        let shapes = operation.results.iter().map(|value| self.type_shape(*value));
        Ok(shapes::joined(shapes.collect::<WriteResult<_>>()?))
    }

    /// The instruction of what code gives.
    pub(super) fn root(&mut self, operations: &[Operation]) -> WriteResult<i64> {
        let ids = self.values_of(results(operations)?)?;
        Ok(self.joined(&ids))
    }

    /// Ends the computation with an instruction; its number.
    pub(super) fn finish(self, name: &str, root_id: i64) -> i64 {
        let parameters = self.instructions.iter().filter(|one| one.opcode == "parameter");
        let parameters = parameters.filter_map(|one| one.shape.clone()).collect();
        let program_shape = Some(program_shape(parameters, self.shape(root_id).clone()));
        let Self { writer, instructions, .. } = self;
        writer.instructions += 1;
        let id = writer.instructions;
        let name = format!("{name}.{id}");
        let whole = HloComputationProto { name, instructions, program_shape, id, root_id };
        writer.computations.push(whole);
        id
    }

    fn origin(&self, location: LocationId) -> Option<OpMetadata> {
        let locations = &self.writer.module.locations;
        let op_name = locations.operation_name(location).unwrap_or_default().to_owned();
        let stack = locations.stack(location);
        let line = stack.first();
        let number = |value: u32| i32::try_from(value).unwrap_or(0);
        let metadata = OpMetadata {
            op_name,
            source_file: line.map(|line| line.file.to_string()).unwrap_or_default(),
            source_line: line.map_or(0, |line| number(line.line)),
            ..OpMetadata::default()
        };
        (metadata != OpMetadata::default()).then_some(metadata)
    }

    /// Gives an instruction the sharding that an operation states.
    pub(super) fn sharded(&mut self, operation: &Operation) {
        let stated = operation.attributes.text("mhlo.sharding");
        self.last().sharding = stated.and_then(sharding::parse);
    }

    /// Marks an instruction as one whose arrays lie in the memory of the host.
    pub(super) fn on_host(&mut self, id: i64) {
        if let Some(place) = self.places.get(&id).copied()
            && let Some(shape) = self.instructions[place].shape.as_mut()
        {
            memory::set(shape, memory::HOST);
        }
    }
}

fn frontend(operation: &Operation) -> Option<FrontendAttributes> {
    let Some(Attribute::Dictionary(named)) = operation.attributes.get("mhlo.frontend_attributes")
    else {
        return None;
    };
    let text = |value: &Attribute| value.as_str().unwrap_or_default().to_owned();
    let map = named.0.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    Some(FrontendAttributes { map })
}
