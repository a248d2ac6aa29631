//! What the chip lays anew: values that it must store in another layout than the one that they
//! were made in, padded to tiles.
//!
//! Elements are stored densely here and a view costs nothing, so the plan of a run has none of
//! these. A chip has them, and a program that fits here and not there is the worse mistake. So what
//! is there of them at one time is charged where the plan's own temporaries are less, and nobody
//! touches it.
//!
//! | operation | what is stored |
//! |---|---|
//! | reshape that takes the fastest axis apart | both sides in rows of whole tiles, but not a parameter that lies so, or one side with a kept axis as the fastest, what is less; both so, where that takes the next axis apart in less than tiles; what is compared instead of comparisons |
//! | gather | the rows, each padded to 128 elements, but where they are a result that needs no padding; the table likewise, but unpadded where the core has room for it so and padding is much of it, and not at all where it has room for it padded; a padded one until it is read, of several that are updated the largest |
//! | gather of whole matrices | they, and the table, with the first axis as the slowest; not what lies so by default, nor what the core has room for of table and results |
//! | scatter of rows | what is added and the array, likewise; an array for which the core has room, padded, until it is read |
//! | running sum and other windows that keep the extents and cover an axis | the operand once more, and twice below half of the core's memory, past all of it, and along the fastest axis of what fills it |
//! | other windows | the operand in rows, if these are padded and it is not |
//! | gradient of a pool | the operand until then, if an operation on elements makes it of what is read later too; otherwise operand and result with features as the fastest axis and images next to it, or the other way, what is less, but where the operand lies so; what is given back likewise, if the core has no room for it |
//! | reversal along an axis of tiles | the operand, if it is no parameter, and the result, if others read it |
//! | reversal along other axes | the operand, if it is no parameter, and others read the result |
//! | moves alone between a parameter and a result, or what others read | what no order of axes makes free (`moves`) |
//! | sort | of a line of which the core holds two, the sorted arrays that nobody reads and the numbers of a stable sort, but two at least; the first operand once more otherwise, and along the fastest axis of several rows twice with each other operand but places; as 32 bits if it has 8, and three times if it has 16; sorted arrays that nobody reads, but the largest one where the core has room for it and no other; others until they are read |
//! | reduction | the result, until it is read |
//! | first elements of rows | of 32 bits, what they are made of in the order of a result; of 16 bits, words; where all are sorted for it, the operand, its copy and places |
//! | columns of a table | the table, and what is taken, if the core has no room for it |
//! | features of an image taken apart | them, until what is made of them was read |
//! | convolution of few features | input and result with images or features as the fastest axis, what is less; one of them only, if the other has less than 8 features or more than 32, and the input in 16 bits for which the core has no room |
//! | result that a convolution of 128 features or more makes, but for operations on elements | it with images as the second fastest axis; of less than 8 images twice |
//! | convolutions whose features do not fill lanes | the padding of all that is shaped like their images, beside it |
//! | every second (or n-th) element along an axis of tiles | these, but where they are a result at once; the operand too, if an operation on elements or a join makes it |
//! | pieces joined where tiles end | the largest one that is cut of an array |
//! | pieces of one array, of the same extents, joined elsewhere in several joins | these |
//! | parts of rows of tiles, joined again | these in rows, padded |
//! | piece that begins within a tile, joined | it |
//! | arrays stacked along an axis of tiles | these; the stack twice, where it is reshaped or padded |
//! | room between elements | the result until it is read, and what it is made of; a parameter of which a scan takes every n-th element, laid as that |
//! | sum of two images that convolutions read twice | it, until the last of what is made of it was read; of those that a convolution makes but for operations on elements, the last one |
//! | result of several axes that a product of rows makes | it as it is made, where another axis than the first is the slowest of its layout |
//! | products | parameters for which the core has room, of products that follow one another (`weights`); small matrices in tiles of their own |
//! | loop that takes slices of arrays along the first axis, or puts them into such | the padding of these in tiles of a slice, beside what else is there; results of the program that it makes so, and parameters for which the core has room |
//! | loop that puts slices into arrays and multiplies by their matrices | these, where axes of matrices are before those that number them |
//! | transform | two arrays of its longer side, and two that these are made of |
//! | Cholesky decomposition | two arrays of rows |
//! | joined or padded results whose default order is another than that of a parameter in them | the parameter |
//! | operation on elements of arrays in several orders | each that is not in the order of the first one |
//! | result whose fastest axis is another than that of what it is made of | the result in the order in which it is made |
//!
//! Source: what libtpu 0.0.51 says of some eight hundred small programs on a v5e.
mod beside;
mod body;
mod caches;
mod core;
mod elements;
mod images;
mod inside;
mod moves;
mod pieces;
mod pools;
mod ranked;
mod results;
mod search;
mod spread;
mod stacks;
mod steps;
mod stored;
mod tables;
mod ways;
mod weights;

