//! Registers for values, and the instructions with them.
//!
//! The code of a group is straight, so the value whose next use is farthest gives its register
//! up. What came from memory is read again, what was made is kept on the stack.
use super::encode::{Arithmetic, Assembler, Fields, If, OpenFrame, Operand, byte, general};
use super::inst::{Class, Form, LoopBody, Micro, Origin, Value};
use super::liveness::{NEVER, Uses, number};
use super::opcodes::{KMOVW_STORE, KXNORW, VMOVDQA64};
use super::target::Target;
use super::vex;

/// Registers that keep the addresses of arrays; those from the sixth on belong to the caller.
const POINTERS: [u8; 10] = [8, 9, 10, 11, general::RDX, general::RBX, 12, 13, 14, 15];
/// How many of them may be used without saving them.
const FREE: usize = 5;
/// Bytes of a cell of the stack: of a vector.
pub(super) const CELL: u32 = 64;
/// The mask of the elements that a last, short group has.
pub(super) const TAIL: u8 = 1;

pub(super) struct Emitter<'b> {
    pub(super) body: &'b LoopBody,
    pub(super) code: Assembler,
    pub(super) target: Target,
    pub(super) uses: Uses,
    /// Whether arrays are read and written by single elements.
    pub(super) singly: bool,
    /// The register of each value that has one.
    pub(super) place: Vec<Option<u8>>,
    /// Where on the stack each value lies that is kept there.
    pub(super) kept: Vec<Option<u32>>,
    /// Bytes of the stack.
    pub(super) stack: u32,
    pub(super) vectors: [Option<Value>; 32],
    pub(super) masks: [Option<Value>; 8],
    /// Vector registers from here on hold what never changes.
    pub(super) limit: usize,
    pub(super) pointers: Vec<Option<u8>>,
    /// The value that `rcx` holds as the number of an element.
    pub(super) counted: Option<Value>,
    /// The registers of a loop's variables.
    pub(super) variables: Vec<u8>,
    /// Where on the stack a call's operands lie.
    pub(super) cells: Option<u32>,
    /// Where on the stack variables lie while something is called.
    pub(super) homes: Option<u32>,
}

impl<'b> Emitter<'b> {
    pub(super) fn new(body: &'b LoopBody, arrays: usize, target: Target) -> Self {
        Self {
            body,
            code: Assembler::new(target),
            target,
            singly: false,
            uses: Uses::new(body),
            place: vec![None; body.values.len()],
            kept: vec![None; body.values.len()],
            stack: 0,
            vectors: [None; 32],
            masks: [None; 8],
            limit: target.registers(),
            pointers: vec![None; arrays],
            counted: None,
            variables: Vec::new(),
            cells: None,
            homes: None,
        }
    }

    /// The machine code, with its constants before it, and where it begins.
    pub(super) fn function(mut self) -> (Vec<u8>, usize) {
        let saved = self.choose_pointers();
        let frame = self.enter(&saved);
        for (array, pointer) in self.pointers.clone().into_iter().enumerate() {
            if let Some(pointer) = pointer {
                self.code.load(pointer, general::RDI, number(8 * array));
            }
        }
        self.keep_constants();
        let group = byte(self.body.group);
        self.code.clear(general::RCX);
        if self.target == Target::Avx512 {
            self.code.number_32(general::RAX, (1_u32 << group) - 1);
            self.code.mask_of(TAIL, general::RAX);
        }
        self.code.with_small(Arithmetic::Compare, general::RSI, group);
        let short = self.code.jump(If::Below);
        self.code.with_small(Arithmetic::Subtract, general::RSI, group);
        let top = self.code.here();
        let uses = self.uses.clone();
        self.group();
        let body_end = self.code.here();
        self.code.with_small(Arithmetic::Add, general::RCX, group);
        self.code.with(Arithmetic::Compare, general::RCX, general::RSI);
        self.code.jump_back(If::BelowOrEqual, top);
        self.code.with_small(Arithmetic::Add, general::RSI, group);
        self.code.land(short);
        match self.target {
            Target::Avx512 => {
                self.code.with(Arithmetic::Subtract, general::RSI, general::RCX);
                let done = self.code.jump(If::Zero);
                self.code.number_32(general::RAX, u32::MAX);
                self.code.low_bits(general::RAX, general::RSI);
                self.code.mask_of(TAIL, general::RAX);
                self.code.again_masked(top, body_end);
                self.code.land(done);
            }
            Target::Avx2 => self.rest(uses),
        }
        self.leave(&saved, frame)
    }

