//! Products with converted booleans, which are choices: `multiply(convert(p), x)` is
//! `select(p, x, 0)`, so that infinities, NaN and signs under a false mask give 0, as XLA has it.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::Loader;
use crate::tuning::MAX_FOLDED_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_ops::{CONSTANT, Entry, SELECT, Simplification};
use tpu_stablehlo::ir::{Attributes, LocationId};

/// The conversions of booleans that were emitted.
#[derive(Debug, Default)]
pub(super) struct Masks {
    /// The number of the node in its block, and what it converts.
    of: FxHashMap<ValueId, (usize, ValueId)>,
    /// Values whose conversion XLA does not leave beside the product: constants, which it folds
    /// before, and broadcasts, which it moves behind the conversion.
    moving: FxHashSet<ValueId>,
}

/// Masks as the block knows them that they were converted in.
#[derive(Debug)]
pub(crate) struct ShownMasks(Vec<(ValueId, (usize, ValueId))>);

/// What a product becomes.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) op: ElementwiseOp,
    /// The boolean, the number, zero.
    pub(super) operands: [ValueId; 3],
    pub(super) shapes: [Shape; 3],
}

/// Whether a product of numbers of this type with a mask is a choice. XLA computes with the
/// shorter floats in `f32`, and the conversions that this takes stand between mask and product.
fn applies(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128)
}

/// Whether an operation turns booleans into numbers.
pub(super) fn is_mask(op: &ElementwiseOp) -> bool {
    op.kind == ElementwiseKind::Convert && op.operand == DType::Pred
}

/// The choice that a product with a mask is, in loops over these shapes; `None` where it stays a
/// product.
///
/// # Errors
/// Those of `select` for these types.
pub(super) fn choice(product: &ElementwiseOp, shape: &Shape) -> Result<Option<ElementwiseOp>> {
    if product.kind != ElementwiseKind::Multiply || !applies(product.result) {
        return Ok(None);
    }
    let of = shape.dtype;
    SELECT.on_scalars(&Attributes::default(), &[DType::Pred, of, of], of).map(Some)
}

