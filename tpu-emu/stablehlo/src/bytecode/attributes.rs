//! Attributes of the builtin dialect, and the few of stablehlo that stay beside VHLO.
use super::table::{brief, unknown};
use super::{BytecodeReader, Cursor, Node};
use crate::ReadError;
use crate::float;
use crate::ir::{Attribute, Attributes, Element, Name, OutputAlias, TensorType, Type};
use crate::vhlo;
use tpu_mlir::builtin;

/// Codes of builtin attributes.
mod code {
    pub(super) const ARRAY: u64 = 0;
    pub(super) const DICTIONARY: u64 = 1;
    pub(super) const STRING: u64 = 2;
    pub(super) const STRING_WITH_TYPE: u64 = 3;
    pub(super) const SYMBOL: u64 = 4;
    pub(super) const NESTED_SYMBOL: u64 = 5;
    pub(super) const TYPE: u64 = 6;
    pub(super) const UNIT: u64 = 7;
    pub(super) const INTEGER: u64 = 8;
    pub(super) const FLOAT: u64 = 9;
    pub(super) const RESOURCE: u64 = 16;
    pub(super) const DENSE_ARRAY: u64 = 17;
    pub(super) const DENSE: u64 = 18;
    pub(super) const DENSE_STRINGS: u64 = 19;
    pub(super) const SPARSE: u64 = 20;
    pub(super) const DISTINCT: u64 = 21;
}

