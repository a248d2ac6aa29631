//! Operations: what they define, their generic form, and the blocks they stand in.
use super::Parser;
use super::cursor::Result;
use super::values::Use;
use crate::canonical;
use crate::ir::{Attributes, Block, Operation, Region, Type};

impl<'a> Parser<'a> {
    /// One operation with its results and location.
    pub(super) fn operation(&mut self) -> Result<Operation> {
        self.cursor.enter()?;
        // Names before the `=`, where they stand, and how many values each has.
        let mut names: Vec<(&'a str, usize, usize)> = Vec::new();
        if self.cursor.sees("%") {
            loop {
                self.cursor.expect("%")?;
                let at = self.cursor.position() - 1;
                let name = self.cursor.suffix("a value's name")?;
                let mut count = 1;
                if self.cursor.eat(":") {
                    let number = self.cursor.integer()?;
                    count = usize::try_from(number)
                        .ok()
                        .filter(|count| (1..=1 << 16).contains(count))
                        .ok_or_else(|| self.cursor.error_at(at, format!("{number} results")))?;
                }
                names.push((name, at, count));
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect("=")?;
        }
        self.cursor.skip();
        let at = self.cursor.position();
        let mut operation = if self.cursor.sees("\"") { self.generic()? } else { self.pretty()? };
        if operation.location == crate::ir::LocationId::UNKNOWN {
            operation.location = self.trailing_location()?;
        }
        let found = operation.results.len();
        let wanted: usize = names.iter().map(|(_, _, count)| count).sum();
        if !names.is_empty() && found != wanted {
            let what = format!("{wanted} names for the {found} results of {}", operation.name);
            return Err(self.cursor.error_at(at, what));
        }
        let mut first = 0;
        for (name, at, count) in names {
            self.define(name, at, &operation.results[first..first + count])?;
            first += count;
        }
        canonical::complete(&operation.name, &mut operation.attributes);
        self.cursor.leave();
        Ok(operation)
    }

    /// `"name"(%a) <{…}> ({…}) {…} : (types) -> types`.
    fn generic(&mut self) -> Result<Operation> {
        self.cursor.skip();
        let at = self.cursor.position();
        let name = self.cursor.text()?;
        if !name.contains('.') {
            return Err(self.cursor.error_at(at, format!("'{name}' is no dialect and mnemonic")));
        }
        let uses = self.value_uses_in_parentheses()?;
        self.generic_rest(name, &uses)
    }

    /// What follows the operands in the generic form.
    pub(super) fn generic_rest(&mut self, name: String, uses: &[Use<'a>]) -> Result<Operation> {
        if self.cursor.sees("[") {
            return self.cursor.error("operations with successors are not supported");
        }
        let mut attributes = Attributes::default();
        if self.cursor.eat("<") {
            attributes = self.attribute_dictionary(&name)?;
            self.cursor.expect(">")?;
        }
        let regions = self.regions_in_parentheses()?;
        if self.cursor.sees("{") {
            self.more_attributes(&name, &mut attributes)?;
        }
        self.cursor.expect(":")?;
        let (operands, results) = self.function_type()?;
        self.finish(name, uses, &operands, results, attributes, regions)
    }

    /// `({…}, {…})` if it stands next.
    pub(super) fn regions_in_parentheses(&mut self) -> Result<Vec<Region>> {
        let mut regions = Vec::new();
        if !self.cursor.eat("(") {
            return Ok(regions);
        }
        loop {
            regions.push(self.region(Vec::new())?);
            if self.cursor.eat(")") {
                return Ok(regions);
            }
            self.cursor.expect(",")?;
        }
    }

    /// Puts an operation together from what was read.
    pub(super) fn finish(
        &mut self,
        name: String,
        uses: &[Use<'a>],
        operands: &[Type],
        results: Vec<Type>,
        attributes: Attributes,
        regions: Vec<Region>,
    ) -> Result<Operation> {
        let operands = self.resolve(uses, operands)?;
        let results = results.into_iter().map(|of| self.new_value(of)).collect::<Result<_>>()?;
        let location = self.trailing_location()?;
        Ok(Operation { name: name.into(), operands, results, attributes, regions, location })
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

    fn block_argument(
        &mut self,
        name: &'a str,
        at: usize,
        of: Type,
        block: &mut Block,
    ) -> Result<()> {
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
