//! Every instruction that the encoder writes: its bytes, and what a decoder that is not ours
//! reads in them.
use super::code_memory::address_of_operate;
use super::encode::{Arithmetic, Assembler, Fields, If, Opcode, Operand, general};
use super::forms_kit::{self, is_named, is_table, only, row};
use super::opcodes::{
    KXNORW, OPCODES, SHIFTS, VMOVDQU8, VMOVDQU32, VMOVDQU64_STORE, VPADDD, VPBROADCASTB,
    VPGATHERDD, VPGATHERDQ, VPTERNLOGD,
};
use super::target::Target;
use super::verify::{Contract, check};
use iced_x86::{Instruction, Register};
use std::collections::BTreeSet;

const NONE: Fields = Fields { length: 2, reg: 0, other: 0, mask: 0, zero: false, immediate: None };

/// The bytes that `write` writes, and the instructions in them.
#[track_caller]
fn all(write: impl Fn(&mut Assembler)) -> (Vec<u8>, Vec<Instruction>) {
    forms_kit::all(Target::default(), write)
}

/// The bytes that `write` writes, and the only instruction in them.
#[track_caller]
fn one(write: impl Fn(&mut Assembler)) -> (Vec<u8>, Instruction) {
    only(all(write))
}

/// Where the operands of an instruction stand, by its name.
fn vector(name: &str, op: Opcode, [a, b, c]: [u8; 3]) -> impl Fn(&mut Assembler) {
    let narrows = name.starts_with("VPMOV") && !name.starts_with("VPMOVSX");
    let reversed = narrows && !name.starts_with("VPMOVZX") || name == "VCVTPS2PH";
    let moves = name.starts_with("VMOV") || name.starts_with("VPBROADCAST");
    let unary = moves
        || name.starts_with("VCVT")
        || name.starts_with("VPMOV")
        || ["VSQRT", "VRNDSCALE", "VFPCLASS", "VPABS", "VPOPCNT", "VPLZCNT"]
            .iter()
            .any(|begin| name.starts_with(begin));
    let immediate = ["VPCMP", "VCMP", "VPTERNLOG", "VRNDSCALE", "VFPCLASS", "VCVTPS2PH"];
    let immediate = immediate.iter().any(|begin| name.starts_with(begin)).then_some(5);
    let mask_result =
        ["VPCMP", "VCMP", "VPTEST", "VFPCLASS"].iter().any(|begin| name.starts_with(begin));
    let stores = name.ends_with("_STORE");
    let gathers = name.starts_with("VPGATHER");
    let memory = Operand::At { base: c & 15, offset: 8 };
    let (reg, other, operand) = match () {
        () if stores => (a, 0, memory),
        () if gathers => (a, 0, Operand::Numbered { base: c & 15, numbers: b, scale: 2 }),
        () if reversed => (b, 0, Operand::Register(a)),
        () if mask_result && unary => (a & 7, 0, Operand::Register(b)),
        () if mask_result => (a & 7, b, Operand::Register(c)),
        () if unary => (a, 0, Operand::Register(b)),
        () => (a, b, Operand::Register(c)),
    };
    let mask = u8::from(gathers) * 3;
    let fields = Fields { length: 2, reg, other, mask, zero: false, immediate };
    move |code| code.vector(op, fields, operand)
}

fn mask(name: &str, op: Opcode) -> impl Fn(&mut Assembler) {
    let at = Operand::At { base: general::RSP, offset: 0x140 };
    let (long, other, operand) = match name {
        "KMOVW" | "KMOVW_STORE" => (false, 0, at),
        "KNOTW" => (false, 0, Operand::Register(5)),
        _ => (true, 3, Operand::Register(5)),
    };
    move |code| code.mask(op, long, 7, other, operand)
}

type Written = (String, Vec<u8>, Vec<Instruction>);

/// Every opcode with low registers and with high ones.
fn opcodes() -> Vec<Written> {
    let mut rows = Vec::new();
    for &(name, op) in OPCODES {
        if name.starts_with('K') {
            let (bytes, instruction) = one(mask(name, op));
            rows.push((name.to_owned(), bytes, vec![instruction]));
            continue;
        }
        for registers in [[1, 2, 3], [17, 26, 31]] {
            let (bytes, instruction) = one(vector(name, op, registers));
            rows.push((name.to_owned(), bytes, vec![instruction]));
        }
    }
    for &(name, shift) in SHIFTS {
        for (other, from) in [(1, 2), (17, 26)] {
            let fields = Fields { reg: shift.digit, other, immediate: Some(31), ..NONE };
            let (bytes, instruction) =
                one(|code| code.vector(shift.op, fields, Operand::Register(from)));
            rows.push((name.to_owned(), bytes, vec![instruction]));
        }
    }
    rows
}

