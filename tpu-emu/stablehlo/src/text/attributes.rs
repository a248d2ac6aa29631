//! Attributes in MLIR's words.
use super::cursor::{Result, integer};
use super::dense::{bits, whole};
use super::{Alias, Parser};
use crate::float;
use crate::ir::{Attribute, Attributes, Element, Elements, TensorType, Type};

/// What an attribute's text says: a value, or a struct of StableHLO that dissolves into the
/// attributes of the operation around it.
#[derive(Debug, Clone)]
pub(crate) enum Parsed {
    Value(Attribute),
    Struct(Attributes),
}

impl Parser<'_> {
    /// `{name = value, flag}`: the attributes of an operation, structs dissolved.
    pub(super) fn attribute_dictionary(&mut self, operation: &str) -> Result<Attributes> {
        let mut attributes = Attributes::default();
        self.cursor.expect("{")?;
        if self.cursor.eat("}") {
            return Ok(attributes);
        }
        loop {
            self.named_attribute(operation, &mut attributes)?;
            if self.cursor.eat("}") {
                return Ok(attributes);
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("',' or '}'");
            }
        }
    }

    fn named_attribute(&mut self, operation: &str, into: &mut Attributes) -> Result<()> {
        self.cursor.skip();
        let at = self.cursor.position();
        let name = match self.cursor.peek() {
            Some(b'"') => self.cursor.text()?,
            _ => self.cursor.word("an attribute's name")?.to_owned(),
        };
        if into.get(&name).is_some() {
            return Err(self.cursor.error_at(at, format!("the attribute {name} is given twice")));
        }
        if !self.cursor.eat("=") {
            into.set(name, Attribute::Unit);
            return Ok(());
        }
        match self.parsed()? {
            Parsed::Struct(fields) => {
                for (name, value) in fields.0 {
                    into.set(name, value);
                }
            }
            // The value of a constant stays an array whatever it holds.
            Parsed::Value(Attribute::Elements(elements))
                if !(name == "value" && operation.ends_with(".constant")) =>
            {
                into.set(name, simplest(elements));
            }
            Parsed::Value(value) => into.set(name, value),
        }
        Ok(())
    }

    /// One attribute that is no struct.
    pub(super) fn attribute(&mut self) -> Result<Attribute> {
        self.cursor.skip();
        let start = self.cursor.position();
        Ok(match self.parsed()? {
            Parsed::Value(Attribute::Elements(elements)) => simplest(elements),
            Parsed::Value(value) => value,
            // Away from its place a struct has nothing to dissolve into.
            Parsed::Struct(_) => Attribute::Opaque(
                self.cursor.slice(start, self.cursor.position()).trim_start_matches('#').into(),
            ),
        })
    }

    /// One attribute.
    pub(super) fn parsed(&mut self) -> Result<Parsed> {
        self.cursor.enter()?;
        let value = match self.cursor.peek() {
            Some(b'#') => {
                let value = self.hash()?;
                self.cursor.leave();
                return Ok(value);
            }
            Some(b'"') => Attribute::String(self.cursor.string()?.into()),
            Some(b'@') => self.symbol_path()?,
            Some(b'[') => Attribute::Array(self.attributes_in_brackets()?),
            Some(b'{') => {
                let mut entries = self.nested_dictionary()?;
                entries.sort();
                Attribute::Dictionary(entries)
            }
            Some(b'-' | b'0'..=b'9') => self.numeric()?,
            _ => self.word_attribute()?,
        };
        self.cursor.leave();
        Ok(Parsed::Value(value))
    }

    fn symbol_path(&mut self) -> Result<Attribute> {
        let start = self.cursor.position();
        let name = self.cursor.symbol()?;
        if !self.cursor.sees("::") {
            return Ok(Attribute::Symbol(name.into()));
        }
        while self.cursor.eat("::") {
            self.cursor.symbol()?;
        }
        Err(self.cursor.error_at(start, "symbols inside of symbols are not supported"))
    }

    fn attributes_in_brackets(&mut self) -> Result<Vec<Attribute>> {
        self.cursor.expect("[")?;
        let mut items = Vec::new();
        if self.cursor.eat("]") {
            return Ok(items);
        }
        loop {
            items.push(self.attribute()?);
            if self.cursor.eat("]") {
                return Ok(items);
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("',' or ']'");
            }
        }
    }

    /// A dictionary that is a value: structs in it stay text.
    fn nested_dictionary(&mut self) -> Result<Attributes> {
        self.cursor.expect("{")?;
        let mut entries = Attributes::default();
        if self.cursor.eat("}") {
            return Ok(entries);
        }
        loop {
            let name = match self.cursor.peek() {
                Some(b'"') => self.cursor.text()?,
                _ => self.cursor.word("an attribute's name")?.to_owned(),
            };
            let value = if self.cursor.eat("=") { self.attribute()? } else { Attribute::Unit };
            if entries.get(&name).is_some() {
                return self.cursor.error(format!("the attribute {name} is given twice"));
            }
            entries.0.push((name.into(), value));
            if self.cursor.eat("}") {
                return Ok(entries);
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("',' or '}'");
            }
        }
    }

    fn numeric(&mut self) -> Result<Attribute> {
        self.cursor.skip();
        let at = self.cursor.position();
        let text = self.cursor.number()?;
        let fraction = text.contains('.');
        let element = if self.cursor.eat(":") {
            self.element()?
        } else if fraction {
            Element::F64
        } else {
            Element::S64
        };
        let refuse = |parser: &Self| {
            Err(parser.cursor.error_at(at, format!("'{text}' is no value of {element:?}")))
        };
        if float::width(element).is_some() {
            // Whole numbers without a fraction are bits, as MLIR has it, and only in hexadecimal.
            let bits = bits(text, element).filter(|_| fraction || text.starts_with("0x"));
            return match bits.and_then(|bits| float::decode(bits, element)) {
                Some(value) => Ok(Attribute::Float(value, element)),
                None => refuse(self),
            };
        }
        if element == Element::Pred {
            return match integer(text) {
                Some(0) => Ok(Attribute::Bool(false)),
                Some(1 | -1) => Ok(Attribute::Bool(true)),
                _ => refuse(self),
            };
        }
        match whole(text, element) {
            Some(value) => Ok(Attribute::Integer(value, element)),
            None => refuse(self),
        }
    }

    fn word_attribute(&mut self) -> Result<Attribute> {
        let word = self.cursor.peek_word();
        match word {
            "unit" => {
                self.cursor.expect_word(word)?;
                Ok(Attribute::Unit)
            }
            "true" | "false" => {
                self.cursor.expect_word(word)?;
                Ok(Attribute::Bool(word == "true"))
            }
            "dense" => {
                self.cursor.expect_word(word)?;
                Ok(Attribute::Elements(self.dense()?))
            }
            "array" => {
                self.cursor.expect_word(word)?;
                self.array()
            }
            "loc" => {
                let location = self.optional_location()?;
                Ok(Attribute::Location(location.unwrap_or_default()))
            }
            "dense_resource" | "sparse" | "affine_map" | "affine_set" | "opaque" | "distinct"
            | "strided" => self.cursor.error(format!("the attribute '{word}' is not supported")),
            _ if self.sees_type() => Ok(Attribute::Type(self.parse_type()?)),
            _ => self.cursor.expected("an attribute"),
        }
    }

    /// `array<i64: 1, 2>`; the word `array` is taken.
    fn array(&mut self) -> Result<Attribute> {
        self.cursor.expect("<")?;
        let element = self.element()?;
        let mut items = Vec::new();
        if self.cursor.eat(":") {
            loop {
                self.cursor.skip();
                let at = self.cursor.position();
                let word = self.cursor.peek_word();
                let text = if matches!(word, "true" | "false") {
                    self.cursor.expect_word(word)?;
                    word
                } else {
                    self.cursor.number()?
                };
                match bits(text, element) {
                    Some(bits) => items.push(bits),
                    None => {
                        return Err(self
                            .cursor
                            .error_at(at, format!("'{text}' is no value of {element:?}")));
                    }
                }
                if !self.cursor.eat(",") {
                    break;
                }
            }
        }
        self.cursor.expect(">")?;
        Ok(match element {
            Element::S64 | Element::Index => {
                Attribute::Integers(items.into_iter().map(u64::cast_signed).collect())
            }
            Element::Pred => Attribute::Booleans(items.into_iter().map(|bits| bits != 0).collect()),
            element => {
                let Some(width) = element.bytes() else {
                    return self
                        .cursor
                        .error(format!("no array of {element:?} can be written out"));
                };
                let data: Vec<u8> = items
                    .iter()
                    .flat_map(|bits| bits.to_le_bytes().into_iter().take(width))
                    .collect();
                let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let splat = items.len() > 1 && items.iter().all(|item| *item == items[0]);
                let data = if splat { data[..width].into() } else { data.into() };
                Attribute::Elements(Elements {
                    of: TensorType::new(element, vec![count]),
                    data,
                    splat,
                })
            }
        })
    }

    /// `#alias`, `#dialect.name<…>` or `#dialect<name …>`.
    fn hash(&mut self) -> Result<Parsed> {
        let start = self.cursor.position();
        self.cursor.expect("#")?;
        let name = self.cursor.suffix("an attribute's name")?;
        if self.cursor.here() != Some(b'<') && !name.contains('.') {
            self.cursor.seek(start);
            return match self.alias()? {
                Alias::Value(value) => Ok(value),
                Alias::Location(location) => Ok(Parsed::Value(Attribute::Location(location))),
            };
        }
        self.dialect_attribute(name, start)
    }

    /// What an alias that stands next stands for.
    pub(super) fn alias(&mut self) -> Result<Alias> {
        self.cursor.skip();
        let at = self.cursor.position();
        self.cursor.expect("#")?;
        let name = self.cursor.suffix("an alias")?;
        if let Some((value, _)) = self.aliases.get(name) {
            return Ok(value.clone());
        }
        let Some(&start) = self.alias_places.get(name) else {
            return Err(self.cursor.error_at(at, format!("the alias #{name} is not defined")));
        };
        let back = self.cursor.position();
        self.cursor.enter()?;
        self.cursor.seek(start);
        let value = if self.cursor.sees("loc(") {
            Alias::Location(self.trailing_location()?)
        } else {
            Alias::Value(self.parsed()?)
        };
        self.aliases.insert(name, (value.clone(), self.cursor.position()));
        self.cursor.leave();
        self.cursor.seek(back);
        Ok(value)
    }
}

/// The one form of a dense array that is no constant's value.
///
/// A long list of one repeated number stays as short as it is.
fn simplest(elements: Elements) -> Attribute {
    if elements.splat && elements.count().is_none_or(|count| count > 1 << 16) {
        return Attribute::Elements(elements);
    }
    let plain = elements.of.dims.len() == 1
        && elements.of.bounds.is_empty()
        && elements.of.quantization.is_none();
    match elements.of.element {
        Element::S64 | Element::Index | Element::Pred if plain => match elements.integers() {
            Some(values) if elements.of.element == Element::Pred => {
                Attribute::Booleans(values.into_iter().map(|value| value != 0).collect())
            }
            Some(values) => Attribute::Integers(values),
            None => Attribute::Elements(elements),
        },
        _ => Attribute::Elements(elements),
    }
}

impl From<Attribute> for Parsed {
    fn from(value: Attribute) -> Self {
        Self::Value(value)
    }
}

/// A scalar type as an attribute.
pub(super) fn scalar_type(element: Element) -> Attribute {
    Attribute::Type(Type::Scalar(element))
}
