//! Pretty forms that are operands and words, then attributes, then types.
use super::Parser;
use super::cursor::Result;
use super::table::{self, AliasKind};
use super::values::Use;
use crate::ir::{Attribute, Attributes, Element, Operation, TensorType, Type};

impl<'a> Parser<'a> {
    /// An operation that does not start with a quote.
    pub(super) fn pretty(&mut self) -> Result<Operation> {
        let start = self.cursor.position();
        let word = self.cursor.word("an operation")?;
        let name = match word {
            "return" | "func.return" => "func.return",
            "call" | "func.call" => "func.call",
            name => name,
        };
        let (dialect, mnemonic) = name.split_once('.').unwrap_or(("", name));
        match (dialect, mnemonic) {
            ("func", "call") => self.call(),
            ("func", "return") | (_, "return") => self.returned(name),
            ("sdy", _) => self.sdy_operation(name),
            ("stablehlo" | "mhlo" | "chlo", _) => self.hlo(name, mnemonic),
            _ => Err(self.cursor.error_at(start, format!("no pretty form of '{name}' is known"))),
        }
    }

    fn hlo(&mut self, name: &'a str, mnemonic: &str) -> Result<Operation> {
        match mnemonic {
            "constant" => self.constant(name),
            "reduce" => self.reduce(name),
            "while" => self.while_loop(name),
            "optimization_barrier" => self.barrier(name),
            "custom_call" => {
                let mut attributes = Attributes::default();
                let target = self.cursor.symbol()?;
                attributes.set("call_target_name", Attribute::string(&target));
                let uses = self.value_uses_in_parentheses()?;
                self.attributes_and_types(name, mnemonic, &uses, attributes)
            }
            "convolution" => {
                let uses = self.value_uses_in_parentheses()?;
                self.cursor.expect_word("dim_numbers")?;
                self.cursor.expect("=")?;
                let mut attributes = self.convolution_numbers()?;
                self.cursor.expect(",")?;
                self.cursor.expect_word("window")?;
                self.cursor.expect("=")?;
                self.window(&mut attributes)?;
                self.attributes_and_types(name, mnemonic, &uses, attributes)
            }
            "composite" => {
                let mut attributes = Attributes::default();
                attributes.set("name", Attribute::String(self.cursor.string()?.into()));
                let uses = self.value_uses()?;
                let regions = self.regions_in_parentheses()?;
                let mut operation = self.attributes_and_types(name, mnemonic, &uses, attributes)?;
                operation.regions = regions;
                Ok(operation)
            }
            "top_k" => {
                self.cursor.expect("(")?;
                let mut attributes = Attributes::default();
                let uses = self.items(mnemonic, &mut attributes)?;
                self.cursor.expect(")")?;
                self.attributes_and_types(name, mnemonic, &uses, attributes)
            }
            _ => {
                let mut attributes = Attributes::default();
                if mnemonic == "compare" {
                    let word = self.cursor.word("a direction of comparison")?.to_owned();
                    attributes.set("comparison_direction", Attribute::Word(word.into()));
                    self.cursor.expect(",")?;
                }
                let uses = self.items(mnemonic, &mut attributes)?;
                match mnemonic {
                    "slice" => self.ranges(&mut attributes)?,
                    "get_tuple_element" => {
                        self.cursor.expect("[")?;
                        let index = self.cursor.integer()?;
                        self.cursor.expect("]")?;
                        attributes.set("index", Attribute::Integer(index.into(), Element::S32));
                    }
                    _ => {}
                }
                self.attributes_and_types(name, mnemonic, &uses, attributes)
            }
        }
    }

