//! A program as other tools read it: StableHLO alone, with what was decided beside it.
//!
//! The names of the module's attributes are those that XLA's readers look for.
use super::{Executable, Format, kernels};
use crate::hbm::spec::ArraySpec;
use tpu_base::units::to_u64;
use tpu_program::grid;
use tpu_program::partition::{Form, partition};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Element, Elements, Region, TensorType};

/// The most operations that a listing has where functions were called.
const OPERATIONS: usize = 1 << 16;

/// Begins the names of attributes of the module that are the entry's.
const ENTRY: &str = "mhlo.xla_entry_computation_";

impl Executable {
    /// The program without the operations of Shardy, which XLA cannot show, with the bodies of
    /// functions where they were called, as compiled programs have them, and with the layouts
    /// and shardings of parameters and results. `None` for a program that came as HLO. Of a
    /// program over several devices it is that of one of them.
    pub fn listing(&self) -> Option<Module> {
        if self.source.0 != Format::Mlir {
            return None;
        }
        let part = self.part();
        let whole = part.is_none();
        let mut module = part.unwrap_or_else(|| Module::clone(&self.module));
        if whole {
            dense_groups(&mut module);
        }
        // The bodies of reductions are as they came, also in a part.
        module = module.without_shardy().unwrap_or(module);
        if whole {
            module = module.with_calls_inlined(OPERATIONS).unwrap_or(module);
        }
        kernels::describe(&mut module, &self.kernels);
        self.report_layouts(&mut module);
        if self.options.partitions > 1 {
            self.report_shardings(&mut module);
        }
        module.attributes.sort();
        Some(module)
    }

    /// The program of one device; `None` for one that is not over several devices, or cannot be
    /// taken apart.
    fn part(&self) -> Option<Module> {
        let known = self.own.is_some() && !self.spread.replicas;
        let io_shardings = self.io_shardings.as_ref().filter(|_| known)?;
        let over = (self.spread.count, false);
        partition(&self.module, io_shardings, over, Form::Text).ok().map(|part| part.module)
    }

    fn report_layouts(&self, module: &mut Module) {
        let parameters = || self.parameters.iter().map(|of| (&*of.spec, of.token));
        let results = || self.results.iter().map(|of| (&*of.spec, of.token));
        // jaxlib up to 0.5 gives these to the module's first computation, which is the entry only
        // where it is alone, and ends the process where that has fewer parameters or no tuple.
        if module.functions.len() > 1 || has_regions(module) {
            return;
        }
        let layouts = [
            ("parameter_layouts", Attribute::Array(parameters().map(order).collect())),
            ("parameter_tiles", Attribute::Array(parameters().map(tiles).collect())),
            ("result_layout", whole(results().map(order).collect())),
            ("result_tiles", whole(results().map(tiles).collect())),
        ];
        for (name, value) in layouts {
            module.attributes.set(format!("{ENTRY}{name}"), value);
        }
    }

    fn report_shardings(&self, module: &mut Module) {
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
            // XLA counts one array in a tuple of none.
            [] => "{{replicated}}".to_owned(),
            several => format!("{{{}}}", several.join(", ")),
        };
        module.attributes.set("mhlo.spmd_output_sharding", Attribute::string(&whole));
    }
}

/// Whether a [listing](Executable::listing) says how its parameters and results lie.
pub fn tells_layouts(module: &Module) -> bool {
    module.attributes.get(&format!("{ENTRY}parameter_layouts")).is_some()
}

/// Writes groups of devices along axes of a mesh as their numbers: their meshes are Shardy's, and
/// XLA's way back from MLIR to HLO ends the process at some that are written in their place.
fn dense_groups(module: &mut Module) {
    let mut functions = std::mem::take(&mut module.functions);
    let mut regions: Vec<&mut Region> =
        functions.iter_mut().map(|function| &mut function.body).collect();
    while let Some(region) = regions.pop() {
        for operation in region.blocks.iter_mut().flat_map(|block| &mut block.operations) {
            for (_, attribute) in &mut operation.attributes.0 {
                if let Attribute::MeshAxes(axes) = attribute
                    && let Ok(groups) = grid::groups(module, axes)
                {
                    *attribute = rows(&groups);
                }
            }
            regions.extend(&mut operation.regions);
        }
    }
    module.functions = functions;
}

/// Groups of one size as an array.
fn rows(groups: &[Vec<usize>]) -> Attribute {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let dims = vec![number(groups.len()), number(groups.first().map_or(0, Vec::len))];
    let data = groups.iter().flatten().flat_map(|&device| number(device).to_le_bytes()).collect();
    let of = TensorType::new(Element::S64, dims);
    Attribute::Elements(Elements { of, data, splat: false })
}

fn has_regions(module: &Module) -> bool {
    let blocks = module.functions.iter().flat_map(|function| &function.body.blocks);
    blocks.flat_map(|block| &block.operations).any(|operation| !operation.regions.is_empty())
}

/// What an HLO module's one result has: that of the program's one result, or of the tuple that
/// stands for any other number of them.
fn whole(mut items: Vec<Attribute>) -> Attribute {
    if items.len() != 1 {
        items = vec![Attribute::Array(items)];
    }
    Attribute::Array(items)
}

/// Axes, minor first; a token has none.
fn order((spec, token): (&ArraySpec, bool)) -> Attribute {
    let axes = if token { &[][..] } else { &spec.layout.minor_to_major };
    indices(axes.iter().map(|&axis| to_u64(axis)))
}

/// Extents of each tile; a token has none. Nor has an array of elements below a byte: there is no
/// attribute for their bits, and JAX up to 0.8 takes tiles without them for another layout than
/// the one that it asks for.
fn tiles((spec, token): (&ArraySpec, bool)) -> Attribute {
    let none = token || spec.layout.element_bits.is_some();
    let tiles = if none { &[][..] } else { &spec.layout.tiles };
    Attribute::Array(tiles.iter().map(|tile| indices(tile.iter().copied())).collect())
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
