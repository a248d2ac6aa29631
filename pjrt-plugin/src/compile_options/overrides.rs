//! Options by name, as `jax.jit(f, compiler_options={…})` sends them.
use std::collections::HashMap;
use tpu_emu::{Code, Error, Result};
use tpu_proto::xla::OptionOverrideProto;
use tpu_proto::xla::option_override_proto::Value;

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionValueKind {
    Bool,
    Int,
    Float,
    Text,
    /// One of these, with `|` between them.
    Word(&'static str),
    /// What no one value can say.
    Several,
}

use OptionValueKind::{Bool, Float, Int, Text};

/// The fields of XLA's `DebugOptions`, which it takes as options on every backend: a name and the
/// kind of the value in each line. jaxlib 0.10.2 and 0.12.0.1 together have these.
const FIELDS: &str = include_str!("debug_options.txt");

/// Options of TPUs beside them that are accepted and change nothing, each with the reason why that
/// is right. A name that is in neither list is refused, as XLA does.
const KNOWN: &[(&str, OptionValueKind, &str)] = &[
    // Speed and memory of hardware that is not here.
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
        let unknown = || refused(format!("No such compile option: '{name}'"));
        let kind = kind_of(name).ok_or_else(unknown)?;
        let value = overrides[name].value.as_ref();
        if !fits(kind, value) {
            let value = shown(value);
            let kind = noun(kind);
            let message =
                format!("While setting option {name}, '{value}' is not a valid {kind} value.");
            return Err(refused(message));
        }
    }
    Ok(())
}

fn kind_of(name: &str) -> Option<OptionValueKind> {
    let known = KNOWN.iter().find(|(known, ..)| *known == name).map(|&(_, kind, _)| kind);
    known.or_else(|| fields().find(|(known, _)| *known == name).map(|(_, kind)| kind))
}

/// The names of XLA's fields with the kinds of their values.
fn fields() -> impl Iterator<Item = (&'static str, OptionValueKind)> {
    FIELDS.lines().filter_map(|line| {
        let (name, kind) = line.split_once(' ')?;
        let kind = match kind {
            "bool" => Bool,
            "int" => Int,
            "float" => Float,
            "text" => Text,
            _ => kind.strip_prefix("word ").map_or(OptionValueKind::Several, OptionValueKind::Word),
        };
        Some((name, kind))
    })
}

fn refused(message: String) -> Error {
    Error::Verbatim { code: Code::InvalidArgument, message: message.into() }
}

/// Texts stand for the value that they spell.
fn fits(kind: OptionValueKind, value: Option<&Value>) -> bool {
    match (kind, value) {
        (_, None) => false,
        // Lists and messages are read from text, and none of them is read here.
        (OptionValueKind::Several, Some(value)) => matches!(value, Value::StringField(_)),
        (OptionValueKind::Word(words), Some(Value::StringField(text))) => {
            words.split('|').any(|word| word == text)
        }
        (OptionValueKind::Word(_), Some(_)) => false,
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

fn noun(kind: OptionValueKind) -> &'static str {
    match kind {
        Bool => "bool",
        Int => "int",
        Float => "float",
        Text => "string",
        OptionValueKind::Word(_) => "enum",
        OptionValueKind::Several => "message",
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
    fn every_field_of_the_table_has_a_name_and_a_kind_once() {
        let mut names: Vec<&str> = fields().map(|(name, _)| name).collect();
        assert_eq!(names.len(), FIELDS.lines().count());
        names.extend(KNOWN.iter().map(|(name, ..)| *name));
        assert!(names.iter().all(|name| name.starts_with("xla_")));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn options_of_other_backends_are_known_by_name_and_kind() {
        let text = |text: &str| Value::StringField(text.to_owned());
        assert_eq!(check_one("xla_gpu_autotune_level", Value::IntField(0)), Ok(()));
        assert_eq!(check_one("xla_gpu_autotune_level", text("4")), Ok(()));
        assert_eq!(check_one("xla_cpu_enable_fast_math", Value::BoolField(true)), Ok(()));
        assert_eq!(check_one("xla_gpu_cuda_data_dir", text("/usr")), Ok(()));
        assert_eq!(check_one("xla_step_marker_location", text("STEP_MARK_NONE")), Ok(()));
        let refused = check_one("xla_step_marker_location", text("nowhere")).unwrap_err();
        assert!(refused.ends_with("'nowhere' is not a valid enum value."), "{refused}");
        let refused = check_one("xla_gpu_autotune_level", text("high")).unwrap_err();
        let expected =
            "While setting option xla_gpu_autotune_level, 'high' is not a valid int value.";
        assert_eq!(refused, expected);
        let refused = check_one("xla_gpu_autotune_levels", Value::IntField(0)).unwrap_err();
        assert_eq!(refused, "No such compile option: 'xla_gpu_autotune_levels'");
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
