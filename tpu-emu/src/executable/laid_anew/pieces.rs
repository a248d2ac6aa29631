//! Arrays that are cut, joined, stacked and padded.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::search::RelayoutSearch;
use crate::executable::charge::MIN_BYTES;
use crate::executable::stored_array::{Array, LANES, SUBLANES, bytes_of};
use crate::hbm::layout::default_layout;
use std::collections::HashMap;
use tpu_ops::{Operator, Relayout};

/// Operations on elements that are followed from a join to what is cut.
const DEPTH: usize = 8;

/// Pieces that joins take of one array, by the array, the axis of the join, and their extents.
/// Each with whether it is shifted within its tiles.
pub(super) type Pieces<'m> = HashMap<(CallValue, usize, Vec<u64>), Vec<(CallOperation<'m>, bool)>>;

/// Whether an axis is one of those that tiles lie along.
fn is_tiled(axis: usize, rank: usize) -> bool {
    axis + 2 >= rank
}

impl<'m> RelayoutSearch<'m> {
    /// Every n-th element along an axis of tiles.
    pub(super) fn cut(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let steps = of.operation.attributes.integers("strides").unwrap_or_default();
        let rank = steps.len();
        let skips = |(axis, &step): (usize, &i64)| step > 1 && is_tiled(axis, rank);
        let Some(axis) = steps.iter().enumerate().position(skips) else { return };
        self.scans.strided(body, of, axis);
        let (Some(from), Some(to), Some(result)) = (of.operand(0), of.result(), body.result(&of))
        else {
            return;
        };
        if to.dense() < MIN_BYTES || body.is_returned(result) {
            return;
        }
        let maker = body.operands(&of).next().and_then(|operand| body.maker(operand));
        let made_here =
            maker.is_some_and(|maker| maker.is_by_element() || maker.is(Relayout::Joined));
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
            if !self.is_slowest(&to, axis) {
                self.stacked(body, of);
            }
            return;
        }
        if axis + 1 == to.dims.len() && to.dims[axis].is_multiple_of(LANES) {
            self.parts_of_rows(body, of);
        }
        let pieces: Vec<CallOperation<'m>> =
            body.operands(&of).filter_map(|piece| body.cut(piece)).collect();
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
            if array.dense() < MIN_BYTES {
                continue;
            }
            let starts = piece.operation.attributes.integers("start_indices");
            let start = starts.and_then(|starts| u64::try_from(*starts.get(axis)?).ok());
            // It is shifted within its tiles before it is joined.
            let shifted =
                array.dims[axis] > tile && start.is_some_and(|start| !start.is_multiple_of(tile));
            self.pieces.entry((source, axis, array.dims)).or_default().push((piece, shifted));
        }
    }

    /// Pieces that are shifted, or of the same extents that several joins take of one array.
    pub(super) fn siblings(&mut self, body: &WrittenOut<'m>) {
        let groups = std::mem::take(&mut self.pieces);
        let starts = |of: &CallOperation<'m>| of.operation.attributes.integers("start_indices");
        for mut pieces in groups.into_values() {
            pieces.sort_by_key(|(piece, _)| starts(piece));
            pieces.dedup_by_key(|(piece, _)| starts(piece));
            let several = pieces.len() > 1;
            for (piece, _) in pieces.into_iter().filter(|&(_, shifted)| shifted || several) {
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

    /// Whether an axis lies outside of tiles by default.
    fn is_slowest(&self, of: &Array, axis: usize) -> bool {
        default_layout(self.rules, of.element(), &of.dims)
            .is_ok_and(|layout| layout.minor_to_major.iter().skip(2).any(|&slow| slow == axis))
    }

    /// Whether an operation moves what was stacked along an axis of tiles: it is stored with that
    /// axis outside of tiles, and once more as the operation reads it.
    pub(super) fn stack_moved(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) -> bool {
        let joined = |of: &CallOperation<'m>| matches!(of.operator, Operator::Row(row) if row.relayout == Relayout::Joined);
        let maker = body.operands(&of).next().and_then(|from| body.maker(from)).filter(joined);
        let (Some(maker), Some(from)) = (maker, of.operand(0)) else { return false };
        let axis = maker.operation.attributes.integer("dimension");
        let axis = axis.and_then(|axis| usize::try_from(axis).ok());
        let Some(axis) = axis.filter(|&axis| is_tiled(axis, from.dims.len())) else { return false };
        let pieces = 0..maker.operation.operands.len();
        let thin = |number| maker.operand(number).is_some_and(|of| of.dims[axis] == 1);
        if from.dense() < MIN_BYTES || !pieces.into_iter().all(thin) || self.is_slowest(&from, axis)
        {
            return false;
        }
        let stored = from.by_default(self.rules);
        let again = bytes_of(stored.as_ref());
        // Of rows between rows, an operation on elements behind it makes the second one.
        let returned = body.result(&of).is_some_and(|result| body.is_returned(result));
        let twice = axis + 1 == from.dims.len() || returned;
        self.passing(of, &from, stored, if twice { again } else { 0 });
        true
    }

    /// Parts of rows of whole tiles that do not fill tiles.
    fn parts_of_rows(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let Some(result) = body.result(&of) else { return };
        let mut values: Vec<(CallValue, usize)> =
            body.operands(&of).map(|value| (value, 0)).collect();
        let mut known = Vec::new();
        while let Some((value, depth)) = values.pop() {
            let Some(piece) = body.cut(value) else {
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

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    /// What is laid anew where so many arrays are stacked along an axis, and these lines follow.
    fn stacked(count: usize, (new, axis): (&str, usize), lines: &str, result: &str) -> u64 {
        let of = "tensor<1024x1024xf32>";
        let all = new.replacen('N', &count.to_string(), 1);
        let (new, all) = (new.replacen('N', "1", 1), format!("tensor<{all}xf32>"));
        let new = format!("tensor<{new}xf32>");
        let kept: Vec<String> = (0..3).filter(|&at| at != axis).map(|at| at.to_string()).collect();
        let kept = kept.join(", ");
        let names: Vec<String> = (0..count).map(|at| format!("%s{at}")).collect();
        let made: Vec<String> = (0..count)
            .map(|at| {
                format!(
                    "%s{at} = stablehlo.broadcast_in_dim %p{at}, dims = [{kept}] : ({of}) -> {new}"
                )
            })
            .collect();
        let types = vec![&new[..]; count].join(", ");
        let body = format!(
            "{}\n%t = stablehlo.concatenate {}, dim = {axis} : ({types}) -> {all}\n{}",
            made.join("\n"),
            names.join(", "),
            lines.replace("ALL", &all)
        );
        let parameters: Vec<String> = (0..count).map(|at| format!("%p{at}: {of}")).collect();
        charged(&parameters.join(", "), &body, &result.replace("ALL", &all))
    }

    #[test]
    fn arrays_are_stacked_in_place_along_an_axis_that_lies_outside_of_tiles() {
        let doubled = "%r = stablehlo.add %t, %t : ALL";
        let bytes = 1024 * 1024 * 4;
        // As libtpu 0.0.51 says of temporaries on a v5e.
        assert_eq!(stacked(3, ("1024x1024xN", 2), doubled, "ALL"), 0);
        assert_eq!(stacked(4, ("1024x1024xN", 2), doubled, "ALL"), 4 * bytes);
    }

    #[test]
    fn a_stack_that_is_moved_is_stored_twice() {
        let bytes = 2 * 1024 * 1024 * 4;
        let merged = |to: &str, name: &str| {
            format!("%{name} = stablehlo.reshape %t : (ALL) -> tensor<{to}xf32>")
        };
        let rows = "tensor<2048x1024xf32>";
        let returned = merged("2048x1024", "r");
        assert_eq!(stacked(2, ("1024xNx1024", 1), &returned, rows), 2 * bytes);
        let more = format!("{}\n%r = stablehlo.add %u, %u : {rows}", merged("2048x1024", "u"));
        assert_eq!(stacked(2, ("1024xNx1024", 1), &more, rows), bytes);
        let columns = "tensor<1024x2048xf32>";
        let more = format!("{}\n%r = stablehlo.add %u, %u : {columns}", merged("1024x2048", "u"));
        assert_eq!(stacked(2, ("1024x1024xN", 2), &more, columns), 2 * bytes);
    }
}
