//! Pretty forms with code inside: `reduce` and `while`.
use super::Parser;
use super::cursor::Result;
use crate::ir::{Attribute, Attributes, Block, Operation, Region, TensorType, Type};

impl<'a> Parser<'a> {
    /// `reduce(%a init: %b), … applies op across dimensions = […] {…} : types`, or the same
    /// without `applies` and with `reducer(%c: type, %d: type) … {…}` behind.
    pub(super) fn reduce(&mut self, name: &'a str) -> Result<Operation> {
        let (mut uses, mut initial) = (Vec::new(), Vec::new());
        while self.cursor.eat("(") {
            uses.push(self.value_use()?);
            self.cursor.expect_word("init")?;
            self.cursor.expect(":")?;
            initial.push(self.value_use()?);
            self.cursor.expect(")")?;
            if !self.cursor.eat(",") {
                break;
            }
        }
        uses.append(&mut initial);
        let inner = if self.cursor.eat_word("applies") {
            Some(self.cursor.word("an operation")?)
        } else {
            None
        };
        self.cursor.expect_word("across")?;
        self.cursor.expect_word("dimensions")?;
        self.cursor.expect("=")?;
        let mut attributes = Attributes::default();
        attributes.set("dimensions", Attribute::Integers(self.cursor.integers()?));
        self.more_attributes(name, &mut attributes)?;
        self.cursor.expect(":")?;
        let (operands, results) = self.function_type()?;
        let region = match inner {
            Some(inner) => self.applied(inner, operands.first())?,
            None => self.reducer()?,
        };
        let mut operation =
            self.finish(name.to_owned(), &uses, &operands, results, attributes, vec![region])?;
        if inner.is_some() {
            // What is not written stands where the reduction stands.
            let location = operation.location;
            let blocks = operation.regions.iter_mut().flat_map(|region| &mut region.blocks);
            for inside in blocks.flat_map(|block| &mut block.operations) {
                inside.location = location;
            }
        }
        Ok(operation)
    }

    /// The region that applies one operation to two scalars.
    fn applied(&mut self, inner: &str, input: Option<&Type>) -> Result<Region> {
        let Some(tensor) = input.and_then(Type::tensor) else {
            return self.cursor.error("'applies' needs an input that is an array");
        };
        let scalar = TensorType {
            element: tensor.element,
            dims: Vec::new(),
            bounds: Vec::new(),
            quantization: tensor.quantization.clone(),
        };
        let scalar = Type::Tensor(scalar);
        let Some((dialect, _)) = inner.split_once('.') else {
            return self.cursor.error(format!("'{inner}' is no dialect and mnemonic"));
        };
        let arguments = vec![self.new_value(scalar.clone())?, self.new_value(scalar.clone())?];
        let result = self.new_value(scalar)?;
        let operation = |name: String, operands, results| Operation {
            name: name.into(),
            operands,
            results,
            attributes: Attributes::default(),
            regions: Vec::new(),
            location: crate::ir::LocationId::UNKNOWN,
        };
        let operations = vec![
            operation(inner.to_owned(), arguments.clone(), vec![result]),
            operation(format!("{dialect}.return"), vec![result], Vec::new()),
        ];
        Ok(Region { blocks: vec![Block { arguments, operations }] })
    }

    /// `reducer(%a: type, %b: type) (…) {…}`.
    fn reducer(&mut self) -> Result<Region> {
        self.cursor.expect_word("reducer")?;
        let (mut left, mut right) = (Vec::new(), Vec::new());
        while self.cursor.eat("(") {
            left.push(self.named_argument()?);
            self.cursor.expect(",")?;
            right.push(self.named_argument()?);
            self.cursor.expect(")")?;
        }
        left.append(&mut right);
        self.region(left)
    }

    fn named_argument(&mut self) -> Result<(&'a str, usize, Type)> {
        self.cursor.expect("%")?;
        let at = self.cursor.position() - 1;
        let name = self.cursor.suffix("a value's name")?;
        self.cursor.expect(":")?;
        let of = self.parse_type()?;
        self.optional_location()?;
        Ok((name, at, of))
    }

    /// `while(%i = %a, …) : types attributes {…} cond {…} do {…}`.
    pub(super) fn while_loop(&mut self, name: &str) -> Result<Operation> {
        self.cursor.expect("(")?;
        let (mut names, mut uses) = (Vec::new(), Vec::new());
        while !self.cursor.eat(")") {
            self.cursor.expect("%")?;
            let at = self.cursor.position() - 1;
            names.push((self.cursor.suffix("a value's name")?, at));
            self.cursor.expect("=")?;
            uses.push(self.value_use()?);
            if !self.cursor.eat(",") && !self.cursor.sees(")") {
                return self.cursor.expected("',' or ')'");
            }
        }
        let types = if uses.is_empty() {
            Vec::new()
        } else {
            self.cursor.expect(":")?;
            self.type_list()?
        };
        if types.len() != names.len() {
            return self.cursor.error(format!("{} types for {} values", types.len(), names.len()));
        }
        let mut attributes = Attributes::default();
        if self.cursor.eat_word("attributes") {
            self.more_attributes(name, &mut attributes)?;
        }
        let mut arguments = Vec::new();
        for ((name, at), of) in names.into_iter().zip(&types) {
            arguments.push((name, at, of.clone()));
        }
        self.cursor.expect_word("cond")?;
        let condition = self.region(arguments.clone())?;
        self.cursor.expect_word("do")?;
        let body = self.region(arguments)?;
        self.finish(
            name.to_owned(),
            &uses,
            &types.clone(),
            types,
            attributes,
            vec![condition, body],
        )
    }
}
