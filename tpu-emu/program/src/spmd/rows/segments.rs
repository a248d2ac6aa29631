//! Segments: what runs between two collectives, once for each class of participants.
use super::classes::ClassId;
use super::{RowPlace, RowValue, Rows, rename};
use crate::graph::{EachRow, Node, NodeKind, Subgraph, ValueId};
use crate::import::Loader;
use crate::passes::constant_fold::fold_rows;
use crate::tuning::MAX_FOLDED_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;
use tpu_stablehlo::ir::LocationId;

/// Nodes that run one after the other, for each class of participants.
#[derive(Debug)]
pub(super) struct Segment {
    number: usize,
    class: ClassId,
    /// Whether the runs are devices, which are told apart.
    own: bool,
    nodes: Vec<Node>,
}

/// An array with an axis of rows in front.
pub(super) fn in_rows(row: &Shape, count: usize) -> Result<Shape> {
    let bytes = row.bytes().checked_mul(count);
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(Error::bad(format!("{row} for {count} devices is past 2^63 bytes")));
    }
    let dims: Vec<usize> = std::iter::once(count).chain(row.dims.iter().copied()).collect();
    Ok(Shape::new(row.dtype, dims))
}

impl<'m> Loader<'m> {
    /// Gives the nodes that operations have left their places.
    pub(super) fn place_loose(&mut self, rows: &mut Rows, into: &mut Subgraph) -> Result<()> {
        rows.runs = 1;
        while let Some(node) = rows.block.loose.nodes.get(rows.block.placed) {
            let node = node.clone();
            rows.block.placed += 1;
            self.place(rows, node, into)?;
        }
        Ok(())
    }

    fn place(&mut self, rows: &mut Rows, node: Node, into: &mut Subgraph) -> Result<()> {
        let read = node.reads();
        let own = node.effect || node.work.is_own();
        let class = match own {
            true => rows.apart,
            false => {
                read.iter().fold(ClassId::ALIKE, |all, &one| rows.maps.joined(all, rows.class(one)))
            }
        };
        if class == ClassId::ALIKE {
            let cheap =
                matches!(node.work, NodeKind::Access(_) | NodeKind::Iota(_) | NodeKind::Splat(_));
            if let [result] = node.results[..]
                && cheap
            {
                rows.cheap.insert(result, node.clone());
            }
            into.nodes.push(node);
            return Ok(());
        }
        rows.runs = rows.runs.max(rows.maps.get(class).firsts.len());
        if !own && self.fold_node(rows, &node, class, into)? {
            return Ok(());
        }
        // What somebody hears of is done by all devices before any does what comes next.
        let open = rows.block.segments.iter().find(|segment| segment.class == class && !own);
        let number = open.map_or(rows.segments, |segment| segment.number);
        for value in read {
            if let Some(RowValue { place: RowPlace::Open(other), .. }) = rows.values.get(&value)
                && *other != number
            {
                let other = *other;
                self.close(rows, other, into)?;
            }
        }
        for &result in &node.results {
            rows.values.insert(result, RowValue { class, place: RowPlace::Open(number) });
        }
        match rows.block.segments.iter_mut().find(|segment| segment.number == number) {
            Some(segment) => segment.nodes.push(node),
            None => {
                rows.segments += 1;
                rows.block.segments.push(Segment { number, class, own, nodes: vec![node] });
            }
        }
        if own { self.close(rows, number, into) } else { Ok(()) }
    }

    /// Ends all segments of the block that is being read.
    pub(super) fn close_all(&mut self, rows: &mut Rows, into: &mut Subgraph) -> Result<()> {
        while let Some(segment) = rows.block.segments.first() {
            let number = segment.number;
            self.close(rows, number, into)?;
        }
        Ok(())
    }