    /// The code of what is left behind the last whole group, by single elements: each of them is
    /// in all lanes.
    fn rest(&mut self, uses: Uses) {
        self.code.with(Arithmetic::Compare, general::RCX, general::RSI);
        let done = self.code.jump(If::Zero);
        // The body begins anew: nothing of the last group is kept.
        self.uses = uses;
        self.kept.fill(None);
        self.singly = true;
        let top = self.code.here();
        self.group();
        self.code.with_small(Arithmetic::Add, general::RCX, 1);
        self.code.with(Arithmetic::Compare, general::RCX, general::RSI);
        self.code.jump_back(If::Below, top);
        self.code.land(done);
    }

    /// Saves registers and makes room on the stack; gives where the size of the room stands.
    pub(super) fn enter(&mut self, saved: &[u8]) -> OpenFrame {
        for &register in saved {
            self.code.stack(false, register);
        }
        self.code.enter()
    }

    /// Restores registers and returns; gives the code and where it begins.
    pub(super) fn leave(mut self, saved: &[u8], frame: OpenFrame) -> (Vec<u8>, usize) {
        self.code.clear_upper();
        self.code.leave(frame, self.stack);
        for &register in saved.iter().rev() {
            self.code.stack(true, register);
        }
        self.code.give_back();
        self.code.finish(self.body.pool.clone())
    }

    /// Gives the arrays that are read or written by elements a register each, while there are
    /// any; gives those that must be saved.
    fn choose_pointers(&mut self) -> Vec<u8> {
        let mut free = POINTERS.into_iter();
        let mut saved = Vec::new();
        let loads = self.body.values.iter().filter_map(|(_, origin)| match origin {
            Origin::Load(array, _) => Some(*array),
            _ => None,
        });
        let tables = self.body.code.iter().filter_map(|micro| match micro.form {
            Form::Gather(array, _) => Some(array),
            _ => None,
        });
        let stores = self.body.stores.iter().map(|(_, array, _)| *array);
        for array in loads.chain(tables).chain(stores) {
            if self.pointers[array].is_none() {
                self.pointers[array] = free.next();
            }
        }
        for register in self.pointers.iter().flatten() {
            if POINTERS[FREE..].contains(register) {
                saved.push(*register);
            }
        }
        saved
    }

    /// The most vectors that are alive at once and that the code makes.
    fn pressure(&self) -> usize {
        let mut alive = vec![false; self.body.values.len()];
        let mut count = 0_usize;
        let mut most = 0;
        let mut read = |value: Value, count: &mut usize| {
            let (class, origin) = self.body.values[value.index()];
            let local = class == Class::Vector && matches!(origin, Origin::Made | Origin::Load(..));
            if local && !alive[value.index()] {
                alive[value.index()] = true;
                *count += 1;
            }
        };
        for (value, ..) in &self.body.stores {
            read(*value, &mut count);
        }
        most = most.max(count);
        for micro in self.body.code.iter().rev() {
            for value in micro.reads() {
                read(value, &mut count);
            }
            most = most.max(count);
            let vector = self.body.values[micro.result.index()].0 == Class::Vector;
            count = count
                .saturating_sub(usize::from(vector && self.uses.count(micro.result.index()) > 0));
        }
        most
    }

    /// Fills registers with what is the same for all groups, the most used first.
    pub(super) fn keep_constants(&mut self) {
        let fixed =
            |origin: &Origin| matches!(origin, Origin::Broadcast(..) | Origin::Constant(..));
        let mut all: Vec<usize> = (0..self.body.values.len())
            .filter(|&index| fixed(&self.body.values[index].1) && self.uses.count(index) > 0)
            .collect();
        all.sort_by_key(|&index| std::cmp::Reverse(self.uses.count(index)));
        let local = (self.pressure() + 2).clamp(6, self.target.registers() / 4 * 3);
        all.truncate(self.limit.saturating_sub(local));
        for index in all {
            let value = Value(number(index));
            self.limit -= 1;
            let register = u8::try_from(self.limit).unwrap_or(0);
            self.reload(value, register);
            self.place[index] = Some(register);
        }
    }

