//! Arrays that only move from a parameter to a result: turned, reshaped, repeated, cut.
//!
//! A reshape takes axes apart and puts them together in groups, such as `(64, 2)` and `128`. It is
//! free where the axes of each group are neighbours, the slowest first, and tiles stay as they are:
//! the fastest axis is the same on both sides, and so is the next one, or whole tiles of it are. So
//! an array is copied to an order in which that is so, its groups in any order, or tiles are changed
//! by a copy of their own; a transpose is free in any order. What the last copy writes is the result.
//! Of all ways the one that stores least is taken.
//!
//! What is stored at one time are two copies that follow one another. Those that fit lie in the core,
//! and the larger of what is there and what is in HBM counts.
//!
//! * An array that is repeated is read ahead, if the core has room for it.
//! * Pieces of one parameter are cut at once, in the order in which it lies.
//!
//! Source: what libtpu 0.0.51 makes of some hundred such programs for a v5e.
use super::body::{CallOperation, CallValue, WrittenOut};
use super::steps::{AxisMove, axes, compact, simplified, step, without_units};
use super::ways::{Path, Route, at_one_time};
use crate::executable::charge::MIN_BYTES;
use crate::executable::free_layouts::DimensionOrder;
use crate::executable::stored_array::Array;
use crate::hbm::layout::{Layout, TileRules};
use std::collections::{BTreeMap, BTreeSet};
use tpu_base::tensor::DType;
use tpu_base::units::Bytes;
use tpu_ops::Relayout;

/// Operations that are followed from a result to a parameter.
const DEPTH: usize = 16;

/// What is made of a parameter, or of a piece of it, up to a result.
#[derive(Debug)]
struct Chain<'m> {
    /// The number of the result; `None` for what something else than a move reads.
    result: Option<usize>,
    parameter: CallValue,
    piece: Option<CallOperation<'m>>,
    /// From the result on.
    operations: Vec<CallOperation<'m>>,
    route: Route,
}

/// What is stored for a group of results: at which operation, and the largest array with the bytes of
/// all that is there with it.
pub(super) type Moved<'m> = (CallOperation<'m>, Array, (Bytes, Layout));

/// What results that are only moved make a chip store, and the positions of the operations that this
/// says all of.
pub(super) fn moved<'m>(
    rules: TileRules,
    body: &WrittenOut<'m>,
    parameters: &[DimensionOrder],
    results: &[DimensionOrder],
) -> (Vec<Moved<'m>>, BTreeSet<usize>) {
    let (mut all, mut known) = (Vec::new(), BTreeSet::new());
    let mut pieces: BTreeMap<CallValue, Vec<(Chain<'m>, Path)>> = BTreeMap::new();
    for chain in chains(body) {
        let Some((cut, path)) = chain.path(rules, body, (parameters, results)) else { continue };
        // What reads it may ask for an order all the same.
        if chain.result.is_none() && path.copies.is_empty() {
            continue;
        }
        known.extend(chain.operations.iter().map(|of| of.at));
        if chain.piece.is_some() {
            let path = Path { copies: [cut.copies, path.copies].concat(), ..path };
            pieces.entry(chain.parameter).or_default().push((chain, path));
        } else if !chain.route.is_worked || !chain.route.only_turns() {
            all.extend(chain.operations.last().and_then(|of| path.charged(*of)));
        }
    }
    for (parameter, of_one) in pieces {
        all.extend(cut(rules, body, parameter, &of_one));
    }
    (all, known)
}

/// What is only moved up to a result, and up to what else reads it.
fn chains<'m>(body: &WrittenOut<'m>) -> Vec<Chain<'m>> {
    let results = body.operations.last().map(|last| body.operands(last)).into_iter().flatten();
    let mut chains: Vec<Chain<'m>> =
        results.enumerate().filter_map(|(at, of)| Chain::to_result(body, at, of)).collect();
    let positions = |chain: &Chain<'m>| chain.operations.iter().map(|of| of.at).collect::<Vec<_>>();
    let mut known: BTreeSet<usize> = chains.iter().flat_map(positions).collect();
    for of in body.operations.iter().rev().filter(|of| of.is_move()) {
        if let Some(chain) = Chain::read_otherwise(body, of).filter(|_| !known.contains(&of.at)) {
            known.extend(positions(&chain));
            chains.push(chain);
        }
    }
    chains
}

