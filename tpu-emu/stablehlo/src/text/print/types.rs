//! Types.
use super::Printer;
use crate::ir::{DYNAMIC, Element, Quantization, TensorType, Type};
use crate::text::types::storage_range;

impl Printer<'_> {
    /// A type.
    pub(super) fn of(&mut self, of: &Type) {
        match of {
            Type::Tensor(tensor) => self.tensor("tensor", tensor),
            Type::Buffer(tensor) => self.tensor("memref", tensor),
            Type::Unranked(element) => {
                self.push("tensor<*x");
                self.element(*element);
                self.push(">");
            }
            Type::Scalar(element) => self.element(*element),
            Type::Token => self.push("!stablehlo.token"),
            Type::Tuple(parts) => {
                self.push("tuple<");
                self.commas(parts, Self::of);
                self.push(">");
            }
            Type::Future(parts) => {
                self.push("!stablehlo.future<");
                self.commas(parts, Self::of);
                self.push(">");
            }
            Type::Function(arguments, results) => self.function_type(arguments, results),
            Type::None => self.push("none"),
            Type::Opaque(text) => {
                self.push("!");
                self.push(text);
            }
        }
    }

    /// `(types) -> type` or `(types) -> (types)`.
    pub(super) fn function_type<'t>(
        &mut self,
        arguments: impl IntoIterator<Item = &'t Type>,
        results: impl IntoIterator<Item = &'t Type>,
    ) {
        self.push("(");
        self.commas(arguments, Self::of);
        self.push(") -> ");
        let results: Vec<_> = results.into_iter().collect();
        match results[..] {
            [one] if !matches!(one, Type::Function(..)) => self.of(one),
            _ => {
                self.push("(");
                self.commas(results, Self::of);
                self.push(")");
            }
        }
    }

    pub(super) fn element(&mut self, element: Element) {
        match Element::NAMES.iter().find(|(known, _)| *known == element) {
            Some((_, name)) => self.push(name),
            None => {
                if let Element::Other(width) = element {
                    self.push(&format!("i{width}"));
                }
            }
        }
    }

    fn tensor(&mut self, word: &str, tensor: &TensorType) {
        self.push(word);
        self.push("<");
        for &dim in &tensor.dims {
            self.extent(dim);
            self.push("x");
        }
        match &tensor.quantization {
            Some(quantization) => self.quantized(tensor.element, quantization),
            None => self.element(tensor.element),
        }
        if !tensor.bounds.is_empty() {
            self.push(", #stablehlo.bounds<");
            self.commas(&tensor.bounds, |printer, &bound| printer.extent(bound));
            self.push(">");
        }
        self.push(">");
    }

    fn extent(&mut self, extent: i64) {
        if extent == DYNAMIC {
            self.push("?");
        } else {
            self.push(&extent.to_string());
        }
    }

    fn quantized(&mut self, element: Element, of: &Quantization) {
        self.push("!quant.uniform<");
        let Quantization { storage_min, storage_max, .. } = *of;
        // Unsigned storage types are u8 here, not ui8.
        let name = Element::NAMES.iter().find(|(known, _)| *known == element);
        self.push(&name.map_or("", |(_, name)| name).replacen("ui", "u", 1));
        if (storage_min, storage_max) != storage_range(element) {
            self.push(&format!("<{storage_min}:{storage_max}>"));
        }
        self.push(":");
        self.element(of.expressed);
        if let Some(axis) = of.axis {
            self.push(&format!(":{axis}"));
        }
        self.push(", ");
        if of.axis.is_some() {
            self.push("{");
        }
        self.commas(of.scales.iter().zip(&of.zero_points), |printer, (&scale, &zero)| {
            printer.float(scale, Element::F64);
            if zero != 0 {
                printer.push(&format!(":{zero}"));
            }
        });
        if of.axis.is_some() {
            self.push("}");
        }
        self.push(">");
    }
}
