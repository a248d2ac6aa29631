//! Programs as HLO with a buffer assignment: the plan of their temporaries.
use super::messages::{
    Assigned, BufferAllocation, BufferAssignment, HeapEvent, HeapTrace, HloProto, Location,
    LogicalBuffer, Value,
};
use super::module_name;
use super::plane::{Finished, Plane};
use crate::export::signed;
use crate::recorded::{Program, Slot};
use crate::tables::Trace;
use prost::Message as _;
use tpu_proto::xla::{
    HloComputationProto, HloInstructionProto, HloModuleProto, LayoutProto, OpMetadata,
    PrimitiveType, ProgramShapeProto, ShapeProto, TileProto,
};

/// The plane with all programs.
pub(super) fn programs(trace: &Trace) -> Finished {
    let mut plane = Plane::new("/host:metadata");
    for program in &trace.programs {
        let name = module_name(&program.name, program.number);
        let proto = Value::Bytes(proto(program).encode_to_vec());
        plane.event(&name, |plane| (String::new(), vec![plane.stat("Hlo Proto", proto)]));
    }
    plane.finish(2)
}

/// The name of the only computation.
const MAIN: &str = "main";

/// A program with an instruction for each temporary, one for all arguments, one for all constants
/// and one for all results. What an operation reads is no part of a plan, so the results read all.
fn proto(program: &Program) -> HloProto {
    let mut all = Instructions::default();
    let mut assignment = BufferAssignment::default();
    let arguments = all.add("arguments", bytes(program.arguments), "arguments", "");
    let parameter = BufferAllocation {
        is_entry_computation_parameter: true,
        ..assignment.allocate(program.arguments, &[(arguments, program.arguments, 0)])
    };
    assignment.buffer_allocations.push(parameter);
    let constants = all.add("constants", bytes(program.constants), "constants", "");
    let constant = BufferAllocation {
        is_constant: true,
        ..assignment.allocate(program.constants, &[(constants, program.constants, 0)])
    };
    assignment.buffer_allocations.push(constant);
    let slots: Vec<(i64, &Slot)> = program
        .slots
        .iter()
        .map(|slot| {
            let name = slot.operation.rsplit('.').next().unwrap_or_default();
            (all.add(name, shape(slot), &slot.operation, &slot.line), slot)
        })
        .collect();
    let placed: Vec<(i64, u64, u64)> =
        slots.iter().map(|&(id, slot)| (id, slot.size, slot.offset)).collect();
    let temporaries = assignment.allocate(program.temporaries, &placed);
    let index = temporaries.index;
    assignment.buffer_allocations.push(temporaries);
    let results = all.add("results", bytes(program.results), "results", "");
    let live_out = BufferAllocation {
        maybe_live_out: true,
        ..assignment.allocate(program.results, &[(results, program.results, 0)])
    };
    assignment.buffer_allocations.push(live_out);
    assignment.name_buffers(&all.0);
    assignment.heap_simulator_traces.push(heap(&slots, &all.0, index));
    HloProto { hlo_module: Some(all.module(program)), buffer_assignment: Some(assignment) }
}

impl BufferAssignment {
    /// The next allocation, with buffers of instructions: number, size, offset.
    fn allocate(&mut self, size: u64, buffers: &[(i64, u64, u64)]) -> BufferAllocation {
        let assigned = buffers.iter().map(|&(id, size, offset)| {
            let buffer = LogicalBuffer { id, size: signed(size), defined_at: None };
            self.logical_buffers.push(buffer);
            Assigned { logical_buffer_id: id, offset: signed(offset), size: signed(size) }
        });
        let assigned = assigned.collect();
        BufferAllocation {
            index: signed(self.buffer_allocations.len() as u64),
            size: signed(size),
            assigned,
            ..BufferAllocation::default()
        }
    }

    /// Says of each buffer which instruction makes it; their numbers are the same.
    fn name_buffers(&mut self, instructions: &[HloInstructionProto]) {
        for buffer in &mut self.logical_buffers {
            let made = instructions.iter().find(|of| of.id == buffer.id);
            buffer.defined_at = made.map(|of| Location {
                instruction_name: of.name.clone(),
                shape_index: Vec::new(),
                instruction_id: of.id,
            });
        }
    }
}

/// When temporaries are taken and given back, in the order of the program.
fn heap(slots: &[(i64, &Slot)], instructions: &[HloInstructionProto], index: i64) -> HeapTrace {
    let mut events: Vec<(u64, i32, i64)> = slots
        .iter()
        .flat_map(|&(id, slot)| [(slot.first, 0, id), (slot.last.max(slot.first), 1, id)])
        .collect();
    events.sort_unstable();
    let named = |id| instructions.iter().find(|of: &&HloInstructionProto| of.id == id);
    let events = events.into_iter().map(|(_, kind, buffer_id)| HeapEvent {
        kind,
        buffer_id,
        computation_name: MAIN.to_owned(),
        instruction_name: named(buffer_id).map(|of| of.name.clone()).unwrap_or_default(),
    });
    HeapTrace { events: events.collect(), buffer_allocation_index: index }
}

