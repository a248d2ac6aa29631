//! Types of VHLO.
use crate::ReadError;
use crate::bytecode::{BytecodeReader, Cursor};
use crate::ir::{Attribute, Element, Quantization, TensorType, Type};

impl BytecodeReader<'_> {
    /// A type of VHLO.
    pub(crate) fn vhlo_type(&mut self, cursor: &mut Cursor<'_>) -> Result<Type, ReadError> {
        let at = cursor.at();
        let code = cursor.varint()?;
        if let Some(element) = element(code) {
            return Ok(Type::Scalar(element));
        }
        Ok(match code {
            1 => Type::Scalar(self.complex_type(cursor)?),
            8 => {
                let arguments = self.type_list(cursor)?;
                Type::Function(arguments, self.type_list(cursor)?)
            }
            20 => {
                let dims = self.dims(cursor)?;
                self.array_type(cursor, dims, Vec::new())?
            }
            21 => {
                let bounds = self.bounds(cursor)?;
                let dims = self.dims(cursor)?;
                self.array_type(cursor, dims, bounds)?
            }
            22 => Type::Token,
            23 => Type::Tuple(self.type_list(cursor)?),
            24 | 30 => self.quantized(cursor, code == 30)?,
            25 => Type::Unranked(self.scalar_type(cursor)?),
            33 => Type::None,
            41 => {
                let dims = self.dims(cursor)?;
                Type::Buffer(TensorType::new(self.scalar_type(cursor)?, dims))
            }
            42 => Type::Future(self.type_list(cursor)?),
            26 => Type::Opaque("shape.witness".into()),
            other => return Err(ReadError::at(at, format!("VHLO type of code {other}"))),
        })
    }

    /// A quantized type, as an array without dimensions: it only occurs as an element.
    fn quantized(&mut self, cursor: &mut Cursor<'_>, along: bool) -> Result<Type, ReadError> {
        let at = cursor.at();
        let flags = cursor.varint()?;
        let element = self.scalar_type(cursor)?;
        let expressed = self.scalar_type(cursor)?;
        let number = |value: Attribute| match value {
            Attribute::Float(value, _) => value,
            _ => f64::NAN,
        };
        let mut axis = None;
        let (mut scales, mut zero_points) = (Vec::new(), Vec::new());
        if along {
            let dimension = cursor.varint()?;
            axis = Some(
                i64::try_from(dimension)
                    .map_err(|_| ReadError::at(at, format!("the dimension {dimension}")))?,
            );
        } else {
            scales.push(number(self.float(cursor, Element::F64)?));
            zero_points.push(cursor.signed()?);
        }
        let storage_min = cursor.signed()?;
        let storage_max = cursor.signed()?;
        if along {
            let count = cursor.count()?;
            self.pay(at, 16 * count)?;
            for _ in 0..count {
                scales.push(number(self.float(cursor, Element::F64)?));
            }
            zero_points = self.signed_list(cursor)?;
        }
        if scales.len() != zero_points.len() {
            let what = format!("{} scales, {} zero points", scales.len(), zero_points.len());
            return Err(ReadError::at(at, what));
        }
        self.pay(at, size_of::<Quantization>())?;
        let signed = flags & 1 == 1;
        Ok(Type::Tensor(TensorType {
            quantization: Some(Box::new(Quantization {
                expressed,
                storage_min,
                storage_max,
                axis,
                scales,
                zero_points,
                signed,
            })),
            ..TensorType::new(element, Vec::new())
        }))
    }
}

/// The scalar types, which have nothing but a code.
fn element(code: u64) -> Option<Element> {
    Some(match code {
        0 => Element::Pred,
        2 => Element::Bf16,
        3 => Element::F16,
        4 => Element::F32,
        5 => Element::F64,
        6 => Element::F8E4M3FN,
        7 => Element::F8E5M2,
        9 => Element::Index,
        10 => Element::S4,
        11 => Element::S8,
        12 => Element::S16,
        13 => Element::S32,
        14 => Element::S64,
        15 => Element::U4,
        16 => Element::U8,
        17 => Element::U16,
        18 => Element::U32,
        19 => Element::U64,
        27 => Element::F8E4M3FNUZ,
        28 => Element::F8E5M2FNUZ,
        29 => Element::F8E4M3B11FNUZ,
        31 => Element::S2,
        32 => Element::U2,
        34 => Element::Tf32,
        35 => Element::F8E4M3,
        36 => Element::F8E3M4,
        37 => Element::F4E2M1FN,
        38 => Element::F6E2M3FN,
        39 => Element::F6E3M2FN,
        40 => Element::F8E8M0FNU,
        _ => return None,
    })
}
