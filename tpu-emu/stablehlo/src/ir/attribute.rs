//! Attributes: what is known of an operation before it runs.
use super::{Element, LocationId, Name, TensorType, Type};
use std::sync::Arc;

/// A value known at compile time. There is one way to write each:
///
/// * one-dimensional arrays of 64-bit integers, dense or not, are [`Attribute::Integers`];
/// * arrays of booleans (`window_reversal`) are [`Attribute::Booleans`], dense or not;
/// * every other dense tensor is [`Attribute::Elements`] (padding pairs, replica groups, the
///   value of a constant);
/// * enumerations of StableHLO are [`Attribute::Word`] with the word of the text form (`EQ`,
///   `HIGHEST`, `NO_TRANSPOSE`, …);
/// * structs of StableHLO are flattened into the operation's attributes under VHLO's names; those
///   that VHLO keeps whole (`output_operand_aliases`) have a variant.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// Present, and nothing more.
    Unit,
    /// A boolean.
    Bool(bool),
    /// An integer and its type; signless types are read as signed, `i1` is [`Attribute::Bool`].
    Integer(i128, Element),
    /// A float and its type; every supported type fits in 64 bits exactly.
    Float(f64, Element),
    /// A string: bytes, usually UTF-8.
    String(Arc<[u8]>),
    /// `@name`.
    Symbol(Arc<str>),
    /// A word of an enumeration.
    Word(Name),
    /// A type.
    Type(Type),
    /// Any attributes in order.
    Array(Vec<Attribute>),
    /// 64-bit integers in order.
    Integers(Vec<i64>),
    /// Booleans in order.
    Booleans(Vec<bool>),
    /// Named attributes.
    Dictionary(Attributes),
    /// A dense array.
    Elements(Elements),
    /// A location used as a value.
    Location(LocationId),
    /// `#stablehlo.output_operand_alias`.
    OutputAlias(OutputAlias),
    /// `#sdy.mesh`.
    Mesh(Mesh),
    /// `#stablehlo.replica_group_mesh_axes`.
    MeshAxes(MeshAxes),
    /// `#sdy.sharding`.
    Sharding(TensorSharding),
    /// `#sdy.sharding_per_value`.
    Shardings(Vec<TensorSharding>),
    /// `#sdy<manual_axes{…}>`: names of mesh axes.
    ManualAxes(Vec<Arc<str>>),
    /// An attribute of another dialect, as text without the `#`.
    Opaque(Arc<str>),
}

impl Attribute {
    /// A string that is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Symbol(name) => Some(name),
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    /// A string attribute from text.
    pub fn string(text: &str) -> Self {
        Self::String(text.as_bytes().into())
    }

    /// Integers of a list, however it was written; a dense splat is spread out.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Self::Integers(values) => Some(values.clone()),
            Self::Integer(value, _) => i64::try_from(*value).ok().map(|value| vec![value]),
            Self::Booleans(values) => Some(values.iter().map(|&value| value.into()).collect()),
            Self::Array(items) => items.iter().map(Self::integer).collect(),
            Self::Elements(elements) => elements.integers(),
            _ => None,
        }
    }

    /// One integer.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value, _) => i64::try_from(*value).ok(),
            Self::Bool(value) => Some((*value).into()),
            _ => None,
        }
    }
}

/// Attributes by name. Those of an operation, a function, a value or a module are in the order of
/// their names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(pub Vec<(Name, Attribute)>);

impl Attributes {
    /// The attribute with this name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Adds one, or replaces the one with the same name.
    pub fn set(&mut self, name: impl Into<Name>, value: Attribute) {
        let name = name.into();
        match self.0.iter_mut().find(|(key, _)| *key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Takes the one with this name out.
    pub fn take(&mut self, name: &str) -> Option<Attribute> {
        let index = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(index).1)
    }

    /// Brings them into the order of their names.
    pub fn sort(&mut self) {
        self.0.sort_by(|(a, _), (b, _)| a.cmp(b));
    }

    /// The list of integers with this name.
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        self.get(name)?.integers()
    }

