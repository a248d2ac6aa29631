//! Arrays that are cut, joined, stacked and padded.
use super::MIN_BYTES;
use super::body::{CallOperation, CallValue, WrittenOut};
use super::search::RelayoutSearch;
use crate::executable::stored_array::{Array, LANES, SUBLANES};
use crate::hbm::layout::default_layout;
use std::collections::HashMap;
use tpu_ops::{Operator, Relayout};

/// Operations on elements that are followed from a join to what is cut.
const DEPTH: usize = 8;

/// Pieces that joins take of one array, by the array, the axis of the join, and their extents.
pub(super) type Pieces<'m> = HashMap<(CallValue, usize, Vec<u64>), Vec<CallOperation<'m>>>;

/// Whether an axis is one of those that tiles lie along.
fn is_tiled(axis: usize, rank: usize) -> bool {
    axis + 2 >= rank
}

/// The operation that cuts a piece, if one does.
fn cut<'m>(body: &WrittenOut<'m>, value: CallValue) -> Option<CallOperation<'m>> {
    body.maker(value).filter(
        |maker| matches!(maker.operator, Operator::Row(row) if row.relayout == Relayout::Cut),
    )
}

impl<'m> RelayoutSearch<'m> {
    /// Every n-th element along an axis of tiles.
    pub(super) fn cut(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let steps = of.operation.attributes.integers("strides").unwrap_or_default();
        let rank = steps.len();
        let skips = |(axis, &step): (usize, &i64)| step > 1 && is_tiled(axis, rank);
        if !steps.iter().enumerate().any(skips) {
            return;
        }
        let (Some(from), Some(to), Some(result)) = (of.operand(0), of.result(), body.result(&of))
        else {
            return;
        };
        if to.dense() < MIN_BYTES || body.is_returned(result) {
            return;
        }
        let maker = body.operands(&of).next().and_then(|operand| body.maker(operand));
        let made_here = maker.is_some_and(|maker| maker.is_by_element());
        let source = from.by_default(self.rules).filter(|_| made_here);
        let passing = source.map_or(0, |(bytes, _)| bytes.0);
        self.kept(of, (&to, result), to.by_default(self.rules), passing);
    }

    /// Pieces side by side.
    pub(super) fn joined(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let (Some(to), Some(result)) = (of.result(), body.result(&of)) else { return };
        if to.dense() < MIN_BYTES {
            return;
        }
        let axis = of.operation.attributes.integer("dimension");
        let axis = axis.and_then(|axis| usize::try_from(axis).ok());
        let Some(axis) = axis.filter(|&axis| axis < to.dims.len()) else { return };
        let arrays: Vec<Array> =
            (0..of.operation.operands.len()).filter_map(|number| of.operand(number)).collect();
        if arrays.len() < 2 {
            return;
        }
        self.in_another_order(body, of, &to);
        let tiled = is_tiled(axis, to.dims.len());
        if tiled && arrays.iter().all(|of| of.dims[axis] == 1) {
            return self.stacked(body, of);
        }
        if axis + 1 == to.dims.len() && to.dims[axis].is_multiple_of(LANES) {
            self.parts_of_rows(body, of);
        }
        let pieces: Vec<CallOperation<'m>> =
            body.operands(&of).filter_map(|piece| cut(body, piece)).collect();
        let tile = match to.dims.len() - axis {
            1 => LANES,
            2 => SUBLANES * (32 / u64::from(to.element().bits.clamp(1, 32))),
            _ => 1,
        };
        if arrays.iter().all(|of| of.dims[axis].is_multiple_of(tile)) {
            let largest = pieces.iter().filter_map(CallOperation::result).max_by_key(Array::dense);
            if let Some(piece) = largest {
                self.kept(of, (&piece, result), piece.by_default(self.rules), 0);
            }
            return;
        }
        for piece in pieces {
            let (Some(source), Some(array)) = (body.operands(&piece).next(), piece.result()) else {
                continue;
            };
            if array.dense() >= MIN_BYTES {
                self.pieces.entry((source, axis, array.dims)).or_default().push(piece);
            }
        }
    }

