//! The first elements of rows, which a kernel of a chip picks out, or which are had by sorting all.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::inside::Inside;
use crate::executable::stored_array::{Array, CORE_BYTES, bytes_of};
use crate::hbm::layout::TileRules;
use std::collections::BTreeSet;
use tpu_base::tensor::DType;

/// Of one in so many elements of 32 bits of a row, or more, all are sorted to have the first ones.
const ONE_OF_SINGLE: u64 = 75;
/// Of one in so many elements of 16 bits of a row, or more, all are sorted.
const ONE_OF_HALF: u64 = 65;
/// The most elements of 16 bits that are picked out.
const MOST_OF_HALF: u64 = 49;

/// What the first elements of rows take.
///
/// * Floats of 32 bits are picked out of rows that lie in the order of the result: if that is one of
///   the program's, or meets another array, and lies in another order, each array that the operand is
///   made of is copied into it.
/// * Those of 16 bits are picked out of words with the numbers of their places, in any order.
/// * All are sorted where many are wanted for the length of a row, of more than two axes, of one row,
///   and of integers that become a result. Then there are the operand, its sorted copy and the places,
///   and those once more, in another order, if they become a result.
pub(super) fn ranked(
    rules: TileRules,
    body: &WrittenOut<'_>,
    of: &CallOperation<'_>,
) -> Option<Inside> {
    let (from, value) = (of.operand(0)?, body.operands(of).next()?);
    let results = body.results(of);
    let (to, _) = results.first()?;
    let returned = results.iter().any(|&(_, result)| is_met(body, result));
    let half = matches!(from.dtype, DType::Bf16 | DType::F16);
    let stored = from.by_default(rules);
    let own = bytes_of(stored.as_ref());
    let all = match () {
        () if is_sorted((&from, to), returned) => sorted(rules, (&from, own), half, returned),
        () if half => words(rules, &from),
        () => {
            let (_, wanted) = to.by_default(rules)?;
            let (_, given) = stored?;
            let turned = returned && given.minor_to_major != wanted.minor_to_major;
            let copy = from.in_order(rules, &wanted.minor_to_major).filter(|_| turned)?;
            let others = copied(body, value, &from.dims).saturating_sub(1);
            let more = copy.0.0.saturating_mul(others);
            return Some((from, Some(copy), more));
        }
    };
    Some((from, stored, all.saturating_sub(own)))
}

/// Bytes that sorting takes of an operand of so many: what the core has room for lies there, and
/// counts while it does.
fn sorted(rules: TileRules, (from, own): (&Array, u64), half: bool, returned: bool) -> u64 {
    let fit = |arrays: u64| own.saturating_mul(arrays) < CORE_BYTES;
    if half && !from.is_line() {
        let words = words(rules, from);
        let one = (CORE_BYTES / 2..CORE_BYTES).contains(&words);
        return words.saturating_mul(if one { 1 } else { 2 });
    }
    own.saturating_mul(match () {
        () if half && fit(6) => 6,
        () if (half || returned) && fit(4) => 4,
        () if half || fit(3) => 3,
        () if returned && !from.is_line() && !fit(1) => 3,
        () => 2,
    })
}

/// Whether all elements are sorted to have the first ones.
fn is_sorted((from, to): (&Array, &Array), returned: bool) -> bool {
    let length = |of: &Array| of.dims.last().copied().unwrap_or(1);
    let (all, wanted) = (length(from), length(to));
    let many = |one_of: u64| wanted.saturating_mul(one_of) > all;
    let axes = from.dims.iter().filter(|&&dim| dim > 1).count();
    axes != 2
        || match from.dtype {
            DType::F32 => many(ONE_OF_SINGLE),
            DType::Bf16 | DType::F16 => many(ONE_OF_HALF) || wanted > MOST_OF_HALF,
            _ => returned,
        }
}

/// Whether what operations on elements make of a value is a result of the program, or meets an array
/// in them that is not made of it: then that says in which order its elements lie.
fn is_met(body: &WrittenOut<'_>, value: CallValue) -> bool {
    let Some(array) = body.array(value) else { return false };
    let is_made = |of: CallValue| {
        of == value || body.maker(of).is_some_and(|maker| body.needed(&maker).contains(&value))
    };
    let (mut made, mut seen) = (vec![value], BTreeSet::from([value]));
    while let Some(value) = made.pop() {
        if body.is_returned(value) {
            return true;
        }
        for of in body.reading(value).filter(|of| of.is_by_element()) {
            let Some(result) = body
                .result(of)
                .filter(|&of| body.array(of).is_some_and(|result| result.dims == array.dims))
            else {
                continue;
            };
            let other = |of: CallValue| !body.is_spread(of) && !is_made(of);
            if body.operands_of(of, &array.dims).any(other) {
                return true;
            }
            if seen.insert(result) {
                made.push(result);
            }
        }
    }
    false
}

