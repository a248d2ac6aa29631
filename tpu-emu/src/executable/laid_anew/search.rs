//! Goes through a program for what each operation makes a chip lay anew.
use super::ChipFindings;
use super::beside;
use super::body::{CallOperation, CallValue, WrittenOut};
use super::caches;
use super::inside;
use super::moves;
use super::pieces::Pieces;
use super::pools;
use super::ranked;
use super::spread::Scans;
use super::stacks::Stacks;
use super::stored::{Stored, most};
use super::tables;
use super::weights::Weights;
use crate::executable::charge::{LaidAnew, MIN_BYTES};
use crate::executable::free_layouts::DimensionOrder;
use crate::executable::image_padding::{self, Images};
use crate::executable::stored_array::{Array, CORE_BYTES, SUBLANES, bytes_of, reshaped};
use crate::hbm::layout::{Layout, TileRules};
use std::collections::BTreeSet;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_u64};
use tpu_ops::{Operator, Relayout, Structural, TOP_K, top_k};
use tpu_program::plan::Plan;
use tpu_stablehlo::ir::Operation;

/// A value that an operation makes, and how it is stored.
pub(super) type KeptValue<'m> = (CallOperation<'m>, Array, CallValue, Option<(Bytes, Layout)>);

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
    /// The last sum of images that a convolution makes, to be kept.
    pub(super) plain_sum: Option<KeptValue<'m>>,
    /// What its joins cut.
    pub(super) pieces: Pieces<'m>,
    /// What scans do to arrays.
    pub(super) scans: Scans<'m>,
    /// Tables of which rows are taken, in rows.
    pub(super) tables: BTreeSet<CallValue>,
    /// Those of them that are updated.
    pub(super) updated: BTreeSet<CallValue>,
    /// What products read ahead.
    weights: Weights<'m>,
}

impl<'m> RelayoutSearch<'m> {
    pub(super) fn new(rules: TileRules) -> Self {
        Self {
            rules,
            largest: None,
            images: Images::default(),
            stored: Vec::new(),
            plain_sum: None,
            pieces: Pieces::new(),
            scans: Scans::default(),
            tables: BTreeSet::new(),
            updated: BTreeSet::new(),
            weights: Weights::default(),
        }
    }

    /// Goes through a program; gives the padding of images among the temporaries of a plan, what is
    /// laid anew beside these, and what of both is left in HBM.
    pub(super) fn program(
        &mut self,
        body: &WrittenOut<'m>,
        plan: &Plan,
        (parameters, results): (&[DimensionOrder], &[DimensionOrder]),
    ) -> ChipFindings {
        let (moved, said) = moves::moved(self.rules, body, parameters, results);
        for of in body.operations.iter().filter(|of| !said.contains(&of.at)) {
            self.operation(body, *of);
        }
        for (of, array, stored) in moved {
            self.passing(of, &array, Some(stored), 0);
        }
        self.siblings(body);
        if let Some((operation, cache, bytes)) = caches::most(body)
            && let Some((_, layout)) = cache.by_default(self.rules)
        {
            self.alone(operation, &cache, Some((Bytes(bytes), layout)));
        }
        for (of, array, source, stored) in
            std::mem::take(&mut self.scans).taken_apart(self.rules, body)
        {
            self.kept(of, (&array, source), Some(stored), 0);
        }
        if let Some((of, array, value, stored)) = self.plain_sum.take() {
            self.kept(of, (&array, value), stored, 0);
        }
        if let Some(of) = std::mem::take(&mut self.weights).most() {
            self.together((of.product, of.others), of.largest, Some(of.stored));
        }
        let stacks = Stacks::of(body);
        if let Some((operation, array, around)) = stacks.around_a_loop(self.rules, body) {
            self.alone(operation, &array, Some(around));
        }
        let mut stored = std::mem::take(&mut self.stored);
        tables::one_group_at_a_time(body, &mut stored, &self.updated);
        self.take(most(body, &stored));
        let rules = self.rules;
        if self.images.is_empty() {
            if stacks.is_empty() {
                return ChipFindings::default();
            }
            let temporaries = image_padding::temporaries(plan, |array| stacks.stored(rules, array));
            let padding = image_padding::of(&temporaries);
            let more = padding.as_ref().map_or(0, |of| of.bytes.0);
            let all = to_u64(plan.arena).saturating_add(more);
            let in_hbm = stacks.left_in_hbm(all, &temporaries);
            return ChipFindings { padding, are_stacks: true, in_hbm, ..ChipFindings::default() };
        }
        let images = &self.images;
        let temporaries = image_padding::temporaries(plan, |array| images.stored(rules, array));
        let padding = image_padding::of(&temporaries);
        let (beside, in_hbm) = beside::most(body, &stored, (temporaries, plan), &self.images);
        ChipFindings { padding, beside, in_hbm, ..ChipFindings::default() }
    }

