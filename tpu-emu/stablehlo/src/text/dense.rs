//! `dense<…>`: arrays written out.
use super::Parser;
use super::cursor::{Cursor, Result, integer};
use crate::float;
use crate::ir::{Element, Elements, TensorType, Type};

impl<'a> Parser<'a> {
    /// `dense<…> : type`; the word `dense` is taken.
    pub(super) fn dense(&mut self) -> Result<Elements> {
        self.cursor.skip();
        let body = self.cursor.position();
        // The values cannot be read before their type is known.
        self.cursor.balanced()?;
        self.cursor.expect(":")?;
        let at = self.cursor.position();
        let Type::Tensor(of) = self.parse_type()? else {
            return Err(self
                .cursor
                .error_at(at, "expected the type of an array after 'dense<…> :'"));
        };
        let end = self.cursor.position();
        self.cursor.seek(body);
        let elements = Literal::new(&mut self.cursor, of)?.read();
        self.cursor.seek(end);
        elements
    }
}

/// The body of a dense array while it is read.
struct Literal<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    of: TensorType,
    width: usize,
    data: Vec<u8>,
}

impl<'c, 'a> Literal<'c, 'a> {
    fn new(cursor: &'c mut Cursor<'a>, of: TensorType) -> Result<Self> {
        match of.element.bytes() {
            Some(width) => Ok(Self { cursor, of, width, data: Vec::new() }),
            None => cursor.error(format!("no array of {:?} can be written out", of.element)),
        }
    }

    fn read(mut self) -> Result<Elements> {
        self.cursor.expect("<")?;
        let Some(count) = (Elements { of: self.of.clone(), data: [].into(), splat: false }).count()
        else {
            return self.cursor.error("the extents of this array are unknown or too large");
        };
        let mut splat = false;
        match self.cursor.peek() {
            Some(b'>') if count == 0 => {}
            Some(b'>') => return self.cursor.error(format!("no values for {count} elements")),
            Some(b'"') => self.hex(count)?,
            Some(b'[') => {
                let dims = self.of.dims.clone();
                self.nested(&dims)?;
            }
            _ => {
                self.element()?;
                splat = true;
            }
        }
        self.cursor.expect(">")?;
        let first = self.data.get(..self.width);
        let one = first.is_some_and(|first| {
            self.data.chunks_exact(self.width).all(|element| element == first)
        });
        if splat || one {
            self.data.truncate(self.width);
        }
        if count == 0 {
            self.data.clear();
        }
        Ok(Elements { splat: count > 1 && (splat || one), of: self.of, data: self.data.into() })
    }

    /// Lists inside lists, as many levels as dimensions.
    fn nested(&mut self, dims: &[i64]) -> Result<()> {
        let Some((&extent, inner)) = dims.split_first() else {
            return self.element();
        };
        self.cursor.enter()?;
        self.cursor.skip();
        let at = self.cursor.position();
        self.cursor.expect("[")?;
        let mut items = 0_i64;
        if !self.cursor.eat("]") {
            loop {
                self.nested(inner)?;
                items += 1;
                if self.cursor.eat("]") {
                    break;
                }
                self.cursor.expect(",")?;
            }
        }
        if items != extent {
            return Err(self
                .cursor
                .error_at(at, format!("{items} items for an extent of {extent}")));
        }
        self.cursor.leave();
        Ok(())
    }

    fn element(&mut self) -> Result<()> {
        match self.of.element {
            Element::C64 => self.complex(Element::F32),
            Element::C128 => self.complex(Element::F64),
            element => self.scalar(element),
        }
    }

    fn complex(&mut self, part: Element) -> Result<()> {
        self.cursor.expect("(")?;
        self.scalar(part)?;
        self.cursor.expect(",")?;
        self.scalar(part)?;
        self.cursor.expect(")")
    }

