//! Types of the builtin dialect, and the few of stablehlo that stay beside VHLO.
use super::table::brief;
use super::{BytecodeReader, Cursor, Node};
use crate::ReadError;
use crate::ir::{Attribute, DYNAMIC, Element, TensorType, Type};

impl BytecodeReader<'_> {
    /// A type of the builtin dialect.
    pub(crate) fn builtin_type(&mut self, cursor: &mut Cursor<'_>) -> Result<Type, ReadError> {
        let at = cursor.at();
        Ok(match cursor.varint()? {
            0 => Type::Scalar(integer_type(at, cursor.varint()?)?),
            1 => Type::Scalar(Element::Index),
            2 => {
                let arguments = self.type_list(cursor)?;
                Type::Function(arguments, self.type_list(cursor)?)
            }
            3 => Type::Scalar(Element::Bf16),
            4 => Type::Scalar(Element::F16),
            5 => Type::Scalar(Element::F32),
            6 => Type::Scalar(Element::F64),
            9 => Type::Scalar(self.complex_type(cursor)?),
            10 => {
                let dims = self.dims(cursor)?;
                let element = self.scalar_type(cursor)?;
                self.plain_layout(cursor)?;
                Type::Buffer(TensorType::new(element, dims))
            }
            12 => Type::None,
            13 => {
                let dims = self.dims(cursor)?;
                self.array_type(cursor, dims, Vec::new())?
            }
            14 => {
                let bounds = self.bounds(cursor)?;
                let dims = self.dims(cursor)?;
                self.array_type(cursor, dims, bounds)?
            }
            15 => Type::Tuple(self.type_list(cursor)?),
            18 => Type::Unranked(self.scalar_type(cursor)?),
            other => return Err(ReadError::at(at, format!("builtin type of code {other}"))),
        })
    }

    /// A type of stablehlo.
    pub(crate) fn stablehlo_type(&mut self, cursor: &mut Cursor<'_>) -> Result<Type, ReadError> {
        let at = cursor.at();
        match cursor.varint()? {
            0 => Ok(Type::Token),
            1 => Ok(Type::Future(self.type_list(cursor)?)),
            other => Err(ReadError::at(at, format!("stablehlo type of code {other}"))),
        }
    }

    /// An array type whose element type comes next, quantized or not.
    pub(crate) fn array_type(
        &mut self,
        cursor: &mut Cursor<'_>,
        dims: Vec<i64>,
        bounds: Vec<i64>,
    ) -> Result<Type, ReadError> {
        let at = cursor.at();
        if !bounds.is_empty() && bounds.len() != dims.len() {
            let what = format!("{} bounds for {} dimensions", bounds.len(), dims.len());
            return Err(ReadError::at(at, what));
        }
        match self.next_type(cursor)? {
            Type::Scalar(element) => {
                Ok(Type::Tensor(TensorType { bounds, ..TensorType::new(element, dims) }))
            }
            // A quantized scalar is kept as an array without dimensions until it has some.
            Type::Tensor(TensorType { element, quantization: quantization @ Some(_), .. }) => {
                Ok(Type::Tensor(TensorType { element, dims, bounds, quantization }))
            }
            other => Err(ReadError::at(at, format!("an array of {}", brief(&other)))),
        }
    }

    /// The complex type of the scalar that comes next.
    pub(crate) fn complex_type(&mut self, cursor: &mut Cursor<'_>) -> Result<Element, ReadError> {
        let at = cursor.at();
        match self.scalar_type(cursor)? {
            Element::F32 => Ok(Element::C64),
            Element::F64 => Ok(Element::C128),
            other => Err(ReadError::at(at, format!("a complex number of {other:?}"))),
        }
    }

    /// The extents of an array.
    pub(crate) fn dims(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<i64>, ReadError> {
        let at = cursor.at();
        let dims = self.signed_list(cursor)?;
        match dims.iter().find(|&&dim| dim < 0 && dim != DYNAMIC) {
            Some(dim) => Err(ReadError::at(at, format!("an extent of {dim}"))),
            None => Ok(dims),
        }
    }

    /// The bounds in the encoding that comes next.
    pub(crate) fn bounds(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<i64>, ReadError> {
        let at = cursor.at();
        match self.node(cursor)? {
            Node::Bounds(bounds) => Ok(bounds),
            other => Err(ReadError::at(at, format!("the encoding {} of an array", brief(&other)))),
        }
    }

    /// A layout that changes nothing.
    fn plain_layout(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ReadError> {
        let at = cursor.at();
        let layout = self.node(cursor)?;
        if let Node::Attribute(Attribute::Opaque(text)) = &layout
            && let Some(map) =
                text.strip_prefix("affine_map<").and_then(|map| map.strip_suffix('>'))
            && let Some((from, to)) = map.split_once(" -> ")
            && from == to
        {
            return Ok(());
        }
        Err(ReadError::at(at, format!("a memref with the layout {}", brief(&layout))))
    }
}

/// An integer type from its width and signedness.
fn integer_type(at: usize, code: u64) -> Result<Element, ReadError> {
    let (width, unsigned) = match code & 3 {
        0 | 1 => (code >> 2, false),
        2 => (code >> 2, true),
        _ => return Err(ReadError::at(at, format!("integer type {code}"))),
    };
    if let Some(of) = Element::integer(width, unsigned) {
        return Ok(of);
    }
    let kind = if unsigned { "unsigned integer" } else { "integer" };
    match u16::try_from(width) {
        Ok(width) if !unsigned => Ok(Element::Other(width)),
        _ => Err(ReadError::at(at, format!("an {kind} of {width} bits"))),
    }
}
