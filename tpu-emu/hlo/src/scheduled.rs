//! What a compiled program keeps in a device's memory, and when: from its instructions in the
//! order of its schedule.
//!
//! The assignment of buffers is no part of what a compiler gives, so that offsets are not known,
//! and which values share a buffer is known only where the program says it.
use crate::reader::{ModuleReader, shape_of};
use crate::tiled::{Tiled, tiled};
use crate::{ReadError, entry, shape};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use tpu_proto::Message as _;
use tpu_proto::xla::{
    HloInstructionProto, HloModuleProto, HloModuleScheduleProto, HloProto, PrimitiveType,
    ShapeProto,
};

/// The values of a compiled program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scheduled {
    /// The values in the device's memory but for parameters and results, in the order in which
    /// they are made.
    pub values: Vec<ScheduledValue>,
    /// How many positions the order has: its instructions, those of loops and branches once.
    pub positions: u64,
}

/// A value in the device's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledValue {
    /// The instruction's opcode.
    pub operation: String,
    /// Where that was written: file and line; empty where unknown.
    pub line: String,
    /// What it is, and how it lies.
    pub array: Tiled,
    /// The position that makes it.
    pub first: u64,
    /// The last position that reads it.
    pub last: u64,
}

/// Reads a serialized `HloModuleProtoWithConfig` that a compiler has made.
///
/// # Errors
/// Bytes that are no such message, and a program that contradicts itself.
pub fn scheduled(bytes: &[u8]) -> Result<Scheduled, ReadError> {
    let damaged = |error| ReadError::new(format!("no HLO program: {error}"));
    // Field 1 of both messages is a module.
    let bytes = HloProto::decode(bytes).map_err(damaged)?.hlo_module;
    let module = HloModuleProto::decode(bytes.as_slice()).map_err(damaged)?;
    let schedule = HloModuleScheduleProto::decode(bytes.as_slice()).map_err(damaged)?;
    let orders = schedule.schedule.unwrap_or_default().sequences.into_iter();
    let mut walk = ScheduleWalk {
        reader: ModuleReader::new(&module, bytes.len())?,
        orders: orders.map(|(id, order)| (id, order.instruction_ids)).collect(),
        buffers: Vec::new(),
        position: 0,
    };
    let entry = entry::entry(&walk.reader)?;
    let parameters = walk.reader.parameters(entry)?;
    let mut arguments = Vec::new();
    for parameter in parameters {
        arguments.push(Leaves::from(vec![None; shape::count(shape_of(parameter)?)]));
    }
    let results = walk.computation(entry, &arguments)?;
    walk.are_elsewhere(&results, 0);
    Ok(walk.finish())
}

/// The buffers of a value's arrays from the left; `None` for what is not in the device's memory,
/// or not among the values that are told.
type Leaves = Rc<[Option<usize>]>;

/// A value while the program is walked.
struct MadeBuffer {
    value: ScheduledValue,
    /// Whether its memory is that of another value, or of a result.
    is_elsewhere: bool,
    /// Operands whose memory it may take where they are read the last time.
    may_take: Vec<usize>,
    /// Whether it lies there from the start of the program to its end.
    is_constant: bool,
}

struct ScheduleWalk<'a> {
    reader: ModuleReader<'a>,
    orders: BTreeMap<i64, Vec<i64>>,
    buffers: Vec<MadeBuffer>,
    position: u64,
}

/// Instructions that read nothing: their values are their operands', or parts of them.
const NAMES: &[&str] =
    &["add-dependency", "bitcast", "domain", "get-tuple-element", "opt-barrier", "tuple"];

/// Instructions that write over their first operands, as many as they have results.
const IN_PLACE: &[&str] = &["async-update", "dynamic-update-slice", "scatter"];

/// Instructions that cannot write their result where they read: they read elements again, or
/// others than they write.
const APART: &[&str] = &[
    "broadcast",
    "concatenate",
    "convolution",
    "copy",
    "custom-call",
    "dot",
    "fft",
    "gather",
    "pad",
    "ragged-dot",
    "reverse",
    "transpose",
];

