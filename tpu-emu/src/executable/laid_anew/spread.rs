//! Arrays with room between their elements, as associative scans put two halves together.
use super::body::{CallOperation, CallValue, WrittenOut};
use crate::executable::stored_array::Array;
use crate::hbm::layout::{Layout, TileRules, default_layout};
use std::collections::BTreeSet;
use tpu_base::units::Bytes;

/// Every n-th element that is taken of an array along an axis.
#[derive(Debug)]
pub(super) struct EveryNth<'m> {
    source: CallValue,
    axis: usize,
    of: CallOperation<'m>,
}

/// The axes of an array, the fastest first, where elements lie apart along one of them: this one
/// is the slowest if it were the fastest by itself.
fn order_apart(of: &Array, axis: usize, rules: TileRules) -> Option<Vec<usize>> {
    let default = default_layout(rules, of.element(), &of.dims).ok()?.minor_to_major;
    if default.first() != Some(&axis) || default.len() < 2 {
        return Some(default.to_vec());
    }
    let mut others: Vec<usize> = (0..of.dims.len()).rev().filter(|&other| other != axis).collect();
    others.push(axis);
    let mut swapped = others.clone();
    if swapped.len() > 2 {
        swapped.swap(0, 1);
    }
    let bytes = |order: &Vec<usize>| of.in_order(rules, order).map(|(bytes, _)| bytes);
    [others, swapped].into_iter().min_by_key(bytes)
}

/// What a scan does to arrays along an axis.
#[derive(Debug, Default)]
pub(super) struct Scans<'m> {
    /// Axes along which results have room between elements, and the extents of these.
    spread: BTreeSet<(usize, Vec<u64>)>,
    /// Parameters of which every n-th element is taken.
    every_nth: Vec<EveryNth<'m>>,
}

impl<'m> Scans<'m> {
    /// How a result with room between its elements is stored, and the bytes of what it is made of,
    /// while that goes on.
    pub(super) fn spread(
        &mut self,
        (rules, body): (TileRules, &WrittenOut<'m>),
        of: &CallOperation<'m>,
        to: &Array,
    ) -> Option<(Option<(Bytes, Layout)>, u64)> {
        let between = of.operation.attributes.integers("interior_padding")?;
        let axis = between.iter().position(|&room| room > 0)?;
        let (result, from) = (body.result(of)?, of.operand(0)?);
        if body.is_returned(result) {
            return None;
        }
        let order = order_apart(to, axis, rules)?;
        let is_there = |value| body.is_given(value) || body.cut(value).is_some();
        let is_there = body.operands(of).next().is_some_and(is_there);
        let source = from.in_order(rules, &order).filter(|_| !is_there);
        let passing = source.map_or(0, |(bytes, _)| bytes.0);
        self.spread.insert((axis, to.dims.clone()));
        Some((to.in_order(rules, &order), passing))
    }

    /// Notes that every n-th element along an axis is taken of a parameter.
    pub(super) fn strided(&mut self, body: &WrittenOut<'m>, of: CallOperation<'m>, axis: usize) {
        let Some(source) = body.operands(&of).next().filter(|&value| body.is_given(value)) else {
            return;
        };
        if self.every_nth.iter().all(|known| known.source != source) {
            self.every_nth.push(EveryNth { source, axis, of });
        }
    }

    /// Parameters that are taken apart along the axis that results are put together along: they
    /// are laid as these are, until they are read for the last time.
    pub(super) fn taken_apart(self, rules: TileRules, body: &WrittenOut<'m>) -> Vec<Laid<'m>> {
        let mut found = Vec::new();
        for EveryNth { source, axis, of } in self.every_nth {
            let Some(array) = body.array(source) else { continue };
            let lies = default_layout(rules, array.element(), &array.dims).ok();
            let lies = lies.map(|layout| layout.minor_to_major.to_vec());
            let order =
                order_apart(&array, axis, rules).filter(|order| Some(order) != lies.as_ref());
            let stored = order.and_then(|order| array.in_order(rules, &order));
            if let Some(stored) = stored
                && self.spread.contains(&(axis, array.dims.clone()))
            {
                found.push((of, array, source, stored));
            }
        }
        found
    }
}

/// A parameter that an operation makes a chip lay anew, and how.
type Laid<'m> = (CallOperation<'m>, Array, CallValue, (Bytes, Layout));

#[cfg(test)]
mod tests {
    use super::super::tests::charged;

    fn pad(of: &str, from: &str, along: &str, to: &str) -> String {
        let none = along.replace('1', "0");
        format!(
            "stablehlo.pad %{of}, %c, low = [{none}], high = [{along}], interior = [{along}] : \
             (tensor<{from}xf32>, tensor<f32>) -> tensor<{to}xf32>"
        )
    }

    #[test]
    fn an_array_with_room_between_its_elements_is_stored() {
        let spread = |from: &str, along: &str, to: &str| {
            let line = pad("a", from, along, to);
            let result = format!("tensor<{to}xf32>");
            let body = format!("%t = {line}\n%r = stablehlo.add %t, %t : {result}");
            charged(&format!("%a: tensor<{from}xf32>, %c: tensor<f32>"), &body, &result)
        };
        let bytes = 2048 * 2048 * 4;
        assert_eq!(spread("1024x2048", "1, 0", "2048x2048"), bytes);
        assert_eq!(spread("2048x1024", "0, 1", "2048x2048"), bytes);
        assert_eq!(spread("16x256x512", "1, 0, 0", "32x256x512"), bytes);
        // Along the fastest axis of narrow rows: the others lie in tiles instead.
        let narrow = spread("32x4096x32", "0, 1, 0", "32x8192x32");
        assert_eq!(narrow, 8192 * 32 * 128 * 4);
        let returned = pad("a", "1024x2048", "1, 0", "2048x2048").replace("%a", "%b");
        let body = format!("%b = stablehlo.sine %a : tensor<1024x2048xf32>\n%r = {returned}");
        let parameters = "%a: tensor<1024x2048xf32>, %c: tensor<f32>";
        assert_eq!(charged(parameters, &body, "tensor<2048x2048xf32>"), 0);
    }

    #[test]
    fn a_parameter_that_a_scan_takes_apart_lies_as_the_result() {
        let (whole, half) = ("32x8192x32", "32x4096x32");
        let piece = |name: &str, first: usize| {
            format!(
                "%{name} = \"stablehlo.slice\"(%a) <{{start_indices = array<i64: 0, {first}, 0>, \
                 limit_indices = array<i64: 32, 8192, 32>, strides = array<i64: 1, 2, 1>}}> : \
                 (tensor<{whole}xf32>) -> tensor<{half}xf32>"
            )
        };
        let (of, to) = (format!("tensor<{half}xf32>"), format!("tensor<{whole}xf32>"));
        let body = format!(
            "{}\n{}\n%s = stablehlo.add %e, %o : {of}\n%p = {}\n%r = stablehlo.add %p, %p : {to}",
            piece("e", 0),
            piece("o", 1),
            pad("s", half, "0, 1, 0", whole)
        );
        let parameters = format!("%a: {to}, %c: tensor<f32>");
        let (pieces, result) = (2 * 32 * 4096 * 32 * 4, (8192 + 4096) * 32 * 128 * 4);
        // The result with what it is made of, and the pieces of which that is made as it is read.
        assert_eq!(charged(&parameters, &body, &to), pieces + result);
        let again = body.replace("%r = ", &format!("{}\n%r = ", piece("f", 0)));
        let parameter = 8192 * 32 * 128 * 4;
        assert_eq!(charged(&parameters, &again, &to), parameter + pieces + result);
    }
}
