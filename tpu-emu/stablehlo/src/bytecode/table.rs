//! The table of attributes and types, decoded on demand.
use super::cursor::Cursor;
use super::dialects::Dialects;
use super::strings::Strings;
use super::{ENTRY_DEPTH, asm, attributes};
use crate::ReadError;
use crate::ir::{Attribute, AxisRef, DimensionSharding, LocationId, Locations, Type};
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// What an entry of the attribute table decodes to.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// An attribute that a program can have.
    Attribute(Attribute),
    /// What an attribute says that might as well not be there.
    Absent,
    /// The bounds of a tensor's dimensions.
    Bounds(Vec<i64>),
    /// A part of a mesh axis: what comes before it, and its size.
    SubAxis(i64, i64),
    /// A mesh axis in a sharding.
    Axis(AxisRef),
    /// Mesh axes in a list.
    Axes(Vec<AxisRef>),
    /// A mesh axis in a mesh.
    MeshAxis(Arc<str>, i64),
    /// All axes of a mesh.
    MeshAxes(Vec<(Arc<str>, i64)>),
    /// The sharding of a dimension.
    Dimension(DimensionSharding),
    /// Factors of each dimension, in a sharding rule.
    Mapping(Vec<Vec<i64>>),
}

/// How far the decoding of a location is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LocationState {
    /// Not begun.
    New,
    /// Waiting for those inside of it.
    Open,
    /// Done.
    Done(LocationId),
}

/// An encoded attribute or type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// The dialect.
    pub(crate) dialect: &'a str,
    /// Whether the dialect has an encoding for it; otherwise it is text.
    pub(crate) encoded: bool,
    /// The bytes.
    pub(crate) data: Cursor<'a>,
}

/// Everything that decoding needs.
#[derive(Debug)]
pub(crate) struct BytecodeReader<'a> {
    /// Version of the container.
    pub(crate) version: u64,
    /// Who wrote the file.
    pub(crate) producer: String,
    pub(crate) strings: Strings<'a>,
    pub(crate) dialects: Dialects<'a>,
    /// Properties by number.
    pub(crate) properties: Vec<Cursor<'a>>,
    /// Names of the resources that attributes may refer to.
    pub(crate) resources: Vec<&'a str>,
    pub(crate) locations: Locations,
    pub(crate) location_states: Vec<LocationState>,
    pub(crate) attributes: Vec<Entry<'a>>,
    types: Vec<Entry<'a>>,
    attributes_done: Vec<Option<(Node, usize)>>,
    types_done: Vec<Option<(Type, usize)>>,
    depth: usize,
    /// How many more bytes may be made.
    budget: usize,
    /// How many of the bytes that were paid are shared by all uses of an entry.
    shared: usize,
}

/// Bytes that decoding may make whatever the input.
const BUDGET_BASE: usize = 64 << 20;
/// Bytes that decoding may make a byte of input.
const BUDGET_RATE: usize = 256;

impl<'a> BytecodeReader<'a> {
    pub(crate) fn new(
        size: usize,
        version: u64,
        producer: String,
        strings: Strings<'a>,
        dialects: Dialects<'a>,
    ) -> Self {
        Self {
            version,
            producer,
            strings,
            dialects,
            properties: Vec::new(),
            resources: Vec::new(),
            locations: Locations::default(),
            location_states: Vec::new(),
            attributes: Vec::new(),
            types: Vec::new(),
            attributes_done: Vec::new(),
            types_done: Vec::new(),
            depth: 0,
            budget: size.saturating_mul(BUDGET_RATE).saturating_add(BUDGET_BASE),
            shared: 0,
        }
    }

    /// Takes from the budget.
    pub(crate) fn pay(&mut self, at: usize, bytes: usize) -> Result<(), ReadError> {
        self.budget = self.budget.checked_sub(bytes).ok_or_else(|| {
            ReadError::at(
                at,
                format!("{bytes} bytes more to decode, {} left of the budget", self.budget),
            )
        })?;
        Ok(())
    }

    /// Takes from the budget what is made once, however often it is used.
    pub(crate) fn pay_once(&mut self, at: usize, bytes: usize) -> Result<(), ReadError> {
        self.pay(at, bytes)?;
        self.shared += bytes;
        Ok(())
    }

