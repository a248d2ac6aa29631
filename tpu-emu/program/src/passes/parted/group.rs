//! Which nodes run over parts together.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::absorbed_work::conversion;
use crate::tuning::{MAX_PARTED_NODES, MIN_PART_ROWS, PARTS_OF_PARTED_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::{Access, signed};

/// Nodes that run over parts of the first axis of arrays that has several indices.
pub(super) struct Group {
    /// The numbers of the nodes in their block.
    pub(super) inside: BTreeSet<usize>,
    /// The node that it was found by.
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) parts: usize,
    /// What others read of what the nodes make.
    pub(super) given: Vec<ValueId>,
}

/// Where the values of a block are made and read.
pub(in crate::passes) struct ReadersAndMakers {
    makers: FxHashMap<ValueId, usize>,
    readers: FxHashMap<ValueId, Vec<usize>>,
}

impl ReadersAndMakers {
    pub(in crate::passes) fn of(code: &Subgraph) -> Self {
        let mut uses = Self { makers: FxHashMap::default(), readers: FxHashMap::default() };
        for (at, node) in code.nodes.iter().enumerate() {
            uses.makers.extend(node.results.iter().map(|&value| (value, at)));
            for value in node.reads() {
                uses.readers.entry(value).or_default().push(at);
            }
        }
        uses
    }

    /// The place of the node that makes a value.
    pub(in crate::passes) fn maker(&self, value: ValueId) -> Option<usize> {
        self.makers.get(&value).copied()
    }

    /// The places of the nodes that read a value, each as often as it does.
    pub(in crate::passes) fn readers(&self, value: ValueId) -> &[usize] {
        self.readers.get(&value).map_or(&[], |of| of)
    }

    /// The places of the nodes that read a value, but of one that reads it once; nothing where the
    /// block gives it back.
    pub(in crate::passes) fn other_readers(
        &self,
        code: &Subgraph,
        value: ValueId,
        but: usize,
    ) -> Option<Vec<usize>> {
        let (own, others): (Vec<usize>, Vec<usize>) =
            self.readers.get(&value)?.iter().partition(|&&reader| reader == but);
        (own.len() == 1 && !code.results.contains(&value)).then_some(others)
    }

    /// Whether one operand of one node is all that reads a value.
    pub(in crate::passes) fn is_read_once(&self, code: &Subgraph, value: ValueId) -> bool {
        self.readers.get(&value).is_some_and(|of| of.len() == 1) && !code.results.contains(&value)
    }
}

/// A block whose nodes are looked at.
struct Looked<'a> {
    graph: &'a Graph,
    code: &'a Subgraph,
    uses: &'a ReadersAndMakers,
    rows: usize,
    /// Arrays of fewer bytes may be stored.
    small: usize,
}

impl Group {
    /// The nodes around one of them, if large arrays are not stored then.
    pub(super) fn around(
        (graph, code, uses): (&Graph, &Subgraph, &ReadersAndMakers),
        first: usize,
        least: usize,
    ) -> Option<Self> {
        let node = &code.nodes[first];
        let rows = rows_of(&graph.value(*node.results.first()?).shape)?;
        let looked = Looked { graph, code, uses, rows, small: least / PARTS_OF_PARTED_BYTES };
        let batched = looked.is_batched(node);
        let inside = if batched { looked.narrowed(first)? } else { looked.grown(first)? };
        let made: Vec<ValueId> =
            inside.iter().flat_map(|&at| code.nodes[at].results.iter().copied()).collect();
        let is_given = |value: &ValueId| {
            let read = uses.readers.get(value).into_iter().flatten();
            code.results.contains(value) || read.into_iter().any(|at| !inside.contains(at))
        };
        let given: Vec<ValueId> = made.iter().copied().filter(is_given).collect();
        let hidden = made.iter().filter(|value| !given.contains(value));
        let largest = hidden.map(|&value| graph.bytes(value)).max()?;
        let last = *inside.last()?;
        let late = |value: &ValueId| {
            uses.readers
                .get(value)
                .into_iter()
                .flatten()
                .all(|at| inside.contains(at) || *at > last)
        };
        // What a product of pairs is narrowed from, and its other operand, are arrays in memory.
        let kept = if batched { largest } else { usize::MAX };
        let stays = inside.iter().any(|&at| {
            let loops = !batched || at != first;
            !looked.is_read_once(at, &given)
                || loops && looked.would_be_stored(&code.nodes[at], &inside, kept)
        });
        if largest < least || stays || !looked.is_worthwhile(&inside) || !given.iter().all(late) {
            return None;
        }
        let kernels =
            inside.iter().filter(|&&at| matches!(code.nodes[at].work, NodeKind::Kernel(_)));
        let whole = kernels.flat_map(|&at| looked.wholes(&code.nodes[at], &inside)).max();
        // A product packs the operand that it takes as a whole for each part.
        let part = (least / PARTS_OF_PARTED_BYTES).max(whole.unwrap_or(0));
        let fits = |&parts: &usize| {
            rows.is_multiple_of(parts)
                && (largest / parts <= part || (batched && parts == rows))
                && inside.iter().all(|&at| looked.parted(&code.nodes[at], parts).is_some())
        };
        let least_rows = if batched { 1 } else { MIN_PART_ROWS };
        let parts = (2..=rows / least_rows).find(fits)?;
        Some(Self { inside, first, rows, parts, given })
    }
}

