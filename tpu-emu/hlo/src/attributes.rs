//! Attributes of operations, written briefly.
use tpu_proto::xla::Window;
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Elements, TensorType};

/// Named attributes in the order of their names.
pub(crate) fn list<const N: usize>(named: [(&'static str, Attribute); N]) -> Attributes {
    let mut list =
        Attributes(named.into_iter().map(|(name, value)| (name.into(), value)).collect());
    list.sort();
    list
}

/// A 64-bit integer.
pub(crate) fn number(value: i64) -> Attribute {
    Attribute::Integer(value.into(), Element::S64)
}

/// 64-bit integers.
pub(crate) fn numbers(values: &[i64]) -> Attribute {
    Attribute::Integers(values.to_vec())
}

/// A word of an enumeration.
pub(crate) fn word(word: &str) -> Attribute {
    Attribute::Word(word.to_owned().into())
}

/// A boolean.
pub(crate) fn flag(value: bool) -> Attribute {
    Attribute::Bool(value)
}

/// Rows of the same length as a dense array.
pub(crate) fn rows(rows: &[Vec<i64>], width: usize) -> Attribute {
    let dims = [rows.len(), width].map(|dim| i64::try_from(dim).unwrap_or(i64::MAX));
    let all: Vec<i64> = rows.iter().flatten().copied().collect();
    let splat = all.len() > 1 && all.iter().all(|value| *value == all[0]);
    let kept = if splat { &all[..1] } else { &all[..] };
    Attribute::Elements(Elements {
        of: TensorType::new(Element::S64, dims.to_vec()),
        data: kept.iter().flat_map(|value| value.to_le_bytes()).collect(),
        splat,
    })
}

/// What is padded before and after, a row for each dimension of a window.
pub(crate) fn padding(window: &Window) -> Attribute {
    let pairs: Vec<Vec<i64>> =
        window.dimensions.iter().map(|dim| vec![dim.padding_low, dim.padding_high]).collect();
    rows(&pairs, 2)
}
