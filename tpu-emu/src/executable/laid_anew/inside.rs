//! What kernels of a chip store for themselves, and what they read ahead.
use super::body::{CallOperation, CallValue, WrittenOut};
use crate::executable::stored_array::{Array, CORE_BYTES, bytes_of};
use crate::hbm::layout::{Layout, TileRules};
use tpu_base::tensor::DType;
use tpu_base::units::Bytes;
use tpu_ops::CONVERT;

/// The longest transform that is one product.
const ONE_PRODUCT: u64 = 1024;

/// An array, how it is stored, and more bytes beside it.
pub(super) type Inside = (Array, Option<(Bytes, Layout)>, u64);

/// A product's largest parameter that the core has room for: it is read before the product runs,
/// and lies beside what that makes. It is in the core's memory and not beside what is laid anew in
/// HBM: the larger of both is told.
pub(super) fn read_ahead(
    body: &WrittenOut<'_>,
    of: &CallOperation<'_>,
) -> Option<(CallValue, Array)> {
    let given = body.operands(of).map(|value| before_conversion(body, value));
    let given = given.filter(|&value| body.is_given(value));
    let given = given.filter_map(|value| Some((value, body.array(value)?)));
    given.filter(|(_, of)| of.dense() < CORE_BYTES).max_by_key(|(_, of)| of.dense())
}

/// What a value is converted from, which its reader does itself.
fn before_conversion(body: &WrittenOut<'_>, value: CallValue) -> CallValue {
    let conversion = body.maker(value).filter(|of| of.is_named(&CONVERT));
    conversion.and_then(|of| body.operands(&of).next()).unwrap_or(value)
}

/// Products of many small matrices, each of which lies in tiles of its own: the result, and the
/// operands in 16 bits, where the core has no room for them.
pub(super) fn small_matrices(rules: TileRules, of: &CallOperation<'_>) -> Option<Inside> {
    let axes = |name: &str| of.operation.attributes.integers(name).unwrap_or_default();
    let [left, right] = ["lhs_batching_dimensions", "rhs_batching_dimensions"].map(axes);
    let result = of.result()?;
    let leading: Vec<i64> = (0..).take(left.len()).collect();
    let own = in_tiles(rules, &result, &leading)?;
    let operand = |(number, batch): (usize, &[i64])| {
        let array = of.operand(number)?;
        let dtype = if array.dtype == DType::F32 { DType::Bf16 } else { array.dtype };
        in_tiles(rules, &Array { dtype, ..array }, batch)
    };
    let operands = [(0, &left[..]), (1, &right[..])].into_iter().filter_map(operand);
    let operands = operands.map(|(Bytes(bytes), _)| bytes).filter(|&of| of >= CORE_BYTES);
    let operands = operands.fold(0_u64, u64::saturating_add);
    Some((result, Some(own), operands))
}

/// An array of matrices along some axes with the matrices in tiles, the way that takes less;
/// nothing where that leaves no room empty.
fn in_tiles(rules: TileRules, of: &Array, along: &[i64]) -> Option<(Bytes, Layout)> {
    let batch: Vec<usize> = along.iter().filter_map(|&axis| usize::try_from(axis).ok()).collect();
    let others = (0..of.dims.len()).rev().filter(|axis| !batch.contains(axis));
    let &[a, b] = &others.collect::<Vec<_>>()[..] else { return None };
    if batch.is_empty() {
        return None;
    }
    let slow: Vec<usize> = batch.into_iter().rev().collect();
    let orders = [[&[a, b], &slow[..]].concat(), [&[b, a], &slow[..]].concat()];
    let stored = orders.iter().filter_map(|order| of.in_order(rules, order));
    stored.min_by_key(|(bytes, _)| *bytes).filter(|(bytes, _)| bytes.0 > of.dense())
}