/// What is stored for pieces of a parameter.
fn cut<'m>(
    rules: TileRules,
    body: &WrittenOut<'m>,
    parameter: CallValue,
    pieces: &[(Chain<'m>, Path)],
) -> Option<Moved<'m>> {
    let (whole, _) = body.array(parameter)?.by_default(rules)?;
    if let [(chain, path)] = pieces {
        return path.charged(chain.piece?);
    }
    let (chain, path) = pieces.last()?;
    let of = chain.piece?;
    let first = path.copies.first()?.clone();
    // Where all pieces are wanted in another order, the parameter is laid so, and cut there.
    let whole_first = pieces.iter().all(|(_, path)| path.copies.len() > 1);
    let mut there: Vec<u64> = Vec::new();
    if pieces.iter().all(|(chain, _)| chain.route.only_turns()) {
        there.push(whole.0);
    } else {
        there.extend(whole_first.then_some(whole.0));
        there.extend(pieces.iter().filter_map(|(_, path)| Some(path.copies.first()?.bytes)));
    }
    Some((of, first.array, (Bytes(at_one_time(there)), first.layout)))
}

impl Path {
    /// The most at one time, as the largest array.
    fn charged<'m>(&self, of: CallOperation<'m>) -> Option<Moved<'m>> {
        let first = self.copies.first();
        let ahead =
            at_one_time(first.map(|one| one.bytes).into_iter().chain([self.ahead]).collect());
        let pairs = self.copies.windows(2).map(|two| at_one_time(vec![two[0].bytes, two[1].bytes]));
        let most = pairs.fold(ahead, u64::max);
        let largest = self.copies.iter().max_by_key(|one| one.bytes);
        let (array, layout) = match largest {
            Some(one) => (one.array.clone(), one.layout.clone()),
            None => (of.operand(0)?, Layout::default()),
        };
        Some((of, array, (Bytes(most), layout)))
    }
}

impl<'m> Chain<'m> {
    /// What makes a result, where that is worth a look.
    fn to_result(body: &WrittenOut<'m>, at: usize, value: CallValue) -> Option<Self> {
        (body.array(value)?.dense() >= MIN_BYTES).then(|| Self::of(body, Some(at), value))?
    }

    /// What makes a result of a parameter or of a piece of one, if that is only moved.
    fn of(body: &WrittenOut<'m>, result: Option<usize>, mut value: CallValue) -> Option<Self> {
        let (mut operations, mut steps, mut is_worked) = (Vec::new(), Vec::new(), false);
        let dtype = body.array(value)?.dtype;
        let mut piece = None;
        let parameter = loop {
            if body.is_given(value) {
                break value;
            }
            let maker = body.maker(value).filter(|_| operations.len() < DEPTH)?;
            if let Some(parameter) = piece_of_parameter(body, &maker) {
                piece = Some(maker);
                break parameter;
            }
            if maker.is_by_element() && axes(&maker, "broadcast_dimensions").is_none() {
                let (source, worked) = body.made_of_elements(&maker, !steps.is_empty())?;
                // What is compared is moved before it is.
                let bits = |of: DType| of.element().bits;
                if bits(dtype) <= 8 && bits(body.array(source)?.dtype) > 8 {
                    return None;
                }
                operations.extend(worked);
                (value, is_worked) = (source, true);
                continue;
            }
            let is_last = result.is_none() && operations.is_empty();
            let by_element = operations.last().is_some_and(CallOperation::is_by_element);
            if !is_last && !by_element && !body.is_read(value, 1) {
                return None;
            }
            steps.extend(step(&maker, &maker.operand(0)?, &maker.result()?)?);
            operations.push(maker);
            value = body.operands(&maker).next()?;
        };
        let first = piece.map_or_else(|| body.array(parameter), |of| of.result())?;
        steps.reverse();
        let steps = simplified(steps)?;
        let mut arrays = vec![Array { dtype, ..compact(&first) }];
        for step in &steps {
            let from = &arrays.last()?.dims;
            let dims = match step {
                AxisMove::Turned(axes) => axes.iter().map(|&axis| from[axis]).collect(),
                AxisMove::Reshaped([_, to], _) | AxisMove::Repeated(to, _) => to.clone(),
                AxisMove::Summed(_) => return None,
            };
            arrays.push(Array { dtype, dims });
        }
        let route = Route { is_worked, is_piece: piece.is_some(), steps, arrays };
        let found = Self { result, parameter, piece, operations, route };
        Some(found).filter(|found| !found.operations.is_empty())
    }

