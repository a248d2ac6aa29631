//! The instructions and the features of processors that a compiled function may have.
use super::opcodes::{OPCODES, SHIFTS};
use super::target::Target;
use super::vex;
use iced_x86::{CpuidFeature, Mnemonic};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Instructions that are no vector instructions.
const GENERAL: [Mnemonic; 18] = [
    Mnemonic::Add,
    Mnemonic::And,
    Mnemonic::Bzhi,
    Mnemonic::Call,
    Mnemonic::Cmp,
    Mnemonic::Jb,
    Mnemonic::Jbe,
    Mnemonic::Je,
    Mnemonic::Jmp,
    Mnemonic::Lea,
    Mnemonic::Mov,
    Mnemonic::Pop,
    Mnemonic::Push,
    Mnemonic::Ret,
    Mnemonic::Sub,
    Mnemonic::Test,
    Mnemonic::Vzeroupper,
    Mnemonic::Xor,
];

/// Moves of masks that the encoder writes without a constant.
const MASKS: [&str; 2] = ["KMOVD", "KMOVW"];

/// The mnemonics that a function of a target may have.
fn allowed(names: impl Iterator<Item = &'static str>) -> BTreeSet<String> {
    let general = GENERAL.iter().map(|mnemonic| format!("{mnemonic:?}").to_lowercase());
    general.chain(names.map(|name| name.trim_end_matches("_STORE").to_lowercase())).collect()
}

static ALLOWED: LazyLock<[BTreeSet<String>; 2]> = LazyLock::new(|| {
    let shifts = SHIFTS.iter().map(|(name, _)| *name);
    let short = vex::SHIFTS.iter().map(|(name, _)| *name);
    [
        allowed(OPCODES.iter().map(|(name, _)| *name).chain(shifts).chain(MASKS)),
        allowed(vex::OPCODES.iter().map(|(name, _)| *name).chain(short)),
    ]
});

/// What every processor with AVX-512 has that machine code is made for, as `Level::Avx512` asks.
/// The last is what `Target::counts_bits` asks for besides.
const FEATURES: [CpuidFeature; 11] = [
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL386,
    CpuidFeature::X64,
    CpuidFeature::AVX,
    CpuidFeature::BMI2,
    CpuidFeature::AVX512F,
    CpuidFeature::AVX512VL,
    CpuidFeature::AVX512BW,
    CpuidFeature::AVX512DQ,
    CpuidFeature::AVX512CD,
    CpuidFeature::AVX512_VPOPCNTDQ,
];

/// What every processor has that machine code of AVX2 is made for, as `Target::here` asks.
const FEATURES_OF_AVX2: [CpuidFeature; 7] = [
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL386,
    CpuidFeature::X64,
    CpuidFeature::AVX,
    CpuidFeature::AVX2,
    CpuidFeature::BMI2,
    CpuidFeature::F16C,
];

/// What functions for a target may have.
pub(super) fn allowed_of(target: Target) -> (&'static BTreeSet<String>, &'static [CpuidFeature]) {
    match target {
        Target::Avx512 if target.counts_bits() => (&ALLOWED[0], &FEATURES),
        Target::Avx512 => (&ALLOWED[0], &FEATURES[..FEATURES.len() - 1]),
        Target::Avx2 => (&ALLOWED[1], &FEATURES_OF_AVX2),
    }
}
