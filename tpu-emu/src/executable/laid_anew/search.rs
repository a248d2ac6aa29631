//! Goes through a program for what each operation makes a chip lay anew.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::inside;
use super::pieces::Pieces;
use super::pools;
use super::spread::Scans;
use super::stored::{Stored, most};
use super::{LaidAnew, MIN_BYTES};
use crate::executable::free_layouts::DimensionOrder;
use crate::executable::image_padding::{self, Images};
use crate::executable::stored_array::{Array, CORE_BYTES, SUBLANES, reshaped};
use crate::hbm::layout::{Layout, TileRules};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tpu_base::tensor::DType;
use tpu_base::units::Bytes;
use tpu_ops::{LayoutRule, Operator, Relayout, Structural, TOP_K, top_k};
use tpu_stablehlo::ir::{Function, Operation};

/// Features of input and result of a convolution that stores both.
const FEW_FEATURES: RangeInclusive<u64> = 8..=32;

/// What was found so far.
#[derive(Debug)]
pub(super) struct RelayoutSearch<'m> {
    pub(super) rules: TileRules,
    /// The most at one time.
    pub(super) largest: Option<LaidAnew>,
    /// The images of convolutions.
    pub(super) images: Images,
    /// What the program lays anew.
    stored: Vec<Stored<'m>>,
    /// What its joins cut.
    pub(super) pieces: Pieces<'m>,
    /// What scans do to arrays.
    pub(super) scans: Scans<'m>,
    /// Tables of which rows are taken, in rows.
    pub(super) tables: BTreeSet<CallValue>,
}

impl<'m> RelayoutSearch<'m> {
    pub(super) fn new(rules: TileRules) -> Self {
        Self {
            rules,
            largest: None,
            images: Images::new(),
            stored: Vec::new(),
            pieces: Pieces::new(),
            scans: Scans::default(),
            tables: BTreeSet::new(),
        }
    }

    /// Goes through a program.
    pub(super) fn program(&mut self, body: &WrittenOut<'m>) {
        for of in &body.operations {
            self.operation(body, *of);
        }
        self.siblings(body);
        for (of, array, source, stored) in
            std::mem::take(&mut self.scans).taken_apart(self.rules, body)
        {
            self.kept(of, (&array, source), Some(stored), 0);
        }
        let stored = std::mem::take(&mut self.stored);
        self.take(most(body, &stored));
    }

