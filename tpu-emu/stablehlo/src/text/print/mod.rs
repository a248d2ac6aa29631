//! A [`Module`] as MLIR text that both our reader and MLIR's own read.
mod attributes;
mod elements;
mod mesh_axes;
mod operation;
mod structs;
mod types;

use crate::ir::{Attribute, Attributes, Function, Location, LocationId, Module, Type, Value};
use std::fmt;

impl Module {
    /// The program as MLIR text, with or without where it was written.
    pub fn to_mlir(&self, locations: bool) -> String {
        let mut printer = Printer { out: String::new(), module: self, locations, indent: 0 };
        printer.module();
        printer.out
    }
}

impl Attribute {
    /// The attribute as MLIR text, by itself.
    pub fn to_mlir(&self) -> String {
        let module = Module::default();
        let mut printer =
            Printer { out: String::new(), module: &module, locations: false, indent: 0 };
        printer.attribute("stablehlo", "", self);
        printer.out
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_mlir(false))
    }
}

/// The text that is made.
struct Printer<'m> {
    out: String,
    module: &'m Module,
    locations: bool,
    indent: usize,
}

impl<'m> Printer<'m> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// A new line with the blanks of its depth.
    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    /// Items with commas between them.
    fn commas<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut item: impl FnMut(&mut Self, T),
    ) {
        for (index, one) in items.into_iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            item(self, one);
        }
    }

    fn module(&mut self) {
        if self.locations {
            self.location_aliases();
        }
        let module = self.module;
        self.push("module");
        if let Some(name) = &module.name {
            self.push(" ");
            self.symbol(name);
        }
        if !module.attributes.0.is_empty() {
            self.push(" attributes ");
            self.dictionary(&module.attributes);
        }
        self.push(" {");
        self.indent += 1;
        for named in &module.meshes {
            self.line();
            self.push("sdy.mesh ");
            self.symbol(&named.name);
            self.push(" = ");
            self.mesh(&named.mesh);
            self.value_attributes(&named.attributes);
        }
        for function in &module.functions {
            self.line();
            self.function(function);
        }
        self.indent -= 1;
        self.push("\n}\n");
    }

    fn function(&mut self, function: &'m Function) {
        self.push(if function.public { "func.func public " } else { "func.func private " });
        self.symbol(&function.name);
        self.push("(");
        let block = function.block();
        self.commas(function.arguments.iter().enumerate(), |printer, (index, attributes)| {
            let of = match block.and_then(|block| block.arguments.get(index)) {
                Some(&argument) => {
                    printer.value(argument);
                    printer.push(": ");
                    function.type_of(argument)
                }
                // The first values of a declaration are its arguments.
                None => function.values.get(index).unwrap_or(&Type::None),
            };
            printer.of(of);
            printer.value_attributes(attributes);
        });
        self.push(")");
        if !function.results.is_empty() {
            self.push(" -> (");
            self.commas(&function.results, |printer, (of, attributes)| {
                printer.of(of);
                printer.value_attributes(attributes);
            });
            self.push(")");
        }
        if !function.attributes.0.is_empty() {
            self.push(" attributes ");
            self.dictionary(&function.attributes);
        }
        if !function.body.blocks.is_empty() {
            self.push(" ");
            self.region(function, &function.body, false);
        }
        self.location(function.location);
    }

    fn value_attributes(&mut self, attributes: &Attributes) {
        if !attributes.0.is_empty() {
            self.push(" ");
            self.dictionary(attributes);
        }
    }

    fn value(&mut self, value: Value) {
        self.push(&format!("%{}", value.0));
    }

    /// ` loc(…)` if locations are asked for and this one is known.
    fn location(&mut self, location: LocationId) {
        if self.locations && *self.module.locations.get(location) != Location::Unknown {
            self.push(&format!(" loc(#loc{})", location.0));
        }
    }

    /// `#loc1 = loc(…)` for every location, in their order.
    fn location_aliases(&mut self) {
        let mut id = 1;
        while let Some(location) = self.module.locations.entry(LocationId(id)) {
            self.push(&format!("#loc{id} = loc("));
            // A location is made of earlier ones; a damaged module's may not be.
            let part = |part: LocationId| match part.0 {
                part if part > 0 && part < id => format!("#loc{part}"),
                _ => "unknown".to_owned(),
            };
            match location {
                Location::Unknown => self.push("unknown"),
                Location::File { file, line, column } => {
                    self.string(file.as_bytes());
                    self.push(&format!(":{line}:{column}"));
                }
                Location::Name(name, child) => {
                    self.string(name.as_bytes());
                    self.push(&format!("({})", part(*child)));
                }
                Location::CallSite(callee, caller) => {
                    self.push(&format!("callsite({} at {})", part(*callee), part(*caller)));
                }
                Location::Fused(parts) => {
                    let parts: Vec<_> = parts.iter().map(|&one| part(one)).collect();
                    self.push(&format!("fused[{}]", parts.join(", ")));
                }
            }
            self.push(")\n");
            id += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::attribute;

    #[test]
    fn an_attribute_alone_is_read_back() {
        for text in
            ["1 : i32", "\"a\"", "{a = true, b = [2.5 : f32]}", "dense<[[1, 2]]> : tensor<1x2xi8>"]
        {
            let value = attribute(text).unwrap();
            assert_eq!(attribute(&value.to_mlir()).unwrap(), value, "{text}");
        }
    }
}
