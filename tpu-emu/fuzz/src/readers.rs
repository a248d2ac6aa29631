//! Each reader as a function of bytes, as a fuzzer calls it. What it finds is a panic, an abort
//! or an endless loop.
use std::ops::RangeInclusive;
use std::sync::LazyLock;
use tpu_proto::Message as _;
use tpu_proto::xla::HloModuleProto;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::Type;

/// A reader: what it takes may be any bytes.
pub type Reader = fn(&[u8]);

/// Each reader with the name of its fuzzer.
pub const READERS: [(&str, Reader); 5] = [
    ("bytecode", bytecode),
    ("text", text),
    ("hlo_proto", hlo_proto),
    ("hlo_text", hlo_text),
    ("compile_options", compile_options),
];

/// The variable that plants a fault in every reader: an extent, or a count of devices, from 33 to
/// 99 is a panic. A fuzzer that does not find it would find nothing.
pub const PLANTED: &str = "TPU_EMU_TEST_PLANTED";

/// The numbers behind which the planted fault is. No seed has one.
const UNLUCKY: RangeInclusive<i64> = 33..=99;

#[expect(clippy::disallowed_methods, reason = "a fuzzer's own switch, no part of the library")]
static IS_PLANTED: LazyLock<bool> = LazyLock::new(|| std::env::var_os(PLANTED).is_some());

/// StableHLO bytecode.
pub fn bytecode(bytes: &[u8]) {
    if let Ok(module) = tpu_stablehlo::bytecode::read(bytes) {
        // Not all that can be read can be printed so that it is read again: names may hold
        // anything in bytecode.
        let _ = module.to_mlir(true);
        look(&module);
    }
}

/// StableHLO text. Operations and attributes of nobody can be read and need not come back.
pub fn text(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    if let Ok(module) = tpu_stablehlo::text::parse(source) {
        let _ = rewritten(&module);
        look(&module);
    }
}

/// A serialized `HloModuleProto`, with its configuration or without.
pub fn hlo_proto(bytes: &[u8]) {
    for with_config in [false, true] {
        if let Ok(module) = tpu_hlo::read(bytes, with_config) {
            let _ = module.to_mlir(true);
            look(&module);
        }
    }
}

/// HLO text.
pub fn hlo_text(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let Ok(message) = tpu_hlo::text::parse(source) else { return };
    if let Ok(module) = tpu_hlo::read_message(&message, bytes.len()) {
        let _ = module.to_mlir(true);
        look(&module);
    }
    // What text can say, a message can.
    hlo_message(&message);
}

fn hlo_message(message: &HloModuleProto) {
    let _ = tpu_hlo::read(&message.encode_to_vec(), false);
}

/// A serialized `CompileOptionsProto`.
pub fn compile_options(bytes: &[u8]) {
    if let Ok(decoded) = crate::compile_options::decode(bytes) {
        for count in [decoded.options.replicas, decoded.options.partitions] {
            meet(i64::try_from(count).unwrap_or_default());
        }
    }
}

/// What is wrong with the text of a program that was read: it must be read, and give itself. The
/// first writing may order what stands under names of nobody.
pub fn rewritten(module: &Module) -> Option<String> {
    let again = |text: &str| match tpu_stablehlo::text::parse(text) {
        Err(error) => Err(format!("what was written cannot be read: {error}\n{text}")),
        Ok(module) => Ok(module.to_mlir(false)),
    };
    let once = again(&module.to_mlir(false));
    let twice = once.as_ref().map_or_else(|error| Err(error.clone()), |text| again(text));
    match (once, twice) {
        (Ok(once), Ok(twice)) if once == twice => None,
        (Ok(once), Ok(twice)) => Some(format!("what was read is another program\n{once}\n{twice}")),
        (Err(error), _) | (_, Err(error)) => Some(error),
    }
}

fn look(module: &Module) {
    for of in module.functions.iter().flat_map(|function| &function.values) {
        if let Type::Tensor(tensor) = of {
            tensor.dims.iter().copied().for_each(meet);
        }
    }
}

/// Takes a number that was read.
fn meet(number: i64) {
    assert!(!*IS_PLANTED || !UNLUCKY.contains(&number), "the planted fault");
}