impl<'a> ScheduleWalk<'a> {
    /// Walks a computation; the buffers of its result.
    fn computation(&mut self, index: usize, arguments: &[Leaves]) -> Result<Leaves, ReadError> {
        let computation = self.reader.computation(index);
        let by_id: HashMap<i64, &'a HloInstructionProto> =
            computation.instructions.iter().map(|one| (one.id, one)).collect();
        let order = match self.orders.get(&computation.id) {
            Some(order) => order.clone(),
            None => computation.instructions.iter().map(|one| one.id).collect(),
        };
        let mut known: HashMap<i64, Leaves> = HashMap::with_capacity(order.len());
        for id in order {
            let unknown = || format!("'{}' has no instruction {id}", computation.name);
            let one = *by_id.get(&id).ok_or_else(unknown)?;
            let mut operands = Vec::with_capacity(one.operand_ids.len());
            for operand in &one.operand_ids {
                let late = || format!("operand {operand} of '{}' is not made yet", one.name);
                operands.push(Rc::clone(known.get(operand).ok_or_else(late)?));
            }
            let leaves = match one.opcode.as_str() {
                "parameter" => {
                    let number = usize::try_from(one.parameter_number).ok();
                    let given = number.and_then(|number| arguments.get(number));
                    Rc::clone(given.ok_or_else(|| format!("'{}' has no argument", one.name))?)
                }
                _ => {
                    let first = one.operand_ids.first().and_then(|id| by_id.get(id)).copied();
                    self.instruction(index, one, &operands, first)?
                }
            };
            if leaves.len() != shape::count(shape_of(one)?) {
                return Err(format!("'{}' has not the arrays of its shape", one.name).into());
            }
            self.reader.pay(1 + leaves.len())?;
            known.insert(id, leaves);
            self.position += 1;
        }
        let root = known.remove(&computation.root_id);
        root.ok_or_else(|| format!("'{}' returns nothing that it makes", computation.name).into())
    }

    /// The buffers of an instruction's value; `first` is its first operand.
    fn instruction(
        &mut self,
        index: usize,
        one: &'a HloInstructionProto,
        operands: &[Leaves],
        first: Option<&'a HloInstructionProto>,
    ) -> Result<Leaves, ReadError> {
        let opcode = one.opcode.as_str();
        let given = || operands.iter().flat_map(|of| of.iter().copied());
        let shape = shape_of(one)?;
        if opcode == "get-tuple-element" {
            let first = first.ok_or_else(|| format!("'{}' has no operand", one.name))?;
            let (start, part) = shape::at_path(shape_of(first)?, &[one.tuple_index])?;
            return Ok(given().skip(start).take(shape::count(part)).collect());
        }
        if NAMES.contains(&opcode) {
            return Ok(given().take(shape::count(shape)).collect());
        }
        self.read(operands);
        let count = shape::count(shape);
        match opcode {
            "while" => self.repeat(index, one, operands),
            "conditional" => self.branch(index, one, operands, shape),
            "call" => {
                let [callee] = one.called_computation_ids[..] else {
                    return Err(format!("'{}' calls no one computation", one.name).into());
                };
                let callee = self.reader.callee(index, callee)?;
                self.computation(callee, operands)
            }
            "copy-done" | "all-reduce-done" => Ok(given().take(count).collect()),
            _ if opcode.ends_with("-done") => {
                // What was started has its operands before its results.
                let started = first.and_then(|first| first.shape.as_ref()?.tuple_shapes.first());
                Ok(given().skip(started.map_or(0, shape::count)).take(count).collect())
            }
            // Its value is the result alone.
            "all-reduce-start" => self.plain(index, one, operands, shape),
            "copy-start" => Ok(self.started(one, shape, given(), 1)),
            _ if opcode.ends_with("-start") => Ok(self.started(one, shape, given(), 0)),
            _ => self.plain(index, one, operands, shape),
        }
    }

