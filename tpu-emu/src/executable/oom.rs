//! A program that can never fit, in the compiler's words.
use super::charge::{Charged, LaidAnew};
use super::{MemoryAnalysis, OtherPlan};
use crate::trace::PlannedValue;
use std::cmp::Reverse;
use std::fmt::Write;
use tpu_base::error::{Code, Error, short};
use tpu_base::units::{Bytes, to_u64};
use tpu_program::plan::Plan;
use tpu_stablehlo::Module;

/// Heads the list of the largest temporaries.
const LARGEST: &str = "\nLargest temporaries:";

/// How many of another compiler's, or of those made again, are shown.
const SHOWN: usize = 8;

/// The words, with the sizes and who has planned them.
fn words(name: &str, memory: &MemoryAnalysis, limit: Bytes, planned_by: &str) -> String {
    let MemoryAnalysis { arguments, outputs, alias, temporaries, .. } = *memory;
    format!(
        "E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO \
         temporaries ({}) exceeds available HBM ({}). HLO module: {name}.\n\
         See https://openxla.org/xla/errors/error_1000 for more details.\n\n\
         Arguments {}, outputs {} ({} of them in arguments), temporaries {}.\n\
         Planned by {planned_by}.",
        short(memory.total()),
        short(limit),
        short(arguments),
        short(outputs),
        short(alias),
        short(temporaries)
    )
}

/// That so many others lie beside an array.
pub(super) fn with_others(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => ", and one more at the same time".to_owned(),
        _ => format!(", and {others} more at the same time"),
    }
}

/// The error for a program that needs more HBM than a device has by the plan of another compiler.
pub(crate) fn too_large_for(name: &str, plan: &OtherPlan, limit: Bytes) -> Error {
    let mut message = words(name, &plan.memory, limit, &plan.compiler);
    let mut held = plan.held_at_most();
    held.sort_by_key(|value| Reverse(value.size));
    if !held.is_empty() {
        message += LARGEST;
    }
    for value in held.into_iter().take(SHOWN) {
        let PlannedValue { size, dtype, dims, layout, operation, line, .. } = value;
        let dims = dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let line = if line.is_empty() { "unknown" } else { line };
        let size = short(Bytes(*size));
        let _ = write!(message, "\n    {size} {dtype}[{dims}]{layout} {operation} at {line}");
    }
    Error::Verbatim { code: Code::ResourceExhausted, message: message.into() }
}

/// What a program makes again because there was no room for it otherwise, with lines; `None` for
/// nothing.
pub(super) fn rematerialized(module: &Module, plan: &Plan) -> Option<String> {
    let again = plan.rematerialized();
    if again.is_empty() {
        return None;
    }
    let mut words = format!("Made again for want of room (rematerialization): {}", again.len());
    for step in again.iter().take(SHOWN) {
        let line = module.locations.line(step.location).unwrap_or_else(|| "unknown".to_owned());
        let _ = write!(words, "\n    {} at {line}", step.name);
    }
    Some(words)
}

/// The error for a program that needs more HBM than a device has, with its largest temporaries.
///
/// Source: libtpu 0.0.51, error E1000.
pub(super) fn too_large(
    module: &Module,
    (plan, laid_anew, in_core): (&Plan, Option<&LaidAnew>, Bytes),
    memory: &MemoryAnalysis,
    limit: Bytes,
) -> Error {
    let name = module.name.as_deref().unwrap_or("module");
    let mut message = words(name, memory, limit, "tpu-emu");
    if let Some(LaidAnew { bytes, others, place, dtype, dims, layout, name, location }) = laid_anew
    {
        let line = module.locations.line(*location).unwrap_or_else(|| "unknown".to_owned());
        let dims = dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let _ = write!(
            message,
            "\n{}:\n    {} {}[{dims}]{layout} {name} at {line}{}",
            match place {
                Charged::Alone => {
                    "Laid anew by the chip, which takes more than all other temporaries"
                }
                Charged::Beside(_) => "Stored by the chip beside other temporaries, as for",
            },
            short(*bytes),
            dtype.name(),
            with_others(*others)
        );
    }
    if in_core > Bytes::ZERO {
        let in_core = short(in_core);
        let _ = write!(message, "\nBesides, {in_core} of temporaries lie in the core's memory.");
    }
    if let Some(again) = rematerialized(module, plan) {
        let _ = write!(message, "\n{again}");
    }
    if plan.largest.iter().any(|(shape, ..)| shape.bytes() > 0) {
        message += LARGEST;
        for (shape, operation, location) in &plan.largest {
            let line = module.locations.line(*location).unwrap_or_else(|| "unknown".to_owned());
            let size = short(Bytes(to_u64(shape.bytes())));
            let _ = write!(message, "\n    {size} {shape} {operation} at {line}");
        }
    }
    Error::Verbatim { code: Code::ResourceExhausted, message: message.into() }
}
