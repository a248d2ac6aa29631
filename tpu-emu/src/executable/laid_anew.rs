//! What the chip lays anew: values that it must store in another layout than the one that they
//! were made in, padded to tiles.
//!
//! Elements are stored densely here and a view costs nothing, so the plan of a run has none of
//! these. A chip has them, and a program that fits here and not there is the worse mistake. So the
//! largest of them is charged where the plan's own temporaries are less, and nobody touches it.
//!
//! | operation | what is stored |
//! |---|---|
//! | reshape that takes the fastest axis apart | both sides in rows of whole tiles, or one with a kept axis as the fastest, what is less |
//! | gather | the rows, each padded to 128 elements, but where they are a result that needs no padding; the table likewise, where the core has no room for it |
//! | scatter of rows | what is added and the array, likewise |
//! | running sum and other windows that keep the extents | the operand once more, and twice below half of the core's memory and past all of it |
//! | other windows | the operand in rows, if these are padded and it is not |
//! | reversal | the operand, but where a parameter becomes a result at once |
//! | sort | the operands once more; along the fastest axis of several twice, and three times if they have 16 bits |
//! | first elements of rows | the operand once more, and twice if it is one row |
//! | convolution of few features | input and result with images or features as the fastest axis, what is less; one of them only, if the other has less than 8 features or more than 32 |
//! | convolutions whose features do not fill lanes | the padding of all that is shaped like their images, beside it |
//! | operation on elements of arrays in several orders | each that is not in the order of the first one |
//! | result whose fastest axis is another than that of what it is made of | the result in the order in which it is made |
//!
//! Source: what libtpu 0.0.51 says of some ninety programs of one or two operations on a v5e.
use super::free_layouts::{DimensionOrder, orders_and_turned};
use super::image_padding::{self, Images};
use super::stored_array::{Array, CORE_BYTES, reshaped, with};
use super::{Parameter, ResultInfo, stored_by_chip};
use crate::hbm::layout::{Layout, TileRules};
use crate::hbm::spec::ArraySpec;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_usize};
use tpu_ops::{LayoutRule, Operator, Relayout, Structural, TOP_K, callee, top_k};
use tpu_program::plan::Plan;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Function, LocationId, Operation, Region, Value};

/// What is less is in the memory of the core, and in the noise.
pub(super) const MIN_BYTES: u64 = 1 << 20;

/// Features of input and result of a convolution that stores both.
const FEW_FEATURES: RangeInclusive<u64> = 8..=32;

/// How what a chip lays anew stands to the temporaries of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    /// It is there when they are not.
    Alone,
    /// It is the padding of some of them, or what is not stored here, where they take most, at this
    /// position.
    Beside(u64),
}

/// A value that a chip lays anew, or the padding of several, or what only a chip stores.
#[derive(Debug, Clone)]
pub(crate) struct LaidAnew {
    /// What it takes, padded; what is taken beside other temporaries, as by an array like this.
    pub(crate) bytes: Bytes,
    /// How it stands to other temporaries.
    pub(crate) place: Charged,
    /// The type of an element.
    pub(crate) dtype: DType,
    /// The extents.
    pub(crate) dims: Vec<u64>,
    /// The layout that it has.
    pub(crate) layout: Arc<str>,
    /// The operation that asks for it.
    pub(crate) name: Arc<str>,
    /// Where that was written.
    pub(crate) location: LocationId,
}

impl LaidAnew {
    /// What is charged of a device for it and for so many bytes of temporaries.
    pub(super) fn charge(&self, temporaries: usize) -> usize {
        let own = to_usize(self.bytes.0);
        match self.place {
            Charged::Alone => own.max(temporaries),
            Charged::Beside(_) => own.saturating_add(temporaries),
        }
    }
}

/// The largest value that a device lays anew, or what it takes beside a plan, if that is more.
pub(super) fn of(
    (module, plan): (&Module, &Plan),
    rules: TileRules,
    parameters: &[Parameter],
    results: &[ResultInfo],
) -> Option<LaidAnew> {
    let order = |spec: &ArraySpec| Some(spec.layout.minor_to_major.clone());
    let parameters = parameters.iter().map(|parameter| order(&parameter.spec)).collect();
    let results: Vec<_> = results.iter().map(|result| order(&result.spec)).collect();
    let (alone, images) = largest(module, rules, parameters, &results);
    let padding = image_padding::of(&images, rules, plan);
    let beside = padding.into_iter().chain(stored_by_chip::of(plan));
    alone.into_iter().chain(beside).max_by_key(|of| of.charge(plan.arena))
}

