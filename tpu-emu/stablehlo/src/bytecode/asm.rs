//! Entries that their dialect has no encoding for: they are MLIR text. The simple ones are read;
//! others stay text.
use super::Cursor;
use crate::ReadError;
use crate::ir::{Attribute, Element, Type};

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
    Ok(match text {
        "unit" => Attribute::Unit,
        "true" => Attribute::Bool(true),
        "false" => Attribute::Bool(false),
        other => Attribute::Opaque(other.strip_prefix('#').unwrap_or(other).into()),
    })
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