    /// The code of one group.
    fn group(&mut self) {
        for at in 0..self.body.code.len() {
            self.micro(number(at), self.body.code[at]);
        }
        for at in 0..self.body.stores.len() {
            let (value, array, width) = self.body.stores[at];
            let register = self.ensure(value, &[]);
            let base = self.pointer(array);
            let operand = Operand::Indexed { base, scale: scale(width), offset: 0 };
            self.write(width, register, operand);
            self.release(value, number(self.body.code.len() + at));
        }
    }

    pub(super) fn micro(&mut self, now: u32, micro: Micro) {
        match micro.form {
            Form::Peek(element) => return self.peek(now, micro, element),
            Form::Poke(element) => return self.poke(now, micro, element),
            Form::Lay(cell) => return self.lay(now, micro, cell),
            Form::Call(number) => return self.call(number),
            Form::Take(cell) => return self.fetch(micro, cell),
            Form::Gather(array, width) => return self.gather(now, micro, array, width),
            _ => {}
        }
        let locked: Vec<Value> = micro.reads().collect();
        for &value in &locked {
            self.ensure(value, &locked);
        }
        let at = |emitter: &Self, value: Option<Value>| {
            value.and_then(|value| emitter.place[value.index()]).unwrap_or(0)
        };
        let [a, b, c] = micro.operands.map(|operand| at(self, operand));
        let mask = at(self, micro.mask);
        let start = micro.start.map(|start| (start, at(self, Some(start))));
        let class = self.body.values[micro.result.index()].0;
        let result = if let Some((start, from)) = start {
            let dies = {
                self.uses.pass(start, now);
                self.uses.next(start) == NEVER && usize::from(from) < self.limit
            };
            if dies {
                self.place[start.index()] = None;
                from
            } else {
                let register = self.take(class, &locked);
                let fields = Fields {
                    length: 2,
                    reg: register,
                    other: 0,
                    mask: 0,
                    zero: false,
                    immediate: None,
                };
                self.code.vector(VMOVDQA64, fields, Operand::Register(from));
                register
            }
        } else {
            locked.iter().for_each(|&value| self.release(value, now));
            self.take(class, &[])
        };
        self.put(class, micro.result, result);
        locked.iter().for_each(|&value| self.release(value, now));
        let fields = |reg: u8, other: u8| Fields {
            length: micro.length,
            reg,
            other,
            mask,
            zero: micro.zero,
            immediate: micro.immediate,
        };
        let register = Operand::Register;
        match micro.form {
            Form::Unary => self.code.vector(micro.op, fields(result, 0), register(a)),
            Form::Binary => self.code.vector(micro.op, fields(result, a), register(b)),
            Form::Choice => {
                let fields = Fields { immediate: Some(c << 4), ..fields(result, a) };
                self.code.vector(micro.op, fields, register(b));
            }
            Form::Reversed => self.code.vector(micro.op, fields(a, 0), register(result)),
            Form::Shift(digit) => self.code.vector(micro.op, fields(digit, result), register(a)),
            Form::Ternary => self.code.vector(micro.op, fields(result, b), register(c)),
            Form::MaskBinary => self.code.mask(micro.op, true, result, a, register(b)),
            Form::MaskUnary => self.code.mask(micro.op, false, result, 0, register(a)),
            Form::Peek(_) | Form::Poke(_) | Form::Gather(..) => {}
            Form::Lay(_) | Form::Call(_) | Form::Take(_) => {}
        }
        if self.uses.next(micro.result) == NEVER {
            self.free(micro.result);
        }
    }

    fn gather(&mut self, now: u32, micro: Micro, array: usize, width: usize) {
        let Some(numbers) = micro.operands[0] else { return };
        let from = self.ensure(numbers, &[numbers]);
        // The instruction clears its mask, and its result is never where its numbers are.
        let result = self.take(Class::Vector, &[numbers]);
        self.put(Class::Vector, micro.result, result);
        let base = self.pointer(array);
        let (length, zero, immediate) = (micro.length, false, None);
        let (mask, other) = match self.target {
            Target::Avx512 => {
                let mask = self.take(Class::Mask, &[]);
                self.code.mask(KXNORW, true, mask, mask, Operand::Register(mask));
                (mask, 0)
            }
            Target::Avx2 => {
                let other = self.take(Class::Vector, &[numbers, micro.result]);
                let fields = Fields { other, length, ..vector(other) };
                self.code.vector(vex::VPCMPEQD, fields, Operand::Register(other));
                (0, other)
            }
        };
        let fields = Fields { length, reg: result, other, mask, zero, immediate };
        let operand = Operand::Numbered { base, numbers: from, scale: scale(width) };
        self.code.vector(micro.op, fields, operand);
        self.release(numbers, now);
        if !self.is_read(micro.result) {
            self.free(micro.result);
        }
    }

