//! The one form of an operation's attributes as VHLO has it: what StableHLO's text leaves out is
//! there, what says nothing is not, and names are in order.
use crate::ir::{Attribute, Attributes, Element, Elements, TensorType, Type};
use crate::vhlo::{ROWS, words};

/// Brings the attributes of an operation that was read from text into the form that VHLO gives
/// them.
pub(crate) fn complete(operation: &str, attributes: &mut Attributes) {
    if let Some(mnemonic) = operation.strip_prefix("stablehlo.") {
        for (name, value) in &mut attributes.0 {
            match &**name {
                // The text form has a number where VHLO has a word.
                "api_version" => {
                    let number = value.integer().and_then(|number| usize::try_from(number).ok());
                    if let Some(word) = number.and_then(|number| words::API_VERSION.get(number)) {
                        *value = Attribute::Word((*word).into());
                    }
                }
                // A flag of the text form is a boolean of VHLO.
                "use_global_device_ids" | "has_dynamic_root" if *value == Attribute::Unit => {
                    *value = Attribute::Bool(true);
                }
                _ => {}
            }
        }
        // Only transfers keep the kind of their channel.
        if !matches!(mnemonic, "send" | "recv") {
            attributes.0.retain(|(name, _)| name != "channel_type");
        }
        attributes.0.retain(|(name, value)| !(says_nothing(value) && is_of(operation, name)));
        for (name, value) in defaults(operation, attributes) {
            if attributes.get(name).is_none() {
                attributes.set(name, value);
            }
        }
    }
    attributes.sort();
}

/// Whether VHLO's operation has this attribute in some version.
fn is_of(operation: &str, attribute: &str) -> bool {
    ROWS.iter().any(|row| row.name == operation && row.attributes.contains(&attribute))
}

fn says_nothing(value: &Attribute) -> bool {
    match value {
        Attribute::String(text) => text.is_empty(),
        Attribute::Array(items) => items.is_empty(),
        Attribute::Type(of) => *of == Type::None,
        Attribute::Word(word) => word == "NOTYPE",
        Attribute::Dictionary(fields) => fields.0.iter().all(|(name, field)| match field {
            Attribute::Float(value, _) => name.ends_with("tol") && *value == 0.0,
            Attribute::Integer(value, _) => name == "ulps" && *value == 0,
            Attribute::Word(word) => name == "mode" && word == "DEFAULT",
            _ => false,
        }),
        _ => false,
    }
}

/// The attributes that an operation of the text form may leave out, and what they are then.
pub(crate) fn defaults(operation: &str, attributes: &Attributes) -> Vec<(&'static str, Attribute)> {
    let Some(mnemonic) = operation.strip_prefix("stablehlo.") else { return Vec::new() };
    let no = || Attribute::Bool(false);
    let zero = || Attribute::Integer(0, Element::S64);
    let rank = |name: &str| match attributes.get(name) {
        Some(Attribute::Integers(values)) => values.len(),
        _ => 0,
    };
    let ones = |rank: usize| Attribute::Integers(vec![1; rank]);
    let precision = || Attribute::Array(vec![Attribute::Word("DEFAULT".into()); 2]);
    match mnemonic {
        "all_gather" | "all_reduce" | "reduce_scatter" => {
            vec![("channel_id", zero()), ("use_global_device_ids", no())]
        }
        "all_to_all" | "collective_permute" => vec![("channel_id", zero())],
        "collective_broadcast" => vec![("channel_id", zero()), ("has_dynamic_root", no())],
        "collective_reduce" => vec![
            ("channel_id", zero()),
            ("has_dynamic_root", no()),
            ("use_global_device_ids", no()),
        ],
        "cholesky" => vec![("lower", no())],
        "composite" => vec![("version", zero())],
        "convolution" | "dynamic_conv" => {
            let rank = rank("input_spatial_dimensions");
            let mut list = vec![
                ("window_strides", ones(rank)),
                ("lhs_dilation", ones(rank)),
                ("rhs_dilation", ones(rank)),
                ("window_reversal", Attribute::Booleans(vec![false; rank])),
                ("precision_config", precision()),
            ];
            if mnemonic == "convolution" {
                list.push(("padding", no_padding(rank)));
            }
            list
        }
        "custom_call" => vec![
            ("api_version", Attribute::Word("API_VERSION_ORIGINAL".into())),
            ("has_side_effect", no()),
        ],
        "dot" | "dot_general" => vec![("precision_config", precision())],
        "dynamic_broadcast_in_dim" => vec![
            ("known_expanding_dimensions", Attribute::Integers(Vec::new())),
            ("known_nonexpanding_dimensions", Attribute::Integers(Vec::new())),
        ],
        "dynamic_gather" | "gather" => vec![("indices_are_sorted", no())],
        "scatter" => vec![("indices_are_sorted", no()), ("unique_indices", no())],
        "recv" | "send" => vec![
            ("is_host_transfer", no()),
            ("source_target_pairs", Attribute::Integers(Vec::new())),
        ],
        "reduce_window" => {
            let rank = rank("window_dimensions");
            vec![
                ("window_strides", ones(rank)),
                ("base_dilations", ones(rank)),
                ("window_dilations", ones(rank)),
                ("padding", no_padding(rank)),
            ]
        }
        "select_and_scatter" => {
            let rank = rank("window_dimensions");
            vec![("window_strides", ones(rank)), ("padding", no_padding(rank))]
        }
        "sort" => vec![("dimension", Attribute::Integer(-1, Element::S64)), ("is_stable", no())],
        _ => Vec::new(),
    }
}

/// A pair of zeros for each dimension.
fn no_padding(rank: usize) -> Attribute {
    let rows = i64::try_from(rank).unwrap_or(i64::MAX);
    let data: &[u8] = if rank == 0 { &[] } else { &[0; 8] };
    Attribute::Elements(Elements {
        of: TensorType::new(Element::S64, vec![rows, 2]),
        data: data.into(),
        splat: rank != 0,
    })
}
