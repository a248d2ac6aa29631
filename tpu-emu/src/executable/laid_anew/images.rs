//! What convolutions make a chip lay anew, and which arrays are images of theirs.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::search::RelayoutSearch;
use crate::executable::image_padding;
use crate::executable::stored_array::{Array, CORE_BYTES};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tpu_base::tensor::DType;
use tpu_ops::{Entry, Operator, Relayout};

/// Operations on elements between a convolution and a sum.
const LARGEST_FUNCTION: usize = 32;
/// Features of input and result of a convolution that stores both.
const FEW_FEATURES: RangeInclusive<u64> = 8..=32;

impl<'m> RelayoutSearch<'m> {
    /// Images whose features do not fill the lanes of a tile.
    pub(super) fn convolved(
        &mut self,
        of: CallOperation<'m>,
        from: Option<Array>,
        to: Option<Array>,
    ) {
        let axis = |name: &str| image_padding::axis(of.operation, name);
        let rules = self.rules;
        let images = &mut self.images;
        let mut side = |array: Option<Array>, image: &str, feature: &str| {
            let (array, axes) = (array?, [axis(image)?, axis(feature)?]);
            images.note(&array, axes);
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

    /// The sum of two images that convolutions read, the last of them for its gradient, as in residual
    /// networks: it is stored, and not made of both again by each that reads it. Of sums of images
    /// that a convolution makes but for operations on elements, one is.
    pub(super) fn summed(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>) {
        if self.images.is_empty() || !of.is_sum() {
            return;
        }
        let (Some(to), Some(result)) = (of.result(), body.result(&of)) else { return };
        if !self.images.contains(&to.dims) {
            return;
        }
        let whole = || body.operands_of(&of, &to.dims).filter(|&of| !body.is_spread(of));
        if whole().count() != 2 || body.convolutions(result) < 2 {
            return;
        }
        let image = self.images.stored(self.rules, &to);
        let stored = image.or_else(|| to.by_default(self.rules));
        if whole().any(|of| made_by_convolution(body, of, &to.dims)) {
            self.plain_sum = Some((of, to, result, stored));
        } else {
            self.kept(of, (&to, result), stored, 0);
        }
    }

    /// Whether what an operation lays anew is an image.
    pub(super) fn lies_beside(&self, of: &CallOperation<'m>, array: &Array) -> bool {
        let by = |row: &Entry| match row.relayout {
            Relayout::Convolved | Relayout::Selected => true,
            Relayout::Reshaped => of.operand(0).is_some_and(|of| self.images.contains(&of.dims)),
            _ => self.images.contains(&array.dims) && of.is_by_element(),
        };
        matches!(of.operator, Operator::Row(row) if by(row))
    }
}

/// Whether a value is made of convolutions or products by operations on elements, and of parameters.
fn made_by_convolution(body: &WrittenOut<'_>, value: CallValue, dims: &[u64]) -> bool {
    let mut open = vec![value];
    let mut seen = BTreeSet::new();
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        let Some(maker) = body.maker(value).filter(|_| seen.len() <= LARGEST_FUNCTION) else {
            return false;
        };
        if matches!(maker.operator, Operator::Row(row) if matches!(row.relayout, Relayout::Convolved | Relayout::Multiplied))
        {
            continue;
        }
        let (spread, whole): (Vec<CallValue>, Vec<CallValue>) =
            body.operands_of(&maker, dims).partition(|&of| body.is_spread(of));
        if !maker.is_by_element() || !spread.into_iter().all(|of| body.is_of_parameters(of)) {
            return false;
        }
        open.extend(whole);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

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
}
