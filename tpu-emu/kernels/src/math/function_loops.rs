//! Loops of functions of floats, by the functions' types.
use super::tuning::WIDEN_ELEMENTS;
use super::{Function2, RealFunction};
use crate::elementwise::loops::each;
use crate::elementwise::program::{Immediate, LoopFn};
use crate::simd::{self, Fused, FusedLoop, Loop};
use bytemuck::{cast_slice, cast_slice_mut};
use std::marker::PhantomData;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Float, for_dtype};

/// The loop of a function of floats.
pub fn unary<F: RealFunction>(dtype: DType) -> Option<LoopFn> {
    match dtype {
        DType::F32 => Some(single::<F>),
        DType::F64 => Some(double::<F>),
        narrow => for_dtype!(narrow, T: Narrow => {
            let run: LoopFn = through_single::<T, F>;
            run
        }),
    }
}

/// The loop of a function of two floats.
pub fn binary<F: Function2>(dtype: DType) -> Option<LoopFn> {
    match dtype {
        DType::F32 => Some(single2::<F>),
        DType::F64 => Some(double2::<F>),
        narrow => for_dtype!(narrow, T: Narrow => {
            let run: LoopFn = through_single2::<T, F>;
            run
        }),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
#[inline(always)]
pub(super) fn rounded(x: f64) -> f32 {
    x as f32
}

/// A loop over a slice or several, with a function's type.
pub(super) struct Over<S, F>(pub(super) S, pub(super) PhantomData<F>);

struct Of<F>(PhantomData<F>);
struct Far<F>(PhantomData<F>);

impl<F: RealFunction> FusedLoop for Over<(&[f32], &mut [f32]), Of<F>> {
    type Output = ();

    #[inline(always)]
    fn run<M: Fused>(self) {
        each(self.0.0, self.0.1, |x| F::single::<M>(x));
    }
}

/// One number.
struct OneNumber<F>(f32, PhantomData<F>);

impl<F: RealFunction> FusedLoop for OneNumber<F> {
    type Output = f32;

    #[inline(always)]
    fn run<M: Fused>(self) -> f32 {
        F::single::<M>(self.0)
    }
}

impl<F: RealFunction> Loop for Over<(&[f64], &mut [f64]), Of<F>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        each(self.0.0, self.0.1, |x| F::double(x));
    }
}

impl<F: Function2> Loop for Over<(&[f32], &[f32], &mut [f32]), Of<F>> {
    type Output = bool;

    /// Whether there was a pair that is far.
    #[inline(always)]
    fn run(self) -> bool {
        let (x, y, output) = self.0;
        let mut far = false;
        for ((result, &x), &y) in output.iter_mut().zip(x).zip(y) {
            let (x, y) = (x.into(), y.into());
            far |= F::is_far(x, y);
            *result = rounded(F::single(x, y));
        }
        far
    }
}

impl<F: Function2> Loop for Over<(&[f64], &[f64], &mut [f64]), Of<F>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (x, y, output) = self.0;
        for ((result, &x), &y) in output.iter_mut().zip(x).zip(y) {
            *result = F::double(x, y);
        }
    }
}

/// Whether there is a number that is the business of `far`.
impl<F: RealFunction, W: Copy + Into<f64>> Loop for Over<&[W], Far<F>> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.0.iter().fold(false, |any, &x| any | F::is_far(x.into()))
    }
}

pub(super) fn over<S, F>(slices: S) -> Over<S, F> {
    Over(slices, PhantomData)
}

/// A function of one number, for which a loop is too much to begin.
#[inline]
fn single_of<F: RealFunction>(x: f32) -> f32 {
    if F::is_far(x.into()) {
        rounded(F::far(x.into()))
    } else {
        simd::run_fused(OneNumber::<F>(x, PhantomData))
    }
}

pub(super) fn single<F: RealFunction>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let (x, output): (&[f32], &mut [f32]) = (cast_slice(inputs[0]), cast_slice_mut(output));
    if let (&[x], [result]) = (x, &mut *output) {
        *result = single_of::<F>(x);
        return;
    }
    simd::run_fused(over::<_, Of<F>>((x, &mut *output)));
    if F::HAS_FAR && simd::run(over::<_, Far<F>>(x)) {
        mend::<_, F>(x, output, |x| rounded(F::far(x)));
    }
}

