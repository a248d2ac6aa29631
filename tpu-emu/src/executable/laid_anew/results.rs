//! Results that are made in another order than the one in which they must lie.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::search::RelayoutSearch;
use crate::executable::free_layouts::DimensionOrder;
use crate::executable::image_padding;
use crate::executable::stored_array::{Array, LANES, SUBLANES};
use crate::hbm::layout::Layout;
use tpu_base::units::Bytes;
use tpu_ops::{LayoutRule, Operator, Relayout};
use tpu_stablehlo::ir::Function;

/// Operations on elements between a product and a result.
const DEPTH: usize = 16;

impl<'m> RelayoutSearch<'m> {
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

    /// Results that products of rows make, each row of several axes such as the tokens of several
    /// sequences: the first one is the slowest there, and another one where that needs less padding.
    pub(super) fn products(&mut self, body: &WrittenOut<'m>, wanted: &[DimensionOrder]) {
        let Some(last) = body.operations.last() else { return };
        for (value, order) in body.operands(last).zip(wanted) {
            let Some(order) = order.as_ref().filter(|order| order.len() > 2) else { continue };
            let Some(array) = body.array(value) else { continue };
            let is_wide = |&axis: &usize| array.dims[axis] > 1;
            let axes: Vec<usize> = (0..array.dims.len()).filter(is_wide).collect();
            let slowest = order.iter().copied().rfind(is_wide);
            if axes.len() != 3 || slowest == axes.first().copied() {
                continue;
            }
            let Some(found) = product_of_rows(body, value, &array) else { continue };
            let Some((Bytes(own), layout)) = self.in_rows_of_either(&array) else { continue };
            let product = found.product.result().filter(|_| found.is_kept);
            let kept = product.and_then(|of| self.in_rows_of_either(&of));
            let bytes = own.saturating_add(kept.map_or(0, |(Bytes(kept), _)| kept));
            self.alone(found.product.operation, &array, Some((Bytes(bytes), layout)));
        }
    }

    /// Results that convolutions make, but for operations on elements: images are the second fastest
    /// axis there, and of a few images parts are. Images of fewer features lie as these need less.
    pub(super) fn convolved_results(&mut self, body: &WrittenOut<'m>) {
        let Some(last) = body.operations.last() else { return };
        for value in body.operands(last) {
            let Some(array) = body.array(value) else { continue };
            let Some(maker) = convolution(body, value, &array.dims) else { continue };
            let axes = ["output_feature_dimension", "output_batch_dimension"];
            let [Some(feature), Some(image)] =
                axes.map(|name| image_padding::axis(maker.operation, name))
            else {
                continue;
            };
            let extent = |axis: usize| array.dims.get(axis).copied().unwrap_or(0);
            if feature == image || extent(feature) < LANES {
                continue;
            }
            let stored = if extent(image) < SUBLANES {
                // The image in parts, and what is made of these.
                let stored = array.by_default(self.rules);
                stored.map(|(bytes, layout)| (Bytes(bytes.0.saturating_mul(2)), layout))
            } else {
                let rest =
                    (0..array.dims.len()).rev().filter(|axis| ![feature, image].contains(axis));
                let order: Vec<usize> = [feature, image].into_iter().chain(rest).collect();
                array.in_order(self.rules, &order)
            };
            self.alone(maker.operation, &array, stored);
        }
    }

    /// What is less of an array with its first axis as the slowest, and its last two either way.
    fn in_rows_of_either(&self, array: &Array) -> Option<(Bytes, Layout)> {
        let rows: Vec<usize> = (0..array.dims.len()).rev().collect();
        let mut columns = rows.clone();
        columns.swap(0, 1);
        let both = [rows, columns];
        both.iter().filter_map(|order| array.in_order(self.rules, order)).min_by_key(|of| of.0)
    }
}

/// The convolution that makes a value of these extents, but for operations on elements.
fn convolution<'m>(
    body: &WrittenOut<'m>,
    value: CallValue,
    dims: &[u64],
) -> Option<CallOperation<'m>> {
    let mut open = vec![value];
    for _ in 0..DEPTH {
        let Some(maker) = body.maker(open.pop()?) else { continue };
        if maker.is(Relayout::Convolved) {
            return Some(maker);
        }
        if maker.is_by_element() {
            open.extend(body.operands_of(&maker, dims));
        }
    }
    None
}

/// A product of rows and a matrix of which operations on elements make an array.
struct RowProduct<'m> {
    product: CallOperation<'m>,
    /// Whether others read it too, or what is made of it on the way, so that it is stored.
    is_kept: bool,
}

