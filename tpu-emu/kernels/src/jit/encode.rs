//! Instructions of x86-64 as bytes: the vector instructions of a target (EVEX for AVX-512, VEX for
//! AVX2), the logic of mask registers (VEX), and the few others that a loop needs.
use super::target::Target;

/// A vector instruction: its opcode map, prefix, width bit and opcode byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opcode {
    /// 1 for `0F`, 2 for `0F 38`, 3 for `0F 3A`.
    pub(super) map: u8,
    /// 0 for none, 1 for `66`, 2 for `F3`, 3 for `F2`.
    pub(super) prefix: u8,
    pub(super) wide: bool,
    pub(super) byte: u8,
}

/// An opcode by map, prefix, width bit and byte.
pub(super) const fn opcode(map: u8, prefix: u8, wide: bool, byte: u8) -> Opcode {
    Opcode { map, prefix, wide, byte }
}

/// General registers by number.
pub(super) mod general {
    pub(in crate::jit) const RAX: u8 = 0;
    pub(in crate::jit) const RCX: u8 = 1;
    pub(in crate::jit) const RDX: u8 = 2;
    pub(in crate::jit) const RBX: u8 = 3;
    pub(in crate::jit) const RSP: u8 = 4;
    pub(in crate::jit) const RBP: u8 = 5;
    pub(in crate::jit) const RSI: u8 = 6;
    pub(in crate::jit) const RDI: u8 = 7;
}

/// The last operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// A vector or mask register.
    Register(u8),
    /// Memory behind a general register.
    At { base: u8, offset: u32 },
    /// Memory so far behind a general register, at the number in `rcx` times `1 << scale`.
    Indexed { base: u8, scale: u8, offset: u32 },
    /// Memory behind a general register, at each number in a vector register times `1 << scale`.
    Numbered { base: u8, numbers: u8, scale: u8 },
    /// A constant of the pool, by its offset there.
    Pool(usize),
}

/// Registers and modifiers of a vector instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// 0 for 128 bits, 1 for 256, 2 for 512.
    pub(super) length: u8,
    /// The register of the `reg` field.
    pub(super) reg: u8,
    /// The register of the `vvvv` field; 0 where there is none.
    pub(super) other: u8,
    /// The mask register; 0 for none.
    pub(super) mask: u8,
    /// Whether masked elements become zero.
    pub(super) zero: bool,
    pub(super) immediate: Option<u8>,
}

/// What two general registers, or one and a number, are put together by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arithmetic {
    Add = 0,
    And = 4,
    Subtract = 5,
    /// Only the flags are changed.
    Compare = 7,
}

/// A condition of a jump.
#[derive(Debug, Clone, Copy)]
pub(super) enum If {
    Always,
    Below,
    BelowOrEqual,
    Zero,
}

/// A jump whose target is not known yet.
#[derive(Debug)]
#[must_use]
pub(super) struct Jump(usize);

/// A frame of the stack whose size is not known yet: where that stands.
#[derive(Debug)]
#[must_use]
pub(super) struct OpenFrame(usize);

/// Code that is being written.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// Whose vector instructions are written.
    pub(super) target: Target,
    bytes: Vec<u8>,
    /// Where distances to the pool stand, and the offsets of the constants there.
    constants: Vec<(usize, usize)>,
    /// Where the last prefix byte of each access to an array stands: its mask is there.
    accesses: Vec<usize>,
}

/// A small number as a byte: of a register, or in an instruction.
pub(super) fn byte(value: usize) -> u8 {
    value.to_le_bytes()[0]
}

/// What the bit of a prefix is that says whether a register is one of the upper half.
fn not_high(register: u8) -> u8 {
    (register >> 3 & 1) ^ 1
}

impl Assembler {
    pub(super) fn new(target: Target) -> Self {
        Self { target, ..Self::default() }
    }

    /// The offset of what comes next.
    pub(super) fn here(&self) -> usize {
        self.bytes.len()
    }

