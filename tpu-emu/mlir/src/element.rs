//! Types of elements.

/// The type of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Element {
    Pred,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    F8E3M4,
    F8E4M3,
    F8E4M3B11FNUZ,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0FNU,
    Bf16,
    F16,
    F32,
    F64,
    Tf32,
    C64,
    C128,
    /// MLIR's `index`.
    Index,
    /// An integer of a width that StableHLO does not have, as attributes may (`i128`).
    Other(u16),
}

/// Integer types with their bits, and whether they have a sign.
const INTEGERS: [(Element, u16, bool); 12] = [
    (Element::S2, 2, true),
    (Element::S4, 4, true),
    (Element::S8, 8, true),
    (Element::S16, 16, true),
    (Element::S32, 32, true),
    (Element::S64, 64, true),
    (Element::U2, 2, false),
    (Element::U4, 4, false),
    (Element::U8, 8, false),
    (Element::U16, 16, false),
    (Element::U32, 32, false),
    (Element::U64, 64, false),
];

impl Element {
    /// Each type's name in MLIR text, without [`Element::Other`].
    pub const NAMES: &[(Self, &'static str)] = &[
        (Self::Pred, "i1"),
        (Self::S2, "i2"),
        (Self::S4, "i4"),
        (Self::S8, "i8"),
        (Self::S16, "i16"),
        (Self::S32, "i32"),
        (Self::S64, "i64"),
        (Self::U2, "ui2"),
        (Self::U4, "ui4"),
        (Self::U8, "ui8"),
        (Self::U16, "ui16"),
        (Self::U32, "ui32"),
        (Self::U64, "ui64"),
        (Self::F4E2M1FN, "f4E2M1FN"),
        (Self::F6E2M3FN, "f6E2M3FN"),
        (Self::F6E3M2FN, "f6E3M2FN"),
        (Self::F8E3M4, "f8E3M4"),
        (Self::F8E4M3, "f8E4M3"),
        (Self::F8E4M3B11FNUZ, "f8E4M3B11FNUZ"),
        (Self::F8E4M3FN, "f8E4M3FN"),
        (Self::F8E4M3FNUZ, "f8E4M3FNUZ"),
        (Self::F8E5M2, "f8E5M2"),
        (Self::F8E5M2FNUZ, "f8E5M2FNUZ"),
        (Self::F8E8M0FNU, "f8E8M0FNU"),
        (Self::Bf16, "bf16"),
        (Self::F16, "f16"),
        (Self::F32, "f32"),
        (Self::F64, "f64"),
        (Self::Tf32, "tf32"),
        (Self::C64, "complex<f32>"),
        (Self::C128, "complex<f64>"),
        (Self::Index, "index"),
    ];

    /// The integer type of a width; booleans are the signless one of one bit.
    pub fn integer(width: u64, unsigned: bool) -> Option<Self> {
        if (width, unsigned) == (1, false) {
            return Some(Self::Pred);
        }
        let (of, ..) = INTEGERS
            .iter()
            .find(|&&(_, bits, signed)| (u64::from(bits), !signed) == (width, unsigned))?;
        Some(*of)
    }

    /// Bits of an integer type, and whether its sign is extended. `None` for other types.
    pub fn integer_bits(self) -> Option<(u16, bool)> {
        match self {
            Self::Pred => Some((1, false)),
            Self::Index => Some((64, true)),
            Self::Other(width @ 1..) => Some((width, true)),
            _ => INTEGERS.iter().find(|row| row.0 == self).map(|&(_, bits, signed)| (bits, signed)),
        }
    }

    /// Bytes of one element as arrays of constants store it: sub-byte types and booleans take a
    /// byte each. `None` for what has no storage.
    pub const fn bytes(self) -> Option<usize> {
        Some(match self {
            Self::Pred
            | Self::S2
            | Self::S4
            | Self::S8
            | Self::U2
            | Self::U4
            | Self::U8
            | Self::F4E2M1FN
            | Self::F6E2M3FN
            | Self::F6E3M2FN
            | Self::F8E3M4
            | Self::F8E4M3
            | Self::F8E4M3B11FNUZ
            | Self::F8E4M3FN
            | Self::F8E4M3FNUZ
            | Self::F8E5M2
            | Self::F8E5M2FNUZ
            | Self::F8E8M0FNU => 1,
            Self::S16 | Self::U16 | Self::Bf16 | Self::F16 => 2,
            Self::S32 | Self::U32 | Self::F32 | Self::Tf32 => 4,
            Self::S64 | Self::U64 | Self::F64 | Self::C64 | Self::Index => 8,
            Self::C128 => 16,
            Self::Other(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_found_by_their_bits_and_their_sign() {
        for (of, bits, signed) in INTEGERS {
            assert_eq!(Element::integer(u64::from(bits), !signed), Some(of));
            assert_eq!(of.integer_bits(), Some((bits, signed)));
        }
        assert_eq!(Element::integer(1, false), Some(Element::Pred));
        assert_eq!(Element::Index.integer_bits(), Some((64, true)));
        assert_eq!(Element::Other(128).integer_bits(), Some((128, true)));
        for (width, unsigned) in [(0, false), (1, true), (3, false), (128, false), (65_538, false)]
        {
            assert_eq!(Element::integer(width, unsigned), None);
        }
        for none in [Element::F32, Element::F8E8M0FNU, Element::C64, Element::Other(0)] {
            assert_eq!(none.integer_bits(), None);
        }
    }
}
