//! Modules and functions.
use super::Parser;
use super::cursor::Result;
use super::values::Values;
use crate::ir::{
    Attribute, Attributes, Function, LocationId, Mesh, Module, NamedMesh, Operation, Region, Type,
};
use std::sync::Arc;

impl<'a> Parser<'a> {
    /// `module @name attributes {…} { … }`, its generic form, or its bare body.
    pub(super) fn module(&mut self) -> Result<Module> {
        let mut module = Module::default();
        if self.cursor.sees("\"builtin.module\"") {
            self.cursor.text()?;
            self.cursor.expect("(")?;
            self.cursor.expect(")")?;
            if self.cursor.eat("<") {
                module.attributes = self.attribute_dictionary("builtin.module")?;
                self.cursor.expect(">")?;
            }
            self.cursor.expect("(")?;
            self.cursor.expect("{")?;
            self.module_body(&mut module)?;
            self.cursor.expect("}")?;
            self.cursor.expect(")")?;
            if self.cursor.sees("{") {
                module.attributes.0.extend(self.attribute_dictionary("builtin.module")?.0);
            }
            self.cursor.expect(":")?;
            self.function_type()?;
            if let Some(Attribute::String(name)) = module.attributes.get("sym_name") {
                module.name = Some(String::from_utf8_lossy(name).into());
            }
            module.attributes.0.retain(|(name, _)| name != "sym_name");
            self.trailing_location()?;
        } else if self.cursor.eat_word("module") || self.cursor.eat_word("builtin.module") {
            if self.cursor.sees("@") {
                module.name = Some(self.cursor.symbol()?.into());
            }
            if self.cursor.eat_word("attributes") {
                module.attributes = self.attribute_dictionary("builtin.module")?;
            }
            self.cursor.expect("{")?;
            self.module_body(&mut module)?;
            self.cursor.expect("}")?;
            self.trailing_location()?;
        } else {
            self.module_body(&mut module)?;
        }
        module.attributes.sort();
        Ok(module)
    }

    fn module_body(&mut self, module: &mut Module) -> Result<()> {
        self.cursor.eat("^bb0:");
        loop {
            match self.cursor.peek() {
                None | Some(b'}') => return Ok(()),
                Some(b'#') => {
                    self.alias_definition()?;
                    continue;
                }
                Some(b'!') => {
                    self.type_alias_definition()?;
                    continue;
                }
                _ => {}
            }
            let at = self.cursor.position();
            let known: Option<Arc<str>> = match self.cursor.peek_word() {
                "func.func" => {
                    self.cursor.expect_word("func.func")?;
                    let function = self.function()?;
                    let name = Arc::clone(&function.name);
                    let twice = module.function(&name).is_some();
                    module.functions.push(function);
                    twice.then_some(name)
                }
                "sdy.mesh" => {
                    self.cursor.expect_word("sdy.mesh")?;
                    let name: Arc<str> = self.cursor.symbol()?.into();
                    self.cursor.expect("=")?;
                    let mesh = super::sharding::mesh(&mut self.cursor)?;
                    let attributes = self.value_attributes()?;
                    self.trailing_location()?;
                    add_mesh(module, name, mesh, attributes)
                }
                _ if self.cursor.sees("\"func.func\"") => {
                    let function = self.generic_function()?;
                    let name = Arc::clone(&function.name);
                    let twice = module.function(&name).is_some();
                    module.functions.push(function);
                    twice.then_some(name)
                }
                _ if self.cursor.sees("\"sdy.mesh\"") => {
                    self.values = Values::default();
                    let mut attributes = self.operation()?.attributes;
                    let name = attributes.take("sym_name");
                    match (name.as_ref().and_then(Attribute::as_str), attributes.take("mesh")) {
                        (Some(name), Some(Attribute::Mesh(mesh))) => {
                            add_mesh(module, name.into(), mesh, attributes)
                        }
                        _ => {
                            return Err(self
                                .cursor
                                .error_at(at, "sdy.mesh needs sym_name and mesh"));
                        }
                    }
                }
                _ => return self.cursor.expected("func.func, sdy.mesh or '}'"),
            };
            if let Some(name) = known {
                return Err(self.cursor.error_at(at, format!("@{name} is defined twice")));
            }
        }
    }

    /// What follows `func.func`.
    fn function(&mut self) -> Result<Function> {
        self.values = Values::default();
        let mut public = true;
        match self.cursor.peek_word() {
            "public" => self.cursor.expect_word("public")?,
            word @ ("private" | "nested") => {
                self.cursor.expect_word(word)?;
                public = false;
            }
            _ => {}
        }
        let name = self.cursor.symbol()?.into();
        let (arguments, attributes_of_arguments) = self.arguments()?;
        let results = if self.cursor.eat("->") { self.results()? } else { Vec::new() };
        let mut attributes = Attributes::default();
        if self.cursor.eat_word("attributes") {
            attributes = self.attribute_dictionary("func.func")?;
        }
        attributes.sort();
        let body = if self.cursor.sees("{") {
            let mut named = Vec::new();
            for (name, of) in arguments {
                match name {
                    Some((name, at)) => named.push((name, at, of)),
                    None => {
                        return self
                            .cursor
                            .error("the arguments of a function with a body have names");
                    }
                }
            }
            self.region(named)?
        } else {
            // A declaration has no block: the first values are its arguments.
            for (_, of) in arguments {
                self.new_value(of)?;
            }
            Region::default()
        };
        let location = self.trailing_location()?;
        self.finish_function(
            name,
            public,
            attributes,
            attributes_of_arguments,
            results,
            body,
            location,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "one for each field of a function")]
    fn finish_function(
        &mut self,
        name: Arc<str>,
        public: bool,
        attributes: Attributes,
        arguments: Vec<Attributes>,
        results: Vec<(Type, Attributes)>,
        body: Region,
        location: LocationId,
    ) -> Result<Function> {
        let values = std::mem::take(&mut self.values).types;
        Ok(Function { name, public, attributes, arguments, results, values, body, location })
    }

