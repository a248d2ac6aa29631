//! What a compiled function may do, checked on its bytes: they are read back by a decoder that is
//! not ours, and every path through them is followed.
//!
//! Every function that a test compiles goes through this before it can run. A function is refused
//! that has an instruction which the encoder does not write or a processor need not have, that
//! jumps to what is no instruction, reads a register or a cell of the stack that nothing wrote,
//! reaches memory other than its constants, its stack and its arrays, writes an array that it may
//! only read, works behind the end of its arrays, or gives a register back changed that its
//! caller keeps.
use super::code_memory::address_of_operate;
use super::target::Target;
use super::verify_names::allowed_of;
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Formatter, Instruction, InstructionInfoFactory,
    IntelFormatter, Mnemonic, OpAccess, OpKind, Register,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a function was compiled for.
pub(super) struct Contract {
    /// The processors.
    pub(super) target: Target,
    /// How many arrays it is given.
    pub(super) arrays: usize,
    /// Those that it may write.
    pub(super) writes: BTreeSet<usize>,
    /// Elements of a group, for a loop over elements.
    pub(super) group: Option<usize>,
    /// The addresses of the operations that it may call.
    pub(super) callees: Vec<usize>,
}

/// What is known of a general register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nobody wrote it, or paths disagree.
    Nothing,
    /// What the caller had there and wants back.
    Callers(usize),
    Number,
    /// The number of elements.
    Count,
    /// The number of elements without a group.
    LastGroup,
    /// A number that the code holds.
    Bits(u64),
    /// As many ones as elements are left.
    TailBits,
    /// The addresses of the arrays.
    List,
    /// The address of an array.
    Array(usize),
    /// The stack, after so many pushes.
    Stack(usize),
    /// The aligned frame.
    Frame,
    /// An address in the frame.
    Cell(u64),
}

/// What is known where an instruction begins.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    general: [Known; 16],
    /// Which vector and mask registers were written.
    vectors: u32,
    masks: u8,
    /// Whether the first mask is that of the last, short group.
    tail: bool,
    /// Whether the upper halves of vectors are clear.
    clear: bool,
    pushed: Vec<Known>,
    /// Cells of 64 bytes of the frame that were written, and what is there.
    cells: BTreeMap<u64, Known>,
}

const RDI: usize = 7;
const RSI: usize = 6;
const RSP: usize = 4;
const RBP: usize = 5;
/// Registers that a function gives back as it found them.
const KEPT: [usize; 6] = [3, RBP, 12, 13, 14, 15];

impl State {
    fn new() -> Self {
        let mut general = [Known::Nothing; 16];
        KEPT.into_iter().for_each(|register| general[register] = Known::Callers(register));
        (general[RDI], general[RSI], general[RSP]) = (Known::List, Known::Count, Known::Stack(0));
        let (pushed, cells) = (Vec::new(), BTreeMap::new());
        Self { general, vectors: 0, masks: 0, tail: false, clear: true, pushed, cells }
    }

    /// What is known whichever of two ways was taken.
    fn meet(&mut self, other: &Self) -> Result<(), String> {
        for (mine, other) in self.general.iter_mut().zip(other.general) {
            *mine = match (*mine, other) {
                (mine, other) if mine == other => mine,
                (Known::Number | Known::Bits(_), Known::Number | Known::Bits(_)) => Known::Number,
                _ => Known::Nothing,
            };
        }
        if self.pushed != other.pushed {
            return Err("two ways with different stacks".into());
        }
        self.vectors &= other.vectors;
        self.masks &= other.masks;
        if self.tail != other.tail {
            // Which elements there are is not known: none may be reached.
            self.tail = true;
            self.masks &= !2;
        }
        self.clear &= other.clear;
        self.cells.retain(|cell, known| other.cells.get(cell) == Some(known));
        Ok(())
    }
}

struct Reader<'c> {
    contract: &'c Contract,
    /// Bytes of constants before the code.
    entry: u64,
    frame: u64,
    info: InstructionInfoFactory,
}

/// What [`verified`] tells.
static VERIFIED: AtomicUsize = AtomicUsize::new(0);

/// How many functions went through here in this process.
pub fn verified() -> usize {
    VERIFIED.load(Ordering::Relaxed)
}

/// Refuses a function, with its text, or lets it pass.
#[track_caller]
pub(super) fn verify(code: &[u8], entry: usize, contract: &Contract) {
    VERIFIED.fetch_add(1, Ordering::Relaxed);
    if let Err(why) = check(code, entry, contract) {
        panic!("{why}\n{}", listing(code, entry));
    }
}