    /// Whether a value is read from here on.
    pub(super) fn is_read(&self, value: Value) -> bool {
        self.uses.next(value) != NEVER
    }

    /// Frees a value's register after its last use.
    pub(super) fn release(&mut self, value: Value, now: u32) {
        self.uses.pass(value, now);
        if self.uses.next(value) == NEVER {
            self.free(value);
        }
    }

    pub(super) fn free(&mut self, value: Value) {
        let Some(register) = self.place[value.index()] else { return };
        let at = usize::from(register);
        match self.body.values[value.index()].0 {
            Class::Vector if at < self.limit => {
                self.place[value.index()] = None;
                if self.vectors[at] == Some(value) {
                    self.vectors[at] = None;
                }
            }
            Class::Vector => {}
            Class::Mask => {
                self.place[value.index()] = None;
                if self.masks[at] == Some(value) {
                    self.masks[at] = None;
                }
            }
        }
    }

    pub(super) fn put(&mut self, class: Class, value: Value, register: u8) {
        self.place[value.index()] = Some(register);
        match class {
            Class::Vector => self.vectors[usize::from(register)] = Some(value),
            Class::Mask => self.masks[usize::from(register)] = Some(value),
        }
    }

    /// A value's register; it gets one if it has none.
    pub(super) fn ensure(&mut self, value: Value, locked: &[Value]) -> u8 {
        if let Some(register) = self.place[value.index()] {
            return register;
        }
        let class = self.body.values[value.index()].0;
        let register = self.take(class, locked);
        self.reload(value, register);
        self.put(class, value, register);
        register
    }

    /// A free register, or that of the value whose next use is farthest.
    pub(super) fn take(&mut self, class: Class, locked: &[Value]) -> u8 {
        let (low, holders) = match class {
            Class::Vector => (0, &self.vectors[..self.limit]),
            Class::Mask => (2, &self.masks[2..]),
        };
        let mut best = (0, 0);
        for (index, holder) in holders.iter().enumerate() {
            let Some(holder) = holder else {
                return byte(low + index);
            };
            let next = self.uses.next(*holder);
            if !locked.contains(holder) && next >= best.0 {
                best = (next, low + index);
            }
        }
        let register = byte(best.1);
        let holder = match class {
            Class::Vector => self.vectors[best.1].take(),
            Class::Mask => self.masks[best.1].take(),
        };
        if let Some(holder) = holder {
            self.evict(class, holder, register);
        }
        register
    }

    /// Cells of the stack: where they begin.
    pub(super) fn room(&mut self, cells: u32) -> u32 {
        self.stack += CELL * cells;
        self.stack - CELL * cells
    }

    pub(super) fn evict(&mut self, class: Class, value: Value, register: u8) {
        self.place[value.index()] = None;
        let made = matches!(self.body.values[value.index()].1, Origin::Made);
        if !made || self.kept[value.index()].is_some() {
            return;
        }
        let offset = self.room(1);
        self.kept[value.index()] = Some(offset);
        let at = Operand::At { base: general::RSP, offset };
        match class {
            Class::Vector => self.store_cell(register, offset),
            Class::Mask => self.code.mask(KMOVW_STORE, false, register, 0, at),
        }
    }

    pub(super) fn pointer(&mut self, array: usize) -> u8 {
        self.pointers[array].unwrap_or_else(|| {
            self.code.load(general::RAX, general::RDI, number(8 * array));
            general::RAX
        })
    }
}

/// Fields of an instruction on a whole register.
pub(super) fn vector(reg: u8) -> Fields {
    Fields { length: 2, reg, other: 0, mask: 0, zero: false, immediate: None }
}

pub(super) fn scale(width: usize) -> u8 {
    match width {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    }
}
