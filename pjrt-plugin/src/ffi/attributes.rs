//! The attributes of a call as C reads them: decoded once, at fixed addresses.
// UNSAFETY: pointers between parts of memory that live and die together.
#![expect(unsafe_code, reason = "memory that C reads")]
use super::kept::Kept;
use crate::boundary::end_of;
use crate::sys::{
    XLA_FFI_Array, XLA_FFI_AttrType, XLA_FFI_Attrs, XLA_FFI_ByteSpan, XLA_FFI_DataType,
    XLA_FFI_Scalar,
};
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use tpu_emu::{Error, Result};
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Elements};

/// The most bytes that one array may have once it is spread out.
const LIMIT: usize = 1 << 28;

/// A dictionary and all that it leads to.
pub(super) struct Decoded {
    top: XLA_FFI_Attrs,
    /// Owners of what `top` points to.
    _kept: Vec<Box<dyn Any>>,
}

// SAFETY: everything in it is plain memory that nobody changes after it was made.
unsafe impl Send for Decoded {}
// SAFETY: as above.
unsafe impl Sync for Decoded {}

impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} attributes", self.top.size)
    }
}

impl Decoded {
    /// Decodes a dictionary.
    ///
    /// # Errors
    /// `BadArgument` that names an attribute which cannot be passed.
    pub(super) fn new(attributes: &Attributes) -> Result<Self> {
        let mut kept = Keeper(Vec::new());
        let top = kept.dictionary(attributes, "")?;
        Ok(Self { top, _kept: kept.0 })
    }

    /// The dictionary, valid as long as `self`.
    pub(super) fn top(&self) -> XLA_FFI_Attrs {
        self.top
    }
}

struct Keeper(Vec<Box<dyn Any>>);