    fn operation(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let entry = match of.operator {
            Operator::Structural(Structural::Composite) if top_k(of.operation).is_some() => &TOP_K,
            Operator::Row(entry) => entry,
            _ => return,
        };
        let rules = self.rules;
        match entry.relayout {
            Relayout::Nothing => {}
            Relayout::Reshaped => {
                if self.stack_moved(body, of) {
                    return;
                }
                if let (Some(mut from), Some(mut to)) = (of.operand(0), of.result()) {
                    let mut is_given = body.operands(&of).all(|value| body.is_given(value));
                    let value = body.operands(&of).next();
                    if let Some(wide) = value.and_then(|of| compared(body, of, &to)) {
                        (from.dtype, to.dtype, is_given) = (wide, wide, true);
                    }
                    let stored = reshaped(rules, (&from, is_given), &to);
                    self.passing(of, &to, stored, 0);
                }
            }
            Relayout::Gathered => {
                if let (Some(table), Some(rows)) = (of.operand(0), of.result()) {
                    let Some(result) = body.result(&of) else { return };
                    let at_once = body.is_returned(result);
                    let stored =
                        if at_once { rows.in_padded_rows(rules) } else { rows.in_rows(rules) };
                    let (bytes, lies_so) = (table.as_table(rules), table.in_padded_rows(rules));
                    match (body.operands(&of).next(), lies_so) {
                        // What reads the table later reads it so.
                        (Some(value), Some(lies_so)) if bytes == lies_so.0.0 => {
                            self.kept(of, (&rows, result), stored, 0);
                            if self.tables.insert(value) {
                                self.kept(of, (&table, value), Some(lies_so), 0);
                            }
                        }
                        _ => self.kept(of, (&rows, result), stored, bytes),
                    }
                }
            }
            Relayout::Scattered => {
                let (into, added) = (of.operand(0), of.operand(of.operation.operands.len() - 1));
                if let (Some(into), Some(added)) = (into, added) {
                    let stored = added.in_padded_rows(rules);
                    let table = into.as_table(rules);
                    self.passing(of, &added, stored, table);
                    let rows = into.in_padded_rows(rules).filter(|_| table == 0);
                    if let Some(result) = body.result(&of).filter(|&of| !body.is_returned(of)) {
                        self.kept(of, (&into, result), rows, 0);
                    }
                }
            }
            Relayout::Windows => {
                let (Some(from), Some(to)) = (of.operand(0), of.result()) else { return };
                if from.dims != to.dims {
                    return self.passing(of, &from, from.in_padded_rows(rules), 0);
                }
                let windows = of.operation.attributes.integers("window_dimensions");
                let along = windows.unwrap_or_default();
                let covers = |(&window, &dim): (&i64, &u64)| {
                    dim > 1 && u64::try_from(window).is_ok_and(|window| window >= dim)
                };
                if !along.iter().zip(&from.dims).any(covers) {
                    return;
                }
                let stored = from.in_rows(rules);
                let again = stored.as_ref().map_or(0, |(bytes, _)| bytes.0);
                let fastest = along.len() > 1 && along.last().is_some_and(|&window| window > 1);
                let fills = again == CORE_BYTES && !fastest;
                let once = (CORE_BYTES / 2..CORE_BYTES).contains(&again) || fills;
                self.passing(of, &from, stored, if once { 0 } else { again });
            }
            Relayout::Reversed => {
                let moved = body.operands(&of).all(|value| body.is_given(value))
                    && body.result(&of).is_some_and(|result| body.is_returned(result));
                if let (Some(from), false) = (of.operand(0), moved) {
                    self.passing(of, &from, from.by_default(rules), 0);
                }
            }
            Relayout::Sorted => self.sorted(body, of),
            Relayout::Ranked => {
                if let Some(from) = of.operand(0) {
                    let stored = from.by_default(rules);
                    let is_line = from.dims.iter().filter(|&&dim| dim > 1).count() < 2;
                    let again = stored.as_ref().map_or(0, |(bytes, _)| bytes.0);
                    self.passing(of, &from, stored, if is_line { again } else { 0 });
                }
            }
            Relayout::Convolved => self.convolved(of, of.operand(0), of.result()),
            Relayout::Reduced => {
                if let (Some(to), Some(result)) = (of.result(), body.result(&of))
                    && to.dense() >= MIN_BYTES
                    && !body.is_returned(result)
                {
                    self.kept(of, (&to, result), to.by_default(rules), 0);
                }
            }
            Relayout::Cut => self.cut(body, of),
            Relayout::Joined => self.joined(body, of),
            Relayout::Padded => {
                if let Some(to) = of.result().filter(|to| to.dense() >= MIN_BYTES) {
                    self.in_another_order(body, of, &to);
                    let spread = self.scans.spread((rules, body), &of, &to);
                    if let (Some((stored, passing)), Some(result)) = (spread, body.result(&of)) {
                        self.kept(of, (&to, result), stored, passing);
                    }
                    self.stack_moved(body, of);
                }
            }
            Relayout::Multiplied => {
                if let Some((array, stored, more)) = inside::small_matrices(rules, &of) {
                    self.passing(of, &array, stored, more);
                }
                if let Some(given) = inside::read_ahead(body, &of) {
                    self.alone(of.operation, &given, given.by_default(rules));
                }
            }
            Relayout::Transformed => {
                if let Some((array, stored, more)) = inside::transformed(rules, body, &of) {
                    self.passing(of, &array, stored, more);
                }
            }
            Relayout::Selected => {
                if let Some((array, stored, more)) = pools::selected(rules, &of) {
                    self.passing(of, &array, stored, more);
                }
            }
            Relayout::Factored => {
                if let Some((array, stored, more)) = inside::factored(rules, &of) {
                    self.passing(of, &array, stored, more);
                }
            }
        }
    }

    /// The first array is sorted in a copy, and rows that lie side by side in two: elements of 8 bits
    /// as those of 32, and of 16 bits in three. Sorted arrays that nobody reads are stored where the
    /// memory of a core has no room for them, others until they are read: of rows, they are one of
    /// the copies.
    fn sorted(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let Some(first) = of.operand(0) else { return };
        let rank = first.dims.len();
        let axis = of.operation.attributes.integer("dimension").unwrap_or(-1);
        let last = i64::try_from(rank).is_ok_and(|rank| axis == -1 || axis + 1 == rank);
        let rows = last && first.dims[..rank.saturating_sub(1)].iter().any(|&dim| dim > 1);
        let stored = first.by_default(self.rules);
        let bytes = stored.as_ref().map_or(0, |(bytes, _)| bytes.0);
        let words = 32_u64.div_ceil(first.element().bits.clamp(1, 32).into());
        let mut copies = if words == 2 { 3 } else { words + u64::from(rows) };
        let mut unread = 0_u64;
        for (array, value) in body.results(&of) {
            let result = array.by_default(self.rules);
            if body.end(value).is_none() {
                let bytes = result.map_or(0, |(bytes, _)| bytes.0);
                let stays = bytes > CORE_BYTES && !rows;
                unread = unread.saturating_add(if stays { bytes } else { 0 });
            } else if !body.is_returned(value) {
                copies = copies.saturating_sub(u64::from(rows));
                self.kept(of, (&array, value), result, 0);
            }
        }
        if let Some(again) = copies.checked_sub(1) {
            self.passing(of, &first, stored, bytes.saturating_mul(again).saturating_add(unread));
        }
    }

