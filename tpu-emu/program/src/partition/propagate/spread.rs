//! The order in which operations make their arrays alike, and what they do where arrays disagree:
//! as Shardy, the partitioner of XLA, has both.
//!
//! Operations that leave elements where they are come first, then factors that no operation needs
//! whole, then all. Whatever changes has the operations around it done next.
use super::super::axes::{Axes, Layout};
use super::factor_axes::{Alike, FactoredArray, GivenArray, longest};
use super::kinds::{LinkKind, STEPS, SpreadFrom, SpreadStep, direction};
use super::{Link, Propagation};
use tpu_ops::factors::FactorKind;
use tpu_stablehlo::ir::Value;

/// The links that a value is in: that of what makes it, and those of what reads it.
#[derive(Debug, Default, Clone)]
struct LinksAround {
    makes: Vec<u32>,
    reads: Vec<u32>,
}

/// The links that are to be followed, the next one last.
struct WaitingLinks {
    stack: Vec<u32>,
    is_in: Vec<bool>,
}

impl WaitingLinks {
    fn push(&mut self, link: u32) {
        if !std::mem::replace(&mut self.is_in[link as usize], true) {
            self.stack.push(link);
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let link = self.stack.pop()?;
        self.is_in[link as usize] = false;
        Some(link)
    }
}

impl Propagation<'_> {
    /// Spreads what is known until nothing more is; `returned` are the values that the program
    /// gives back, with what it says of them.
    pub(super) fn spread(&mut self, returned: &[(Value, Layout)]) {
        let links = std::mem::take(&mut self.links);
        let around = self.around_values(&links);
        let count = u32::try_from(links.len()).unwrap_or(u32::MAX);
        let mut waiting = WaitingLinks { stack: Vec::new(), is_in: vec![false; links.len()] };
        // Links of which nothing has changed since they were followed as far as this.
        let mut settled: Vec<Option<SpreadStep>> = vec![None; links.len()];
        let mut changed = Vec::new();
        for step in STEPS {
            for (value, layout) in returned {
                for (axis, split) in layout.0.iter().enumerate() {
                    if self.extend(*value, axis, split) {
                        let at = self.index(*value);
                        around[at].both(|link| settled[link as usize] = None);
                    }
                }
            }
            (0..count).rev().for_each(|link| waiting.push(link));
            while let Some(at) = waiting.pop() {
                let link = &links[at as usize];
                if settled[at as usize].is_some_and(|known| !link.does_more(known, step)) {
                    continue;
                }
                changed.clear();
                self.follow(link, step, &mut changed);
                for &value in &changed {
                    let near = &around[self.index(value)];
                    near.both(|other| settled[other as usize] = None);
                    let others = near.makes.iter().chain(near.reads.iter().rev());
                    others.filter(|&&other| other != at).for_each(|&other| waiting.push(other));
                }
                settled[at as usize] = Some(step);
            }
        }
    }

    fn around_values(&self, links: &[Link]) -> Vec<LinksAround> {
        let mut around = vec![LinksAround::default(); self.layouts.layouts.len()];
        for (at, link) in (0_u32..).zip(links) {
            let (reads, makes) = link.values();
            for &value in reads {
                around[self.index(value)].reads.push(at);
            }
            for &value in makes {
                around[self.index(value)].makes.push(at);
            }
        }
        around
    }

    /// Makes the arrays of a link alike, and adds those that it split further.
    fn follow(&mut self, link: &Link, step: SpreadStep, changed: &mut Vec<Value>) {
        match link {
            Link::Alike(link) => self.alike(link, step, changed),
            Link::Part { whole, part, manual } => {
                for (axis, own) in manual.0.iter().enumerate() {
                    let of = |value: Value| self.layouts.of(value).0.get(axis).cloned();
                    let (Some(split), Some(inner)) = (of(*whole), of(*part)) else { break };
                    if let Some(rest) = split.strip_prefix(&own[..])
                        && self.extend(*part, axis, rest)
                    {
                        changed.push(*part);
                    }
                    if !inner.is_empty() && self.extend(*whole, axis, &[&own[..], &inner].concat())
                    {
                        changed.push(*whole);
                    }
                }
            }
        }
    }