impl Keeper {
    fn keep<T: 'static>(&mut self, values: impl IntoIterator<Item = T>) -> *mut T {
        let kept = Kept::new(values);
        let pointer = kept.pointer();
        self.0.push(Box::new(kept));
        pointer
    }

    /// Bytes, aligned for any element.
    fn bytes(&mut self, bytes: &[u8]) -> *mut c_void {
        let word = |chunk: &[u8]| {
            let mut word = [0; size_of::<u128>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        };
        self.keep(bytes.chunks(size_of::<u128>()).map(word)).cast()
    }

    /// Text, with a NUL behind it that is not counted.
    fn span(&mut self, text: &[u8]) -> XLA_FFI_ByteSpan {
        let pointer = self.keep(text.iter().copied().chain([0]));
        XLA_FFI_ByteSpan { ptr: pointer.cast_const().cast(), len: text.len() }
    }

    fn dictionary(&mut self, attributes: &Attributes, path: &str) -> Result<XLA_FFI_Attrs> {
        let mut sorted: Vec<&(_, Attribute)> = attributes.0.iter().collect();
        sorted.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        let (mut types, mut names, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in sorted {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            let (of, value) = self.attribute(value, &path)?;
            let span = self.span(name.as_bytes());
            types.push(of);
            names.push(self.keep([span]));
            values.push(value);
        }
        Ok(XLA_FFI_Attrs {
            struct_size: end_of!(XLA_FFI_Attrs, attrs),
            extension_start: ptr::null_mut(),
            size: i64::try_from(types.len()).unwrap_or(i64::MAX),
            types: self.keep(types),
            names: self.keep(names),
            attrs: self.keep(values),
        })
    }

    fn attribute(
        &mut self,
        attribute: &Attribute,
        path: &str,
    ) -> Result<(XLA_FFI_AttrType, *mut c_void)> {
        let refused = |what: String| {
            Err(Error::bad(format!("attribute \"{path}\": {what} cannot be passed to a handler")))
        };
        Ok(match attribute {
            Attribute::String(text) => {
                let span = self.span(text);
                (XLA_FFI_AttrType::XLA_FFI_AttrType_STRING, self.keep([span]).cast())
            }
            Attribute::Dictionary(inner) => {
                let inner = self.dictionary(inner, path)?;
                (XLA_FFI_AttrType::XLA_FFI_AttrType_DICTIONARY, self.keep([inner]).cast())
            }
            Attribute::Bool(value) => {
                self.scalar(XLA_FFI_DataType::XLA_FFI_DataType_PRED, &[u8::from(*value)])
            }
            Attribute::Integer(value, element) => match (number_of(*element), element.bytes()) {
                (Some(dtype), Some(width)) if is_whole(*value, *element) => {
                    self.scalar(dtype, &value.to_le_bytes()[..width])
                }
                _ => return refused(format!("the integer {value} of type {}", name(*element))),
            },
            Attribute::Float(value, Element::F64) => {
                self.scalar(XLA_FFI_DataType::XLA_FFI_DataType_F64, &value.to_le_bytes())
            }
            Attribute::Float(value, Element::F32) => {
                #[expect(clippy::cast_possible_truncation, reason = "it was one before")]
                let value = *value as f32;
                self.scalar(XLA_FFI_DataType::XLA_FFI_DataType_F32, &value.to_le_bytes())
            }
            Attribute::Float(_, element) => {
                return refused(format!("a float of type {}", name(*element)));
            }
            Attribute::Integers(values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                self.array(XLA_FFI_DataType::XLA_FFI_DataType_S64, values.len(), &bytes)
            }
            Attribute::Elements(elements) => match passed(elements) {
                Some((dtype, count, bytes)) => self.array(dtype, count, &bytes),
                None => {
                    let (of, dims) = (name(elements.of.element), &elements.of.dims);
                    return refused(format!("an array of type {of} and shape {dims:?}"));
                }
            },
            Attribute::Booleans(_) => return refused("an array of booleans".to_owned()),
            Attribute::Array(_) => return refused("a list of attributes".to_owned()),
            Attribute::Unit => return refused("a unit attribute".to_owned()),
            Attribute::Symbol(symbol) => return refused(format!("the symbol @{symbol}")),
            other => return refused(format!("{other:?}")),
        })
    }

    fn scalar(&mut self, dtype: XLA_FFI_DataType, bytes: &[u8]) -> (XLA_FFI_AttrType, *mut c_void) {
        let value = self.bytes(bytes);
        let scalar = self.keep([XLA_FFI_Scalar { dtype, value }]);
        (XLA_FFI_AttrType::XLA_FFI_AttrType_SCALAR, scalar.cast())
    }

    fn array(
        &mut self,
        dtype: XLA_FFI_DataType,
        size: usize,
        bytes: &[u8],
    ) -> (XLA_FFI_AttrType, *mut c_void) {
        let data = self.bytes(bytes);
        let array = self.keep([XLA_FFI_Array { dtype, size, data }]);
        (XLA_FFI_AttrType::XLA_FFI_AttrType_ARRAY, array.cast())
    }
}

/// The numbers that XLA passes in attributes: whole bytes, and no narrow floats.
fn number_of(element: Element) -> Option<XLA_FFI_DataType> {
    Some(match element {
        Element::S8 => XLA_FFI_DataType::XLA_FFI_DataType_S8,
        Element::S16 => XLA_FFI_DataType::XLA_FFI_DataType_S16,
        Element::S32 => XLA_FFI_DataType::XLA_FFI_DataType_S32,
        Element::S64 => XLA_FFI_DataType::XLA_FFI_DataType_S64,
        Element::U8 => XLA_FFI_DataType::XLA_FFI_DataType_U8,
        Element::U16 => XLA_FFI_DataType::XLA_FFI_DataType_U16,
        Element::U32 => XLA_FFI_DataType::XLA_FFI_DataType_U32,
        Element::U64 => XLA_FFI_DataType::XLA_FFI_DataType_U64,
        Element::F32 => XLA_FFI_DataType::XLA_FFI_DataType_F32,
        Element::F64 => XLA_FFI_DataType::XLA_FFI_DataType_F64,
        _ => return None,
    })
}

/// Whether an integer's low bytes are all of it.
fn is_whole(value: i128, element: Element) -> bool {
    let bits = 8 * element.bytes().unwrap_or(0);
    let unsigned = matches!(element, Element::U8 | Element::U16 | Element::U32 | Element::U64);
    let floor = if unsigned { 0 } else { -(1_i128 << (bits.max(1) - 1)) };
    // Signless integers may be written either way.
    (floor..1_i128 << bits).contains(&value)
}

/// The elements of an array, spread out.
fn passed(elements: &Elements) -> Option<(XLA_FFI_DataType, usize, Vec<u8>)> {
    let (element, count) = (elements.of.element, elements.count()?);
    let dtype = number_of(element).filter(|_| elements.of.quantization.is_none())?;
    let bytes = element.bytes()?.checked_mul(count).filter(|&bytes| bytes <= LIMIT)?;
    let data = if elements.splat { elements.data.repeat(count) } else { elements.data.to_vec() };
    (data.len() == bytes).then_some((dtype, count, data))
}

/// A type's name in MLIR text.
fn name(element: Element) -> String {
    match element {
        Element::Other(bits) => format!("i{bits}"),
        _ => {
            let named = Element::NAMES.iter().find(|(of, _)| *of == element);
            named.map_or_else(|| format!("{element:?}"), |(_, name)| (*name).to_owned())
        }
    }
}
