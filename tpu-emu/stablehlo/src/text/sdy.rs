//! Pretty forms of Shardy's operations.
use super::Parser;
use super::cursor::Result;
use super::sharding::{manual_axes, sharding};
use crate::ir::{Attribute, Attributes, Element, Operation};

impl<'a> Parser<'a> {
    /// What follows the name of an operation of Shardy.
    pub(super) fn sdy_operation(&mut self, name: &str) -> Result<Operation> {
        match name {
            "sdy.sharding_constraint" | "sdy.reshard" => {
                let uses = [self.value_use()?];
                let mut attributes = Attributes::default();
                attributes.set("sharding", Attribute::Sharding(sharding(&mut self.cursor)?));
                self.attributes_and_types(name, "", &uses, attributes)
            }
            "sdy.sharding_group" => {
                let uses = [self.value_use()?];
                self.cursor.expect_word("group_id")?;
                self.cursor.expect("=")?;
                let group = i128::from(self.cursor.integer()?);
                let mut attributes = Attributes::default();
                attributes.set("group_id", Attribute::Integer(group, Element::S64));
                self.more_attributes(name, &mut attributes)?;
                self.cursor.expect(":")?;
                let operands = [self.parse_type()?];
                self.finish(name.to_owned(), &uses, &operands, Vec::new(), attributes, Vec::new())
            }
            "sdy.manual_computation" => self.manual_computation(name),
            _ => self.cursor.error(format!("no pretty form of '{name}' is known")),
        }
    }

    /// `(%a) in_shardings=[…] out_shardings=[…] manual_axes={…} (%b: type) {…} : types`.
    fn manual_computation(&mut self, name: &str) -> Result<Operation> {
        let uses = self.value_uses_in_parentheses()?;
        let mut attributes = Attributes::default();
        for key in ["in_shardings", "out_shardings"] {
            self.cursor.expect_word(key)?;
            self.cursor.expect("=")?;
            attributes.set(key, Attribute::Shardings(self.cursor.list("[", "]", sharding)?));
        }
        self.cursor.expect_word("manual_axes")?;
        self.cursor.expect("=")?;
        attributes.set("manual_axes", Attribute::ManualAxes(manual_axes(&mut self.cursor)?));
        let mut arguments = Vec::new();
        self.cursor.expect("(")?;
        while !self.cursor.eat(")") {
            self.cursor.expect("%")?;
            let at = self.cursor.position() - 1;
            let name = self.cursor.suffix("a value's name")?;
            self.cursor.expect(":")?;
            arguments.push((name, at, self.parse_type()?));
            self.optional_location()?;
            if !self.cursor.eat(",") && !self.cursor.sees(")") {
                return self.cursor.expected("',' or ')'");
            }
        }
        let region = self.region(arguments)?;
        self.more_attributes(name, &mut attributes)?;
        self.cursor.expect(":")?;
        let (operands, results) = self.function_type()?;
        self.finish(name.to_owned(), &uses, &operands, results, attributes, vec![region])
    }
}
