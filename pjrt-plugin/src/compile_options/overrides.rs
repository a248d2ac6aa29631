//! Options by name, as `jax.jit(f, compiler_options={…})` sends them.
use std::collections::HashMap;
use tpu_emu::{Code, Error, Result};
use tpu_proto::xla::OptionOverrideProto;
use tpu_proto::xla::option_override_proto::Value;

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
}

use Kind::{Bool, Float, Int, Text};

/// Options that are accepted and change nothing, each with the reason why that is right. A name
/// that is not here is refused, as XLA does.
const KNOWN: &[(&str, Kind, &str)] = &[
    // Results do not depend on them.
    ("xla_embed_ir_in_executable", Bool, "what an executable carries along"),
    ("xla_dump_max_hlo_modules", Int, "there is no dump"),
    ("xla_dump_to", Text, "there is no dump"),
    ("xla_dump_hlo_as_proto", Bool, "there is no dump"),
    ("xla_dump_hlo_as_text", Bool, "there is no dump"),
    ("xla_dump_hlo_as_html", Bool, "there is no dump"),
    ("xla_dump_hlo_as_dot", Bool, "there is no dump"),
    ("xla_dump_hlo_pass_re", Text, "there is no dump"),
    ("xla_dump_hlo_module_re", Text, "there is no dump"),
    ("xla_dump_disable_metadata", Bool, "there is no dump"),
    ("xla_backend_optimization_level", Int, "how long the compiler may think"),
    // Allowed to be more exact than asked is no duty: every step rounds here.
    ("xla_allow_excess_precision", Bool, "nothing is kept more exactly than its type"),
    // Speed and memory of hardware that is not here.
    ("xla_gpu_auto_spmd_partitioning_memory_budget_ratio", Float, "another device's"),
    ("xla_gpu_enable_latency_hiding_scheduler", Bool, "another device's"),
    ("xla_latency_hiding_scheduler_rerun", Int, "the order of steps"),
    ("xla_tpu_enable_latency_hiding_scheduler", Bool, "the order of steps"),
    ("xla_tpu_scoped_vmem_limit_kib", Int, "the chip's scratch memory"),
    ("xla_tpu_enable_async_collective_fusion", Bool, "the order of steps"),
    ("xla_tpu_enable_async_collective_fusion_fuse_all_gather", Bool, "the order of steps"),
    ("xla_tpu_enable_async_collective_fusion_multiple_steps", Bool, "the order of steps"),
    ("xla_tpu_overlap_compute_collective_tc", Bool, "the order of steps"),
    ("xla_enable_async_all_gather", Text, "the order of steps"),
    ("xla_enable_async_collective_permute", Text, "the order of steps"),
    ("xla_tpu_data_parallel_opt_different_sized_ops", Bool, "the order of steps"),
    ("xla_tpu_enable_data_parallel_all_reduce_opt", Bool, "the order of steps"),
    ("xla_tpu_spmd_threshold_for_allgather_cse", Int, "which copies are kept"),
    ("xla_tpu_rwb_fusion", Bool, "how steps are fused"),
    ("xla_tpu_megacore_fusion_allow_ags", Bool, "how steps are fused"),
    ("xla_tpu_use_enhanced_launch_barrier", Bool, "how hosts start together"),
    ("xla_tpu_enable_log_recorder", Bool, "the log of kernels"),
    ("xla_tpu_enable_sc_log_recorder", Bool, "the log of kernels"),
    ("xla_tpu_enable_tile_log_recorder", Bool, "the log of kernels"),
    ("xla_sc_force_aligned_buffers", Bool, "where the sparse cores put buffers"),
    (
        "xla_tpu_enable_sparse_core_collective_offload_all_gather",
        Bool,
        "which core moves the bytes",
    ),
    (
        "xla_tpu_enable_sparse_core_collective_offload_all_reduce",
        Bool,
        "which core moves the bytes",
    ),
    (
        "xla_tpu_enable_sparse_core_collective_offload_reduce_scatter",
        Bool,
        "which core moves the bytes",
    ),
];

