//! Goes through a program for what each operation makes a chip lay anew.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::pieces::Pieces;
use super::stored::{Stored, most};
use super::{LaidAnew, MIN_BYTES};
use crate::executable::free_layouts::DimensionOrder;
use crate::executable::image_padding::{self, Images};
use crate::executable::stored_array::{Array, CORE_BYTES, reshaped};
use crate::hbm::layout::{Layout, TileRules};
use std::ops::RangeInclusive;
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
}

impl<'m> RelayoutSearch<'m> {
    pub(super) fn new(rules: TileRules) -> Self {
        let (stored, pieces) = (Vec::new(), Pieces::new());
        Self { rules, largest: None, images: Images::new(), stored, pieces }
    }

    /// Goes through a program.
    pub(super) fn program(&mut self, body: &WrittenOut<'m>) {
        for of in &body.operations {
            self.operation(body, *of);
        }
        self.siblings(body);
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
                if let (Some(from), Some(to)) = (of.operand(0), of.result()) {
                    let is_given = body.operands(&of).all(|value| body.is_given(value));
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
                    let table = table.as_table(rules);
                    self.kept(of, (&rows, result), stored, table);
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
            (from, to) => {
                let larger = from.into_iter().chain(to).max_by_key(|(_, stored, _)| stored.0);
                if let Some((array, stored, _)) = larger {
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
                    row.layout == LayoutRule::Permuted || row.relayout != Relayout::Nothing
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
            let (operation, at, array) = (of.operation, of.at, array.clone());
            self.stored.push(Stored { operation, at, array, layout, own, passing, value });
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
        let one = Stored { operation, at, array, layout, own, passing, value };
        self.take(Some(one.charged(own, 0)));
    }

    fn take(&mut self, found: Option<LaidAnew>) {
        let Some(found) = found else { return };
        if self.largest.as_ref().is_none_or(|known| known.bytes < found.bytes) {
            self.largest = Some(found);
        }
    }
}
