//! Chains of reductions and of elementwise operations with what they give.
use super::writer::{ProgramWriter, Value, tensor};
use std::fmt::Write;

/// Extents with rows enough to be run in strips, and columns for more than one block and for spans
/// of their own.
const SHAPES: &[&[usize]] =
    &[&[130, 40], &[6, 70, 5], &[4, 3, 4, 9], &[5000], &[40, 130], &[3, 4], &[7, 300], &[3, 1100]];

impl ProgramWriter {
    /// A few rounds of: an operation, a reduction of it, the result beside every element again.
    pub(super) fn chain(&mut self, seen: &mut Vec<Value>, element: &'static str) {
        let dims = self.random.pick(SHAPES).to_vec();
        let to = tensor(element, &dims);
        let mut value = self.get(seen, element, &dims);
        for _ in 0..1 + self.random.below(3) {
            let other = self.get(seen, element, &dims);
            let name = self.random.pick(&["add", "multiply", "maximum"]);
            let code = format!("stablehlo.{name} {}, {} : {to}", value.0, other.0);
            let made = self.put(seen, element, &dims, &code);
            let axes: Vec<usize> = (0..dims.len()).filter(|_| self.random.below(2) == 0).collect();
            let folded = self.folded(seen, &made, &axes);
            let kept = (0..dims.len()).filter(|axis| !axes.contains(axis));
            let kept: Vec<String> = kept.map(|axis| axis.to_string()).collect();
            let from = folded.of();
            let wide = format!(
                "stablehlo.broadcast_in_dim {}, dims = [{}] : ({from}) -> {to}",
                folded.0,
                kept.join(", ")
            );
            let wide = self.put(seen, element, &dims, &wide);
            let name = self.random.pick(&["subtract", "minimum", "add"]);
            let pair = match self.random.below(3) {
                0 => [&wide, &made],
                _ => [&made, &wide],
            };
            let code = format!("stablehlo.{name} {}, {} : {to}", pair[0].0, pair[1].0);
            value = self.put(seen, element, &dims, &code);
        }
    }

    /// A reduction along some axes, and sometimes an operation on its result.
    fn folded(&mut self, seen: &mut Vec<Value>, value: &Value, axes: &[usize]) -> Value {
        let element = value.1;
        let init = self.get(seen, element, &[]);
        let kept = value.2.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let rest: Vec<usize> = kept.map(|(_, &dim)| dim).collect();
        let named: Vec<String> = axes.iter().map(ToString::to_string).collect();
        let name = self.random.pick(&["add", "maximum", "minimum"]);
        let mut code = String::new();
        write!(
            code,
            "stablehlo.reduce({} init: {}) applies stablehlo.{name} across dimensions = [{}] : ({}, {}) -> {}",
            value.0,
            init.0,
            named.join(", "),
            value.of(),
            init.of(),
            tensor(element, &rest)
        )
        .unwrap();
        let folded = self.put(seen, element, &rest, &code);
        if self.random.below(2) == 0 {
            return folded;
        }
        let code = format!("stablehlo.multiply {0}, {0} : {1}", folded.0, folded.of());
        self.put(seen, element, &rest, &code)
    }
}
