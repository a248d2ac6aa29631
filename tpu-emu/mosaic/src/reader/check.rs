//! Holds operations against the rows of their table.
use super::code::type_in;
use crate::ir::{Attribute, Cell, Element, Op, Operation, Presence, Type, Value};
use crate::ir::{Count, group_name, group_rule};
use crate::print::{attribute_text, type_text};
use std::sync::Arc;

/// Whether an attribute is a hint of the frontend, which changes no value.
pub(super) fn is_hint(key: &str) -> bool {
    ["sc.", "jax.", "mhlo."].iter().any(|prefix| key.starts_with(prefix))
}

/// The text in an attribute that nobody knows.
pub(super) fn unknown_attribute(value: &Attribute) -> Option<&Arc<str>> {
    match value {
        Attribute::Unknown(text) | Attribute::Type(Type::Unknown(text)) => Some(text),
        Attribute::Array(items) => items.iter().find_map(unknown_attribute),
        Attribute::Dictionary(named) => {
            named.0.iter().find_map(|(_, value)| unknown_attribute(value))
        }
        _ => None,
    }
}

/// What is wrong with an operation. Its groups are told apart and its defaults filled in.
pub(super) fn operation(operation: &mut Operation, types: &[Type]) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Err(what) = groups(operation) {
        // Without groups nothing else can be said of the operands.
        return vec![what];
    }
    attributes(operation, &mut wrong);
    let row = operation.op.row();
    let regions = match operation.op {
        Op::ScfIndexSwitch => 1 + operation.integers("cases").map_or(0, |cases| cases.len()),
        _ => row.regions,
    };
    if operation.regions.len() != regions {
        wrong.push(format!("{} regions, {regions} are needed", operation.regions.len()));
    }
    let results = match result_groups(operation) {
        Ok(results) => results,
        Err(what) => {
            wrong.push(what);
            return wrong;
        }
    };
    let mut named: Vec<(&'static str, &[Value])> = Vec::new();
    for (index, group) in row.operands.iter().enumerate() {
        named.push((group, operation.group_at(index)));
    }
    named.extend(results);
    for (group, values) in &named {
        let (_, class) = group_rule(group);
        for value in *values {
            let of = type_in(types, *value);
            if !has_class(of, class) {
                let name = group_name(group);
                wrong.push(format!("{name} is {}, {class} is expected", type_text(of)));
            }
        }
    }
    for rule in row.same {
        same(rule, &named, types, &mut wrong);
    }
    wrong
}

/// Tells the groups of operands apart.
fn groups(operation: &mut Operation) -> Result<(), String> {
    let row = operation.op.row();
    let rules: Vec<Count> = row.operands.iter().map(|group| group_rule(group).0).collect();
    let count = operation.operands.len();
    let sizes = operation.attributes.take("operandSegmentSizes");
    let free = rules.iter().filter(|rule| **rule != Count::One).count();
    let sizes: Vec<i64> = match (sizes, free) {
        (Some(sizes), _) => sizes.integers().unwrap_or_default(),
        (None, 0 | 1) => {
            let others = rules.len() - free;
            let rest = count.checked_sub(others);
            let rest = rest.ok_or_else(|| format!("{count} operands, {others} are needed"))?;
            let rest = i64::try_from(rest).unwrap_or(i64::MAX);
            rules.iter().map(|rule| if *rule == Count::One { 1 } else { rest }).collect()
        }
        (None, _) => return Err("no operandSegmentSizes".to_owned()),
    };
    if sizes.len() != rules.len() {
        return Err(format!("{} groups of operands, {} are needed", sizes.len(), rules.len()));
    }
    let mut end = 0_usize;
    for ((size, rule), group) in sizes.iter().zip(&rules).zip(row.operands) {
        let fits = match rule {
            Count::One => *size == 1,
            Count::Optional => matches!(size, 0 | 1),
            Count::Any => *size >= 0,
        };
        if !fits {
            operation.ends.clear();
            return Err(format!("{size} operands as {}", group_name(group)));
        }
        end = end.saturating_add(usize::try_from(*size).unwrap_or(usize::MAX));
        operation.ends.push(end);
    }
    if end != count {
        operation.ends.clear();
        return Err(format!("{count} operands in groups of {sizes:?}"));
    }
    Ok(())
}

