//! Element types: one row a type.

/// How wide an element is on the device: `parts` values of `bits` bits.
///
/// Types wider than 32 bits are laid out as arrays of 32-bit parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceElement {
    /// Bits of one part: 1, 2, 4, 8, 16 or 32.
    pub bits: u32,
    /// Parts of one element: 1, 2 or 4; 0 for a token.
    pub parts: u32,
}

/// Writes the enum, the list and the row lookups from one table.
///
/// `Variant "xla name" width-in-bits parts host-bytes`, where the host bytes are those of one
/// element in client memory (sub-byte types come and go one to a byte).
macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $bits:literal x $parts:literal host $host:literal;)*) => {
        /// The type of one element.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($(#[$doc])* $variant,)* }

        impl DType {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in HLO text.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Width on the device: bits of one part, and how many parts an element has.
            pub const fn element(self) -> DeviceElement {
                match self { $(Self::$variant => DeviceElement { bits: $bits, parts: $parts },)* }
            }

            /// Bytes of one element in client memory.
            pub const fn host_bytes(self) -> usize {
                match self { $(Self::$variant => $host,)* }
            }
        }
    };
}

dtypes! {
    /// Boolean, one byte.
    Pred "pred" 8 x 1 host 1;
    /// Signed, 1 bit.
    S1 "s1" 1 x 1 host 1;
    /// Signed, 2 bits.
    S2 "s2" 2 x 1 host 1;
    /// Signed, 4 bits.
    S4 "s4" 4 x 1 host 1;
    /// Signed, 8 bits.
    S8 "s8" 8 x 1 host 1;
    /// Signed, 16 bits.
    S16 "s16" 16 x 1 host 2;
    /// Signed, 32 bits.
    S32 "s32" 32 x 1 host 4;
    /// Signed, 64 bits.
    S64 "s64" 32 x 2 host 8;
    /// Unsigned, 1 bit.
    U1 "u1" 1 x 1 host 1;
    /// Unsigned, 2 bits.
    U2 "u2" 2 x 1 host 1;
    /// Unsigned, 4 bits.
    U4 "u4" 4 x 1 host 1;
    /// Unsigned, 8 bits.
    U8 "u8" 8 x 1 host 1;
    /// Unsigned, 16 bits.
    U16 "u16" 16 x 1 host 2;
    /// Unsigned, 32 bits.
    U32 "u32" 32 x 1 host 4;
    /// Unsigned, 64 bits.
    U64 "u64" 32 x 2 host 8;
    /// Float, 2 exponent bits, 1 mantissa bit.
    F4E2M1FN "f4e2m1fn" 4 x 1 host 1;
    /// Float, 2 exponent bits, 3 mantissa bits; a byte each on the device.
    F6E2M3FN "f6e2m3fn" 8 x 1 host 1;
    /// Float, 3 exponent bits, 2 mantissa bits; a byte each on the device.
    F6E3M2FN "f6e3m2fn" 8 x 1 host 1;
    /// Float, 3 exponent bits, 4 mantissa bits.
    F8E3M4 "f8e3m4" 8 x 1 host 1;
    /// Float, 4 exponent bits, 3 mantissa bits.
    F8E4M3 "f8e4m3" 8 x 1 host 1;
    /// Float, 4 exponent bits, bias 11, no infinity, one zero.
    F8E4M3B11FNUZ "f8e4m3b11fnuz" 8 x 1 host 1;
    /// Float, 4 exponent bits, no infinity.
    F8E4M3FN "f8e4m3fn" 8 x 1 host 1;
    /// Float, 4 exponent bits, no infinity, one zero.
    F8E4M3FNUZ "f8e4m3fnuz" 8 x 1 host 1;
    /// Float, 5 exponent bits, 2 mantissa bits.
    F8E5M2 "f8e5m2" 8 x 1 host 1;
    /// Float, 5 exponent bits, no infinity, one zero.
    F8E5M2FNUZ "f8e5m2fnuz" 8 x 1 host 1;
    /// Exponent only, unsigned.
    F8E8M0FNU "f8e8m0fnu" 8 x 1 host 1;
    /// The upper half of a 32-bit float.
    Bf16 "bf16" 16 x 1 host 2;
    /// IEEE half.
    F16 "f16" 16 x 1 host 2;
    /// IEEE single.
    F32 "f32" 32 x 1 host 4;
    /// IEEE double.
    F64 "f64" 32 x 2 host 8;
    /// Two 32-bit floats.
    C64 "c64" 32 x 2 host 8;
    /// Two 64-bit floats.
    C128 "c128" 32 x 4 host 16;
    /// No data.
    Token "token" 8 x 0 host 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for &dtype in DType::ALL {
            let same = DType::ALL.iter().filter(|other| other.name() == dtype.name()).count();
            assert_eq!(same, 1, "{dtype:?}");
        }
    }

    #[test]
    fn whole_byte_types_are_as_wide_in_client_memory_as_on_the_device() {
        for &dtype in DType::ALL {
            let DeviceElement { bits, parts } = dtype.element();
            if bits >= 8 {
                assert_eq!(dtype.host_bytes() * 8, (bits * parts) as usize, "{dtype:?}");
            }
        }
    }
}
