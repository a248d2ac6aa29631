//! Operations, and what a row of their table says.
use super::{Attribute, Attributes, LocationId, Op, Region, Value};

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Which.
    pub op: Op,
    /// What it reads, group by group.
    pub operands: Vec<Value>,
    /// Where each group of operands ends: as many as [`Row::operands`].
    pub ends: Vec<usize>,
    /// What it defines.
    pub results: Vec<Value>,
    /// Attributes by name, those with a default filled in.
    pub attributes: Attributes,
    /// Code inside it.
    pub regions: Vec<Region>,
    /// Where it was written.
    pub location: LocationId,
}

impl Operation {
    /// The operands of a group, by its name in the table.
    pub fn group(&self, name: &str) -> &[Value] {
        let index = self.op.row().operands.iter().position(|group| group_name(group) == name);
        index.map_or(&[], |index| self.group_at(index))
    }

    /// The operands of a group, by its number.
    pub fn group_at(&self, index: usize) -> &[Value] {
        let start = if index == 0 { 0 } else { self.ends.get(index - 1).copied().unwrap_or(0) };
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.operands.get(start..end).unwrap_or(&[])
    }

    /// The one operand of a group, if it is there.
    pub fn operand(&self, name: &str) -> Option<Value> {
        self.group(name).first().copied()
    }

    /// An attribute that the table has, as an integer.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attributes.get(name)?.integer()
    }

    /// An attribute that the table has, as integers.
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        self.attributes.get(name)?.integers()
    }

    /// Whether a boolean attribute is true.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.attributes.get(name), Some(Attribute::Bool(true) | Attribute::Unit))
    }
}

/// What is known of an operation.
#[derive(Debug)]
pub struct Row {
    /// Dialect and mnemonic.
    pub name: &'static str,
    /// Groups of operands, `name:class`, with `?` behind the name for one that may be absent and
    /// `*` for any number.
    pub operands: &'static [&'static str],
    /// Groups of results, likewise.
    pub results: &'static [&'static str],
    /// Attributes.
    pub attributes: &'static [Property],
    /// Names of operands and results that have one type, separated by spaces; `shape` and
    /// `element` in front compare that alone.
    pub same: &'static [&'static str],
    /// How many regions it has.
    pub regions: usize,
    /// How it is written: `{x}` are the values of a group, `{:x}` their types, `{@x}` an attribute, `{*}`
    /// the attributes that do not stand elsewhere, `{?x:…}` what stands there only with values in a
    /// group. Empty for the general form of MLIR.
    pub text: &'static str,
}

/// An attribute of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// The name.
    pub name: &'static str,
    /// What it can be.
    pub class: Class,
    /// Whether it can be left out.
    pub presence: Presence,
}

/// Whether an attribute can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It cannot.
    Required,
    /// It can.
    Optional,
    /// It can, and then it is this number or boolean.
    Default(i64),
    /// It can, and then it is the promise of nothing.
    NoPromise,
}

/// What an attribute can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A boolean.
    Bool,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `si32`.
    Si32,
    /// `i64`: one of the predicates of integers.
    IntegerPredicate,
    /// `i64`: one of the predicates of floats.
    FloatPredicate,
    /// `array<i1: …>`.
    Booleans,
    /// `array<i32: …>`.
    Integers32,
    /// `array<i64: …>`.
    Integers64,
    /// An array of integers, each an attribute.
    List,
    /// A text.
    Text,
    /// A symbol.
    Symbol,
    /// A type of elements.
    Element,
    /// The value of a constant.
    Constant,
    /// Present or not.
    Unit,
    /// `#arith.fastmath<…>`.
    Fastmath,
    /// `#arith.overflow<…>`.
    Overflow,
    /// `#vector.kind<…>`.
    CombiningKind,
    /// `#tpu.reduction_kind<…>`.
    ReductionKind,
    /// `#tpu.pack_format<…>`.
    PackFormat,
    /// `#tpu.contract_precision<…>`.
    ContractPrecision,
    /// `#tpu.dot_dimension_numbers<…>`.
    DotDimensions,
    /// `#tpu.memory_space<…>`.
    Space,
}

