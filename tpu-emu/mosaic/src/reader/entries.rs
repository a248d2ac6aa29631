//! Attributes and types, decoded on demand and each once.
use super::Reader;
use super::assembly;
use crate::ir::{
    AffineMap, AffineResult, Attribute, Attributes, Cell, DYNAMIC, Elements, Memref, Strided, Type,
    Vector,
};
use std::sync::Arc;
use tpu_mlir::builtin::{self, AffineTerm, RawAttribute, RawType, Reference, Signedness};
use tpu_mlir::container::unknown;
use tpu_mlir::{Cursor, Element, ReadError, dense};

impl Reader<'_> {
    /// An attribute.
    pub(super) fn attribute(&mut self, of: Reference) -> Result<Attribute, ReadError> {
        match self.attributes.get(of.index) {
            Some(Some((value, cost))) => {
                let (value, cost) = (value.clone(), *cost);
                self.budget.pay(of.at, cost)?;
                return Ok(value);
            }
            Some(None) => {}
            None => return Err(unknown(of.at, "attribute", of.index, self.attributes.len())),
        }
        let mark = self.budget.enter(of.at, size_of::<Attribute>())?;
        let mut entry = self.file.attributes[of.index];
        let value = if !entry.encoded {
            let text = builtin::text(&entry)?;
            self.budget.pay(of.at, text.len().saturating_mul(8))?;
            assembly::attribute(text)
        } else if entry.dialect == "builtin" {
            let raw = RawAttribute::read(&mut entry.data, &self.file.strings)?;
            let value = self.builtin_attribute(of, raw, &mut entry.data)?;
            entry.data.finish("an attribute")?;
            value
        } else {
            self.budget.pay(of.at, entry.dialect.len())?;
            Attribute::Unknown(format!("#{}.…", entry.dialect).into())
        };
        let cost = self.budget.leave(&mark);
        self.attributes[of.index] = Some((value.clone(), cost));
        Ok(value)
    }

    fn builtin_attribute(
        &mut self,
        of: Reference,
        raw: RawAttribute<'_>,
        rest: &mut Cursor<'_>,
    ) -> Result<Attribute, ReadError> {
        let unknown = |what: &str| Ok(Attribute::Unknown(what.into()));
        match raw {
            RawAttribute::Location => unknown("a location"),
            RawAttribute::Array(items) => {
                let items = items.into_iter().map(|item| self.attribute(item));
                Ok(Attribute::Array(items.collect::<Result<_, _>>()?))
            }
            RawAttribute::Dictionary(named) => Ok(Attribute::Dictionary(self.named(named)?)),
            RawAttribute::String(bytes) | RawAttribute::TypedString(bytes, _) => {
                self.budget.pay_once(of.at, bytes.len())?;
                Ok(Attribute::Text(String::from_utf8_lossy(bytes).into()))
            }
            RawAttribute::Symbol(name) => Ok(Attribute::Symbol(self.text(name)?)),
            RawAttribute::NestedSymbol => unknown("a symbol inside of another symbol"),
            RawAttribute::Type(of) => Ok(Attribute::Type(self.type_of(of)?)),
            RawAttribute::Unit => Ok(Attribute::Unit),
            RawAttribute::Integer(of) => self.integer(of, rest),
            RawAttribute::Float(of) => match self.type_of(of)? {
                Type::Scalar(of) => Ok(Attribute::Float(builtin::float(rest, of)?, of)),
                _ => Err(ReadError::at(of.at, "a float of another type")),
            },
            RawAttribute::Resource(..) => unknown("elements in a resource"),
            RawAttribute::DenseArray(element, count, bytes) => self.integers(element, count, bytes),
            RawAttribute::Dense(vector, bytes) => self.elements(of, vector, bytes),
            RawAttribute::AffineMap(dims, results) => {
                self.budget.pay(of.at, results.len() * size_of::<AffineResult>())?;
                let result = |of| match of {
                    AffineTerm::Dim(dim) => AffineResult::Dim(dim),
                    AffineTerm::Constant(value) => AffineResult::Constant(value),
                };
                let results = results.into_iter().map(result).collect();
                Ok(Attribute::AffineMap(AffineMap { dims, results }))
            }
            RawAttribute::Strided(offset, strides) => {
                self.budget.pay(of.at, 8 * strides.len())?;
                Ok(Attribute::Strided(Strided { offset, strides }))
            }
            RawAttribute::Other(what) => unknown(what),
        }
    }

    /// An integer, whose bits follow.
    fn integer(&mut self, of: Reference, rest: &mut Cursor<'_>) -> Result<Attribute, ReadError> {
        let signed = match self.raw_type(of)? {
            RawType::Integer(_, signedness) => signedness == Signedness::Signed,
            _ => false,
        };
        let Type::Scalar(element) = self.type_of(of)? else {
            return Err(ReadError::at(of.at, "an integer of another type"));
        };
        let Some((width, extend)) = element.integer_bits() else {
            return Err(ReadError::at(of.at, format!("an integer of type {element:?}")));
        };
        let bits = u64::try_from(builtin::integer(rest, width)? & u128::from(u64::MAX));
        let bits = bits.map_err(|_| ReadError::at(of.at, "an integer of more than 64 bits"))?;
        if element == Element::Pred {
            return Ok(Attribute::Bool(bits & 1 == 1));
        }
        let unused = 64 - u32::from(width);
        let value = if extend {
            (bits << unused).cast_signed() >> unused
        } else {
            ((bits << unused) >> unused).cast_signed()
        };
        Ok(match signed {
            true => Attribute::Signed(value, element),
            false => Attribute::Integer(value, element),
        })
    }

    /// Dense integers.
    fn integers(
        &mut self,
        of: Reference,
        count: usize,
        bytes: &[u8],
    ) -> Result<Attribute, ReadError> {
        let Type::Scalar(element @ (Element::Pred | Element::S32 | Element::S64)) =
            self.type_of(of)?
        else {
            return Ok(Attribute::Unknown("an array of other than i1, i32 or i64".into()));
        };
        let width = element.bytes().unwrap_or(8);
        if Some(bytes.len()) != count.checked_mul(width) {
            let what = format!("{} bytes for {count} integers of {width} bytes", bytes.len());
            return Err(ReadError::at(of.at, what));
        }
        self.budget.pay(of.at, count.saturating_mul(8))?;
        let value = |bytes: &[u8]| {
            let unused = 64 - 8 * width;
            let bits = bytes.iter().rev().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
            (bits << unused).cast_signed() >> unused
        };
        Ok(Attribute::Integers(bytes.chunks(width).map(value).collect(), element))
    }

    /// The elements of a constant vector.
    fn elements(
        &mut self,
        of: Reference,
        vector: Reference,
        bytes: &[u8],
    ) -> Result<Attribute, ReadError> {
        let Type::Vector(vector) = self.type_of(vector)? else {
            return Ok(Attribute::Unknown("dense elements that are no vector".into()));
        };
        let count = vector
            .dims
            .iter()
            .try_fold(1_usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?));
        let count = count.ok_or_else(|| {
            ReadError::at(of.at, format!("a constant of the shape {:?}", vector.dims))
        })?;
        self.budget.pay_once(of.at, bytes.len())?;
        let Some((data, splat)) = dense::unpacked(vector.element, count, bytes) else {
            let (dims, element) = (&vector.dims, vector.element);
            let what = format!("{} bytes for a constant {dims:?} of {element:?}", bytes.len());
            return Err(ReadError::at(of.at, what));
        };
        Ok(Attribute::Elements(Elements { of: vector, data, splat }))
    }

    /// A string attribute as text.
    fn text(&mut self, of: Reference) -> Result<Arc<str>, ReadError> {
        match self.attribute(of)? {
            Attribute::Text(text) => Ok(text),
            _ => Err(ReadError::at(of.at, "another attribute where a text was expected")),
        }
    }

    fn named(&mut self, named: Vec<(Reference, Reference)>) -> Result<Attributes, ReadError> {
        let mut pairs = Vec::with_capacity(named.len());
        for (key, value) in named {
            pairs.push((self.text(key)?, self.attribute(value)?));
        }
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Attributes(pairs))
    }

    /// A dictionary, or none.
    pub(super) fn dictionary(&mut self, of: Option<Reference>) -> Result<Attributes, ReadError> {
        let Some(of) = of else { return Ok(Attributes::default()) };
        match self.attribute(of)? {
            Attribute::Dictionary(named) => Ok(named),
            _ => Err(ReadError::at(of.at, "another attribute where a dictionary was expected")),
        }
    }

    fn raw_type(&self, of: Reference) -> Result<RawType, ReadError> {
        let Some(entry) = self.file.types.get(of.index) else {
            return Err(unknown(of.at, "type", of.index, self.types.len()));
        };
        if !entry.encoded || entry.dialect != "builtin" {
            return Ok(RawType::Other("a type as text"));
        }
        let mut data = entry.data;
        let raw = RawType::read(&mut data)?;
        data.finish("a type")?;
        Ok(raw)
    }

    /// A type.
    pub(super) fn type_of(&mut self, of: Reference) -> Result<Type, ReadError> {
        match self.types.get(of.index) {
            Some(Some((value, cost))) => {
                let (value, cost) = (value.clone(), *cost);
                self.budget.pay(of.at, cost)?;
                return Ok(value);
            }
            Some(None) => {}
            None => return Err(unknown(of.at, "type", of.index, self.types.len())),
        }
        let mark = self.budget.enter(of.at, size_of::<Type>())?;
        let entry = self.file.types[of.index];
        let value = if !entry.encoded {
            let text = builtin::text(&entry)?;
            self.budget.pay(of.at, text.len())?;
            assembly::value_type(text)
        } else if entry.dialect == "builtin" {
            let raw = self.raw_type(of)?;
            self.builtin_type(of, raw)?
        } else {
            self.budget.pay(of.at, entry.dialect.len())?;
            Type::Unknown(format!("!{}.…", entry.dialect).into())
        };
        let cost = self.budget.leave(&mark);
        self.types[of.index] = Some((value.clone(), cost));
        Ok(value)
    }

    fn builtin_type(&mut self, of: Reference, raw: RawType) -> Result<Type, ReadError> {
        Ok(match raw {
            RawType::Integer(width, signedness) => integer_type(width, signedness),
            RawType::Index => Type::Scalar(Element::Index),
            RawType::Float(element) => Type::Scalar(element),
            RawType::Function(arguments, results) => {
                Type::Function(self.type_list(arguments)?, self.type_list(results)?)
            }
            RawType::Vector { dims, element } => {
                self.extents(of, &dims)?;
                match self.type_of(element)? {
                    Type::Scalar(element) if !dims.contains(&DYNAMIC) => {
                        Type::Vector(Vector { element, dims })
                    }
                    Type::Unknown(text) => Type::Unknown(text),
                    _ => Type::Unknown("a vector of other than numbers".into()),
                }
            }
            RawType::Memref { dims, element, layout, space } => {
                self.extents(of, &dims)?;
                let cell = match self.type_of(element)? {
                    Type::Scalar(element) => Cell::Element(element),
                    Type::Cell(cell) => cell,
                    Type::Unknown(text) => return Ok(Type::Unknown(text)),
                    _ => return Ok(Type::Unknown("a memref of other than numbers".into())),
                };
                let layout = match self.attribute(layout)? {
                    Attribute::AffineMap(map) if map.is_identity() && map.dims == dims.len() => {
                        None
                    }
                    Attribute::Strided(strided) if strided.strides.len() == dims.len() => {
                        Some(strided)
                    }
                    Attribute::Unknown(text) => {
                        return Ok(Type::Unknown(
                            format!("a memref with the layout {text}").into(),
                        ));
                    }
                    _ => return Ok(Type::Unknown("a memref with a layout".into())),
                };
                let space = match space.map(|space| self.attribute(space)).transpose()? {
                    None => None,
                    Some(Attribute::Space(space)) => Some(space),
                    Some(Attribute::Unknown(text)) => {
                        return Ok(Type::Unknown(format!("a memref in {text}").into()));
                    }
                    Some(_) => return Ok(Type::Unknown("a memref in another memory".into())),
                };
                Type::Memref(Memref { cell, dims, layout, space })
            }
            RawType::None => Type::Unknown("none".into()),
            RawType::Complex(_) => Type::Unknown("a complex number".into()),
            RawType::Tensor { .. } | RawType::UnrankedTensor(_) => Type::Unknown("a tensor".into()),
            RawType::Tuple(_) => Type::Unknown("a tuple".into()),
            RawType::Other(what) => Type::Unknown(what.into()),
        })
    }

    /// Pays for extents that are not negative.
    fn extents(&mut self, of: Reference, dims: &[i64]) -> Result<(), ReadError> {
        self.budget.pay(of.at, 8 * dims.len())?;
        match dims.iter().find(|&&dim| dim < 0 && dim != DYNAMIC) {
            Some(dim) => Err(ReadError::at(of.at, format!("an extent of {dim}"))),
            None => Ok(()),
        }
    }

    /// Types in order.
    pub(super) fn type_list(&mut self, of: Vec<Reference>) -> Result<Vec<Type>, ReadError> {
        of.into_iter().map(|of| self.type_of(of)).collect()
    }
}

/// An integer type. Only `ui` types are read as unsigned.
fn integer_type(width: u64, signedness: Signedness) -> Type {
    Element::integer(width, signedness == Signedness::Unsigned)
        .map_or_else(|| Type::Unknown(format!("an integer of {width} bits").into()), Type::Scalar)
}
