//! Names of values and what they stand for, inside one function.
use super::Parser;
use super::cursor::Result;
use crate::ir::{Type, Value};
use std::collections::HashMap;

/// A use of a value: its name, which of a pack, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use<'a> {
    name: &'a str,
    index: usize,
    at: usize,
}

/// The values of the function that is read.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    /// The type of each.
    pub(super) types: Vec<Type>,
    /// First value and how many stand behind a name.
    names: HashMap<&'a str, (u32, usize)>,
    /// Names in the order of their definition.
    order: Vec<&'a str>,
}

impl<'a> Parser<'a> {
    /// `%name` or `%name#1`.
    pub(super) fn value_use(&mut self) -> Result<Use<'a>> {
        if !self.cursor.eat("%") {
            return self.cursor.expected("a value ('%name')");
        }
        let at = self.cursor.position() - 1;
        let name = self.cursor.suffix("a value's name")?;
        let mut index = 0;
        if self.cursor.here() == Some(b'#') {
            self.cursor.expect("#")?;
            let number = self.cursor.integer()?;
            index = usize::try_from(number)
                .map_err(|_| self.cursor.error_at(at, format!("%{name}#{number} is no value")))?;
        }
        Ok(Use { name, index, at })
    }

    /// `%a, %b` up to something else; a comma in front of something else is taken, too.
    pub(super) fn value_uses(&mut self) -> Result<Vec<Use<'a>>> {
        let mut uses = Vec::new();
        while self.cursor.sees("%") {
            uses.push(self.value_use()?);
            if !self.cursor.eat(",") {
                break;
            }
        }
        Ok(uses)
    }

    /// `(%a, %b)`.
    pub(super) fn value_uses_in_parentheses(&mut self) -> Result<Vec<Use<'a>>> {
        self.cursor.expect("(")?;
        let mut uses = Vec::new();
        if self.cursor.eat(")") {
            return Ok(uses);
        }
        loop {
            uses.push(self.value_use()?);
            if self.cursor.eat(")") {
                return Ok(uses);
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("',' or ')'");
            }
        }
    }

    /// The values that are used, which have these types.
    pub(super) fn resolve(&mut self, uses: &[Use<'a>], types: &[Type]) -> Result<Vec<Value>> {
        if uses.len() != types.len() {
            return self.cursor.error(format!(
                "{} operands, but types of {}",
                uses.len(),
                types.len()
            ));
        }
        let mut values = Vec::with_capacity(uses.len());
        for (one, of) in uses.iter().zip(types) {
            let value = self.lookup(*one)?;
            let defined = &self.values.types[value.0 as usize];
            if defined != of {
                let what =
                    format!("%{} is used as {}, but it is {}", one.name, shown(of), shown(defined));
                return Err(self.cursor.error_at(one.at, what));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// The value that is used.
    pub(super) fn lookup(&self, one: Use<'a>) -> Result<Value> {
        match self.values.names.get(one.name) {
            None => Err(self.cursor.error_at(one.at, format!("%{} is not defined here", one.name))),
            Some(&(first, count)) if one.index < count => {
                Ok(Value(first + u32::try_from(one.index).unwrap_or(0)))
            }
            Some((_, count)) => {
                let what = format!(
                    "%{}#{} is used, but %{} has {count} values",
                    one.name, one.index, one.name
                );
                Err(self.cursor.error_at(one.at, what))
            }
        }
    }

    /// A value without a name.
    pub(super) fn new_value(&mut self, of: Type) -> Result<Value> {
        match u32::try_from(self.values.types.len()) {
            Ok(index) => {
                self.values.types.push(of);
                Ok(Value(index))
            }
            Err(_) => self.cursor.error("too many values in one function"),
        }
    }

    /// Gives values in a row a name.
    pub(super) fn define(&mut self, name: &'a str, at: usize, values: &[Value]) -> Result<()> {
        let first = values.first().map_or(0, |value| value.0);
        if self.values.names.insert(name, (first, values.len())).is_some() {
            return Err(self.cursor.error_at(at, format!("%{name} is defined already")));
        }
        self.values.order.push(name);
        Ok(())
    }

    /// How many names there are: a mark for [`Parser::forget`].
    pub(super) fn mark(&self) -> usize {
        self.values.order.len()
    }

    /// Forgets the names since a mark: their region ends.
    pub(super) fn forget(&mut self, mark: usize) {
        for name in self.values.order.drain(mark.min(self.values.order.len())..) {
            self.values.names.remove(name);
        }
    }
}

/// A type for an error message.
fn shown(of: &Type) -> String {
    format!("{of:?}")
}