/// Refuses options that are not known, and values that are not of their option's kind. The words
/// are XLA's: its clients look for them.
pub(super) fn check(overrides: &HashMap<String, OptionOverrideProto>) -> Result<()> {
    let mut names: Vec<&String> = overrides.keys().collect();
    names.sort_unstable();
    for name in names {
        let known = KNOWN.iter().find(|(known, ..)| known == name);
        let (_, kind, _) =
            known.ok_or_else(|| refused(format!("No such compile option: '{name}'")))?;
        let value = overrides[name].value.as_ref();
        if !fits(*kind, value) {
            let value = shown(value);
            let kind = noun(*kind);
            let message =
                format!("While setting option {name}, '{value}' is not a valid {kind} value.");
            return Err(refused(message));
        }
    }
    Ok(())
}

fn refused(message: String) -> Error {
    Error::Verbatim { code: Code::InvalidArgument, message: message.into() }
}

/// Texts stand for the value that they spell.
fn fits(kind: Kind, value: Option<&Value>) -> bool {
    match (kind, value) {
        (_, None) => false,
        (Text, Some(value)) => matches!(value, Value::StringField(_)),
        (Bool, Some(Value::BoolField(_)))
        | (Int, Some(Value::IntField(_)))
        | (Float, Some(Value::DoubleField(_) | Value::IntField(_))) => true,
        (Bool, Some(Value::StringField(text))) => {
            matches!(text.to_ascii_lowercase().as_str(), "true" | "false")
        }
        (Int, Some(Value::StringField(text))) => text.parse::<i64>().is_ok(),
        (Float, Some(Value::StringField(text))) => text.parse::<f64>().is_ok(),
        (Bool | Int | Float, Some(_)) => false,
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::StringField(text)) => text.clone(),
        Some(Value::BoolField(on)) => on.to_string(),
        Some(Value::IntField(number)) => number.to_string(),
        Some(Value::DoubleField(number)) => number.to_string(),
    }
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Bool => "bool",
        Int => "int",
        Float => "float",
        Text => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(name: &str, value: Value) -> Result<(), String> {
        let value = OptionOverrideProto { value: Some(value) };
        check(&HashMap::from([(name.to_owned(), value)])).map_err(|error| {
            assert_eq!(error.code(), Code::InvalidArgument);
            error.to_string()
        })
    }

    #[test]
    fn an_unknown_name_is_refused_in_the_words_of_xla() {
        let refused = check_one("invalid_key", Value::StringField("x".to_owned()));
        assert_eq!(refused, Err("No such compile option: 'invalid_key'".to_owned()));
    }

    #[test]
    fn a_value_is_of_its_kind_or_spells_one() {
        let name = "xla_embed_ir_in_executable";
        for good in [Value::BoolField(true), Value::StringField("False".to_owned())] {
            assert_eq!(check_one(name, good), Ok(()));
        }
        let bad = check_one(name, Value::StringField("invalid_value".to_owned()));
        let words =
            format!("While setting option {name}, 'invalid_value' is not a valid bool value.");
        assert_eq!(bad, Err(words));
        let ratio = "xla_gpu_auto_spmd_partitioning_memory_budget_ratio";
        assert_eq!(check_one(ratio, Value::DoubleField(0.5)), Ok(()));
        assert_eq!(check_one("xla_dump_max_hlo_modules", Value::IntField(200)), Ok(()));
        assert!(check_one("xla_dump_max_hlo_modules", Value::BoolField(true)).is_err());
    }

    #[test]
    fn the_first_name_that_is_wrong_is_the_first_in_the_alphabet() {
        let none = OptionOverrideProto { value: None };
        let both = HashMap::from([("b".to_owned(), none.clone()), ("a".to_owned(), none)]);
        let message = check(&both).unwrap_err().to_string();
        assert_eq!(message, "No such compile option: 'a'");
    }

    #[test]
    fn a_name_stands_in_the_list_once_and_has_a_reason() {
        let mut names: Vec<_> = KNOWN.iter().map(|(name, ..)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
        assert!(KNOWN.iter().all(|(.., reason)| !reason.is_empty()));
    }
}