/// Every other function of the encoder, and every form of operand.
fn others() -> Vec<Written> {
    let mut rows: Vec<Written> = Vec::new();
    let mut put = |name: &str, write: &dyn Fn(&mut Assembler)| {
        let (bytes, instructions) = all(write);
        rows.push((name.to_owned(), bytes, instructions));
    };
    for length in 0..3 {
        let fields = Fields { length, reg: 9, ..NONE };
        put("length", &|code| code.vector(VPADDD, fields, Operand::Register(3)));
    }
    let merged = Fields { reg: 9, other: 18, mask: 5, ..NONE };
    let zeroed = Fields { zero: true, ..merged };
    put("merged", &|code| code.vector(VPADDD, merged, Operand::Register(3)));
    put("zeroed", &|code| code.vector(VPADDD, zeroed, Operand::Register(3)));
    for base in [0, 4, 5, 12, 13, 15] {
        let at = Operand::At { base, offset: 0x1234_5678 };
        put("at", &|code| code.vector(VMOVDQU32, Fields { reg: 20, ..NONE }, at));
        let indexed = Operand::Indexed { base, scale: base & 3, offset: 0 };
        put("indexed", &|code| code.vector(VMOVDQU32, Fields { reg: 20, ..NONE }, indexed));
        let numbered = Operand::Numbered { base, numbers: 2 * base, scale: base & 3 };
        let fields = Fields { reg: 31, mask: 2, ..NONE };
        put("numbered", &|code| code.vector(VPGATHERDD, fields, numbered));
    }
    put("pool", &|code| code.vector(VPBROADCASTB, NONE, Operand::Pool(3)));
    let table = Fields { immediate: Some(0xea), ..NONE };
    put("pool, number", &|code| code.vector(VPTERNLOGD, table, Operand::Pool(16)));
    put("mask", &|code| code.mask(KXNORW, true, 1, 2, Operand::Register(3)));
    for (register, base) in [(general::RAX, general::RSP), (9, general::RDI), (15, 12)] {
        put("load", &|code| code.load(register, base, 0x88));
        put("store", &|code| code.store(register, base, 0x88));
        put("address", &|code| code.address(register, base, 0x88));
    }
    put("number", &|code| code.number(general::RDI, 0x1122_3344_5566_7788));
    put("number_32", &|code| code.number_32(general::RAX, 0x1122_3344));
    put("clear", &|code| code.clear(general::RCX));
    for op in [Arithmetic::Add, Arithmetic::And, Arithmetic::Subtract, Arithmetic::Compare] {
        put("with", &|code| code.with(op, general::RCX, general::RSI));
        put("with_small", &|code| code.with_small(op, general::RSI, 0x10));
        put("with_small", &|code| code.with_small(op, general::RSP, 0xc0));
        put("with_number", &|code| code.with_number(op, general::RCX, 0x1234_5678));
    }
    put("low_bits", &|code| code.low_bits(general::RAX, general::RSI));
    put("mask_of", &|code| code.mask_of(1, general::RAX));
    put("enter, leave", &|code| {
        let frame = code.enter();
        code.leave(frame, 0x140);
    });
    put("clear_upper", &Assembler::clear_upper);
    put("call", &|code| code.call(general::RAX));
    put("give_back", &Assembler::give_back);
    for register in [general::RBX, general::RBP, 12, 15] {
        put("push", &|code| code.stack(false, register));
        put("pop", &|code| code.stack(true, register));
    }
    for condition in [If::Always, If::Below, If::BelowOrEqual, If::Zero] {
        put("jump", &|code| {
            let jump = code.jump(condition);
            code.land(jump);
        });
        put("jump_back", &|code| code.jump_back(condition, 0));
    }
    rows
}

#[test]
fn every_form_has_the_bytes_and_the_text_of_the_table() {
    let mut table = String::new();
    for (name, bytes, instructions) in opcodes().iter().chain(&others()) {
        table += &row(name, bytes, instructions);
    }
    is_table(&table, include_str!("forms.txt"), "forms.txt");
}

#[test]
fn every_opcode_is_the_instruction_of_its_name() {
    for (name, bytes, instructions) in opcodes() {
        is_named(&instructions[0], &name, &bytes);
    }
}

