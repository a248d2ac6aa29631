//! What lies in the arena, and when, for those who read a plan.
use super::super::graph::{Graph, ValueId};
use super::super::passes::fuse::{StepBlock, StepKind};
use super::alias_sets::AliasSets;
use super::live_range::{LiveRange, LiveRanges};
use super::{ArenaSlot, Slot};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_stablehlo::ir::LocationId;

/// The values of a program whose places are known.
pub(super) struct PlacedValues<'p> {
    pub(super) graph: &'p Graph,
    pub(super) sets: &'p AliasSets,
    /// The place of each alias set.
    pub(super) set_slots: &'p [Slot],
    pub(super) ranges: &'p LiveRanges,
    /// Values that are not in the arena.
    pub(super) on_host: &'p FxHashSet<ValueId>,
}

/// The step that makes a value, by name and place in the source.
type Maker<'c> = (&'c Arc<str>, LocationId);

impl PlacedValues<'_> {
    /// The slots of alias sets and of scratch memory, which comes with its offset.
    pub(super) fn arena_slots(
        &self,
        code: &StepBlock,
        end: usize,
        scratch: impl Iterator<Item = ((LiveRange, usize), usize)>,
    ) -> Vec<ArenaSlot> {
        let mut made = FxHashMap::default();
        note_makers(code, &mut made);
        let on_host = |value: &ValueId| self.on_host.contains(value);
        let in_arena = self
            .sets
            .all()
            .filter(|(_, set)| set.is_free() && set.bytes > 0 && !set.members.iter().any(on_host));
        let mut slots: Vec<ArenaSlot> = in_arena
            .filter_map(|(at, set)| {
                let of = |value: &ValueId| {
                    let defined = self.ranges.of.get(value).map(|range| range.defined);
                    Some((defined, *value, *made.get(value)?))
                };
                let first = set.members.iter().filter_map(of);
                let (_, value, (name, location)) =
                    first.min_by_key(|&(defined, value, _)| (defined, value))?;
                Some(ArenaSlot {
                    offset: self.set_slots[at].offset,
                    bytes: set.bytes,
                    first: set.range.defined,
                    last: set.range.last.min(end),
                    shape: Some(self.graph.value(value).shape.clone()),
                    name: Arc::clone(name),
                    location,
                })
            })
            .collect();
        let scratch = scratch.filter(|((_, bytes), _)| *bytes > 0);
        slots.extend(scratch.map(|((range, bytes), offset)| ArenaSlot {
            offset,
            bytes,
            first: range.defined,
            last: range.last.min(end),
            shape: None,
            name: "scratch".into(),
            location: LocationId::UNKNOWN,
        }));
        slots.sort_by_key(|slot| (slot.first, slot.offset));
        slots
    }
}

fn note_makers<'c>(code: &'c StepBlock, into: &mut FxHashMap<ValueId, Maker<'c>>) {
    for step in &code.steps {
        into.extend(step.results.iter().map(|&result| (result, (&step.name, step.location))));
        step.kind.blocks().for_each(|block| note_makers(block, into));
        if let StepKind::Each(each) = &step.kind {
            for (&result, row) in step.results.iter().zip(&each.body.results) {
                if let Some(&maker) = into.get(row) {
                    into.insert(result, maker);
                }
            }
        }
    }
}
