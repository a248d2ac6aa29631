//! Attributes of sdy, which come beside VHLO.
use super::table::brief;
use super::{BytecodeReader, Cursor, Node};
use crate::ReadError;
use crate::ir::{Attribute, AxisRef, DimensionSharding, Mesh, MeshRef, TensorSharding};
use std::fmt::Write as _;
use std::sync::Arc;

impl BytecodeReader<'_> {
    /// An attribute of sdy.
    pub(crate) fn sdy_attribute(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let at = cursor.at();
        let code = cursor.varint()?;
        Ok(match code {
            0 => Node::Attribute(Attribute::ManualAxes(
                self.list_of(cursor, |reader, cursor| reader.text_attribute(cursor))?,
            )),
            1 => {
                let name = self.file.strings.shared(cursor)?;
                Node::MeshAxis(name, cursor.signed()?)
            }
            2 => {
                let axes = self.list_of(cursor, Self::mesh_axis)?;
                let device_ids = self.signed_list(cursor)?;
                Node::Attribute(Attribute::Mesh(Mesh { axes, device_ids }))
            }
            3 => Node::SubAxis(cursor.signed()?, cursor.signed()?),
            4 => {
                let name = self.file.strings.shared(cursor)?;
                let at = cursor.at();
                let part = match self.optional_node(cursor)? {
                    None => None,
                    Some(Node::SubAxis(before, size)) => Some((before, size)),
                    Some(other) => return Err(wrong(at, &other, "a part of an axis")),
                };
                Node::Axis(AxisRef { name, part })
            }
            5 => {
                let axes = self.list_of(cursor, Self::axis)?;
                let closed = cursor.byte()? != 0;
                let (priority, present) = cursor.flagged()?;
                let priority = present.then(|| i64::try_from(priority).unwrap_or(i64::MAX));
                Node::Dimension(DimensionSharding { axes, closed, priority })
            }
            6 | 15 | 17 => {
                let at = cursor.at();
                let mesh = match self.present(cursor)? {
                    Attribute::Symbol(name) => MeshRef::Symbol(name),
                    Attribute::Mesh(mesh) => MeshRef::Inline(mesh),
                    other => {
                        return Err(ReadError::at(at, format!("{} is no mesh", brief(&other))));
                    }
                };
                let dimensions = self.list_of(cursor, Self::dimension)?;
                let replicated = self.list_of(cursor, Self::axis)?;
                let unreduced =
                    if code == 6 { Vec::new() } else { self.list_of(cursor, Self::axis)? };
                if code == 17 {
                    let reduction = cursor.signed()?;
                    let what = format!("a sharding with the reduction {reduction} over axes");
                    return Err(ReadError::at(at, what));
                }
                let sharding = TensorSharding { mesh, dimensions, replicated, unreduced };
                Node::Attribute(Attribute::Sharding(sharding))
            }
            7 | 16 => Node::Attribute(Attribute::Shardings(self.list_of(cursor, Self::sharding)?)),
            8 => Node::Mapping(vec![self.signed_list(cursor)?]),
            9 => {
                let dims = self.list_of(cursor, Self::mapping)?;
                Node::Mapping(dims.into_iter().flatten().collect())
            }
            10 => Node::Attribute(self.sharding_rule(cursor)?),
            11 => {
                let axes = self.list_of(cursor, Self::axis)?;
                self.opaque(at, format!("sdy.axis_ref_list<{}>", axis_list(&axes)))?
            }
            13 => {
                let axes = self.list_of(cursor, Self::axis)?;
                let (from, to) = (cursor.signed()?, cursor.signed()?);
                let text = format!("sdy.all_to_all_param<{}: {from}->{to}>", axis_list(&axes));
                self.opaque(at, text)?
            }
            12 | 14 => Node::Attribute(Attribute::Array(self.attribute_list(cursor)?)),
            other => return Err(ReadError::at(at, format!("sdy attribute of code {other}"))),
        })
    }

    fn opaque(&mut self, at: usize, text: String) -> Result<Node, ReadError> {
        self.pay_once(at, text.len())?;
        Ok(Node::Attribute(Attribute::Opaque(text.into())))
    }

    fn list_of<T>(
        &mut self,
        cursor: &mut Cursor<'_>,
        one: impl Fn(&mut Self, &mut Cursor<'_>) -> Result<T, ReadError>,
    ) -> Result<Vec<T>, ReadError> {
        let count = cursor.count()?;
        (0..count).map(|_| one(self, cursor)).collect()
    }

    fn mesh_axis(&mut self, cursor: &mut Cursor<'_>) -> Result<(Arc<str>, i64), ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::MeshAxis(name, size) => Ok((name, size)),
            other => Err(wrong(at, &other, "a mesh axis")),
        }
    }

    fn axis(&mut self, cursor: &mut Cursor<'_>) -> Result<AxisRef, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::Axis(axis) => Ok(axis),
            other => Err(wrong(at, &other, "an axis")),
        }
    }

    fn dimension(&mut self, cursor: &mut Cursor<'_>) -> Result<DimensionSharding, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::Dimension(dimension) => Ok(dimension),
            other => Err(wrong(at, &other, "the sharding of a dimension")),
        }
    }

    fn sharding(&mut self, cursor: &mut Cursor<'_>) -> Result<TensorSharding, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::Attribute(Attribute::Sharding(sharding)) => Ok(sharding),
            other => Err(wrong(at, &other, "a sharding")),
        }
    }

    fn mapping(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<Vec<i64>>, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::Mapping(mapping) => Ok(mapping),
            other => Err(wrong(at, &other, "factors")),
        }
    }

    /// A sharding rule, as sdy writes it: only propagation reads it, and there is none here.
    fn sharding_rule(&mut self, cursor: &mut Cursor<'_>) -> Result<Attribute, ReadError> {
        let at = cursor.at();
        let sizes = self.signed_list(cursor)?;
        let operands = self.list_of(cursor, Self::mapping)?;
        let results = self.list_of(cursor, Self::mapping)?;
        let mut text = String::from("sdy.op_sharding_rule<");
        write_mappings(&mut text, &operands);
        text.push_str("->");
        write_mappings(&mut text, &results);
        text.push_str(" {");
        for (index, size) in sizes.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let factor = i64::try_from(index).unwrap_or(i64::MAX);
            let _ = write!(text, "{comma}{}={size}", Factor(factor));
        }
        text.push('}');
        for name in ["reduction", "need_replication", "permutation", "blocked_propagation"] {
            let factors = self.signed_list(cursor)?;
            if factors.is_empty() {
                continue;
            }
            let _ = write!(text, " {name}={{");
            for (index, &factor) in factors.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{}", Factor(factor));
            }
            text.push('}');
        }
        if cursor.byte()? != 0 {
            text.push_str(", custom");
        }
        text.push('>');
        self.pay_once(at, text.len())?;
        Ok(Attribute::Opaque(text.into()))
    }
}

