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
//! | running sum and other windows that keep the extents | the operand once more, and twice past the core's memory |
//! | result whose fastest axis is another than that of what it is made of | the result in the order in which it is made |
//!
//! Source: what libtpu 0.0.51 says of some sixty programs of one or two operations on a v5e.
use super::free_layouts::{DimensionOrder, orders};
use super::{Parameter, ResultInfo};
use crate::hbm::layout::{TileRules, default_layout, explicit_layout, padded_bytes};
use crate::hbm::spec::ArraySpec;
use std::sync::Arc;
use tpu_base::tensor::{DType, dtype::DeviceElement};
use tpu_base::units::Bytes;
use tpu_ops::{LayoutRule, Operator, Relayout, Structural, callee};
use tpu_program::import::element_type;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Function, LocationId, Operation, Region, Value};

/// What is less is in the memory of the core, and in the noise.
const MIN_BYTES: u64 = 1 << 20;
/// Lanes of a tile.
const LANES: u64 = 128;
/// Sublanes of a tile of 32-bit elements.
const SUBLANES: u64 = 8;
/// What the memory of a core holds, of which a chip's temporaries have no part.
const CORE_BYTES: u64 = 128 << 20;

/// A value that a chip lays anew.
#[derive(Debug, Clone)]
pub(crate) struct LaidAnew {
    /// What it takes, padded.
    pub(crate) bytes: Bytes,
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

/// The largest value that a device lays anew in a program with these parameters and results.
pub(super) fn of(
    module: &Module,
    rules: TileRules,
    parameters: &[Parameter],
    results: &[ResultInfo],
) -> Option<LaidAnew> {
    let order = |spec: &ArraySpec| Some(spec.layout.minor_to_major.clone());
    let parameters = parameters.iter().map(|parameter| order(&parameter.spec)).collect();
    let results: Vec<_> = results.iter().map(|result| order(&result.spec)).collect();
    largest(module, rules, parameters, &results)
}

/// The largest one where parameters and results lie in these orders.
fn largest(
    module: &Module,
    rules: TileRules,
    parameters: Vec<DimensionOrder>,
    results: &[DimensionOrder],
) -> Option<LaidAnew> {
    let entry = module.entry()?;
    let mut found = RelayoutSearch { rules, largest: None };
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
    found.results(entry, orders(module, entry, parameters), results);
    found.largest.filter(|of| of.bytes.0 >= MIN_BYTES)
}

/// An array: its element type and its extents.
#[derive(Debug, Clone)]
struct Array {
    dtype: DType,
    dims: Vec<u64>,
}

impl Array {
    /// A value of static extents with elements in it.
    fn of(function: &Function, value: Value) -> Option<Self> {
        let of = function.type_of(value).tensor()?;
        let dtype = element_type(of.element).ok()?;
        let dims: Vec<u64> =
            of.dims.iter().map(|&dim| u64::try_from(dim).ok()).collect::<Option<_>>()?;
        dims.iter().all(|&dim| dim > 0).then_some(Self { dtype, dims })
    }

    fn element(&self) -> DeviceElement {
        self.dtype.element()
    }

    /// The bytes with the axes in this order, the fastest first, and the layout.
    fn in_order(&self, rules: TileRules, order: &[usize]) -> Option<(Bytes, String)> {
        let layout = explicit_layout(rules, self.element(), &self.dims, order).ok()?;
        let bytes = padded_bytes(self.element(), &self.dims, &layout).ok()?;
        Some((bytes, layout.to_string()))
    }

    /// The bytes in rows, and the layout.
    fn in_rows(&self, rules: TileRules) -> Option<(Bytes, String)> {
        let order: Vec<usize> = (0..self.dims.len()).rev().collect();
        self.in_order(rules, &order)
    }

    /// The bytes in rows if these need more than the default layout does.
    fn in_padded_rows(&self, rules: TileRules) -> Option<(Bytes, String)> {
        let rows = self.in_rows(rules)?;
        let default = default_layout(rules, self.element(), &self.dims).ok()?;
        let least = padded_bytes(self.element(), &self.dims, &default).ok()?;
        (rows.0 > least).then_some(rows)
    }