    /// Pieces of the same extents that several joins take of one array.
    pub(super) fn siblings(&mut self, body: &WrittenOut<'m>) {
        let groups = std::mem::take(&mut self.pieces);
        let starts = |of: &CallOperation<'m>| of.operation.attributes.integers("start_indices");
        for mut pieces in groups.into_values() {
            pieces.sort_by_key(starts);
            pieces.dedup_by_key(|piece| starts(piece));
            if pieces.len() < 2 {
                continue;
            }
            for piece in pieces {
                if let (Some(array), Some(value)) = (piece.result(), body.result(&piece)) {
                    self.kept(piece, (&array, value), array.by_default(self.rules), 0);
                }
            }
        }
    }

    /// Arrays along a new axis of tiles, each of which is laid so first.
    fn stacked(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let source = |value: CallValue| {
            let maker = body.maker(value).filter(|maker| maker.operation.operands.len() == 1);
            let moved = maker.and_then(|maker| body.operands(&maker).next());
            let dense = |of| body.array(of).map(|array| array.dense());
            moved.filter(|&from| dense(from) == dense(value)).unwrap_or(value)
        };
        let mut sources: Vec<CallValue> = body.operands(&of).map(source).collect();
        sources.sort_unstable();
        sources.dedup();
        let arrays = sources.iter().filter_map(|&of| body.array(of));
        let stored = arrays.filter_map(|of| Some((of.by_default(self.rules)?, of)));
        let stored: Vec<_> = stored.collect();
        let all = stored.iter().fold(0_u64, |all, ((bytes, _), _)| all.saturating_add(bytes.0));
        if let Some(((bytes, layout), array)) = stored.into_iter().max_by_key(|(of, _)| of.0) {
            let rest = all - bytes.0;
            self.passing(of, &array, Some((bytes, layout)), rest);
        }
    }

    /// Parts of rows of whole tiles that do not fill tiles.
    fn parts_of_rows(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let Some(result) = body.result(&of) else { return };
        let mut values: Vec<(CallValue, usize)> =
            body.operands(&of).map(|value| (value, 0)).collect();
        let mut known = Vec::new();
        while let Some((value, depth)) = values.pop() {
            let Some(piece) = cut(body, value) else {
                let maker = body.maker(value);
                let maker = maker.filter(|maker| depth < DEPTH && maker.is_by_element());
                let operands = maker.iter().flat_map(|maker| body.operands(maker));
                values.extend(operands.map(|operand| (operand, depth + 1)));
                continue;
            };
            let source = body.operands(&piece).next();
            let (Some(source), Some(part)) = (source, piece.result()) else { continue };
            let starts = piece.operation.attributes.integers("start_indices");
            let key = (source, starts, part.dims.clone());
            let whole = piece.operand(0).and_then(|of| of.dims.last().copied());
            let fills = whole.is_some_and(|whole| whole.is_multiple_of(LANES));
            let narrow = part.dims.last().is_some_and(|&last| last < LANES);
            if fills && narrow && part.dense() >= MIN_BYTES && !known.contains(&key) {
                known.push(key);
                self.kept(of, (&part, result), part.in_rows(self.rules), 0);
            }
        }
    }

    /// A result, as it is or after operations on its elements, whose default order is another than
    /// that of its largest operand, if this is a parameter.
    pub(super) fn in_another_order(
        &mut self,
        body: &WrittenOut<'m>,
        of: CallOperation<'m>,
        to: &Array,
    ) {
        let arrays = body
            .operands(&of)
            .zip(0..)
            .filter_map(|(value, number)| Some((of.operand(number)?, value)));
        let Some((from, value)) = arrays.max_by_key(|(array, _)| array.dense()) else { return };
        if !body.is_given(value) {
            return;
        }
        let order = |of: &Array| {
            let layout = default_layout(self.rules, of.element(), &of.dims).ok()?;
            Some(layout.minor_to_major.iter().copied().take(2).collect::<Vec<_>>())
        };
        let (Some(was), Some(is)) = (order(&from), order(to)) else { return };
        if was != is && body.result(&of).is_some_and(|result| body.ends_as_result(result)) {
            self.passing(of, &from, from.by_default(self.rules), 0);
        }
    }
}
