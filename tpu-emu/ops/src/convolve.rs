//! The shape rule and the kernel behind the convolutions.
use super::precision::{Unit, arithmetic};
use super::{Absorbed, Cost, Cx, Kernel, Lowered, Site};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::conv::geometry::{Geometry, Window};
use tpu_kernels::conv::im2col::Convolution;
use tpu_stablehlo::ir::Attribute;

/// Numbers of the batch axis, of the feature axis, and of the spatial axes.
#[derive(Debug)]
struct ConvolutionAxes {
    batch: usize,
    feature: usize,
    spatial: Vec<usize>,
}

/// A convolution's attributes, checked.
#[derive(Debug)]
pub(super) struct ConvolutionAttributes {
    input: ConvolutionAxes,
    /// `batch` is the axis of input features, `feature` that of output features.
    kernel: ConvolutionAxes,
    output: ConvolutionAxes,
    strides: Vec<usize>,
    padding: Vec<[i64; 2]>,
    base_dilation: Vec<usize>,
    dilation: Vec<usize>,
    reversed: Vec<bool>,
    feature_groups: usize,
    batch_groups: usize,
}

/// One positive number an axis, 1 each where the attribute is absent.
fn steps(site: &Site<'_>, name: &str, axes: usize, rules: [&'static str; 2]) -> Result<Vec<usize>> {
    if site.attributes.get(name).is_none() {
        return Ok(vec![1; axes]);
    }
    let steps = site.indices(name)?;
    if steps.len() != axes {
        let what = format!("{name} has {} elements for {axes} axes", steps.len());
        return Err(site.violates(rules[0], what));
    }
    if steps.contains(&0) {
        return Err(site.violates(rules[1], format!("{name} has a 0")));
    }
    Ok(steps)
}