    /// What rows need of which slices are taken: nothing where they lie in rows already, or where
    /// the memory of the core has room for them.
    fn as_table(&self, rules: TileRules) -> u64 {
        let rows = self.in_padded_rows(rules).map_or(0, |(bytes, _)| bytes.0);
        if rows > CORE_BYTES { rows } else { 0 }
    }
}

#[derive(Debug)]
struct RelayoutSearch {
    rules: TileRules,
    largest: Option<LaidAnew>,
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
            Operator::Structural(Structural::Call | Structural::Composite) => {
                return callee(operation).into_iter().for_each(called);
            }
            Operator::Row(entry) => entry,
            _ => return,
        };
        let operand = |at: usize| Array::of(function, *operation.operands.get(at)?);
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
                let returned = |value: &Value| {
                    let last = function.block().and_then(|block| block.operations.last());
                    last.is_some_and(|last| last.operands.contains(value))
                };
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
                if let (Some(from), Some(to)) = (operand(0), result())
                    && from.dims == to.dims
                {
                    let stored = from.in_rows(rules);
                    let again = stored.as_ref().map_or(0, |(bytes, _)| bytes.0);
                    let again = if again > CORE_BYTES { again } else { 0 };
                    self.note(operation, &from, with(stored, again));
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

    fn note(&mut self, operation: &Operation, of: &Array, stored: Option<(Bytes, String)>) {
        let Some((bytes, layout)) = stored else { return };
        if self.largest.as_ref().is_none_or(|known| known.bytes < bytes) {
            self.largest = Some(LaidAnew {
                bytes,
                dtype: of.dtype,
                dims: of.dims.clone(),
                layout: layout.into(),
                name: operation.name.to_string().into(),
                location: operation.location,
            });
        }
    }
}

/// More bytes beside a stored array.
fn with(stored: Option<(Bytes, String)>, more: u64) -> Option<(Bytes, String)> {
    stored.map(|(bytes, layout)| (Bytes(bytes.0.saturating_add(more)), layout))
}

/// What a reshape stores. An axis that it keeps can be the fastest one of both sides: then only
/// the order changes. Otherwise both sides lie in rows.
fn reshaped(rules: TileRules, from: &Array, to: &Array) -> Option<(Bytes, String)> {
    let kept = kept_axes(&from.dims, &to.dims);
    let moves = |of: &Array| of.dims.iter().filter(|&&dim| dim > 1).count() > 1;
    let whole = |of: &Array| {
        let mut last = of.dims.iter().rev().filter(|&&dim| dim > 1);
        let lanes = last.next().is_none_or(|&dim| dim == LANES);
        lanes && last.next().is_none_or(|&dim| dim.is_multiple_of(SUBLANES))
    };
    match (moves(from), moves(to)) {
        (false, false) => return None,
        // A line has the elements of its tiles side by side.
        (false, true) if whole(to) => return None,
        (true, false) if whole(from) => return None,
        _ => {}
    }
    if let (Some(&a), Some(&b)) = (kept.last(), from.dims.iter().rposition(|&d| d > 1).as_ref())
        && a.0 == b
    {
        // The fastest axis stays. So do the tiles, if the next one has whole ones.
        let next = |of: &Array, axis: usize| {
            of.dims[..axis].iter().rev().find(|&&dim| dim > 1).copied().unwrap_or(1)
        };
        let (one, two) = (next(from, a.0), next(to, a.1));
        let same = one == two || (one.is_multiple_of(SUBLANES) && two.is_multiple_of(SUBLANES));
        if same {
            return None;
        }
    }
    let side = |of: &Array| moves(of).then(|| of.in_rows(rules)).flatten();
    let in_rows = match (side(from), side(to)) {
        (Some((bytes, _)), to) => with(to, bytes.0).or(side(from)),
        (None, to) => to,
    };
    let by_kept = kept.iter().filter_map(|&(_, axis)| {
        let mut order: Vec<usize> = (0..to.dims.len()).rev().filter(|&at| at != axis).collect();
        order.insert(0, axis);
        to.in_order(rules, &order)
    });
    in_rows.into_iter().chain(by_kept).min_by_key(|(bytes, _)| *bytes)
}

/// The axes of more than one element that a reshape keeps as they are, in both shapes.
fn kept_axes(from: &[u64], to: &[u64]) -> Vec<(usize, usize)> {
    let real = |dims: &[u64]| -> Vec<(usize, u64)> {
        dims.iter().copied().enumerate().filter(|&(_, dim)| dim > 1).collect()
    };
    let (from, to) = (real(from), real(to));
    let (mut a, mut b) = (0, 0);
    let mut kept = Vec::new();
    while a < from.len() && b < to.len() {
        let (first, second) = (a, b);
        let (mut left, mut right) = (u128::from(from[a].1), u128::from(to[b].1));
        while left != right {
            let more = if left < right { from.get(a + 1) } else { to.get(b + 1) };
            let Some(&(_, more)) = more else { return kept };
            if left < right {
                (a, left) = (a + 1, left.saturating_mul(more.into()));
            } else {
                (b, right) = (b + 1, right.saturating_mul(more.into()));
            }
        }
        if (a, b) == (first, second) {
            kept.push((from[a].0, to[b].0));
        }
        (a, b) = (a + 1, b + 1);
    }
    kept
}

#[cfg(test)]
mod tests {
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
        let found = largest(&module, TileRules::V4, parameters, &results);
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

    #[test]
    fn a_result_in_another_order_is_copied() {
        let (square, add) = ("tensor<2048x2048xf32>", "stablehlo.add %t, %t");
        let turn = format!("stablehlo.transpose %a, dims = [1, 0] : ({square}) -> {square}");
        let body = format!("%t = {turn}\n%r = {add} : {square}");
        assert_eq!(charged(&format!("%a: {square}"), &body, square), 2048 * 2048 * 4);
        assert_eq!(charged(&format!("%a: {square}"), &format!("%r = {turn}"), square), 0);
    }
}
