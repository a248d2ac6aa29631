//! The table of attributes and types, decoded on demand.
use super::{asm, attributes};
use crate::ReadError;
use crate::ir::{Attribute, AxisRef, DimensionSharding, Type};
use crate::vhlo::{self, VersionRow};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use tpu_mlir::Cursor;
use tpu_mlir::budget::Budget;
use tpu_mlir::container::File;
pub(crate) use tpu_mlir::container::unknown;
use tpu_mlir::names::OperationName;

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

/// Everything that decoding needs.
#[derive(Debug)]
pub(crate) struct BytecodeReader<'a> {
    /// The tables of the file.
    pub(crate) file: File<'a>,
    /// The row of each name of an operation, for VHLO's.
    pub(super) rows: Vec<Option<&'static VersionRow>>,
    attributes_done: Vec<Option<(Node, usize)>>,
    types_done: Vec<Option<(Type, usize)>>,
    budget: Budget,
}

impl<'a> BytecodeReader<'a> {
    pub(crate) fn new(size: usize, file: File<'a>) -> Self {
        let row = |name: &OperationName<'_>| {
            (name.dialect == "vhlo").then(|| vhlo::find(name.mnemonic)).flatten()
        };
        Self {
            rows: file.names.operations.iter().map(row).collect(),
            attributes_done: file.attributes.iter().map(|_| None).collect(),
            types_done: file.types.iter().map(|_| None).collect(),
            budget: Budget::new(size),
            file,
        }
    }

    /// Takes from the budget.
    pub(crate) fn pay(&mut self, at: usize, bytes: usize) -> Result<(), ReadError> {
        self.budget.pay(at, bytes)
    }

    /// Takes from the budget what is made once, however often it is used.
    pub(crate) fn pay_once(&mut self, at: usize, bytes: usize) -> Result<(), ReadError> {
        self.budget.pay_once(at, bytes)
    }

    /// A list of signed numbers.
    pub(crate) fn signed_list(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<i64>, ReadError> {
        let at = cursor.at();
        let list = cursor.signed_list()?;
        self.pay(at, 8 * list.len())?;
        Ok(list)
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
            None => return Err(unknown(at, "attribute", index, self.attributes_done.len())),
        }
        let mark = self.budget.enter(at, size_of::<Node>())?;
        let mut entry = self.file.attributes[index];
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
        let cost = self.budget.leave(&mark);
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
            None => return Err(unknown(at, "type", index, self.types_done.len())),
        }
        let mark = self.budget.enter(at, size_of::<Type>())?;
        let mut entry = self.file.types[index];
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
        let cost = self.budget.leave(&mark);
        self.types_done[index] = Some((of.clone(), cost));
        Ok(of)
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
