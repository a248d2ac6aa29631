//! A program as other tools read it.
use super::{Executable, Format};
use tpu_stablehlo::ir::Attribute;

impl Executable {
    /// The program as MLIR text in StableHLO alone, where its own bytes would not do: they have
    /// operations of another dialect, or a sharding for each device that other tools look for
    /// beside the program. `None` says that the bytes do.
    pub fn listing(&self) -> Option<String> {
        if self.source.0 != Format::Mlir {
            return None;
        }
        let mut plain = self.module.without_shardy();
        if self.options.partitions > 1 {
            let parameters = self.parameters.iter().map(|of| of.sharding.as_deref());
            let results = self.results.iter().map(|of| of.sharding.as_deref());
            let all = parameters.collect::<Option<Vec<&str>>>();
            let all = all.zip(results.collect::<Option<Vec<&str>>>());
            if let Some((parameters, results)) = all {
                let module = plain.get_or_insert_with(|| (*self.module).clone());
                let list = parameters.into_iter().map(Attribute::string).collect();
                module.attributes.set("mhlo.spmd_parameters_shardings", Attribute::Array(list));
                let whole = match &results[..] {
                    [one] => (*one).to_owned(),
                    several => format!("{{{}}}", several.join(", ")),
                };
                let whole = Attribute::string(&whole);
                module.attributes.set("mhlo.spmd_output_sharding", whole);
                module.attributes.sort();
            }
        }
        plain.map(|module| module.to_mlir(true))
    }
}
