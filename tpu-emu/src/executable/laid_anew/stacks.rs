//! What loops take slice by slice and put together so, as a `scan` does: a chip lays such arrays one
//! slice behind the other, each in tiles, whichever way the program's own arrays lie.
//!
//! Source: what libtpu 0.0.51 says of 78 recurrent layers, state spaces, caches and other loops over
//! sequences, forward and with gradients, on a v5e (docs/decisions/0222).
use super::body::{CallOperation, CallValue, WrittenOut};
use super::core;
use crate::executable::image_padding::{Temporary, at_most};
use crate::executable::stored_array::Array;
use crate::hbm::layout::{Layout, TileRules};
use std::collections::BTreeSet;
use tpu_base::units::Bytes;
use tpu_ops::{DYNAMIC_SLICE, DYNAMIC_UPDATE_SLICE};
use tpu_stablehlo::ir::Operation;

/// Bytes of the largest slices of recurrent layers. Those of others, such as the layers of a
/// transformer, fill the memory of the core alone.
const LARGEST_SLICE: u64 = 1 << 20;
/// Stacks of a loop that the core has room for beside little else.
const FEW: usize = 4;
/// Bytes of stacks for which the core has room where there are more of them.
const ROOM_FOR_MANY: u64 = 64 << 20;

/// The extents of arrays that loops take slices of along the first axis, or put slices into.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    extents: BTreeSet<Vec<u64>>,
}

impl Stacks {
    pub(super) fn of(body: &WrittenOut<'_>) -> Self {
        let mut extents = BTreeSet::new();
        if body.loops().next().is_none() {
            return Self { extents };
        }
        let taken: BTreeSet<CallValue> =
            body.operations.iter().filter_map(|of| taken_from(body, of)).collect();
        for of in body.loops() {
            for (given, made) in body.carried(&of) {
                let put = body.maker(made).and_then(|of| put_into(body, &of));
                if put == Some(given) || taken.contains(&given) {
                    extents.extend(body.array(given).map(|array| array.dims));
                }
            }
        }
        Self { extents }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// How an array lies that loops take apart or put together.
    pub(super) fn stored(&self, rules: TileRules, array: &Array) -> Option<(Bytes, Layout)> {
        let slices = || match array.dims.len() {
            2 => array.in_rows(rules),
            _ => array.as_slices(rules),
        };
        self.extents.contains(&array.dims).then(slices).flatten()
    }

    /// What a loop lays anew: results of the program that it puts together, which lie otherwise, and
    /// what it takes apart for them, of parameters each for which the core has room. Of several
    /// loops the one with most; with the largest array, and the bytes of all.
    pub(super) fn around_a_loop<'m>(
        &self,
        rules: TileRules,
        body: &WrittenOut<'m>,
    ) -> Option<(&'m Operation, Array, (Bytes, Layout))> {
        let padded = |array: &Array| {
            let stored = self.stored(rules, array)?;
            let (least, _) = array.by_default(rules)?;
            (stored.0 > least).then_some(stored)
        };
        let of_loop = |of: CallOperation<'m>| {
            let results = body
                .results(&of)
                .into_iter()
                .filter(|&(_, value)| body.is_returned(value) || body.ends_as_result(value));
            let results: Vec<_> =
                results.filter_map(|(array, _)| Some((padded(&array)?, array))).collect();
            let operands = body.operands(&of).zip(body.carried(&of));
            // What a loop begins with that it puts together is the result, but for a parameter.
            let kept =
                operands.filter(|&(value, (given, made))| given == made || body.is_given(value));
            let given = kept.filter_map(|(value, _)| {
                let (is_given, array) = (body.is_given(value), body.array(value)?);
                let stored = padded(&array)?;
                let fits = if is_given { stored.0.0 <= core::ROOM } else { !results.is_empty() };
                fits.then_some((stored, array))
            });
            let given: Vec<_> = given.collect();
            let all: Vec<_> = results.into_iter().chain(given).collect();
            let bytes = all.iter().fold(0_u64, |sum, ((of, _), _)| sum.saturating_add(of.0));
            let ((_, layout), array) = all.into_iter().max_by_key(|((bytes, _), _)| *bytes)?;
            Some((of.operation, array, (Bytes(bytes), layout)))
        };
        body.loops().filter_map(of_loop).max_by_key(|(_, _, (bytes, _))| *bytes)
    }

    /// What is left in HBM of so many bytes, which these temporaries take where they take most: the
    /// core has some of the stacks, but not in programs that take little.
    pub(super) fn left_in_hbm(&self, all: u64, temporaries: &[Temporary<'_>]) -> Option<u64> {
        if all < core::MUCH {
            return None;
        }
        let is_stack = |array: &Array| self.extents.contains(&array.dims);
        let stacks = at_most(temporaries).filter(|of| of.is(is_stack));
        let mut bytes: Vec<u64> = stacks.map(|of| of.bytes).collect();
        bytes.sort_unstable_by_key(|&of| std::cmp::Reverse(of));
        let room = if bytes.len() <= FEW { core::ROOM } else { ROOM_FOR_MANY };
        let held = bytes.into_iter().fold(0, |held: u64, of| {
            let with = held.saturating_add(of);
            if with <= room { with } else { held }
        });
        (held > 0).then(|| all.saturating_sub(held))
    }
}

