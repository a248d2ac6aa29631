//! Attributes and types of the builtin dialect as they are encoded: what is inside of them are
//! numbers of other entries.
use crate::container::Entry;
use crate::cursor::Cursor;
use crate::element::Element;
use crate::error::ReadError;
use crate::strings::Strings;

/// The number of another entry, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// Where.
    pub at: usize,
    /// Which.
    pub index: usize,
}

impl Reference {
    /// The number that comes next.
    ///
    /// # Errors
    /// Damage.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, ReadError> {
        Ok(Self { at: cursor.at(), index: cursor.index()? })
    }

    fn list(cursor: &mut Cursor<'_>) -> Result<Vec<Self>, ReadError> {
        (0..cursor.count()?).map(|_| Self::read(cursor)).collect()
    }
}

/// An attribute of the builtin dialect.
#[derive(Debug)]
pub enum RawAttribute<'a> {
    /// A place in a source, which [`crate::container::File::location_at`] decodes.
    Location,
    /// Attributes in order.
    Array(Vec<Reference>),
    /// Names, which are string attributes, and attributes.
    Dictionary(Vec<(Reference, Reference)>),
    /// A string: bytes, usually UTF-8.
    String(&'a [u8]),
    /// A string with a type.
    TypedString(&'a [u8], Reference),
    /// `@name`: a string attribute.
    Symbol(Reference),
    /// `@name::@name`.
    NestedSymbol,
    /// A type.
    Type(Reference),
    /// Present, and nothing more.
    Unit,
    /// An integer; what follows depends on its type: [`integer`].
    Integer(Reference),
    /// A float; what follows depends on its type: [`float`].
    Float(Reference),
    /// Elements that lie in a resource: type and resource.
    Resource(Reference, Reference),
    /// `array<i64: …>`: the type of the elements, how many, and their bytes.
    DenseArray(Reference, usize, &'a [u8]),
    /// `dense<…>`: the type of the array, and its bytes.
    Dense(Reference, &'a [u8]),
    /// A map over this many dimensions whose results are dimensions and numbers.
    AffineMap(usize, Vec<AffineTerm>),
    /// `strided<[…], offset: …>`: the offset and the strides.
    Strided(i64, Vec<i64>),
    /// An attribute of this kind, which nobody reads.
    Other(&'static str),
}

/// A result of an affine map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AffineTerm {
    /// The dimension with this number.
    Dim(usize),
    /// A number.
    Constant(i64),
}

/// Dimensions that an affine map can have.
const AFFINE_DIMS: usize = 1 << 10;

impl<'a> RawAttribute<'a> {
    /// Reads an attribute. What follows behind [`RawAttribute::Integer`] and
    /// [`RawAttribute::Float`] is left.
    ///
    /// # Errors
    /// Damage, or an unknown code.
    pub fn read(cursor: &mut Cursor<'a>, strings: &Strings<'a>) -> Result<Self, ReadError> {
        let at = cursor.at();
        let code = cursor.varint()?;
        if crate::locations::is_location(code) {
            cursor.rest();
            return Ok(Self::Location);
        }
        Ok(match code {
            0 => Self::Array(Reference::list(cursor)?),
            1 => {
                let count = cursor.count()?;
                let pair = |_| Ok((Reference::read(cursor)?, Reference::read(cursor)?));
                Self::Dictionary((0..count).map(pair).collect::<Result<_, ReadError>>()?)
            }
            2 => Self::String(strings.bytes(cursor)?),
            3 => Self::TypedString(strings.bytes(cursor)?, Reference::read(cursor)?),
            4 => Self::Symbol(Reference::read(cursor)?),
            5 => Self::NestedSymbol,
            6 => Self::Type(Reference::read(cursor)?),
            7 => Self::Unit,
            8 => Self::Integer(Reference::read(cursor)?),
            9 => Self::Float(Reference::read(cursor)?),
            16 => Self::Resource(Reference::read(cursor)?, Reference::read(cursor)?),
            17 => {
                let of = Reference::read(cursor)?;
                let count = cursor.index()?;
                Self::DenseArray(of, count, cursor.blob()?)
            }
            18 => Self::Dense(Reference::read(cursor)?, cursor.blob()?),
            19 => Self::Other("a dense array of strings"),
            20 => Self::Other("a sparse array"),
            21 => Self::Other("a distinct attribute"),
            // These three since MLIR 24; text before.
            23 => affine_map(cursor)?,
            24 => {
                cursor.rest();
                Self::Other("an integer set")
            }
            25 => Self::Strided(cursor.signed()?, cursor.signed_list()?),
            other => return Err(ReadError::at(at, format!("builtin attribute of code {other}"))),
        })
    }
}

/// An affine map: the identity, a permutation, dimensions alone, or any results.
fn affine_map<'a>(cursor: &mut Cursor<'_>) -> Result<RawAttribute<'a>, ReadError> {
    let at = cursor.at();
    let head = cursor.index()?;
    let dims = head >> 2;
    if dims > AFFINE_DIMS {
        return Err(ReadError::at(at, format!("an affine map over {dims} dimensions")));
    }
    let results = match head & 3 {
        0 => (0..dims).map(AffineTerm::Dim).collect(),
        form @ (1 | 2) => {
            let count = if form == 1 { dims } else { cursor.count()? };
            let dim = |_| Ok(AffineTerm::Dim(cursor.index()?));
            (0..count).map(dim).collect::<Result<_, ReadError>>()?
        }
        _ => {
            let symbols = cursor.index()?;
            let mut results = Vec::new();
            for _ in 0..cursor.count()? {
                results.push(match cursor.varint()? {
                    0 => AffineTerm::Dim(cursor.index()?),
                    2 => AffineTerm::Constant(cursor.signed()?),
                    _ => {
                        cursor.rest();
                        return Ok(RawAttribute::Other("an affine map that computes"));
                    }
                });
            }
            if symbols != 0 {
                return Ok(RawAttribute::Other("an affine map with symbols"));
            }
            results
        }
    };
    match results.iter().find(|of| matches!(of, AffineTerm::Dim(dim) if *dim >= dims)) {
        None => Ok(RawAttribute::AffineMap(dims, results)),
        Some(of) => Err(ReadError::at(at, format!("{of:?} of a map over {dims} dimensions"))),
    }
}

/// A type of the builtin dialect.
#[derive(Debug)]
pub enum RawType {
    /// An integer of this many bits.
    Integer(u64, Signedness),
    /// `index`.
    Index,
    /// Arguments and results.
    Function(Vec<Reference>, Vec<Reference>),
    /// A float.
    Float(Element),
    /// A complex number of this type.
    Complex(Reference),
    /// A mutable array.
    Memref {
        /// Extents.
        dims: Vec<i64>,
        /// Type of its elements.
        element: Reference,
        /// An affine map, or another layout.
        layout: Reference,
        /// The space that it lies in.
        space: Option<Reference>,
    },
    /// No value.
    None,
    /// An array.
    Tensor {
        /// Extents.
        dims: Vec<i64>,
        /// Type of its elements.
        element: Reference,
        /// What else is said of it.
        encoding: Option<Reference>,
    },
    /// Several.
    Tuple(Vec<Reference>),
    /// An array of unknown rank.
    UnrankedTensor(Reference),
    /// A vector.
    Vector {
        /// Extents.
        dims: Vec<i64>,
        /// Type of its elements.
        element: Reference,
    },
    /// A type of this kind, which nobody reads.
    Other(&'static str),
}

/// Whether an integer type says how its sign is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signedness {
    /// The operations say it.
    Signless,
    /// It is signed.
    Signed,
    /// It is not.
    Unsigned,
}

impl RawType {
    /// Reads a type.
    ///
    /// # Errors
    /// Damage, or an unknown code.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self, ReadError> {
        let at = cursor.at();
        Ok(match cursor.varint()? {
            0 => {
                let code = cursor.varint()?;
                let signedness = match code & 3 {
                    0 => Signedness::Signless,
                    1 => Signedness::Signed,
                    2 => Signedness::Unsigned,
                    _ => return Err(ReadError::at(at, format!("integer type {code}"))),
                };
                Self::Integer(code >> 2, signedness)
            }
            1 => Self::Index,
            2 => Self::Function(Reference::list(cursor)?, Reference::list(cursor)?),
            3 => Self::Float(Element::Bf16),
            4 => Self::Float(Element::F16),
            5 => Self::Float(Element::F32),
            6 => Self::Float(Element::F64),
            7 => Self::Other("f80"),
            8 => Self::Other("f128"),
            9 => Self::Complex(Reference::read(cursor)?),
            10 => Self::Memref {
                dims: cursor.signed_list()?,
                element: Reference::read(cursor)?,
                layout: Reference::read(cursor)?,
                space: None,
            },
            11 => {
                let space = Some(Reference::read(cursor)?);
                Self::Memref {
                    dims: cursor.signed_list()?,
                    element: Reference::read(cursor)?,
                    layout: Reference::read(cursor)?,
                    space,
                }
            }
            12 => Self::None,
            13 => Self::Tensor {
                dims: cursor.signed_list()?,
                element: Reference::read(cursor)?,
                encoding: None,
            },
            14 => {
                let encoding = Some(Reference::read(cursor)?);
                Self::Tensor {
                    dims: cursor.signed_list()?,
                    element: Reference::read(cursor)?,
                    encoding,
                }
            }
            15 => Self::Tuple(Reference::list(cursor)?),
            16 | 17 => Self::Other("a memref of unknown rank"),
            18 => Self::UnrankedTensor(Reference::read(cursor)?),
            19 => Self::Vector { dims: cursor.signed_list()?, element: Reference::read(cursor)? },
            20 => Self::Other("a vector with scalable dimensions"),
            // Since MLIR 21; text before.
            21 => Self::Float(Element::Tf32),
            22 => Self::Float(Element::F8E5M2),
            23 => Self::Float(Element::F8E4M3),
            24 => Self::Float(Element::F8E4M3FN),
            25 => Self::Float(Element::F8E5M2FNUZ),
            26 => Self::Float(Element::F8E4M3FNUZ),
            27 => Self::Float(Element::F8E4M3B11FNUZ),
            28 => Self::Float(Element::F8E3M4),
            29 => Self::Float(Element::F4E2M1FN),
            30 => Self::Float(Element::F6E2M3FN),
            31 => Self::Float(Element::F6E3M2FN),
            32 => Self::Float(Element::F8E8M0FNU),
            other => return Err(ReadError::at(at, format!("builtin type of code {other}"))),
        })
    }
}

