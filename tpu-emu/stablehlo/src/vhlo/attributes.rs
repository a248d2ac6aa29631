//! Attributes of VHLO.
use super::words;
use crate::ReadError;
use crate::bytecode::{BytecodeReader, Cursor, Node};
use crate::ir::{Attribute, Attributes, Element, Name};

impl BytecodeReader<'_> {
    /// An attribute of VHLO.
    pub(crate) fn vhlo_attribute(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let at = cursor.at();
        let words = match cursor.varint()? {
            1 => return self.array(cursor),
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
            22 => return self.vhlo_axis(cursor),
            23 => return self.vhlo_mesh_axes(cursor),
            24 => {
                let name = self.text_attribute(cursor)?;
                return Ok(Node::MeshAxis(name, cursor.signed()?));
            }
            25 => return self.vhlo_mesh(cursor),
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
}