fn decoded(code: &[u8], entry: usize) -> Vec<Instruction> {
    let mut decoder = Decoder::with_ip(64, &code[entry..], entry as u64, DecoderOptions::NONE);
    decoder.iter().collect()
}

/// The instructions of a function, one a line.
pub(super) fn listing(code: &[u8], entry: usize) -> String {
    decoded(code, entry).iter().map(|one| format!("{:5x}  {}\n", one.ip(), text(one))).collect()
}

/// An instruction as the manuals write it.
pub(super) fn text(instruction: &Instruction) -> String {
    let (mut formatter, mut text) = (IntelFormatter::new(), String::new());
    formatter.options_mut().set_use_pseudo_ops(false);
    formatter.options_mut().set_rip_relative_addresses(true);
    formatter.format(instruction, &mut text);
    text
}

/// Follows every way through a function; says what is wrong and where.
pub(super) fn check(code: &[u8], entry: usize, contract: &Contract) -> Result<(), String> {
    let all = decoded(code, entry);
    let places: BTreeMap<u64, usize> =
        all.iter().enumerate().map(|(index, one)| (one.ip(), index)).collect();
    let frame = all.iter().find(|one| one.code() == Code::Sub_rm64_imm32);
    let frame = frame.map_or(0, |one| u64::from(one.immediate32()));
    let info = InstructionInfoFactory::new();
    let mut reader = Reader { contract, entry: entry as u64, frame, info };
    let mut before: Vec<Option<State>> = vec![None; all.len()];
    let mut open = vec![(0, State::new())];
    while let Some((at, state)) = open.pop() {
        let one = all.get(at).ok_or("the code has no end")?;
        let told = |why: String| format!("{why}: {:x} {}", one.ip(), text(one));
        let mut state = match &before[at] {
            Some(old) => {
                let mut both = old.clone();
                both.meet(&state).map_err(told)?;
                if both == *old {
                    continue;
                }
                both
            }
            None => state,
        };
        before[at] = Some(state.clone());
        reader.instruction(one, &mut state).map_err(told)?;
        let target = || {
            let target = places.get(&one.near_branch_target());
            target.copied().ok_or_else(|| told("a jump to what is no instruction".into()))
        };
        match one.flow_control() {
            FlowControl::Return => {}
            FlowControl::UnconditionalBranch => open.push((target()?, state)),
            FlowControl::ConditionalBranch => {
                open.push((target()?, state.clone()));
                open.push((at + 1, state));
            }
            FlowControl::Next | FlowControl::IndirectCall => open.push((at + 1, state)),
            _ => return Err(told("a jump of another kind".into())),
        }
    }
    match before.iter().position(Option::is_none) {
        Some(at) => Err(format!("no way leads to {:x} {}", all[at].ip(), text(&all[at]))),
        None => Ok(()),
    }
}

