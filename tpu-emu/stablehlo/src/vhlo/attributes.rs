//! Attributes of VHLO.
use super::words;
use crate::ReadError;
use crate::bytecode::{Cursor, Node, Reader, brief};
use crate::ir::{Attribute, Attributes, AxisRef, Element, Mesh, Name};

impl Reader<'_> {
    /// An attribute of VHLO.
    pub(crate) fn vhlo_attribute(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let at = cursor.at();
        let words = match cursor.varint()? {
            1 => return Ok(Node::Attribute(Attribute::Array(self.attribute_list(cursor)?))),
            2 => {
                return match cursor.varint()? {
                    value @ (0 | 1) => Ok(Node::Attribute(Attribute::Bool(value == 1))),
                    other => Err(ReadError::at(at, format!("a boolean of {other}"))),
                };
            }
            3 => words::COMPARISON_DIRECTION,
            4 => words::COMPARISON_TYPE,
            5 => words::API_VERSION,
            6 => {
                let named = self.named_attributes(cursor)?;
                return Ok(Node::Attribute(Attribute::Dictionary(named)));
            }
            7 => words::FFT_TYPE,
            8 => {
                let of = self.scalar_type(cursor)?;
                return self.float(cursor, of).map(Node::Attribute);
            }
            9 => {
                let of = self.scalar_type(cursor)?;
                return self.integer(cursor, of).map(Node::Attribute);
            }
            10 => return self.output_alias(cursor),
            11 => words::PRECISION,
            12 => words::RNG_ALGORITHM,
            13 => words::RNG_DISTRIBUTION,
            14 => {
                let text = self.string_bytes(cursor)?;
                return Ok(Node::Attribute(Attribute::String(text.into())));
            }
            15 => {
                let of = self.tensor_type(cursor)?;
                let blob = cursor.blob()?;
                return self.elements(at, of, blob).map(Attribute::Elements).map(Node::Attribute);
            }
            16 => words::TRANSPOSE,
            17 => return Ok(Node::Attribute(Attribute::Type(self.next_type(cursor)?))),
            18 => return Ok(Node::Bounds(self.signed_list(cursor)?)),
            19 => words::ACCURACY_MODE,
            20 => return self.result_accuracy(cursor),
            21 => return Ok(Node::SubAxis(cursor.signed()?, cursor.signed()?)),
            22 => return self.axis_reference(cursor),
            23 => return self.mesh_axes(cursor),
            24 => {
                let name = self.text_attribute(cursor)?;
                return Ok(Node::MeshAxis(name, cursor.signed()?));
            }
            25 => return self.mesh(cursor),
            other => return Err(ReadError::at(at, format!("VHLO attribute of code {other}"))),
        };
        words::read(cursor, words)
    }

    /// How exact a result has to be, as a dictionary of `atol`, `rtol`, `ulps` and `mode`; absent
    /// if nothing is asked.
    fn result_accuracy(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let absolute = self.float(cursor, Element::F64)?;
        let relative = self.float(cursor, Element::F64)?;
        let ulps = cursor.signed()?;
        let mode = self.present(cursor)?;
        let zero = Attribute::Float(0.0, Element::F64);
        if mode.as_str() == Some("DEFAULT") && absolute == zero && relative == zero && ulps == 0 {
            return Ok(Node::Absent);
        }
        Ok(Node::Attribute(Attribute::Dictionary(Attributes(vec![
            (Name::Borrowed("atol"), absolute),
            (Name::Borrowed("rtol"), relative),
            (Name::Borrowed("ulps"), Attribute::Integer(ulps.into(), Element::S64)),
            (Name::Borrowed("mode"), mode),
        ]))))
    }

    fn axis_reference(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let name = self.text_attribute(cursor)?;
        let mut part = None;
        if cursor.varint()? != 0 {
            let at = cursor.at();
            match self.node(cursor)? {
                Node::SubAxis(before, size) => part = Some((before, size)),
                other => return Err(ReadError::at(at, format!("{} of an axis", brief(&other)))),
            }
        }
        Ok(Node::Axis(AxisRef { name, part }))
    }

    /// Groups of devices that axes of a mesh make, as a dictionary of `mesh` (a symbol or a mesh)
    /// and `axes` (each a dictionary of `name` and, for a part of an axis, `pre_size` and `size`).
    fn mesh_axes(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let mesh = match self.present(cursor)? {
            Attribute::String(bytes) => Attribute::Symbol(String::from_utf8_lossy(&bytes).into()),
            other => other,
        };
        let axes = self.present(cursor)?;
        Ok(Node::Attribute(Attribute::Dictionary(Attributes(vec![
            (Name::Borrowed("mesh"), mesh),
            (Name::Borrowed("axes"), axes),
        ]))))
    }

    /// A mesh. Its axes are an array of mesh axes, which are attributes of no other place.
    fn mesh(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let at = cursor.at();
        let axes = match self.present(cursor)? {
            Attribute::Array(axes) => axes,
            other => {
                return Err(ReadError::at(
                    at,
                    format!("{} where axes were expected", brief(&other)),
                ));
            }
        };
        let axes = axes.iter().map(|axis| match axis {
            Attribute::Dictionary(axis) => Some((axis.text("name")?.into(), axis.integer("size")?)),
            _ => None,
        });
        let axes: Option<Vec<_>> = axes.collect();
        let axes = axes.ok_or_else(|| ReadError::at(at, "a mesh without names of axes"))?;
        let device_ids = match self.optional_node(cursor)? {
            None | Some(Node::Absent) => Vec::new(),
            Some(node) => {
                let ids = self.listed(at, node)?;
                ids.and_then(|ids| ids.integers())
                    .ok_or_else(|| ReadError::at(at, "a mesh whose devices are no integers"))?
            }
        };
        Ok(Node::Attribute(Attribute::Mesh(Mesh { axes, device_ids })))
    }
}
