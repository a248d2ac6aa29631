//! What the batch normalisations share: their constraints and their kernel.
use super::{Cost, Cx, Kernel, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::reduce::batch_norm::Features;
use tpu_stablehlo::ir::Attribute;

/// A loop of `kernels::batch_norm` for one type.
pub(super) type Normalize = fn(Features, f64, &[&[u8]], &mut [f64], &mut [&mut [u8]]);

/// Checks the axis, that the operands have one type, and that those at `per_feature` have an
/// element a feature; gives the shape of those.
///
/// # Errors
/// `Constraint` C1, C2, and `size` for a wrong number of elements.
pub(super) fn check(site: &Site<'_>, per_feature: &[usize], size: &'static str) -> Result<Shape> {
    let operand = &site.operands[0];
    let axis = site.index("feature_index")?;
    let Some(&count) = operand.dims.get(axis) else {
        return Err(site.violates("C1", format!("axis {axis} of {operand}")));
    };
    if let Some(other) = site.operands.iter().find(|other| other.dtype != operand.dtype) {
        return Err(site.violates("C2", format!("{other} with {operand}")));
    }
    let feature = Shape::new(operand.dtype, [count]);
    if let Some(&at) = per_feature.iter().find(|&&at| site.operands[at] != feature) {
        let what = format!("operand {at} is {} and not {feature}", site.operands[at]);
        return Err(site.violates(size, what));
    }
    Ok(feature)
}

/// The operation, its shapes checked; `normalize` is none for what is no float.
///
/// # Errors
/// `BadArgument` for an epsilon that is no float, `Unimplemented` without a loop.
pub(super) fn lower(site: &Site<'_>, normalize: Option<Normalize>) -> Result<Lowered> {
    let operand = &site.operands[0];
    let Attribute::Float(epsilon, _) = *site.attribute("epsilon")? else {
        return Err(tpu_base::error::Error::bad(format!("{}: epsilon is no float", site.name)));
    };
    let normalize = normalize.ok_or_else(|| site.unimplemented(format!("{operand}")))?;
    let features = Features::of(&operand.dims, site.index("feature_index")?);
    let elements = operand.elements();
    Ok(Lowered::Kernel(Box::new(BatchNorm { features, epsilon, normalize, elements })))
}

#[derive(Debug)]
struct BatchNorm {
    features: Features,
    epsilon: f64,
    normalize: Normalize,
    elements: usize,
}

impl Kernel for BatchNorm {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let scratch = bytemuck::cast_slice_mut(&mut cx.scratch[..self.scratch()]);
        (self.normalize)(self.features, self.epsilon, operands, scratch, results);
        Ok(())
    }

    fn scratch(&self) -> usize {
        2 * self.features.count * size_of::<f64>()
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost(&self) -> Cost {
        Cost { flops: 4.0 * self.elements as f64, transcendentals: self.features.count as f64 }
    }
}