    /// A vector instruction.
    pub(super) fn vector(&mut self, op: Opcode, fields: Fields, operand: Operand) {
        let Fields { length, reg, other, mask, zero, immediate } = fields;
        let (x, b) = match operand {
            Operand::Register(number) => (number >> 4 & 1, number >> 3 & 1),
            Operand::At { base, .. } | Operand::Indexed { base, .. } => (0, base >> 3 & 1),
            Operand::Numbered { base, numbers, .. } => (numbers >> 3 & 1, base >> 3 & 1),
            Operand::Pool(_) => (0, 0),
        };
        // The numbers' register is told where that of another operand would be.
        let high = if let Operand::Numbered { numbers, .. } = operand { numbers } else { other };
        let not = |bit: u8| (bit & 1) ^ 1;
        if self.target == Target::Avx2 {
            self.short_prefix(op, length > 0, other, [reg >> 3, x, b]);
        } else {
            self.bytes.push(0x62);
            self.bytes
                .push(not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | not(reg >> 4) << 4 | op.map);
            self.bytes.push(u8::from(op.wide) << 7 | (!other & 15) << 3 | 4 | op.prefix);
            self.bytes.push(u8::from(zero) << 7 | length << 5 | not(high >> 4) << 3 | mask);
            self.bytes.push(op.byte);
        }
        self.operand(reg, operand, immediate.is_some());
        self.bytes.extend(immediate);
    }

    /// The prefix of instructions of AVX2 and of mask registers (VEX), and the opcode.
    fn short_prefix(&mut self, op: Opcode, long: bool, other: u8, [r, x, b]: [u8; 3]) {
        let not = |bit: u8| (bit & 1) ^ 1;
        self.bytes.push(0xc4);
        self.bytes.push(not(r) << 7 | not(x) << 6 | not(b) << 5 | op.map);
        let wide = u8::from(op.wide) << 7;
        self.bytes.push(wide | (!other & 15) << 3 | u8::from(long) << 2 | op.prefix);
        self.bytes.push(op.byte);
    }

    /// A vector instruction that reads or writes an array. Where it stands is kept, so that a
    /// copy of the code can do the same under a mask.
    pub(super) fn access(&mut self, op: Opcode, fields: Fields, operand: Operand) {
        self.accesses.push(self.here() + 3);
        self.vector(op, fields, operand);
    }

    /// The addressing bytes.
    fn operand(&mut self, reg: u8, operand: Operand, immediate: bool) {
        let reg = (reg & 7) << 3;
        match operand {
            Operand::Register(number) => self.bytes.push(0xc0 | reg | number & 7),
            Operand::At { base, offset } => {
                self.bytes.push(0x80 | reg | base & 7);
                if base & 7 == 4 {
                    self.bytes.push(0x24);
                }
                self.bytes.extend(offset.to_le_bytes());
            }
            Operand::Indexed { base, scale, offset } => {
                let index = scale << 6 | general::RCX << 3 | base & 7;
                if offset > 0 {
                    self.bytes.extend([0x84 | reg, index]);
                    self.bytes.extend(offset.to_le_bytes());
                } else if base & 7 == 5 {
                    self.bytes.extend([0x44 | reg, index, 0]);
                } else {
                    self.bytes.extend([0x04 | reg, index]);
                }
            }
            Operand::Numbered { base, numbers, scale } => {
                let index = scale << 6 | (numbers & 7) << 3 | base & 7;
                self.bytes.extend([0x44 | reg, index, 0]);
            }
            Operand::Pool(offset) => {
                self.bytes.push(5 | reg);
                // The distance counts from the instruction's end.
                self.constants.push((self.here(), offset.wrapping_sub(usize::from(immediate))));
                self.bytes.extend([0; 4]);
            }
        }
    }

    /// An instruction of mask registers: `reg ← other op operand`.
    pub(super) fn mask(&mut self, op: Opcode, long: bool, reg: u8, other: u8, operand: Operand) {
        let b = match operand {
            Operand::At { base, .. } | Operand::Indexed { base, .. } => base >> 3 & 1,
            Operand::Register(_) | Operand::Numbered { .. } | Operand::Pool(_) => 0,
        };
        self.short_prefix(op, long, other, [0, 0, b]);
        self.operand(reg, operand, false);
    }

