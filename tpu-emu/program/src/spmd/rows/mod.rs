//! One body for all devices: code that runs once per device is emitted once, and runs over rows.
//!
//! A value that differs between participants is an array with a row for each class of
//! participants that have the same ([`classes`]). Operations between two collectives gather in a
//! segment ([`segments`]), which becomes one node that runs its body once for each class; what
//! all participants have alike is computed once, outside of segments. Collectives are kernels over
//! rows ([`collectives`]), or only say which row is whose. Loops and branches with collectives
//! inside carry arrays of rows ([`control`]); without, they are part of a segment, and each run
//! goes its own way.
//!
//! What this cannot express (see [`fits`]) is emitted once for each participant, as in
//! [`super::manual`].
mod classes;
mod collectives;
mod control;
#[cfg(test)]
mod differential;
mod emit;
mod nested;
mod region;
mod segments;

use crate::graph::{Node, Subgraph, ValueId};
use crate::spmd::participants::ManualGroup;
use classes::{ClassId, ClassMaps};
use rustc_hash::FxHashMap;
use segments::Segment;
use std::sync::Arc;

/// A value of which participants have rows of their own. Nodes name it as if it were one row.
#[derive(Debug, Clone)]
struct RowValue {
    class: ClassId,
    place: RowPlace,
}

/// Where the rows of a value are.
#[derive(Debug, Clone)]
enum RowPlace {
    /// In a segment that is still open, by its number.
    Open(usize),
    /// In an array; with the row of each class, where that is not its number.
    Rows(ValueId, Option<Arc<[usize]>>),
}

/// What is known of the participants' values while their code is emitted.
#[derive(Debug)]
struct Rows {
    group: Arc<ManualGroup>,
    /// Who runs the code at hand: participants of one class run it as one.
    apart: ClassId,
    maps: ClassMaps,
    values: FxHashMap<ValueId, RowValue>,
    /// The rows of values that are known, one after the other.
    known: FxHashMap<ValueId, Arc<[u8]>>,
    /// Nodes that cost next to nothing and whose results all participants have alike.
    cheap: FxHashMap<ValueId, Node>,
    /// The block that is being read.
    block: OpenBlock,
    /// Segments so far.
    segments: usize,
    /// How often the last node runs.
    runs: usize,
    /// The operation that the code stands in.
    name: Arc<str>,
}

/// A block while its operations are read.
#[derive(Debug, Default)]
struct OpenBlock {
    segments: Vec<Segment>,
    /// The nodes as the operations gave them.
    loose: Subgraph,
    /// How many of them have their place.
    placed: usize,
}

impl Rows {
    fn new(group: Arc<ManualGroup>, name: &str) -> Self {
        let mut maps = ClassMaps::new(group.ids.len());
        let apart = maps.by(0..group.ids.len());
        Self {
            maps,
            apart,
            group,
            values: FxHashMap::default(),
            known: FxHashMap::default(),
            cheap: FxHashMap::default(),
            block: OpenBlock::default(),
            segments: 0,
            runs: 1,
            name: name.into(),
        }
    }

    fn participants(&self) -> usize {
        self.group.ids.len()
    }

    fn class(&self, value: ValueId) -> ClassId {
        self.values.get(&value).map_or(ClassId::ALIKE, |value| value.class)
    }
}

/// Lets a node read other values.
fn rename(node: &mut Node, renamed: &FxHashMap<ValueId, ValueId>) {
    let now = |value: &mut ValueId| {
        if let Some(&new) = renamed.get(value) {
            *value = new;
        }
    };
    node.operands.iter_mut().for_each(now);
    let block = |block: &mut Subgraph| {
        block.nodes.iter_mut().for_each(|node| rename(node, renamed));
        block.results.iter_mut().for_each(now);
    };
    node.work.blocks_mut().for_each(block);
}