    /// Ends a segment: what it makes is in arrays of rows then.
    fn close(&mut self, rows: &mut Rows, number: usize, into: &mut Subgraph) -> Result<()> {
        let place = rows.block.segments.iter().position(|segment| segment.number == number);
        let Some(place) = place else { return Ok(()) };
        let Segment { class, own: told_apart, mut nodes, .. } = rows.block.segments.remove(place);
        let made: Vec<ValueId> = nodes.iter().flat_map(|node| node.results.clone()).collect();
        let own: FxHashSet<ValueId> = made.iter().copied().collect();
        let read: Vec<ValueId> = nodes.iter().flat_map(Node::reads).collect();
        // Other work than on elements reads arrays, which are made once and not in each run.
        let by_element = |node: &&Node| matches!(node.work, NodeKind::Elementwise(_));
        let others = nodes.iter().filter(|node| !by_element(node));
        let whole: Vec<ValueId> = others.flat_map(Node::reads).collect();
        let firsts = Arc::clone(&rows.maps.get(class).firsts);
        let runs = firsts.len();
        let devices = firsts.iter().filter(|_| told_apart).map(|&first| rows.group.ids[first]);
        let devices = devices.collect();
        let mut each = EachRow { body: Subgraph::default(), runs, rows: Vec::new(), devices };
        let mut operands = Vec::new();
        let mut renamed: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for value in read {
            if own.contains(&value) || renamed.contains_key(&value) {
                continue;
            }
            if let Some(RowValue { class: of, place }) = rows.values.get(&value) {
                let RowPlace::Rows(array, table) = place else { continue };
                let classes = Arc::clone(&rows.maps.get(*of).of);
                let row = |&first: &usize| {
                    let class = classes[first];
                    table.as_ref().map_or(class, |table| table[class])
                };
                each.rows.push(firsts.iter().map(row).collect());
                operands.push(*array);
                let shape = self.graph.value(value).shape.clone();
                let parameter = self.graph.add(shape);
                each.body.parameters.push(parameter);
                renamed.insert(value, parameter);
            } else if !whole.contains(&value) {
                self.copy_cheap(rows, value, &mut renamed, &mut each.body);
            }
        }
        nodes.iter_mut().for_each(|node| rename(node, &renamed));
        let location = nodes.first().map_or(LocationId::UNKNOWN, |node| node.location);
        each.body.nodes.extend(nodes);
        let mut results = Vec::with_capacity(made.len());
        for &value in &made {
            let array = in_rows(&self.graph.value(value).shape, runs)?;
            let array = self.graph.add(array);
            results.push(array);
            rows.values.insert(value, RowValue { class, place: RowPlace::Rows(array, None) });
        }
        each.body.results = made;
        let effect = each.body.nodes.iter().any(|node| node.effect);
        into.nodes.push(Node {
            work: NodeKind::Each(Box::new(each)),
            operands,
            shapes: Vec::new(),
            results,
            name: Arc::clone(&rows.name),
            location,
            effect,
        });
        Ok(())
    }

    /// Makes a value that costs next to nothing where it is read.
    fn copy_cheap(
        &mut self,
        rows: &Rows,
        value: ValueId,
        renamed: &mut FxHashMap<ValueId, ValueId>,
        body: &mut Subgraph,
    ) {
        let Some(node) = rows.cheap.get(&value) else { return };
        for &operand in &node.operands {
            if !renamed.contains_key(&operand) {
                self.copy_cheap(rows, operand, renamed, body);
            }
        }
        let mut node = node.clone();
        rename(&mut node, renamed);
        let info = self.graph.value(value).clone();
        let copy = self.graph.add(info.shape);
        self.graph.values[copy.index()].known = info.known;
        node.results = vec![copy];
        body.nodes.push(node);
        renamed.insert(value, copy);
    }

    /// Computes a node for all participants, where it is small and what it reads is known.
    fn fold_node(
        &mut self,
        rows: &mut Rows,
        node: &Node,
        class: ClassId,
        into: &mut Subgraph,
    ) -> Result<bool> {
        let firsts = Arc::clone(&rows.maps.get(class).firsts);
        let shapes: Vec<Shape> =
            node.results.iter().map(|&id| self.graph.value(id).shape.clone()).collect();
        let bytes: usize = shapes.iter().map(Shape::bytes).sum();
        if !self.folds || bytes == 0 || bytes > MAX_FOLDED_BYTES {
            return Ok(false);
        }
        let mut operands = Vec::new();
        for &operand in &node.operands {
            let of = rows.maps.get(rows.class(operand));
            let (known, whole) = match (rows.known.get(&operand), rows.values.get(&operand)) {
                (Some(known), Some(_)) => (Arc::clone(known), of.firsts.len()),
                (None, None) => match &self.graph.value(operand).known {
                    Some(known) => (Arc::clone(known), 1),
                    None => return Ok(false),
                },
                _ => return Ok(false),
            };
            let width = known.len() / whole;
            let row = |&first: &usize| known[of.of[first] * width..][..width].iter().copied();
            operands.push(firsts.iter().flat_map(row).collect::<Arc<[u8]>>());
        }
        let count = firsts.len();
        let (numerics, make_body) = (self.numerics, self.make_body);
        let kind = (&node.work, count);
        let made = fold_rows(kind, &operands, &node.shapes, &shapes, (numerics, make_body))?;
        let Some(made) = made else { return Ok(false) };
        for ((&result, shape), bytes) in node.results.iter().zip(&shapes).zip(made) {
            let of = Arc::clone(&rows.maps.get(class).of);
            let width = shape.bytes();
            let row = |class: usize| &bytes[class * width..][..width];
            let distinct = rows.maps.by(of.iter().map(|&class| row(class)));
            let distinct_firsts = &rows.maps.get(distinct).firsts;
            let known: Arc<[u8]> =
                distinct_firsts.iter().flat_map(|&first| row(of[first]).iter().copied()).collect();
            let id = if distinct == ClassId::ALIKE {
                result
            } else {
                let array = in_rows(shape, distinct_firsts.len())?;
                let array = self.graph.add(array);
                let place = RowPlace::Rows(array, None);
                rows.values.insert(result, RowValue { class: distinct, place });
                rows.known.insert(result, Arc::clone(&known));
                array
            };
            self.graph.values[id.index()].known = Some(Arc::clone(&known));
            into.nodes.push(Node {
                work: NodeKind::Constant(known),
                operands: Vec::new(),
                shapes: Vec::new(),
                results: vec![id],
                name: Arc::clone(&node.name),
                location: node.location,
                effect: false,
            });
        }
        Ok(true)
    }