use super::charge::{Charge, LaidAnew, MIN_BYTES};
use super::free_layouts::{DimensionOrder, orders_and_turned};
use super::stored_array::Array;
use super::{Parameter, ResultInfo, stored_by_chip};
use crate::hbm::layout::TileRules;
use crate::hbm::spec::ArraySpec;
use body::WrittenOut;
pub(super) use core::with_rows_in_core;
use search::RelayoutSearch;
use tpu_base::units::{Bytes, to_u64};
use tpu_program::plan::Plan;
use tpu_stablehlo::Module;

/// What a device lays anew at most at one time, or what it takes beside a plan, if that is more, and
/// what of it lies in the memory of the core.
pub(super) fn of(
    (module, plan): (&Module, &Plan),
    rules: TileRules,
    parameters: &[Parameter],
    results: &[ResultInfo],
) -> Charge {
    let order = |spec: &ArraySpec| Some(spec.layout.minor_to_major.clone());
    let parameters = parameters.iter().map(|parameter| order(&parameter.spec)).collect();
    let results: Vec<_> = results.iter().map(|result| order(&result.spec)).collect();
    let found = largest((module, plan), rules, parameters, &results);
    let alone = found.alone.as_ref().map_or(0, |of| of.bytes.0);
    let stored = stored_by_chip::of(plan);
    let of_weights = stored.as_ref().map_or(0, |of| of.charge(plan.arena));
    let of_stacks = found.padding.as_ref().filter(|_| found.are_stacks);
    let more = of_stacks.is_some_and(|of| of.charge(plan.arena) >= of_weights);
    let in_hbm = found.in_hbm.filter(|_| stored.is_none() || more).map(|of| of.max(alone));
    let all = [found.alone, found.padding, found.beside, stored];
    let laid_anew = all.into_iter().flatten().max_by_key(|of| of.charge(plan.arena));
    let charged = to_u64(laid_anew.as_ref().map_or(plan.arena, |of| of.charge(plan.arena)));
    let in_core = Bytes(in_hbm.map_or(0, |in_hbm| charged.saturating_sub(in_hbm)));
    Charge { laid_anew, in_core }
}

/// What is found of a program.
#[derive(Debug, Default)]
struct ChipFindings {
    /// What is laid anew when no temporaries are there.
    alone: Option<LaidAnew>,
    /// The padding of a plan's temporaries.
    padding: Option<LaidAnew>,
    /// Whether that is of what loops take slice by slice, and not of images.
    are_stacks: bool,
    /// What is laid anew beside these.
    beside: Option<LaidAnew>,
    /// Bytes of all of these, and of temporaries, without what lies in the memory of the core, if
    /// something does.
    in_hbm: Option<u64>,
}