/// A transform makes real and imaginary parts as arrays of their own, each with as many elements
/// as its longer side. They are made of two others: those of the operand, or of a first half of
/// the transform where one product with all waves would be too large.
pub(super) fn transformed(
    rules: TileRules,
    body: &WrittenOut<'_>,
    of: &CallOperation<'_>,
) -> Option<Inside> {
    let sides = [of.operand(0), of.result()];
    let longest = |array: &Array| array.dims.iter().product::<u64>();
    let array = sides.into_iter().flatten().max_by_key(longest)?;
    let dtype = match array.dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    };
    let given = body.operands(of).all(|value| body.is_given(value));
    let halves = array.dims.last().is_some_and(|&length| length > ONE_PRODUCT);
    let more = if given && !halves { 1 } else { 3 };
    let part = Array { dtype, ..array };
    let stored = part.by_default(rules);
    let bytes = bytes_of(stored.as_ref());
    Some((part, stored, bytes.saturating_mul(more)))
}

/// Matrices are made symmetric in an array of rows, and factored in another one.
pub(super) fn factored(rules: TileRules, of: &CallOperation<'_>) -> Option<Inside> {
    let array = of.operand(0)?;
    let stored = array.in_rows(rules);
    let again = bytes_of(stored.as_ref());
    Some((array, stored, again))
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    /// What one operation on a parameter lays anew, whose result another one reads.
    fn one(line: &str, from: &str, to: &str) -> u64 {
        let body = format!("%t = {line} : ({from}) -> {to}\n%r = stablehlo.add %t, %t : {to}");
        charged(&format!("%a: {from}"), &body, to)
    }

    #[test]
    fn what_is_sorted_and_not_read_is_stored_where_the_core_has_not_room_for_that_alone() {
        let places = |length: u64| {
            let (of, numbers) = (format!("tensor<{length}xf32>"), format!("tensor<{length}xi32>"));
            let body = format!(
                "%n = stablehlo.iota dim = 0 : {numbers}\n\
                 %s:2 = \"stablehlo.sort\"(%a, %n) <{{dimension = 0 : i64, is_stable = true}}> ({{\n\
                 ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):\n\
                 %l = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n\
                 stablehlo.return %l : tensor<i1>\n}}) : ({of}, {numbers}) -> ({of}, {numbers})\n\
                 return %s#1 : {numbers}\n}}\nfunc.func private @rest(%r: {numbers}) -> {numbers} {{"
            );
            charged(&format!("%a: {of}"), &body, &numbers)
        };
        // As libtpu 0.0.51 says of a v5e, beside the array and the places.
        assert_eq!(places(8 << 20), 2 * (8 << 20) * 4);
        assert_eq!(places(16 << 20), (16 << 20) * 4);
        assert_eq!(places(24 << 20), (24 << 20) * 4);
        assert_eq!(places(32 << 20), 2 * (32 << 20) * 4);
    }

    #[test]
    fn a_short_line_has_what_is_sorted_and_not_read_and_the_numbers_of_a_stable_sort() {
        /// How many arrays of 4M numbers are beside so many, of which the last one alone is given
        /// back, and counts if it is of numbers.
        fn last(arrays: usize, numbers: bool) -> u64 {
            let of = "tensor<4194304xf32>";
            let names: Vec<String> = (0..arrays).map(|at| format!("%a{at}")).collect();
            let given = arrays - usize::from(numbers);
            let parameters: Vec<String> =
                names[..given].iter().map(|name| format!("{name}: {of}")).collect();
            let lanes = |at: usize| format!("%x{at}: tensor<f32>, %y{at}: tensor<f32>");
            let lanes: Vec<String> = (0..arrays).map(lanes).collect();
            let types = vec![of; arrays].join(", ");
            let count = match numbers {
                true => format!("%a{} = stablehlo.iota dim = 0 : {of}\n", arrays - 1),
                false => String::new(),
            };
            let body = format!(
                "{count}%s:{arrays} = \"stablehlo.sort\"({}) <{{dimension = 0 : i64, is_stable = true}}> ({{\n\
                 ^bb0({}):\n\
                 %l = stablehlo.compare LT, %x0, %y0 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n\
                 stablehlo.return %l : tensor<i1>\n}}) : ({types}) -> ({types})\n\
                 return %s#{} : {of}\n}}\nfunc.func private @rest(%r: {of}) -> {of} {{",
                names.join(", "),
                lanes.join(", "),
                arrays - 1
            );
            charged(&parameters.join(", "), &body, of) / (4 << 22)
        }
        // As libtpu 0.0.51 says of a v5e, beside what is given and the result.
        assert_eq!([last(2, true), last(3, true), last(4, true)], [2, 2, 3], "places");
        assert_eq!(last(3, false), 3, "values");
    }

    #[test]
    fn a_line_that_elements_are_worked_on_is_another_array_than_its_rows() {
        let (rows, line) = ("tensor<4096x4096xf32>", "tensor<16777216xf32>");
        let reshape = format!("stablehlo.reshape %a : ({rows}) -> {line}");
        let body = format!("%t = {reshape}\n%r = stablehlo.add %t, %t : {line}");
        assert_eq!(charged(&format!("%a: {rows}"), &body, line), 16_777_216 * 4);
        let alone = format!("%r = {reshape}");
        assert_eq!(charged(&format!("%a: {rows}"), &alone, line), 0);
    }

    #[test]
    fn a_transform_has_parts_of_both_sides_or_of_both_halves() {
        let rfft = |rows: u64, length: u64| {
            let half = length / 2 + 1;
            let (from, to) = (
                format!("tensor<{rows}x{length}xf32>"),
                format!("tensor<{rows}x{half}xcomplex<f32>>"),
            );
            let line = format!("stablehlo.fft %a, type = RFFT, length = [{length}]");
            one(&line, &from, &to)
        };
        // As libtpu 0.0.51 says of temporaries on a v5e.
        assert_eq!(rfft(2048, 16_384), 4 * 2048 * 16_384 * 4);
        assert_eq!(rfft(65_536, 256), 2 * 65_536 * 256 * 4);
    }

    #[test]
    fn matrices_are_factored_in_two_arrays_of_rows() {
        let factored = |batch: u64, rows: u64| {
            let of = format!("tensor<{batch}x{rows}x{rows}xf32>");
            let body = format!("%r = stablehlo.cholesky %a, lower = true : {of}");
            charged(&format!("%a: {of}"), &body, &of)
        };
        assert_eq!(factored(512, 256), 2 * 512 * 256 * 256 * 4);
        assert_eq!(factored(4096, 64), 2 * 4096 * 64 * 128 * 4);
    }

    #[test]
    fn a_parameter_that_fits_is_read_ahead_of_its_product() {
        let product = |rows: u64| {
            let (x, w) = (format!("tensor<{rows}x128xf32>"), "tensor<128x4096xf32>");
            let to = format!("tensor<{rows}x4096xf32>");
            let body = format!(
                "%p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({x}, {w}) -> \
                 {to}\n%c = stablehlo.constant dense<0.0> : tensor<f32>\n\
                 %r = stablehlo.reduce(%p init: %c) applies stablehlo.add across dimensions = [1] : \
                 ({to}, tensor<f32>) -> tensor<{rows}xf32>"
            );
            charged(&format!("%a: {x}, %b: {w}"), &body, &format!("tensor<{rows}xf32>"))
        };
        assert_eq!(product(65_536), 65_536 * 128 * 4);
        // The larger one has no place there.
        assert_eq!(product(524_288), 128 * 4096 * 4);
    }

    #[test]
    fn small_matrices_lie_in_tiles_of_their_own() {
        let product = |batch: u64, rows: u64, columns: u64| {
            let of = format!("tensor<{batch}x{rows}x{columns}xf32>");
            let to = format!("tensor<{batch}x{rows}x{rows}xf32>");
            let body = format!(
                "%x = stablehlo.negate %a : {of}\n\
                 %p = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = \
                 [2] x [2] : ({of}, {of}) -> {to}\n%r = stablehlo.add %p, %p : {to}"
            );
            charged(&format!("%a: {of}"), &body, &to)
        };
        // Rows of 9 in 16 of 128 lanes each, and operands in 16 bits that have no place in the core.
        let (result, operand) = (65_536 * 16 * 128 * 4, 65_536 * 16 * 128 * 2);
        assert_eq!(product(65_536, 9, 64), result + 2 * operand);
        assert_eq!(product(8192, 9, 64), 8192 * 16 * 128 * 4, "operands have a place there");
        assert_eq!(product(64, 1024, 64), 0, "nothing is left empty");
    }
}