impl BytecodeReader<'_> {
    /// An attribute of the builtin dialect; `index` is its own.
    pub(crate) fn builtin_attribute(
        &mut self,
        cursor: &mut Cursor<'_>,
        index: usize,
    ) -> Result<Node, ReadError> {
        let at = cursor.at();
        let kind = cursor.varint()?;
        if tpu_mlir::is_location(kind) {
            cursor.rest();
            let location = self.file.location_at(at, index)?;
            return Ok(Node::Attribute(Attribute::Location(location)));
        }
        if kind == code::ARRAY {
            return self.array(cursor);
        }
        Ok(Node::Attribute(match kind {
            code::DICTIONARY => Attribute::Dictionary(self.named_attributes(cursor)?),
            code::STRING => Attribute::String(self.string_bytes(cursor)?.into()),
            code::STRING_WITH_TYPE => {
                let text = self.string_bytes(cursor)?;
                self.next_type(cursor)?;
                Attribute::String(text.into())
            }
            code::SYMBOL => Attribute::Symbol(self.text_attribute(cursor)?),
            code::NESTED_SYMBOL => {
                return Err(ReadError::at(at, "a symbol inside of another symbol"));
            }
            code::TYPE => Attribute::Type(self.next_type(cursor)?),
            code::UNIT => Attribute::Unit,
            code::INTEGER => {
                let of = self.scalar_type(cursor)?;
                self.integer(cursor, of)?
            }
            code::FLOAT => {
                let of = self.scalar_type(cursor)?;
                self.float(cursor, of)?
            }
            code::RESOURCE => {
                self.next_type(cursor)?;
                let resource = cursor.index()?;
                let resources = &self.file.resources;
                let name = resources
                    .get(resource)
                    .ok_or_else(|| unknown(at, "resource", resource, resources.len()))?;
                return Err(ReadError::at(at, format!("elements in the resource {name}")));
            }
            code::DENSE_ARRAY => {
                let element = self.scalar_type(cursor)?;
                let count = cursor.index()?;
                let blob = cursor.blob()?;
                let dims = vec![i64::try_from(count).unwrap_or(i64::MAX)];
                Attribute::Elements(self.elements(at, TensorType::new(element, dims), blob)?)
            }
            code::DENSE => {
                let of = self.tensor_type(cursor)?;
                let blob = cursor.blob()?;
                Attribute::Elements(self.elements(at, of, blob)?)
            }
            code::DENSE_STRINGS => return Err(ReadError::at(at, "a dense array of strings")),
            code::SPARSE => return Err(ReadError::at(at, "a sparse array")),
            code::DISTINCT => return Err(ReadError::at(at, "a distinct attribute")),
            other => return Err(ReadError::at(at, format!("builtin attribute of code {other}"))),
        }))
    }

    /// The bytes of a string, paid for.
    pub(crate) fn string_bytes(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<u8>, ReadError> {
        let at = cursor.at();
        let bytes = self.file.strings.bytes(cursor)?;
        self.pay_once(at, bytes.len())?;
        Ok(bytes.to_vec())
    }

    /// Names and attributes; both are entries of the table.
    pub(crate) fn named_attributes(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Attributes, ReadError> {
        let count = cursor.count()?;
        let mut named = Attributes::default();
        for _ in 0..count {
            let name = self.text_attribute(cursor)?;
            if let Some(value) = self.attribute(cursor)? {
                named.0.push((Name::Owned(name.to_string()), value));
            }
        }
        Ok(named)
    }

    /// The scalar type whose index comes next.
    pub(crate) fn scalar_type(&mut self, cursor: &mut Cursor<'_>) -> Result<Element, ReadError> {
        let at = cursor.at();
        match self.next_type(cursor)? {
            Type::Scalar(element) => Ok(element),
            other => {
                Err(ReadError::at(at, format!("{} where a scalar was expected", brief(&other))))
            }
        }
    }

    /// The array type whose index comes next.
    pub(crate) fn tensor_type(&mut self, cursor: &mut Cursor<'_>) -> Result<TensorType, ReadError> {
        let at = cursor.at();
        match self.next_type(cursor)? {
            Type::Tensor(tensor) => Ok(tensor),
            other => {
                Err(ReadError::at(at, format!("{} where an array was expected", brief(&other))))
            }
        }
    }

    /// An integer whose type is known.
    pub(crate) fn integer(
        &mut self,
        cursor: &mut Cursor<'_>,
        of: Element,
    ) -> Result<Attribute, ReadError> {
        let at = cursor.at();
        let Some((width, signed)) = of.integer_bits() else {
            return Err(ReadError::at(at, format!("an integer of type {of:?}")));
        };
        let bits = builtin::integer(cursor, width)?;
        if of == Element::Pred {
            return Ok(Attribute::Bool(bits & 1 == 1));
        }
        let unused = 128 - width;
        let value = if signed {
            (bits << unused).cast_signed() >> unused
        } else {
            ((bits << unused) >> unused).cast_signed()
        };
        Ok(Attribute::Integer(value, of))
    }

    /// A float whose type is known.
    pub(crate) fn float(
        &mut self,
        cursor: &mut Cursor<'_>,
        of: Element,
    ) -> Result<Attribute, ReadError> {
        let at = cursor.at();
        let bits = builtin::float(cursor, of)?;
        let value = float::decode(bits, of)
            .ok_or_else(|| ReadError::at(at, format!("a float of type {of:?}")))?;
        Ok(Attribute::Float(value, of))
    }

    /// An attribute of stablehlo: enumerations, bounds, aliases, groups of devices by axes.
    pub(crate) fn stablehlo_attribute(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<Node, ReadError> {
        let at = cursor.at();
        let kind = cursor.varint()?;
        let words = match kind {
            2 => vhlo::words::COMPARISON_DIRECTION,
            3 => vhlo::words::COMPARISON_TYPE,
            6 => vhlo::words::FFT_TYPE,
            8 => vhlo::words::PRECISION,
            9 => vhlo::words::RNG_ALGORITHM,
            10 => vhlo::words::RNG_DISTRIBUTION,
            12 => vhlo::words::TRANSPOSE,
            16 => vhlo::words::ACCURACY_MODE,
            13 => return Ok(Node::Bounds(self.signed_list(cursor)?)),
            14 => return self.output_alias(cursor),
            18 => return self.mesh_axes(cursor),
            19 => return Ok(Node::SubAxis(cursor.signed()?, cursor.signed()?)),
            20 => return self.stablehlo_axis(cursor),
            21 => {
                let name = self.file.strings.shared(cursor)?;
                return Ok(Node::MeshAxis(name, cursor.signed()?));
            }
            22 => return self.stablehlo_mesh(cursor),
            other => {
                return Err(ReadError::at(at, format!("stablehlo attribute of code {other}")));
            }
        };
        vhlo::words::read(cursor, words)
    }

    /// Which output shares its memory with which operand.
    pub(crate) fn output_alias(&mut self, cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
        let output = self.signed_list(cursor)?;
        let operand = cursor.signed()?;
        let operand_path = self.signed_list(cursor)?;
        Ok(Node::Attribute(Attribute::OutputAlias(OutputAlias { output, operand, operand_path })))
    }
}

/// An attribute of chlo: its two enumerations.
pub(crate) fn chlo(cursor: &mut Cursor<'_>) -> Result<Node, ReadError> {
    let at = cursor.at();
    match cursor.varint()? {
        0 => vhlo::words::read(cursor, vhlo::words::COMPARISON_DIRECTION),
        1 => vhlo::words::read(cursor, vhlo::words::COMPARISON_TYPE),
        other => Err(ReadError::at(at, format!("chlo attribute of code {other}"))),
    }
}
