//! Loops over elements at the same index, for every vector width.
use super::program::Immediate;
use crate::simd;
use crate::simd::Loop;
use std::marker::PhantomData;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::Element;

/// A function of one element. `at` is `#[inline(always)]`.
pub trait Unary {
    /// What it takes.
    type A: Element;
    /// What it gives.
    type R: Element;
    /// The function.
    fn at(a: Self::A) -> Self::R;
}

/// A function of two elements, likewise.
pub trait Binary {
    /// What it takes first.
    type A: Element;
    /// What it takes second.
    type B: Element;
    /// What it gives.
    type R: Element;
    /// The function.
    fn at(a: Self::A, b: Self::B) -> Self::R;
}

/// A function of three elements, likewise.
pub trait Ternary {
    /// What it takes first.
    type A: Element;
    /// What it takes second.
    type B: Element;
    /// What it takes third.
    type C: Element;
    /// What it gives.
    type R: Element;
    /// The function.
    fn at(a: Self::A, b: Self::B, c: Self::C) -> Self::R;
}

/// `output[i] = f(a[i])`.
#[inline(always)]
pub fn each<A: Copy, R>(a: &[A], output: &mut [R], f: impl Fn(A) -> R) {
    for (result, &a) in output.iter_mut().zip(a) {
        *result = f(a);
    }
}

/// `output[i] = f(a[i], b[i])`.
#[inline(always)]
fn each_two<A: Copy, B: Copy, R>(a: &[A], b: &[B], output: &mut [R], f: impl Fn(A, B) -> R) {
    for ((result, &a), &b) in output.iter_mut().zip(a).zip(b) {
        *result = f(a, b);
    }
}

/// `output[i] = f(a[i], b[i], c[i])`.
#[inline(always)]
fn each_three<A: Copy, B: Copy, C: Copy, R>(
    a: &[A],
    b: &[B],
    c: &[C],
    output: &mut [R],
    f: impl Fn(A, B, C) -> R,
) {
    for (((result, &a), &b), &c) in output.iter_mut().zip(a).zip(b).zip(c) {
        *result = f(a, b, c);
    }
}

/// The loop of a function over bytes that are aligned for its types.
struct Over<'a, 'b, F> {
    inputs: &'a [&'a [u8]],
    output: &'b mut [u8],
    function: PhantomData<F>,
}

struct One<F>(PhantomData<F>);
struct Two<F>(PhantomData<F>);
struct Three<F>(PhantomData<F>);

impl<F: Unary> Loop for Over<'_, '_, One<F>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let a = bytemuck::cast_slice(self.inputs[0]);
        each(a, bytemuck::cast_slice_mut(self.output), |a| F::at(a));
    }
}

impl<F: Binary> Loop for Over<'_, '_, Two<F>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, b] = [self.inputs[0], self.inputs[1]];
        let (a, b) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
        each_two(a, b, bytemuck::cast_slice_mut(self.output), |a, b| F::at(a, b));
    }
}

impl<F: Ternary> Loop for Over<'_, '_, Three<F>> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let [a, b, c] = [self.inputs[0], self.inputs[1], self.inputs[2]];
        let (a, b, c) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b), bytemuck::cast_slice(c));
        each_three(a, b, c, bytemuck::cast_slice_mut(self.output), |a, b, c| F::at(a, b, c));
    }
}

/// Runs a loop: for every width where its types are common, else for any machine.
#[inline(always)]
fn choose<L: Loop>(common: bool, body: L) -> L::Output {
    if common { simd::run(body) } else { body.run() }
}

/// Whether both types are common, or the result is a float of eight bits that is stored for one
/// that is.
const fn common<A: Element, R: Element>() -> bool {
    const fn single(dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::Bf16 | DType::F16)
    }
    const fn small(dtype: DType) -> bool {
        matches!(dtype, DType::F8E4M3FN | DType::F8E5M2)
    }
    let [a, r] = [A::DTYPE, R::DTYPE];
    A::COMMON && R::COMMON || single(a) && small(r)
}

/// The `LoopFn` of a function of one element.
pub fn unary<F: Unary>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let function = PhantomData::<One<F>>;
    choose(const { common::<F::A, F::R>() }, Over { inputs, output, function });
}

/// The `LoopFn` of a function of two elements.
pub fn binary<F: Binary>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let function = PhantomData::<Two<F>>;
    choose(const { F::A::COMMON && F::B::COMMON }, Over { inputs, output, function });
}

/// The `LoopFn` of a function of three elements.
pub fn ternary<F: Ternary>(_: Immediate, inputs: &[&[u8]], output: &mut [u8]) {
    let function = PhantomData::<Three<F>>;
    choose(const { F::B::COMMON && F::C::COMMON }, Over { inputs, output, function });
}

/// The `LoopFn` that maps a closure without captures: `lane!(|a: f32, b: f32| a + b)`. The result
/// has the last operand's type where no other stands behind `->`.
#[macro_export]
macro_rules! lane {
    (|$a:ident: $A:ty| -> $R:ty { $($body:tt)* }) => {{
        struct Body;
        impl $crate::elementwise::loops::Unary for Body {
            type A = $A;
            type R = $R;

            #[inline(always)]
            fn at($a: $A) -> $R {
                $($body)*
            }
        }
        let run: $crate::elementwise::program::LoopFn = $crate::elementwise::loops::unary::<Body>;
        run
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty| -> $R:ty { $($body:tt)* }) => {{
        struct Body;
        impl $crate::elementwise::loops::Binary for Body {
            type A = $A;
            type B = $B;
            type R = $R;

            #[inline(always)]
            fn at($a: $A, $b: $B) -> $R {
                $($body)*
            }
        }
        let run: $crate::elementwise::program::LoopFn = $crate::elementwise::loops::binary::<Body>;
        run
    }};
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| -> $R:ty { $($body:tt)* }) => {{
        struct Body;
        impl $crate::elementwise::loops::Ternary for Body {
            type A = $A;
            type B = $B;
            type C = $C;
            type R = $R;

            #[inline(always)]
            fn at($a: $A, $b: $B, $c: $C) -> $R {
                $($body)*
            }
        }
        let run: $crate::elementwise::program::LoopFn = $crate::elementwise::loops::ternary::<Body>;
        run
    }};
    (|$a:ident: $A:ty| $body:expr) => {
        $crate::elementwise::loops::lane!(|$a: $A| -> $A { $body })
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty| $body:expr) => {
        $crate::elementwise::loops::lane!(|$a: $A, $b: $B| -> $B { $body })
    };
    (|$a:ident: $A:ty, $b:ident: $B:ty, $c:ident: $C:ty| $body:expr) => {
        $crate::elementwise::loops::lane!(|$a: $A, $b: $B, $c: $C| -> $C { $body })
    };
}

pub use lane;
