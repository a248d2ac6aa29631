//! The vector instructions of AVX2, by the names that the manuals have for them.
use super::encode::{Opcode, opcode};
use super::opcodes::{self, Shift};

/// Constants by the mnemonics: opcode map, prefix, width bit, opcode byte. Behind `for` stand the
/// instructions of AVX-512 that do the same with the same operands.
macro_rules! vex {
    ($($name:ident = $map:literal $prefix:literal $wide:literal $byte:literal
        $(for $($evex:ident)+)?;)*) => {
        $(pub(super) const $name: Opcode = opcode($map, $prefix, $wide == 1, $byte);)*

        /// All of them, for the test of their names.
        #[cfg(any(test, feature = "testing"))]
        pub(super) const OPCODES: &[(&str, Opcode)] = &[$((stringify!($name), $name)),*];

        /// What does the same as an instruction of AVX-512 without a mask.
        pub(super) fn same(op: Opcode) -> Option<Opcode> {
            match op {
                $($($(opcodes::$evex => Some($name),)+)?)*
                _ => None,
            }
        }
    };
}

vex! {
    // Moves. Stores have opcodes of their own.
    VMOVDQA = 1 1 0 0x6f for VMOVDQA32 VMOVDQA64;
    VMOVDQU = 1 2 0 0x6f;
    VMOVDQU_STORE = 1 2 0 0x7f;
    VMOVD = 1 1 0 0x6e;
    VMOVQ = 1 1 1 0x6e;
    VMOVD_STORE = 1 1 0 0x7e;
    VMOVQ_STORE = 1 1 1 0x7e;
    VPEXTRB = 3 1 0 0x14;
    VPEXTRW = 3 1 0 0x15;
    VPBROADCASTB = 2 1 0 0x78;
    VPBROADCASTW = 2 1 0 0x79;
    VPBROADCASTD = 2 1 0 0x58;
    VPBROADCASTQ = 2 1 0 0x59;
    VBROADCASTI128 = 2 1 0 0x5a;
    VPGATHERDD = 2 1 0 0x90 for VPGATHERDD;
    VPGATHERDQ = 2 1 1 0x90 for VPGATHERDQ;
    // Choices by a mask in a fourth register.
    VPBLENDVB = 3 1 0 0x4c;
    VBLENDVPS = 3 1 0 0x4a;
    VBLENDVPD = 3 1 0 0x4b;
    // Floats.
    VADDPS = 1 0 0 0x58 for VADDPS;
    VADDPD = 1 1 0 0x58 for VADDPD;
    VSUBPS = 1 0 0 0x5c for VSUBPS;
    VSUBPD = 1 1 0 0x5c for VSUBPD;
    VMULPS = 1 0 0 0x59 for VMULPS;
    VMULPD = 1 1 0 0x59 for VMULPD;
    VDIVPS = 1 0 0 0x5e for VDIVPS;
    VDIVPD = 1 1 0 0x5e for VDIVPD;
    VSQRTPS = 1 0 0 0x51 for VSQRTPS;
    VSQRTPD = 1 1 0 0x51 for VSQRTPD;
    VMAXPS = 1 0 0 0x5f for VMAXPS;
    VMAXPD = 1 1 0 0x5f for VMAXPD;
    VMINPS = 1 0 0 0x5d for VMINPS;
    VMINPD = 1 1 0 0x5d for VMINPD;
    VROUNDPS = 3 1 0 0x08 for VRNDSCALEPS;
    VROUNDPD = 3 1 0 0x09 for VRNDSCALEPD;
    // Masks from vectors, as vectors of ones and zeros.
    VCMPPS = 1 0 0 0xc2;
    VCMPPD = 1 1 0 0xc2;
    VPCMPEQB = 1 1 0 0x74;
    VPCMPEQW = 1 1 0 0x75;
    VPCMPEQD = 1 1 0 0x76;
    VPCMPEQQ = 2 1 0 0x29;
    VPCMPGTB = 1 1 0 0x64;
    VPCMPGTW = 1 1 0 0x65;
    VPCMPGTD = 1 1 0 0x66;
    VPCMPGTQ = 2 1 0 0x37;
    // Integers.
    VPADDB = 1 1 0 0xfc for VPADDB;
    VPADDW = 1 1 0 0xfd for VPADDW;
    VPADDD = 1 1 0 0xfe for VPADDD;
    VPADDQ = 1 1 0 0xd4 for VPADDQ;
    VPSUBB = 1 1 0 0xf8 for VPSUBB;
    VPSUBW = 1 1 0 0xf9 for VPSUBW;
    VPSUBD = 1 1 0 0xfa for VPSUBD;
    VPSUBQ = 1 1 0 0xfb for VPSUBQ;
    VPMULLW = 1 1 0 0xd5 for VPMULLW;
    VPMULLD = 2 1 0 0x40 for VPMULLD;
    VPMULUDQ = 1 1 0 0xf4;
    VPABSB = 2 1 0 0x1c for VPABSB;
    VPABSW = 2 1 0 0x1d for VPABSW;
    VPABSD = 2 1 0 0x1e for VPABSD;
    VPMAXSB = 2 1 0 0x3c for VPMAXSB;
    VPMAXSW = 1 1 0 0xee for VPMAXSW;
    VPMAXSD = 2 1 0 0x3d for VPMAXSD;
    VPMAXUB = 1 1 0 0xde for VPMAXUB;
    VPMAXUW = 2 1 0 0x3e for VPMAXUW;
    VPMAXUD = 2 1 0 0x3f for VPMAXUD;
    VPMINSB = 2 1 0 0x38 for VPMINSB;
    VPMINSW = 1 1 0 0xea for VPMINSW;
    VPMINSD = 2 1 0 0x39 for VPMINSD;
    VPMINUB = 1 1 0 0xda for VPMINUB;
    VPMINUW = 2 1 0 0x3a for VPMINUW;
    VPMINUD = 2 1 0 0x3b for VPMINUD;
    // Bits.
    VPAND = 1 1 0 0xdb for VPANDD VPANDQ;
    VPANDN = 1 1 0 0xdf;
    VPOR = 1 1 0 0xeb for VPORD VPORQ;
    VPXOR = 1 1 0 0xef for VPXORD VPXORQ;
    VPSLLVD = 2 1 0 0x47 for VPSLLVD;
    VPSLLVQ = 2 1 1 0x47 for VPSLLVQ;
    VPSRLVD = 2 1 0 0x45 for VPSRLVD;
    VPSRLVQ = 2 1 1 0x45 for VPSRLVQ;
    VPSRAVD = 2 1 0 0x46 for VPSRAVD;
    // Other widths of integers.
    VPMOVSXBW = 2 1 0 0x20 for VPMOVSXBW;
    VPMOVSXBD = 2 1 0 0x21 for VPMOVSXBD;
    VPMOVSXBQ = 2 1 0 0x22 for VPMOVSXBQ;
    VPMOVSXWD = 2 1 0 0x23 for VPMOVSXWD;
    VPMOVSXWQ = 2 1 0 0x24 for VPMOVSXWQ;
    VPMOVSXDQ = 2 1 0 0x25 for VPMOVSXDQ;
    VPMOVZXBW = 2 1 0 0x30 for VPMOVZXBW;
    VPMOVZXBD = 2 1 0 0x31 for VPMOVZXBD;
    VPMOVZXBQ = 2 1 0 0x32 for VPMOVZXBQ;
    VPMOVZXWD = 2 1 0 0x33 for VPMOVZXWD;
    VPMOVZXWQ = 2 1 0 0x34 for VPMOVZXWQ;
    VPMOVZXDQ = 2 1 0 0x35 for VPMOVZXDQ;
    VPSHUFB = 2 1 0 0x00;
    VPUNPCKLWD = 1 1 0 0x61;
    VPUNPCKLDQ = 1 1 0 0x62;
    VPUNPCKLQDQ = 1 1 0 0x6c;
    VEXTRACTI128 = 3 1 0 0x39;
    // Between floats and integers, and between floats.
    VCVTPH2PS = 2 1 0 0x13 for VCVTPH2PS;
    VCVTPS2PH = 3 1 0 0x1d for VCVTPS2PH;
    VCVTPD2PS = 1 1 0 0x5a for VCVTPD2PS;
    VCVTPS2PD = 1 0 0 0x5a for VCVTPS2PD;
    VCVTDQ2PS = 1 0 0 0x5b for VCVTDQ2PS;
    VCVTDQ2PD = 1 2 0 0xe6 for VCVTDQ2PD;
    VCVTTPS2DQ = 1 2 0 0x5b for VCVTTPS2DQ;
}

