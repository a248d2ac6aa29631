//! Attributes and types as MLIR writes them.
use super::number::float_text;
use crate::ir::{
    Attribute, Attributes, Cell, DYNAMIC, DotDimensions, Element, Elements, Memref, Space, Strided,
    Type, Vector,
};
use tpu_mlir::float;
use tpu_mlir::location::quote;

/// More elements are written as bytes.
const WRITTEN_OUT: usize = 100;

/// A type, for messages.
pub(crate) fn type_text(of: &Type) -> String {
    let mut text = String::new();
    value_type(of, &mut text);
    text
}

/// An attribute, for messages.
pub(crate) fn attribute_text(value: &Attribute) -> String {
    let mut text = String::new();
    attribute(value, &mut text);
    text
}

pub(super) fn element_name(element: Element) -> String {
    match Element::NAMES.iter().find(|(of, _)| *of == element) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("{element:?}"),
    }
}

/// A type.
pub(super) fn value_type(of: &Type, text: &mut String) {
    match of {
        Type::Scalar(element) => text.push_str(&element_name(*element)),
        Type::Vector(vector) => vector_type(vector, text),
        Type::Memref(Memref { cell: of, dims: extents, layout, space }) => {
            text.push_str("memref<");
            dims(extents, text);
            cell(*of, text);
            if let Some(layout) = layout {
                text.push_str(", ");
                strided(layout, text);
            }
            if let Some(space) = space {
                text.push_str(", ");
                text.push_str(&space_text(*space));
            }
            text.push('>');
        }
        Type::Cell(of) => cell(*of, text),
        Type::Function(arguments, results) => {
            types(arguments, text);
            text.push_str(" -> ");
            types(results, text);
        }
        Type::Unknown(unknown) => text.push_str(unknown),
    }
}

fn strided(layout: &Strided, text: &mut String) {
    let number = |value: &i64| match *value {
        DYNAMIC => "?".to_owned(),
        value => value.to_string(),
    };
    let strides: Vec<String> = layout.strides.iter().map(number).collect();
    text.push_str(&format!("strided<[{}]", strides.join(", ")));
    if layout.offset != 0 {
        text.push_str(&format!(", offset: {}", number(&layout.offset)));
    }
    text.push('>');
}

fn types(list: &[Type], text: &mut String) {
    text.push('(');
    for (number, of) in list.iter().enumerate() {
        text.push_str(if number == 0 { "" } else { ", " });
        value_type(of, text);
    }
    text.push(')');
}

fn vector_type(vector: &Vector, text: &mut String) {
    text.push_str("vector<");
    dims(&vector.dims, text);
    text.push_str(&element_name(vector.element));
    text.push('>');
}

fn cell(of: Cell, text: &mut String) {
    match of {
        Cell::Element(element) => text.push_str(&element_name(element)),
        Cell::Semaphore => text.push_str("!tpu.semaphore"),
        Cell::DmaSemaphore => text.push_str("!tpu.dma_semaphore"),
    }
}

fn dims(dims: &[i64], text: &mut String) {
    for dim in dims {
        if *dim == DYNAMIC {
            text.push('?');
        } else {
            text.push_str(&dim.to_string());
        }
        text.push('x');
    }
}

fn space_text(space: Space) -> String {
    match space.core {
        Some(core) => format!("#tpu.memory_space<{}, {}>", space.memory.word(), core.word()),
        None => format!("#tpu.memory_space<{}>", space.memory.word()),
    }
}

/// `[1, 2]`.
pub(super) fn list(values: &[i64]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("[{}]", values.join(", "))
}

/// A symbol without its `@`.
pub(super) fn symbol(name: &str, text: &mut String) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if first && name.bytes().all(plain) {
        text.push_str(name);
    } else {
        quote(name, text);
    }
}

/// `{a = 1 : i32, b}`.
pub(super) fn dictionary(named: &Attributes, text: &mut String) {
    text.push('{');
    for (number, (key, value)) in named.0.iter().enumerate() {
        text.push_str(if number == 0 { "" } else { ", " });
        pair(key, value, text);
    }
    text.push('}');
}

/// `a = 1 : i32`, or the name alone of what is just there.
pub(super) fn pair(key: &str, value: &Attribute, text: &mut String) {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'-');
    if !key.is_empty() && key.bytes().all(plain) {
        text.push_str(key);
    } else {
        quote(key, text);
    }
    if *value != Attribute::Unit {
        text.push_str(" = ");
        attribute(value, text);
    }
}