    /// Operands and words in any order, separated by commas.
    fn items(&mut self, mnemonic: &str, attributes: &mut Attributes) -> Result<Vec<Use<'a>>> {
        let mut uses = Vec::new();
        loop {
            if self.cursor.sees("%") {
                uses.push(self.value_use()?);
            } else {
                let word = self.cursor.peek_word();
                if word.is_empty() {
                    return Ok(uses);
                }
                if mnemonic == "compare" {
                    self.cursor.expect_word(word)?;
                    attributes.set("compare_type", Attribute::Word(word.to_owned().into()));
                } else {
                    let Some((name, kind)) = table::word(mnemonic, word) else {
                        return self.cursor.error(format!("'{word}' is no word of {mnemonic}"));
                    };
                    self.cursor.expect_word(word)?;
                    self.cursor.expect("=")?;
                    self.item(name, kind, attributes)?;
                }
            }
            if !self.cursor.eat(",") {
                return Ok(uses);
            }
        }
    }

    fn item(
        &mut self,
        name: &'static str,
        kind: AliasKind,
        attributes: &mut Attributes,
    ) -> Result<()> {
        let value = match kind {
            AliasKind::Number => Attribute::Integer(self.cursor.integer()?.into(), Element::S64),
            AliasKind::List => Attribute::Integers(self.cursor.integers()?),
            AliasKind::Word => Attribute::Word(self.cursor.word("a word")?.to_owned().into()),
            AliasKind::String => Attribute::String(self.cursor.string()?.into()),
            AliasKind::Flag => {
                let flag = self.cursor.eat_word("true");
                if !flag {
                    self.cursor.expect_word("false")?;
                }
                Attribute::Bool(flag)
            }
            AliasKind::Words => Attribute::Array(self.cursor.list("[", "]", |cursor| {
                Ok(Attribute::Word(cursor.word("a precision")?.to_owned().into()))
            })?),
            AliasKind::Pair => {
                let left = self.cursor.integers()?;
                self.cursor.expect("x")?;
                let right = Attribute::Integers(self.cursor.integers()?);
                attributes.set(name.replacen("lhs", "rhs", 1), right);
                Attribute::Integers(left)
            }
            AliasKind::Format => {
                let word = self.cursor.word("a format such as e8m23")?;
                let parts = word.strip_prefix('e').and_then(|rest| rest.split_once('m'));
                let parsed = parts.and_then(|(exponent, mantissa)| {
                    Some((exponent.parse::<u16>().ok()?, mantissa.parse::<u16>().ok()?))
                });
                let Some((exponent, mantissa)) = parsed else {
                    return self.cursor.error(format!("'{word}' is no format such as e8m23"));
                };
                attributes.set("exponent_bits", Attribute::Integer(exponent.into(), Element::S32));
                attributes.set("mantissa_bits", Attribute::Integer(mantissa.into(), Element::S32));
                return Ok(());
            }
            AliasKind::Algorithm => {
                if let Some(known) = super::structs::find("dot_algorithm") {
                    for (name, value) in self.struct_fields(known)?.0 {
                        attributes.set(name, value);
                    }
                }
                return Ok(());
            }
        };
        attributes.set(name, value);
        Ok(())
    }

    /// `[0:4:2, 1:3]`.
    fn ranges(&mut self, attributes: &mut Attributes) -> Result<()> {
        let ranges = self.cursor.list("[", "]", |cursor| {
            let start = cursor.integer()?;
            cursor.expect(":")?;
            let limit = cursor.integer()?;
            Ok((start, limit, if cursor.eat(":") { cursor.integer()? } else { 1 }))
        })?;
        let list =
            |of: fn(&(i64, i64, i64)) -> i64| Attribute::Integers(ranges.iter().map(of).collect());
        attributes.set("start_indices", list(|range| range.0));
        attributes.set("limit_indices", list(|range| range.1));
        attributes.set("strides", list(|range| range.2));
        Ok(())
    }

    /// `{…} : types`, and the operation is done.
    pub(super) fn attributes_and_types(
        &mut self,
        name: &str,
        mnemonic: &str,
        uses: &[Use<'a>],
        mut attributes: Attributes,
    ) -> Result<Operation> {
        self.more_attributes(name, &mut attributes)?;
        if mnemonic == "dot_general" {
            for side in [
                "lhs_batching_dimensions",
                "rhs_batching_dimensions",
                "lhs_contracting_dimensions",
                "rhs_contracting_dimensions",
            ] {
                if attributes.get(side).is_none() {
                    attributes.set(side, Attribute::Integers(Vec::new()));
                }
            }
        }
        self.cursor.expect(":")?;
        let (operands, results) = self.pretty_types(mnemonic, uses.len())?;
        self.finish(name.to_owned(), uses, &operands, results, attributes, Vec::new())
    }

    /// `{…}` if it stands next, with no name that is there already.
    pub(super) fn more_attributes(
        &mut self,
        name: &str,
        attributes: &mut Attributes,
    ) -> Result<()> {
        if self.cursor.sees("{") {
            for (key, value) in self.attribute_dictionary(name)?.0 {
                if attributes.get(&key).is_some() {
                    return self.cursor.error(format!("the attribute {key} is given twice"));
                }
                attributes.set(key, value);
            }
        }
        Ok(())
    }

    /// The types of operands and results, however short they are written.
    fn pretty_types(&mut self, mnemonic: &str, operands: usize) -> Result<(Vec<Type>, Vec<Type>)> {
        if self.cursor.sees("(") {
            let types = self.types_in("(", ")")?;
            self.cursor.expect("->")?;
            return Ok((types, self.result_types()?));
        }
        let mut types = self.type_list()?;
        if self.cursor.eat("->") {
            return Ok((types, self.result_types()?));
        }
        match (mnemonic, types.len()) {
            ("select", 2) => Ok((
                vec![types[0].clone(), types[1].clone(), types[1].clone()],
                vec![types.swap_remove(1)],
            )),
            ("tuple", 1) => match types.swap_remove(0) {
                Type::Tuple(parts) => Ok((parts.clone(), vec![Type::Tuple(parts)])),
                _ => self.cursor.error("a tuple has the type of one"),
            },
            ("complex", 1) => match part(&types[0]) {
                Some(part) => Ok((vec![part; operands], types)),
                None => self.cursor.error("'complex' makes an array of complex numbers"),
            },
            (_, 1) => Ok((vec![types[0].clone(); operands], types)),
            (_, count) => self.cursor.error(format!("{count} types for {mnemonic} without '->'")),
        }
    }

    /// `return %a, %b {…} : types`.
    fn returned(&mut self, name: &str) -> Result<Operation> {
        let uses = self.value_uses()?;
        let mut attributes = Attributes::default();
        self.more_attributes(name, &mut attributes)?;
        let types = if self.cursor.eat(":") { self.type_list()? } else { Vec::new() };
        self.finish(name.to_owned(), &uses, &types, Vec::new(), attributes, Vec::new())
    }

    /// `call @f(%a) {…} : (types) -> types`.
    fn call(&mut self) -> Result<Operation> {
        let mut attributes = Attributes::default();
        attributes.set("callee", Attribute::Symbol(self.cursor.symbol()?.into()));
        let uses = self.value_uses_in_parentheses()?;
        self.more_attributes("func.call", &mut attributes)?;
        self.cursor.expect(":")?;
        let (operands, results) = self.function_type()?;
        self.finish("func.call".into(), &uses, &operands, results, attributes, Vec::new())
    }

    /// `constant dense<…> : type`.
    fn constant(&mut self, name: &str) -> Result<Operation> {
        if self.cursor.eat("(") {
            self.cursor.expect(")")?;
            return self.generic_rest(name.to_owned(), &[]);
        }
        let mut attributes = Attributes::default();
        self.more_attributes(name, &mut attributes)?;
        let Attribute::Elements(elements) = self.plain()? else {
            return self.cursor.error("the value of a constant is dense<…>");
        };
        let of = Type::Tensor(elements.of.clone());
        attributes.set("value", Attribute::Elements(elements));
        self.finish(name.to_owned(), &[], &[], vec![of], attributes, Vec::new())
    }

    /// An attribute as it is written: arrays are not shortened.
    fn plain(&mut self) -> Result<Attribute> {
        match self.parsed()? {
            super::attributes::Parsed::Value(value) => Ok(value),
            super::attributes::Parsed::Struct(_) => {
                self.cursor.error("expected a value, found a struct")
            }
        }
    }

    /// `optimization_barrier %a, %b : types`.
    fn barrier(&mut self, name: &str) -> Result<Operation> {
        let mut attributes = Attributes::default();
        self.more_attributes(name, &mut attributes)?;
        if self.cursor.eat("(") {
            self.cursor.expect(")")?;
            return self.finish(name.to_owned(), &[], &[], Vec::new(), attributes, Vec::new());
        }
        let uses = self.value_uses()?;
        self.cursor.expect(":")?;
        let types = self.type_list()?;
        self.finish(name.to_owned(), &uses, &types.clone(), types, attributes, Vec::new())
    }
}

/// The type of the real parts of an array of complex numbers.
fn part(of: &Type) -> Option<Type> {
    let tensor = of.tensor()?;
    let element = match tensor.element {
        Element::C64 => Element::F32,
        Element::C128 => Element::F64,
        _ => return None,
    };
    Some(Type::Tensor(TensorType { element, ..tensor.clone() }))
}