    /// What is under way: its operands, and new values behind so many of its own.
    fn started(
        &mut self,
        one: &'a HloInstructionProto,
        shape: &ShapeProto,
        operands: impl Iterator<Item = Option<usize>>,
        behind: usize,
    ) -> Leaves {
        let mut leaves = self.made(one, shape, &[]).to_vec();
        for (leaf, operand) in leaves.iter_mut().skip(behind).zip(operands) {
            if let Some(own) = std::mem::replace(leaf, operand) {
                self.buffers[own].is_elsewhere = true;
            }
        }
        leaves.into()
    }

    /// An instruction that makes its value, or writes it over operands.
    fn plain(
        &mut self,
        index: usize,
        one: &'a HloInstructionProto,
        operands: &[Leaves],
        shape: &ShapeProto,
    ) -> Result<Leaves, ReadError> {
        let mut over: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        if IN_PLACE.contains(&one.opcode.as_str()) {
            let first = operands.iter().flat_map(|of| of.iter().copied());
            over.extend(first.take(shape::count(shape)).enumerate());
        }
        for alias in &one.output_operand_aliasing {
            let (at, _) = shape::at_path(shape, &alias.output_shape_index)?;
            let number = usize::try_from(alias.operand_index).ok();
            let Some(operand) = number.and_then(|number| operands.get(number)) else {
                return Err(format!("'{}' is written over no operand", one.name).into());
            };
            let path: Result<Vec<usize>, _> =
                alias.operand_shape_index.iter().map(|&step| usize::try_from(step)).collect();
            // Operands that are tuples of tuples are no fusions' and no custom calls'.
            let part = path.ok().and_then(|path| operand.get(path.first().copied().unwrap_or(0)));
            over.insert(at, part.copied().flatten());
        }
        if one.opcode == "fusion"
            && let Some(number) = self.updates(index, one)?
            && let Some(operand) = operands.get(number)
        {
            over.entry(0).or_insert(operand.first().copied().flatten());
        }
        let reads: &[Leaves] = if APART.contains(&one.opcode.as_str()) { &[] } else { operands };
        let made = self.made(one, shape, reads);
        let mark = self.buffers.len() - made.iter().flatten().count();
        let mut leaves = made.to_vec();
        for (at, buffer) in over {
            if let Some(leaf) = leaves.get_mut(at)
                && buffer.is_some()
            {
                if let Some(own) = leaf.filter(|own| *own >= mark) {
                    self.buffers[own].is_elsewhere = true;
                }
                *leaf = buffer;
            }
        }
        Ok(leaves.into())
    }

    /// The operand that a fusion updates a slice of, where that is what it returns.
    fn updates(&self, index: usize, one: &HloInstructionProto) -> Result<Option<usize>, ReadError> {
        let [called] = one.called_computation_ids[..] else { return Ok(None) };
        let called = self.reader.callee(index, called)?;
        let instructions = &self.reader.computation(called).instructions;
        let by_id: HashMap<i64, &HloInstructionProto> =
            instructions.iter().map(|one| (one.id, one)).collect();
        let mut at = self.reader.root(called)?;
        let mut is_update = false;
        loop {
            match at.opcode.as_str() {
                "dynamic-update-slice" | "scatter" => is_update = true,
                "bitcast" => {}
                "parameter" if is_update => return Ok(usize::try_from(at.parameter_number).ok()),
                _ => return Ok(None),
            }
            // Operands stand before what uses them, so that this ends.
            let operand = at.operand_ids.first().filter(|operand| **operand != at.id);
            let Some(next) = operand.and_then(|id| by_id.get(id)) else { return Ok(None) };
            let place = |id: i64| instructions.iter().position(|one| one.id == id);
            if place(next.id) >= place(at.id) {
                return Ok(None);
            }
            at = next;
        }
    }

    /// A loop writes over what it carries.
    fn repeat(
        &mut self,
        index: usize,
        one: &'a HloInstructionProto,
        operands: &[Leaves],
    ) -> Result<Leaves, ReadError> {
        let ([body, _], [carried]) = (&one.called_computation_ids[..], operands) else {
            return Err(format!("'{}' is no loop", one.name).into());
        };
        let body = self.reader.callee(index, *body)?;
        let mark = self.buffers.len();
        let next = self.computation(body, operands)?;
        self.are_elsewhere(&next, mark);
        self.read(operands);
        Ok(Rc::clone(carried))
    }