/// An attribute.
pub(super) fn attribute(value: &Attribute, text: &mut String) {
    match value {
        Attribute::Unit => text.push_str("unit"),
        Attribute::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Attribute::Integer(value, of) => {
            text.push_str(&format!("{value} : {}", element_name(*of)));
        }
        Attribute::Signed(value, of) => {
            text.push_str(&format!("{value} : s{}", element_name(*of)));
        }
        Attribute::Float(value, of) => {
            text.push_str(&format!("{} : {}", float_text(*value, *of), element_name(*of)));
        }
        Attribute::Text(string) => quote(string, text),
        Attribute::Symbol(name) => {
            text.push('@');
            symbol(name, text);
        }
        Attribute::Type(of) => value_type(of, text),
        Attribute::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { ", " });
                match item {
                    // In a list these types go without saying.
                    Attribute::Integer(value, Element::S64) => text.push_str(&value.to_string()),
                    Attribute::Float(value, of @ Element::F64) => {
                        text.push_str(&float_text(*value, *of));
                    }
                    item => attribute(item, text),
                }
            }
            text.push(']');
        }
        Attribute::Integers(values, of) => {
            let value = |value: &i64| match of {
                Element::Pred => (*value != 0).to_string(),
                _ => value.to_string(),
            };
            let values: Vec<String> = values.iter().map(value).collect();
            let colon = if values.is_empty() { "" } else { ": " };
            text.push_str(&format!("array<{}{colon}{}>", element_name(*of), values.join(", ")));
        }
        Attribute::Elements(elements) => dense(elements, text),
        Attribute::Dictionary(named) => dictionary(named, text),
        Attribute::Strided(layout) => strided(layout, text),
        Attribute::AffineMap(map) => text.push_str(&map.to_string()),
        Attribute::Space(space) => text.push_str(&space_text(*space)),
        Attribute::ElementWindow(low, high) => {
            text.push_str(&format!("#tpu.element_window<{}, {}>", list(low), list(high)));
        }
        Attribute::DotDimensions(dimensions) => dot_dimensions(dimensions, text),
        Attribute::Promise(head, words) => text.push_str(&format!("#{head}<{words}>")),
        Attribute::Unknown(unknown) => text.push_str(unknown),
        other => {
            let (head, word) = word(other);
            text.push_str(&format!("#{head}<{word}>"));
        }
    }
}

/// The head and the word of an enumeration.
pub(super) fn word(value: &Attribute) -> (&'static str, &'static str) {
    match value {
        Attribute::CoreType(of) => ("tpu.core_type", of.word()),
        Attribute::DimensionSemantics(of) => ("tpu.dimension_semantics", of.word()),
        Attribute::PipelineMode(of) => ("tpu.pipeline_mode", of.word()),
        Attribute::RevisitMode(of) => ("tpu.revisit_mode", of.word()),
        Attribute::ReductionKind(of) => ("tpu.reduction_kind", of.word()),
        Attribute::PackFormat(of) => ("tpu.pack_format", of.word()),
        Attribute::ContractPrecision(of) => ("tpu.contract_precision", of.word()),
        Attribute::RoundingMode(of) => ("tpu.rounding_mode", of.word()),
        Attribute::CombiningKind(of) => ("vector.kind", of.word()),
        _ => ("", ""),
    }
}

fn dot_dimensions(of: &DotDimensions, text: &mut String) {
    let output: Vec<i64> = of.output.iter().flat_map(|&(side, dim)| [side, dim]).collect();
    let lists = [
        &of.lhs_contracting,
        &of.rhs_contracting,
        &of.lhs_free,
        &of.rhs_free,
        &output,
        &of.lhs_batch,
        &of.rhs_batch,
    ];
    let lists: Vec<String> = lists.iter().map(|values| list(values)).collect();
    text.push_str(&format!("#tpu.dot_dimension_numbers<{}>", lists.join(", ")));
}

/// `dense<…> : type`.
fn dense(elements: &Elements, text: &mut String) {
    text.push_str("dense<");
    let width = elements.of.element.bytes().unwrap_or(1);
    let count = elements.data.len() / width;
    if elements.splat || count == 1 {
        one(elements, 0, text);
    } else if count > WRITTEN_OUT && elements.of.element != Element::Pred {
        text.push_str("\"0x");
        let mask = match elements.of.element {
            Element::S2 | Element::U2 => 3,
            Element::S4 | Element::U4 => 0xF,
            _ => 0xFF,
        };
        elements.data.iter().for_each(|byte| text.push_str(&format!("{:02X}", byte & mask)));
        text.push('"');
    } else if count > 0 {
        let mut next = 0;
        nested(elements, &elements.of.dims, &mut next, text);
    }
    text.push_str("> : ");
    vector_type(&elements.of, text);
}

fn nested(elements: &Elements, dims: &[i64], next: &mut usize, text: &mut String) {
    let Some((&extent, inner)) = dims.split_first() else {
        one(elements, *next, text);
        *next += 1;
        return;
    };
    text.push('[');
    for number in 0..extent {
        text.push_str(if number == 0 { "" } else { ", " });
        nested(elements, inner, next, text);
    }
    text.push(']');
}

/// The element with this number.
fn one(elements: &Elements, index: usize, text: &mut String) {
    let of = elements.of.element;
    let width = of.bytes().unwrap_or(1);
    let Some(bytes) = elements.data.get(index * width..(index + 1) * width) else { return };
    let bits = bytes.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
    if of == Element::Pred {
        text.push_str(if bits == 0 { "false" } else { "true" });
    } else if float::width(of).is_some() {
        text.push_str(&float_text(bits, of));
    } else {
        let unused = 64 - 8 * u32::try_from(width.min(8)).unwrap_or(8);
        text.push_str(&((bits << unused).cast_signed() >> unused).to_string());
    }
}
