//! Operations: what they define, their generic form, and the blocks they stand in.
use super::Parser;
use super::cursor::Result;
use super::values::Use;
use crate::ir::{Attributes, Block, Operation, Region, Type, Value};
use crate::canonical;

/// What stands before the `=`: names and how many values each has, with the values made for them.
#[derive(Debug, Default)]
pub(super) struct Defined<'a> {
    names: Vec<(&'a str, usize, usize)>,
    pub(super) values: Vec<Value>,
}

impl<'a> Parser<'a> {
    /// One operation with its results and location.
    pub(super) fn operation(&mut self) -> Result<Operation> {
        self.cursor.enter()?;
        let mut defined = Defined::default();
        if self.cursor.sees("%") {
            loop {
                self.cursor.expect("%")?;
                let at = self.cursor.position() - 1;
                let name = self.cursor.suffix("a value's name")?;
                let mut count = 1;
                if self.cursor.eat(":") {
                    let number = self.cursor.integer()?;
                    count = usize::try_from(number).ok().filter(|count| (1..=1 << 16).contains(count))
                        .ok_or_else(|| self.cursor.error_at(at, format!("{number} results")))?;
                }
                for _ in 0..count {
                    // The type comes last in the text; the number of the value is due now.
                    defined.values.push(self.new_value(Type::None)?);
                }
                defined.names.push((name, at, count));
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect("=")?;
        }
        self.cursor.skip();
        let at = self.cursor.position();
        let mut operation = if self.cursor.sees("\"") {
            self.generic(&defined)?
        } else {
            self.pretty(&defined)?
        };
        if operation.location == crate::ir::LocationId::UNKNOWN {
            operation.location = self.trailing_location()?;
        }
        let found = operation.results.len();
        if !defined.names.is_empty() && found != defined.values.len() {
            let what = format!("{} names for the {found} results of {}", defined.values.len(), operation.name);
            return Err(self.cursor.error_at(at, what));
        }
        let mut first = 0;
        for (name, at, count) in defined.names {
            self.define(name, at, &operation.results[first..first + count])?;
            first += count;
        }
        canonical::simplify(&operation.name, &mut operation.attributes);
        self.cursor.leave();
        Ok(operation)
    }

    /// `"name"(%a) <{…}> ({…}) {…} : (types) -> types`.
    fn generic(&mut self, defined: &Defined<'a>) -> Result<Operation> {
        self.cursor.skip();
        let at = self.cursor.position();
        let name = self.cursor.text()?;
        if !name.contains('.') {
            return Err(self.cursor.error_at(at, format!("'{name}' is no dialect and mnemonic")));
        }
        let uses = self.value_uses_in_parentheses()?;
        self.generic_rest(name, &uses, defined)
    }

    /// What follows the operands in the generic form.
    pub(super) fn generic_rest(&mut self, name: String, uses: &[Use<'a>], defined: &Defined<'a>) -> Result<Operation> {
        if self.cursor.sees("[") {
            return self.cursor.error("operations with successors are not supported");
        }
        let mut attributes = Attributes::default();
        if self.cursor.eat("<") {
            attributes = self.attribute_dictionary(&name)?;
            self.cursor.expect(">")?;
        }
        let mut regions = Vec::new();
        if self.cursor.eat("(") {
            loop {
                regions.push(self.region(Vec::new())?);
                if self.cursor.eat(")") {
                    break;
                }
                self.cursor.expect(",")?;
            }
        }
        if self.cursor.sees("{") {
            for (key, value) in self.attribute_dictionary(&name)?.0 {
                attributes.set(key, value);
            }
        }
        self.cursor.expect(":")?;
        let (operands, results) = self.function_type()?;
        self.finish(name, uses, &operands, results, attributes, regions, defined)
    }

    /// Puts an operation together from what was read.
    #[expect(clippy::too_many_arguments, reason = "one for each part of an operation")]
    pub(super) fn finish(
        &mut self,
        name: String,
        uses: &[Use<'a>],
        operands: &[Type],
        results: Vec<Type>,
        attributes: Attributes,
        regions: Vec<Region>,
        defined: &Defined<'a>,
    ) -> Result<Operation> {
        let operands = self.resolve(uses, operands)?;
        let results = self.result_values(results, defined)?;
        let location = self.trailing_location()?;
        Ok(Operation { name: name.into(), operands, results, attributes, regions, location })
    }

    /// The values for results of these types: those made for the names, or new ones.
    pub(super) fn result_values(&mut self, types: Vec<Type>, defined: &Defined<'a>) -> Result<Vec<Value>> {
        if defined.values.is_empty() {
            return types.into_iter().map(|of| self.new_value(of)).collect();
        }
        if defined.values.len() != types.len() {
            let (names, found) = (defined.values.len(), types.len());
            return self.cursor.error(format!("{names} names for {found} results"));
        }
        for (value, of) in defined.values.iter().zip(types) {
            self.values.types[value.0 as usize] = of;
        }
        Ok(defined.values.clone())
    }

    /// `{ … }`: blocks. The arguments of the first are given if its label does not give them.
    pub(super) fn region(&mut self, arguments: Vec<(&'a str, usize, Type)>) -> Result<Region> {
        self.cursor.enter()?;
        let mark = self.mark();
        let mut region = Region::default();
        self.cursor.expect("{")?;
        let mut block = Block::default();
        let given = !arguments.is_empty();
        for (name, at, of) in arguments {
            self.block_argument(name, at, of, &mut block)?;
        }
        let mut first = true;
        loop {
            match self.cursor.peek() {
                Some(b'}') => {
                    self.cursor.expect("}")?;
                    break;
                }
                Some(b'^') => {
                    if first && given {
                        return self.cursor.error("the arguments of this block are given already");
                    }
                    if !first {
                        region.blocks.push(std::mem::take(&mut block));
                    }
                    self.label(&mut block)?;
                }
                Some(_) => {
                    let operation = self.operation()?;
                    block.operations.push(operation);
                }
                None => return self.cursor.expected("'}'"),
            }
            first = false;
        }
        if !first || given {
            region.blocks.push(block);
        }
        self.forget(mark);
        self.cursor.leave();
        Ok(region)
    }

    fn block_argument(&mut self, name: &'a str, at: usize, of: Type, block: &mut Block) -> Result<()> {
        let value = self.new_value(of)?;
        self.define(name, at, &[value])?;
        block.arguments.push(value);
        Ok(())
    }

    /// `^bb0(%a: type loc(…), …):`.
    fn label(&mut self, block: &mut Block) -> Result<()> {
        self.cursor.expect("^")?;
        self.cursor.suffix("a block's name")?;
        if self.cursor.eat("(") && !self.cursor.eat(")") {
            loop {
                self.cursor.expect("%")?;
                let at = self.cursor.position() - 1;
                let name = self.cursor.suffix("a value's name")?;
                self.cursor.expect(":")?;
                let of = self.parse_type()?;
                self.optional_location()?;
                self.block_argument(name, at, of, block)?;
                if self.cursor.eat(")") {
                    break;
                }
                self.cursor.expect(",")?;
            }
        }
        self.cursor.expect(":")
    }
}