    /// Images whose features do not fill the lanes of a tile.
    fn convolved(&mut self, of: CallOperation<'m>, from: Option<Array>, to: Option<Array>) {
        let axis = |name: &str| image_padding::axis(of.operation, name);
        let rules = self.rules;
        let images = &mut self.images;
        let mut side = |array: Option<Array>, image: &str, feature: &str| {
            let (array, axes) = (array?, [axis(image)?, axis(feature)?]);
            images.entry(array.dims.clone()).or_insert(axes);
            let stored = array.as_images(rules, axes)?;
            let features = array.dims[axes[1]];
            Some((array, stored, features))
        };
        let from = side(from, "input_batch_dimension", "input_feature_dimension");
        let to = side(to, "output_batch_dimension", "output_feature_dimension");
        match (from, to) {
            (Some((from, stored, a)), Some((_, other, b)))
                if [a, b].iter().all(|features| FEW_FEATURES.contains(features)) =>
            {
                self.passing(of, &from, Some(stored), other.0.0);
            }
            (Some((from, stored, _)), Some((to, other, _))) if stored.0 <= other.0 => {
                // The input is read in 16 bits, from the core's memory where that has room for it.
                let dtype = if from.dtype == DType::F32 { DType::Bf16 } else { from.dtype };
                let names = ["input_batch_dimension", "input_feature_dimension"];
                let axes = names.map(|name| axis(name).unwrap_or_default());
                let narrow = Array { dtype, ..from }.as_images(rules, axes);
                let narrow = narrow.map_or(0, |(bytes, _)| bytes.0);
                let narrow = if narrow >= CORE_BYTES { narrow } else { 0 };
                self.passing(of, &to, Some(other), narrow);
            }
            (from, to) => {
                if let Some((array, stored, _)) = from.or(to) {
                    self.passing(of, &array, Some(stored), 0);
                }
            }
        }
    }

    /// Results that are not made in the order in which they must lie. What only moves a parameter
    /// goes there at once.
    pub(super) fn results(
        &mut self,
        entry: &'m Function,
        made: Vec<DimensionOrder>,
        wanted: &[DimensionOrder],
    ) {
        let Some((last, operations)) =
            entry.block().and_then(|block| block.operations.split_last())
        else {
            return;
        };
        for ((&value, made), wanted) in last.operands.iter().zip(made).zip(wanted) {
            let (Some(made), Some(wanted)) = (made, wanted) else { continue };
            if made.first() == wanted.first() {
                continue;
            }
            let maker = operations.iter().rev().find(|one| one.results.contains(&value));
            let (Some(maker), Some(array)) = (maker, Array::of(entry, value)) else { continue };
            let moves = match Operator::of(maker) {
                Operator::Row(row) => {
                    row.layout == LayoutRule::Permuted
                        || !matches!(row.relayout, Relayout::Nothing | Relayout::Multiplied)
                }
                _ => true,
            };
            if !moves {
                let stored = array.in_order(self.rules, &made);
                self.alone(maker, &array, stored);
            }
        }
    }

    /// What is stored until a value is not needed any more, with more bytes while the operation runs.
    pub(super) fn kept(
        &mut self,
        of: CallOperation<'m>,
        (array, value): (&Array, CallValue),
        stored: Option<(Bytes, Layout)>,
        more: u64,
    ) {
        self.note(of, (array, Some(value)), stored, more);
    }

    /// What is stored while an operation runs, with more bytes.
    pub(super) fn passing(
        &mut self,
        of: CallOperation<'m>,
        array: &Array,
        stored: Option<(Bytes, Layout)>,
        more: u64,
    ) {
        self.note(of, (array, None), stored, more);
    }

    fn note(
        &mut self,
        of: CallOperation<'m>,
        (array, value): (&Array, Option<CallValue>),
        stored: Option<(Bytes, Layout)>,
        passing: u64,
    ) {
        let Some((Bytes(own), layout)) = stored else { return };
        if own.saturating_add(passing) >= MIN_BYTES {
            let (operation, location, array) = (of.operation, of.location, array.clone());
            let at = of.at;
            self.stored.push(Stored {
                operation,
                location,
                at,
                array,
                layout,
                own,
                passing,
                value,
            });
        }
    }

