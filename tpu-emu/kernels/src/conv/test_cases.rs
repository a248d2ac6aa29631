//! Convolutions of tests, and what their definition says.
use super::geometry::{Geometry, Window};
use crate::matmul::accumulate::Rounding;
use crate::matmul::precision::{Arithmetic, ONE_PASS, SumType};

/// What a test's convolution is of: images, input and output features of a group, groups,
/// whether features come last in input and result, and the axes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub images: usize,
    pub features: usize,
    pub columns: usize,
    pub groups: usize,
    pub last: bool,
    /// Extents of input and kernel, step, padding before, dilations of input and kernel.
    pub axes: &'a [([usize; 2], usize, i64, [usize; 2])],
}

/// Strides of an array with axes in this order.
fn strides(extents: &[usize]) -> Vec<usize> {
    (1..=extents.len()).map(|axis| extents[axis..].iter().product()).collect()
}

pub(super) fn geometry(case: Case<'_>) -> Geometry {
    let Case { images, features, columns, groups, last, axes } = case;
    let [all, out] = [features * groups, columns * groups];
    let outputs: Vec<usize> = axes
        .iter()
        .map(|&([input, kernel], step, low, [base, dilation])| {
            let (low, over) = (usize::try_from(low.max(0)).unwrap(), low.min(0).unsigned_abs());
            let over = usize::try_from(over).unwrap();
            let padded = (input - 1) * base + 1 + 2 * low - over;
            (padded - ((kernel - 1) * dilation + 1)) / step + 1
        })
        .collect();
    // Images first; features last or before the spatial axes.
    let order = |features: usize, spatial: Vec<usize>| {
        if last {
            strides(&[&[images][..], &spatial, &[features]].concat())
        } else {
            let found = strides(&[&[images, features][..], &spatial].concat());
            [&found[..1], &found[2..], &[found[1]]].concat()
        }
    };
    let input = order(all, axes.iter().map(|axis| axis.0[0]).collect());
    let result = order(out, outputs.clone());
    let kernels: Vec<usize> = axes.iter().map(|axis| axis.0[1]).collect();
    let kernel = strides(&[&kernels[..], &[features, out]].concat());
    let count = axes.len();
    let windows = (0..count).map(|axis| {
        let ([extent, taps], step, low, [base_dilation, dilation]) = axes[axis];
        Window {
            input: (extent, input[axis + 1]),
            kernel: (taps, kernel[axis]),
            output: (outputs[axis], result[axis + 1]),
            step,
            low,
            base_dilation,
            dilation,
            reversed: axis == 1,
        }
    });
    let elements = [
        images * all * axes.iter().map(|axis| axis.0[0]).product::<usize>(),
        features * out * kernels.iter().product::<usize>(),
    ];
    Geometry {
        windows: windows.collect(),
        groups,
        group_strides: [features * input[count + 1], columns, columns * result[count + 1]],
        batch: (images, [input[0], result[0]]),
        input_features: (features, [input[count + 1], kernel[count]]),
        output_features: (columns, [1, result[count + 1]]),
        elements,
    }
}

/// Arithmetic without rounding.
pub(super) fn exact() -> Arithmetic {
    Arithmetic { kind: SumType::U32, rounding: Rounding::Exact, passes: ONE_PASS, sum: None }
}

/// Elements of an operand.
pub(super) fn numbers(count: usize) -> Vec<u32> {
    (0..count).map(|i| u32::try_from(i * 37 % 1009).unwrap()).collect()
}

/// The result, window by window from the definition.
pub(super) fn wanted(geometry: &Geometry, input: &[u32], kernel: &[u32], result: &mut [u32]) {
    let (features, [feature, other]) = geometry.input_features;
    let (columns, [column, to]) = geometry.output_features;
    let outputs: Vec<usize> = geometry.windows.iter().map(|axis| axis.output.0).collect();
    let kernels: Vec<usize> = geometry.windows.iter().map(|axis| axis.kernel.0).collect();
    let split = |mut index: usize, extents: &[usize]| -> Vec<usize> {
        let mut places: Vec<usize> =
            extents.iter().rev().map(|extent| (index % extent, index /= extent).0).collect();
        places.reverse();
        places
    };
    for group in 0..geometry.groups {
        let starts = geometry.group_strides.map(|stride| stride * group);
        for window in 0..geometry.batch.0 * outputs.iter().product::<usize>() {
            let many = outputs.iter().product::<usize>();
            let (image, places) = (window / many, split(window % many, &outputs));
            let each = geometry.windows.iter().zip(&places);
            let target: usize = each.map(|(axis, place)| axis.output.1 * place).sum();
            for j in 0..columns {
                let mut sum = 0_u32;
                for tap in 0..kernels.iter().product() {
                    let taps = split(tap, &kernels);
                    let mut from = Some(image * geometry.batch.1[0]);
                    let mut element = 0;
                    for ((axis, &place), &tap) in geometry.windows.iter().zip(&places).zip(&taps) {
                        let found = axis.locate(place, tap);
                        from = from.zip(found).map(|(from, at)| from + at * axis.input.1);
                        let at = if axis.reversed { axis.kernel.0 - 1 - tap } else { tap };
                        element += at * axis.kernel.1;
                    }
                    let Some(from) = from else { continue };
                    for f in 0..features {
                        let value = input[starts[0] + from + f * feature];
                        let factor = kernel[starts[1] + element + f * other + j * column];
                        sum = sum.wrapping_add(value.wrapping_mul(factor));
                    }
                }
                result[starts[2] + image * geometry.batch.1[1] + target + j * to] = sum;
            }
        }
    }
}