fn double<F: RealFunction>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let (x, output): (&[f64], &mut [f64]) = (cast_slice(inputs[0]), cast_slice_mut(output));
    simd::run(over::<_, Of<F>>((x, &mut *output)));
    if F::HAS_FAR && simd::run(over::<_, Far<F>>(x)) {
        mend::<_, F>(x, output, F::far);
    }
}

/// Computes the results of numbers that are the business of `far`.
#[cold]
fn mend<W: Copy + Into<f64>, F: RealFunction>(x: &[W], output: &mut [W], far: impl Fn(f64) -> W) {
    for (result, &x) in output.iter_mut().zip(x) {
        let x: f64 = x.into();
        if F::is_far(x) {
            *result = far(x);
        }
    }
}

pub(super) fn single2<F: Function2>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let (x, y): (&[f32], &[f32]) = (cast_slice(inputs[0]), cast_slice(inputs[1]));
    let output: &mut [f32] = cast_slice_mut(output);
    if simd::run(over::<_, Of<F>>((x, y, &mut *output))) {
        for ((result, &x), &y) in output.iter_mut().zip(x).zip(y) {
            let (x, y) = (x.into(), y.into());
            if F::is_far(x, y) {
                *result = rounded(F::far(x, y));
            }
        }
    }
}

fn double2<F: Function2>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let (x, y): (&[f64], &[f64]) = (cast_slice(inputs[0]), cast_slice(inputs[1]));
    simd::run(over::<_, Of<F>>((x, y, cast_slice_mut(output))));
}

struct Widen;
struct Narrow;

impl<T: Float<Wide = f32>> Loop for Over<(&[T], &mut [f32]), Widen> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        each(self.0.0, self.0.1, |x| x.widen());
    }
}

impl<T: Float<Wide = f32>> Loop for Over<(&[f32], &mut [T]), Narrow> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        each(self.0.0, self.0.1, |x| T::narrow(x));
    }
}

#[inline(never)]
fn widen<T: Float<Wide = f32>>(x: &[T], output: &mut [f32]) {
    simd::run(over::<_, Widen>((x, output)));
}

#[inline(never)]
fn narrow<T: Float<Wide = f32>>(x: &[f32], output: &mut [T]) {
    simd::run(over::<_, Narrow>((x, output)));
}

fn through_single<T: Float<Wide = f32>, F: RealFunction>(
    immediate: Immediate,
    inputs: &[&[u8]],
    output: &mut [u8],
) {
    let (x, output): (&[T], &mut [T]) = (cast_slice(inputs[0]), cast_slice_mut(output));
    let (mut wide, mut result) = ([0.0; WIDEN_ELEMENTS], [0.0; WIDEN_ELEMENTS]);
    for (x, output) in x.chunks(WIDEN_ELEMENTS).zip(output.chunks_mut(WIDEN_ELEMENTS)) {
        widen(x, &mut wide);
        let bytes = cast_slice_mut(&mut result[..x.len()]);
        single::<F>(immediate, &[cast_slice(&wide[..x.len()])], bytes);
        narrow(&result, output);
    }
}

fn through_single2<T: Float<Wide = f32>, F: Function2>(
    immediate: Immediate,
    inputs: &[&[u8]],
    output: &mut [u8],
) {
    let (x, y): (&[T], &[T]) = (cast_slice(inputs[0]), cast_slice(inputs[1]));
    let output: &mut [T] = cast_slice_mut(output);
    let (mut wide, mut result) = ([[0.0; WIDEN_ELEMENTS]; 2], [0.0; WIDEN_ELEMENTS]);
    for ((x, y), output) in x
        .chunks(WIDEN_ELEMENTS)
        .zip(y.chunks(WIDEN_ELEMENTS))
        .zip(output.chunks_mut(WIDEN_ELEMENTS))
    {
        let [a, b] = &mut wide;
        widen(x, a);
        widen(y, b);
        let count = x.len();
        let inputs = [cast_slice(&a[..count]), cast_slice(&b[..count])];
        single2::<F>(immediate, &inputs, cast_slice_mut(&mut result[..count]));
        narrow(&result, output);
    }
}