    fn scalar(&mut self, element: Element) -> Result<()> {
        self.cursor.skip();
        let at = self.cursor.position();
        let word = self.cursor.peek_word();
        let text = match word {
            "true" | "false" => {
                self.cursor.expect_word(word)?;
                word
            }
            _ => self.cursor.number()?,
        };
        let bits = bits(text, element).ok_or_else(|| {
            self.cursor.error_at(at, format!("'{text}' is no value of {element:?}"))
        })?;
        let bytes = element.bytes().unwrap_or(8).min(8);
        self.data.extend_from_slice(&bits.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// `"0x…"`: the bytes as they are, of one element or of all.
    fn hex(&mut self, count: usize) -> Result<()> {
        let at = self.cursor.position();
        let text = self.cursor.string()?;
        let refuse = |cursor: &Cursor<'_>, what: String| Err(cursor.error_at(at, what));
        let digits = text.strip_prefix(b"0x").unwrap_or(&[]);
        let mut bytes = Vec::with_capacity(digits.len() / 2);
        for pair in digits.chunks(2) {
            let digit =
                |index: usize| pair.get(index).and_then(|&byte| char::from(byte).to_digit(16));
            match (digit(0), digit(1)) {
                (Some(high), Some(low)) => bytes.extend(u8::try_from(high * 16 + low)),
                _ => {
                    return refuse(
                        self.cursor,
                        "expected an even number of hexadecimal digits after 0x".into(),
                    );
                }
            }
        }
        let whole = count.checked_mul(self.width);
        if self.of.element == Element::Pred {
            // Older writers pack eight booleans in a byte; one byte of all bits is a splat.
            if bytes.len() == count {
                bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            } else if bytes.len() == count.div_ceil(8) {
                bytes = (0..count).map(|index| bytes[index / 8] >> (index % 8) & 1).collect();
            } else if bytes.len() == 1 {
                bytes[0] = u8::from(bytes[0] != 0);
            }
        }
        if Some(bytes.len()) != whole && bytes.len() != self.width {
            let (found, width) = (bytes.len(), self.width);
            return refuse(
                self.cursor,
                format!("{found} bytes for {count} elements of {width} bytes"),
            );
        }
        if let Some(width) = narrow(self.of.element) {
            for byte in &mut bytes {
                let low = *byte << (8 - width);
                *byte = if matches!(self.of.element, Element::S2 | Element::S4) {
                    (low.cast_signed() >> (8 - width)).cast_unsigned()
                } else {
                    low >> (8 - width)
                };
            }
        }
        self.data = bytes;
        Ok(())
    }
}

/// Bits of a type narrower than a byte.
fn narrow(element: Element) -> Option<u32> {
    Some(match element {
        Element::S2 | Element::U2 => 2,
        Element::S4 | Element::U4 | Element::F4E2M1FN => 4,
        Element::F6E2M3FN | Element::F6E3M2FN => 6,
        _ => return None,
    })
}

/// A literal as an integer of a type. Signless types take what fits with a sign or without.
pub(super) fn whole(text: &str, element: Element) -> Option<i128> {
    let value = integer(text)?;
    if let Element::Other(width) = element {
        // The widest integers are kept as far as 128 bits go.
        let fits =
            width >= 128 || (-(1_i128 << (width - 1))..1_i128 << width.min(126)).contains(&value);
        return fits.then_some(value);
    }
    let (width, signed) = element.integer_bits().filter(|&(width, _)| width > 1)?;
    let range = 1_i128 << width;
    if signed {
        if value >= range || value < -(range / 2) {
            return None;
        }
        Some(if value >= range / 2 { value - range } else { value })
    } else {
        (0..range).contains(&value).then_some(value)
    }
}

/// A literal in the bits of a type, as [`Elements`] stores them.
pub(super) fn bits(text: &str, element: Element) -> Option<u64> {
    if element == Element::Pred {
        return match text {
            "true" | "1" | "-1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        };
    }
    if let Some(width) = float::width(element) {
        if text.starts_with("0x") {
            let bits = u64::try_from(integer(text)?).ok()?;
            return (width == 64 || bits >> width == 0).then_some(bits);
        }
        if text.starts_with("-0x") || text.starts_with("true") || text.starts_with("false") {
            return None;
        }
        return float::encode(text.parse().ok()?, element);
    }
    let value = whole(text, element)?;
    Some(match i64::try_from(value) {
        Ok(value) => value.cast_unsigned(),
        Err(_) => u64::try_from(value).ok()?,
    })
}