/// The largest one where parameters and results lie in these orders.
fn largest(
    module: &Module,
    rules: TileRules,
    parameters: Vec<DimensionOrder>,
    results: &[DimensionOrder],
) -> (Option<LaidAnew>, Images) {
    let mut found = RelayoutSearch { rules, largest: None, images: Images::new() };
    let Some(entry) = module.entry() else { return (None, found.images) };
    let mut reached = vec![entry];
    let mut at = 0;
    while let Some(&function) = reached.get(at) {
        found.region(function, &function.body, &mut |name| {
            let called = module.function(name);
            let new = called.filter(|of| !reached.iter().any(|known| std::ptr::eq(*known, *of)));
            reached.extend(new);
        });
        at += 1;
    }
    let (made, turned) = orders_and_turned(module, entry, parameters);
    for (function, operation, value, order) in turned {
        if let Some(array) = Array::of(function, value) {
            found.note(operation, &array, array.in_order(rules, &order));
        }
    }
    found.results(entry, made, results);
    (found.largest.filter(|of| of.bytes.0 >= MIN_BYTES), found.images)
}

#[derive(Debug)]
struct RelayoutSearch {
    rules: TileRules,
    largest: Option<LaidAnew>,
    /// The images of convolutions.
    images: Images,
}

impl RelayoutSearch {
    fn region(&mut self, function: &Function, region: &Region, called: &mut dyn FnMut(&str)) {
        for operation in region.blocks.iter().flat_map(|block| &block.operations) {
            self.operation(function, operation, called);
            for inner in &operation.regions {
                self.region(function, inner, called);
            }
        }
    }

    fn operation(
        &mut self,
        function: &Function,
        operation: &Operation,
        called: &mut dyn FnMut(&str),
    ) {
        let entry = match Operator::of(operation) {
            Operator::Structural(Structural::Composite) if top_k(operation).is_some() => &TOP_K,
            Operator::Structural(Structural::Call | Structural::Composite) => {
                return callee(operation).into_iter().for_each(called);
            }
            Operator::Row(entry) => entry,
            _ => return,
        };
        let operand = |at: usize| Array::of(function, *operation.operands.get(at)?);
        let returned = |value: &Value| {
            let last = function.block().and_then(|block| block.operations.last());
            last.is_some_and(|last| last.operands.contains(value))
        };
        let result = || Array::of(function, *operation.results.first()?);
        let rules = self.rules;
        match entry.relayout {
            Relayout::Nothing => {}
            Relayout::Reshaped => {
                if let (Some(from), Some(to)) = (operand(0), result()) {
                    let stored = reshaped(rules, &from, &to);
                    self.note(operation, &to, stored);
                }
            }
            Relayout::Gathered => {
                if let (Some(table), Some(rows)) = (operand(0), result()) {
                    let at_once = operation.results.iter().any(returned);
                    let stored =
                        if at_once { rows.in_padded_rows(rules) } else { rows.in_rows(rules) };
                    self.note(operation, &rows, with(stored, table.as_table(rules)));
                }
            }
            Relayout::Scattered => {
                let (into, added) = (operand(0), operand(operation.operands.len() - 1));
                if let (Some(into), Some(added)) = (into, added) {
                    let stored = added.in_padded_rows(rules);
                    self.note(operation, &added, with(stored, into.as_table(rules)));
                }
            }
            Relayout::Windows => {
                let (Some(from), Some(to)) = (operand(0), result()) else { return };
                if from.dims != to.dims {
                    return self.note(operation, &from, from.in_padded_rows(rules));
                }
                let stored = from.in_rows(rules);
                let again = stored.as_ref().map_or(0, |(bytes, _)| bytes.0);
                let once = (CORE_BYTES / 2..=CORE_BYTES).contains(&again);
                self.note(operation, &from, with(stored, if once { 0 } else { again }));
            }
            Relayout::Reversed => {
                let given = |value: &Value| {
                    function.block().is_some_and(|block| block.arguments.contains(value))
                };
                let moved =
                    operation.operands.iter().all(given) && operation.results.iter().all(returned);
                if let (Some(from), false) = (operand(0), moved) {
                    self.note(operation, &from, from.by_default(rules));
                }
            }
            Relayout::Sorted => self.sorted(function, operation),
            Relayout::Ranked => {
                if let Some(from) = operand(0) {
                    let stored = from.by_default(rules);
                    let is_line = from.dims.iter().filter(|&&dim| dim > 1).count() < 2;
                    let again = stored.as_ref().map_or(0, |(bytes, _)| bytes.0);
                    self.note(operation, &from, with(stored, if is_line { again } else { 0 }));
                }
            }
            Relayout::Convolved => self.convolved(operation, operand(0), result()),
        }
    }