/// What is found where parameters and results lie in these orders.
fn largest(
    (module, plan): (&Module, &Plan),
    rules: TileRules,
    parameters: Vec<DimensionOrder>,
    results: &[DimensionOrder],
) -> ChipFindings {
    let mut search = RelayoutSearch::new(rules);
    let Some(entry) = module.entry() else { return ChipFindings::default() };
    let body = WrittenOut::of(module, entry);
    let mut found = search.program(&body, plan, (&parameters, results));
    let (made, turned) = orders_and_turned(module, entry, parameters);
    for (function, operation, value, order) in turned {
        if let Some(array) = Array::of(function, value) {
            search.alone(operation, &array, array.in_order(rules, &order));
        }
    }
    search.results(entry, made, results);
    search.products(&body, results);
    search.convolved_results(&body);
    found.alone = search.largest.filter(|of| of.bytes.0 >= MIN_BYTES);
    found
}

#[cfg(test)]
mod tests {
    use super::super::stored_array::kept_axes;
    use super::*;
    use tpu_stablehlo::ir::Value;
    use tpu_stablehlo::text::parse;

    /// What a program of these lines lays anew, in bytes; parameters and results lie by default.
    pub(super) fn charged(parameters: &str, body: &str, result: &str) -> u64 {
        charged_for(parameters, body, ("%r", result))
    }

    /// What a program of these lines with several results lays anew, in bytes.
    pub(super) fn charged_for(parameters: &str, body: &str, (names, results): (&str, &str)) -> u64 {
        let text = format!(
            "func.func @main({parameters}) -> ({results}) {{\n{body}\n  return {names} : {results}\n}}"
        );
        let module = parse(&text).unwrap();
        let entry = module.entry().unwrap();
        let order = |value: Value| {
            let (_, layout) = Array::of(entry, value)?.by_default(TileRules::V4)?;
            Some(layout.minor_to_major)
        };
        let block = entry.block().unwrap();
        let parameters = block.arguments.iter().map(|&value| order(value)).collect();
        let results: Vec<_> =
            block.operations.last().unwrap().operands.iter().map(|&value| order(value)).collect();
        alone(&module, parameters, &results)
    }

    /// What a program lays anew, in bytes, beside no temporaries.
    pub(super) fn alone(
        module: &Module,
        parameters: Vec<DimensionOrder>,
        results: &[DimensionOrder],
    ) -> u64 {
        let of = (module, &Plan::default());
        let found = largest(of, TileRules::V4, parameters, results);
        found.alone.map_or(0, |found| found.bytes.0)
    }

    fn reshape(from: &str, to: &str) -> u64 {
        let (from, to) = (format!("tensor<{from}xf32>"), format!("tensor<{to}xf32>"));
        let body = format!("%r = stablehlo.reshape %a : ({from}) -> {to}");
        charged(&format!("%a: {from}"), &body, &to)
    }

    #[test]
    fn narrow_rows_have_128_lanes() {
        // As libtpu 0.0.51 says of temporaries on a v5e.
        assert_eq!(reshape("4194304", "2097152x2"), 2_097_152 * 128 * 4);
        assert_eq!(reshape("2097152x2", "4194304"), 2_097_152 * 128 * 4);
        assert_eq!(reshape("4194304", "262144x16"), 262_144 * 128 * 4);
        assert_eq!(reshape("2097152x2", "1048576x4"), (2_097_152 + 1_048_576) * 128 * 4);
        // The parameter lies in rows as it is.
        assert_eq!(reshape("2048x2048", "65536x64"), 65_536 * 128 * 4);
        assert_eq!(reshape("4194304", "32768x128"), 0);
        assert_eq!(reshape("2048x2048", "32x64x2048"), 0);
        assert_eq!(reshape("4194304", "4194304x1"), 0);
        assert_eq!(reshape("0x4", "0"), 0);
        assert_eq!(reshape("1", "1x1x1"), 0);
    }

    #[test]
    fn an_axis_that_stays_can_be_the_fastest() {
        assert_eq!(reshape("4096x1024", "4096x16x64"), 0);
        assert_eq!(reshape("4096x16x64", "4096x1024"), 0);
        assert_eq!(kept_axes(&[32, 224, 224, 3], &[32, 14, 16, 14, 16, 3]), [(0, 0), (3, 5)]);
        assert_eq!(kept_axes(&[6], &[2, 3]), []);
        assert_eq!(kept_axes(&[], &[1, 1]), []);
        assert_eq!(kept_axes(&[u64::MAX, 2], &[2, u64::MAX]), []);
    }

