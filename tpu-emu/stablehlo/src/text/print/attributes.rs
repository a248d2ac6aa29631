//! Attributes as they stand in a dictionary.
use super::Printer;
use crate::ir::{Attribute, Attributes, AxisRef, Element, Mesh, MeshRef, TensorSharding};
use crate::text::cursor::in_name;

/// The enumeration of the words of an attribute.
const ENUMERATIONS: &[(&str, &str)] = &[
    ("comparison_direction", "comparison_direction"),
    ("compare_type", "comparison_type"),
    ("fft_type", "fft_type"),
    ("precision_config", "precision"),
    ("rng_algorithm", "rng_algorithm"),
    ("rng_distribution", "rng_distribution"),
    ("transpose_a", "transpose"),
];

impl Printer<'_> {
    /// `{name = value, …}`.
    pub(super) fn dictionary(&mut self, attributes: &Attributes) {
        self.push("{");
        self.commas(&attributes.0, |printer, (name, value)| {
            printer.named("stablehlo", name, value);
        });
        self.push("}");
    }

    /// `name = value` of an operation of a dialect.
    pub(super) fn named(&mut self, dialect: &str, name: &str, value: &Attribute) {
        if is_bare(name) {
            self.push(name);
        } else {
            self.string(name.as_bytes());
        }
        if *value != Attribute::Unit {
            self.push(" = ");
            self.attribute(dialect, name, value);
        }
    }

    /// The value of the attribute with this name.
    pub(super) fn attribute(&mut self, dialect: &str, name: &str, value: &Attribute) {
        match value {
            Attribute::Unit => self.push("unit"),
            Attribute::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Attribute::Integer(value, of) => {
                self.push(&format!("{value} : "));
                self.element(*of);
            }
            Attribute::Float(value, of) => {
                self.float(*value, *of);
                self.push(" : ");
                self.element(*of);
            }
            Attribute::String(bytes) => self.string(bytes),
            Attribute::Symbol(name) => self.symbol(name),
            Attribute::Word(word) => self.word(dialect, name, word),
            Attribute::Type(of) => self.of(of),
            Attribute::Array(items) => {
                self.push("[");
                self.commas(items, |printer, item| printer.attribute(dialect, name, item));
                self.push("]");
            }
            // Layouts are the one list that must be dense.
            Attribute::Integers(values) if matches!(name, "operand_layouts" | "result_layouts") => {
                if values.is_empty() {
                    self.push("dense<> : tensor<0xindex>");
                } else {
                    self.push(&format!("dense<{values:?}> : tensor<{}xindex>", values.len()));
                }
            }
            Attribute::Integers(values) => self.list("i64", values),
            Attribute::Booleans(values) => self.list("i1", values),
            Attribute::Dictionary(entries) if name == "result_accuracy" => self.result_accuracy(entries),
            Attribute::Dictionary(entries) => {
                self.push("{");
                self.commas(&entries.0, |printer, (name, value)| printer.named(dialect, name, value));
                self.push("}");
            }
            Attribute::Elements(elements) => self.elements(elements),
            Attribute::Location(location) => {
                let known = self.locations && location.0 > 0;
                self.push(&if known { format!("loc(#loc{})", location.0) } else { "loc(unknown)".into() });
            }
            Attribute::OutputAlias(alias) => self.push(&format!(
                "#stablehlo.output_operand_alias<output_tuple_indices = {:?}, operand_index = {}, operand_tuple_indices = {:?}>",
                alias.output, alias.operand, alias.operand_path
            )),
            Attribute::Mesh(mesh) => {
                self.push("#sdy.mesh");
                self.mesh(mesh);
            }
            Attribute::MeshAxes(groups) => self.replica_group_mesh_axes(groups),
            Attribute::Sharding(sharding) => {
                self.push("#sdy.sharding");
                self.sharding(sharding);
            }
            Attribute::Shardings(shardings) => {
                self.push("#sdy.sharding_per_value<[");
                self.commas(shardings, Self::sharding);
                self.push("]>");
            }
            Attribute::ManualAxes(axes) => {
                self.push("#sdy<manual_axes{");
                self.commas(axes, |printer, axis| printer.string(axis.as_bytes()));
                self.push("}>");
            }
            Attribute::Opaque(text) => {
                self.push("#");
                self.push(text);
            }
        }
    }

    fn list<T: ToString>(&mut self, of: &str, values: &[T]) {
        self.push(&format!("array<{of}"));
        if !values.is_empty() {
            self.push(": ");
            self.commas(values, |printer, value| printer.push(&value.to_string()));
        }
        self.push(">");
    }

    fn word(&mut self, dialect: &str, name: &str, word: &str) {
        match ENUMERATIONS.iter().find(|(attribute, _)| *attribute == name) {
            Some((_, enumeration)) => self.push(&format!("#{dialect}<{enumeration} {word}>")),
            None if name == "mode" => {
                self.push(&format!("#stablehlo.result_accuracy_mode<{word}>"))
            }
            None => self.push(&format!("#{dialect}<{name} {word}>")),
        }
    }

    fn result_accuracy(&mut self, fields: &Attributes) {
        self.push("#stablehlo.result_accuracy<");
        self.commas(&fields.0, |printer, (name, value)| {
            printer.push(name);
            printer.push(" = ");
            match value {
                Attribute::Float(value, _) => printer.float(*value, Element::F64),
                Attribute::Integer(value, _) => printer.push(&value.to_string()),
                other => printer.attribute("stablehlo", name, other),
            }
        });
        self.push(">");
    }

    /// Bytes in quotes.
    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.push("\"");
        for &byte in bytes {
            match byte {
                b'"' | b'\\' => {
                    self.push("\\");
                    self.out.push(char::from(byte));
                }
                b' '..=b'~' => self.out.push(char::from(byte)),
                _ => self.push(&format!("\\{byte:02X}")),
            }
        }
        self.push("\"");
    }

    /// `@name`.
    pub(super) fn symbol(&mut self, name: &str) {
        self.push("@");
        if is_bare(name) {
            self.push(name);
        } else {
            self.string(name.as_bytes());
        }
    }

    /// `<["x"=2], device_ids=[…]>`.
    pub(super) fn mesh(&mut self, mesh: &Mesh) {
        self.push("<[");
        self.commas(&mesh.axes, |printer, (name, size)| {
            printer.string(name.as_bytes());
            printer.push(&format!("={size}"));
        });
        self.push("]");
        if !mesh.device_ids.is_empty() {
            self.push(&format!(", device_ids={:?}", mesh.device_ids));
        }
        self.push(">");
    }

    fn sharding(&mut self, sharding: &TensorSharding) {
        self.push("<");
        match &sharding.mesh {
            MeshRef::Symbol(name) => self.symbol(name),
            MeshRef::Inline(mesh) => {
                self.push("mesh");
                self.mesh(mesh);
            }
        }
        self.push(", [");
        self.commas(&sharding.dimensions, |printer, dimension| {
            printer.push("{");
            printer.commas(&dimension.axes, Self::axis);
            if !dimension.closed {
                printer.push(if dimension.axes.is_empty() { "?" } else { ", ?" });
            }
            printer.push("}");
            if let Some(priority) = dimension.priority {
                printer.push(&format!("p{priority}"));
            }
        });
        self.push("]");
        for (word, axes) in
            [("replicated", &sharding.replicated), ("unreduced", &sharding.unreduced)]
        {
            if !axes.is_empty() {
                self.push(&format!(", {word}={{"));
                self.commas(axes, Self::axis);
                self.push("}");
            }
        }
        self.push(">");
    }

    fn axis(&mut self, axis: &AxisRef) {
        self.string(axis.name.as_bytes());
        if let Some((pre, size)) = axis.part {
            self.push(&format!(":({pre}){size}"));
        }
    }
}

/// Whether a name needs no quotes.
fn is_bare(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && name.bytes().all(in_name)
}
