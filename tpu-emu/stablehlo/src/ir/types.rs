//! Types of values.
use super::{Attribute, Element};

/// The extent of a dimension that is not known before the program runs.
pub const DYNAMIC: i64 = i64::MIN;

/// An array type.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorType {
    /// Element type; the storage type if quantized.
    pub element: Element,
    /// Extents, major first; [`DYNAMIC`] where unknown.
    pub dims: Vec<i64>,
    /// The extents that unknown dimensions cannot pass (`#stablehlo.bounds`), [`DYNAMIC`] where
    /// there is none. Empty without the encoding.
    pub bounds: Vec<i64>,
    /// How stored numbers stand for real ones, if they do.
    pub quantization: Option<Box<Quantization>>,
}

impl TensorType {
    /// A plain array.
    pub fn new(element: Element, dims: Vec<i64>) -> Self {
        Self { element, dims, bounds: Vec::new(), quantization: None }
    }
}

/// The parameters of a uniform quantized type.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantization {
    /// The type of the numbers that are stood for.
    pub expressed: Element,
    /// Smallest stored number.
    pub storage_min: i64,
    /// Largest stored number.
    pub storage_max: i64,
    /// Axis that the scales run along; `None` for one scale for all.
    pub axis: Option<i64>,
    /// Scales.
    pub scales: Vec<f64>,
    /// Zero points, as many as scales.
    pub zero_points: Vec<i64>,
    /// Whether stored numbers are signed.
    pub signed: bool,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// An array. A bare scalar of MLIR (`i32`) is [`Type::Scalar`].
    Tensor(TensorType),
    /// An array of unknown rank.
    Unranked(Element),
    /// A mutable array (`memref`).
    Buffer(TensorType),
    /// A scalar outside of a tensor, as in attributes.
    Scalar(Element),
    /// Order of effects.
    Token,
    /// Several values as one.
    Tuple(Vec<Type>),
    /// Values that an `async_start` will give.
    Future(Vec<Type>),
    /// Arguments and results.
    Function(Vec<Type>, Vec<Type>),
    /// MLIR's `none`.
    None,
    /// A type of another dialect, as text.
    Opaque(std::sync::Arc<str>),
}

impl Type {
    /// The array type, if it is one.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

/// An attribute that stands for a type's bounds is not kept as an attribute.
impl From<Type> for Attribute {
    fn from(of: Type) -> Self {
        Self::Type(of)
    }
}
