//! Types of values.
use super::{CoreType, MemorySpace};
use std::sync::Arc;
use tpu_mlir::Element;

/// An extent that is not known before the program runs.
pub const DYNAMIC: i64 = i64::MIN;

/// The type of a value. Signless integers are read as signed.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// One element: `i32`, `index`.
    Scalar(Element),
    /// A vector.
    Vector(Vector),
    /// A part of a memory.
    Memref(Memref),
    /// A semaphore by itself, as the elements of memrefs are.
    Cell(Cell),
    /// Arguments and results.
    Function(Vec<Type>, Vec<Type>),
    /// A type that nobody knows, as text.
    Unknown(Arc<str>),
}

/// A vector type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// Type of the elements.
    pub element: Element,
    /// Extents, major first.
    pub dims: Vec<i64>,
}

/// A type of references to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memref {
    /// What lies there.
    pub cell: Cell,
    /// Extents, major first; [`DYNAMIC`] where unknown.
    pub dims: Vec<i64>,
    /// How elements lie; `None` for row-major and without holes. Only views have one: it says what
    /// follows from the operation that makes the view.
    pub layout: Option<Strided>,
    /// In which memory, if it is said.
    pub space: Option<Space>,
}

/// A distance between elements for each dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strided {
    /// Elements before the first; [`DYNAMIC`] where unknown.
    pub offset: i64,
    /// Elements from one to the next; [`DYNAMIC`] where unknown.
    pub strides: Vec<i64>,
}

/// What lies in a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cell {
    /// Elements of arrays.
    Element(Element),
    /// Semaphores that count.
    Semaphore,
    /// Semaphores that count bytes.
    DmaSemaphore,
}

/// A memory, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Space {
    /// The memory.
    pub memory: MemorySpace,
    /// The kind of core that it belongs to, if that is another one than the code's.
    pub core: Option<CoreType>,
}

impl Type {
    /// The type of its elements; `None` for semaphores and what has none.
    pub fn element(&self) -> Option<Element> {
        match self {
            Self::Scalar(element) | Self::Vector(Vector { element, .. }) => Some(*element),
            Self::Memref(Memref { cell: Cell::Element(element), .. }) => Some(*element),
            _ => None,
        }
    }

    /// The extents of a vector or memref; none for a scalar.
    pub fn dims(&self) -> &[i64] {
        match self {
            Self::Vector(vector) => &vector.dims,
            Self::Memref(memref) => &memref.dims,
            _ => &[],
        }
    }
}