/// The bits of an integer of this many, as they follow behind its type: those above are not
/// cleared.
///
/// # Errors
/// Damage, or more than 128 bits.
pub fn integer(cursor: &mut Cursor<'_>, width: u16) -> Result<u128, ReadError> {
    let at = cursor.at();
    Ok(match width {
        0..=8 => cursor.byte()?.into(),
        9..=64 => cursor.signed()?.cast_unsigned().into(),
        65..=128 => {
            let mut bits = 0;
            for word in 0..cursor.count()? {
                let value = u128::from(cursor.signed()?.cast_unsigned());
                if word > 1 {
                    return Err(ReadError::at(at, format!("more than {width} bits")));
                }
                bits |= value << (64 * word);
            }
            bits
        }
        _ => return Err(ReadError::at(at, format!("an integer of {width} bits"))),
    })
}

/// The bits of the float of this type that follow behind it.
///
/// # Errors
/// Damage, or a type that is no float.
pub fn float(cursor: &mut Cursor<'_>, of: Element) -> Result<u64, ReadError> {
    let at = cursor.at();
    let width = crate::float::width(of)
        .ok_or_else(|| ReadError::at(at, format!("a float of type {of:?}")))?;
    let bits = if width <= 8 { cursor.byte()?.into() } else { cursor.signed()?.cast_unsigned() };
    Ok(bits & (u64::MAX >> (64 - width)))
}

