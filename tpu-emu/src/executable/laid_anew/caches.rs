//! Arrays that a loop updates and multiplies by: a loop has them in the order of its products.
use super::body::{CallOperation, CallValue, WrittenOut};
use crate::executable::stored_array::Array;
use std::collections::BTreeSet;
use tpu_ops::{DYNAMIC_UPDATE_SLICE, Operator, Relayout};
use tpu_stablehlo::ir::Operation;

/// What a loop lays anew before it begins: arrays of which matrices are multiplied, one for each
/// index of axes that are not the slowest, such as the heads of what a sequence has so far. Where
/// several loops do so, the one with the most of them; with these, the largest one and the bytes of
/// all.
pub(super) fn most<'m>(body: &WrittenOut<'m>) -> Option<(&'m Operation, Array, u64)> {
    let multiplied = multiplied(body);
    if multiplied.is_empty() {
        return None;
    }
    let laid = body.loops().filter_map(|of| {
        let carried = body.carried(&of).into_iter();
        let updated = carried.filter(|(given, made)| given != made && multiplied.contains(given));
        let arrays: Vec<Array> = updated.filter_map(|(given, _)| body.array(given)).collect();
        let bytes = arrays.iter().fold(0_u64, |sum, array| sum.saturating_add(array.dense()));
        Some((of.operation, arrays.into_iter().max_by_key(Array::dense)?, bytes))
    });
    laid.max_by_key(|(_, _, bytes)| *bytes)
}

/// The values that become operands of products in another order than their own, as they are or
/// with slices put into them.
fn multiplied(body: &WrittenOut<'_>) -> BTreeSet<CallValue> {
    let is_product = |of: &&CallOperation<'_>| matches!(of.operator, Operator::Row(row) if row.relayout == Relayout::Multiplied);
    let mut found = BTreeSet::new();
    for of in body.operations.iter().filter(is_product) {
        let sides = ["lhs_batching_dimensions", "rhs_batching_dimensions"];
        for (mut value, name) in body.operands(of).zip(sides) {
            let batch = of.operation.attributes.integers(name).unwrap_or_default();
            if !body.array(value).is_some_and(|array| is_turned(&array, &batch)) {
                continue;
            }
            while let Some(maker) = body.maker(value)
                && maker.is_named(&DYNAMIC_UPDATE_SLICE)
                && let Some(into) = body.operands(&maker).next()
            {
                value = into;
            }
            found.insert(value);
        }
    }
    found
}

/// Whether axes that a product has one matrix for each index of are not the slowest ones.
fn is_turned(array: &Array, batch: &[i64]) -> bool {
    let axes = array.dims.iter().zip(0_i64..).filter(|(dim, _)| **dim > 1);
    let is_batch: Vec<bool> = axes.map(|(_, axis)| batch.contains(&axis)).collect();
    !is_batch.is_sorted_by(|before, after| before >= after)
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    /// What a loop lays anew that puts a position into a cache of heads, and multiplies by it.
    fn decoded(heads: u64, update: &str) -> u64 {
        let cache = format!("tensor<8x2048x{heads}x128xf32>");
        let body = format!(
            "%n = stablehlo.constant dense<16> : tensor<i32>\n\
             %w:3 = stablehlo.while(%c = %a, %q = %b, %i = %z) : {cache}, \
             tensor<8x{heads}x128xf32>, tensor<i32>\n\
             cond {{\n%p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n\
             stablehlo.return %p : tensor<i1>\n}} do {{\n\
             %k = stablehlo.reshape %q : (tensor<8x{heads}x128xf32>) -> \
             tensor<8x1x{heads}x128xf32>\n\
             %u = stablehlo.dynamic_update_slice %c, %k, %z, %i, %z, %z : ({cache}, \
             tensor<8x1x{heads}x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> \
             {cache}\n\
             %s = stablehlo.dot_general %q, %u, batching_dims = [0, 1] x [0, 2], contracting_dims = \
             [2] x [3] : (tensor<8x{heads}x128xf32>, {cache}) -> tensor<8x{heads}x2048xf32>\n\
             %t = stablehlo.dot_general %s, %u, batching_dims = [0, 1] x [0, 2], contracting_dims = \
             [2] x [1] : (tensor<8x{heads}x2048xf32>, {cache}) -> tensor<8x{heads}x128xf32>\n\
             stablehlo.return {update}, %t, %i : {cache}, tensor<8x{heads}x128xf32>, tensor<i32>\n}}\n\
             %r = stablehlo.negate %w#0 : {cache}"
        );
        let parameters = format!("%a: {cache}, %b: tensor<8x{heads}x128xf32>, %z: tensor<i32>");
        charged(&parameters, &body, &cache)
    }

    #[test]
    fn a_cache_of_heads_is_turned_for_a_loop_that_updates_it() {
        assert_eq!(decoded(8, "%u"), 8 * 2048 * 8 * 128 * 4);
        assert_eq!(decoded(1, "%u"), 0, "one head lies so");
        assert_eq!(decoded(8, "%c"), 0, "nothing is put into it");
    }
}
