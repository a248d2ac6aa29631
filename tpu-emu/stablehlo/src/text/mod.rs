//! MLIR text to a [`Module`] and back.
mod attributes;
mod convolution;
mod cursor;
mod dense;
mod function;
mod location;
mod mesh_axes;
mod operation;
mod pretty;
mod print;
mod regions;
mod sdy;
mod sharding;
mod structs;
mod table;
mod types;
mod values;

use crate::ReadError;
use crate::ir::{Attribute, LocationId, Locations, Module, Type};
pub(crate) use attributes::Parsed;
use cursor::{Cursor, Result};
use std::collections::HashMap;
use values::Values;

/// Reads a program in MLIR's text form.
///
/// # Errors
///
/// The line and column of the first thing that is not understood, is not defined, or does not
/// have the type that its use gives it.
pub fn parse(source: &str) -> std::result::Result<Module, ReadError> {
    let mut parser = Parser::new(source);
    parser.find_aliases()?;
    let mut module = parser.file()?;
    module.locations = parser.locations;
    Ok(module)
}

/// Reads an attribute in MLIR's text form.
///
/// # Errors
///
/// As [`parse`]; structs of StableHLO, which dissolve, are no attributes of their own.
pub fn attribute(source: &str) -> std::result::Result<Attribute, ReadError> {
    match attribute_alone(source)? {
        Parsed::Value(value) => Ok(value),
        Parsed::Struct(_) => Err(ReadError::line(1, 1, "a struct without an operation")),
    }
}

/// Reads an attribute that is a whole text.
pub(crate) fn attribute_alone(source: &str) -> Result<Parsed> {
    let mut parser = Parser::new(source);
    let value = parser.parsed()?;
    match parser.cursor.peek() {
        None => Ok(value),
        Some(_) => parser.cursor.expected("the end of the attribute"),
    }
}

/// What an alias stands for.
#[derive(Debug, Clone)]
enum Alias {
    Value(Parsed),
    Location(LocationId),
}

/// A text while it is read.
struct Parser<'a> {
    cursor: Cursor<'a>,
    locations: Locations,
    /// Aliases whose meaning is known, and where their text ends.
    aliases: HashMap<&'a str, (Alias, usize)>,
    /// Where the meaning of each alias is written: one may be used above its definition.
    alias_places: HashMap<&'a str, usize>,
    type_aliases: HashMap<&'a str, Type>,
    values: Values<'a>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            cursor: Cursor::new(source),
            locations: Locations::default(),
            aliases: HashMap::new(),
            alias_places: HashMap::new(),
            type_aliases: HashMap::new(),
            values: Values::default(),
        }
    }

    /// Notes where `#name = …` stands at the start of a line, and reads those that are locations
    /// in their order.
    fn find_aliases(&mut self) -> Result<()> {
        let mut at = 0;
        let mut locations = Vec::new();
        for line in self.cursor.source().split_inclusive('\n') {
            let start = at;
            at += line.len();
            if !line.starts_with('#') {
                continue;
            }
            let mut cursor = self.cursor.clone();
            cursor.seek(start + 1);
            let Ok(name) = cursor.suffix("an alias") else { continue };
            if !cursor.eat("=") || name.contains('.') {
                continue;
            }
            let place = cursor.position();
            if cursor.sees("loc(") {
                locations.push(start);
            }
            if self.alias_places.insert(name, place).is_some() {
                return Err(self
                    .cursor
                    .error_at(start, format!("the alias #{name} is defined twice")));
            }
        }
        for start in locations {
            self.cursor.seek(start);
            self.alias()?;
        }
        self.cursor.seek(0);
        Ok(())
    }

    /// Aliases and one module; a file without `module` is the body of one.
    fn file(&mut self) -> Result<Module> {
        let mut module = None;
        loop {
            match self.cursor.peek() {
                None => break,
                Some(b'#') => self.alias_definition()?,
                Some(b'!') => self.type_alias_definition()?,
                Some(_) if module.is_some() => return self.cursor.expected("the end of the text"),
                Some(_) => module = Some(self.module()?),
            }
        }
        module.map_or_else(|| self.cursor.expected("a module"), Ok)
    }

    fn alias_definition(&mut self) -> Result<()> {
        self.cursor.expect("#")?;
        let at = self.cursor.position();
        let name = self.cursor.suffix("an alias")?;
        self.cursor.expect("=")?;
        if self.alias_places.get(name) != Some(&self.cursor.position()) {
            return Err(self
                .cursor
                .error_at(at, "the definition of an alias stands at the start of a line"));
        }
        self.cursor.seek(at - 1);
        self.alias()?;
        let end = self.aliases.get(name).map_or(at, |(_, end)| *end);
        self.cursor.seek(end);
        Ok(())
    }

    fn type_alias_definition(&mut self) -> Result<()> {
        self.cursor.expect("!")?;
        let at = self.cursor.position();
        let name = self.cursor.suffix("an alias")?;
        self.cursor.expect("=")?;
        let of = self.parse_type()?;
        match self.type_aliases.insert(name, of) {
            None => Ok(()),
            Some(_) => Err(self.cursor.error_at(at, format!("the alias !{name} is defined twice"))),
        }
    }
}