/// The text of an entry that its dialect has no encoding for.
///
/// # Errors
/// No zero at its end, bytes behind it, or no UTF-8.
pub fn text<'a>(entry: &Entry<'a>) -> Result<&'a str, ReadError> {
    let mut data = entry.data;
    let at = data.at();
    let bytes = data.until_zero()?;
    data.finish("a text")?;
    std::str::from_utf8(bytes).map_err(|_| ReadError::at(at, "a text that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::{AffineTerm, RawAttribute};
    use crate::cursor::Cursor;
    use crate::strings::Strings;

    fn map(bytes: &[u8]) -> Result<(usize, Vec<AffineTerm>), String> {
        let mut cursor = Cursor::new(bytes);
        match RawAttribute::read(&mut cursor, &Strings::default()) {
            Ok(RawAttribute::AffineMap(dims, results)) => Ok((dims, results)),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.what),
        }
    }

    #[test]
    fn affine_maps_are_read_as_mlir_24_writes_them() {
        use AffineTerm::{Constant, Dim};
        for (bytes, dims, results) in [
            (&[47, 17][..], 2, &[Dim(0), Dim(1)][..]),
            (&[47, 1], 0, &[]),
            (&[47, 19, 3, 1], 2, &[Dim(1), Dim(0)]),
            (&[47, 21, 3, 3], 2, &[Dim(1)]),
            (&[47, 13, 1], 1, &[]),
            (&[47, 23, 1, 5, 5, 1, 1, 3], 2, &[Constant(0), Dim(1)]),
            (&[47, 23, 1, 3, 5, 11], 2, &[Constant(-3)]),
        ] {
            assert_eq!(map(bytes), Ok((dims, results.to_vec())), "{bytes:?}");
        }
    }

    #[test]
    fn strided_layouts_are_read_as_mlir_24_writes_them() {
        let unknown = [0, 255, 255, 255, 255, 255, 255, 255, 255];
        let open = [&[51][..], &unknown, &[5, 4, 0, 32], &unknown].concat();
        for (bytes, offset, strides) in [
            (&[51, 13, 5, 2, 4, 5][..], 3, &[128, 1][..]),
            (&[51, 29, 1], 7, &[]),
            (&open, i64::MIN, &[131_072, i64::MIN]),
        ] {
            let read = RawAttribute::read(&mut Cursor::new(bytes), &Strings::default());
            let Ok(RawAttribute::Strided(found, list)) = read else { panic!("{read:?}") };
            assert_eq!((found, list.as_slice()), (offset, strides));
        }
    }

    #[test]
    fn affine_maps_that_compute_are_named() {
        assert!(map(&[47, 15, 3, 3, 7, 1, 1, 9, 3, 1, 5, 9]).unwrap_err().contains("computes"));
        assert!(map(&[47, 15, 3, 3, 1, 1]).unwrap_err().contains("symbols"));
        assert!(map(&[47, 13, 3, 3]).unwrap_err().contains("1 dimensions"));
        assert!(map(&[47, 0, 255, 255, 255, 255, 255, 255, 0, 0]).is_err());
    }
}