#[test]
fn every_register_and_address_is_the_one_that_was_meant() {
    let zmm = |register: u8| Register::ZMM0 + u32::from(register);
    let gpr = |register: u8| Register::RAX + u32::from(register);
    for reg in 0..32 {
        for other in 0..32 {
            for rm in 0..32 {
                let (mask, zero) = (reg & 7, other & 1 == 1 && reg & 7 != 0);
                let fields = Fields { reg, other, mask, zero, ..NONE };
                let (_, got) = one(|code| code.vector(VPADDD, fields, Operand::Register(rm)));
                let registers = [got.op0_register(), got.op1_register(), got.op2_register()];
                assert_eq!(registers, [reg, other, rm].map(zmm));
                let wanted =
                    if mask == 0 { Register::None } else { Register::K0 + u32::from(mask) };
                assert_eq!((got.op_mask(), got.zeroing_masking()), (wanted, zero));
            }
        }
        for base in 0..16 {
            for scale in 0..4 {
                let fields = Fields { reg, ..NONE };
                for offset in [0, 7, 0x1234_5678] {
                    let at = Operand::Indexed { base, scale, offset };
                    let (_, got) = one(|code| code.vector(VMOVDQU8, fields, at));
                    assert_eq!((got.op0_register(), got.memory_base()), (zmm(reg), gpr(base)));
                    let index = (got.memory_index(), got.memory_index_scale());
                    assert_eq!(index, (Register::RCX, 1 << scale));
                    assert_eq!(got.memory_displacement64(), offset.into());
                }
                for numbers in 0..32 {
                    let fields = Fields { length: 1, reg, mask: 1, ..NONE };
                    let numbered = Operand::Numbered { base, numbers, scale };
                    if reg == numbers {
                        continue;
                    }
                    let (_, got) = one(|code| code.vector(VPGATHERDQ, fields, numbered));
                    let index = Register::XMM0 + u32::from(numbers);
                    assert_eq!((got.memory_base(), got.memory_index()), (gpr(base), index));
                    assert_eq!(
                        (got.memory_index_scale(), got.memory_displacement64()),
                        (1 << scale, 0)
                    );
                }
            }
            for offset in [0, 64, 0x7fff_ffff] {
                let fields = Fields { reg, ..NONE };
                let at = Operand::At { base, offset };
                let (_, got) = one(|code| code.vector(VMOVDQU64_STORE, fields, at));
                assert_eq!((got.memory_base(), got.op1_register()), (gpr(base), zmm(reg)));
                let place = (got.memory_index(), got.memory_displacement64());
                assert_eq!(place, (Register::None, offset.into()));
            }
        }
    }
}