/// The array of which an operation takes one slice along the first axis.
fn taken_from(body: &WrittenOut<'_>, of: &CallOperation<'_>) -> Option<CallValue> {
    let takes = of.is_named(&DYNAMIC_SLICE) && is_slice(&of.result()?, &of.operand(0)?);
    takes.then(|| body.operands(of).next())?
}

/// The array into which an operation puts one slice along the first axis.
fn put_into(body: &WrittenOut<'_>, of: &CallOperation<'_>) -> Option<CallValue> {
    let puts = of.is_named(&DYNAMIC_UPDATE_SLICE) && is_slice(&of.operand(1)?, &of.operand(0)?);
    puts.then(|| body.operands(of).next())?
}

/// Whether an array is a slice of another one, and one of a recurrent layer.
fn is_slice(slice: &Array, whole: &Array) -> bool {
    let [1, kept @ ..] = &slice.dims[..] else { return false };
    !kept.is_empty() && kept == &whole.dims[1..] && slice.dense() <= LARGEST_SLICE
}

#[cfg(test)]
mod tests {
    use super::super::tests::charged;
    use super::*;
    use crate::executable::image_padding;
    use tpu_base::tensor::{DType, Shape};
    use tpu_program::plan::{ArenaSlot, Plan};
    use tpu_stablehlo::ir::LocationId;

    /// What a loop lays anew that takes slices of an array, adds them up and stacks the sums, in an
    /// array that is a parameter or begins as zeros.
    fn scanned(steps: u64, slice: &str, stacked: Option<&str>) -> u64 {
        let rank = slice.split('x').count();
        let (all, one) = (format!("tensor<{steps}x{slice}xf32>"), format!("tensor<1x{slice}xf32>"));
        let (starts, types) = (", %z".repeat(rank), ", tensor<i32>".repeat(rank + 1));
        let (sizes, stacked) = (slice.replace('x', ", "), stacked.unwrap_or("%o"));
        let body = format!(
            "%n = stablehlo.constant dense<{steps}> : tensor<i32>\n\
             %o = stablehlo.constant dense<0.0> : {all}\n\
             %w:4 = stablehlo.while(%x = %a, %y = {stacked}, %h = %c, %i = %z) : {all}, {all}, {one}, \
             tensor<i32>\n\
             cond {{\n%p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n\
             stablehlo.return %p : tensor<i1>\n}} do {{\n\
             %s = stablehlo.dynamic_slice %x, %i{starts}, sizes = [1, {sizes}] : \
             ({all}{types}) -> {one}\n\
             %t = stablehlo.add %h, %s : {one}\n\
             %u = stablehlo.dynamic_update_slice %y, %t, %i{starts} : ({all}, {one}{types}) -> {all}\n\
             stablehlo.return %x, %u, %t, %i : {all}, {all}, {one}, tensor<i32>\n}}\n\
             %r = stablehlo.negate %w#1 : {all}"
        );
        let parameters = format!("%a: {all}, %b: {all}, %c: {one}, %z: tensor<i32>");
        charged(&parameters, &body, &all)
    }

    #[test]
    fn slices_lie_in_tiles_of_their_own() {
        // As libtpu 0.0.51 says of recurrent layers on a v5e: both sides, of which the one that is
        // taken apart only where the core has room for it, in the order that needs less.
        let both = |steps: u64, slice: &str| scanned(steps, slice, None);
        assert_eq!(both(4000, "64x64"), 4000 * 64 * 128 * 4);
        assert_eq!(both(4000, "64x32"), 2 * 4000 * 32 * 128 * 4);
        assert_eq!(both(4000, "8x64"), 2 * 4000 * 8 * 128 * 4);
        assert_eq!(both(1024, "16x8x32"), 2 * 1024 * 16 * 8 * 128 * 4);
        assert_eq!(both(65_536, "96"), 2 * 65_536 * 128 * 4);
        assert_eq!(both(4000, "64x128"), 0);
        assert_eq!(both(4000, "128x64"), 0);
        // A parameter into which slices are put, as a cache.
        assert_eq!(scanned(2048, "16x64", Some("%b")), 3 * 2048 * 16 * 128 * 4);
    }

    /// What is left in HBM of stacks of so many MiB that are all there at once.
    fn left(stacks: &[usize]) -> Option<u64> {
        let slot = |&mib: &usize| {
            let shape = Shape::new(DType::F32, vec![mib, 64, 32, 128]);
            let (offset, first, last, bytes) = (0, 0, 0, shape.bytes());
            let (name, location) = ("while".into(), LocationId::UNKNOWN);
            ArenaSlot { offset, bytes, first, last, shape: Some(shape), name, location }
        };
        let mut plan = Plan::default();
        plan.slots.extend(stacks.iter().map(slot));
        let extents = plan.slots.iter().filter_map(Array::in_slot).map(|array| array.dims);
        let stacks = Stacks { extents: extents.collect() };
        let temporaries = image_padding::temporaries(&plan, |_| None);
        let all = temporaries.iter().map(|of| of.bytes).sum();
        stacks.left_in_hbm(all, &temporaries).map(|left| left >> 20)
    }

    #[test]
    fn the_core_has_some_of_the_stacks_of_large_programs() {
        assert_eq!(left(&[64, 64, 64, 32]), Some(128), "one of them, and the smallest");
        assert_eq!(left(&[128, 128, 128]), None, "none has room");
        assert_eq!(left(&[32; 12]), Some(10 * 32), "of many, half as much");
        assert_eq!(left(&[32; 4]), None, "little");
    }
}