fn product_of_rows<'m>(
    body: &WrittenOut<'m>,
    mut value: CallValue,
    array: &Array,
) -> Option<RowProduct<'m>> {
    let mut is_kept = false;
    for _ in 0..DEPTH {
        let product = body.maker(value)?;
        if matches!(product.operator, Operator::Row(row) if row.relayout == Relayout::Multiplied) {
            let rank = |number| product.operand(number).map(|of| of.dims.len());
            let of_rows = rank(0) == Some(array.dims.len()) && rank(1) == Some(2);
            return of_rows.then_some(RowProduct { product, is_kept });
        }
        let mut whole = body.operands_of(&product, &array.dims);
        value = whole.find(|&of| product.is_by_element() && !body.is_spread(of))?;
        is_kept |= !body.is_read_once(value);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::largest;
    use super::super::tests::charged;
    use crate::hbm::layout::TileRules;
    use tpu_program::plan::Plan;
    use tpu_stablehlo::text::parse;

    /// What the logits of so many sequences of 512 tokens make a chip lay anew, in bytes, which lie
    /// with these axes from the fastest to the slowest.
    fn of_logits(sequences: u64, lines: &str, order: [usize; 3]) -> u64 {
        let (rows, columns) = (format!("tensor<{sequences}x512x64xbf16>"), "tensor<64x30522xbf16>");
        let all = format!("tensor<{sequences}x512x30522xbf16>");
        let text = format!(
            "func.func @main(%x: {rows}, %w: {columns}) -> ALL {{\n\
             %p = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : ({rows}, {columns}) \
             -> ALL\n{lines}\n  return %r : ALL\n}}"
        );
        let module = parse(&text.replace("ALL", &all)).unwrap();
        let of = (&module, &Plan::default());
        let found = largest(of, TileRules::V4, vec![None; 2], &[Some(order.to_vec())]);
        found.alone.map_or(0, |found| found.bytes.0)
    }

    #[test]
    fn logits_of_several_sequences_are_copied_where_these_are_not_the_slowest() {
        let negated = "%r = stablehlo.negate %p : ALL";
        // Columns fill tiles of 16 where tokens are the fastest.
        let bytes = |sequences: u64| sequences * 30528 * 512 * 2;
        assert_eq!(of_logits(8, negated, [1, 0, 2]), bytes(8));
        // The matrix is read into the core ahead of all.
        let matrix = 64 * 30592 * 2;
        assert_eq!(of_logits(8, negated, [1, 2, 0]), matrix, "as they are made");
        assert_eq!(of_logits(8, negated, [2, 1, 0]), matrix, "as they are made");
        assert_eq!(of_logits(1, negated, [1, 0, 2]), matrix, "of one sequence");
        let twice = "%r = stablehlo.multiply %p, %p : ALL";
        assert_eq!(of_logits(8, twice, [1, 0, 2]), 2 * bytes(8), "a product that is kept");
    }

    /// What a convolution of 3x3 makes a chip lay anew of a result of so many images and features,
    /// which `then` makes `%r` of `%c`.
    fn convolved(images: u64, features: u64, then: &str) -> u64 {
        let (of, kernel) = (
            format!("tensor<{images}x64x64x{features}xf32>"),
            format!("tensor<3x3x{features}x{features}xf32>"),
        );
        let body = format!(
            "%c = stablehlo.convolution(%a, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
             window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, \
             feature_group_count = 1 : i64}} : ({of}, {kernel}) -> {of}\n\
             %r = {then} : {of}"
        );
        charged(&format!("%a: {of}, %w: {kernel}"), &body, &of)
    }

    #[test]
    fn a_result_of_a_convolution_is_made_with_images_as_the_second_fastest_axis() {
        // As libtpu 0.0.51 says of programs on a v5e.
        let image = 64 * 64 * 128 * 4;
        assert_eq!(convolved(64, 128, "stablehlo.tanh %c"), 64 * image);
        assert_eq!(convolved(64, 128, "stablehlo.add %a, %c"), 64 * image);
        assert_eq!(convolved(16, 192, "stablehlo.tanh %c"), 16 * 2 * image, "whole tiles");
        assert_eq!(convolved(4, 128, "stablehlo.tanh %c"), 2 * 4 * image, "in parts");
        assert_eq!(convolved(64, 128, "stablehlo.tanh %a"), 0, "no result");
    }
}