impl Looked<'_> {
    /// The nodes that have to be together with one of them.
    fn grown(&self, first: usize) -> Option<BTreeSet<usize>> {
        self.parted(&self.code.nodes[first], 1)?;
        let mut inside = BTreeSet::from([first]);
        let mut open = vec![first];
        while let Some(at) = open.pop() {
            if inside.len() > MAX_PARTED_NODES {
                return None;
            }
            let node = &self.code.nodes[at];
            for &value in &node.results {
                if self.graph.bytes(value) < self.small {
                    continue;
                }
                let readers = self.uses.readers.get(&value).map_or(&[][..], |of| of);
                let parted = |&at: &usize| self.parted(&self.code.nodes[at], 1).is_some();
                if self.code.results.contains(&value) || !readers.iter().all(parted) {
                    continue;
                }
                open.extend(readers.iter().filter(|&&reader| inside.insert(reader)));
            }
            for value in self.taken(node, &inside) {
                let Some(&maker) = self.uses.makers.get(&value) else { continue };
                let large = self.graph.bytes(value) >= self.small;
                let only = self.uses.readers[&value].iter().all(|reader| inside.contains(reader))
                    && !self.code.results.contains(&value);
                let may = matches!(self.code.nodes[maker].work, NodeKind::Kernel(_))
                    || self.is_of_a_product(maker);
                let fits = self.parted(&self.code.nodes[maker], 1).is_some();
                if large && only && fits && !may && inside.insert(maker) {
                    open.push(maker);
                }
            }
        }
        // What a node takes as a whole is not made in parts.
        let whole = |at: &usize| {
            let node = &self.code.nodes[*at];
            let taken = taken_parts(self.graph, node, self.rows);
            node.operands.iter().zip(&taken).all(|(value, &taken)| {
                taken || self.uses.makers.get(value).is_none_or(|maker| !inside.contains(maker))
            })
        };
        inside.iter().all(whole).then_some(inside)
    }

    /// Whether a node is a product of several pairs of matrices, which follow each other.
    fn is_batched(&self, node: &Node) -> bool {
        let NodeKind::Kernel(kernel) = &node.work else { return false };
        node.work.is_product() && kernel.part(self.rows, self.rows).is_some()
    }

    /// A product of several pairs of matrices, with the nodes that make one of its operands of an
    /// array of as many elements and of more bits, or one that it would put in order first: the other
    /// way would be to store both.
    fn narrowed(&self, product: usize) -> Option<BTreeSet<usize>> {
        let mut inside = BTreeSet::from([product]);
        let mut open = vec![product];
        while let Some(at) = open.pop() {
            for value in self.taken(&self.code.nodes[at], &inside) {
                let Some(&maker) = self.uses.makers.get(&value) else { continue };
                let node = &self.code.nodes[maker];
                if self.graph.bytes(value) < self.small
                    || matches!(node.work, NodeKind::Kernel(_))
                    || self.is_of_a_product(maker)
                    || self.parted(node, 1).is_none()
                {
                    continue;
                }
                let Some(reducing) = self.between(value, &inside) else { continue };
                let more = reducing.into_iter().chain([maker]);
                open.extend(more.filter(|&node| inside.insert(node)));
            }
        }
        let wide = |value: &ValueId| self.graph.value(*value).shape.clone();
        let taken = self.taken(&self.code.nodes[product], &BTreeSet::new());
        let scratch = match &self.code.nodes[product].work {
            NodeKind::Kernel(kernel) => kernel.scratch(),
            _ => 0,
        };
        let still = self.taken(&self.code.nodes[product], &inside);
        let gone = taken.iter().filter(|value| !still.contains(value));
        let narrows = gone.map(wide).any(|operand| {
            let made = |at: &usize| self.taken(&self.code.nodes[*at], &inside);
            let wider = |from: &Shape| {
                from.elements() == operand.elements() && from.bytes() > operand.bytes()
            };
            operand.bytes() <= scratch
                || inside.iter().flat_map(made).map(|value| wide(&value)).any(|from| wider(&from))
        });
        narrows.then_some(inside)
    }

    /// The nodes that read a value and are not inside, and those that read what they make, if they
    /// are reductions and operations on elements that end inside.
    fn between(&self, value: ValueId, inside: &BTreeSet<usize>) -> Option<BTreeSet<usize>> {
        let mut between = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let readers = self.uses.readers.get(&value)?;
            if self.code.results.contains(&value) || between.len() > MAX_PARTED_NODES {
                return None;
            }
            for &reader in readers.iter().filter(|reader| !inside.contains(reader)) {
                let node = &self.code.nodes[reader];
                let fits = match &node.work {
                    NodeKind::Kernel(kernel) => kernel.reduction().is_some(),
                    NodeKind::Elementwise(_) | NodeKind::Access(_) => true,
                    _ => false,
                };
                if !fits || self.parted(node, 1).is_none() {
                    return None;
                }
                if between.insert(reader) {
                    open.extend(&node.results);
                }
            }
        }
        Some(between)
    }

    /// Whether a node converts what a product makes for it alone to fewer bits: the product does so.
    fn is_of_a_product(&self, at: usize) -> bool {
        let node = &self.code.nodes[at];
        let (Some((from, to)), &[operand]) = (conversion(node), &node.operands[..]) else {
            return false;
        };
        let maker = self.uses.makers.get(&operand).map(|&maker| &self.code.nodes[maker].work);
        to.host_bytes() < from.host_bytes()
            && maker.is_some_and(NodeKind::is_product)
            && self.uses.readers.get(&operand).is_some_and(|readers| readers[..] == [at])
            && !self.code.results.contains(&operand)
    }

    /// Whether a node takes parts of a large array that loops make where they read it; but for one of
    /// as many bytes as `kept` that others read too.
    fn would_be_stored(&self, node: &Node, inside: &BTreeSet<usize>, kept: usize) -> bool {
        let loops = |value: &ValueId| {
            let maker = self.uses.makers.get(value).map(|&at| &self.code.nodes[at].work);
            matches!(
                maker,
                Some(
                    NodeKind::Elementwise(_)
                        | NodeKind::Access(_)
                        | NodeKind::Iota(_)
                        | NodeKind::Splat(_)
                )
            )
        };
        let is_kept = |value: &ValueId| {
            let readers = self.uses.readers(*value);
            self.graph.bytes(*value) >= kept && !readers.iter().all(|at| inside.contains(at))
        };
        let large = |value: &&ValueId| self.graph.bytes(**value) >= self.small;
        let taken = self.taken(node, inside);
        taken.iter().filter(large).any(|value| loops(value) && !is_kept(value))
    }

    /// Whether there is one product, or a reduction of several arrays.
    fn is_worthwhile(&self, inside: &BTreeSet<usize>) -> bool {
        let nodes = || inside.iter().map(|&at| &self.code.nodes[at]);
        let products = nodes().filter(|node| node.work.is_product()).count();
        let several =
            |node: &Node| matches!(node.work, NodeKind::Kernel(_)) && node.results.len() > 1;
        products == 1 || (products == 0 && nodes().any(several))
    }

    /// Whether what a node makes, if that is a product, goes to others or ends in one reduction, by
    /// operations on elements of which each has one reader.
    fn is_read_once(&self, at: usize, given: &[ValueId]) -> bool {
        let mut node = &self.code.nodes[at];
        if !node.work.is_product() {
            return true;
        }
        loop {
            let [result] = node.results[..] else { return false };
            if given.contains(&result) || self.graph.bytes(result) < self.small {
                return true;
            }
            let readers: BTreeSet<usize> =
                self.uses.readers.get(&result).into_iter().flatten().copied().collect();
            let mut readers = readers.into_iter().map(|reader| &self.code.nodes[reader]);
            let (Some(reader), None) = (readers.next(), readers.next()) else { return false };
            match &reader.work {
                NodeKind::Elementwise(_) | NodeKind::Access(_) => node = reader,
                NodeKind::Kernel(_) => return !reader.work.is_product(),
                _ => return false,
            }
        }
    }

    /// Whether a node can run over parts of its arrays.
    fn parted(&self, node: &Node, parts: usize) -> Option<()> {
        let first = |shape: &Shape| rows_of(shape) == Some(self.rows);
        let results = node.results.iter().all(|&value| first(&self.graph.value(value).shape));
        if node.effect || !results {
            return None;
        }
        let fits = match &node.work {
            NodeKind::Elementwise(_) => {
                node.shapes.iter().all(|of| of.elements() == 1 || first(of))
            }
            NodeKind::Access(access) => {
                let result = &self.graph.value(node.results[0]).shape;
                let stays = first_axis(result).is_some_and(|axis| access.strides[axis] == 0);
                stays || reads_rows(access, node, self.rows, result)
            }
            NodeKind::Iota(_) | NodeKind::Splat(_) => true,
            NodeKind::Kernel(kernel) => {
                let (_, taken) = kernel.part(self.rows, parts)?;
                node.shapes.get(taken).is_some_and(|taken| taken.iter().all(first))
            }
            NodeKind::Constant(_)
            | NodeKind::While(..)
            | NodeKind::Branch(_)
            | NodeKind::Each(_) => false,
        };
        fits.then_some(())
    }

    /// The arrays of which a node takes parts and that no node inside makes.
    fn taken(&self, node: &Node, inside: &BTreeSet<usize>) -> Vec<ValueId> {
        let operands = node.operands.iter().zip(taken_parts(self.graph, node, self.rows));
        let taken = operands.filter(|(_, taken)| *taken).map(|(&value, _)| value);
        taken
            .filter(|value| self.uses.makers.get(value).is_none_or(|at| !inside.contains(at)))
            .collect()
    }

    /// The bytes of the arrays that a node takes as a whole.
    fn wholes(&self, node: &Node, inside: &BTreeSet<usize>) -> Vec<usize> {
        let taken: FxHashSet<ValueId> = self.taken(node, inside).into_iter().collect();
        let made =
            |value: &ValueId| self.uses.makers.get(value).is_some_and(|at| inside.contains(at));
        let whole = node.operands.iter().filter(|value| !taken.contains(value) && !made(value));
        whole.map(|&value| self.graph.bytes(value)).collect()
    }
}

