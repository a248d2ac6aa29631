//! `PJRT_Buffer_Type`, [`DType`] and XLA's `PrimitiveType`: one row a type.
use crate::sys::PJRT_Buffer_Type;
use tpu_emu::tensor::DType;
use tpu_emu::{Error, Result};
use tpu_proto::xla::PrimitiveType;

/// The header's numbers, and those of XLA's messages; these have none for 6-bit floats.
const ROWS: &[(PJRT_Buffer_Type, DType, PrimitiveType)] = &[
    (PJRT_Buffer_Type::PJRT_Buffer_Type_PRED, DType::Pred, PrimitiveType::Pred),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S8, DType::S8, PrimitiveType::S8),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S16, DType::S16, PrimitiveType::S16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S32, DType::S32, PrimitiveType::S32),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S64, DType::S64, PrimitiveType::S64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U8, DType::U8, PrimitiveType::U8),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U16, DType::U16, PrimitiveType::U16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U32, DType::U32, PrimitiveType::U32),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U64, DType::U64, PrimitiveType::U64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F16, DType::F16, PrimitiveType::F16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F32, DType::F32, PrimitiveType::F32),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F64, DType::F64, PrimitiveType::F64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_BF16, DType::Bf16, PrimitiveType::Bf16),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_C64, DType::C64, PrimitiveType::C64),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_C128, DType::C128, PrimitiveType::C128),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E5M2, DType::F8E5M2, PrimitiveType::F8e5m2),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3FN, DType::F8E4M3FN, PrimitiveType::F8e4m3fn),
    (
        PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3B11FNUZ,
        DType::F8E4M3B11FNUZ,
        PrimitiveType::F8e4m3b11fnuz,
    ),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E5M2FNUZ, DType::F8E5M2FNUZ, PrimitiveType::F8e5m2fnuz),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3FNUZ, DType::F8E4M3FNUZ, PrimitiveType::F8e4m3fnuz),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S4, DType::S4, PrimitiveType::S4),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U4, DType::U4, PrimitiveType::U4),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_TOKEN, DType::Token, PrimitiveType::Token),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S2, DType::S2, PrimitiveType::S2),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U2, DType::U2, PrimitiveType::U2),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E4M3, DType::F8E4M3, PrimitiveType::F8e4m3),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E3M4, DType::F8E3M4, PrimitiveType::F8e3m4),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F8E8M0FNU, DType::F8E8M0FNU, PrimitiveType::F8e8m0fnu),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F4E2M1FN, DType::F4E2M1FN, PrimitiveType::F4e2m1fn),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_S1, DType::S1, PrimitiveType::S1),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_U1, DType::U1, PrimitiveType::U1),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F6E2M3FN, DType::F6E2M3FN, PrimitiveType::Invalid),
    (PJRT_Buffer_Type::PJRT_Buffer_Type_F6E3M2FN, DType::F6E3M2FN, PrimitiveType::Invalid),
];

/// The element type of a caller's number.
pub(crate) fn from_c(number: PJRT_Buffer_Type) -> Result<DType> {
    let row = ROWS.iter().find(|(c, ..)| *c == number);
    let row = row.ok_or_else(|| Error::bad(format!("{} is no PJRT_Buffer_Type", number.0)))?;
    Ok(row.1)
}

/// The header's number of an element type.
pub(crate) fn to_c(dtype: DType) -> PJRT_Buffer_Type {
    let row = ROWS.iter().find(|(_, of, _)| *of == dtype);
    row.map_or(PJRT_Buffer_Type::PJRT_Buffer_Type_INVALID, |row| row.0)
}

/// XLA's number of an element type.
///
/// # Errors
/// `Unimplemented` for the types that its messages do not know.
pub(crate) fn to_proto(dtype: DType) -> Result<PrimitiveType> {
    let row = ROWS.iter().find(|(_, of, _)| *of == dtype);
    let known = row.map(|row| row.2).filter(|&number| number != PrimitiveType::Invalid);
    known.ok_or_else(|| Error::Unimplemented(format!("{} in a message of XLA", dtype.name())))
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
    fn the_messages_call_a_type_as_hlo_does() {
        for &dtype in DType::ALL {
            let name = dtype.name().to_uppercase();
            match to_proto(dtype) {
                Ok(number) => assert_eq!(number.as_str_name(), name),
                Err(_) => assert!(name.starts_with("F6"), "{name}"),
            }
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        for number in [0, 34, u32::MAX] {
            assert!(from_c(PJRT_Buffer_Type(number)).is_err());
        }
    }
}
