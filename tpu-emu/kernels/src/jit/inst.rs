//! A loop's body as vector instructions over values that are each made once.
use super::callee::Callee;
use super::encode::Opcode;
use super::opcodes::{Shift, VPGATHERDD, VPGATHERDQ, VPTERNLOGD, VPTERNLOGQ, by_size};
use std::collections::HashMap;

/// A value: a vector of a group's elements, or a mask with a bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Value(pub(super) u32);

impl Value {
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Which registers can hold a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Vector,
    Mask,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// An instruction of the body.
    Made,
    /// Elements of an array: its number, the element's width.
    Load(usize, usize),
    /// One element of an array for all: its number, the element's width.
    Broadcast(usize, usize),
    /// One constant for all: its offset in the pool, its width.
    Constant(usize, usize),
    /// One element that each round of a loop reads and writes: its number among the arrays.
    Variable(usize),
}

/// Where an instruction's operands stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `reg ← rm`.
    Unary,
    /// `reg ← vvvv, rm`.
    Binary,
    /// `rm ← reg`.
    Reversed,
    /// `reg ← vvvv, rm`, by a mask in a fourth register, whose number stands in the immediate.
    Choice,
    /// `vvvv ← rm`, with this digit in `reg`.
    Shift(u8),
    /// `reg ← reg, vvvv, rm`.
    Ternary,
    /// Masks: `reg ← vvvv, rm`.
    MaskBinary,
    /// Masks: `reg ← rm`.
    MaskUnary,
    /// The element with a number.
    Peek(MemoryElement),
    /// Writes there.
    Poke(MemoryElement),
    /// The elements of an array with these numbers: its number, the element's width.
    Gather(usize, usize),
    /// Writes the first element where calls find it.
    Lay(CallCell),
    /// Calls the function with this number for an operation.
    Call(u32),
    /// The element where a call has left it.
    Take(CallCell),
}

/// An element among the operands and results of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallCell {
    /// Where it lies behind the first of them, in bytes.
    pub(super) offset: u32,
    /// Bytes of the element.
    pub(super) width: usize,
}

/// Elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemoryElement {
    /// The array's number.
    pub(super) array: u32,
    /// Where the first of them lies.
    pub(super) offset: u32,
    /// How often the element's number is doubled for the bytes before it.
    pub(super) scale: u8,
    /// Bytes of an element.
    pub(super) width: usize,
}

/// An instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Micro {
    pub(super) op: Opcode,
    pub(super) form: Form,
    pub(super) length: u8,
    pub(super) immediate: Option<u8>,
    pub(super) result: Value,
    /// Operands in order; what a ternary form starts from is the first.
    pub(super) operands: [Option<Value>; 3],
    pub(super) mask: Option<Value>,
    pub(super) zero: bool,
    /// What the result is where the mask is not, or what a ternary form starts from.
    pub(super) start: Option<Value>,
}

impl Micro {
    /// Everything that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = Value> {
        self.operands.into_iter().chain([self.mask, self.start]).flatten()
    }
}

/// What an integer was made of.
#[derive(Debug, Clone, Copy)]
pub(super) enum ShortOrigin {
    /// A longer one, of so many bytes.
    Cut(Value, usize),
    /// One where a mask is, zero elsewhere.
    Mask(Value),
}

/// The body of a loop.
#[derive(Debug)]
pub(super) struct LoopBody {
    /// Elements of a group.
    pub(super) group: usize,
    pub(super) values: Vec<(Class, Origin)>,
    pub(super) code: Vec<Micro>,
    /// What is written at the end of a group: value, array, width.
    pub(super) stores: Vec<(Value, usize, usize)>,
    /// The instruction before which a round ends all, and the mask that says it does not.
    pub(super) decision: Option<(usize, Value)>,
    pub(super) pool: Vec<u8>,
    /// Operations that are called.
    pub(super) calls: Vec<Callee>,
    known: HashMap<(u64, usize), Value>,
}