/// Shifts by a number that the instruction holds.
macro_rules! shifts {
    ($($name:ident = $byte:literal / $digit:literal;)*) => {
        $(pub(super) const $name: Shift = Shift { op: opcode(1, 1, false, $byte), digit: $digit };)*

        /// All of them, for the test of their names.
        #[cfg(any(test, feature = "testing"))]
        pub(super) const SHIFTS: &[(&str, Shift)] = &[$((stringify!($name), $name)),*];
    };
}

shifts! {
    VPSRLW = 0x71 / 2;
    VPSRAW = 0x71 / 4;
    VPSLLW = 0x71 / 6;
    VPSRLD = 0x72 / 2;
    VPSRLQ = 0x73 / 2;
    VPSRAD = 0x72 / 4;
    VPSLLD = 0x72 / 6;
    VPSLLQ = 0x73 / 6;
}

/// Integers of a width with a sign as ones of a larger width.
pub(super) fn extend(width: usize, to: usize) -> Opcode {
    same(opcodes::extend(width, to, true)).unwrap_or(VPMOVSXDQ)
}

/// A load of so many bytes.
pub(super) fn load(bytes: usize) -> Opcode {
    match bytes {
        4 => VMOVD,
        8 => VMOVQ,
        _ => VMOVDQU,
    }
}

/// A store of so many bytes.
pub(super) fn store(bytes: usize) -> Opcode {
    match bytes {
        4 => VMOVD_STORE,
        8 => VMOVQ_STORE,
        _ => VMOVDQU_STORE,
    }
}

/// One element of a width everywhere.
pub(super) fn spread(width: usize) -> Opcode {
    match width {
        1 => VPBROADCASTB,
        2 => VPBROADCASTW,
        4 => VPBROADCASTD,
        8 => VPBROADCASTQ,
        _ => VBROADCASTI128,
    }
}

/// A store of the first element, by its width.
pub(super) fn store_one(width: usize) -> Opcode {
    match width {
        1 => VPEXTRB,
        2 => VPEXTRW,
        4 => VMOVD_STORE,
        _ => VMOVQ_STORE,
    }
}