    #[test]
    fn gathered_rows_are_padded() {
        let gather = |result: &str| {
            format!(
                "%{result} = \"stablehlo.gather\"(%a, %i) <{{dimension_numbers = \
                 #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], \
                 start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, \
                 slice_sizes = array<i64: 1, 64>}}> : (tensor<100000x64xf32>, \
                 tensor<1048576x1xi32>) -> tensor<1048576x64xf32>"
            )
        };
        let parameters = "%a: tensor<100000x64xf32>, %i: tensor<1048576x1xi32>";
        let result = "tensor<1048576x64xf32>";
        let body = format!("{}\n%r = stablehlo.add %t, %t : {result}", gather("t"));
        assert_eq!(charged(parameters, &body, result), 1_048_576 * 128 * 4);
        assert_eq!(charged(parameters, &gather("r"), result), 1_048_576 * 128 * 4);
    }

    /// What one operation lays anew.
    fn one(parameters: &str, line: &str, result: &str) -> u64 {
        charged(parameters, &format!("%r = {line}"), result)
    }

    #[test]
    fn rows_are_sorted_in_two_copies_and_others_in_one() {
        let sort = |of: &str, element: &str, axis: usize| {
            let of = format!("tensor<{of}x{element}>");
            let line = format!(
                "\"stablehlo.sort\"(%a) <{{dimension = {axis} : i64, is_stable = true}}> ({{\n\
                 ^bb0(%x: tensor<{element}>, %y: tensor<{element}>):\n\
                 %l = stablehlo.compare LT, %x, %y : (tensor<{element}>, tensor<{element}>) -> \
                 tensor<i1>\nstablehlo.return %l : tensor<i1>\n}}) : ({of}) -> {of}"
            );
            one(&format!("%a: {of}"), &line, &of)
        };
        // As libtpu 0.0.51 says of temporaries on a v5e.
        assert_eq!(sort("4096x4096", "f32", 1), 2 * 4096 * 4096 * 4);
        assert_eq!(sort("4096x4096", "bf16", 1), 3 * 4096 * 4096 * 2);
        assert_eq!(sort("4096x4096", "f32", 0), 4096 * 4096 * 4);
        assert_eq!(sort("16777216", "f32", 0), 16_777_216 * 4);
        assert_eq!(sort("1x16777216", "f32", 1), 16_777_216 * 4);
        assert_eq!(sort("0x4096", "f32", 1), 0);
    }

    #[test]
    fn what_is_read_backwards_is_stored_unless_it_is_only_moved() {
        let square = "tensor<2048x2048xf32>";
        let turn = format!("stablehlo.reverse %a, dims = [1] : {square}");
        let bytes = 2048 * 2048 * 4;
        let body = format!("%t = {turn}\n%r = stablehlo.add %t, %t : {square}");
        assert_eq!(charged(&format!("%a: {square}"), &body, square), bytes);
        assert_eq!(one(&format!("%a: {square}"), &turn, square), 0);
        let body = format!(
            "%t = stablehlo.add %a, %a : {square}\n%r = stablehlo.reverse %t, dims = [1] : {square}"
        );
        assert_eq!(charged(&format!("%a: {square}"), &body, square), bytes);
        // What was made, and what is read, of an array of three axes.
        let both = |axis: usize| {
            let all = "tensor<8x1024x512xf32>";
            let body = format!(
                "%m = stablehlo.tanh %a : {all}\n%t = stablehlo.reverse %m, dims = [{axis}] : {all}\n\
                 %r = stablehlo.add %t, %a : {all}"
            );
            charged(&format!("%a: {all}"), &body, all)
        };
        assert_eq!([0, 1, 2].map(both), [bytes, 2 * bytes, 2 * bytes]);
    }

