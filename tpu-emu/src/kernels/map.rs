//! Loops over elements at the same index.
use crate::tensor::element::Element;

/// `output[i] = f(inputs[0][i])`. Slices are aligned for their types.
#[inline]
pub fn unary<A: Element, R: Element>(inputs: &[&[u8]], output: &mut [u8], f: impl Fn(A) -> R) {
    let a: &[A] = bytemuck::cast_slice(inputs[0]);
    let output: &mut [R] = bytemuck::cast_slice_mut(output);
    for (result, &a) in output.iter_mut().zip(a) {
        *result = f(a);
    }
}

/// `output[i] = f(inputs[0][i], inputs[1][i])`. Slices are aligned for their types.
#[inline]
pub fn binary<A: Element, B: Element, R: Element>(
    inputs: &[&[u8]],
    output: &mut [u8],
    f: impl Fn(A, B) -> R,
) {
    let a: &[A] = bytemuck::cast_slice(inputs[0]);
    let b: &[B] = bytemuck::cast_slice(inputs[1]);
    let output: &mut [R] = bytemuck::cast_slice_mut(output);
    for ((result, &a), &b) in output.iter_mut().zip(a).zip(b) {
        *result = f(a, b);
    }
}

/// `output[i] = f(inputs[0][i], inputs[1][i], inputs[2][i])`. Slices are aligned for their types.
#[inline]
pub fn ternary<A: Element, B: Element, C: Element, R: Element>(
    inputs: &[&[u8]],
    output: &mut [u8],
    f: impl Fn(A, B, C) -> R,
) {
    let a: &[A] = bytemuck::cast_slice(inputs[0]);
    let b: &[B] = bytemuck::cast_slice(inputs[1]);
    let c: &[C] = bytemuck::cast_slice(inputs[2]);
    let output: &mut [R] = bytemuck::cast_slice_mut(output);
    for (((result, &a), &b), &c) in output.iter_mut().zip(a).zip(b).zip(c) {
        *result = f(a, b, c);
    }
}

/// The `LaneFn` that maps a closure without captures: `lane!(|a: f32, b: f32| a + b)`.
macro_rules! lane {
    (|$a:ident: $A:ty| $body:expr) => {{
        let run: $crate::kernels::lanes::LaneFn = |_, inputs, output| {
            $crate::kernels::map::unary(inputs, output, |$a: $A| $body);
        };
        run
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {{
        let run: $crate::kernels::lanes::LaneFn = |_, inputs, output| {
            $crate::kernels::map::binary(inputs, output, |$a: $A, $b: $B| $body);
        };
        run
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $body:expr) => {{
        let run: $crate::kernels::lanes::LaneFn = |_, inputs, output| {
            $crate::kernels::map::ternary(inputs, output, |$a: $A, $b: $B, $c: $C| $body);
        };
        run
    }};
}

pub(crate) use lane;