    /// `(%arg0: type {…} loc(…), …)`, or types alone in a declaration.
    #[expect(clippy::type_complexity, reason = "a pair of lists that is taken apart at once")]
    fn arguments(&mut self) -> Result<(Vec<(Option<(&'a str, usize)>, Type)>, Vec<Attributes>)> {
        self.cursor.expect("(")?;
        let (mut arguments, mut attributes) = (Vec::new(), Vec::new());
        if self.cursor.eat(")") {
            return Ok((arguments, attributes));
        }
        loop {
            let name = if self.cursor.eat("%") {
                let at = self.cursor.position() - 1;
                let name = self.cursor.suffix("a value's name")?;
                self.cursor.expect(":")?;
                Some((name, at))
            } else {
                None
            };
            arguments.push((name, self.parse_type()?));
            attributes.push(self.value_attributes()?);
            self.optional_location()?;
            if self.cursor.eat(")") {
                return Ok((arguments, attributes));
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("',' or ')'");
            }
        }
    }

    /// The attributes of an argument or result, if they stand next.
    fn value_attributes(&mut self) -> Result<Attributes> {
        let mut attributes = Attributes::default();
        if self.cursor.sees("{") {
            attributes = self.attribute_dictionary("")?;
            attributes.sort();
        }
        Ok(attributes)
    }

    /// `type` or `(type {…}, …)`.
    fn results(&mut self) -> Result<Vec<(Type, Attributes)>> {
        if !self.cursor.eat("(") {
            return Ok(vec![(self.parse_type()?, Attributes::default())]);
        }
        let mut results = Vec::new();
        if self.cursor.eat(")") {
            return Ok(results);
        }
        loop {
            let of = self.parse_type()?;
            results.push((of, self.value_attributes()?));
            if self.cursor.eat(")") {
                return Ok(results);
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("',' or ')'");
            }
        }
    }

    /// A function in the form of any operation.
    fn generic_function(&mut self) -> Result<Function> {
        self.values = Values::default();
        self.cursor.skip();
        let at = self.cursor.position();
        let Operation { mut attributes, mut regions, location, .. } = self.operation()?;
        let Some(name) = attributes.text("sym_name").map(Arc::from) else {
            return Err(self.cursor.error_at(at, "a function needs sym_name"));
        };
        let Some(Attribute::Type(Type::Function(inputs, outputs))) =
            attributes.get("function_type").cloned()
        else {
            return Err(self.cursor.error_at(at, "a function needs function_type"));
        };
        let public = !matches!(attributes.text("sym_visibility"), Some("private" | "nested"));
        let arguments = each(&attributes, "arg_attrs", inputs.len());
        let results = each(&attributes, "res_attrs", outputs.len());
        let (Some(arguments), Some(results)) = (arguments, results) else {
            return Err(self
                .cursor
                .error_at(at, "arg_attrs and res_attrs have a dictionary for each value"));
        };
        let own = ["sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs"];
        attributes.0.retain(|(name, _)| !own.contains(&&**name));
        let body = regions.pop().unwrap_or_default();
        let types = |value: &crate::ir::Value| &self.values.types[value.0 as usize];
        if let Some(block) = body.blocks.first()
            && !block.arguments.iter().map(types).eq(&inputs)
        {
            return Err(self
                .cursor
                .error_at(at, "function_type and the arguments of the body differ"));
        }
        if body.blocks.is_empty() {
            for of in inputs {
                self.new_value(of)?;
            }
        }
        let results = outputs.into_iter().zip(results).collect();
        self.finish_function(name, public, attributes, arguments, results, body, location)
    }
}

/// The dictionaries of an array of them, one for each of `count`; without the array, empty ones.
fn each(attributes: &Attributes, name: &str, count: usize) -> Option<Vec<Attributes>> {
    match attributes.get(name) {
        None => Some(vec![Attributes::default(); count]),
        Some(Attribute::Array(items)) if items.len() == count => items
            .iter()
            .map(|item| match item {
                Attribute::Dictionary(entries) => Some(entries.clone()),
                _ => None,
            })
            .collect(),
        Some(_) => None,
    }
}

/// Adds a mesh; its name if it is taken.
fn add_mesh(
    module: &mut Module,
    name: Arc<str>,
    mesh: Mesh,
    attributes: Attributes,
) -> Option<Arc<str>> {
    let twice = module.meshes.iter().any(|known| known.name == name);
    module.meshes.push(NamedMesh { name: Arc::clone(&name), mesh, attributes });
    twice.then_some(name)
}
