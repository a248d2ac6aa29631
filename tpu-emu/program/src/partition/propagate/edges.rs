//! Where one value has several names: at loops, branches, computations with a name, and code per
//! device.
use super::factor_axes::Alike;
use super::kinds::LinkKind;
use super::{Link, Propagation};
use crate::grid::mesh_of;
use crate::operation_factors::dims;
use crate::partition::axes::{Axes, Layout};
use tpu_base::error::Result;
use tpu_ops::factors::{Factor, FactorKind};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Block, Operation, TensorSharding, Value};

impl Propagation<'_> {
    /// Makes arrays alike along all axes.
    pub(super) fn same(&mut self, kind: LinkKind, from: &[Value], to: Value) {
        let Some(extents) = dims(self.function, to) else { return };
        let rank = extents.len();
        if rank == 0 {
            return;
        }
        let kept = |&size: &i64| Factor { size, kind: FactorKind::Kept, even: false };
        let map: Vec<Vec<usize>> = (0..rank).map(|axis| vec![axis]).collect();
        let arrays = [from, &[to]].concat();
        self.links.push(Link::Alike(Alike {
            kind,
            alone: true,
            from: from.len(),
            factors: extents.iter().map(kept).collect(),
            maps: vec![map; arrays.len()],
            arrays,
        }));
    }

    /// A value that is another one, under another name.
    pub(super) fn edge(&mut self, from: &[Value], to: Value) {
        self.given[to.0 as usize] = true;
        self.same(LinkKind::Edge, from, to);
    }

    pub(super) fn r#while(&mut self, operation: &Operation) -> Result<()> {
        let blocks = operation.regions.iter().filter_map(|region| region.blocks.first());
        let blocks: Vec<&Block> = blocks.collect();
        let last = blocks.get(1).and_then(|body| body.operations.last());
        let made = last.map_or(&[][..], |last| &last.operands);
        for (at, (&first, &result)) in operation.operands.iter().zip(&operation.results).enumerate()
        {
            let inner: Vec<Value> =
                blocks.iter().filter_map(|block| block.arguments.get(at).copied()).collect();
            let stays = inner.get(1).is_some_and(|inner| made.get(at) == Some(inner));
            for &inner in &inner {
                self.given[inner.0 as usize] = true;
                self.layouts.stands[inner.0 as usize] = result;
                self.layouts.manual[inner.0 as usize] = self.layouts.manual[result.0 as usize];
            }
            if stays {
                self.seen_inside(first, result, &inner);
            }
        }
        for region in &operation.regions {
            self.inside(region)?;
        }
        for ((&result, &made), &first) in
            operation.results.iter().zip(made).zip(&operation.operands)
        {
            if self.read_as[result.0 as usize] == result {
                self.edge(&[first, made], result);
            }
        }
        Ok(())
    }

    /// An array that a loop leaves as it is: code inside reads the one outside.
    fn seen_inside(&mut self, first: Value, result: Value, inner: &[Value]) {
        if self.lends_nothing[first.0 as usize] {
            // Each reader has a constant of its own.
            inner.iter().for_each(|inner| self.lends_nothing[inner.0 as usize] = true);
            return;
        }
        let at = self.index(first);
        let root = self.read_as[first.0 as usize];
        for &one in inner.iter().chain([&result]) {
            self.read_as[one.0 as usize] = root;
        }
        // The loop's operand, and what its body gives back, are no reads.
        self.reads[root.0 as usize] = self.reads[root.0 as usize].saturating_sub(2);
        if self.closed[at] == 0 {
            let stand = self.layouts.stands[first.0 as usize];
            for &one in inner.iter().chain([&result]) {
                self.layouts.stands[one.0 as usize] = stand;
            }
        } else {
            // What is stated to be split in one way may be split further inside.
            let layout = self.layouts.layouts[at].clone();
            self.state(result, layout, 0);
            self.same(LinkKind::Other, &[first], result);
        }
    }

    pub(super) fn named(&mut self, operation: &Operation) -> Result<()> {
        let Some(block) = operation.regions.first().and_then(|region| region.blocks.first()) else {
            return Ok(());
        };
        for (&outer, &inner) in operation.operands.iter().zip(&block.arguments) {
            self.edge(&[outer], inner);
        }
        self.block(block)?;
        let returned = block.operations.last().map_or(&[][..], |last| &last.operands);
        for (&outer, &inner) in operation.results.iter().zip(returned) {
            self.edge(&[inner], outer);
        }
        Ok(())
    }

    pub(super) fn manual(&mut self, operation: &Operation) -> Result<()> {
        let (ins, outs, manual) = manual_layouts((self.module, self.axes), operation)?;
        let Some(block) = operation.regions.first().and_then(|region| region.blocks.first()) else {
            return Ok(());
        };
        let pairs = operation.operands.iter().zip(&block.arguments);
        for ((&whole, &part), manual) in pairs.zip(ins) {
            self.given[part.0 as usize] = true;
            self.links.push(Link::Part { whole, part, manual });
        }
        let outer = self.around;
        let mut axes = [&self.layouts.sets[usize::from(outer)][..], &manual].concat();
        axes.sort_unstable();
        axes.dedup();
        self.around = self.layouts.set(axes);
        for argument in &block.arguments {
            self.layouts.manual[argument.0 as usize] = self.around;
        }
        self.block(block)?;
        self.around = outer;
        let returned = block.operations.last().map_or(&[][..], |last| &last.operands);
        for ((&whole, &part), manual) in operation.results.iter().zip(returned).zip(outs) {
            self.given[whole.0 as usize] = true;
            if self.fits(whole, &manual) {
                self.seed(whole, &manual);
            }
            self.links.push(Link::Part { whole, part, manual });
        }
        Ok(())
    }
}

/// The layouts of operands and results of code that runs per device, along the axes that it parts
/// them by, and those axes.
pub(in crate::partition) fn manual_layouts(
    (module, axes): (&Module, &Axes),
    operation: &Operation,
) -> Result<(Vec<Layout>, Vec<Layout>, Vec<u8>)> {
    let attributes = &operation.attributes;
    let names = attributes.manual_axes();
    let mut all = Vec::new();
    let mut of = |key: &str| -> Result<Vec<Layout>> {
        let Some(Attribute::Shardings(stated)) = attributes.get(key) else { return Ok(Vec::new()) };
        let mut one = |stated: &TensorSharding| {
            let manual = axes.named(mesh_of(module, &stated.mesh)?, names)?;
            let (mut layout, _) = axes.stated(stated, module)?;
            layout.0.iter_mut().for_each(|split| split.retain(|axis| manual.contains(axis)));
            all = manual;
            Ok(layout)
        };
        stated.iter().map(&mut one).collect()
    };
    let (ins, outs) = (of("in_shardings")?, of("out_shardings")?);
    Ok((ins, outs, all))
}
