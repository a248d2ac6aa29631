//! The one form of an operation's attributes, whatever reader they come from: sorted by name,
//! without those that say what their absence says.
use crate::ir::{Attribute, Attributes};

/// Brings the attributes of an operation into their one form.
pub(crate) fn simplify(operation: &str, attributes: &mut Attributes) {
    let mnemonic = operation.split_once('.').map_or(operation, |(_, mnemonic)| mnemonic);
    if mnemonic == "custom_call"
        && let Some((_, value)) = attributes.0.iter_mut().find(|(name, _)| name == "api_version")
        && let Some(word) = value.integer().and_then(|number| API_VERSIONS.get(usize::try_from(number).ok()?))
    {
        *value = Attribute::Word((*word).into());
    }
    for (name, value) in &mut attributes.0 {
        // A flag of the text form is a boolean of VHLO.
        if matches!(&**name, "use_global_device_ids" | "has_dynamic_root") && *value == Attribute::Unit {
            *value = Attribute::Bool(true);
        }
    }
    attributes.0.retain(|(name, value)| !is_default(mnemonic, name, value));
    attributes.0.sort_by(|(a, _), (b, _)| a.cmp(b));
}

/// The words of a custom call's `api_version`, by number.
pub(crate) const API_VERSIONS: [&str; 5] = [
    "API_VERSION_UNSPECIFIED",
    "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];

/// Whether an attribute says what its absence says.
fn is_default(mnemonic: &str, name: &str, value: &Attribute) -> bool {
    let all = |wanted: i64| value.integers().is_some_and(|values| values.iter().all(|&value| value == wanted));
    let windowed = matches!(mnemonic, "convolution" | "dynamic_conv" | "reduce_window" | "select_and_scatter");
    match name {
        "window_strides" | "base_dilations" | "window_dilations" | "lhs_dilation" | "rhs_dilation" => windowed && all(1),
        "padding" => windowed && all(0),
        "window_reversal" => windowed && all(0),
        "precision_config" => match value {
            Attribute::Array(words) => {
                words.iter().all(|word| matches!(word, Attribute::Word(word) if word == "DEFAULT"))
            }
            _ => false,
        },
        "channel_id" => mnemonic != "send" && mnemonic != "recv" && value.integer() == Some(0),
        // Only transfers keep the kind of their channel.
        "channel_type" => mnemonic != "send" && mnemonic != "recv",
        "use_global_device_ids" | "has_dynamic_root" | "has_side_effect" | "indices_are_sorted" | "unique_indices"
        | "is_stable" | "is_host_transfer" => *value == Attribute::Bool(false),
        "lower" => mnemonic == "cholesky" && *value == Attribute::Bool(false),
        "compare_type" => matches!(value, Attribute::Word(word) if word == "NOTYPE"),
        "version" => mnemonic == "composite" && value.integer() == Some(0),
        "composite_attributes" => matches!(value, Attribute::Dictionary(entries) if entries.0.is_empty()),
        "backend_config" | "infeed_config" | "outfeed_config" => {
            matches!(value, Attribute::String(text) if text.is_empty())
        }
        "api_version" => matches!(value, Attribute::Word(word) if word == "API_VERSION_ORIGINAL"),
        "called_computations" | "operand_layouts" | "result_layouts" | "output_operand_aliases" | "result_tilings"
        | "layout" | "known_expanding_dimensions" | "known_nonexpanding_dimensions" => empty(value),
        "source_target_pairs" => matches!(mnemonic, "send" | "recv") && empty(value),
        "result_accuracy" => match value {
            Attribute::Dictionary(fields) => fields.0.iter().all(|(_, field)| match field {
                Attribute::Float(value, _) => *value == 0.0,
                Attribute::Integer(value, _) => *value == 0,
                Attribute::Word(word) => word == "DEFAULT",
                _ => false,
            }),
            _ => false,
        },
        "dimension" => mnemonic == "sort" && value.integer() == Some(-1),
        _ => matches!(value, Attribute::Type(crate::ir::Type::None)) && mnemonic == "dot_general",
    }
}

fn empty(value: &Attribute) -> bool {
    match value {
        Attribute::Array(items) => items.is_empty(),
        Attribute::Integers(items) => items.is_empty(),
        Attribute::Elements(elements) => elements.data.is_empty(),
        _ => false,
    }
}
