//! Each reader as a function of bytes, as a fuzzer calls it. What it finds is a panic, an abort
//! or an endless loop.
use crate::{careless, traces};
use tpu_proto::Message as _;
use tpu_stablehlo::Module;

/// A reader: what it takes may be any bytes. Whether it could be read.
pub type Reader = fn(&[u8]) -> bool;

/// Each reader with the name of its fuzzer.
pub const READERS: [(&str, Reader); 7] = [
    ("bytecode", bytecode),
    ("text", text),
    ("hlo_proto", hlo_proto),
    ("hlo_text", hlo_text),
    ("compile_options", compile_options),
    ("mosaic", mosaic),
    ("trace", trace),
];

/// StableHLO bytecode.
pub fn bytecode(bytes: &[u8]) -> bool {
    let Ok(module) = tpu_stablehlo::bytecode::read(bytes) else { return false };
    // Not all that can be read can be printed so that it is read again: names may hold anything
    // in bytecode.
    let _ = module.to_mlir(true);
    careless::axes(&module);
    true
}

/// StableHLO text. Operations and attributes of nobody can be read and need not come back.
pub fn text(bytes: &[u8]) -> bool {
    let Ok(source) = std::str::from_utf8(bytes) else { return false };
    let Ok(module) = tpu_stablehlo::text::parse(source) else { return false };
    let _ = tpu_stablehlo::text::parse(&module.to_mlir(true));
    careless::axes(&module);
    true
}

/// A serialized `HloModuleProto`, with its configuration or without.
pub fn hlo_proto(bytes: &[u8]) -> bool {
    let _ = tpu_hlo::scheduled(bytes);
    let read = |with_config| {
        let Ok(module) = tpu_hlo::read(bytes, with_config) else { return false };
        let _ = module.to_mlir(true);
        careless::axes(&module);
        true
    };
    [false, true].map(read).contains(&true)
}

/// HLO text.
pub fn hlo_text(bytes: &[u8]) -> bool {
    let Ok(source) = std::str::from_utf8(bytes) else { return false };
    let Ok(message) = tpu_hlo::text::parse(source) else { return false };
    // What text can say, a message can.
    let _ = tpu_hlo::read(&message.encode_to_vec(), false);
    let Ok(module) = tpu_hlo::read_message(&message, bytes.len()) else { return false };
    let _ = module.to_mlir(true);
    careless::axes(&module);
    true
}

/// A serialized `CompileOptionsProto`.
pub fn compile_options(bytes: &[u8]) -> bool {
    let decoded = crate::compile_options::decode(bytes);
    decoded.is_ok_and(|decoded| {
        careless::devices(&decoded);
        true
    })
}

/// The module of a Pallas kernel.
pub fn mosaic(bytes: &[u8]) -> bool {
    let Ok(module) = tpu_mosaic::read(bytes, None) else { return false };
    let _ = module.to_mlir();
    careless::kernel_axes(&module);
    true
}

/// A trace, and all that is said of it.
pub fn trace(bytes: &[u8]) -> bool {
    let Ok(trace) = tpu_trace::read(bytes) else { return false };
    careless::blocks(&trace);
    traces::judge(&trace);
    true
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
