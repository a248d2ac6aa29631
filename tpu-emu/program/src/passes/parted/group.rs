//! Which nodes run over parts together.
use crate::graph::{Graph, Node, NodeKind, Subgraph, ValueId};
use crate::passes::absorbed_work::conversion;
use crate::tuning::{MAX_PARTED_NODES, MIN_PART_ROWS, PARTS_OF_PARTED_BYTES};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::{Access, signed};

/// Bytes that rows of arrays begin at multiples of.
const ALIGN: usize = 64;

/// Nodes that run over parts of the first axis of arrays.
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
pub(super) struct ReadersAndMakers {
    makers: FxHashMap<ValueId, usize>,
    readers: FxHashMap<ValueId, Vec<usize>>,
}

impl ReadersAndMakers {
    pub(super) fn of(code: &Subgraph) -> Self {
        let mut uses = Self { makers: FxHashMap::default(), readers: FxHashMap::default() };
        for (at, node) in code.nodes.iter().enumerate() {
            uses.makers.extend(node.results.iter().map(|&value| (value, at)));
            for value in node.reads() {
                uses.readers.entry(value).or_default().push(at);
            }
        }
        uses
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
        let rows = *graph.value(*node.results.first()?).shape.dims.first()?;
        let looked = Looked { graph, code, uses, rows, small: least / PARTS_OF_PARTED_BYTES };
        let inside = looked.grown(first)?;
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
        let stays = inside.iter().any(|&at| {
            !looked.is_read_once(at, &given) || looked.would_be_stored(&code.nodes[at], &inside)
        });
        if largest < least || stays || !looked.is_worthwhile(&inside) || !given.iter().all(late) {
            return None;
        }
        let kernels =
            inside.iter().filter(|&&at| matches!(code.nodes[at].work, NodeKind::Kernel(_)));
        let whole = kernels.flat_map(|&at| looked.wholes(&code.nodes[at], &inside)).max();
        // A product packs the operand that it takes as a whole for each part.
        let part = (least / PARTS_OF_PARTED_BYTES).max(whole.unwrap_or(0));
        let counts = |&at: &usize| {
            let node = &code.nodes[at];
            let width = graph.value(node.results[0]).shape.dtype.host_bytes();
            matches!(node.work, NodeKind::Iota(0)).then_some(width)
        };
        let fits = |&parts: &usize| {
            let line = |width: usize| (rows / parts * width).is_multiple_of(ALIGN);
            let even = |&value: &ValueId| (graph.bytes(value) / parts).is_multiple_of(ALIGN);
            rows.is_multiple_of(parts)
                && largest / parts <= part
                && given.iter().all(even)
                && inside.iter().filter_map(counts).all(line)
                && inside.iter().all(|&at| looked.taken(&code.nodes[at], &inside).iter().all(even))
                && inside.iter().all(|&at| looked.parted(&code.nodes[at], parts).is_some())
        };
        let parts = (2..=rows / MIN_PART_ROWS).find(fits)?;
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
            let taken = taken_parts(node, self.rows);
            node.operands.iter().zip(&taken).all(|(value, &taken)| {
                taken || self.uses.makers.get(value).is_none_or(|maker| !inside.contains(maker))
            })
        };
        inside.iter().all(whole).then_some(inside)
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

    /// Whether a node takes parts of a large array that loops make where they read it.
    fn would_be_stored(&self, node: &Node, inside: &BTreeSet<usize>) -> bool {
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
        let taken = self.taken(node, inside);
        taken.iter().any(|value| self.graph.bytes(*value) >= self.small && loops(value))
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
        let first = |shape: &Shape| shape.dims.first() == Some(&self.rows);
        let results = node.results.iter().all(|&value| first(&self.graph.value(value).shape));
        if node.effect || !results {
            return None;
        }
        let fits = match &node.work {
            NodeKind::Elementwise(_) => {
                node.shapes.iter().all(|of| of.elements() == 1 || first(of))
            }
            NodeKind::Access(access) => match access.strides.first() {
                Some(0) => true,
                _ => reads_rows(access, node, self.rows, &self.graph.value(node.results[0]).shape),
            },
            NodeKind::Iota(_) | NodeKind::Splat(_) => true,
            NodeKind::Kernel(kernel) => {
                let (_, taken) = kernel.part(self.rows, parts)?;
                node.shapes.iter().take(taken).all(first)
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
        let operands = node.operands.iter().zip(taken_parts(node, self.rows));
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
pub(super) fn taken_parts(node: &Node, rows: usize) -> Vec<bool> {
    match &node.work {
        NodeKind::Elementwise(_) => node.shapes.iter().map(|of| of.elements() != 1).collect(),
        NodeKind::Access(access) => {
            vec![access.strides.first().is_some_and(|&stride| stride != 0)]
        }
        NodeKind::Kernel(kernel) => {
            let taken = kernel.part(rows, 1).map_or(0, |(_, taken)| taken);
            (0..node.operands.len()).map(|index| index < taken).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether each index of a view along its first axis reads that index of its operand.
fn reads_rows(access: &Access, node: &Node, rows: usize, result: &Shape) -> bool {
    let [operand] = &node.shapes[..] else { return false };
    if operand.dims.first() != Some(&rows) || operand.elements() == 0 {
        return false;
    }
    let row = signed(operand.elements() / rows);
    let mut reach = signed(access.offset);
    for (&stride, &dim) in access.strides.iter().zip(&result.dims).skip(1) {
        if stride < 0 {
            return false;
        }
        reach = reach.saturating_add(stride.saturating_mul(signed(dim.saturating_sub(1))));
    }
    access.strides.first() == Some(&row) && reach < row
}
