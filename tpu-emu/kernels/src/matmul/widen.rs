//! Elements of any type as elements of a type that products are computed in, and back.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "integers wrap into the work type and out of it; floats round"
)]
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use half::{bf16, f16};
use num_complex::Complex;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Convert, Real, for_dtype};

/// Can be made from a number of any type, and be turned into one.
pub trait Widen: Pod {
    /// From an integer, wrapping where this is an integer, rounded once where it is a float.
    fn of_i64(value: i64) -> Self;
    /// From a number without a sign.
    fn of_u64(value: u64) -> Self;
    /// From a float.
    fn of_f32(value: f32) -> Self;
    /// From a float, rounded once.
    fn of_f64(value: f64) -> Self;
    /// From a complex number; only where this is one.
    fn of_complex(re: f64, im: f64) -> Self;
    /// Writes numbers as elements of `dtype`; `false` if this kind of number does not become one.
    fn narrow(values: &[Self], dtype: DType, out: &mut [u8]) -> bool;
}

/// Reads elements; `false` for types that hold no numbers known here.
#[inline(always)]
pub fn widen<W: Widen>(dtype: DType, bytes: &[u8], out: &mut [W]) -> bool {
    match dtype {
        DType::Pred | DType::U2 | DType::U4 | DType::U8 => {
            each::<u8, W>(bytes, out, |value| W::of_u64(value.into()));
        }
        DType::U16 => each::<u16, W>(bytes, out, |value| W::of_u64(value.into())),
        DType::U32 => each::<u32, W>(bytes, out, |value| W::of_u64(value.into())),
        DType::U64 => each::<u64, W>(bytes, out, W::of_u64),
        DType::S2 | DType::S4 | DType::S8 => {
            each::<i8, W>(bytes, out, |value| W::of_i64(value.into()));
        }
        DType::S16 => each::<i16, W>(bytes, out, |value| W::of_i64(value.into())),
        DType::S32 => each::<i32, W>(bytes, out, |value| W::of_i64(value.into())),
        DType::S64 => each::<i64, W>(bytes, out, W::of_i64),
        DType::Bf16 => each::<bf16, W>(bytes, out, |value| W::of_f32(value.to_f32())),
        DType::F16 => each::<f16, W>(bytes, out, |value| W::of_f32(value.to_f32())),
        DType::F32 => each::<f32, W>(bytes, out, W::of_f32),
        DType::F64 => each::<f64, W>(bytes, out, W::of_f64),
        DType::C64 => each::<Complex<f32>, W>(bytes, out, |value| {
            W::of_complex(value.re.into(), value.im.into())
        }),
        DType::C128 => {
            each::<Complex<f64>, W>(bytes, out, |value| W::of_complex(value.re, value.im));
        }
        small => return widen_small(small, bytes, out),
    }
    true
}

/// Reads floats of few bits, which take no part in vectors.
#[inline(never)]
fn widen_small<W: Widen>(dtype: DType, bytes: &[u8], out: &mut [W]) -> bool {
    for_dtype!(dtype, T: Float => {
        each::<T, W>(bytes, out, |value| W::of_f32(value.to_f32()));
    })
    .is_some()
}

/// Writes numbers as what sums seldom become: floats of few bits, and the integers of floats and
/// the real parts of complex numbers, converted as by a conversion.
#[inline(never)]
fn narrow_rarely<W: Convert>(values: &[W], dtype: DType, out: &mut [u8]) -> bool {
    for_dtype!(dtype, T: Element => put(values, out, |value: W| value.convert::<T>()))
        .unwrap_or(false)
}

#[inline(always)]
fn each<T: Pod, W: Pod>(bytes: &[u8], out: &mut [W], f: impl Fn(T) -> W) {
    for (out, &value) in out.iter_mut().zip(cast_slice::<u8, T>(bytes)) {
        *out = f(value);
    }
}

#[inline(always)]
fn put<W: Pod, T: Pod>(values: &[W], out: &mut [u8], f: impl Fn(W) -> T) -> bool {
    for (out, &value) in cast_slice_mut::<u8, T>(out).iter_mut().zip(values) {
        *out = f(value);
    }
    true
}

