//! `loc(…)`.
use super::cursor::Result;
use super::{Alias, Parser};
use crate::ir::{Location, LocationId};

impl Parser<'_> {
    /// `loc(…)` if it stands next.
    pub(super) fn trailing_location(&mut self) -> Result<LocationId> {
        Ok(self.optional_location()?.unwrap_or(LocationId::UNKNOWN))
    }

    pub(super) fn optional_location(&mut self) -> Result<Option<LocationId>> {
        if !self.cursor.eat_word("loc") {
            return Ok(None);
        }
        self.cursor.expect("(")?;
        let location = self.location()?;
        self.cursor.expect(")")?;
        Ok(Some(location))
    }

    /// What stands between the parentheses of `loc(…)`.
    pub(super) fn location(&mut self) -> Result<LocationId> {
        self.cursor.enter()?;
        let location = match self.cursor.peek() {
            Some(b'#') => self.location_alias()?,
            Some(b'"') => {
                let name = self.cursor.text()?;
                self.named(&name)?
            }
            _ => match self.cursor.peek_word() {
                "unknown" => {
                    self.cursor.expect_word("unknown")?;
                    LocationId::UNKNOWN
                }
                "callsite" => {
                    self.cursor.expect_word("callsite")?;
                    self.cursor.expect("(")?;
                    let callee = self.location()?;
                    self.cursor.expect_word("at")?;
                    let caller = self.location()?;
                    self.cursor.expect(")")?;
                    self.locations.add(Location::CallSite(callee, caller))
                }
                "fused" => {
                    self.cursor.expect_word("fused")?;
                    if self.cursor.sees("<") {
                        // The metadata of a fusion says nothing about a place.
                        self.cursor.balanced()?;
                    }
                    let parts = self.location_list()?;
                    self.locations.add(Location::Fused(parts))
                }
                "loc" => {
                    self.cursor.expect_word("loc")?;
                    self.cursor.expect("(")?;
                    let inner = self.location()?;
                    self.cursor.expect(")")?;
                    inner
                }
                _ => return self.cursor.expected("a location"),
            },
        };
        self.cursor.leave();
        Ok(location)
    }

    fn location_list(&mut self) -> Result<Vec<LocationId>> {
        self.cursor.expect("[")?;
        let mut parts = Vec::new();
        if self.cursor.eat("]") {
            return Ok(parts);
        }
        loop {
            parts.push(self.location()?);
            if self.cursor.eat("]") {
                return Ok(parts);
            }
            self.cursor.expect(",")?;
        }
    }

    /// `"file":line:column`, a range of them, `"name"(child)` or `"name"`.
    fn named(&mut self, name: &str) -> Result<LocationId> {
        if self.cursor.eat("(") {
            let child = self.location()?;
            self.cursor.expect(")")?;
            return Ok(self.locations.add(Location::Name(name.into(), child)));
        }
        if !self.cursor.eat(":") {
            return Ok(self.locations.add(Location::Name(name.into(), LocationId::UNKNOWN)));
        }
        let line = self.line_number()?;
        let column = if self.cursor.eat(":") { self.line_number()? } else { 0 };
        if self.cursor.eat_word("to") {
            // Only where a range starts is kept.
            if self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.line_number()?;
            }
            if self.cursor.eat(":") {
                self.line_number()?;
            }
        }
        Ok(self.locations.add(Location::File { file: name.into(), line, column }))
    }

    fn line_number(&mut self) -> Result<u32> {
        let at = self.cursor.position();
        let number = self.cursor.integer()?;
        u32::try_from(number).map_err(|_| {
            self.cursor.error_at(at, format!("{number} is no number of a line or column"))
        })
    }

    fn location_alias(&mut self) -> Result<LocationId> {
        let at = self.cursor.position();
        match self.alias()? {
            Alias::Location(location) => Ok(location),
            Alias::Value(_) => Err(self.cursor.error_at(at, "this alias is no location")),
        }
    }
}