    /// What makes what an operation that moves elements gives to others than moves.
    fn read_otherwise(body: &WrittenOut<'m>, of: &CallOperation<'m>) -> Option<Self> {
        // Most reshapes are of what products and sums make.
        let maker = body.operands(of).next().and_then(|from| body.maker(from));
        let is_followed =
            |of: CallOperation<'m>| of.is_move() || of.is_by_element() || of.is(Relayout::Cut);
        if !maker.is_none_or(is_followed) || of.result()?.dense() < MIN_BYTES {
            return None;
        }
        let value = body.result(of)?;
        let mut chain = Self::of(body, None, value).filter(|chain| chain.piece.is_none())?;
        let reshapes = |step: &AxisMove| matches!(step, AxisMove::Reshaped(..));
        let repeats = |step: &AxisMove| matches!(step, AxisMove::Repeated(..));
        let last = chain.route.steps.iter().rposition(reshapes)?;
        if chain.route.steps[last..].iter().any(repeats) {
            return None;
        }
        let reader = body.reading(value).next()?;
        // XLA sums before it moves.
        let is_summed = |value| body.reading(value).all(|of| of.is(Relayout::Reduced));
        if is_summed(value) || body.result(reader).is_some_and(is_summed) {
            return None;
        }
        // A conversion runs first, as other operations on elements do.
        let alone = body.is_read(value, 1) && reader.operation.operands.len() == 1;
        if let Some(to) = reader.result().filter(|_| alone && reader.is_by_element()) {
            chain.route.convert(to.dtype);
        }
        Some(chain)
    }

    /// What is stored of a piece as it is cut, and behind that up to what reads the result.
    fn path(
        &self,
        rules: TileRules,
        body: &WrittenOut<'m>,
        (parameters, results): (&[DimensionOrder], &[DimensionOrder]),
    ) -> Option<(Path, Path)> {
        let from = parameters.get(body.parameter(self.parameter)?)?.as_ref()?;
        let source =
            self.piece.and_then(|of| of.result()).or_else(|| body.array(self.parameter))?;
        let from = without_units(&source.dims, from);
        let cut = match self.piece {
            Some(_) => Path::default().and((self.route.arrays.first()?, &from), rules)?,
            None => Path::default(),
        };
        let path = match self.result {
            Some(at) => {
                let result = body.array(body.operands(body.operations.last()?).nth(at)?)?;
                self.route.least(rules, from, Some((&result, results.get(at)?.as_ref()?)))?
            }
            None => self.route.least(rules, from, None)?,
        };
        Some((cut, path))
    }
}

