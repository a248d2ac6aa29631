//! A program as other tools read it: StableHLO alone, with what was decided beside it.
//!
//! The names of the module's attributes are those that XLA's readers look for.
use super::{Executable, Format};
use crate::tensor::ArraySpec;
use crate::units::to_u64;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Element, Elements, TensorType};

impl Executable {
    /// The program as MLIR text, without the operations of Shardy, which XLA cannot show, and
    /// with the layouts and shardings of parameters and results. `None` for a program that came
    /// as HLO.
    pub fn listing(&self) -> Option<String> {
        if self.source.0 != Format::Mlir {
            return None;
        }
        let mut module =
            self.module.without_shardy().unwrap_or_else(|| Module::clone(&self.module));
        self.tell_layouts(&mut module);
        if self.options.partitions > 1 {
            self.tell_shardings(&mut module);
        }
        module.attributes.sort();
        Some(module.to_mlir(true))
    }

    fn tell_layouts(&self, module: &mut Module) {
        // A token has no layout, and a list must have one for every value.
        if self.parameters.iter().any(|of| of.token) || self.results.iter().any(|of| of.token) {
            return;
        }
        let parameters = || self.parameters.iter().map(|of| &*of.spec);
        let results = || self.results.iter().map(|of| &*of.spec);
        let list = |items: Vec<Attribute>| Attribute::Array(items);
        let told = [
            ("parameter_layouts", list(parameters().map(order).collect())),
            ("parameter_tiles", list(parameters().map(tiles).collect())),
            // XLA's module of one result has that result, any other a tuple.
            ("result_layout", one_or_list(results().map(order).collect())),
            ("result_tiles", one_or_list(results().map(tiles).collect())),
        ];
        for (name, value) in told {
            module.attributes.set(format!("mhlo.xla_entry_computation_{name}"), value);
        }
    }

    fn tell_shardings(&self, module: &mut Module) {
        let parameters = self.parameters.iter().map(|of| of.sharding.as_deref());
        let results = self.results.iter().map(|of| of.sharding.as_deref());
        let parameters = parameters.collect::<Option<Vec<&str>>>();
        let Some((parameters, results)) = parameters.zip(results.collect::<Option<Vec<&str>>>())
        else {
            return;
        };
        let parameters = parameters.into_iter().map(Attribute::string).collect();
        module.attributes.set("mhlo.spmd_parameters_shardings", Attribute::Array(parameters));
        let whole = match &results[..] {
            [one] => (*one).to_owned(),
            several => format!("{{{}}}", several.join(", ")),
        };
        module.attributes.set("mhlo.spmd_output_sharding", Attribute::string(&whole));
    }
}

fn one_or_list(mut items: Vec<Attribute>) -> Attribute {
    match items.len() {
        1 => items.remove(0),
        _ => Attribute::Array(items),
    }
}

/// Axes, minor first.
fn order(spec: &ArraySpec) -> Attribute {
    indices(spec.layout.minor_to_major.iter().map(|&axis| to_u64(axis)))
}

/// Extents of each tile.
fn tiles(spec: &ArraySpec) -> Attribute {
    let tiles = spec.layout.tiles.iter();
    Attribute::Array(tiles.map(|tile| indices(tile.iter().copied())).collect())
}

fn indices(values: impl ExactSizeIterator<Item = u64>) -> Attribute {
    let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
    let of = TensorType::new(Element::Index, vec![count]);
    let values: Vec<u64> = values.collect();
    let splat = values.len() > 1 && values.iter().all(|value| *value == values[0]);
    let shown = if splat { &values[..1] } else { &values[..] };
    let data = shown.iter().flat_map(|value| value.to_le_bytes()).collect();
    Attribute::Elements(Elements { of, data, splat })
}