    /// A list of signed numbers.
    pub(crate) fn signed_list(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<i64>, ReadError> {
        let at = cursor.at();
        let list = cursor.signed_list()?;
        self.pay(at, 8 * list.len())?;
        Ok(list)
    }

    /// Reads where each entry is.
    pub(crate) fn entries(
        &mut self,
        mut data: Cursor<'a>,
        mut offsets: Cursor<'a>,
    ) -> Result<(), ReadError> {
        let attributes = offsets.count()?;
        let types = offsets.count()?;
        for (count, is_type) in [(attributes, false), (types, true)] {
            let mut entries = Vec::with_capacity(count);
            while entries.len() < count {
                let at = offsets.at();
                let dialect = self.dialects.next(&mut offsets)?;
                let group = offsets.count()?;
                if group > count - entries.len() {
                    return Err(ReadError::at(
                        at,
                        format!("{group} entries in a group, {} left", count - entries.len()),
                    ));
                }
                for _ in 0..group {
                    let (size, encoded) = offsets.flagged()?;
                    entries.push(Entry { dialect, encoded, data: data.part(size)? });
                }
            }
            if is_type {
                self.types = entries;
            } else {
                self.attributes = entries;
            }
        }
        self.attributes_done.resize_with(attributes, || None);
        self.location_states.resize(attributes, LocationState::New);
        self.types_done.resize_with(types, || None);
        offsets.finish("the table of attributes and types")
    }

    /// Reads the names of resources.
    pub(crate) fn resource_names(&mut self, mut offsets: Cursor<'a>) -> Result<(), ReadError> {
        for _ in 0..offsets.count()? {
            self.strings.bytes(&mut offsets)?;
            for _ in 0..offsets.count()? {
                self.strings.bytes(&mut offsets)?;
                offsets.index()?;
                offsets.byte()?;
            }
        }
        while !offsets.is_empty() {
            self.dialects.next(&mut offsets)?;
            for _ in 0..offsets.count()? {
                self.resources.push(self.strings.text(&mut offsets)?);
                offsets.index()?;
                offsets.byte()?;
            }
        }
        Ok(())
    }

    /// The attribute whose index comes next.
    pub(crate) fn node(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.node_at(at, index)
    }

    /// The attribute whose index comes next, if the flag beside it is set.
    pub(crate) fn optional_node(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<Node>, ReadError> {
        let at = cursor.at();
        let (index, present) = cursor.flagged()?;
        present.then(|| self.node_at(at, index)).transpose()
    }

    /// An entry of the attribute table.
    pub(crate) fn node_at(&mut self, at: usize, index: usize) -> Result<Node, ReadError> {
        match self.attributes_done.get(index) {
            Some(Some((node, cost))) => {
                let (node, cost) = (node.clone(), *cost);
                self.pay(at, cost)?;
                return Ok(node);
            }
            Some(None) => {}
            None => return Err(unknown(at, "attribute", index, self.attributes.len())),
        }
        let before = self.budget + self.shared;
        self.enter(at, size_of::<Node>())?;
        let mut entry = self.attributes[index];
        let node = if !entry.encoded {
            Node::Attribute(asm::attribute(&mut entry.data)?)
        } else {
            match entry.dialect {
                "builtin" => self.builtin_attribute(&mut entry.data, index)?,
                "vhlo" => self.vhlo_attribute(&mut entry.data)?,
                "sdy" => self.sdy_attribute(&mut entry.data)?,
                "stablehlo" => self.stablehlo_attribute(&mut entry.data)?,
                "chlo" => attributes::chlo(&mut entry.data)?,
                other => return Err(entry.data.error(format!("attributes of dialect {other}"))),
            }
        };
        entry.data.finish("an attribute")?;
        self.depth -= 1;
        let cost = before - (self.budget + self.shared);
        self.attributes_done[index] = Some((node.clone(), cost));
        Ok(node)
    }

    /// The attribute whose index comes next, as one that a program can have, dense lists of
    /// integers and booleans written as such. `None` if it says that it is absent.
    pub(crate) fn attribute(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Option<Attribute>, ReadError> {
        let at = cursor.at();
        let node = self.node(cursor)?;
        self.listed(at, node)
    }

    /// A node as an attribute of a program.
    pub(crate) fn listed(&mut self, at: usize, node: Node) -> Result<Option<Attribute>, ReadError> {
        match node {
            Node::Attribute(Attribute::Elements(elements)) => self.list(at, elements).map(Some),
            Node::Attribute(attribute) => Ok(Some(attribute)),
            Node::Absent => Ok(None),
            Node::Bounds(bounds) => Ok(Some(Attribute::Integers(bounds))),
            other => {
                Err(ReadError::at(at, format!("{} is not an attribute by itself", brief(&other))))
            }
        }
    }

    /// The attribute whose index comes next; it must be there.
    pub(crate) fn present(&mut self, cursor: &mut Cursor<'_>) -> Result<Attribute, ReadError> {
        let at = cursor.at();
        let node = self.node(cursor)?;
        self.stated(at, node)
    }

    /// A node as an attribute of a program; it must say something.
    pub(crate) fn stated(&mut self, at: usize, node: Node) -> Result<Attribute, ReadError> {
        let absent = || ReadError::at(at, "an attribute that is absent");
        self.listed(at, node)?.ok_or_else(absent)
    }

    /// A list of attributes.
    pub(crate) fn attribute_list(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Vec<Attribute>, ReadError> {
        let count = cursor.count()?;
        (0..count).map(|_| self.present(cursor)).collect()
    }

    /// The string attribute whose index comes next, as text.
    pub(crate) fn text_attribute(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Arc<str>, ReadError> {
        let at = cursor.at();
        let attribute = self.present(cursor)?;
        let Some(text) = attribute.as_str() else {
            let what = format!("{} where a text was expected", brief(&attribute));
            return Err(ReadError::at(at, what));
        };
        self.pay(at, text.len())?;
        Ok(text.into())
    }

    /// The type whose index comes next.
    pub(crate) fn next_type(&mut self, cursor: &mut Cursor<'_>) -> Result<Type, ReadError> {
        let at = cursor.at();
        let index = cursor.index()?;
        self.type_at(at, index)
    }

    /// A list of types.
    pub(crate) fn type_list(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<Type>, ReadError> {
        let count = cursor.count()?;
        (0..count).map(|_| self.next_type(cursor)).collect()
    }

    /// An entry of the type table.
    pub(crate) fn type_at(&mut self, at: usize, index: usize) -> Result<Type, ReadError> {
        match self.types_done.get(index) {
            Some(Some((of, cost))) => {
                let (of, cost) = (of.clone(), *cost);
                self.pay(at, cost)?;
                return Ok(of);
            }
            Some(None) => {}
            None => return Err(unknown(at, "type", index, self.types.len())),
        }
        let before = self.budget + self.shared;
        self.enter(at, size_of::<Type>())?;
        let mut entry = self.types[index];
        let of = if !entry.encoded {
            asm::value_type(&mut entry.data)?
        } else {
            match entry.dialect {
                "builtin" => self.builtin_type(&mut entry.data)?,
                "vhlo" => self.vhlo_type(&mut entry.data)?,
                "stablehlo" => self.stablehlo_type(&mut entry.data)?,
                other => return Err(entry.data.error(format!("types of dialect {other}"))),
            }
        };
        entry.data.finish("a type")?;
        self.depth -= 1;
        let cost = before - (self.budget + self.shared);
        self.types_done[index] = Some((of.clone(), cost));
        Ok(of)
    }

    /// Goes one level down. An error ends the reading, so only success comes back up.
    fn enter(&mut self, at: usize, size: usize) -> Result<(), ReadError> {
        self.depth += 1;
        if self.depth > ENTRY_DEPTH {
            return Err(ReadError::at(
                at,
                format!("attributes or types nested {} deep, {ENTRY_DEPTH} are read", self.depth),
            ));
        }
        self.pay(at, size)
    }
}

/// The beginning of what a value looks like, for messages.
pub(crate) fn brief(value: &dyn fmt::Debug) -> String {
    /// Text that takes no more than its limit.
    struct Brief(String);

    impl fmt::Write for Brief {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let left = 160_usize.saturating_sub(self.0.len());
            self.0.extend(text.chars().take(left));
            if text.len() > left { Err(fmt::Error) } else { Ok(()) }
        }
    }

    let mut brief = Brief(String::new());
    if write!(brief, "{value:?}").is_err() {
        brief.0.push('…');
    }
    brief.0
}

/// An index past a table.
pub(crate) fn unknown(at: usize, what: &str, index: usize, count: usize) -> ReadError {
    ReadError::at(at, format!("{what} {index} of {count}"))
}
