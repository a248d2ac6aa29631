//! Attributes: what is known of an operation before it runs.
use super::{
    CombiningKind, ContractPrecision, CoreType, DimensionSemantics, PackFormat, PipelineMode,
    ReductionKind, RevisitMode, RoundingMode, Space, Strided, Type, Vector,
};
use std::sync::Arc;
use tpu_mlir::Element;

/// A value known at compile time.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// Present, and nothing more.
    Unit,
    /// A boolean.
    Bool(bool),
    /// An integer and its type; signless types are read as signed, `i1` is [`Attribute::Bool`].
    Integer(i64, Element),
    /// An integer whose type says that it is signed (`si32`).
    Signed(i64, Element),
    /// The bits of a float, and its type.
    Float(u64, Element),
    /// A text.
    Text(Arc<str>),
    /// `@name`.
    Symbol(Arc<str>),
    /// A type.
    Type(Type),
    /// Any attributes in order.
    Array(Vec<Attribute>),
    /// `array<i32: …>` or `array<i64: …>`: integers and their type.
    Integers(Vec<i64>, Element),
    /// `dense<…>`.
    Elements(Elements),
    /// Named attributes.
    Dictionary(Attributes),
    /// `affine_map<…>`.
    AffineMap(AffineMap),
    /// `strided<[…], offset: …>`.
    Strided(Strided),
    /// `#tpu.memory_space<…>`.
    Space(Space),
    /// `#tpu.core_type<…>`.
    CoreType(CoreType),
    /// `#tpu.dimension_semantics<…>`.
    DimensionSemantics(DimensionSemantics),
    /// `#tpu.pipeline_mode<…>`.
    PipelineMode(PipelineMode),
    /// `#tpu.revisit_mode<…>`.
    RevisitMode(RevisitMode),
    /// `#tpu.element_window<[…], […]>`: what a block has below and above its array.
    ElementWindow(Vec<i64>, Vec<i64>),
    /// `#tpu.reduction_kind<…>`.
    ReductionKind(ReductionKind),
    /// `#tpu.pack_format<…>`.
    PackFormat(PackFormat),
    /// `#tpu.contract_precision<…>`.
    ContractPrecision(ContractPrecision),
    /// `#tpu.rounding_mode<…>`.
    RoundingMode(RoundingMode),
    /// `#tpu.dot_dimension_numbers<…>`.
    DotDimensions(DotDimensions),
    /// `#vector.kind<…>`.
    CombiningKind(CombiningKind),
    /// `#arith.fastmath<…>` and `#arith.overflow<…>`: what the compiler may assume, which changes
    /// no value that is defined. The head, and the words.
    Promise(&'static str, Arc<str>),
    /// An attribute that nobody knows, as text.
    Unknown(Arc<str>),
}

impl Attribute {
    /// One integer.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value, _) | Self::Signed(value, _) => Some(*value),
            Self::Bool(value) => Some((*value).into()),
            _ => None,
        }
    }

    /// Integers of a list, however it was written.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Self::Integers(values, _) => Some(values.clone()),
            Self::Array(items) => items.iter().map(Self::integer).collect(),
            _ => None,
        }
    }

    /// A text or a symbol.
    pub fn text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Text(text) | Self::Symbol(text) => Some(text),
            _ => None,
        }
    }
}

/// Attributes by name, in the order of their names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(pub Vec<(Arc<str>, Attribute)>);

impl Attributes {
    /// The attribute with this name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(key, _)| &**key == name).map(|(_, value)| value)
    }

    /// Adds one, or replaces the one with the same name.
    pub fn set(&mut self, name: &str, value: Attribute) {
        match self.0.binary_search_by(|(key, _)| (**key).cmp(name)) {
            Ok(index) => self.0[index].1 = value,
            Err(index) => self.0.insert(index, (name.into(), value)),
        }
    }

    /// Takes the one with this name out.
    pub fn take(&mut self, name: &str) -> Option<Attribute> {
        let index = self.0.iter().position(|(key, _)| &**key == name)?;
        Some(self.0.remove(index).1)
    }
}

/// A vector known at compile time.
#[derive(Debug, Clone, PartialEq)]
pub struct Elements {
    /// Type and shape.
    pub of: Vector,
    /// Little-endian elements in row-major order: booleans are bytes 0 and 1, sub-byte integers
    /// one to a byte with their low bits valid (signed ones extended). One element stands for all
    /// if [`Elements::splat`].
    pub data: Arc<[u8]>,
    /// Whether `data` is one element that repeats.
    pub splat: bool,
}

/// A map from the indices of a grid, each of its results one of them or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffineMap {
    /// How many it takes.
    pub dims: usize,
    /// What it gives.
    pub results: Vec<AffineResult>,
}

/// A result of an [`AffineMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffineResult {
    /// The dimension with this number.
    Dim(usize),
    /// A number.
    Constant(i64),
}

impl AffineMap {
    /// Whether it gives what it takes.
    pub fn is_identity(&self) -> bool {
        self.results.len() == self.dims
            && self.results.iter().enumerate().all(|(at, of)| *of == AffineResult::Dim(at))
    }
}

/// Which dimensions of a product are what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DotDimensions {
    /// Contracted dimensions of the left side.
    pub lhs_contracting: Vec<i64>,
    /// Contracted dimensions of the right side.
    pub rhs_contracting: Vec<i64>,
    /// Dimensions of the left side alone.
    pub lhs_free: Vec<i64>,
    /// Dimensions of the right side alone.
    pub rhs_free: Vec<i64>,
    /// For each dimension of the result: of which side it is (0 left, 1 right), and which.
    pub output: Vec<(i64, i64)>,
    /// Dimensions of the left side that the other has, too.
    pub lhs_batch: Vec<i64>,
    /// Dimensions of the right side that the other has, too.
    pub rhs_batch: Vec<i64>,
}