    #[test]
    fn arrays_in_two_orders_do_not_meet_in_place() {
        let square = "tensor<2048x2048xf32>";
        let turn = format!("%t = stablehlo.transpose %a, dims = [1, 0] : ({square}) -> {square}");
        let meet = format!("{turn}\n%r = stablehlo.add %a, %t : {square}");
        assert_eq!(charged(&format!("%a: {square}"), &meet, square), 2048 * 2048 * 4);
        let column = "tensor<2048x1xf32>";
        let turn = format!(
            "%t = stablehlo.transpose %b, dims = [1, 0] : (tensor<1x2048xf32>) -> {column}"
        );
        let meet = format!("{turn}\n%r = stablehlo.add %a, %t : {column}");
        assert_eq!(charged(&format!("%a: {column}, %b: tensor<1x2048xf32>"), &meet, column), 0);
    }

    #[test]
    fn images_of_few_features_are_padded() {
        let conv = |side: usize, images: usize, [from, to]: [usize; 2], element: &str| {
            let of = |features| format!("tensor<{images}x{side}x{side}x{features}x{element}>");
            let (input, result) = (of(from), of(to));
            let kernel = format!("tensor<3x3x{from}x{to}x{element}>");
            let line = format!(
                "stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
                 window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, \
                 feature_group_count = 1 : i64}} : ({input}, {kernel}) -> {result}"
            );
            one(&format!("%a: {input}, %b: {kernel}"), &line, &result)
        };
        assert_eq!(conv(112, 64, [16, 16], "bf16"), 2 * 112 * 112 * 16 * 128 * 2);
        assert_eq!(conv(128, 32, [32, 32], "bf16"), 2 * 128 * 128 * 32 * 128 * 2);
        assert_eq!(conv(256, 32, [1, 8], "f32"), 256 * 256 * 8 * 128 * 4);
        assert_eq!(conv(64, 32, [64, 64], "f32"), 32 * 64 * 64 * 128 * 4);
        // Nothing but the result, in the order in which it is made.
        assert_eq!(conv(64, 32, [128, 128], "f32"), 32 * 64 * 64 * 128 * 4);
    }

    /// A slice from its starts to its limits, by steps, of an array with elements of 32 bits.
    fn slice(result: &str, of: &str, from: &str, bounds: [&str; 3], to: &str) -> String {
        let [starts, limits, strides] = bounds;
        format!(
            "%{result} = \"stablehlo.slice\"(%{of}) <{{start_indices = array<i64: {starts}>, \
             limit_indices = array<i64: {limits}>, strides = array<i64: {strides}>}}> \
             : (tensor<{from}xf32>) -> tensor<{to}xf32>"
        )
    }

    #[test]
    fn every_second_element_is_stored_until_it_is_read() {
        let (whole, half) = ("2048x2048", "2048x1024");
        let bytes = 2048 * 1024 * 4;
        let even = slice("e", "a", whole, ["0, 0", "2048, 2048", "1, 2"], half);
        let odd = slice("o", "a", whole, ["0, 1", "2048, 2048", "1, 2"], half);
        let result = format!("tensor<{half}xf32>");
        let parameters = format!("%a: tensor<{whole}xf32>");
        let both = format!("{even}\n{odd}\n%r = stablehlo.add %e, %o : {result}");
        assert_eq!(charged(&parameters, &both, &result), 2 * bytes);
        let first = format!("{even}\n%s = stablehlo.sine %e : {result}");
        let apart = format!(
            "{first}\n%t = stablehlo.dot_general %s, %s, contracting_dims = [0] x [0] : ({result}, \
             {result}) -> tensor<1024x1024xf32>\n{odd}\n%r = stablehlo.sine %o : {result}"
        );
        assert_eq!(charged(&parameters, &apart, &result), bytes);
        let moved = slice("r", "a", whole, ["0, 1", "2048, 2048", "1, 2"], half);
        assert_eq!(charged(&parameters, &moved, &result), 0);
        let blocks =
            slice("e", "a", "64x512x512", ["0, 0, 0", "64, 512, 512", "2, 1, 1"], "32x512x512");
        let body = format!("{blocks}\n%r = stablehlo.sine %e : tensor<32x512x512xf32>");
        let result = "tensor<32x512x512xf32>";
        assert_eq!(charged("%a: tensor<64x512x512xf32>", &body, result), 0);
    }

    /// What a program charges that shifts an array by so many rows each, in functions of its own.
    fn shifts(by: [usize; 2]) -> u64 {
        let square = "tensor<2048x2048xf32>";
        let shift = |by: usize| {
            let rest = 2048 - by;
            let (head, tail) = (format!("{by}x2048"), format!("{rest}x2048"));
            let last = format!("{rest}, 0");
            let first = slice("x", "b", "2048x2048", [&last, "2048, 2048", "1, 1"], &head);
            let limit = format!("{rest}, 2048");
            let second = slice("y", "b", "2048x2048", ["0, 0", &limit, "1, 1"], &tail);
            format!(
                "func.func private @by{by}(%b: {square}) -> {square} {{\n{first}\n{second}\n\
                 %z = stablehlo.concatenate %x, %y, dim = 0 : (tensor<{head}xf32>, \
                 tensor<{tail}xf32>) -> {square}\nreturn %z : {square}\n}}\n"
            )
        };
        let functions: std::collections::BTreeSet<String> = by.map(shift).into_iter().collect();
        let functions: String = functions.into_iter().collect();
        let [one, other] = by;
        let text = format!(
            "{functions}func.func public @main(%a: {square}) -> {square} {{\n\
             %s = func.call @by{one}(%a) : ({square}) -> {square}\n\
             %t = func.call @by{other}(%a) : ({square}) -> {square}\n\
             %r = stablehlo.add %s, %t : {square}\nreturn %r : {square}\n}}"
        );
        let rows = vec![Some(vec![1, 0])];
        alone(&parse(&text).unwrap(), rows.clone(), &rows)
    }

    #[test]
    fn pieces_of_the_same_extents_are_stored_where_several_joins_take_them() {
        assert_eq!(shifts([1, 2047]), 2 * 2048 * 2048 * 4, "of 2047 rows, padded");
        assert_eq!(shifts([1, 1]), 0, "the same piece");
        assert_eq!(shifts([1, 3]), 0, "other extents");
        assert_eq!(shifts([8, 16]), (2040 + 2032) * 2048 * 4, "where tiles end");
    }

    #[test]
    fn halves_of_rows_that_are_joined_again_are_padded() {
        let (whole, half) = ("64x512x128", "64x512x64");
        let low = slice("l", "a", whole, ["0, 0, 0", "64, 512, 64", "1, 1, 1"], half);
        let high = slice("h", "a", whole, ["0, 0, 64", "64, 512, 128", "1, 1, 1"], half);
        let half = format!("tensor<{half}xf32>");
        let whole = format!("tensor<{whole}xf32>");
        let join = format!(
            "{low}\n{high}\n%n = stablehlo.negate %h : {half}\n\
             %j = stablehlo.concatenate %n, %l, dim = 2 : ({half}, {half}) -> {whole}\n\
             %r = stablehlo.add %j, %a : {whole}"
        );
        assert_eq!(charged(&format!("%a: {whole}"), &join, &whole), 2 * 64 * 512 * 128 * 4);
    }

    #[test]
    fn arrays_are_stored_before_they_are_stacked_along_tiles() {
        let stack = |dims: &str, axis: usize| {
            let one = "tensor<2048x1024xf32>";
            let kept: Vec<String> =
                (0..3).filter(|&at| at != axis).map(|at| at.to_string()).collect();
            let kept = kept.join(", ");
            let (new, all) = (dims.replace('2', "1"), dims.to_owned());
            let [new, all] = [new, all].map(|dims| dims.replace('R', "2048").replace('C', "1024"));
            let (new, all) = (format!("tensor<{new}xf32>"), format!("tensor<{all}xf32>"));
            let broadcast = |to: &str, of: &str| {
                format!(
                    "%{to} = stablehlo.broadcast_in_dim %{of}, dims = [{kept}] : ({one}) -> {new}"
                )
            };
            let body = format!(
                "{}\n{}\n%r = stablehlo.concatenate %x, %y, dim = {axis} : ({new}, {new}) -> {all}",
                broadcast("x", "a"),
                broadcast("y", "b")
            );
            charged(&format!("%a: {one}, %b: {one}"), &body, &all)
        };
        assert_eq!(stack("RxCx2", 2), 2 * 2048 * 1024 * 4);
        assert_eq!(stack("Rx2xC", 1), 2 * 2048 * 1024 * 4);
        assert_eq!(stack("2xRxC", 0), 0);
    }

    #[test]
    fn a_parameter_is_turned_for_what_is_put_around_it() {
        let (from, to) = ("tensor<2048x2048xf32>", "tensor<2048x2049xf32>");
        let pad = |low: &str, high: &str, to: &str| {
            let line = format!(
                "stablehlo.pad %a, %c, low = [{low}], high = [{high}], interior = [0, 0] : ({from}, \
                 tensor<f32>) -> {to}"
            );
            one(&format!("%a: {from}, %c: tensor<f32>"), &line, to)
        };
        // Columns side by side need less padding there.
        assert_eq!(pad("0, 1", "0, 0", to), 2048 * 2048 * 4);
        assert_eq!(pad("1, 0", "0, 0", "tensor<2049x2048xf32>"), 0);
    }

    #[test]
    fn a_reduction_is_stored_for_the_next_one() {
        let (whole, part) = ("tensor<1024x2048x8xf32>", "tensor<1024x2048xf32>");
        let body = format!(
            "%c = stablehlo.constant dense<0.0> : tensor<f32>\n\
             %s = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [2] : \
             ({whole}, tensor<f32>) -> {part}\n%e = stablehlo.exponential %s : {part}\n\
             %r = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [1] : \
             ({part}, tensor<f32>) -> tensor<1024xf32>"
        );
        assert_eq!(charged(&format!("%a: {whole}"), &body, "tensor<1024xf32>"), 1024 * 2048 * 4);
    }

    #[test]
    fn tables_that_rows_are_added_to_are_padded_until_they_are_read() {
        let table = "tensor<100000x64xf32>";
        let add = |to: &str, of: &str| {
            format!(
                "%{to} = \"stablehlo.scatter\"(%{of}, %i, %u) <{{scatter_dimension_numbers = \
                 #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], \
                 scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = \
                 false, unique_indices = false}}> ({{\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n\
                 %s = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}}) : \
                 ({table}, tensor<1024x1xi32>, tensor<1024x64xf32>) -> {table}"
            )
        };
        let parameters =
            format!("%a: {table}, %b: {table}, %i: tensor<1024x1xi32>, %u: tensor<1024x64xf32>");
        let sum = format!("%r = stablehlo.add %c, %d : {table}");
        let body = format!("{}\n{}\n{sum}", add("c", "a"), add("d", "b"));
        assert_eq!(charged(&parameters, &body, table), 2 * 100_000 * 128 * 4);
        assert_eq!(charged(&parameters, &add("r", "a"), table), 0);
    }

    #[test]
    fn a_result_in_another_order_is_copied() {
        let (square, add) = ("tensor<2048x2048xf32>", "stablehlo.add %t, %t");
        let turn = format!("stablehlo.transpose %a, dims = [1, 0] : ({square}) -> {square}");
        let body = format!("%t = {turn}\n%r = {add} : {square}");
        assert_eq!(charged(&format!("%a: {square}"), &body, square), 2048 * 2048 * 4);
        assert_eq!(charged(&format!("%a: {square}"), &format!("%r = {turn}"), square), 0);
    }
}
