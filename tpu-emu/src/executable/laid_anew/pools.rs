//! What the gradient of a pool lays anew.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::inside::Inside;
use crate::executable::stored_array::{Array, CORE_BYTES, bytes_of};
use crate::hbm::layout::{Layout, TileRules};
use tpu_base::units::Bytes;

/// The operand of a gradient of a pool with features as the fastest axis and images next to it, or
/// these the other way where that is less, and as many bytes again for the result; more for what is
/// given back, where the core has no room for it. `None` where the operand lies so, or where it has
/// other axes beside those of the windows.
///
/// What a loop made lies so at once, and its copy is not counted ([`operand_kept`]).
pub(super) fn selected(rules: TileRules, of: &CallOperation<'_>) -> Option<Inside> {
    let (from, source) = (of.operand(0)?, of.operand(1)?);
    let windows = of.operation.attributes.integers("window_dimensions")?;
    let single = |&axis: &usize| windows.get(axis) == Some(&1);
    let [images, features] = (0..from.dims.len()).filter(single).collect::<Vec<_>>()[..] else {
        return None;
    };
    let along = (0..from.dims.len()).rev().filter(|axis| !single(axis));
    let order = |pair: [usize; 2]| pair.into_iter().chain(along.clone()).collect::<Vec<usize>>();
    let both = [order([features, images]), order([images, features])];
    let order = both.into_iter().min_by_key(|order| from.in_order(rules, order).map(|of| of.0))?;
    let lies_so = |(_, layout): (Bytes, Layout)| {
        let lies = layout.minor_to_major.iter().copied().filter(|&axis| from.dims[axis] > 1);
        lies.eq(order.iter().copied().filter(|&axis| from.dims[axis] > 1))
    };
    if from.dims[images] == 1 || from.by_default(rules).is_some_and(lies_so) {
        return None;
    }
    let stored = from.in_order(rules, &order);
    let own = bytes_of(stored.as_ref());
    let given = source.in_order(rules, &order).map_or(0, |(bytes, _)| bytes.0);
    let given = if given >= CORE_BYTES { given } else { 0 };
    Some((from, stored, own.saturating_add(given)))
}

/// The operand of a gradient of a pool, where operations on elements make it of what another one
/// makes and others read too: a chip stores both until they are read, and a run here makes the
/// operand as it is read. With who makes it.
pub(super) fn operand_kept<'m>(
    body: &WrittenOut<'m>,
    of: &CallOperation<'m>,
) -> Option<(CallOperation<'m>, Array, CallValue)> {
    let value = body.operands(of).next()?;
    let maker = body.maker(value).filter(CallOperation::is_by_element)?;
    let array = body.array(value)?;
    let is_read_after = |source: CallValue| body.end(source) >= Some(of.at);
    let is_kept = body
        .operands_of(&maker, &array.dims)
        .any(|source| !body.is_given(source) && is_read_after(source));
    is_kept.then_some((maker, array, value))
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    /// What the gradient of a pool of two by two of so many images, rows, columns and features lays
    /// anew.
    fn pooled([images, rows, columns, features]: [u64; 4]) -> u64 {
        let of = format!("tensor<{images}x{rows}x{columns}x{features}xf32>");
        let (below, left) = (rows / 2, columns / 2);
        let from = format!("tensor<{images}x{below}x{left}x{features}xf32>");
        let body = format!(
            "%c = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %r = \"stablehlo.select_and_scatter\"(%a, %b, %c) ({{\n^bb0(%x: tensor<f32>, %y: \
             tensor<f32>):\n%m = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> \
             tensor<i1>\nstablehlo.return %m : tensor<i1>\n}}, {{\n^bb0(%x: tensor<f32>, %y: \
             tensor<f32>):\n%m = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %m : \
             tensor<f32>\n}}) {{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = \
             array<i64: 1, 2, 2, 1>}} : ({of}, {from}, tensor<f32>) -> {of}"
        );
        charged(&format!("%a: {of}, %b: {from}"), &body, &of)
    }

    #[test]
    fn both_sides_of_a_pool_s_gradient_lie_by_features_and_images() {
        // As libtpu 0.0.51 says of temporaries on a v5e.
        let padded = |images: u64, rows: u64| 2 * images * rows * 128 * 4;
        assert_eq!(pooled([8, 128, 512, 128]), padded(8, 128 * 512));
        assert_eq!(pooled([8, 128, 512, 16]), padded(8, 128 * 512), "lanes of few features");
        assert_eq!(pooled([12, 128, 256, 128]), padded(16, 128 * 256), "rows of 12 images");
        assert_eq!(
            pooled([32, 256, 256, 8]),
            padded(8, 256 * 256),
            "images fill more of the lanes"
        );
        assert_eq!(pooled([1, 1024, 512, 128]), 0, "one image lies so");
        assert_eq!(
            pooled([8, 130, 511, 128]),
            0,
            "eight images fill tiles that 511 columns do not"
        );
        let whole = padded(32, 256 * 256);
        assert_eq!(pooled([32, 256, 256, 128]), whole + whole / 8, "no room for what is given");
    }
}
