//! Floats of eight bits and fewer as numbers of their total order.
use super::comparator::{Encode, Ordinal, encode};
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{
    F4E2M1FN, F6E2M3FN, F6E3M2FN, F8E3M4, F8E4M3, F8E4M3B11FNUZ, F8E4M3FN, F8E4M3FNUZ, F8E5M2,
    F8E5M2FNUZ, F8E8M0FNU, for_dtype, for_each_small_float,
};

macro_rules! small_floats {
    ($($t:ident)*) => {
        $(impl Ordinal for $t {
            /// NaN is beyond every number on the side of its sign; there are two.
            #[inline(always)]
            fn total(self) -> u64 {
                const SIGN: u8 = $t::SIGN;
                let value = self.to_f32();
                let code = if value.is_nan() {
                    if value.is_sign_negative() { 0 } else { u8::MAX }
                } else if value.is_sign_positive() {
                    self.0 | SIGN
                } else {
                    // Without a negative zero, there is room for NaN below.
                    (!self.0 & (SIGN | SIGN.wrapping_sub(1))) + u8::from(Self::NAN_IS_NEGATIVE_ZERO)
                };
                code.into()
            }

            #[inline(always)]
            fn canonical(self) -> u64 {
                let value = self.to_f32();
                if value.is_nan() {
                    u8::MAX.into()
                } else if value == 0.0 {
                    Self(0).total() - u64::from(Self::NAN_IS_NEGATIVE_ZERO)
                } else {
                    self.total() - u64::from(Self::NAN_IS_NEGATIVE_ZERO)
                }
            }

            #[inline(always)]
            fn number(self, descending: bool) -> u64 {
                let code = self.canonical();
                // The last code is that of NaN in both directions.
                if descending { u64::from(u8::MAX - 1) - code } else { code }
            }

            #[inline(always)]
            fn is_number(self) -> bool {
                !self.to_f32().is_nan()
            }
        })*
    };
}

for_each_small_float!(small_floats);

/// The encoder of a type; `None` for any other type.
pub fn encoder(dtype: DType) -> Option<Encode> {
    for_dtype!(dtype, T: Small => encode::<T>)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::comparator::SortKey;
    use tpu_base::tensor::element::Real;

    fn check<T: Real>(dtype: DType, codes: &[T]) {
        let key =
            SortKey { operand: 0, dtype, descending: false, total: true, nan_is_largest: true };
        let mut found = vec![0; codes.len()];
        encoder(dtype).unwrap()(&key, bytemuck::cast_slice(codes), 0, 1, &mut found);
        for (a, &x) in found.iter().zip(codes) {
            for (b, &y) in found.iter().zip(codes) {
                let [x, y] = [x.to_f32(), y.to_f32()];
                if x.is_nan() || y.is_nan() {
                    let side =
                        |x: f32| i32::from(x.is_nan()) * if x.is_sign_negative() { -1 } else { 1 };
                    assert_eq!(a.cmp(b), side(x).cmp(&side(y)), "{dtype:?} {x} {y}");
                } else {
                    assert_eq!(a.cmp(b), x.total_cmp(&y), "{dtype:?} {x} {y}");
                }
            }
        }
    }

    fn largest(dtype: DType) -> u8 {
        match dtype {
            DType::F4E2M1FN => 15,
            DType::F6E2M3FN | DType::F6E3M2FN => 63,
            _ => u8::MAX,
        }
    }

    #[test]
    fn codes_order_as_the_numbers_do() {
        for &dtype in DType::ALL {
            for_dtype!(dtype, T: Small => {
                let codes: Vec<u8> = (0..=u8::MAX).filter(|&code| code <= largest(dtype)).collect();
                check::<T>(dtype, bytemuck::cast_slice(&codes));
            });
        }
    }
}