/// The bytes of as many words of 32 bits.
fn words(rules: TileRules, of: &Array) -> u64 {
    let words = Array { dtype: DType::S32, dims: of.dims.clone() };
    bytes_of(words.by_default(rules).as_ref())
}

/// How many arrays of these extents a value is made of by operations on elements.
fn copied(body: &WrittenOut<'_>, value: CallValue, dims: &[u64]) -> u64 {
    let (mut open, mut seen, mut arrays) = (vec![value], BTreeSet::from([value]), 0);
    while let Some(value) = open.pop() {
        match body.maker(value).filter(CallOperation::is_by_element) {
            Some(maker) => {
                open.extend(body.operands_of(&maker, dims).filter(|&of| seen.insert(of)));
            }
            None => arrays += u64::from(!body.is_spread(value)),
        }
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::super::tests::{alone, charged};
    use tpu_stablehlo::text::parse;

    /// The first elements of rows, of which `line` makes the result of the program.
    fn top((of, element): (&str, &str), k: u64, (line, result): (&str, &str)) -> u64 {
        let of = of.replace(',', "x");
        let rows = of.rsplit_once('x').map_or(String::new(), |(rows, _)| format!("{rows}x"));
        let (given, values) =
            (format!("tensor<{of}x{element}>"), format!("tensor<{rows}{k}x{element}>"));
        let line = line.replace("VALUES", &values);
        let body = format!(
            "%v, %i = chlo.top_k(%a, k = {k}) : {given} -> ({values}, tensor<{rows}{k}xi32>)\n{line}"
        );
        charged(&format!("%a: {given}"), &body, &result.replace("VALUES", &values))
    }

    fn returned(of: &str, element: &str, k: u64) -> u64 {
        top((of, element), k, ("%r = stablehlo.add %v, %v : VALUES", "VALUES"))
    }

    /// The sum of the first elements of rows.
    fn summed(of: &str, element: &str, k: u64) -> u64 {
        let axes = (0..=of.matches(',').count()).map(|axis| axis.to_string());
        let line = format!(
            "%z = stablehlo.constant dense<0> : tensor<{element}>\n\
             %r = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [{}] : \
             (VALUES, tensor<{element}>) -> tensor<{element}>",
            axes.collect::<Vec<_>>().join(", ")
        );
        let line = if element == "i32" { line } else { line.replace("dense<0>", "dense<0.0>") };
        top((of, element), k, (&line, &format!("tensor<{element}>")))
    }

    #[test]
    fn rows_are_copied_into_the_order_of_a_result() {
        // As libtpu 0.0.51 says of temporaries on a v5e, for all that follows.
        let words = 8192 * 8192 * 4;
        assert_eq!(returned("8192,8192", "f32", 5), words);
        assert_eq!(summed("8192,8192", "f32", 4), 0);
        // Both lie with their rows side by side, or one behind the other.
        assert_eq!(returned("4096,10000", "f32", 64), 0);
        assert_eq!(returned("8,1048576", "f32", 5), 0);
        assert_eq!(returned("8,1048576", "f32", 1), 128 * 1_048_576 * 4);
        // Words are had of halves, however they lie.
        assert_eq!(returned("8192,8192", "bf16", 5), words);
        assert_eq!(summed("8192,8192", "bf16", 4), words);
    }

    #[test]
    fn what_jax_sends_is_not_sorted_as_its_decomposition_is() {
        let text = "func.func @main(%a: tensor<4096x32000xf32>) -> tensor<4096x16xf32> {\n\
             %r, %i = stablehlo.composite \"chlo.top_k\" %a {composite_attributes = {k = 16 : i64}, \
             decomposition = @rows} : (tensor<4096x32000xf32>) -> \
             (tensor<4096x16xf32>, tensor<4096x16xi32>)\nreturn %r : tensor<4096x16xf32>\n}\n\
             func.func @rows(%a: tensor<4096x32000xf32>) -> tensor<4096x32000xf32> {\n\
             %s = \"stablehlo.sort\"(%a) <{dimension = 1 : i64, is_stable = true}> ({\n\
             ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
             %l = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n\
             stablehlo.return %l : tensor<i1>\n}) : (tensor<4096x32000xf32>) -> \
             tensor<4096x32000xf32>\nreturn %s : tensor<4096x32000xf32>\n}";
        let rows = vec![Some(vec![1, 0])];
        assert_eq!(alone(&parse(text).unwrap(), rows.clone(), &rows), 4096 * 32_000 * 4);
    }

    #[test]
    fn what_is_made_of_a_result_alone_says_nothing_of_its_order() {
        let words = 8192 * 8192 * 4;
        let of = |line: &str, result| top(("8192,8192", "f32"), 5, (line, result));
        let noise = "%n = stablehlo.rng %l, %h, %s, distribution = NORMAL : (tensor<f32>, \
                     tensor<f32>, tensor<2xi64>) -> VALUES\n";
        let constants = "%l = stablehlo.constant dense<0.0> : tensor<f32>\n\
                         %h = stablehlo.constant dense<1.0> : tensor<f32>\n\
                         %s = stablehlo.constant dense<[8192, 5]> : tensor<2xi64>\n";
        let sum = |of: &str| {
            format!(
                "%r = stablehlo.reduce({of} init: %l) applies stablehlo.add across dimensions = \
                 [0, 1] : (VALUES, tensor<f32>) -> tensor<f32>"
            )
        };
        let alone = format!("{constants}%e = stablehlo.multiply %v, %v : VALUES\n{}", sum("%e"));
        assert_eq!(of(&alone, "tensor<f32>"), 0);
        let met = format!("{constants}{noise}%e = stablehlo.add %v, %n : VALUES\n{}", sum("%e"));
        assert_eq!(of(&met, "tensor<f32>"), words);
    }

    #[test]
    fn each_array_of_a_sum_is_copied() {
        let square = "tensor<8192x8192xf32>";
        let body = format!(
            "%s = stablehlo.add %a, %b : {square}\n\
             %r, %i = chlo.top_k(%s, k = 5) : {square} -> (tensor<8192x5xf32>, tensor<8192x5xi32>)"
        );
        let parameters = format!("%a: {square}, %b: {square}");
        let bytes = 8192 * 8192 * 4;
        assert_eq!(charged(&parameters, &body, "tensor<8192x5xf32>"), 2 * bytes);
        // One that is read several times is copied once.
        let again = body
            .replace("%s, k", "%p, k")
            .replace("%r, %i", &format!("%p = stablehlo.multiply %s, %a : {square}\n%r, %i"));
        assert_eq!(charged(&parameters, &again, "tensor<8192x5xf32>"), 2 * bytes);
    }

    #[test]
    fn many_first_elements_of_rows_are_had_by_sorting_all() {
        let words = 4096 * 8192 * 4;
        assert_eq!(returned("4096,8192", "f32", 100), words);
        assert_eq!(returned("4096,8192", "f32", 120), 3 * words);
        assert_eq!(summed("4096,8192", "f32", 200), 2 * words);
        assert_eq!(returned("4096,8192", "i32", 8), 3 * words);
        assert_eq!(summed("4096,8192", "i32", 8), 0);
        assert_eq!(returned("4096,8192", "bf16", 48), words);
        assert_eq!(returned("4096,8192", "bf16", 64), 2 * words);
        // Where the core has room for one of them, or for all.
        assert_eq!(returned("6144,4096", "f32", 64), 2 * 6144 * 4096 * 4);
        assert_eq!(returned("2048,4096", "f32", 64), 3 * 2048 * 4096 * 4);
        assert_eq!(returned("1024,4096", "f32", 64), 4 * 1024 * 4096 * 4);
        assert_eq!(returned("6144,4096", "bf16", 64), 6144 * 4096 * 4);
        assert_eq!(returned("2048,4096", "bf16", 64), 2 * 2048 * 4096 * 4);
    }

    #[test]
    fn all_are_sorted_of_one_row_and_of_many_axes() {
        let words = 64 * 128 * 4096 * 4;
        assert_eq!(returned("64,128,4096", "f32", 5), 3 * words);
        assert_eq!(summed("64,128,4096", "f32", 4), 2 * words);
        assert_eq!(returned("64,128,4096", "bf16", 5), 2 * words);
        assert_eq!(returned("128,128,1024", "bf16", 2), 128 * 128 * 1024 * 4);
        for (length, singles, halves) in
            [(1_u64 << 20, 4, 6), (1 << 23, 3, 6), (3 << 22, 2, 4), (1 << 25, 2, 3)]
        {
            let of = length.to_string();
            assert_eq!(returned(&of, "f32", 8), singles * length * 4, "{length}");
            assert_eq!(returned(&of, "bf16", 8), halves * length * 2, "{length}");
        }
    }
}
