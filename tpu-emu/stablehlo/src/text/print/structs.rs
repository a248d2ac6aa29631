//! Structs of StableHLO, put together again from the flat attributes.
use super::Printer;
use crate::canonical;
use crate::ir::{Attribute, Attributes, Operation};
use crate::text::convolution::SIDES;
use crate::text::structs::{Field, Struct, find};
use crate::vhlo::words::API_VERSION;

impl Printer<'_> {
    /// The attributes of an operation as text, each `name = value`.
    pub(super) fn operation_attributes(&mut self, operation: &Operation) -> Vec<String> {
        let (dialect, mnemonic) = operation.name.split_once('.').unwrap_or(("", &operation.name));
        let defaults = canonical::defaults(&operation.name, &operation.attributes);
        let mut rest: Vec<&(_, Attribute)> = operation
            .attributes
            .0
            .iter()
            .filter(|(name, value)| {
                !defaults.iter().any(|(known, default)| known == name && default == value)
            })
            .collect();
        let mut texts = Vec::new();
        let structs: &[&str] = match mnemonic {
            "gather" | "dynamic_gather" => &["gather"],
            "scatter" => &["scatter"],
            "dot_general" => &["dot", "dot_algorithm"],
            "ragged_dot" => &["ragged_dot"],
            _ => &[],
        };
        for known in structs.iter().filter_map(|name| find(name)) {
            if let Some(body) = body(known, &operation.attributes) {
                // The algorithm of a product is StableHLO's everywhere.
                texts.push(format!("{} = #{dialect}.{}<{body}>", known.attribute, known.name));
                rest.retain(|(name, _)| !known.fields.iter().any(|(field, _)| field == name));
            }
        }
        if matches!(mnemonic, "convolution" | "dynamic_conv")
            && let Some(text) = convolution(&operation.attributes)
        {
            texts.push(format!("dimension_numbers = #{dialect}.conv<{text}>"));
            let own = |name: &str| {
                SIDES.iter().any(|(letters, spatial)| {
                    *spatial == name || letters.iter().any(|(_, letter)| *letter == name)
                })
            };
            rest.retain(|(name, _)| !own(name));
        }
        if let Some(handle) = operation.attributes.integer("channel_id")
            && rest.iter().any(|(name, _)| name == "channel_id")
        {
            let kind = operation.attributes.integer("channel_type").unwrap_or(0);
            texts.push(format!(
                "channel_handle = #{dialect}.channel_handle<handle = {handle}, type = {kind}>"
            ));
            rest.retain(|(name, _)| name != "channel_id" && name != "channel_type");
        }
        for (name, value) in rest {
            texts.push(self.aside(|printer| match (&**name, value) {
                ("use_global_device_ids" | "has_dynamic_root", Attribute::Bool(true)) => {
                    printer.push(name)
                }
                ("api_version", Attribute::Word(word)) if API_VERSION.contains(&&**word) => {
                    let number = API_VERSION.iter().position(|known| known == word).unwrap_or(0);
                    printer.push(&format!("api_version = {number} : i32"));
                }
                _ => printer.named(dialect, name, value),
            }));
        }
        // MLIR wants the layouts of operands and of results, or neither.
        let layouts = ["operand_layouts", "result_layouts"];
        if layouts.iter().any(|name| operation.attributes.get(name).is_some()) {
            let missing = layouts.iter().filter(|name| operation.attributes.get(name).is_none());
            texts.extend(missing.map(|name| format!("{name} = []")));
        }
        texts.sort();
        texts
    }

    /// What a function writes, apart from the text so far.
    fn aside(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.out);
        write(self);
        std::mem::replace(&mut self.out, before)
    }
}

/// The fields of a struct, if the attributes have all of them. Lists that are empty and numbers
/// that are zero may be left out.
fn body(of: &Struct, attributes: &Attributes) -> Option<String> {
    let mut texts = Vec::new();
    for &(name, field) in of.fields {
        match (field, attributes.get(name)?) {
            (Field::List, Attribute::Integers(values)) => {
                if !values.is_empty() {
                    texts.push(format!("{name} = {values:?}"));
                }
            }
            (Field::Number, Attribute::Integer(value, _)) => {
                texts.push(format!("{name} = {value}"))
            }
            (Field::Flag, Attribute::Bool(value)) => texts.push(format!("{name} = {value}")),
            (Field::Type, Attribute::Type(crate::ir::Type::Scalar(element))) => {
                let (_, word) =
                    crate::ir::Element::NAMES.iter().find(|(known, _)| known == element)?;
                texts.push(format!("{name} = {word}"));
            }
            _ => return None,
        }
    }
    Some(texts.join(", "))
}

/// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, if the numbers make sense.
fn convolution(attributes: &Attributes) -> Option<String> {
    let mut sides = Vec::new();
    for (letters, spatial) in SIDES {
        let Attribute::Integers(spatial) = attributes.get(spatial)? else { return None };
        let mut dims = vec![None; spatial.len() + 2];
        let mut place = |at: i64, text: String| -> Option<()> {
            let slot = dims.get_mut(usize::try_from(at).ok()?)?;
            slot.replace(text).is_none().then_some(())
        };
        for (letter, name) in letters {
            place(attributes.integer(name)?, letter.to_string())?;
        }
        for (index, &at) in spatial.iter().enumerate() {
            place(at, index.to_string())?;
        }
        let dims: Option<Vec<String>> = dims.into_iter().collect();
        sides.push(format!("[{}]", dims?.join(", ")));
    }
    let [input, kernel, output] = <[String; 3]>::try_from(sides).ok()?;
    Some(format!("{input}x{kernel}->{output}"))
}
