//! How the values inside of a program are split: as what they are made of and as what is made of
//! them. What the program states wins; `spread` has the order of the rest, which is Shardy's
//! (docs/decisions/0207), and `factor_axes` what one operation's arrays have.
mod edges;
mod factor_axes;
mod kinds;
mod order;
mod spread;

use super::axes::{Axes, Layout};
use super::factors::uneven;

use crate::operation_factors::{dims, factors_of};
pub(in crate::partition) use edges::manual_layouts;
use factor_axes::Alike;
use kinds::{LinkKind, count_reads, kind_of};
use order::OperationOrder;
use tpu_base::error::{Error, Result};
use tpu_ops::{Entry, Operator, SCATTER, ShardingRule, Structural};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, Block, Function, Operation, Region, Type, Value};

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
#[derive(Debug)]
enum Link {
    /// An operation: its operands and results, of which axes belong together.
    Alike(Alike),
    /// An array and one device's part of it, with the axes that part them.
    Part { whole: Value, part: Value, manual: Layout },
}

/// An operation that states how its result is split.
struct StatedSplit {
    from: Value,
    layout: Layout,
    /// Whether the program leaves none of its axes open.
    closed: bool,
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
    /// How often each value is read.
    reads: Vec<u32>,
    /// The value that each is read as: one that a loop leaves as it is, as the one outside.
    read_as: Vec<Value>,
    /// Values of which each reader has one of its own: constants, and copies of one element.
    lends_nothing: Vec<bool>,
    /// Values that loops, branches and computations give.
    given: Vec<bool>,
    stated: Vec<StatedSplit>,
    order: OperationOrder,
}

