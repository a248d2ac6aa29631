//! Batch normalisation: sums and products in `f64`, each result rounded once.
use tpu_base::tensor::element::Float;

/// An array as runs of elements of one feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Elements of the axes before the feature axis.
    pub outer: usize,
    /// Features.
    pub count: usize,
    /// Elements of the axes after it.
    pub inner: usize,
}

impl Features {
    /// Axis `axis` of these extents.
    pub fn of(dims: &[usize], axis: usize) -> Self {
        let outer = dims[..axis].iter().product();
        let inner = dims[axis + 1..].iter().product();
        Self { outer, count: dims[axis], inner }
    }

    /// Elements of one feature.
    #[expect(clippy::cast_precision_loss, reason = "a divisor")]
    pub fn each(&self) -> f64 {
        (self.outer * self.inner) as f64
    }

    /// Every run: its feature, and where it begins.
    fn runs(self) -> impl Iterator<Item = (usize, usize)> {
        let Self { outer, count, inner } = self;
        (0..outer).flat_map(move |line| {
            (0..count).map(move |feature| (feature, (line * count + feature) * inner))
        })
    }

    /// Adds `value` of each element's index to its feature's sum.
    fn sum(self, sums: &mut [f64], value: impl Fn(usize, usize) -> f64) {
        sums.fill(0.0);
        for (feature, start) in self.runs() {
            let run = (start..start + self.inner).map(|at| value(feature, at));
            sums[feature] += run.sum::<f64>();
        }
    }
}

fn of<T: Float>(bytes: &[u8]) -> &[T] {
    bytemuck::cast_slice(bytes)
}

fn rounded<T: Float>(values: impl Iterator<Item = f64>, to: &mut [u8]) {
    for (to, value) in bytemuck::cast_slice_mut::<u8, T>(to).iter_mut().zip(values) {
        *to = T::from_f64(value);
    }
}

/// `(operand - mean) / sqrt(variance + epsilon) · scale + offset`.
pub fn inference<T: Float>(
    features: Features,
    epsilon: f64,
    operands: &[&[u8]],
    scratch: &mut [f64],
    results: &mut [&mut [u8]],
) {
    let (mean, variance) = scratch.split_at_mut(features.count);
    for (to, from) in [(&mut *mean, operands[3]), (&mut *variance, operands[4])] {
        to.iter_mut().zip(of::<T>(from)).for_each(|(to, from)| *to = from.to_f64());
    }
    normalize::<T>(features, epsilon, operands, mean, variance, results[0]);
}

fn normalize<T: Float>(
    features: Features,
    epsilon: f64,
    operands: &[&[u8]],
    mean: &[f64],
    variance: &[f64],
    result: &mut [u8],
) {
    let [operand, scale, offset] = [0, 1, 2].map(|at| of::<T>(operands[at]));
    let result: &mut [T] = bytemuck::cast_slice_mut(result);
    for (feature, start) in features.runs() {
        let deviation = (variance[feature] + epsilon).sqrt();
        let (mean, scale, offset) =
            (mean[feature], scale[feature].to_f64(), offset[feature].to_f64());
        let run = start..start + features.inner;
        for (to, from) in result[run.clone()].iter_mut().zip(&operand[run]) {
            *to = T::from_f64((from.to_f64() - mean) / deviation * scale + offset);
        }
    }
}

/// Normalisation by the mean and the variance of each feature, which are results, too.
pub fn training<T: Float>(
    features: Features,
    epsilon: f64,
    operands: &[&[u8]],
    scratch: &mut [f64],
    results: &mut [&mut [u8]],
) {
    let (mean, variance) = scratch.split_at_mut(features.count);
    let operand = of::<T>(operands[0]);
    let each = features.each();
    features.sum(mean, |_, at| operand[at].to_f64());
    mean.iter_mut().for_each(|sum| *sum /= each);
    features.sum(variance, |feature, at| (operand[at].to_f64() - mean[feature]).powi(2));
    variance.iter_mut().for_each(|sum| *sum /= each);
    normalize::<T>(features, epsilon, operands, mean, variance, results[0]);
    rounded::<T>(mean.iter().copied(), results[1]);
    rounded::<T>(variance.iter().copied(), results[2]);
}

/// The gradients of `training` in its operand, scale and offset.
pub fn gradient<T: Float>(
    features: Features,
    epsilon: f64,
    operands: &[&[u8]],
    scratch: &mut [f64],
    results: &mut [&mut [u8]],
) {
    let (sums, products) = scratch.split_at_mut(features.count);
    let [operand, scale, mean, variance, gradient] =
        [0, 1, 2, 3, 4].map(|at| of::<T>(operands[at]));
    let each = features.each();
    let centred = |feature: usize, at: usize| operand[at].to_f64() - mean[feature].to_f64();
    let spread = |feature: usize| variance[feature].to_f64() + epsilon;
    features.sum(sums, |_, at| gradient[at].to_f64());
    features.sum(products, |feature, at| gradient[at].to_f64() * centred(feature, at));
    let result: &mut [T] = bytemuck::cast_slice_mut(results[0]);
    for (feature, start) in features.runs() {
        let factor = scale[feature].to_f64() / spread(feature).sqrt() / each;
        let slope = products[feature] / spread(feature);
        for at in start..start + features.inner {
            let own = gradient[at].to_f64() * each - sums[feature];
            result[at] = T::from_f64(factor * (own - slope * centred(feature, at)));
        }
    }
    let slopes = products.iter().enumerate();
    rounded::<T>(slopes.map(|(feature, sum)| sum / spread(feature).sqrt()), results[1]);
    rounded::<T>(sums.iter().copied(), results[2]);
}