    /// `register ← [base + offset]`, 64 bits.
    pub(super) fn load(&mut self, register: u8, base: u8, offset: u32) {
        self.bytes.push(0x48 | (register >> 3) << 2 | base >> 3);
        self.bytes.push(0x8b);
        self.operand(register, Operand::At { base, offset }, false);
    }

    /// `[base + offset] ← register`, 64 bits.
    pub(super) fn store(&mut self, register: u8, base: u8, offset: u32) {
        self.bytes.push(0x48 | (register >> 3) << 2 | base >> 3);
        self.bytes.push(0x89);
        self.operand(register, Operand::At { base, offset }, false);
    }

    /// `register ← base + offset`.
    pub(super) fn address(&mut self, register: u8, base: u8, offset: u32) {
        self.bytes.push(0x48 | (register >> 3) << 2 | base >> 3);
        self.bytes.push(0x8d);
        self.operand(register, Operand::At { base, offset }, false);
    }

    /// `register ← number`, one of the first eight registers.
    pub(super) fn number(&mut self, register: u8, number: u64) {
        self.bytes.extend([0x48, 0xb8 | register & 7]);
        self.bytes.extend(number.to_le_bytes());
    }

    /// The lower half of one of the first eight registers; the upper one becomes zero.
    pub(super) fn number_32(&mut self, register: u8, number: u32) {
        self.bytes.push(0xb8 | register & 7);
        self.bytes.extend(number.to_le_bytes());
    }

    /// `register ← 0`, one of the first eight registers.
    pub(super) fn clear(&mut self, register: u8) {
        let register = register & 7;
        self.bytes.extend([0x31, 0xc0 | register << 3 | register]);
    }

    /// `to ← to op from`, two of the first eight registers.
    pub(super) fn with(&mut self, op: Arithmetic, to: u8, from: u8) {
        self.bytes.extend([0x48, (op as u8) << 3 | 1, 0xc0 | (from & 7) << 3 | to & 7]);
    }

    /// `to ← to op number`, one of the first eight registers; a number from 128 on is negative.
    pub(super) fn with_small(&mut self, op: Arithmetic, to: u8, number: u8) {
        self.bytes.extend([0x48, 0x83, 0xc0 | (op as u8) << 3 | to & 7, number]);
    }

    /// `to ← to op number`, one of the first eight registers.
    pub(super) fn with_number(&mut self, op: Arithmetic, to: u8, number: u32) {
        self.bytes.extend([0x48, 0x81, 0xc0 | (op as u8) << 3 | to & 7]);
        self.bytes.extend(number.to_le_bytes());
    }

    /// `to ← from`, two of the first eight registers.
    fn copy(&mut self, to: u8, from: u8) {
        self.bytes.extend([0x48, 0x89, 0xc0 | (from & 7) << 3 | to & 7]);
    }

    /// Clears the bits of the lower half of a register from the one on that another one says; two
    /// of the first eight registers.
    pub(super) fn low_bits(&mut self, register: u8, count: u8) {
        let register = register & 7;
        let count = (!count & 15) << 3;
        self.bytes.extend([0xc4, 0xe2, count, 0xf5, 0xc0 | register << 3 | register]);
    }

    /// A mask from the lower half of one of the first eight registers.
    pub(super) fn mask_of(&mut self, mask: u8, register: u8) {
        self.bytes.extend([0xc5, 0xfb, 0x92, 0xc0 | mask << 3 | register & 7]);
    }

    /// Sets the zero flag where the first bit of a vector register is not set. It changes `rax`.
    pub(super) fn test_vector(&mut self, register: u8) {
        // vmovd eax, register; test al, 1
        self.bytes.extend([0xc5, 0x79 | not_high(register) << 7, 0x7e]);
        self.bytes.extend([0xc0 | (register & 7) << 3, 0xa8, 1]);
    }

