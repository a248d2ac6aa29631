//! How the values inside of a program are split: as what they are made of and as what is made of
//! them. What the program states wins, then operations that keep axes as they are, then the others.
use super::axes::{Axes, Layout};
use super::factors::{joined, projected, uneven};
use crate::grid::mesh_of;
use crate::operation_factors::{dims, factors_of};
use std::cmp::Reverse;
use tpu_base::error::{Error, Result};
use tpu_ops::factors::{FactorKind, Factors};
use tpu_ops::{Operator, ShardingRule, Structural};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{
    Attribute, Block, Function, Operation, Region, TensorSharding, Type, Value,
};

/// The most times that a program is gone through.
const ROUNDS: usize = 12;

/// How values are split.
#[derive(Debug)]
pub(super) struct Layouts {
    layouts: Vec<Layout>,
    /// The value that stands for each: a loop's parameters and results are one.
    stands: Vec<Value>,
    /// Which of `sets` has the axes along which each value is one device's already.
    manual: Vec<u16>,
    sets: Vec<Vec<u8>>,
}

impl Layouts {
    /// That of a value.
    pub(super) fn of(&self, value: Value) -> &Layout {
        &self.layouts[self.stands[value.0 as usize].0 as usize]
    }

    /// The axes along which some values, or one of them, are one device's already: nothing splits
    /// them along these.
    pub(super) fn manual(&self, values: &[Value]) -> &[u8] {
        &self.sets[usize::from(self.set_of(values))]
    }

    fn set_of(&self, values: &[Value]) -> u16 {
        values.iter().map(|value| self.manual[value.0 as usize]).max().unwrap_or(0)
    }