impl Reader<'_> {
    fn instruction(&mut self, one: &Instruction, state: &mut State) -> Result<(), String> {
        let mnemonic = one.mnemonic();
        let (allowed, features) = allowed_of(self.contract.target);
        if one.is_invalid() || !allowed.contains(&format!("{mnemonic:?}").to_lowercase()) {
            return Err("an unexpected instruction".into());
        }
        if let Some(feature) = one.cpuid_features().iter().find(|of| !features.contains(of)) {
            return Err(format!("a processor need not have {feature:?}"));
        }
        let prefixes = one.has_lock_prefix() || one.has_rep_prefix() || one.has_repne_prefix();
        if prefixes || one.segment_prefix() != Register::None {
            return Err("an unexpected prefix".into());
        }
        self.memory(one, state)?;
        match mnemonic {
            Mnemonic::Push => {
                let register = one.op0_register().number();
                if state.general[RSP] != Known::Stack(state.pushed.len()) {
                    return Err("a push that is not at the beginning".into());
                }
                state.pushed.push(state.general[register]);
                state.general[RSP] = Known::Stack(state.pushed.len());
            }
            Mnemonic::Pop => {
                if state.general[RSP] != Known::Stack(state.pushed.len()) {
                    return Err("the stack is not where it was".into());
                }
                let value = state.pushed.pop().ok_or("nothing was pushed")?;
                state.general[one.op0_register().number()] = value;
                state.general[RSP] = Known::Stack(state.pushed.len());
            }
            Mnemonic::Ret => {
                let given_back =
                    |&register: &usize| state.general[register] == Known::Callers(register);
                if state.general[RSP] != Known::Stack(0) || !KEPT.iter().all(given_back) {
                    return Err("a register is not given back".into());
                }
                return state.clear.then_some(()).ok_or("upper halves are not clear".into());
            }
            Mnemonic::Call => self.call(one, state)?,
            Mnemonic::Vzeroupper => state.clear = true,
            _ => self.plain(one, state)?,
        }
        Ok(())
    }

    /// A call of an operation: its address, its operands' cells, and what it leaves.
    fn call(&self, one: &Instruction, state: &mut State) -> Result<(), String> {
        let known = |register: usize| state.general[register];
        let is_operate =
            known(one.op0_register().number()) == Known::Bits(address_of_operate() as u64);
        let callee = |&address: &usize| known(RDI) == Known::Bits(address as u64);
        let Known::Cell(cells) = known(RSI) else { return Err("no cells".into()) };
        let aligned =
            known(RSP) == Known::Frame && self.frame.is_multiple_of(64) && cells.is_multiple_of(64);
        if !is_operate || !self.contract.callees.iter().any(callee) || !aligned {
            return Err("a call of another kind".into());
        }
        if !state.clear || cells + 256 > self.frame {
            return Err("a call with upper halves or outside of the frame".into());
        }
        for (register, known) in state.general.iter_mut().enumerate() {
            if register != RSP && !KEPT.contains(&register) {
                *known = Known::Nothing;
            }
        }
        (state.vectors, state.masks) = (0, 0);
        state.cells.insert(cells / 64 + 3, Known::Number);
        Ok(())
    }

    /// Whether memory is the function's: constants, stack, arrays.
    fn memory(&mut self, one: &Instruction, state: &mut State) -> Result<(), String> {
        let Some(operand) = (0..one.op_count()).find(|&at| one.op_kind(at) == OpKind::Memory)
        else {
            return Ok(());
        };
        let (base, index) = (one.memory_base(), one.memory_index());
        let (offset, size) = (one.memory_displacement64(), one.memory_size().size() as u64);
        let writes = operand == 0 && one.mnemonic() != Mnemonic::Cmp;
        if base == Register::RIP {
            let inside = offset.checked_add(size).is_some_and(|end| end <= self.entry);
            return (inside && !writes).then_some(()).ok_or("no constant is there".into());
        }
        if !base.is_gpr64() {
            return Err("memory without a register".into());
        }
        match state.general[base.number()] {
            Known::Frame if index == Register::None => {
                if offset.checked_add(size.max(1)).is_none_or(|end| end > self.frame) {
                    return Err("outside of the frame".into());
                }
                if one.mnemonic() == Mnemonic::Lea {
                    return Ok(());
                }
                let cell = offset / 64;
                if writes {
                    let pointer = one.code() == Code::Mov_rm64_r64;
                    let from = one.op1_register().number();
                    let known = if pointer { state.general[from] } else { Known::Number };
                    state.cells.insert(cell, known);
                } else if !state.cells.contains_key(&cell) {
                    return Err("a cell that nobody wrote".into());
                }
                Ok(())
            }
            Known::List if index == Register::None && !writes => {
                let inside = offset.is_multiple_of(8) && offset / 8 < self.contract.arrays as u64;
                let moves = one.code() == Code::Mov_r64_rm64;
                (inside && moves).then_some(()).ok_or("no array has this number".into())
            }
            Known::Array(array) if offset == 0 || self.contract.group.is_none() => {
                if writes && !self.contract.writes.contains(&array) {
                    return Err(format!("array {array} is only read"));
                }
                self.elements(one, state, index)
            }
            known => Err(format!("memory behind {base:?}, which holds {known:?}")),
        }
    }

    /// Whether an access to an array stays with the elements that it is for.
    fn elements(&self, one: &Instruction, state: &State, index: Register) -> Result<(), String> {
        let scale = one.memory_index_scale() as usize;
        match (index, self.contract.group) {
            (Register::None, _) => Ok(()),
            (index, Some(_)) if index.is_vector_register() => {
                let width = if one.mnemonic() == Mnemonic::Vpgatherdq { 8 } else { 4 };
                (scale == width).then_some(()).ok_or("numbers of another width".into())
            }
            (Register::RCX, Some(group)) if self.contract.target == Target::Avx2 => {
                let size = one.memory_size().size();
                let whole = state.general[RSI] == Known::LastGroup && size == group * scale;
                (whole || size == scale).then_some(()).ok_or("elements behind the end".into())
            }
            (Register::RCX, Some(group)) => {
                let width = match one.mnemonic() {
                    Mnemonic::Vmovdqu8 => 1,
                    Mnemonic::Vmovdqu16 => 2,
                    Mnemonic::Vmovdqu32 => 4,
                    Mnemonic::Vmovdqu64 => 8,
                    _ => return Err("an access of another kind".into()),
                };
                let masked = one.op_mask() == Register::K1;
                let whole = !state.tail && one.memory_size().size() <= group * width;
                if scale != width || !(masked || whole) {
                    return Err("elements behind the end".into());
                }
                let reads = one.op1_kind() == OpKind::Memory;
                (!masked || one.zeroing_masking() == reads)
                    .then_some(())
                    .ok_or("what is masked does not read as zero".into())
            }
            // A loop over single elements counts in bytes, or in elements of any width.
            (Register::RCX, None) => Ok(()),
            _ => Err("an index of another kind".into()),
        }
    }

    /// What an instruction reads must be known; what it writes is then.
    fn plain(&mut self, one: &Instruction, state: &mut State) -> Result<(), String> {
        let same = one.op_count() == 3 && one.op1_register() == one.op2_register();
        let sets = matches!(one.mnemonic(), Mnemonic::Kxnorw | Mnemonic::Vpcmpeqd) && same;
        // Each of a gather's elements is written: all of its mask is set.
        let gathers = matches!(one.mnemonic(), Mnemonic::Vpgatherdd | Mnemonic::Vpgatherdq);
        let (mut writes, mut vectors) = (Vec::new(), false);
        for used in self.info.info(one).used_registers() {
            let (register, access) = (used.register().full_register(), used.access());
            let reads = matches!(
                access,
                OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            let number = register.number();
            let known = if register.is_gpr() {
                !matches!(state.general[number], Known::Nothing | Known::Callers(_))
            } else if register.is_zmm() {
                vectors = true;
                state.vectors >> number & 1 == 1
            } else if register.is_k() {
                state.masks >> number & 1 == 1
            } else {
                register == Register::RIP
            };
            let gathered = gathers && register == one.op0_register().full_register();
            if reads && !known && !sets && !gathered {
                return Err(format!("{register:?} holds nothing"));
            }
            if gathered || matches!(access, OpAccess::Write | OpAccess::ReadWrite) {
                writes.push(register);
            }
        }
        let value = self.value(one, state);
        for register in writes {
            let number = register.number();
            if register.is_gpr() {
                if state.general[number] == Known::Callers(number)
                    && !state.pushed.contains(&Known::Callers(number))
                {
                    return Err(format!("{register:?} is the caller's"));
                }
                state.general[number] = value;
            } else if register.is_zmm() {
                state.vectors |= 1 << number;
            } else if register.is_k() {
                state.masks |= 1 << number;
                if number == 1 {
                    state.tail = one.op1_kind() == OpKind::Register
                        && one.op1_register().is_gpr()
                        && state.general[one.op1_register().full_register().number()]
                            == Known::TailBits;
                }
            }
        }
        state.clear &= !vectors;
        Ok(())
    }

    /// Whether an instruction's number is that of the elements of a group.
    fn is_group(&self, one: &Instruction) -> bool {
        self.contract.group.is_some_and(|group| group as u64 == one.immediate(1))
    }

    /// What an instruction leaves in its general register.
    fn value(&self, one: &Instruction, state: &State) -> Known {
        let first = state.general.get(one.op0_register().full_register().number());
        match (one.code(), first) {
            (Code::Mov_r64_rm64, _) => match state.general[one.memory_base().number()] {
                Known::Frame => state.cells[&(one.memory_displacement64() / 64)],
                _ => Known::Array(
                    usize::try_from(one.memory_displacement64() / 8).unwrap_or(usize::MAX),
                ),
            },
            (Code::Mov_r64_imm64, _) => Known::Bits(one.immediate64()),
            (Code::Mov_r32_imm32, _) => Known::Bits(one.immediate32().into()),
            (Code::Mov_rm64_r64, _) => state.general[one.op1_register().number()],
            (Code::VEX_Bzhi_r32_rm32_r32, Some(&Known::Bits(bits)))
                if bits == u64::from(u32::MAX) =>
            {
                Known::TailBits
            }
            (Code::Sub_rm64_imm8, Some(Known::Count)) if self.is_group(one) => Known::LastGroup,
            (Code::Add_rm64_imm8, Some(Known::LastGroup)) if self.is_group(one) => Known::Count,
            (Code::Lea_r64_m, _) => Known::Cell(one.memory_displacement64()),
            (Code::And_rm64_imm8, Some(Known::Stack(_))) => Known::Frame,
            (Code::Sub_rm64_imm32, Some(Known::Frame)) => Known::Frame,
            _ => Known::Number,
        }
    }
}