    /// Clears what a caller without such vectors would have to save and restore.
    pub(super) fn clear_upper(&mut self) {
        self.bytes.extend([0xc5, 0xf8, 0x77]);
    }

    /// Calls the function at the address in one of the first eight registers.
    pub(super) fn call(&mut self, register: u8) {
        self.bytes.extend([0xff, 0xd0 | register & 7]);
    }

    /// Returns.
    pub(super) fn give_back(&mut self) {
        self.bytes.push(0xc3);
    }

    /// Begins a frame of the stack that is aligned to 64 bytes. Its size is told by `leave`.
    pub(super) fn enter(&mut self) -> OpenFrame {
        self.stack(false, general::RBP);
        self.copy(general::RBP, general::RSP);
        // The number is -64.
        self.with_small(Arithmetic::And, general::RSP, 0xc0);
        self.with_number(Arithmetic::Subtract, general::RSP, 0);
        OpenFrame(self.here() - 4)
    }

    /// Ends a frame, which has so many bytes.
    pub(super) fn leave(&mut self, frame: OpenFrame, bytes: u32) {
        self.bytes[frame.0..frame.0 + 4].copy_from_slice(&bytes.to_le_bytes());
        self.copy(general::RSP, general::RBP);
        self.stack(true, general::RBP);
    }

    /// `push register` or `pop register`.
    pub(super) fn stack(&mut self, pop: bool, register: u8) {
        if register > 7 {
            self.bytes.push(0x41);
        }
        self.bytes.push(if pop { 0x58 } else { 0x50 } | register & 7);
    }

    /// A jump to where `land` is called.
    pub(super) fn jump(&mut self, condition: If) -> Jump {
        match condition {
            If::Always => self.bytes.push(0xe9),
            If::Below => self.bytes.extend([0x0f, 0x82]),
            If::BelowOrEqual => self.bytes.extend([0x0f, 0x86]),
            If::Zero => self.bytes.extend([0x0f, 0x84]),
        }
        self.bytes.extend([0; 4]);
        Jump(self.here())
    }

    /// Lets a jump end here.
    pub(super) fn land(&mut self, jump: Jump) {
        self.patch(jump.0 - 4, self.here().wrapping_sub(jump.0));
    }

    /// Lets a jump end at an offset before it.
    pub(super) fn jump_back(&mut self, condition: If, to: usize) {
        let jump = self.jump(condition);
        self.patch(jump.0 - 4, to.wrapping_sub(jump.0));
    }

    fn patch(&mut self, at: usize, distance: usize) {
        self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes()[..4]);
    }

    /// Writes the code from `from` to `to` once more, every access to an array under the mask
    /// `k1`: what is masked reads as zero and is not written. A store's opcode tells it.
    pub(super) fn again_masked(&mut self, from: usize, to: usize) {
        let shift = self.here() - from;
        self.bytes.extend_from_within(from..to);
        for at in self.accesses.clone().into_iter().filter(|at| (from..to).contains(at)) {
            let copy = at + shift;
            let store = matches!(self.bytes[copy + 1], 0x7f);
            self.bytes[copy] = self.bytes[copy] & 0x78 | 1 | if store { 0 } else { 0x80 };
        }
        let inside = self.constants.iter().filter(|(at, _)| (from..to).contains(at));
        let copies: Vec<_> = inside.map(|&(at, offset)| (at + shift, offset)).collect();
        self.constants.extend(copies);
    }

    /// The code behind its constants, and where it begins.
    pub(super) fn finish(mut self, mut pool: Vec<u8>) -> (Vec<u8>, usize) {
        pool.resize(pool.len().next_multiple_of(16), 0);
        let start = pool.len();
        for (at, offset) in std::mem::take(&mut self.constants) {
            self.patch(at, offset.wrapping_sub(start + at + 4));
        }
        pool.extend(self.bytes);
        (pool, start)
    }
}