/// Where a fault is planted, what is said of it, and what plants it.
type Fault = (usize, &'static str, Box<dyn Fn(&mut Assembler)>);

/// A loop over elements as the emitter writes it, but for what `plant` does.
fn looped(plant: impl Fn(&mut Assembler, usize)) -> Result<(), String> {
    let mut code = Assembler::default();
    let (base, scale) = (8, 2);
    let fields = |masked: bool| Fields { reg: 1, mask: u8::from(masked), zero: masked, ..NONE };
    let put = |masked: bool| Fields { zero: false, ..fields(masked) };
    let array = Operand::Indexed { base, scale, offset: 0 };
    plant(&mut code, 0);
    code.stack(false, general::RBX);
    let frame = code.enter();
    code.load(base, general::RDI, 0);
    code.load(general::RBX, general::RDI, 8);
    code.clear(general::RCX);
    code.number_32(general::RAX, 0xffff);
    code.mask_of(1, general::RAX);
    let short = code.jump(If::Below);
    let top = code.here();
    code.vector(VMOVDQU32, fields(false), array);
    plant(&mut code, 1);
    code.vector(VPADDD, Fields { reg: 2, other: 1, ..NONE }, Operand::Register(1));
    code.vector(
        super::opcodes::store(4),
        put(false),
        Operand::Indexed { base: 3, scale, offset: 0 },
    );
    code.with_small(Arithmetic::Add, general::RCX, 16);
    code.jump_back(If::BelowOrEqual, top);
    code.land(short);
    code.number_32(general::RAX, u32::MAX);
    code.low_bits(general::RAX, general::RSI);
    code.mask_of(1, general::RAX);
    code.vector(VMOVDQU32, fields(true), array);
    plant(&mut code, 2);
    code.vector(
        super::opcodes::store(4),
        put(true),
        Operand::Indexed { base: 3, scale, offset: 0 },
    );
    plant(&mut code, 3);
    code.clear_upper();
    plant(&mut code, 4);
    code.leave(frame, 128);
    code.stack(true, general::RBX);
    code.give_back();
    plant(&mut code, 5);
    let (bytes, entry) = code.finish(vec![0; 16]);
    let (writes, callees) = (BTreeSet::from([1]), vec![64]);
    let target = Target::Avx512;
    check(&bytes, entry, &Contract { target, arrays: 2, writes, group: Some(16), callees })
}

#[test]
fn faults_in_a_function_are_found() {
    looped(|_, _| ()).unwrap();
    let vector = |fields: Fields, operand: Operand| {
        move |code: &mut Assembler| code.vector(VMOVDQU32, fields, operand)
    };
    let store = |fields: Fields, operand: Operand| {
        move |code: &mut Assembler| code.vector(super::opcodes::store(4), fields, operand)
    };
    let (scale, masked) = (2, Fields { mask: 1, zero: true, ..NONE });
    let operate = u64::try_from(address_of_operate()).unwrap();
    let faults: Vec<Fault> = vec![
        (
            1,
            "an unexpected instruction",
            Box::new(|code| {
                code.vector(Opcode { byte: 0xf4, ..VPADDD }, NONE, Operand::Register(1))
            }),
        ),
        (
            1,
            "an unexpected instruction",
            Box::new(|code| {
                code.vector(Opcode { map: 2, byte: 0xff, ..VPADDD }, NONE, Operand::Register(1))
            }),
        ),
        (
            0,
            "holds nothing",
            Box::new(|code| code.with(Arithmetic::Add, general::RBX, general::RBX)),
        ),
        (0, "is the caller's", Box::new(|code| code.clear(general::RBX))),
        (1, "holds nothing", Box::new(|code| code.vector(VPADDD, NONE, Operand::Register(30)))),
        (
            1,
            "holds nothing",
            Box::new(|code| {
                code.vector(VPADDD, Fields { other: 1, mask: 6, ..NONE }, Operand::Register(1))
            }),
        ),
        (1, "the stack is not where it was", Box::new(|code| code.number(general::RBP, 1))),
        (1, "is the caller's", Box::new(|code| code.load(12, general::RDI, 0))),
        (4, "a register is not given back", Box::new(|code| code.give_back())),
        (1, "no constant is there", Box::new(vector(NONE, Operand::Pool(0)))),
        (
            1,
            "outside of the frame",
            Box::new(store(
                Fields { reg: 1, ..NONE },
                Operand::At { base: general::RSP, offset: 65 },
            )),
        ),
        (
            1,
            "a cell that nobody wrote",
            Box::new(vector(NONE, Operand::At { base: general::RSP, offset: 0 })),
        ),
        (1, "no array has this number", Box::new(|code| code.load(9, general::RDI, 16))),
        (
            1,
            "array 0 is only read",
            Box::new(store(
                Fields { reg: 1, ..NONE },
                Operand::Indexed { base: 8, scale, offset: 0 },
            )),
        ),
        (
            1,
            "elements behind the end",
            Box::new(vector(NONE, Operand::Indexed { base: 8, scale: 3, offset: 0 })),
        ),
        (
            2,
            "elements behind the end",
            Box::new(vector(NONE, Operand::Indexed { base: 8, scale, offset: 0 })),
        ),
        (
            2,
            "what is masked does not read as zero",
            Box::new(vector(
                Fields { reg: 1, mask: 1, ..NONE },
                Operand::Indexed { base: 8, scale, offset: 0 },
            )),
        ),
        (
            1,
            "memory behind RSI",
            Box::new(vector(masked, Operand::At { base: general::RSI, offset: 0 })),
        ),
        (4, "upper halves are not clear", Box::new(vector(masked, Operand::Register(1)))),
        (1, "no cells", Box::new(|code| code.call(general::RAX))),
        (
            1,
            "a call of another kind",
            Box::new(move |code| {
                code.address(general::RSI, general::RSP, 0);
                code.number(general::RAX, operate);
                code.call(general::RAX);
            }),
        ),
        (
            1,
            "a jump to what is no instruction",
            Box::new(|code| code.jump_back(If::Zero, code.here() - 1)),
        ),
        (
            3,
            "no way leads to",
            Box::new(|code| {
                let jump = code.jump(If::Always);
                code.clear(general::RAX);
                code.land(jump);
            }),
        ),
        (5, "no way leads to", Box::new(|code| code.clear(general::RAX))),
    ];
    let mut missed = Vec::new();
    for (place, wanted, plant) in faults {
        let outcome = looped(|code, at| {
            if at == place {
                plant(code)
            }
        });
        if !outcome.as_ref().is_err_and(|why| why.contains(wanted)) {
            missed.push(format!("{wanted}: {outcome:?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
