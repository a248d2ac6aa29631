//! From an element type known at run time to code for its Rust type.

/// `Some` of the expression for the Rust type of an element type, `None` for one that is not in
/// the category: `for_dtype!(dtype, T: Number => expression)`.
///
/// Categories: `Int`, `Float` (`Wide` and `Narrow` ones; the latter with the `Small` ones of eight
/// bits and fewer), `Complex`, `Pred`; `Real` (integers and floats), `Number` (with complex ones)
/// and `Element` (all). The expression is compiled once a type.
#[macro_export]
macro_rules! for_dtype {
    (@arms $dtype:expr, $T:ident, $body:expr $(, $variant:ident $rust:ty)*) => {
        match $dtype {
            $($crate::tensor::DType::$variant => {
                type $T = $rust;
                Some($body)
            })*
            _ => None,
        }
    };
    ($dtype:expr, $T:ident: Pred => $body:expr) => {
        $crate::tensor::element::for_dtype!(@arms $dtype, $T, $body,
            Pred $crate::tensor::element::Pred)
    };
    ($dtype:expr, $T:ident: Int => $body:expr) => {
        $crate::tensor::element::for_dtype!(@arms $dtype, $T, $body,
            S1 $crate::tensor::element::S1, S2 $crate::tensor::element::S2,
            S4 $crate::tensor::element::S4, S8 i8, S16 i16, S32 i32, S64 i64,
            U1 $crate::tensor::element::U1, U2 $crate::tensor::element::U2,
            U4 $crate::tensor::element::U4, U8 u8, U16 u16, U32 u32, U64 u64)
    };
    ($dtype:expr, $T:ident: Wide => $body:expr) => {
        $crate::tensor::element::for_dtype!(@arms $dtype, $T, $body, F32 f32, F64 f64)
    };
    (@small $dtype:expr, $T:ident, $body:expr $(, $variant:ident $rust:ty)*) => {
        $crate::tensor::element::for_dtype!(@arms $dtype, $T, $body $(, $variant $rust)*,
            F4E2M1FN $crate::tensor::element::F4E2M1FN,
            F6E2M3FN $crate::tensor::element::F6E2M3FN,
            F6E3M2FN $crate::tensor::element::F6E3M2FN,
            F8E3M4 $crate::tensor::element::F8E3M4,
            F8E4M3 $crate::tensor::element::F8E4M3,
            F8E4M3B11FNUZ $crate::tensor::element::F8E4M3B11FNUZ,
            F8E4M3FN $crate::tensor::element::F8E4M3FN,
            F8E4M3FNUZ $crate::tensor::element::F8E4M3FNUZ,
            F8E5M2 $crate::tensor::element::F8E5M2,
            F8E5M2FNUZ $crate::tensor::element::F8E5M2FNUZ,
            F8E8M0FNU $crate::tensor::element::F8E8M0FNU)
    };
    ($dtype:expr, $T:ident: Small => $body:expr) => {
        $crate::tensor::element::for_dtype!(@small $dtype, $T, $body)
    };
    ($dtype:expr, $T:ident: Narrow => $body:expr) => {
        $crate::tensor::element::for_dtype!(@small $dtype, $T, $body,
            Bf16 $crate::tensor::element::bf16, F16 $crate::tensor::element::f16)
    };
    ($dtype:expr, $T:ident: Float => $body:expr) => {
        $crate::tensor::element::for_dtype!(@small $dtype, $T, $body,
            F32 f32, F64 f64, Bf16 $crate::tensor::element::bf16, F16 $crate::tensor::element::f16)
    };
    ($dtype:expr, $T:ident: Complex => $body:expr) => {
        $crate::tensor::element::for_dtype!(@arms $dtype, $T, $body,
            C64 $crate::tensor::element::Complex<f32>,
            C128 $crate::tensor::element::Complex<f64>)
    };
    ($dtype:expr, $T:ident: Real => $body:expr) => {
        match $crate::tensor::element::for_dtype!($dtype, $T: Int => $body) {
            None => $crate::tensor::element::for_dtype!($dtype, $T: Float => $body),
            some => some,
        }
    };
    ($dtype:expr, $T:ident: Number => $body:expr) => {
        match $crate::tensor::element::for_dtype!($dtype, $T: Real => $body) {
            None => $crate::tensor::element::for_dtype!($dtype, $T: Complex => $body),
            some => some,
        }
    };
    ($dtype:expr, $T:ident: Element => $body:expr) => {
        match $crate::tensor::element::for_dtype!($dtype, $T: Number => $body) {
            None => $crate::tensor::element::for_dtype!($dtype, $T: Pred => $body),
            some => some,
        }
    };
}

pub use for_dtype;

#[cfg(test)]
mod tests {
    use crate::tensor::DType;
    use crate::tensor::element::Element;

    #[test]
    fn every_type_with_data_has_one_of_its_size() {
        for &dtype in DType::ALL {
            let found = for_dtype!(dtype, T: Element => (T::DTYPE, size_of::<T>()));
            let expected = (dtype != DType::Token).then_some((dtype, dtype.host_bytes()));
            assert_eq!(found, expected);
        }
    }
}