    /// The integer with this name.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.get(name)?.integer()
    }

    /// The axes of the mesh along which code runs once per device; none where nothing says so.
    pub fn manual_axes(&self) -> &[Arc<str>] {
        match self.get("manual_axes") {
            Some(Attribute::ManualAxes(axes)) => axes,
            _ => &[],
        }
    }

    /// The string, symbol or word with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Whether a flag is there and not false.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Attribute::Bool(true) | Attribute::Unit))
    }
}

/// A dense array known at compile time.
#[derive(Debug, Clone, PartialEq)]
pub struct Elements {
    /// Type and shape.
    pub of: TensorType,
    /// Little-endian elements in row-major order, [`Element::bytes`] each: booleans are bytes 0
    /// and 1, sub-byte integers one to a byte with their low bits valid (signed ones extended).
    /// One element stands for all if [`Elements::splat`].
    pub data: Arc<[u8]>,
    /// Whether `data` is one element that repeats: wherever several elements are all the same.
    pub splat: bool,
}

impl Elements {
    /// How many elements the shape has; `None` if that is unknown or past `usize`.
    pub fn count(&self) -> Option<usize> {
        self.of
            .dims
            .iter()
            .try_fold(1_usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?))
    }

    /// The elements as 64-bit integers, if they are integers or booleans.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let read = |bytes: &[u8]| -> Option<i64> {
            Some(match self.of.element {
                Element::Pred | Element::U8 | Element::U4 | Element::U2 => bytes[0].into(),
                Element::S8 | Element::S4 | Element::S2 => bytes[0].cast_signed().into(),
                Element::S16 => i16::from_le_bytes(bytes.try_into().ok()?).into(),
                Element::U16 => u16::from_le_bytes(bytes.try_into().ok()?).into(),
                Element::S32 => i32::from_le_bytes(bytes.try_into().ok()?).into(),
                Element::U32 => u32::from_le_bytes(bytes.try_into().ok()?).into(),
                Element::S64 | Element::Index => i64::from_le_bytes(bytes.try_into().ok()?),
                Element::U64 => i64::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()?,
                _ => return None,
            })
        };
        let width = self.of.element.bytes()?;
        if self.splat {
            // A list of attributes is short; a splat of a huge shape is no list.
            let count = self.count().filter(|&count| count <= 1 << 20)?;
            return Some(vec![read(self.data.get(..width)?)?; count]);
        }
        self.data.chunks_exact(width).map(read).collect()
    }
}

/// A result that shares its memory with an operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputAlias {
    /// Path into the results.
    pub output: Vec<i64>,
    /// Operand number.
    pub operand: i64,
    /// Path into the operand.
    pub operand_path: Vec<i64>,
}

/// Devices in a grid with named axes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mesh {
    /// Names and sizes, major first.
    pub axes: Vec<(Arc<str>, i64)>,
    /// Devices in the order of the grid; empty for 0, 1, 2, ….
    pub device_ids: Vec<i64>,
}

/// A mesh by symbol, or written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeshRef {
    /// `@mesh`.
    Symbol(Arc<str>),
    /// `mesh<…>`.
    Inline(Mesh),
}

/// A mesh axis, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisRef {
    /// The axis.
    pub name: Arc<str>,
    /// `(pre_size, size)` of a sub-axis.
    pub part: Option<(i64, i64)>,
}

/// Groups of devices: each has those that differ along these axes alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshAxes {
    /// The mesh.
    pub mesh: MeshRef,
    /// Axes, major first: the order of the devices of a group.
    pub axes: Vec<AxisRef>,
}

/// How one dimension is split.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DimensionSharding {
    /// Axes, major first.
    pub axes: Vec<AxisRef>,
    /// Whether propagation may add no axes.
    pub closed: bool,
    /// Priority for propagation.
    pub priority: Option<i64>,
}

/// How an array is split over a mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorSharding {
    /// The mesh.
    pub mesh: MeshRef,
    /// One entry a dimension.
    pub dimensions: Vec<DimensionSharding>,
    /// Axes that must stay unused.
    pub replicated: Vec<AxisRef>,
    /// Axes over which a sum is still to be done.
    pub unreduced: Vec<AxisRef>,
}