impl Loader<'_> {
    /// Notes what the node that is about to be emitted is to later products.
    pub(super) fn note(
        &mut self,
        entry: &Entry,
        (work, operands): (&NodeKind, &[ValueId]),
        results: &[ValueId],
        into: &Subgraph,
    ) {
        let [result] = *results else { return };
        match (work, operands) {
            (NodeKind::Elementwise(op), [operand])
                if is_mask(op) && !self.masks.moving.contains(operand) =>
            {
                self.masks.of.insert(result, (into.nodes.len(), *operand));
            }
            (NodeKind::Access(_) | NodeKind::Splat(_) | NodeKind::Constant(_), _)
                if entry.simplification == Simplification::Moved =>
            {
                self.masks.moving.insert(result);
            }
            _ => {}
        }
    }

    /// The choice that a product is, if one of its operands is a mask that was converted in the
    /// same block and has kept its shape since.
    ///
    /// # Errors
    /// Those of `select` for these types.
    pub(super) fn choice(
        &mut self,
        product: &ElementwiseOp,
        (operands, shapes): (&[ValueId], &[Shape]),
        into: &mut Subgraph,
    ) -> Result<Option<Choice>> {
        let &[a, b] = operands else { return Ok(None) };
        let found = [(a, b), (b, a)].into_iter().zip(shapes).find_map(|((mask, other), shape)| {
            let pred = self.mask(mask, into)?;
            (self.graph.value(mask).shape == *shape).then_some((pred, other, shape))
        });
        let Some((pred, other, shape)) = found else { return Ok(None) };
        let Some(op) = choice(product, shape)? else { return Ok(None) };
        let zero = self.graph.add(shape.clone());
        let bytes: Arc<[u8]> = vec![0; shape.dtype.host_bytes()].into();
        if shape.bytes() <= MAX_FOLDED_BYTES {
            self.graph.values[zero.index()].known = Some(bytes.repeat(shape.elements()).into());
        }
        into.nodes.push(Node {
            work: NodeKind::Splat(bytes),
            operands: Vec::new(),
            shapes: Vec::new(),
            results: vec![zero],
            name: CONSTANT.mnemonic.into(),
            location: LocationId::UNKNOWN,
            effect: false,
        });
        let shapes = [shape.with(DType::Pred), shape.clone(), shape.clone()];
        Ok(Some(Choice { op, operands: [pred, other, zero], shapes }))
    }

    /// What a value of a block was converted from, if it is a mask.
    fn mask(&self, value: ValueId, block: &Subgraph) -> Option<ValueId> {
        let &(number, pred) = self.masks.of.get(&value)?;
        block.nodes.get(number).filter(|node| node.results == [value]).map(|_| pred)
    }

    /// Shows a block the masks among values of the block around it, whose code stands in it; gives
    /// how the block around it knows them.
    pub(crate) fn show_masks(
        &mut self,
        values: &[ValueId],
        (outer, inner): (&Subgraph, &mut Subgraph),
    ) -> ShownMasks {
        let mut shown = Vec::new();
        for &value in values {
            let Some(&known) = self.masks.of.get(&value) else { continue };
            let node = outer.nodes.get(known.0).filter(|node| node.results == [value]);
            let Some(node) = node else { continue };
            self.masks.of.insert(value, (inner.nodes.len(), known.1));
            inner.nodes.push(node.clone());
            shown.push((value, known));
        }
        ShownMasks(shown)
    }

    /// Leaves the block that masks were shown to.
    pub(crate) fn hide_masks(&mut self, shown: ShownMasks) {
        self.masks.of.extend(shown.0);
    }

    /// Values that no product sees through: masks are converted once more.
    pub(super) fn behind_barrier(
        &mut self,
        values: &[ValueId],
        into: &mut Subgraph,
    ) -> Vec<ValueId> {
        let hidden = |&value: &ValueId| {
            let Some(node) = self.masks.of.get(&value).and_then(|mask| into.nodes.get(mask.0))
            else {
                return value;
            };
            if node.results != [value] {
                return value;
            }
            let shape = self.graph.value(value).shape.clone();
            let known = self.graph.value(value).known.clone();
            let copy = self.graph.add(shape);
            self.graph.values[copy.index()].known = known;
            into.nodes.push(Node { results: vec![copy], ..node.clone() });
            copy
        };
        values.iter().map(hidden).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::Passes;
    use crate::import::load;
    use crate::sharding::groups::Devices;
    use ElementwiseKind::{Convert, Multiply, Select};
    use std::collections::BTreeMap;
    use tpu_base::error::Error;
    use tpu_ops::Numerics;
    use tpu_ops::custom_call::Registry;

    /// The kinds of the elementwise operations that a program of one mask `%m`, numbers `%x`
    /// and these lines becomes.
    fn kinds(of: &str, lines: &str) -> Vec<ElementwiseKind> {
        let text = format!(
            "func.func public @main(%m: tensor<3xi1>, %x: tensor<3x{of}>) -> tensor<3x{of}> {{
  %f = stablehlo.convert %m : (tensor<3xi1>) -> tensor<3x{of}>
  {}
  return %r : tensor<3x{of}>
}}",
            lines.replace('T', of)
        );
        let module = tpu_stablehlo::text::parse(&text).unwrap();
        let registry = Registry::default();
        let loaded = load(
            &module,
            Numerics::Ieee,
            &registry,
            |_, _, _| Err(Error::bad("no bodies")),
            (Devices::ONE, &BTreeMap::new()),
            Passes::ALL,
        )
        .unwrap();
        let kind = |work: &NodeKind| match work {
            NodeKind::Elementwise(op) => Some(op.kind),
            _ => None,
        };
        loaded.graph.main.nodes.iter().filter_map(|node| kind(&node.work)).collect()
    }

    #[test]
    fn a_product_with_a_mask_is_a_choice_in_the_types_that_xla_computes_in() {
        for of in ["f16", "f32", "f64", "complex<f32>", "complex<f64>"] {
            for operands in ["%f, %x", "%x, %f"] {
                let line = format!("%r = stablehlo.multiply {operands} : tensor<3xT>");
                assert_eq!(kinds(of, &line), [Convert, Select], "{of}");
            }
        }
        for of in ["bf16", "f8E5M2", "i32"] {
            let line = "%r = stablehlo.multiply %f, %x : tensor<3xT>";
            assert_eq!(kinds(of, line), [Convert, Multiply], "{of}");
        }
    }

    #[test]
    fn what_keeps_the_shape_keeps_the_mask_and_what_hides_it_does_not() {
        let views = "%g = stablehlo.reshape %f : (tensor<3xT>) -> tensor<1x3xT>
  %h = stablehlo.reshape %g : (tensor<1x3xT>) -> tensor<3xT>
  %r = stablehlo.multiply %h, %x : tensor<3xT>";
        assert_eq!(kinds("f32", views), [Convert, Select]);
        let barrier = "%g = stablehlo.optimization_barrier %f : tensor<3xT>
  %r = stablehlo.multiply %g, %x : tensor<3xT>";
        assert_eq!(kinds("f32", barrier), [Convert, Convert, Multiply]);
        let reshaped = "%g = stablehlo.reshape %f : (tensor<3xT>) -> tensor<1x3xT>
  %y = stablehlo.reshape %x : (tensor<3xT>) -> tensor<1x3xT>
  %p = stablehlo.multiply %g, %y : tensor<1x3xT>
  %r = stablehlo.reshape %p : (tensor<1x3xT>) -> tensor<3xT>";
        assert_eq!(kinds("f32", reshaped), [Convert, Multiply]);
    }
}
