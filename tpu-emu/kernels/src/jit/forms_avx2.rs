//! Every instruction of AVX2 that the encoder writes: its bytes, and what a decoder that is not
//! ours reads in them.
use super::encode::{Arithmetic, Assembler, Fields, If, Opcode, Operand, general};
use super::forms_kit::{self, is_named, is_table, only, row};
use super::target::Target;
use super::verify::{Contract, check};
use super::vex::{
    OPCODES, SHIFTS, VMOVD_STORE, VMOVDQU, VMOVDQU_STORE, VPADDD, VPBROADCASTD, VPGATHERDQ, VPSHUFB,
};
use iced_x86::{EncodingKind, Instruction, Register};
use std::collections::BTreeSet;

const NONE: Fields = Fields { length: 1, reg: 0, other: 0, mask: 0, zero: false, immediate: None };

/// The bytes that `write` writes, and the instructions in them.
#[track_caller]
fn all(write: impl Fn(&mut Assembler)) -> (Vec<u8>, Vec<Instruction>) {
    let (bytes, instructions) = forms_kit::all(Target::Avx2, write);
    assert!(instructions.iter().all(|one| one.encoding() != EncodingKind::EVEX), "{bytes:02x?}");
    (bytes, instructions)
}

#[track_caller]
fn one(write: impl Fn(&mut Assembler)) -> (Vec<u8>, Instruction) {
    only(all(write))
}

/// Where the operands of an instruction stand, by its name.
fn vector(name: &str, op: Opcode, [a, b, c, d]: [u8; 4]) -> impl Fn(&mut Assembler) {
    let begins = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
    let reversed = begins(&["VCVTPS2PH", "VEXTRACT"]);
    let unary = begins(&["VMOV", "VCVT", "VPMOV", "VSQRT", "VROUND", "VPABS"]);
    let load = begins(&["VPBROADCAST", "VBROADCAST", "VMOVD", "VMOVQ"]) && name != "VMOVDQA";
    let short =
        begins(&["VPEXTR"]) || matches!(name, "VMOVD" | "VMOVQ") || name.ends_with("_STORE");
    let blend = begins(&["VPBLENDV", "VBLENDV"]).then_some(d << 4);
    let number = begins(&["VCMP", "VROUND", "VCVTPS2PH", "VEXTRACT", "VPEXTR"]).then_some(5);
    let number = if name.starts_with("VEXTRACT") { Some(1) } else { number };
    let memory = Operand::At { base: c, offset: 8 };
    let (reg, other, operand) = match () {
        () if name.starts_with("VPGATHER") => {
            (a, d, Operand::Numbered { base: c, numbers: b, scale: 2 })
        }
        () if load || short => (a, 0, memory),
        () if reversed => (b, 0, Operand::Register(a)),
        () if unary => (a, 0, Operand::Register(b)),
        () => (a, b, Operand::Register(c)),
    };
    let length = u8::from(!short || name == "VMOVDQU_STORE");
    let fields = Fields { length, reg, other, immediate: blend.or(number), ..NONE };
    move |code| code.vector(op, fields, operand)
}

#[test]
fn every_instruction_of_avx2_has_the_bytes_and_the_text_of_the_table() {
    let mut table = String::new();
    let mut put = |name: &str, bytes: &[u8], instructions: &[Instruction]| {
        table += &row(name, bytes, instructions);
    };
    for &(name, op) in OPCODES {
        for registers in [[1, 2, 3, 4], [9, 10, 14, 15]] {
            let (bytes, instruction) = one(vector(name, op, registers));
            is_named(&instruction, name, &bytes);
            put(name, &bytes, &[instruction]);
        }
    }
    for &(name, shift) in SHIFTS {
        for (other, from) in [(1, 2), (9, 10)] {
            let fields = Fields { reg: shift.digit, other, immediate: Some(31), ..NONE };
            let (bytes, instruction) =
                one(|code| code.vector(shift.op, fields, Operand::Register(from)));
            is_named(&instruction, name, &bytes);
            put(name, &bytes, &[instruction]);
        }
    }
    let (bytes, pool) = one(|code| code.vector(VPSHUFB, NONE, Operand::Pool(16)));
    put("pool", &bytes, &[pool]);
    for register in [6, 11] {
        let (bytes, tests) = all(|code| code.test_vector(register));
        put("test_vector", &bytes, &tests);
    }
    is_table(&table, include_str!("forms_avx2.txt"), "forms_avx2.txt");
}