/// Which operands a node takes parts of, for parts of its result.
pub(super) fn taken_parts(graph: &Graph, node: &Node, rows: usize) -> Vec<bool> {
    match &node.work {
        NodeKind::Elementwise(_) => node.shapes.iter().map(|of| of.elements() != 1).collect(),
        NodeKind::Access(access) => {
            let axis = first_axis(&graph.value(node.results[0]).shape);
            vec![axis.is_some_and(|axis| access.strides[axis] != 0)]
        }
        NodeKind::Kernel(kernel) => {
            let taken = kernel.part(rows, 1).map_or(0..0, |(_, taken)| taken);
            (0..node.operands.len()).map(|index| taken.contains(&index)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether each index of a view along its first axis of several indices reads that index of its
/// operand.
fn reads_rows(access: &Access, node: &Node, rows: usize, result: &Shape) -> bool {
    let [operand] = &node.shapes[..] else { return false };
    if rows_of(operand) != Some(rows) || operand.elements() == 0 {
        return false;
    }
    let Some(first) = first_axis(result) else { return false };
    let row = signed(operand.elements() / rows);
    let mut reach = signed(access.offset);
    for (&stride, &dim) in access.strides.iter().zip(&result.dims).skip(first + 1) {
        if stride < 0 {
            return false;
        }
        reach = reach.saturating_add(stride.saturating_mul(signed(dim.saturating_sub(1))));
    }
    access.strides[first] == row && reach < row
}

/// The first axis that has several indices, or none.
pub(super) fn first_axis(of: &Shape) -> Option<usize> {
    of.dims.iter().position(|&dim| dim != 1)
}

/// The indices along that axis.
fn rows_of(of: &Shape) -> Option<usize> {
    first_axis(of).map(|axis| of.dims[axis])
}

/// Whether a node counts along that axis of its result.
pub(super) fn counts_rows(node: &Node, result: &Shape) -> bool {
    matches!(node.work, NodeKind::Iota(axis) if first_axis(result) == Some(axis))
}