impl LoopBody {
    pub(super) fn new(group: usize) -> Self {
        Self {
            group,
            values: Vec::new(),
            code: Vec::new(),
            stores: Vec::new(),
            decision: None,
            pool: Vec::new(),
            calls: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The length field for elements of a width.
    pub(super) fn length(&self, width: usize) -> u8 {
        match self.group * width {
            0..=16 => 0,
            17..=32 => 1,
            _ => 2,
        }
    }

    fn value(&mut self, class: Class, origin: Origin) -> Value {
        self.values.push((class, origin));
        Value(u32::try_from(self.values.len() - 1).unwrap_or(u32::MAX))
    }

    pub(super) fn load(&mut self, array: usize, width: usize) -> Value {
        self.value(Class::Vector, Origin::Load(array, width))
    }

    pub(super) fn broadcast(&mut self, array: usize, width: usize) -> Value {
        self.value(Class::Vector, Origin::Broadcast(array, width))
    }

    /// One element that a round may write.
    pub(super) fn variable(&mut self, array: usize) -> Value {
        self.value(Class::Vector, Origin::Variable(array))
    }

    /// The same element everywhere, by its bits.
    pub(super) fn constant(&mut self, bits: u64, width: usize) -> Value {
        if let Some(&known) = self.known.get(&(bits, width)) {
            return known;
        }
        let at = self.pool.len().next_multiple_of(width);
        self.pool.resize(at, 0);
        self.pool.extend_from_slice(&bits.to_le_bytes()[..width]);
        let value = self.value(Class::Vector, Origin::Constant(at, width));
        self.known.insert((bits, width), value);
        value
    }

    /// The same 16 bytes in every part of a register.
    pub(super) fn wide_constant(&mut self, bytes: [u8; 16]) -> Value {
        let at = self.pool.len().next_multiple_of(16);
        let known = self.values.iter().position(|(_, origin)| {
            matches!(origin, Origin::Constant(at, 16) if self.pool[*at..at + 16] == bytes)
        });
        if let Some(known) = known {
            return Value(u32::try_from(known).unwrap_or(u32::MAX));
        }
        self.pool.resize(at, 0);
        self.pool.extend_from_slice(&bytes);
        self.value(Class::Vector, Origin::Constant(at, 16))
    }

    /// The bits of a constant of a width; `None` for any other value.
    pub(super) fn bits_of(&self, value: Value, width: usize) -> Option<u64> {
        let (_, Origin::Constant(at, wide)) = self.values[value.index()] else { return None };
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(self.pool.get(at..at + width)?);
        (wide == width).then_some(u64::from_le_bytes(bits))
    }

    /// An instruction whose result is a value of a class.
    pub(super) fn emit(
        &mut self,
        class: Class,
        op: Opcode,
        form: Form,
        length: u8,
        operands: [Option<Value>; 3],
        immediate: Option<u8>,
    ) -> Value {
        let result = self.value(class, Origin::Made);
        let start = if form == Form::Ternary { operands[0] } else { None };
        let micro =
            Micro { op, form, length, immediate, result, operands, mask: None, zero: false, start };
        self.code.push(micro);
        result
    }

    /// `reg ← rm`.
    pub(super) fn unary(&mut self, op: Opcode, length: u8, a: Value) -> Value {
        self.emit(Class::Vector, op, Form::Unary, length, [Some(a), None, None], None)
    }

    /// `reg ← rm`, with an immediate.
    pub(super) fn unary_with(&mut self, op: Opcode, length: u8, a: Value, with: u8) -> Value {
        self.emit(Class::Vector, op, Form::Unary, length, [Some(a), None, None], Some(with))
    }

    /// `reg ← vvvv, rm`.
    pub(super) fn binary(&mut self, op: Opcode, length: u8, a: Value, b: Value) -> Value {
        self.emit(Class::Vector, op, Form::Binary, length, [Some(a), Some(b), None], None)
    }

    /// `rm ← reg`.
    pub(super) fn reversed(&mut self, op: Opcode, length: u8, a: Value, with: Option<u8>) -> Value {
        self.emit(Class::Vector, op, Form::Reversed, length, [Some(a), None, None], with)
    }

    /// A shift or a rotation by a number.
    pub(super) fn shift(&mut self, shift: Shift, length: u8, a: Value, by: u8) -> Value {
        let form = Form::Shift(shift.digit);
        self.emit(Class::Vector, shift.op, form, length, [Some(a), None, None], Some(by))
    }

    /// A mask from a comparison of vectors.
    pub(super) fn test(
        &mut self,
        op: Opcode,
        length: u8,
        a: Value,
        b: Value,
        with: Option<u8>,
    ) -> Value {
        self.emit(Class::Mask, op, Form::Binary, length, [Some(a), Some(b), None], with)
    }

    /// A mask from masks.
    pub(super) fn logic(&mut self, op: Opcode, a: Value, b: Option<Value>) -> Value {
        let form = if b.is_some() { Form::MaskBinary } else { Form::MaskUnary };
        self.emit(Class::Mask, op, form, 0, [Some(a), b, None], None)
    }

    /// Lets the last instruction work only where a mask is; elsewhere its result is zero.
    pub(super) fn or_zero(&mut self, mask: Value) {
        if let Some(last) = self.code.last_mut() {
            last.mask = Some(mask);
            last.zero = true;
        }
    }

    /// Lets the last instruction work only where a mask is; elsewhere its result is `start`.
    pub(super) fn over(&mut self, mask: Value, start: Value) {
        if let Some(last) = self.code.last_mut() {
            last.mask = Some(mask);
            last.start = Some(start);
        }
    }

    /// Lets a blend choose by a mask.
    pub(super) fn choose(
        &mut self,
        op: Opcode,
        length: u8,
        mask: Value,
        a: Value,
        b: Value,
    ) -> Value {
        let result = self.binary(op, length, b, a);
        if let Some(last) = self.code.last_mut() {
            last.mask = Some(mask);
        }
        result
    }

    /// Three vectors by a table of logic.
    pub(super) fn ternary(&mut self, width: usize, length: u8, of: [Value; 3], table: u8) -> Value {
        let op = by_size(width, [VPTERNLOGD, VPTERNLOGQ]);
        self.emit(Class::Vector, op, Form::Ternary, length, of.map(Some), Some(table))
    }

    /// The elements of an array with these 32-bit numbers.
    pub(super) fn gather(&mut self, array: usize, width: usize, numbers: Value) -> Value {
        let op = by_size(width, [VPGATHERDD, VPGATHERDQ]);
        let length = self.length(width);
        let form = Form::Gather(array, width);
        self.emit(Class::Vector, op, form, length, [Some(numbers), None, None], None)
    }

    /// Bits of an element.
    pub(super) fn bits(width: usize) -> u8 {
        u8::try_from(8 * width).unwrap_or(64)
    }

    /// Drops instructions whose results nothing reads.
    pub(super) fn prune(&mut self) {
        let mut read = vec![false; self.values.len()];
        let outside = self.stores.iter().map(|(value, ..)| *value);
        outside.chain(self.decision.map(|(_, mask)| mask)).for_each(|v| read[v.index()] = true);
        let mut kept = vec![false; self.code.len()];
        for (micro, kept) in self.code.iter().zip(&mut kept).rev() {
            let acts = matches!(micro.form, Form::Poke(_) | Form::Lay(_) | Form::Call(_));
            *kept = acts || read[micro.result.index()];
            if *kept {
                micro.reads().for_each(|value| read[value.index()] = true);
            }
        }
        if let Some((before, _)) = &mut self.decision {
            *before = kept[..*before].iter().filter(|kept| **kept).count();
        }
        let mut kept = kept.into_iter();
        self.code.retain(|_| kept.next().unwrap_or(true));
    }
}