impl<'m> Propagation<'m> {
    /// The layouts of all values of a function, from those of its parameters and results.
    /// `together` are values that one call gave.
    ///
    /// # Errors
    /// `Unimplemented` for shardings that are none along the axes.
    pub(super) fn run(
        (module, function, axes): (&'m Module, &'m Function, &'m Axes),
        together: &[Vec<Value>],
        (parameters, results): (&[Layout], &[Layout]),
    ) -> Result<Layouts> {
        let whole = |of: &Type| Layout::whole(of.tensor().map_or(0, |tensor| tensor.dims.len()));
        let count = function.values.len();
        let themselves: Vec<Value> =
            (0..count).map(|value| Value(u32::try_from(value).unwrap_or(u32::MAX))).collect();
        let layouts = Layouts {
            layouts: function.values.iter().map(whole).collect(),
            stands: themselves.clone(),
            manual: vec![0; count],
            sets: vec![Vec::new()],
        };
        let mut this = Self {
            module,
            function,
            axes,
            layouts,
            closed: vec![0; count],
            even: vec![false; count],
            links: Vec::new(),
            around: 0,
            reads: vec![0; count],
            read_as: themselves,
            lends_nothing: vec![false; count],
            given: vec![false; count],
            stated: Vec::new(),
            order: OperationOrder::new(count, together),
        };
        let block = function.block().ok_or_else(|| Error::bad("the entry has no body"))?;
        for (&value, layout) in block.arguments.iter().zip(parameters) {
            this.state(value, layout.clone(), u64::MAX);
            this.given[value.0 as usize] = true;
        }
        count_reads(block, &mut this.reads);
        this.block(block)?;
        this.apply_stated();
        this.find_alone();
        let returned = block.operations.last().map_or(&[][..], |last| &last.operands);
        let states = |attributes: &Attributes| {
            attributes.get("sdy.sharding").is_some() || attributes.get("mhlo.sharding").is_some()
        };
        let returned: Vec<(Value, Layout)> = (returned.iter().zip(results).zip(&function.results))
            .filter(|(_, (_, attributes))| states(attributes))
            .map(|((&value, layout), _)| (value, layout.clone()))
            .collect();
        this.spread(&returned);
        Ok(this.layouts)
    }

    /// Notes the operations whose operands nothing else reads.
    fn find_alone(&mut self) {
        for value in 0..self.reads.len() {
            let root = self.read_as[value].0 as usize;
            if root != value {
                self.reads[root] = self.reads[root].saturating_add(self.reads[value]);
            }
        }
        let mut links = std::mem::take(&mut self.links);
        for link in &mut links {
            if let Link::Alike(link) = link
                && link.kind != LinkKind::Edge
            {
                link.alone = link.operands().iter().all(|value| {
                    let root = self.read_as[value.0 as usize];
                    self.is_scalar(*value) || self.reads[root.0 as usize] == 1
                });
            }
        }
        self.links = links;
    }

    /// Splits what is stated to be split otherwise further on already where it is made, unless it is
    /// stated in several ways.
    fn apply_stated(&mut self) {
        let stated = std::mem::take(&mut self.stated);
        for one in stated.iter().filter(|one| one.closed) {
            let at = one.from.0 as usize;
            let alike = |other: &StatedSplit| other.from != one.from || other.layout == one.layout;
            if self.closed[self.index(one.from)] == 0 && !self.given[at] && stated.iter().all(alike)
            {
                self.state(one.from, one.layout.clone(), u64::MAX);
            }
        }
    }

    fn is_scalar(&self, value: Value) -> bool {
        dims(self.function, value).is_some_and(<[i64]>::is_empty)
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
        let order = self.order.of(block);
        order.into_iter().try_for_each(|at| self.operation(&block.operations[at]))
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
                }
                for (at, &result) in operation.results.iter().enumerate() {
                    let made = operation.regions.iter().filter_map(|region| {
                        region.blocks.first()?.operations.last()?.operands.get(at).copied()
                    });
                    let made: Vec<Value> = made.collect();
                    self.edge(&made, result);
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
                    let moved = entry.sharding == ShardingRule::Moved;
                    self.same(
                        if moved { LinkKind::Moving } else { LinkKind::Other },
                        &[*from],
                        *to,
                    );
                } else if let Some(factors) = factors_of(self.function, operation) {
                    let mut kind = kind_of(self.function, operation, entry, &factors);
                    self.note_constants(operation, kind);
                    if self.is_picked(operation, entry) {
                        kind = LinkKind::Copying;
                    }
                    let arrays = (&operation.operands[..], &operation.results[..]);
                    self.links.push(Link::Alike(Alike::new(kind, arrays, factors)));
                }
                Ok(())
            }
        }
    }

    /// Whether an operation puts one element into each row of zeros, as the gradient of what picks
    /// one of each does: to a chip that is a choice of these elements, copied along the rows.
    fn is_picked(&self, operation: &Operation, entry: &Entry) -> bool {
        let listed = |name: &str| {
            operation.attributes.integers(name).is_some_and(|listed| !listed.is_empty())
        };
        let &[into, _, _] = &operation.operands[..] else { return false };
        entry.mnemonic == SCATTER.mnemonic
            && self.lends_nothing[into.0 as usize]
            && listed("input_batching_dims")
            && !listed("update_window_dims")
    }

    /// Notes results of which every reader has one of its own.
    fn note_constants(&mut self, operation: &Operation, kind: LinkKind) {
        let one = |value: &Value| {
            let scalar = kind == LinkKind::Copying && self.is_scalar(*value);
            self.lends_nothing[value.0 as usize] || scalar
        };
        let simple = operation.operands.is_empty()
            || matches!(kind, LinkKind::Elementwise | LinkKind::Copying | LinkKind::Moving);
        if simple && operation.operands.iter().all(one) {
            for result in &operation.results {
                self.lends_nothing[result.0 as usize] = true;
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
                    self.note_stated(operation, &layout, closed == u64::MAX);
                    self.state(result, layout, closed);
                }
            }
            (ShardingRule::Annotated | ShardingRule::Join, _, Some(text)) => {
                let layout = self.text(text, result)?;
                // Axes that are not stated here may be those of code around this.
                if self.fits(result, &layout) {
                    let open = text.contains("last_tile_dims") || text.contains("manual");
                    if rule == ShardingRule::Annotated {
                        self.note_stated(operation, &layout, !open);
                    }
                    self.state(result, layout, if open { 0 } else { u64::MAX });
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn note_stated(&mut self, operation: &Operation, layout: &Layout, closed: bool) {
        if let &[from] = &operation.operands[..] {
            self.stated.push(StatedSplit { from, layout: layout.clone(), closed });
        }
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