    /// The branches of a conditional write one result.
    fn branch(
        &mut self,
        index: usize,
        one: &'a HloInstructionProto,
        operands: &[Leaves],
        shape: &ShapeProto,
    ) -> Result<Leaves, ReadError> {
        let made = self.made(one, shape, &[]);
        for (id, operand) in one.called_computation_ids.iter().zip(operands.iter().skip(1)) {
            let mark = self.buffers.len();
            let callee = self.reader.callee(index, *id)?;
            let result = self.computation(callee, std::slice::from_ref(operand))?;
            self.are_elsewhere(&result, mark);
        }
        self.read(operands);
        self.read(std::slice::from_ref(&made));
        Ok(made)
    }

    /// New buffers for the arrays of a shape that lie in the device's memory.
    fn made(
        &mut self,
        one: &'a HloInstructionProto,
        shape: &ShapeProto,
        reads: &[Leaves],
    ) -> Leaves {
        let mut arrays = Vec::new();
        arrays_of(shape, &mut arrays);
        let location = self.reader.metadata.of(one.metadata.as_ref());
        let stack = self.reader.metadata.locations.stack(location);
        let line = stack.first().map(|line| format!("{}:{}", line.file, line.line));
        let line = line.unwrap_or_default();
        let may_take: Vec<usize> =
            reads.iter().flat_map(|of| of.iter().copied().flatten()).collect();
        let mut leaves = Vec::with_capacity(arrays.len());
        for array in arrays {
            let Some(array) = tiled(array) else {
                leaves.push(None);
                continue;
            };
            leaves.push(Some(self.buffers.len()));
            let (operation, line) = (one.opcode.clone(), line.clone());
            let (first, last) = (self.position, self.position);
            self.buffers.push(MadeBuffer {
                value: ScheduledValue { operation, line, array, first, last },
                is_elsewhere: false,
                may_take: may_take.clone(),
                is_constant: one.opcode == "constant",
            });
        }
        leaves.into()
    }

    fn read(&mut self, values: &[Leaves]) {
        for buffer in values.iter().flat_map(|of| of.iter().copied().flatten()) {
            self.buffers[buffer].value.last = self.position;
        }
    }

    /// Of these buffers, those that were made since a mark have their memory elsewhere.
    fn are_elsewhere(&mut self, values: &Leaves, mark: usize) {
        for buffer in values.iter().copied().flatten().filter(|buffer| *buffer >= mark) {
            self.buffers[buffer].is_elsewhere = true;
        }
    }

    fn finish(mut self) -> Scheduled {
        for at in 0..self.buffers.len() {
            if self.buffers[at].is_elsewhere {
                continue;
            }
            let (first, bytes) = (self.buffers[at].value.first, self.buffers[at].value.array.bytes);
            let taken = self.buffers[at].may_take.iter().copied().find(|&operand| {
                let operand = &self.buffers[operand];
                let is_there = !operand.is_elsewhere && !operand.is_constant;
                let before = operand.value.first < first && operand.value.last == first;
                is_there && before && operand.value.array.bytes == bytes
            });
            if let Some(taken) = taken {
                self.buffers[taken].value.last = first - 1;
            }
        }
        let positions = self.position;
        let values = self.buffers.into_iter().filter(|buffer| !buffer.is_elsewhere);
        let values = values.map(|MadeBuffer { mut value, is_constant, .. }| {
            if is_constant {
                (value.first, value.last) = (0, positions.saturating_sub(1));
            }
            value
        });
        Scheduled { values: values.collect(), positions }
    }
}

/// The arrays and tokens of a shape from the left.
fn arrays_of<'s>(shape: &'s ShapeProto, into: &mut Vec<&'s ShapeProto>) {
    match shape.element_type() {
        PrimitiveType::Tuple => shape.tuple_shapes.iter().for_each(|part| arrays_of(part, into)),
        _ => into.push(shape),
    }
}