    fn operation(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let entry = match of.operator {
            Operator::Structural(Structural::Composite) if top_k(of.operation).is_some() => &TOP_K,
            Operator::Row(entry) => entry,
            _ => return,
        };
        let rules = self.rules;
        match entry.relayout {
            Relayout::Nothing => self.summed(body, of),
            Relayout::Reshaped => {
                if self.stack_moved(body, of) {
                    return;
                }
                if let (Some(mut from), Some(mut to)) = (of.operand(0), of.result()) {
                    let mut is_given = body.operands(&of).all(|value| body.is_given(value));
                    // A line that elements are worked on has another order than the rows it is of.
                    if let Some(result) = body.result(&of)
                        && !body.is_returned(result)
                        && body.ends_as_result(result)
                        && to.is_line()
                    {
                        is_given = false;
                    }
                    let value = body.operands(&of).next();
                    if let Some(wide) = value.and_then(|of| compared(body, of, &to)) {
                        (from.dtype, to.dtype, is_given) = (wide, wide, true);
                    }
                    let stored = reshaped(rules, (&from, is_given), &to);
                    match body.result(&of) {
                        // Groups of features of an image, as they are normalized.
                        Some(result) if self.images.contains(&from.dims) => {
                            if let Some((_, layout)) = &stored {
                                self.images.note_groups(&to.dims, layout);
                            }
                            self.kept(of, (&to, result), stored, 0);
                        }
                        _ => self.passing(of, &to, stored, 0),
                    }
                }
            }
            Relayout::Gathered => self.looked_up(body, of),
            Relayout::Scattered => self.added_to(body, of),
            Relayout::Windows => {
                let (Some(from), Some(to)) = (of.operand(0), of.result()) else { return };
                if from.dims != to.dims {
                    // An image lies as its convolution has it.
                    if self.images.contains(&from.dims) {
                        return;
                    }
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
                let again = bytes_of(stored.as_ref());
                let fastest = along.len() > 1 && along.last().is_some_and(|&window| window > 1);
                let fills = again == CORE_BYTES && !fastest;
                let once = (CORE_BYTES / 2..CORE_BYTES).contains(&again) || fills;
                self.passing(of, &from, stored, if once { 0 } else { again });
            }
            Relayout::Reversed => self.reversed(body, of),
            Relayout::Sorted => self.sorted(body, of),
            Relayout::Ranked => {
                if let Some((array, stored, more)) = ranked::ranked(rules, body, &of) {
                    self.passing(of, &array, stored, more);
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
                self.weights.look_at(rules, body, &of);
            }
            Relayout::Transformed => {
                if let Some((array, stored, more)) = inside::transformed(rules, body, &of) {
                    self.passing(of, &array, stored, more);
                }
            }
            Relayout::Selected => {
                if let Some((maker, array, value)) = pools::operand_kept(body, &of) {
                    let image = self.images.stored(rules, &array);
                    let stored = image.or_else(|| array.by_default(rules));
                    self.kept(maker, (&array, value), stored, 0);
                } else if let Some((array, stored, more)) = pools::selected(rules, &of) {
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

    /// What is reversed along an axis of tiles is stored before, if it was made, and behind, if others
    /// read it. Along other axes those read it as it is reversed, of what was stored.
    fn reversed(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let Some(from) = of.operand(0) else { return };
        let Some((bytes, layout)) = from.by_default(self.rules) else { return };
        let axes = of.operation.attributes.integers("dimensions").unwrap_or_default();
        let of_tiles = layout.minor_to_major.iter().take(2);
        let moves =
            of_tiles.copied().any(|axis| axes.iter().any(|&of| usize::try_from(of) == Ok(axis)));
        let is_stored = |value| {
            // What is cut out is stored by that.
            body.is_given(value) || body.maker(value).is_some_and(|of| of.is(Relayout::Cut))
        };
        let made = !body.operands(&of).all(is_stored);
        let read = !body.result(&of).is_some_and(|result| body.is_returned(result));
        let passing = if made { bytes.0 } else { 0 };
        match body.result(&of) {
            Some(result) if moves && read => {
                self.kept(of, (&from, result), Some((bytes, layout)), passing);
            }
            _ if made && (moves || read) => self.passing(of, &from, Some((bytes, layout)), 0),
            _ => {}
        }
    }

    /// Of a line of which the core holds two, there are the sorted arrays that nobody reads and the
    /// numbers of a stable sort, but two at least. Otherwise the first array is sorted in a copy; rows
    /// that lie side by side in two, with a copy of each other array but of places: elements of 8 bits
    /// as those of 32, and of 16 bits in three. Sorted arrays that nobody reads are stored, but the
    /// largest one where the memory of a core has room for it and not for another; others until they
    /// are read: of rows, they are one of the copies.
    fn sorted(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        let Some(first) = of.operand(0) else { return };
        let rank = first.dims.len();
        let axis = of.operation.attributes.integer("dimension").unwrap_or(-1);
        let last = i64::try_from(rank).is_ok_and(|rank| axis == -1 || axis + 1 == rank);
        let rows = last && first.dims[..rank.saturating_sub(1)].iter().any(|&dim| dim > 1);
        let stored = first.by_default(self.rules);
        let bytes = bytes_of(stored.as_ref());
        let words = 32_u64.div_ceil(first.element().bits.clamp(1, 32).into());
        let mut copies = if words == 2 { 3 } else { words + u64::from(rows) };
        let is_made = |value| body.maker(value).is_some_and(|of| of.operation.operands.is_empty());
        let numbered =
            of.operation.attributes.flag("is_stable") && !body.operands(&of).any(is_made);
        let in_core = !rows && words == 1 && bytes < CORE_BYTES / 2;
        let mut unread = Vec::new();
        for (array, value) in body.results(&of) {
            let result = array.by_default(self.rules);
            if body.end(value).is_none() {
                unread.extend(result.map(|(bytes, _)| bytes.0).filter(|_| !rows && words == 1));
            } else if !body.is_returned(value) {
                copies = copies.saturating_sub(u64::from(rows));
                self.kept(of, (&array, value), result, 0);
            }
        }
        // What is read is in the core too, where both have room: then it is counted with that.
        unread.sort_unstable();
        if unread.last().is_some_and(|last| (CORE_BYTES / 2..CORE_BYTES).contains(last)) {
            unread.pop();
        }
        let others = body.operands(&of).skip(1).filter(|&value| rows && !is_made(value));
        let others = others.filter_map(|value| body.array(value)?.by_default(self.rules));
        let others = others.fold(0, |all: u64, (bytes, _)| all.saturating_add(bytes.0));
        let again = if in_core {
            let numbers = if numbered { bytes } else { 0 };
            let least = if numbered || !unread.is_empty() { bytes } else { 0 };
            let all = unread.into_iter().fold(numbers, u64::saturating_add);
            Some(all.saturating_sub(bytes).max(least))
        } else {
            let more = unread.into_iter().fold(others, u64::saturating_add);
            copies.checked_sub(1).map(|again| bytes.saturating_mul(again).saturating_add(more))
        };
        if let Some(again) = again {
            self.passing(of, &first, stored, again);
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
            let (at, image) = (of.at, self.lies_beside(&of, &array));
            self.stored.push(Stored {
                operation,
                location,
                at,
                array,
                layout,
                own,
                passing,
                value,
                image,
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
        self.together((operation, 0), array, stored);
    }

    /// Takes an array that is there when temporaries are not, with others beside it, all of which take
    /// so many bytes.
    fn together(
        &mut self,
        (operation, others): (&'m Operation, usize),
        array: &Array,
        stored: Option<(Bytes, Layout)>,
    ) {
        let Some((Bytes(own), layout)) = stored else { return };
        let (array, value, passing, at) = (array.clone(), None, 0, 0);
        let location = operation.location;
        let image = false;
        let one = Stored { operation, location, at, array, layout, own, passing, value, image };
        self.take(Some(one.charged(own, others)));
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
        let is_array = |&of: &CallValue| {
            let scalar = |of: CallOperation<'_>| of.operand(0).is_none_or(|of| of.dims.is_empty());
            !body.maker(of).is_some_and(scalar)
        };
        let mut whole = body.operands_of(&maker, &own.dims).filter(is_array);
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