    /// What is sorted is sorted in a copy, and rows that lie side by side in two: elements of 16
    /// bits as those of 32.
    fn sorted(&mut self, function: &Function, operation: &Operation) {
        let arrays: Vec<Array> =
            operation.operands.iter().filter_map(|&value| Array::of(function, value)).collect();
        let Some(first) = arrays.first() else { return };
        let rank = first.dims.len();
        let axis = operation.attributes.integer("dimension").unwrap_or(-1);
        let last = i64::try_from(rank).is_ok_and(|rank| axis == -1 || axis + 1 == rank);
        let rows = last && first.dims[..rank.saturating_sub(1)].iter().any(|&dim| dim > 1);
        let mut all = 0_u64;
        for array in &arrays {
            let bytes = array.by_default(self.rules).map_or(0, |(bytes, _)| bytes.0);
            let copies = match array.element().bits {
                _ if !rows => 1,
                16 => 3,
                _ => 2,
            };
            all = all.saturating_add(bytes.saturating_mul(copies));
        }
        let stored = first.by_default(self.rules).map(|(_, layout)| (Bytes(all), layout));
        self.note(operation, first, stored);
    }

    /// Images whose features do not fill the lanes of a tile.
    fn convolved(&mut self, operation: &Operation, from: Option<Array>, to: Option<Array>) {
        let axis = |name: &str| image_padding::axis(operation, name);
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
                self.note(operation, &from, with(Some(stored), other.0.0));
            }
            (from, to) => {
                for (array, stored, _) in from.into_iter().chain(to) {
                    self.note(operation, &array, Some(stored));
                }
            }
        }
    }

    /// Results that are not made in the order in which they must lie. What only moves a parameter
    /// goes there at once.
    fn results(&mut self, entry: &Function, made: Vec<DimensionOrder>, wanted: &[DimensionOrder]) {
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
                self.note(maker, &array, stored);
            }
        }
    }

    fn note(&mut self, operation: &Operation, of: &Array, stored: Option<(Bytes, Layout)>) {
        let Some((bytes, layout)) = stored else { return };
        if self.largest.as_ref().is_none_or(|known| known.bytes < bytes) {
            self.largest = Some(LaidAnew {
                bytes,
                place: Charged::Alone,
                dtype: of.dtype,
                dims: of.dims.clone(),
                layout: layout.to_string().into(),
                name: operation.name.to_string().into(),
                location: operation.location,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stored_array::kept_axes;
    use super::*;
    use tpu_stablehlo::text::parse;

    /// What a program of these lines lays anew, in bytes; parameters and results lie in rows.
    fn charged(parameters: &str, body: &str, result: &str) -> u64 {
        let text = format!(
            "func.func @main({parameters}) -> {result} {{\n{body}\n  return %r : {result}\n}}"
        );
        let module = parse(&text).unwrap();
        let entry = module.entry().unwrap();
        let rows = |value: Value| {
            let rank = entry.type_of(value).tensor().unwrap().dims.len();
            Some((0..rank).rev().collect())
        };
        let block = entry.block().unwrap();
        let parameters = block.arguments.iter().map(|&value| rows(value)).collect();
        let results: Vec<_> =
            block.operations.last().unwrap().operands.iter().map(|&value| rows(value)).collect();
        let (found, _) = largest(&module, TileRules::V4, parameters, &results);
        found.map_or(0, |found| found.bytes.0)
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
        assert_eq!(reshape("4194304", "32768x128"), 0);
        assert_eq!(reshape("2048x2048", "32x64x2048"), 0);
        assert_eq!(reshape("4194304", "4194304x1"), 0);
        assert_eq!(reshape("0x4", "0"), 0);
        assert_eq!(reshape("1", "1x1x1"), 0);
    }

    #[test]
    fn an_axis_that_stays_can_be_the_fastest() {
        assert_eq!(reshape("4096x1024", "4096x16x64"), 4096 * 1024 * 4);
        assert_eq!(reshape("4096x16x64", "4096x1024"), 4096 * 1024 * 4);
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
        let top = |of: &str, values: &str| {
            let line = format!(
                "chlo.top_k(%a, k = 16) : tensor<{of}xf32> -> (tensor<{values}xf32>, \
                 tensor<{values}xi32>)"
            );
            let body = format!("%r, %i = {line}");
            charged(&format!("%a: tensor<{of}xf32>"), &body, &format!("tensor<{values}xf32>"))
        };
        // As JAX sends it: what a decomposition sorts is not sorted.
        let composite = "func.func @main(%a: tensor<4096x32000xf32>) -> tensor<4096x16xf32> {\n\
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
        let found = largest(&parse(composite).unwrap(), TileRules::V4, rows.clone(), &rows);
        assert_eq!(found.0.unwrap().bytes.0, 4096 * 32_000 * 4);
        assert_eq!(top("4096x32000", "4096x16"), 4096 * 32_000 * 4);
        assert_eq!(top("16777216", "16"), 2 * 16_777_216 * 4);
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
        assert_eq!(conv(64, 32, [128, 128], "f32"), 0);
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
