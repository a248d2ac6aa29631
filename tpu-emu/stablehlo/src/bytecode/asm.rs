//! Entries that their dialect has no encoding for: they are MLIR text. The simple ones and chlo's
//! are read; others stay text.
use super::{BytecodeReader, Cursor};
use crate::ReadError;
use crate::ir::{Attribute, Attributes, Element, Type};
use crate::text::{Parsed, attribute_alone};

/// An attribute from its text.
pub(crate) fn attribute(cursor: &mut Cursor<'_>) -> Result<Attribute, ReadError> {
    let text = text(cursor)?;
    if let Some(integer) = integer(text) {
        return Ok(integer);
    }
    let plain = |text: &&str| !text.contains(['"', '\\', '@']);
    if let Some(string) =
        text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).filter(plain)
    {
        return Ok(Attribute::string(string));
    }
    if let Some(symbol) = text.strip_prefix('@').filter(plain) {
        return Ok(Attribute::Symbol(symbol.into()));
    }
    if text.starts_with("#chlo")
        && let Ok(Parsed::Value(value)) = attribute_alone(text)
    {
        return Ok(value);
    }
    Ok(match text {
        "unit" => Attribute::Unit,
        "true" => Attribute::Bool(true),
        "false" => Attribute::Bool(false),
        other => Attribute::Opaque(other.strip_prefix('#').unwrap_or(other).into()),
    })
}

impl BytecodeReader<'_> {
    /// Dissolves chlo's structs, which came as text, into the attributes around them.
    pub(crate) fn dissolve(
        &mut self,
        at: usize,
        attributes: &mut Attributes,
    ) -> Result<(), ReadError> {
        let is_struct = |value: &Attribute| matches!(value, Attribute::Opaque(text) if text.starts_with("chlo."));
        while let Some(index) = attributes.0.iter().position(|(_, value)| is_struct(value)) {
            let (_, value) = attributes.0.remove(index);
            let Attribute::Opaque(text) = value else { break };
            // A number of the text, of two bytes or more, becomes eight.
            self.pay(at, 4 * text.len())?;
            match attribute_alone(&format!("#{text}")) {
                Ok(Parsed::Struct(fields)) => {
                    fields.0.into_iter().for_each(|(name, value)| attributes.set(name, value));
                }
                Ok(Parsed::Value(_)) => {
                    return Err(ReadError::at(at, format!("the attribute #{text} is unknown")));
                }
                Err(error) => {
                    return Err(ReadError::at(
                        at,
                        format!("the attribute #{text}: {}", error.what),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A type from its text.
pub(crate) fn value_type(cursor: &mut Cursor<'_>) -> Result<Type, ReadError> {
    let text = text(cursor)?;
    Ok(match element(text) {
        Some(element) => Type::Scalar(element),
        None => Type::Opaque(text.strip_prefix('!').unwrap_or(text).into()),
    })
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, ReadError> {
    let at = cursor.at();
    let text = std::str::from_utf8(cursor.until_zero()?);
    text.map_err(|_| ReadError::at(at, "a text that is not UTF-8"))
}

fn element(text: &str) -> Option<Element> {
    Element::NAMES.iter().find(|(_, name)| *name == text).map(|(element, _)| *element)
}

fn integer(text: &str) -> Option<Attribute> {
    let (value, of) = match text.split_once(" : ") {
        Some((value, of)) => (value, element(of)?),
        None => (text, Element::S64),
    };
    let integers = matches!(
        of,
        Element::S8
            | Element::S16
            | Element::S32
            | Element::S64
            | Element::U8
            | Element::U16
            | Element::U32
            | Element::U64
            | Element::Index
    );
    integers.then(|| value.parse().ok().map(|value| Attribute::Integer(value, of)))?
}

#[cfg(test)]
mod tests {
    use super::{Cursor, attribute, value_type};
    use crate::ir::{Attribute, Element, Type};

    #[test]
    fn simple_texts_are_read_and_others_kept() {
        let read = |text: &[u8]| attribute(&mut Cursor::new(text)).unwrap();
        assert_eq!(read(b"-3 : i32\0"), Attribute::Integer(-3, Element::S32));
        assert_eq!(read(b"true\0"), Attribute::Bool(true));
        assert_eq!(read(b"\"a b\"\0"), Attribute::string("a b"));
        assert_eq!(read(b"@f\0"), Attribute::Symbol("f".into()));
        assert_eq!(read(b"#x.y<1>\0"), Attribute::Opaque("x.y<1>".into()));
        let of = |text: &[u8]| value_type(&mut Cursor::new(text)).unwrap();
        assert_eq!(of(b"f8E5M2\0"), Type::Scalar(Element::F8E5M2));
        assert_eq!(of(b"!x.y\0"), Type::Opaque("x.y".into()));
    }
}
