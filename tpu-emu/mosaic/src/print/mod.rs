//! The text of a module, as MLIR writes it.
mod attributes;
mod names;
mod number;
mod operation;

pub(crate) use attributes::{attribute_text, type_text};

use crate::ir::{
    AffineMap, AffineResult, Attribute, Attributes, Function, Kernel, Module, Transform, Type,
    Value, Window,
};
use names::Names;
use std::fmt;

impl Module {
    /// The module in MLIR's text, in the terms of the newest format.
    pub fn to_mlir(&self) -> String {
        let mut text = String::from("module");
        if let Some(name) = &self.name {
            text.push_str(" @");
            attributes::symbol(name, &mut text);
        }
        let mut all = self.attributes.clone();
        all.set("stable_mosaic.version", Attribute::Integer(self.format, tpu_mlir::Element::S64));
        text.push_str(" attributes ");
        attributes::dictionary(&all, &mut text);
        text.push_str(" {\n");
        for function in &self.functions {
            let names = Names::of(function);
            Printer { function, names, text: &mut text, indent: 1 }.function();
        }
        text.push_str("}\n");
        text
    }
}

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_mlir())
    }
}

/// What is printed, and where it goes.
struct Printer<'a> {
    function: &'a Function,
    names: Names,
    text: &'a mut String,
    indent: usize,
}

impl Printer<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn line(&mut self) {
        for _ in 0..self.indent {
            self.push("  ");
        }
    }

    fn value(&mut self, value: Value) {
        let name = self.names.of_value(value);
        self.text.push_str(name);
    }

    fn of(&mut self, of: &Type) {
        attributes::value_type(of, self.text);
    }

    fn commas<T: Copy>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, T)) {
        for (number, item) in items.iter().enumerate() {
            self.push(if number == 0 { "" } else { ", " });
            each(self, *item);
        }
    }

    fn function(&mut self) {
        let function = self.function;
        self.line();
        self.push(if function.private { "func.func private @" } else { "func.func @" });
        attributes::symbol(&function.name, self.text);
        self.push("(");
        self.commas(&function.body.arguments, |printer, value| {
            printer.value(value);
            printer.push(": ");
            printer.of(function.type_of(value));
        });
        self.push(")");
        match function.results.as_slice() {
            [] => {}
            [one @ (Type::Scalar(_) | Type::Vector(_) | Type::Memref(_))] => {
                self.push(" -> ");
                self.of(one);
            }
            results => {
                self.push(" -> (");
                let results: Vec<&Type> = results.iter().collect();
                self.commas(&results, Self::of);
                self.push(")");
            }
        }
        let mut all = function.attributes.clone();
        if let Some(kernel) = &function.kernel {
            kernel_attributes(kernel, &mut all);
        }
        if !all.0.is_empty() {
            self.push(" attributes ");
            attributes::dictionary(&all, self.text);
        }
        self.push(" {\n");
        self.block(&function.body, true);
        self.line();
        self.push("}\n");
    }
}

/// What a kernel's attributes were.
fn kernel_attributes(kernel: &Kernel, all: &mut Attributes) {
    let number = |count: usize| {
        Attribute::Integer(i64::try_from(count).unwrap_or(i64::MAX), tpu_mlir::Element::S64)
    };
    if let Some(semantics) = &kernel.semantics {
        let semantics = semantics.iter().map(|of| Attribute::DimensionSemantics(*of));
        all.set("dimension_semantics", Attribute::Array(semantics.collect()));
    }
    if let Some(grid) = &kernel.grid {
        let bounds = Attribute::Integers(grid.clone(), tpu_mlir::Element::S64);
        all.set("iteration_bounds", bounds);
    }
    all.set("scalar_prefetch", number(kernel.scalar_prefetch));
    all.set("scratch_operands", number(kernel.scratch_operands));
    all.set("tpu.core_type", Attribute::CoreType(kernel.core));
    if let Some(windows) = &kernel.windows {
        all.set("window_params", Attribute::Array(windows.iter().map(window_attribute).collect()));
    }
}

fn window_attribute(window: &Window) -> Attribute {
    let mut named = Attributes::default();
    match &window.transform {
        Some(Transform::Function(name)) => {
            named.set("transform_indices", Attribute::Symbol(name.clone()));
        }
        Some(Transform::Map(map)) => {
            named.set("transform_indices", Attribute::AffineMap(map.clone()));
        }
        None => {}
    }
    if let Some(bounds) = &window.bounds {
        let bounds = Attribute::Integers(bounds.clone(), tpu_mlir::Element::S64);
        named.set("window_bounds", bounds);
    }
    if let Some((low, high)) = &window.element_window {
        named.set("window_kind", Attribute::ElementWindow(low.clone(), high.clone()));
    }
    if let Some(mode) = window.pipeline_mode {
        named.set("pipeline_mode", Attribute::PipelineMode(mode));
    }
    if let Some(mode) = window.revisit_mode {
        named.set("revisit_mode", Attribute::RevisitMode(mode));
    }
    Attribute::Dictionary(named)
}

impl fmt::Display for AffineMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = (0..self.dims).map(|dim| format!("d{dim}")).collect();
        let result = |of: &AffineResult| match of {
            AffineResult::Dim(dim) => format!("d{dim}"),
            AffineResult::Constant(value) => value.to_string(),
        };
        let results: Vec<String> = self.results.iter().map(result).collect();
        write!(f, "affine_map<({}) -> ({})>", dims.join(", "), results.join(", "))
    }
}