/// Axis numbers that name every axis once.
fn layout(
    site: &Site<'_>,
    [batch, feature, spatial]: [&str; 3],
    rank: usize,
    rules: [&'static str; 2],
) -> Result<ConvolutionAxes> {
    let layout = ConvolutionAxes {
        batch: site.index(batch)?,
        feature: site.index(feature)?,
        spatial: site.optional_indices(spatial)?,
    };
    if layout.spatial.len() + 2 != rank {
        let what = format!("{spatial} has {} axes for rank {rank}", layout.spatial.len());
        return Err(site.violates(rules[0], what));
    }
    let mut axes = [&layout.spatial[..], &[layout.batch, layout.feature]].concat();
    axes.sort_unstable();
    if axes.iter().enumerate().any(|(index, &axis)| index != axis) {
        let what =
            format!("{batch}, {feature} and {spatial} name the axes {axes:?}, not each once");
        return Err(site.violates(rules[1], what));
    }
    Ok(layout)
}

/// Padding before and after each axis.
pub(super) fn padding_attribute(site: &Site<'_>, axes: usize) -> Result<Vec<i64>> {
    if site.attributes.get("padding").is_some() {
        site.integers("padding")
    } else {
        Ok(vec![0; 2 * axes])
    }
}

impl ConvolutionAttributes {
    /// Reads the attributes; `padding` is flat, two numbers an axis.
    pub(super) fn new(site: &Site<'_>, [lhs, rhs]: [&Shape; 2], padding: &[i64]) -> Result<Self> {
        let rank = lhs.rank();
        if rhs.rank() != rank || rank < 2 {
            return Err(site.violates("C1", format!("{lhs} by {rhs}")));
        }
        let axes = rank - 2;
        if padding.len() != 2 * axes {
            let what = format!("padding has {} numbers for {axes} axes", padding.len());
            return Err(site.violates("C4", what));
        }
        let reversed = match site.attributes.get("window_reversal") {
            None => vec![false; axes],
            Some(Attribute::Booleans(reversed)) if reversed.len() == axes => reversed.clone(),
            Some(other) => {
                return Err(site.violates("C9", format!("window_reversal is {other:?}")));
            }
        };
        let groups = |name: &str, rule| {
            let count = if site.attributes.get(name).is_some() { site.index(name)? } else { 1 };
            if count == 0 { Err(site.violates(rule, format!("{name} is 0"))) } else { Ok(count) }
        };
        let names = |batch, feature, spatial| [batch, feature, spatial];
        Ok(Self {
            input: layout(
                site,
                names(
                    "input_batch_dimension",
                    "input_feature_dimension",
                    "input_spatial_dimensions",
                ),
                rank,
                ["C12", "C13"],
            )?,
            kernel: layout(
                site,
                names(
                    "kernel_input_feature_dimension",
                    "kernel_output_feature_dimension",
                    "kernel_spatial_dimensions",
                ),
                rank,
                ["C17", "C18"],
            )?,
            output: layout(
                site,
                names(
                    "output_batch_dimension",
                    "output_feature_dimension",
                    "output_spatial_dimensions",
                ),
                rank,
                ["C19", "C20"],
            )?,
            strides: steps(site, "window_strides", axes, ["C2", "C3"])?,
            padding: padding.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
            base_dilation: steps(site, "lhs_dilation", axes, ["C5", "C6"])?,
            dilation: steps(site, "rhs_dilation", axes, ["C7", "C8"])?,
            reversed,
            feature_groups: groups("feature_group_count", "C21")?,
            batch_groups: groups("batch_group_count", "C22")?,
        })
    }

    /// Extents of the result.
    pub(super) fn infer(&self, site: &Site<'_>, [lhs, rhs]: [&Shape; 2]) -> Result<Vec<usize>> {
        let batch = lhs.dims[self.input.batch];
        let features = lhs.dims[self.input.feature];
        let [kernel_in, kernel_out] = [rhs.dims[self.kernel.batch], rhs.dims[self.kernel.feature]];
        let (by_feature, by_batch) = (self.feature_groups, self.batch_groups);
        let divides = |count: usize, groups: usize, rule, what: &str| {
            if count.is_multiple_of(groups) {
                return Ok(());
            }
            Err(site.violates(rule, format!("{count} {what} in {groups} groups")))
        };
        divides(batch, by_batch, "C10", "images")?;
        divides(features, by_feature, "C11", "input features")?;
        if features / by_feature != kernel_in {
            let what = format!(
                "{kernel_in} features in {rhs}, {features} in {by_feature} groups in {lhs}"
            );
            return Err(site.violates("C14", what));
        }
        divides(kernel_out, by_batch, "C15", "output features")?;
        divides(kernel_out, by_feature, "C16", "output features")?;
        if by_feature > 1 && by_batch > 1 {
            let what = format!("{by_feature} feature groups and {by_batch} batch groups");
            return Err(site.violates("C23", what));
        }
        let mut dims = vec![0; lhs.rank()];
        dims[self.output.batch] = batch / by_batch;
        dims[self.output.feature] = kernel_out;
        for (axis, &output) in self.output.spatial.iter().enumerate() {
            let input = lhs.dims[self.input.spatial[axis]];
            let kernel = rhs.dims[self.kernel.spatial[axis]];
            let huge = || Error::bad(format!("{}: axis {axis} is too long", site.name));
            dims[output] = self.windows(axis, input, kernel).ok_or_else(huge)?;
        }
        Ok(dims)
    }

    /// Windows along a spatial axis; `None` past 64 bits.
    fn windows(&self, axis: usize, input: usize, kernel: usize) -> Option<usize> {
        let dilated = |count: usize, by: usize| -> Option<i64> {
            let Some(gaps) = count.checked_sub(1) else { return Some(0) };
            i64::try_from(gaps.checked_mul(by)?.checked_add(1)?).ok()
        };
        let [low, high] = self.padding[axis];
        let base = dilated(input, self.base_dilation[axis])?;
        let padded = base.checked_add(low)?.checked_add(high)?;
        let room = padded.checked_sub(dilated(kernel, self.dilation[axis])?)?;
        // Positions under a window are computed from these without checks.
        i64::try_from(self.strides[axis]).ok()?.checked_add(padded)?;
        padded.checked_sub(low)?;
        if padded <= 0 || room < 0 {
            return Some(0);
        }
        Some(usize::try_from(room).ok()? / self.strides[axis] + 1)
    }

    /// Compiles the convolution.
    pub(super) fn lower(&self, site: &Site<'_>, operands: [&Shape; 2]) -> Result<Lowered> {
        let [lhs, rhs] = operands;
        let result = Shape::new(site.declared(0)?.dtype, self.infer(site, operands)?);
        let types = [lhs.dtype, rhs.dtype];
        let arithmetic = arithmetic(site, site.attributes, types, result.dtype, Unit::Matrix)?;
        let strides = [lhs, rhs, &result].map(Shape::strides);
        let axis = |of: usize, shape: &Shape, axis: usize| (shape.dims[axis], strides[of][axis]);
        let window = |index: usize| Window {
            input: axis(0, lhs, self.input.spatial[index]),
            kernel: axis(1, rhs, self.kernel.spatial[index]),
            output: axis(2, &result, self.output.spatial[index]),
            step: self.strides[index],
            low: self.padding[index][0],
            base_dilation: self.base_dilation[index],
            dilation: self.dilation[index],
            reversed: self.reversed[index],
        };
        let groups = self.feature_groups * self.batch_groups;
        let (images, image) = axis(2, &result, self.output.batch);
        let (features, feature) = axis(1, rhs, self.kernel.batch);
        let (columns, column) = axis(1, rhs, self.kernel.feature);
        let columns = columns / groups;
        let [input_image, input_feature] =
            [strides[0][self.input.batch], strides[0][self.input.feature]];
        let output_feature = strides[2][self.output.feature];
        let group =
            if self.batch_groups > 1 { images * input_image } else { features * input_feature };
        let geometry = Geometry {
            windows: (0..self.strides.len()).map(window).collect(),
            groups,
            group_strides: [group, columns * column, columns * output_feature],
            batch: (images, [input_image, image]),
            input_features: (features, [input_feature, feature]),
            output_features: (columns, [column, output_feature]),
            elements: [lhs.elements(), rhs.elements()],
        };
        let plan = Convolution::new(arithmetic, geometry, [lhs.dtype, rhs.dtype, result.dtype]);
        Ok(Lowered::Kernel(Box::new(Convolve { plan })))
    }
}

#[derive(Debug)]
struct Convolve {
    plan: Convolution,
}

impl Kernel for Convolve {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[lhs, rhs, ..], [result]) = (operands, results) else {
            return Err(Error::bad("a convolution takes two arrays and gives one"));
        };
        self.plan.run(cx.scratch, [lhs, rhs], result)
    }

    fn scratch(&self) -> usize {
        self.plan.scratch()
    }

    fn absorbing(&self, work: &Absorbed<'_>) -> Option<Arc<dyn Kernel>> {
        match *work {
            Absorbed::Converted(operand, DType::Bf16) => {
                Some(Arc::new(Self { plan: self.plan.of_rounded(operand)? }))
            }
            _ => None,
        }
    }

    fn rounds(&self, operand: usize) -> bool {
        self.plan.rounds(operand)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.plan.flops(), transcendentals: 0.0 }
    }
}