    fn alike(&mut self, link: &Alike, step: SpreadStep, changed: &mut Vec<Value>) {
        let given = |value: Value| {
            let at = self.index(value);
            let constant = self.lends_nothing[value.0 as usize];
            GivenArray {
                layout: &self.layouts.layouts[at],
                closed: self.closed[at],
                manual: self.layouts.manual(&[value]),
                open: constant && link.operands().contains(&value),
            }
        };
        if link.arrays.iter().all(|&value| given(value).is_whole()) {
            return;
        }
        let axes = self.axes;
        let mut arrays: Vec<FactoredArray> = (link.arrays.iter().zip(&link.maps))
            .map(|(&value, map)| FactoredArray::of(axes, given(value), map, &link.factors))
            .collect();
        let directions: Vec<SpreadFrom> = (link.factors.iter())
            .map(|factor| direction((link.kind, link.alone), factor.kind, step))
            .collect();
        spread_factors(axes, link, &directions, &mut arrays);
        for ((&value, map), array) in link.arrays.iter().zip(&link.maps).zip(&arrays) {
            if !array.grew {
                continue;
            }
            let mut grew = false;
            for (axis, list) in map.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
                let split = array.joined(axes, list, &link.factors);
                grew |= self.extend(value, axis, &split);
            }
            if grew && !changed.contains(&value) {
                changed.push(value);
            }
        }
    }
}

impl LinksAround {
    fn both(&self, mut with: impl FnMut(u32)) {
        self.makes.iter().chain(&self.reads).for_each(|&link| with(link));
    }
}

impl Link {
    /// What it reads and what it makes.
    fn values(&self) -> (&[Value], &[Value]) {
        match self {
            Self::Alike(link) => link.arrays.split_at(link.from),
            Self::Part { whole, part, .. } => {
                (std::slice::from_ref(whole), std::slice::from_ref(part))
            }
        }
    }

    /// Whether it spreads something in a step that it does not in an earlier one.
    fn does_more(&self, known: SpreadStep, step: SpreadStep) -> bool {
        let Self::Alike(link) = self else { return false };
        let of = |factor: FactorKind, step| direction((link.kind, link.alone), factor, step);
        known != step && link.factors.iter().any(|one| of(one.kind, known) != of(one.kind, step))
    }
}

/// Gives each array the axes of its factors that it can have; where two factors would have one
/// axis, the factor of the larger array has it.
fn spread_factors(
    axes: &Axes,
    link: &Alike,
    directions: &[SpreadFrom],
    arrays: &mut [FactoredArray],
) {
    let lists: Vec<Vec<u8>> = (directions.iter().enumerate())
        .map(|(factor, &direction)| longest(arrays, link.from, factor, direction))
        .collect();
    if lists.iter().all(Vec::is_empty) {
        return;
    }
    let elementwise = link.kind == LinkKind::Elementwise;
    // The largest array that has all axes of a factor, the first one of these.
    let sources: Vec<(i64, usize)> = (lists.iter().enumerate())
        .map(|(factor, list)| {
            let all = arrays.iter().enumerate();
            let has = all.filter(|(_, array)| !list.is_empty() && array.has(factor, list));
            has.fold((-1, 0), |best, (at, array)| {
                let elements = array.elements(&link.factors);
                if elements > best.0 { (elements, at) } else { best }
            })
        })
        .collect();
    let mut order: Vec<usize> = (0..lists.len()).filter(|&of| !lists[of].is_empty()).collect();
    order.sort_by_key(|&factor| {
        let devices = if elementwise { axes.count(&lists[factor]) } else { 0 };
        let (elements, at) = sources[factor];
        (std::cmp::Reverse(elements), std::cmp::Reverse(devices), at, factor)
    });
    let (operands, results) = arrays.split_at_mut(link.from);
    let give = |array: &mut FactoredArray, limit: &dyn Fn(usize, &mut Vec<u8>)| {
        for &factor in &order {
            let size = link.factors[factor].size;
            let mut before = 1;
            let fits = lists[factor].iter().take_while(|&&axis| {
                let ok = array.may_have(axes, (factor, size), (axis, before));
                before *= axes.size(axis);
                ok
            });
            let mut list = lists[factor][..fits.count()].to_vec();
            let free = list.iter().take_while(|&&axis| array.free_beside(factor, axis)).count();
            list.truncate(free);
            limit(factor, &mut list);
            array.grow(factor, &list);
        }
    };
    for array in results.iter_mut() {
        give(array, &|_, _| {});
    }
    // An operand that is taken element by element is split no further than the result.
    let results = &*results;
    let limit = |factor: usize, list: &mut Vec<u8>| {
        let shorter = results.iter().filter_map(|result| result.of_factor(factor));
        for had in shorter.filter(|had| elementwise && had.len() < list.len()) {
            if list.starts_with(had) {
                list.truncate(had.len());
                return;
            }
        }
    };
    for array in operands {
        give(array, &limit);
    }
}