    fn set(&mut self, axes: Vec<u8>) -> u16 {
        let known = self.sets.iter().position(|set| *set == axes);
        let at = known.unwrap_or_else(|| {
            self.sets.push(axes);
            self.sets.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }
}

/// What makes values alike.
enum Link {
    /// An operation: its operands and results, of which axes belong together.
    Factors { arrays: Vec<Value>, factors: Factors, easy: bool },
    /// Two names of one value.
    Same(Value, Value),
    /// An array and one device's part of it, with the axes that part them.
    Part { whole: Value, part: Value, manual: Layout },
}

/// Follows the links of a function.
pub(super) struct Propagation<'m> {
    module: &'m Module,
    function: &'m Function,
    axes: &'m Axes,
    layouts: Layouts,
    /// Axes of each array that are split as they are, one bit each.
    closed: Vec<u64>,
    /// Whether all devices have as much of a value: code per device begins or ends there.
    even: Vec<bool>,
    links: Vec<Link>,
    /// Which set of axes the code around is written per device for.
    around: u16,
}

impl<'m> Propagation<'m> {
    /// The layouts of all values of a function, from those of its parameters and results.
    ///
    /// # Errors
    /// `Unimplemented` for shardings that are none along the axes.
    pub(super) fn run(
        (module, function, axes): (&'m Module, &'m Function, &'m Axes),
        parameters: &[Layout],
        results: &[Layout],
    ) -> Result<Layouts> {
        let whole = |of: &Type| Layout::whole(of.tensor().map_or(0, |tensor| tensor.dims.len()));
        let layouts = Layouts {
            layouts: function.values.iter().map(whole).collect(),
            stands: (0..function.values.len())
                .map(|value| Value(u32::try_from(value).unwrap_or(u32::MAX)))
                .collect(),
            manual: vec![0; function.values.len()],
            sets: vec![Vec::new()],
        };
        let closed = vec![0; function.values.len()];
        let (even, links) = (vec![false; function.values.len()], Vec::new());
        let mut this = Self { module, function, axes, layouts, closed, even, links, around: 0 };
        let block = function.block().ok_or_else(|| Error::bad("the entry has no body"))?;
        for (&value, layout) in block.arguments.iter().zip(parameters) {
            this.state(value, layout.clone(), u64::MAX);
        }
        this.block(block)?;
        let returned = block.operations.last().map_or(&[][..], |last| &last.operands);
        for (&value, layout) in returned.iter().zip(results) {
            this.seed(value, layout);
        }
        for easy in [true, false] {
            for _ in 0..ROUNDS {
                let links = std::mem::take(&mut this.links);
                let mut changed = false;
                for link in &links {
                    changed |= this.follow(link, (easy, true));
                }
                for link in links.iter().rev() {
                    changed |= this.follow(link, (easy, false));
                }
                this.links = links;
                if !changed {
                    break;
                }
            }
        }
        Ok(this.layouts)
    }

    fn index(&self, value: Value) -> usize {
        self.layouts.stands[value.0 as usize].0 as usize
    }

    fn state(&mut self, value: Value, layout: Layout, closed: u64) {
        let at = self.index(value);
        if layout.0.len() == self.layouts.layouts[at].0.len() {
            self.layouts.layouts[at] = layout;
            self.closed[at] = closed;
        }
    }

    /// What a value is split as, where nothing says otherwise.
    fn seed(&mut self, value: Value, layout: &Layout) {
        let at = self.index(value);
        let had = &mut self.layouts.layouts[at];
        if self.closed[at] == 0 && had.is_whole() && had.0.len() == layout.0.len() {
            had.clone_from(layout);
        }
    }

    fn block(&mut self, block: &Block) -> Result<()> {
        for operation in &block.operations {
            self.operation(operation)?;
        }
        Ok(())
    }

    fn inside(&mut self, region: &Region) -> Result<()> {
        region.blocks.iter().try_for_each(|block| self.block(block))
    }

    /// Notes along which axes the results are one device's already.
    fn contexts(&mut self, operation: &Operation) {
        let rule = Operator::of(operation).row().map(|entry| entry.sharding);
        let set = match rule {
            Some(ShardingRule::Split) => {
                let all = self.axes.all();
                self.layouts.set(all)
            }
            Some(ShardingRule::Join) => self.around,
            _ => self.around.max(self.layouts.set_of(&operation.operands)),
        };
        for result in &operation.results {
            self.layouts.manual[result.0 as usize] = set;
        }
        if matches!(rule, Some(ShardingRule::Split | ShardingRule::Join)) {
            for &value in operation.operands.iter().chain(&operation.results) {
                let at = self.index(value);
                self.even[at] = true;
            }
        }
    }

    fn operation(&mut self, operation: &Operation) -> Result<()> {
        self.contexts(operation);
        match Operator::of(operation) {
            Operator::Structural(Structural::While) => self.r#while(operation),
            Operator::Structural(Structural::If | Structural::Case) => {
                for region in &operation.regions {
                    self.inside(region)?;
                    let last = region.blocks.first().and_then(|block| block.operations.last());
                    for (&result, &made) in
                        operation.results.iter().zip(last.map_or(&[][..], |last| &last.operands))
                    {
                        self.links.push(Link::Same(made, result));
                    }
                }
                Ok(())
            }
            Operator::Structural(Structural::ManualComputation) => self.manual(operation),
            Operator::Structural(Structural::NamedComputation) => self.named(operation),
            Operator::Structural(_) | Operator::Registered | Operator::Unknown => Ok(()),
            Operator::Row(entry) => {
                self.stated(operation, entry.sharding)?;
                let passes = matches!(
                    entry.sharding,
                    ShardingRule::Stated
                        | ShardingRule::Annotated
                        | ShardingRule::Moved
                        | ShardingRule::Inspected
                );
                if let (true, [from], [to]) =
                    (passes, &operation.operands[..], &operation.results[..])
                {
                    self.links.push(Link::Same(*from, *to));
                } else if let Some(factors) = factors_of(self.function, operation) {
                    let kept = factors.factors.iter().all(|of| of.kind == FactorKind::Kept);
                    let shaped = matches!(
                        entry.sharding,
                        ShardingRule::Same | ShardingRule::Permuted | ShardingRule::Reshaped
                    );
                    let arrays =
                        operation.operands.iter().chain(&operation.results).copied().collect();
                    self.links.push(Link::Factors { arrays, factors, easy: kept && shaped });
                }
                Ok(())
            }
        }
    }

    /// What an operation states of its result.
    fn stated(&mut self, operation: &Operation, rule: ShardingRule) -> Result<()> {
        let &[result] = &operation.results[..] else { return Ok(()) };
        let attributes = &operation.attributes;
        match (rule, attributes.get("sharding"), attributes.text("mhlo.sharding")) {
            (ShardingRule::Stated, Some(Attribute::Sharding(stated)), _) => {
                let (layout, open) = self.axes.stated(stated, self.module)?;
                let open = open.iter().enumerate().filter(|(_, open)| **open);
                let closed = open.fold(u64::MAX, |bits, (axis, _)| bits & !(1 << axis.min(63)));
                if self.fits(result, &layout) {
                    self.state(result, layout, closed);
                }
            }
            (ShardingRule::Annotated | ShardingRule::Join, _, Some(text)) => {
                let layout = self.text(text, result)?;
                // Axes that are not stated here may be those of code around this.
                if self.fits(result, &layout) {
                    let open = text.contains("last_tile_dims") || text.contains("manual");
                    self.state(result, layout, if open { 0 } else { u64::MAX });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The layout that a text of HLO says.
    fn text(&self, text: &str, value: Value) -> Result<Layout> {
        let rank = dims(self.function, value).map_or(0, <[i64]>::len);
        let sharding = crate::sharding::Sharding::parse(text, rank, self.axes.devices)?;
        self.axes.found(&sharding)
    }

    fn fits(&self, value: Value, layout: &Layout) -> bool {
        dims(self.function, value).is_some_and(|dims| {
            let even = |(&dim, axes): (&i64, &Vec<u8>)| {
                usize::try_from(dim).is_ok_and(|dim| dim.is_multiple_of(self.axes.count(axes)))
            };
            dims.len() == layout.0.len() && dims.iter().zip(&layout.0).all(even)
        })
    }

    fn r#while(&mut self, operation: &Operation) -> Result<()> {
        for region in &operation.regions {
            let Some(block) = region.blocks.first() else { continue };
            for (&inner, &result) in block.arguments.iter().zip(&operation.results) {
                self.layouts.stands[inner.0 as usize] = result;
                self.layouts.manual[inner.0 as usize] = self.layouts.manual[result.0 as usize];
            }
        }
        for (&operand, &result) in operation.operands.iter().zip(&operation.results) {
            self.links.push(Link::Same(operand, result));
        }
        for region in &operation.regions {
            self.inside(region)?;
        }
        let body = operation.regions.get(1).and_then(|region| region.blocks.first());
        let last = body.and_then(|block| block.operations.last());
        for (&result, &made) in
            operation.results.iter().zip(last.map_or(&[][..], |last| &last.operands))
        {
            self.links.push(Link::Same(made, result));
        }
        Ok(())
    }

    fn named(&mut self, operation: &Operation) -> Result<()> {
        let Some(block) = operation.regions.first().and_then(|region| region.blocks.first()) else {
            return Ok(());
        };
        for (&outer, &inner) in operation.operands.iter().zip(&block.arguments) {
            self.links.push(Link::Same(outer, inner));
        }
        self.block(block)?;
        let returned = block.operations.last().map_or(&[][..], |last| &last.operands);
        for (&outer, &inner) in operation.results.iter().zip(returned) {
            self.links.push(Link::Same(inner, outer));
        }
        Ok(())
    }

    fn manual(&mut self, operation: &Operation) -> Result<()> {
        let (ins, outs, manual) = manual_layouts((self.module, self.axes), operation)?;
        let Some(block) = operation.regions.first().and_then(|region| region.blocks.first()) else {
            return Ok(());
        };
        let pairs = operation.operands.iter().zip(&block.arguments);
        for ((&whole, &part), manual) in pairs.zip(ins) {
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
            if self.fits(whole, &manual) {
                self.seed(whole, &manual);
            }
            self.links.push(Link::Part { whole, part, manual });
        }
        Ok(())
    }

    /// Whether anything is known then that was not.
    fn follow(&mut self, link: &Link, (easy, forward): (bool, bool)) -> bool {
        match link {
            Link::Same(from, to) => {
                let pair = if forward { [*from, *to] } else { [*to, *from] };
                let layout = self.layouts.of(pair[0]).clone();
                let mut changed = false;
                for (axis, split) in layout.0.into_iter().enumerate() {
                    changed |= self.extend(pair[1], axis, &split);
                }
                changed
            }
            Link::Part { whole, part, manual } => {
                let mut changed = false;
                for (axis, own) in manual.0.iter().enumerate() {
                    if forward {
                        let Some(split) = self.layouts.of(*whole).0.get(axis).cloned() else {
                            break;
                        };
                        if let Some(rest) = split.strip_prefix(&own[..]) {
                            changed |= self.extend(*part, axis, rest);
                        }
                    } else {
                        let Some(split) = self.layouts.of(*part).0.get(axis).cloned() else {
                            break;
                        };
                        if !split.is_empty() {
                            changed |= self.extend(*whole, axis, &[&own[..], &split].concat());
                        }
                    }
                }
                changed
            }
            Link::Factors { easy: false, .. } if easy => false,
            Link::Factors { arrays, factors, .. } => self.factors(arrays, factors, forward),
        }
    }

    fn factors(&mut self, arrays: &[Value], factors: &Factors, forward: bool) -> bool {
        let maps: Vec<&Vec<Vec<usize>>> = factors.operands.iter().chain(&factors.results).collect();
        let mut chosen: Vec<Vec<u8>> = vec![Vec::new(); factors.factors.len()];
        // Elements of the largest array that each of these comes from.
        let mut sources = vec![0_i64; factors.factors.len()];
        let mut look = |at: usize| {
            let layout = self.layouts.of(arrays[at]);
            for (factor, split) in projected(self.axes, layout, maps[at], &factors.factors) {
                let extents = dims(self.function, arrays[at]).unwrap_or_default();
                let elements = extents.iter().fold(1_i64, |all, &dim| all.saturating_mul(dim));
                if split.len() > chosen[factor].len() && split.starts_with(&chosen[factor]) {
                    (chosen[factor], sources[factor]) = (split, elements);
                } else if split == chosen[factor] {
                    sources[factor] = sources[factor].max(elements);
                }
            }
        };
        if forward {
            (0..arrays.len()).for_each(&mut look);
        } else {
            (0..arrays.len()).rev().for_each(&mut look);
        }
        if chosen.iter().all(Vec::is_empty) {
            return false;
        }
        let mut changed = false;
        for (&array, map) in arrays.iter().zip(&maps) {
            let mut wanted: Vec<(usize, &Vec<usize>)> =
                map.iter().enumerate().filter(|(_, list)| !list.is_empty()).collect();
            // Where what is looked up may be split as the indices or as the table's rows are, it is
            // as the larger of these.
            if !factors.looked_up.is_empty() {
                let largest = |list: &Vec<usize>| list.iter().map(|&factor| sources[factor]).max();
                wanted.sort_by_key(|(_, list)| Reverse(largest(list)));
            }
            for (axis, list) in wanted {
                let split = joined(self.axes, list, &factors.factors, &chosen);
                changed |= self.extend(array, axis, &split);
            }
        }
        changed
    }

    /// Splits an axis of an array further, as far as that is free.
    fn extend(&mut self, value: Value, axis: usize, split: &[u8]) -> bool {
        let at = self.index(value);
        let layout = &self.layouts.layouts[at];
        let Some(had) = layout.0.get(axis) else { return false };
        if split.len() <= had.len() || !split.starts_with(had) {
            return false;
        }
        if self.closed[at] >> axis.min(63) & 1 != 0 {
            return false;
        }
        let Some(&size) = dims(self.function, value).and_then(|dims| dims.get(axis)) else {
            return false;
        };
        let manual = self.layouts.manual(&[value]);
        let taken = |more: &u8| layout.uses(*more) || manual.contains(more);
        let once = |&at: &usize| !taken(&split[at]) && !split[..at].contains(&split[at]);
        let free = (had.len()..split.len()).take_while(once).count();
        let list = &split[..had.len() + free];
        let lopsided = manual.is_empty() && !self.even[at] && list.len() == split.len();
        let fits = |length: &usize| {
            let count = i64::try_from(self.axes.count(&list[..*length])).unwrap_or(i64::MAX);
            let all = *length == split.len();
            size > 0 && (size % count == 0 || all && lopsided && uneven(size, count))
        };
        let length = (had.len() + 1..=list.len()).rev().find(fits).unwrap_or(had.len());
        let new = list[..length].to_vec();
        let changed = new.len() > had.len();
        self.layouts.layouts[at].0[axis] = new;
        changed
    }
}

/// The layouts of operands and results of code that runs per device, along the axes that it parts
/// them by, and those axes.
pub(super) fn manual_layouts(
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
