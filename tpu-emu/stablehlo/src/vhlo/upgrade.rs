//! What older versions of operations lack or have too much, and how VHLO spells symbols.
use super::VersionRow;
use crate::ir::{Attribute, Attributes, Type};

/// Attributes that a version lacks and that then are a list of nothing: the operation, the last
/// version without it, and the attribute.
const ADDED: &[(&str, u32, &str)] = &[
    ("stablehlo.dynamic_gather", 1, "operand_batching_dims"),
    ("stablehlo.dynamic_gather", 1, "start_indices_batching_dims"),
    ("stablehlo.gather", 1, "operand_batching_dims"),
    ("stablehlo.gather", 1, "start_indices_batching_dims"),
    ("stablehlo.recv", 1, "source_target_pairs"),
    ("stablehlo.scatter", 1, "input_batching_dims"),
    ("stablehlo.scatter", 1, "scatter_indices_batching_dims"),
    ("stablehlo.send", 1, "source_target_pairs"),
];

/// Flags that a version lacks.
const FLAGS: &[(&str, u32, &str)] = &[("stablehlo.collective_broadcast", 1, "has_dynamic_root")];

/// Attributes that a version has and later ones do not.
const REMOVED: &[(&str, u32, &str)] = &[("stablehlo.dynamic_conv", 1, "padding")];

/// Attributes that name functions, which VHLO writes as strings.
const SYMBOLS: &[(&str, &str)] = &[
    ("stablehlo.call", "callee"),
    ("stablehlo.composite", "decomposition"),
    ("stablehlo.custom_call", "called_computations"),
];

/// Brings the attributes of an operation to the newest version. Those that are empty strings,
/// arrays or dictionaries, the type `none`, and a comparison of no type say nothing and are
/// dropped.
pub(crate) fn upgrade(row: &VersionRow, attributes: &mut Attributes) {
    let removed = |name: &str| REMOVED.contains(&(row.name, row.version, name));
    attributes.0.retain(|(name, value)| {
        let own = row.attributes.contains(&&**name);
        !removed(name) && (!own || !says_nothing(value))
    });
    let lacks = |&&(name, last, _): &&(&str, u32, &str)| name == row.name && row.version <= last;
    let mut add = |attribute: &'static str, value: Attribute| {
        if attributes.get(attribute).is_none() {
            attributes.set(attribute, value);
        }
    };
    for (.., attribute) in ADDED.iter().filter(lacks) {
        add(attribute, Attribute::Integers(Vec::new()));
    }
    for (.., attribute) in FLAGS.iter().filter(lacks) {
        add(attribute, Attribute::Bool(false));
    }
    for (_, attribute) in SYMBOLS.iter().filter(|(name, _)| *name == row.name) {
        let found = attributes.0.iter_mut().find(|(key, _)| key == attribute);
        if let Some((_, value)) = found {
            symbols(value);
        }
    }
}

fn says_nothing(value: &Attribute) -> bool {
    match value {
        Attribute::String(text) => text.is_empty(),
        Attribute::Array(items) => items.is_empty(),
        Attribute::Dictionary(named) => named.0.is_empty(),
        Attribute::Type(of) => *of == Type::None,
        Attribute::Word(word) => word == "NOTYPE",
        _ => false,
    }
}

fn symbols(value: &mut Attribute) {
    match value {
        Attribute::String(text) => {
            if let Ok(text) = std::str::from_utf8(text) {
                *value = Attribute::Symbol(text.into());
            }
        }
        Attribute::Array(items) => items.iter_mut().for_each(symbols),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::upgrade;
    use crate::ir::{Attribute, Attributes};
    use crate::vhlo::find;

    #[test]
    fn an_old_gather_gets_the_attributes_of_the_newest() {
        let mut attributes = Attributes::default();
        upgrade(find("gather_v1").unwrap(), &mut attributes);
        assert_eq!(attributes.integers("operand_batching_dims"), Some(vec![]));
        let mut attributes = Attributes::default();
        attributes.set("padding", Attribute::Unit);
        upgrade(find("dynamic_conv_v1").unwrap(), &mut attributes);
        assert_eq!(attributes, Attributes::default());
    }

    #[test]
    fn names_of_functions_are_symbols_and_empty_things_are_dropped() {
        let mut attributes = Attributes::default();
        let called = Attribute::Array(vec![Attribute::string("f")]);
        attributes.set("called_computations", called);
        attributes.set("backend_config", Attribute::string(""));
        upgrade(find("custom_call_v1").unwrap(), &mut attributes);
        let called = Attribute::Array(vec![Attribute::Symbol("f".into())]);
        assert_eq!(attributes.0, [("called_computations".into(), called)]);
    }
}