#[test]
fn every_register_of_avx2_is_the_one_that_was_meant() {
    let ymm = |register: u8| Register::YMM0 + u32::from(register);
    let gpr = |register: u8| Register::RAX + u32::from(register);
    for reg in 0..16 {
        for other in 0..16 {
            for rm in 0..16 {
                let fields = Fields { reg, other, ..NONE };
                let (_, got) = one(|code| code.vector(VPADDD, fields, Operand::Register(rm)));
                let registers = [got.op0_register(), got.op1_register(), got.op2_register()];
                assert_eq!(registers, [reg, other, rm].map(ymm));
            }
        }
        for base in 0..16 {
            for scale in 0..4 {
                let fields = Fields { reg, ..NONE };
                for offset in [0, 7, 0x1234_5678] {
                    let at = Operand::Indexed { base, scale, offset };
                    let (_, got) = one(|code| code.vector(VMOVDQU_STORE, fields, at));
                    assert_eq!((got.memory_base(), got.op1_register()), (gpr(base), ymm(reg)));
                    let index = (got.memory_index(), got.memory_index_scale());
                    assert_eq!(index, (gpr(general::RCX), 1 << scale));
                    assert_eq!(got.memory_displacement64(), offset.into());
                }
                let numbers = (reg + 1) & 15;
                let other = (reg + 2) & 15;
                let fields = Fields { reg, other, ..NONE };
                let numbered = Operand::Numbered { base, numbers, scale };
                let (_, got) = one(|code| code.vector(VPGATHERDQ, fields, numbered));
                let index = Register::XMM0 + u32::from(numbers);
                assert_eq!((got.memory_base(), got.memory_index()), (gpr(base), index));
                assert_eq!((got.op0_register(), got.op2_register()), (ymm(reg), ymm(other)));
            }
        }
    }
}

/// A loop over elements as the emitter writes it for AVX2, but for what `plant` does.
fn looped(plant: impl Fn(&mut Assembler, usize)) -> Result<(), String> {
    let mut code = Assembler::new(Target::Avx2);
    let (from, to) = (
        Operand::Indexed { base: 8, scale: 2, offset: 0 },
        Operand::Indexed { base: 9, scale: 2, offset: 0 },
    );
    let frame = code.enter();
    code.load(8, general::RDI, 0);
    code.load(9, general::RDI, 8);
    code.clear(general::RCX);
    code.with_small(Arithmetic::Compare, general::RSI, 8);
    let short = code.jump(If::Below);
    code.with_small(Arithmetic::Subtract, general::RSI, 8);
    let top = code.here();
    code.vector(VMOVDQU, Fields { reg: 1, ..NONE }, from);
    plant(&mut code, 0);
    code.vector(VMOVDQU_STORE, Fields { reg: 1, ..NONE }, to);
    code.with_small(Arithmetic::Add, general::RCX, 8);
    code.with(Arithmetic::Compare, general::RCX, general::RSI);
    code.jump_back(If::BelowOrEqual, top);
    code.with_small(Arithmetic::Add, general::RSI, 8);
    code.land(short);
    code.with(Arithmetic::Compare, general::RCX, general::RSI);
    let done = code.jump(If::Zero);
    let rest = code.here();
    code.vector(VPBROADCASTD, Fields { reg: 1, ..NONE }, from);
    plant(&mut code, 1);
    code.vector(VMOVD_STORE, Fields { length: 0, reg: 1, ..NONE }, to);
    code.with_small(Arithmetic::Add, general::RCX, 1);
    code.with(Arithmetic::Compare, general::RCX, general::RSI);
    code.jump_back(If::Below, rest);
    code.land(done);
    code.clear_upper();
    code.leave(frame, 64);
    code.give_back();
    let (bytes, entry) = code.finish(vec![0; 16]);
    let (target, writes, callees) = (Target::Avx2, BTreeSet::from([1]), Vec::new());
    check(&bytes, entry, &Contract { target, arrays: 2, writes, group: Some(8), callees })
}

#[test]
fn faults_in_a_function_of_avx2_are_found() {
    looped(|_, _| ()).unwrap();
    let from = |scale| Operand::Indexed { base: 8, scale, offset: 0 };
    type Plant<'p> = &'p dyn Fn(&mut Assembler);
    let faults: [(usize, &str, Plant<'_>); 6] = [
        (1, "elements behind the end", &|code| code.vector(VMOVDQU, NONE, from(2))),
        (0, "elements behind the end", &|code| code.vector(VMOVDQU, NONE, from(1))),
        (0, "elements behind the end", &|code| code.vector(VPBROADCASTD, NONE, from(3))),
        (1, "array 0 is only read", &|code| {
            code.vector(VMOVD_STORE, Fields { length: 0, reg: 1, ..NONE }, from(2));
        }),
        (0, "a processor need not have AVX512", &|code| {
            code.target = Target::Avx512;
            code.vector(VPADDD, Fields { reg: 1, other: 1, ..NONE }, Operand::Register(1));
            code.target = Target::Avx2;
        }),
        (0, "an unexpected instruction", &|code| code.mask_of(1, general::RAX)),
    ];
    for (place, wanted, plant) in faults {
        let outcome = looped(|code, at| {
            if at == place {
                plant(code);
            }
        });
        assert!(outcome.as_ref().is_err_and(|why| why.contains(wanted)), "{wanted}: {outcome:?}");
    }
}