    /// The array that a value's rows are in, and the row of each participant.
    pub(super) fn array_of(
        &mut self,
        rows: &mut Rows,
        value: ValueId,
        into: &mut Subgraph,
    ) -> Result<(ValueId, Vec<usize>)> {
        if let Some(RowValue { place: RowPlace::Open(number), .. }) = rows.values.get(&value) {
            let number = *number;
            self.close(rows, number, into)?;
        }
        match rows.values.get(&value) {
            Some(RowValue { class, place: RowPlace::Rows(array, table) }) => {
                let row = |&class: &usize| table.as_ref().map_or(class, |table| table[class]);
                Ok((*array, rows.maps.get(*class).of.iter().map(row).collect()))
            }
            Some(RowValue { place: RowPlace::Open(_), .. }) => {
                Err(Error::bad("a value of a segment that is not there"))
            }
            None => Ok((value, vec![0; rows.participants()])),
        }
    }

    /// A value whose rows are in an array, by participant; what all have alike is taken out.
    pub(super) fn rows_in(
        &mut self,
        rows: &mut Rows,
        array: ValueId,
        (row, of): (&Shape, &[usize]),
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let class = rows.maps.by(of.iter());
        let map = rows.maps.get(class);
        if class == ClassId::ALIKE {
            let whole = self.graph.value(array).shape.clone();
            if whole.bytes() == row.bytes() {
                return Ok(array);
            }
            return self.row_of(rows, (array, of[0]), row, into);
        }
        let table: Arc<[usize]> = map.firsts.iter().map(|&first| of[first]).collect();
        let in_order = table.iter().enumerate().all(|(class, &row)| class == row);
        let id = self.graph.add(row.clone());
        let place = RowPlace::Rows(array, (!in_order).then_some(table));
        rows.values.insert(id, RowValue { class, place });
        Ok(id)
    }

    /// The shape of an array as rows of a shape. Rows without bytes are as many as one likes.
    pub(super) fn whole_of_rows(&self, array: ValueId, row: &Shape) -> Result<Shape> {
        in_rows(row, self.graph.bytes(array).checked_div(row.bytes()).unwrap_or(1))
    }

    /// One row of an array, as a value.
    pub(super) fn row_of(
        &mut self,
        rows: &Rows,
        (array, number): (ValueId, usize),
        row: &Shape,
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let strides: Vec<isize> =
            row.strides().iter().map(|&one| isize::try_from(one).unwrap_or(isize::MAX)).collect();
        let whole = self.whole_of_rows(array, row)?;
        self.count_nodes(1)?;
        let id = self.graph.add(row.clone());
        let node = Node {
            work: NodeKind::Access(Access { offset: number * row.elements(), strides }),
            operands: vec![array],
            shapes: vec![whole],
            results: vec![id],
            name: Arc::clone(&rows.name),
            location: LocationId::UNKNOWN,
            effect: false,
        };
        into.nodes.push(node);
        Ok(id)
    }

    /// The array with the rows of a value in the order of a list of participants.
    pub(super) fn array_for(
        &mut self,
        rows: &mut Rows,
        value: ValueId,
        participants: &[usize],
        into: &mut Subgraph,
    ) -> Result<ValueId> {
        let (array, of) = self.array_of(rows, value, into)?;
        let row = self.graph.value(value).shape.clone();
        let table: Arc<[usize]> = participants.iter().map(|&one| of[one]).collect();
        let whole = in_rows(&row, table.len())?;
        let in_order = table.iter().enumerate().all(|(at, &row)| at == row);
        if in_order && self.graph.bytes(array) == whole.bytes() {
            return Ok(array);
        }
        self.count_nodes(1)?;
        let made = self.graph.add(whole);
        let mut body = Subgraph::default();
        let (mut operands, mut tables) = (Vec::new(), Vec::new());
        if rows.values.contains_key(&value) {
            let parameter = self.graph.add(row);
            body.parameters.push(parameter);
            body.results.push(parameter);
            operands.push(array);
            tables.push(Arc::clone(&table));
        } else {
            body.results.push(value);
        }
        into.nodes.push(Node {
            work: NodeKind::Each(Box::new(EachRow {
                body,
                runs: table.len(),
                rows: tables,
                devices: Arc::default(),
            })),
            operands,
            shapes: Vec::new(),
            results: vec![made],
            name: Arc::clone(&rows.name),
            location: LocationId::UNKNOWN,
            effect: false,
        });
        Ok(made)
    }
}