type Groups<'a> = Vec<(&'static str, &'a [Value])>;

fn result_groups(operation: &Operation) -> Result<Groups<'_>, String> {
    let groups = operation.op.row().results;
    if let [group] = groups
        && group_rule(group).0 == Count::Any
    {
        return Ok(vec![(*group, operation.results.as_slice())]);
    }
    if groups.len() != operation.results.len() {
        return Err(format!("{} results, {} are needed", operation.results.len(), groups.len()));
    }
    Ok(groups.iter().copied().zip(operation.results.chunks(1)).collect())
}

fn attributes(operation: &mut Operation, wrong: &mut Vec<String>) {
    let row = operation.op.row();
    for (key, value) in &operation.attributes.0 {
        if let Some(text) = unknown_attribute(value) {
            wrong.push(format!("the attribute {key} = {text}"));
            continue;
        }
        match row.attributes.iter().find(|property| property.name == &**key) {
            Some(property) if property.class.takes(value) => {}
            Some(_) => wrong.push(format!("the attribute {key} = {}", attribute_text(value))),
            None if is_hint(key) => {}
            None => wrong.push(format!("the attribute {key}, which is not known")),
        }
    }
    for property in row.attributes {
        if operation.attributes.get(property.name).is_some() {
            continue;
        }
        match property.class.default(property.presence) {
            Some(value) => operation.attributes.set(property.name, value),
            None if property.presence == Presence::Required => {
                wrong.push(format!("the attribute {} is missing", property.name));
            }
            None => {}
        }
    }
}

/// Whether a type is of a class of the table.
fn has_class(of: &Type, class: &str) -> bool {
    let element = || match of {
        Type::Scalar(element) => Some(*element),
        Type::Vector(vector) => Some(vector.element),
        _ => None,
    };
    match class {
        "any" => !matches!(of, Type::Unknown(_) | Type::Function(..)),
        "index" => *of == Type::Scalar(Element::Index),
        "i32" => *of == Type::Scalar(Element::S32),
        "i1" => *of == Type::Scalar(Element::Pred),
        // Bounds of loops.
        "count" => matches!(of, Type::Scalar(element) if is_integer(*element)),
        "int" => element().is_some_and(is_integer),
        "float" => element().is_some_and(|element| tpu_mlir::float::width(element).is_some()),
        "bool" => element() == Some(Element::Pred),
        "number" => element().is_some(),
        "vector" => matches!(of, Type::Vector(_)),
        "mask" => matches!(of, Type::Vector(vector) if vector.element == Element::Pred),
        "memref" => matches!(of, Type::Memref(_)),
        "semaphore" => matches!(
            of,
            Type::Memref(memref) if matches!(memref.cell, Cell::Semaphore | Cell::DmaSemaphore)
        ),
        _ => false,
    }
}

fn is_integer(element: Element) -> bool {
    tpu_mlir::float::width(element).is_none()
        && !matches!(element, Element::C64 | Element::C128 | Element::Other(_))
}

/// Compares the types of a rule: `a b`, `shape a b`, `element a b`.
fn same(rule: &str, named: &Groups<'_>, types: &[Type], wrong: &mut Vec<String>) {
    let (part, names) = match rule.split_once(' ') {
        Some((part @ ("shape" | "element"), names)) => (part, names),
        _ => ("", rule),
    };
    let mut first: Option<(&str, &Type)> = None;
    for name in names.split(' ') {
        let values = named.iter().find(|(group, _)| group_name(group) == name);
        for value in values.map_or(&[][..], |(_, values)| values) {
            let of = type_in(types, *value);
            let Some((other, expected)) = first else {
                first = Some((name, of));
                continue;
            };
            let equal = match part {
                "shape" => of.dims() == expected.dims(),
                "element" => elements_of(of) == elements_of(expected),
                _ => of == expected,
            };
            if !equal {
                let (of, expected) = (type_text(of), type_text(expected));
                wrong.push(format!("{name} is {of}, but {other} is {expected}"));
            }
        }
    }
}

/// What a value is made of.
fn elements_of(of: &Type) -> Option<Cell> {
    match of {
        Type::Memref(memref) => Some(memref.cell),
        Type::Cell(cell) => Some(*cell),
        other => other.element().map(Cell::Element),
    }
}