/// A real float type.
macro_rules! float {
    ($type:ty, $from:ident) => {
        impl Widen for $type {
            #[inline(always)]
            fn of_i64(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_u64(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_f32(value: f32) -> Self {
                value.into()
            }

            #[inline(always)]
            fn of_f64(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_complex(re: f64, _: f64) -> Self {
                re as Self
            }

            #[inline(always)]
            fn narrow(values: &[Self], dtype: DType, out: &mut [u8]) -> bool {
                match dtype {
                    DType::F32 => put(values, out, |value| value as f32),
                    DType::F64 => put(values, out, f64::from),
                    DType::Bf16 => put(values, out, bf16::$from),
                    DType::F16 => put(values, out, f16::$from),
                    DType::S32 => put(values, out, |value: $type| value.convert::<i32>()),
                    DType::C64 | DType::C128 => false,
                    other => narrow_rarely(values, other, out),
                }
            }
        }
    };
}

float!(f32, from_f32);
float!(f64, from_f64);

/// A complex type.
macro_rules! complex {
    ($part:ty) => {
        impl Widen for Complex<$part> {
            #[inline(always)]
            fn of_i64(value: i64) -> Self {
                Self::new(<$part>::of_i64(value), 0.0)
            }

            #[inline(always)]
            fn of_u64(value: u64) -> Self {
                Self::new(<$part>::of_u64(value), 0.0)
            }

            #[inline(always)]
            fn of_f32(value: f32) -> Self {
                Self::new(value.into(), 0.0)
            }

            #[inline(always)]
            fn of_f64(value: f64) -> Self {
                Self::new(<$part>::of_f64(value), 0.0)
            }

            #[inline(always)]
            fn of_complex(re: f64, im: f64) -> Self {
                Self::new(<$part>::of_f64(re), <$part>::of_f64(im))
            }

            #[inline(always)]
            fn narrow(values: &[Self], dtype: DType, out: &mut [u8]) -> bool {
                match dtype {
                    DType::C64 => {
                        put(values, out, |value| Complex::new(value.re as f32, value.im as f32))
                    }
                    DType::C128 => put(values, out, |value| {
                        Complex::new(f64::from(value.re), f64::from(value.im))
                    }),
                    real => narrow_rarely(values, real, out),
                }
            }
        }
    };
}

complex!(f32);
complex!(f64);

/// An integer type without a sign, which stands for signed ones too: sums wrap alike.
macro_rules! integer {
    ($type:ty) => {
        impl Widen for $type {
            #[inline(always)]
            fn of_i64(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_u64(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_f32(value: f32) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_f64(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn of_complex(re: f64, _: f64) -> Self {
                re as Self
            }

            #[inline(always)]
            fn narrow(values: &[Self], dtype: DType, out: &mut [u8]) -> bool {
                match dtype {
                    DType::Pred => put(values, out, |value| u8::from(value != 0)),
                    DType::U2 => put(values, out, |value| (value & 3) as u8),
                    DType::U4 => put(values, out, |value| (value & 15) as u8),
                    DType::S2 => put(values, out, |value| ((value as u8) << 6).cast_signed() >> 6),
                    DType::S4 => put(values, out, |value| ((value as u8) << 4).cast_signed() >> 4),
                    DType::U8 | DType::S8 => put(values, out, |value| value as u8),
                    DType::U16 | DType::S16 => put(values, out, |value| value as u16),
                    DType::U32 | DType::S32 => put(values, out, |value| value as u32),
                    DType::U64 | DType::S64 => put(values, out, |value| value as u64),
                    _ => false,
                }
            }
        }
    };
}

integer!(u32);
integer!(u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_keep_their_sign() {
        let mut wide = [0_u32; 2];
        assert!(widen(DType::S8, cast_slice(&[-1_i8, 5]), &mut wide));
        assert_eq!(wide, [u32::MAX, 5]);
        let mut narrow = [0_u8; 2];
        assert!(u32::narrow(&[0x1f, 7], DType::S4, &mut narrow));
        assert_eq!(narrow, [0xff, 7]);
        assert!(u32::narrow(&[256, 0], DType::Pred, &mut narrow));
        assert_eq!(narrow, [1, 0]);
    }

    #[test]
    fn small_floats_are_read_exactly_and_rounded_once() {
        let mut wide = [0_f32; 2];
        assert!(widen(DType::F8E4M3FN, &[0x38, 0xc4], &mut wide));
        assert_eq!(wide, [1.0, -3.0]);
        let mut narrow = [0_u8; 2];
        assert!(f32::narrow(&[1.0, -3.1], DType::F8E4M3FN, &mut narrow));
        assert_eq!(narrow, [0x38, 0xc4]);
    }

    #[test]
    fn what_sums_seldom_become_is_converted() {
        let mut narrow = [0_u8; 3];
        assert!(f32::narrow(&[-3.7, 300.0, f32::NAN], DType::S8, &mut narrow));
        assert_eq!(narrow, [0xfd, 127, 0]);
        assert!(f64::narrow(&[9.5, -9.0, 2.5], DType::S4, &mut narrow));
        assert_eq!(narrow, [7, 0xf8, 2]);
        assert!(f32::narrow(&[0.5, 0.0, f32::NAN], DType::Pred, &mut narrow));
        assert_eq!(narrow, [1, 0, 1]);
        let complex = [Complex::new(2.5_f32, 7.0), Complex::new(-1.0, 0.0)];
        let mut real = [0_u8; 8];
        assert!(Complex::narrow(&complex, DType::F32, &mut real));
        assert_eq!(cast_slice::<u8, f32>(&real), [2.5, -1.0]);
    }

    #[test]
    fn an_integer_becomes_a_float_in_one_rounding() {
        // Through f64 this would round twice, to 2^60.
        let value = (1_i64 << 60) + (1 << 36) + 1;
        assert_eq!(f32::of_i64(value), 2_f32.powi(60) + 2_f32.powi(37));
    }
}
