//! `PJRT_Buffer_Type` and [`DType`]: one row a type.
use crate::sys::PJRT_Buffer_Type;
use tpu_emu::tensor::DType;
use tpu_emu::{Error, Result};

/// The header's numbers.
const ROWS: &[(PJRT_Buffer_Type, DType)] = &[
    (PJRT_Buffer_Type::PJRT_Buffer_Type_PRED, DType::Pred),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S8, DType::S8),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S16, DType::S16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S32, DType::S32),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S64, DType::S64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U8, DType::U8),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U16, DType::U16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U32, DType::U32),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U64, DType::U64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F16, DType::F16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F32, DType::F32),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F64, DType::F64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_BF16, DType::Bf16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_C64, DType::C64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_C128, DType::C128),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E5M2, DType::F8E5M2),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3FN, DType::F8E4M3FN),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3B11FNUZ, DType::F8E4M3B11FNUZ),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E5M2FNUZ, DType::F8E5M2FNUZ),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3FNUZ, DType::F8E4M3FNUZ),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S4, DType::S4),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U4, DType::U4),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_TOKEN, DType::Token),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S2, DType::S2),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U2, DType::U2),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3, DType::F8E4M3),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E3M4, DType::F8E3M4),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E8M0FNU, DType::F8E8M0FNU),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F4E2M1FN, DType::F4E2M1FN),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S1, DType::S1),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U1, DType::U1),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F6E2M3FN, DType::F6E2M3FN),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F6E3M2FN, DType::F6E3M2FN),
];

/// The element type of a caller's number.
pub(crate) fn from_c(number: PJRT_Buffer_Type) -> Result<DType> {
    let row = ROWS.iter().find(|(c, _)| *c == number);
    let row = row.ok_or_else(|| Error::bad(format!("{} is no PJRT_Buffer_Type", number.0)))?;
    Ok(row.1)
}

/// The header's number of an element type.
pub(crate) fn to_c(dtype: DType) -> PJRT_Buffer_Type {
    let row = ROWS.iter().find(|(_, of)| *of == dtype);
    row.map_or(PJRT_Buffer_Type::PJRT_Buffer_Type_INVALID, |row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_one_number_and_every_number_from_1_to_33_one_type() {
        for &dtype in DType::ALL {
            assert_eq!(from_c(to_c(dtype)), Ok(dtype));
        }
        for number in 1..=33 {
            assert_eq!(to_c(from_c(PJRT_Buffer_Type(number)).unwrap()).0, number);
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        for number in [0, 34, u32::MAX] {
            assert!(from_c(PJRT_Buffer_Type(number)).is_err());
        }
    }
}
