//! `convolution`: sums of products of windows with a kernel.
use super::convolve::{ConvolutionAttributes, padding_attribute};
use super::{Entry, LayoutRule, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// `result[b, o…, f] = Σ_{k…, i} padded(lhs)[b, o·stride + k·dilation…, i]·rhs[k…, i, f]`.
///
/// Shapes: axes in any order, named by the attributes; padding may be negative, both operands may
/// be dilated, and features or batches may be split in groups.
/// Errors: `Constraint` C1-C23 for attributes that do not fit the shapes; `BadArgument` for a list
/// of precisions of another length than 2 (C24).
/// Source: StableHLO specification, "convolution", C1-C27.
pub(super) const OP: Entry = Entry {
    layout: LayoutRule::Default,
    relayout: Relayout::Convolved,
    sharding: ShardingRule::Windowed,
    factors: factors::convolved,
    ..Entry::new("convolution", infer, lower)
};

fn attributes(site: &Site<'_>) -> Result<ConvolutionAttributes> {
    let [lhs, rhs] = site.exactly::<2>()?;
    let padding = padding_attribute(site, lhs.rank().saturating_sub(2))?;
    ConvolutionAttributes::new(site, [lhs, rhs], &padding)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [lhs, rhs] = site.exactly::<2>()?;
    let dims = attributes(site)?.infer(site, [lhs, rhs])?;
    Ok(vec![Shape::new(site.declared(0)?.dtype, dims)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [lhs, rhs] = site.exactly::<2>()?;
    attributes(site)?.lower(site, [lhs, rhs])
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "extents and values of tests are small"
)]
mod tests {
    use super::*;
    use crate::Numerics;
    use crate::testing::{Case, TestValue};
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::{Attribute, Attributes, Element, Elements, TensorType};

    /// A convolution over up to two axes; numbers of axes are `[batch, feature, spatial…]`.
    #[derive(Debug, Clone)]
    struct ConvolutionCase {
        lhs: Vec<usize>,
        rhs: Vec<usize>,
        input: Vec<usize>,
        kernel: Vec<usize>,
        output: Vec<usize>,
        strides: Vec<usize>,
        padding: Vec<[i64; 2]>,
        base: Vec<usize>,
        dilation: Vec<usize>,
        reversed: Vec<bool>,
        feature_groups: usize,
        batch_groups: usize,
    }

    impl ConvolutionCase {
        fn plain(lhs: &[usize], rhs: &[usize]) -> Self {
            let axes = lhs.len() - 2;
            let order: Vec<usize> = (0..lhs.len()).collect();
            Self {
                lhs: lhs.into(),
                rhs: rhs.into(),
                input: order.clone(),
                kernel: order.clone(),
                output: order,
                strides: vec![1; axes],
                padding: vec![[0, 0]; axes],
                base: vec![1; axes],
                dilation: vec![1; axes],
                reversed: vec![false; axes],
                feature_groups: 1,
                batch_groups: 1,
            }
        }

        fn attributes(&self) -> Attributes {
            let list = |values: &[usize]| {
                Attribute::Integers(values.iter().map(|&value| value as i64).collect())
            };
            let number =
                |value: usize| Attribute::Integer(i128::try_from(value).unwrap(), Element::S64);
            let padding = self.padding.as_flattened();
            let axes = self.padding.len() as i64;
            let padding = Attribute::Elements(Elements {
                of: TensorType::new(Element::S64, vec![axes, 2]),
                data: padding.iter().flat_map(|value| value.to_le_bytes()).collect(),
                splat: false,
            });
            let names = [
                ("input_batch_dimension", number(self.input[0])),
                ("input_feature_dimension", number(self.input[1])),
                ("input_spatial_dimensions", list(&self.input[2..])),
                ("kernel_input_feature_dimension", number(self.kernel[0])),
                ("kernel_output_feature_dimension", number(self.kernel[1])),
                ("kernel_spatial_dimensions", list(&self.kernel[2..])),
                ("output_batch_dimension", number(self.output[0])),
                ("output_feature_dimension", number(self.output[1])),
                ("output_spatial_dimensions", list(&self.output[2..])),
                ("window_strides", list(&self.strides)),
                ("padding", padding),
                ("lhs_dilation", list(&self.base)),
                ("rhs_dilation", list(&self.dilation)),
                ("window_reversal", Attribute::Booleans(self.reversed.clone())),
                ("feature_group_count", number(self.feature_groups)),
                ("batch_group_count", number(self.batch_groups)),
            ];
            Attributes(names.map(|(name, value)| (name.into(), value)).into())
        }

        /// The result by the definition, its extents in order batch, feature, spatial.
        fn expected(&self, lhs: &[i32], rhs: &[i32]) -> (Vec<usize>, Vec<i32>) {
            let strides = |dims: &[usize]| Shape::new(DType::S32, dims).strides();
            let (left, right) = (strides(&self.lhs), strides(&self.rhs));
            let input: Vec<usize> = self.input.iter().map(|&axis| self.lhs[axis]).collect();
            let kernel: Vec<usize> = self.kernel.iter().map(|&axis| self.rhs[axis]).collect();
            let axes = self.strides.len();
            let windows: Vec<usize> = (0..axes)
                .map(|axis| {
                    let long = |count: usize, by: usize| (count as i64 - 1) * by as i64 + 1;
                    let padded = long(input[2 + axis], self.base[axis])
                        + self.padding[axis].iter().sum::<i64>();
                    let room = padded - long(kernel[2 + axis], self.dilation[axis]);
                    room.div_euclid(self.strides[axis] as i64) as usize + 1
                })
                .collect();
            let images = input[0] / self.batch_groups;
            let dims = [&[images, kernel[1]][..], &windows].concat();
            let mut order = vec![0; dims.len()];
            self.output.iter().zip(&dims).for_each(|(&axis, &size)| order[axis] = size);
            let to = strides(&order);
            let mut result = vec![0; dims.iter().product()];
            let per_group = kernel[1] / (self.feature_groups * self.batch_groups);
            for flat in 0..result.len() {
                let at = split(flat, &dims);
                let group = at[1] / per_group;
                let mut sum = 0;
                for inner in 0..kernel[0] * kernel[2..].iter().product::<usize>() {
                    let taps = split(inner, &[&kernel[..1], &kernel[2..]].concat());
                    let image = at[0] + if self.batch_groups > 1 { group * images } else { 0 };
                    let feature =
                        taps[0] + if self.feature_groups > 1 { group * kernel[0] } else { 0 };
                    let mut from = image * left[self.input[0]] + feature * left[self.input[1]];
                    let mut with = taps[0] * right[self.kernel[0]] + at[1] * right[self.kernel[1]];
                    let mut inside = true;
                    for axis in 0..axes {
                        let place = (at[2 + axis] * self.strides[axis]
                            + taps[1 + axis] * self.dilation[axis])
                            as i64
                            - self.padding[axis][0];
                        let base = self.base[axis] as i64;
                        inside &= place >= 0
                            && place % base == 0
                            && place / base < input[2 + axis] as i64;
                        from += (place.max(0) / base) as usize * left[self.input[2 + axis]];
                        let turned = match self.reversed[axis] {
                            true => kernel[2 + axis] - 1 - taps[1 + axis],
                            false => taps[1 + axis],
                        };
                        with += turned * right[self.kernel[2 + axis]];
                    }
                    if inside {
                        sum += lhs[from] * rhs[with];
                    }
                }
                let place: usize =
                    at.iter().zip(&self.output).map(|(&at, &axis)| at * to[axis]).sum();
                result[place] = sum;
            }
            (order, result)
        }

        fn check(&self) {
            let numbers = |dims: &[usize], seed: i32| -> Vec<i32> {
                let count = dims.iter().product::<usize>() as i32;
                (0..count).map(|i| (i * 37 % 101 * seed) % 15 - 7).collect()
            };
            let (lhs, rhs) = (numbers(&self.lhs, 3), numbers(&self.rhs, 5));
            let (dims, wanted) = self.expected(&lhs, &rhs);
            let types = [DType::S32, DType::F32, DType::Bf16, DType::F64];
            for dtype in types {
                let array = |dims: &[usize], values: &[i32]| {
                    let floats = values.iter().map(|&value| value as f32);
                    match dtype {
                        DType::S32 => TestValue::of(dtype, dims, values),
                        DType::F32 => TestValue::of(dtype, dims, &floats.collect::<Vec<_>>()),
                        DType::F64 => {
                            let values: Vec<f64> = floats.map(f64::from).collect();
                            TestValue::of(dtype, dims, &values)
                        }
                        _ => {
                            let values: Vec<half::bf16> =
                                floats.map(half::bf16::from_f32).collect();
                            TestValue::of(dtype, dims, &values)
                        }
                    }
                };
                let result = if dtype == DType::S32 { DType::S32 } else { DType::F32 };
                let result = if dtype == DType::F64 { DType::F64 } else { result };
                let declared = [Shape::new(result, &dims[..])];
                let operands = [array(&self.lhs, &lhs), array(&self.rhs, &rhs)];
                let outcome = Case::new(OP.mnemonic)
                    .attributes(&self.attributes().0)
                    .given(&operands)
                    .declares_all(&declared)
                    .numerics(Numerics::Tpu)
                    .results(&OP);
                let array = outcome.unwrap().remove(0);
                let got: Vec<i32> = match result {
                    DType::S32 => array.elements(),
                    DType::F32 => array.elements::<f32>().iter().map(|&v| v as i32).collect(),
                    _ => array.elements::<f64>().iter().map(|&v| v as i32).collect(),
                };
                assert_eq!(got, wanted, "{dtype:?} {self:?}");
            }
        }
    }

    fn split(mut flat: usize, dims: &[usize]) -> Vec<usize> {
        let mut index = vec![0; dims.len()];
        for axis in (0..dims.len()).rev() {
            index[axis] = flat % dims[axis];
            flat /= dims[axis];
        }
        index
    }

    #[test]
    fn every_layout_gives_the_definition() {
        // Numbers of axes are batch, feature, rows, columns.
        let orders: [[usize; 4]; 3] = [[0, 1, 2, 3], [0, 3, 1, 2], [3, 0, 2, 1]];
        for input in orders {
            for kernel in [[0, 1, 2, 3], [2, 3, 0, 1], [1, 0, 3, 2]] {
                for output in orders {
                    let put = |order: [usize; 4], dims: [usize; 4]| {
                        let mut placed = vec![0; 4];
                        order.iter().zip(dims).for_each(|(&axis, size)| placed[axis] = size);
                        placed
                    };
                    let case = ConvolutionCase {
                        input: input.into(),
                        kernel: kernel.into(),
                        output: output.into(),
                        padding: vec![[1, 0], [-1, 2]],
                        strides: vec![1, 2],
                        ..ConvolutionCase::plain(
                            &put(input, [2, 3, 4, 5]),
                            &put(kernel, [3, 2, 2, 3]),
                        )
                    };
                    case.check();
                }
            }
        }
    }

    #[test]
    fn windows_are_strided_dilated_padded_and_reversed() {
        let plain = || ConvolutionCase::plain(&[2, 2, 7, 6], &[2, 3, 3, 2]);
        for reversed in [[false, true], [true, true]] {
            for base in [[1, 1], [2, 3]] {
                for dilation in [[1, 1], [2, 1]] {
                    for padding in [[[0, 0], [2, 1]], [[-1, 3], [-2, -1]]] {
                        let case = ConvolutionCase {
                            reversed: reversed.into(),
                            base: base.into(),
                            dilation: dilation.into(),
                            padding: padding.into(),
                            strides: vec![2, 1],
                            ..plain()
                        };
                        case.check();
                    }
                }
            }
        }
    }

    #[test]
    fn features_and_batches_are_grouped() {
        ConvolutionCase {
            feature_groups: 2,
            ..ConvolutionCase::plain(&[2, 4, 5, 4], &[2, 6, 2, 2])
        }
        .check();
        ConvolutionCase {
            feature_groups: 4,
            ..ConvolutionCase::plain(&[2, 4, 5, 4], &[1, 8, 2, 2])
        }
        .check();
        ConvolutionCase { batch_groups: 2, ..ConvolutionCase::plain(&[4, 3, 5, 4], &[3, 6, 2, 2]) }
            .check();
        ConvolutionCase { batch_groups: 3, ..ConvolutionCase::plain(&[6, 2, 5], &[2, 3, 2]) }
            .check();
        ConvolutionCase::plain(&[3, 4], &[4, 5]).check();
    }

    #[test]
    fn tiles_join_without_a_seam() {
        ConvolutionCase::plain(&[1, 1, 600, 500], &[1, 1, 1, 2]).check();
    }

    #[test]
    fn groups_that_do_not_divide_are_refused() {
        let case =
            ConvolutionCase { feature_groups: 3, ..ConvolutionCase::plain(&[2, 4, 5], &[2, 6, 2]) };
        let array =
            |dims: &[usize]| TestValue::of(DType::F32, dims, &vec![0_f32; dims.iter().product()]);
        let operands = [array(&case.lhs), array(&case.rhs)];
        let declared = [Shape::new(DType::F32, [0])];
        let error = Case::new(OP.mnemonic)
            .attributes(&case.attributes().0)
            .given(&operands)
            .declares_all(&declared)
            .numerics(Numerics::Tpu)
            .results(&OP)
            .unwrap_err();
        assert!(error.to_string().contains("4 input features in 3 groups"), "{error}");
    }
}