/// The predicates of `arith.cmpi`, by their number.
pub(crate) const INTEGER_PREDICATES: &[&str] =
    &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
/// The predicates of `arith.cmpf`, by their number.
pub(crate) const FLOAT_PREDICATES: &[&str] = &[
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
    "une", "uno", "true",
];

/// The name of a group of the table.
pub(crate) fn group_name(group: &str) -> &str {
    let name = group.split(':').next().unwrap_or(group);
    name.trim_end_matches(['?', '*'])
}

/// How many values a group can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    One,
    Optional,
    Any,
}

/// How many values a group of the table can have, and their class.
pub(crate) fn group_rule(group: &str) -> (Count, &str) {
    let (name, class) = group.split_once(':').unwrap_or((group, "any"));
    let count = match name.as_bytes().last() {
        Some(b'?') => Count::Optional,
        Some(b'*') => Count::Any,
        _ => Count::One,
    };
    (count, class)
}

impl Class {
    /// Whether an attribute is of this class.
    pub(crate) fn takes(self, value: &Attribute) -> bool {
        use tpu_mlir::Element;
        match (self, value) {
            (Self::Bool, Attribute::Bool(_))
            | (Self::I32, Attribute::Integer(_, Element::S32))
            | (Self::I64, Attribute::Integer(_, Element::S64))
            | (
                Self::Si32,
                Attribute::Signed(_, Element::S32) | Attribute::Integer(_, Element::S32),
            )
            | (Self::Booleans, Attribute::Integers(_, Element::Pred))
            | (Self::Integers32, Attribute::Integers(_, Element::S32))
            | (Self::Integers64, Attribute::Integers(_, Element::S64))
            | (Self::Text, Attribute::Text(_))
            | (Self::Symbol, Attribute::Symbol(_))
            | (Self::Element, Attribute::Type(super::Type::Scalar(_)))
            | (Self::Unit, Attribute::Unit)
            | (Self::CombiningKind, Attribute::CombiningKind(_))
            | (Self::ReductionKind, Attribute::ReductionKind(_))
            | (Self::PackFormat, Attribute::PackFormat(_))
            | (Self::ContractPrecision, Attribute::ContractPrecision(_))
            | (Self::DotDimensions, Attribute::DotDimensions(_))
            | (Self::Space, Attribute::Space(_))
            | (
                Self::Constant,
                Attribute::Bool(_)
                | Attribute::Integer(..)
                | Attribute::Float(..)
                | Attribute::Elements(_),
            ) => true,
            (Self::IntegerPredicate, Attribute::Integer(value, Element::S64)) => {
                usize::try_from(*value).is_ok_and(|value| value < INTEGER_PREDICATES.len())
            }
            (Self::FloatPredicate, Attribute::Integer(value, Element::S64)) => {
                usize::try_from(*value).is_ok_and(|value| value < FLOAT_PREDICATES.len())
            }
            // Dense since MLIR 24.
            (Self::List, Attribute::Integers(_, Element::S64)) => true,
            (Self::List, Attribute::Array(items)) => {
                items.iter().all(|item| matches!(item, Attribute::Integer(..)))
            }
            (Self::Fastmath, Attribute::Promise(head, _)) => *head == "arith.fastmath",
            (Self::Overflow, Attribute::Promise(head, _)) => *head == "arith.overflow",
            _ => false,
        }
    }

    /// What an attribute that was left out is.
    pub(crate) fn default(self, presence: Presence) -> Option<Attribute> {
        use tpu_mlir::Element;
        match (presence, self) {
            (Presence::Default(value), Self::Bool) => Some(Attribute::Bool(value != 0)),
            (Presence::Default(value), Self::I32) => Some(Attribute::Integer(value, Element::S32)),
            (Presence::NoPromise, Self::Fastmath) => {
                Some(Attribute::Promise("arith.fastmath", "none".into()))
            }
            (Presence::NoPromise, Self::Overflow) => {
                Some(Attribute::Promise("arith.overflow", "none".into()))
            }
            _ => None,
        }
    }
}