    /// What is stored, whatever else is.
    pub(super) fn alone(
        &mut self,
        operation: &'m Operation,
        array: &Array,
        stored: Option<(Bytes, Layout)>,
    ) {
        let Some((Bytes(own), layout)) = stored else { return };
        let (array, value, passing, at) = (array.clone(), None, 0, 0);
        let location = operation.location;
        let one = Stored { operation, location, at, array, layout, own, passing, value };
        self.take(Some(one.charged(own, 0)));
    }

    fn take(&mut self, found: Option<LaidAnew>) {
        let Some(found) = found else { return };
        if self.largest.as_ref().is_none_or(|known| known.bytes < found.bytes) {
            self.largest = Some(found);
        }
    }
}

/// Operations on elements that are followed from a reshape.
const DEPTH: usize = 8;

/// The type of the parameter of which comparisons make a value that is taken apart along whole
/// tiles: the chip lays the parameter anew, and compares as it reads that.
fn compared(body: &WrittenOut<'_>, value: CallValue, to: &Array) -> Option<DType> {
    let own = body.array(value)?;
    let whole = to.dims.last().is_some_and(|last| last.is_multiple_of(SUBLANES));
    if own.element().bits > DType::Pred.element().bits || !whole {
        return None;
    }
    let (mut at, mut compares) = (value, false);
    for _ in 0..DEPTH {
        let dtype = body.array(at)?.dtype;
        compares |= dtype == DType::Pred;
        if body.is_given(at) {
            return compares.then_some(dtype);
        }
        let maker = body.maker(at).filter(CallOperation::is_by_element)?;
        let is_whole = |&of: &CallValue| {
            let maker = body.maker(of);
            let scalar = |of: CallOperation<'_>| of.operand(0).is_none_or(|of| of.dims.is_empty());
            body.array(of).is_some_and(|of| of.dims == own.dims) && !maker.is_some_and(scalar)
        };
        let mut whole = body.operands(&maker).filter(is_whole);
        at = whole.next()?;
        if whole.next().is_some() {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    #[test]
    fn a_table_that_is_read_again_lies_in_rows_until_then() {
        let (table, rows) = ("tensor<1048576x64xf32>", "tensor<65536x64xf32>");
        let gather = format!(
            "%g = \"stablehlo.gather\"(%a, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims \
             = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, \
             indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}}> : ({table}, \
             tensor<65536x1xi32>) -> {rows}\n%h = stablehlo.sine %g : {rows}"
        );
        let scatter = format!(
            "%s = \"stablehlo.scatter\"(%z, %i, %h) <{{scatter_dimension_numbers = \
             #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], \
             scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, \
             unique_indices = false}}> ({{\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
             %m = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %m : tensor<f32>\n}}) : \
             ({table}, tensor<65536x1xi32>, {rows}) -> {table}"
        );
        let parameters = format!("%a: {table}, %i: tensor<65536x1xi32>, %z: {table}");
        let (whole, taken) = (1_048_576 * 128 * 4, 65_536 * 128 * 4);
        let descend = format!("{gather}\n{scatter}\n%r = stablehlo.subtract %a, %s : {table}");
        // As libtpu 0.0.51 says of a step of training on a v5e: the table and its gradient.
        assert_eq!(charged(&parameters, &descend, table), 2 * whole + 2 * taken);
        let once = format!("{gather}\n%r = stablehlo.negate %h : {rows}");
        assert_eq!(charged(&parameters, &once, rows), whole + taken);
    }

    #[test]
    fn images_are_read_in_16_bits_from_where_there_is_room_for_them() {
        let convolved = |images: u64| {
            let of = format!("tensor<{images}x512x512x1xf32>");
            let body = format!(
                "%r = stablehlo.convolution(%a, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, \
                 1, f], window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, \
                 feature_group_count = 1 : i64}} : ({of}, tensor<3x3x1x1xf32>) -> {of}"
            );
            charged(&format!("%a: {of}, %w: tensor<3x3x1x1xf32>"), &body, &of)
        };
        assert_eq!(convolved(32), 512 * 512 * 128 * 4 + 512 * 512 * 2 * 128 * 2);
    }

    #[test]
    fn what_is_narrowed_is_laid_anew_as_it_was() {
        let (x, pieces) = ("tensor<4096x4096xf32>", "tensor<4096x512x8xui8>");
        let body = format!(
            "%c = stablehlo.constant dense<0.0> : {x}\n\
             %p = stablehlo.compare GT, %a, %c : ({x}, {x}) -> tensor<4096x4096xi1>\n\
             %b = stablehlo.convert %p : (tensor<4096x4096xi1>) -> tensor<4096x4096xui8>\n\
             %r = stablehlo.reshape %b : (tensor<4096x4096xui8>) -> {pieces}"
        );
        assert_eq!(charged(&format!("%a: {x}"), &body, pieces), 4096 * 4096 * 4);
    }
}