/// A factor's name: letters from `i`, then numbered.
struct Factor(i64);

impl std::fmt::Display for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = u8::try_from(self.0).ok().and_then(|index| b'i'.checked_add(index));
        match letter.filter(|letter| *letter <= b'z') {
            Some(letter) => write!(f, "{}", char::from(letter)),
            None => write!(f, "z_{}", self.0.saturating_sub(17)),
        }
    }
}

fn write_mappings(text: &mut String, mappings: &[Vec<Vec<i64>>]) {
    text.push('(');
    for (index, mapping) in mappings.iter().enumerate() {
        text.push_str(if index == 0 { "[" } else { ", [" });
        for (index, factors) in mapping.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { ", " });
            for factor in factors {
                let _ = write!(text, "{}", Factor(*factor));
            }
        }
        text.push(']');
    }
    text.push(')');
}

fn axis_list(axes: &[AxisRef]) -> String {
    let one = |axis: &AxisRef| match axis.part {
        None => format!("{:?}", axis.name),
        Some((before, size)) => format!("{:?}:({before}){size}", axis.name),
    };
    let axes: Vec<String> = axes.iter().map(one).collect();
    format!("{{{}}}", axes.join(", "))
}

fn wrong(at: usize, found: &Node, expected: &str) -> ReadError {
    ReadError::at(at, format!("{} where {expected} was expected", brief(found)))
}