/// The instructions so far. The number of each is its place plus 1.
#[derive(Default)]
struct Instructions(Vec<HloInstructionProto>);

impl Instructions {
    fn add(&mut self, name: &str, shape: ShapeProto, target: &str, line: &str) -> i64 {
        let id = signed(self.0.len() as u64 + 1);
        let (file, number) = match line.split(':').collect::<Vec<_>>()[..] {
            [file, number, ..] => (file, number.parse().unwrap_or(0)),
            _ => (line, 0),
        };
        let plain = |char: char| match char {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => char,
            _ => '_',
        };
        self.0.push(HloInstructionProto {
            name: format!("{}.{id}", name.chars().map(plain).collect::<String>()),
            // XLA takes any operands of it, and knows no operation of StableHLO.
            opcode: "custom-call".to_owned(),
            shape: Some(shape),
            metadata: Some(OpMetadata {
                op_type: target.to_owned(),
                op_name: format!("{target} {line}").trim().to_owned(),
                source_file: file.to_owned(),
                source_line: number,
                ..OpMetadata::default()
            }),
            custom_call_target: target.to_owned(),
            id,
            ..HloInstructionProto::default()
        });
        id
    }

    /// The module, whose last instruction is its root and reads all others.
    fn module(mut self, program: &Program) -> HloModuleProto {
        let ids: Vec<i64> = self.0.iter().map(|of| of.id).collect();
        let result = self.0.last().and_then(|root| root.shape.clone());
        let root_id = ids.last().copied().unwrap_or(0);
        if let Some(root) = self.0.last_mut() {
            root.operand_ids = ids[..ids.len() - 1].to_vec();
        }
        let shape = ProgramShapeProto { result, ..ProgramShapeProto::default() };
        HloModuleProto {
            name: program.name.clone(),
            entry_computation_name: MAIN.to_owned(),
            computations: vec![HloComputationProto {
                name: MAIN.to_owned(),
                instructions: self.0,
                program_shape: Some(shape.clone()),
                id: 1,
                root_id,
            }],
            host_program_shape: Some(shape),
            id: signed(program.number),
            entry_computation_id: 1,
            ..HloModuleProto::default()
        }
    }
}

/// So many bytes, as an array of them.
fn bytes(count: u64) -> ShapeProto {
    ShapeProto {
        element_type: PrimitiveType::U8.into(),
        dimensions: vec![signed(count)],
        layout: Some(LayoutProto { minor_to_major: vec![0], ..LayoutProto::default() }),
        is_dynamic_dimension: vec![false],
        ..ShapeProto::default()
    }
}

/// The array of a temporary, with its tiles.
fn shape(slot: &Slot) -> ShapeProto {
    let name = slot.dtype.to_uppercase();
    let Some(element) = PrimitiveType::from_str_name(&name) else { return bytes(slot.size) };
    let (order, tiles) = layout(&slot.layout);
    let order = if order.len() == slot.shape.len() {
        order
    } else {
        (0..slot.shape.len() as u64).rev().map(signed).collect()
    };
    ShapeProto {
        element_type: element.into(),
        dimensions: slot.shape.iter().copied().map(signed).collect(),
        layout: Some(LayoutProto { minor_to_major: order, tiles, ..LayoutProto::default() }),
        is_dynamic_dimension: vec![false; slot.shape.len()],
        ..ShapeProto::default()
    }
}

/// The order of axes and the tiles of a layout such as `{1,0:T(8,128)(2,1)}`.
fn layout(text: &str) -> (Vec<i64>, Vec<TileProto>) {
    let inner = text.trim_start_matches('{').trim_end_matches('}');
    let (order, rest) = inner.split_once(':').unwrap_or((inner, ""));
    let numbers = |text: &str| text.split(',').filter_map(|of| of.parse().ok()).collect();
    let tiles = rest.strip_prefix('T').unwrap_or_default();
    let mut found = Vec::new();
    let mut left = tiles;
    while let Some((tile, behind)) = left.strip_prefix('(').and_then(|of| of.split_once(')')) {
        found.push(TileProto { dimensions: numbers(tile) });
        left = behind;
    }
    (numbers(order), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_has_an_order_and_tiles() {
        let (order, tiles) = layout("{1,0:T(8,128)(2,1)}");
        let tiles: Vec<Vec<i64>> = tiles.into_iter().map(|tile| tile.dimensions).collect();
        assert_eq!((order, tiles), (vec![1, 0], vec![vec![8, 128], vec![2, 1]]));
        assert_eq!(layout("{:T(256)}").0, Vec::<i64>::new());
        assert_eq!(layout("").1, vec![]);
    }
}