/// The parameter that an operation cuts a piece of, all elements between its ends.
fn piece_of_parameter(body: &WrittenOut<'_>, of: &CallOperation<'_>) -> Option<CallValue> {
    if !of.is(Relayout::Cut) {
        return None;
    }
    let steps = of.operation.attributes.integers("strides")?;
    let parameter = body.operands(of).next()?;
    (steps.iter().all(|&step| step == 1) && body.is_given(parameter)).then_some(parameter)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{charged, charged_for};

    /// What these operations make a chip store, each written `name operands, attributes` with the
    /// extents of its result; the first one reads `%x` of those extents, the last one makes the result.
    fn stored(from: &str, operations: &[(&str, &str)]) -> u64 {
        let of = |extents: &str| format!("tensor<{extents}xf32>");
        let (mut text, mut last, mut at) = (String::new(), "%x".to_owned(), of(from));
        for (index, (operation, extents)) in operations.iter().enumerate() {
            let to = of(extents);
            let name =
                if index + 1 == operations.len() { "%r".to_owned() } else { format!("%v{index}") };
            let (name_of, attributes) = operation.split_once(' ').unwrap_or((operation, ""));
            let separated = if attributes.is_empty() { "" } else { ", " };
            let given = if name_of == "multiply" { format!("{last}, {last}") } else { last };
            let types = if name_of == "multiply" || name_of == "negate" {
                to.clone()
            } else {
                format!("({at}) -> {to}")
            };
            text +=
                &format!("{name} = stablehlo.{name_of} {given}{separated}{attributes} : {types}\n");
            (last, at) = (name, to);
        }
        charged(&format!("%x: {}", of(from)), &text, &at)
    }

    const TO_PIXELS: [(&str, &str); 3] = [
        ("reshape", "32x64x64x2x2x64"),
        ("transpose dims = [0, 1, 3, 2, 4, 5]", "32x64x2x64x2x64"),
        ("reshape", "32x128x128x64"),
    ];
    /// Features of 64 in 128 lanes.
    const PADDED: u64 = 32 * 64 * 64 * 256 * 4 * 2;

    // All numbers are those that libtpu 0.0.51 says for a v5e.
    #[test]
    fn a_reshape_is_free_in_some_orders_and_the_last_copy_is_the_result() {
        let heads =
            [("reshape", "16x1024x16x64"), ("transpose dims = [0, 2, 1, 3]", "16x16x1024x64")];
        assert_eq!(stored("16x1024x1024", &heads), 0);
        let joined =
            [("transpose dims = [0, 2, 1, 3]", "16x1024x16x64"), ("reshape", "16x1024x1024")];
        assert_eq!(stored("16x16x1024x64", &joined), 0);
        assert_eq!(stored("60000x28x28", &[("reshape", "60000x784")]), 0);
        assert_eq!(stored("32x64x64x256", &TO_PIXELS), 2 * PADDED);
        let windows = [
            ("reshape", "32x8x7x8x7x96"),
            ("transpose dims = [0, 1, 3, 2, 4, 5]", "32x8x8x7x7x96"),
            ("reshape", "2048x49x96"),
        ];
        // Both lie in the core.
        assert_eq!(stored("32x56x56x96", &windows), 2 * 32 * 56 * 56 * 128 * 4);
    }

    #[test]
    fn what_is_repeated_is_stored_and_read_ahead() {
        let repeat = |times: u64| {
            let (new, all) = (format!("4096x4096x{times}"), format!("4096x{}", 4096 * times));
            stored("4096x4096", &[("broadcast_in_dim dims = [0, 1]", &new), ("reshape", &all)])
        };
        let once = 4096 * 4096 * 4;
        assert_eq!(repeat(2), 2 * 2 * once);
        assert_eq!(repeat(3), (4 + 3) * once, "three rows in tiles of four");
        assert_eq!(repeat(8), 8 * once, "whole tiles stay as they are");
        assert_eq!(stored("4096x4096", &[("broadcast_in_dim dims = [1, 2]", "4x4096x4096")]), once);
    }

    #[test]
    fn elements_are_worked_on_first_and_moves_back_are_none() {
        let worked = |more: &[(&'static str, &'static str)]| {
            [&TO_PIXELS[..], &[("multiply", "32x128x128x64")], more].concat()
        };
        assert_eq!(stored("32x64x64x256", &worked(&[])), 2 * PADDED);
        let back = [
            ("reshape", "32x64x2x64x2x64"),
            ("transpose dims = [0, 1, 3, 2, 4, 5]", "32x64x64x2x2x64"),
            ("reshape", "32x64x64x256"),
        ];
        assert_eq!(stored("32x64x64x256", &worked(&back)), 0);
    }

    #[test]
    fn pieces_of_a_parameter_are_cut_at_once() {
        let (rows, piece) = ("tensor<16x1024x3072xf32>", "tensor<16x1024x1024xf32>");
        let (split, heads) = ("tensor<16x1024x16x64xf32>", "tensor<16x16x1024x64xf32>");
        let body: String = (0..3)
            .map(|at| {
                let (from, to) = (1024 * at, 1024 * at + 1024);
                format!(
                    "%p{at} = stablehlo.slice %x [0:16, 0:1024, {from}:{to}] : ({rows}) -> {piece}\n\
                     %s{at} = stablehlo.reshape %p{at} : ({piece}) -> {split}\n\
                     %r{at} = stablehlo.transpose %s{at}, dims = [0, 2, 1, 3] : ({split}) -> {heads}\n"
                )
            })
            .collect();
        let results = format!("{heads}, {heads}, {heads}");
        let stored = charged_for(&format!("%x: {rows}"), &body, ("%r0, %r1, %r2", &results[..]));
        // One of them lies in the core.
        assert_eq!(stored, 2 * 16 * 1024 * 1024 * 4);
    }

    #[test]
    fn what_others_read_is_stored_too() {
        let summed = |lines: &str| {
            let (rows, all) = ("tensor<32x64x64x32x4xf32>", "tensor<32x64x64x128xf32>");
            let body = format!(
                "%v = stablehlo.reshape %x : ({all}) -> {rows}\n\
                 %z = stablehlo.constant dense<0.0> : tensor<f32>\n\
                 %m = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [4] : \
                 ({rows}, tensor<f32>) -> tensor<32x64x64x32xf32>\n{lines}"
            );
            charged(&format!("%x: {all}"), &body, rows)
        };
        let centred = "%w = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2, 3] : \
                       (tensor<32x64x64x32xf32>) -> tensor<32x64x64x32x4xf32>\n\
                       %r = stablehlo.subtract %v, %w : tensor<32x64x64x32x4xf32>";
        assert_eq!(summed(centred), 32 * 64 * 128 * 128 * 4, "64 columns in 128 lanes");
    }
}
