//! The vector and mask instructions that are written, by the names that the manuals have for them.
use super::encode::{Opcode, opcode};

/// Constants by the mnemonics: opcode map, prefix, width bit, opcode byte.
macro_rules! opcodes {
    ($($name:ident = $map:literal $prefix:literal $wide:literal $byte:literal;)*) => {
        $(pub(super) const $name: Opcode = opcode($map, $prefix, $wide == 1, $byte);)*

        /// All of them, for the test of their names.
        #[cfg(any(test, feature = "testing"))]
        pub(super) const OPCODES: &[(&str, Opcode)] = &[$((stringify!($name), $name)),*];
    };
}

/// Shifts by a number that the instruction holds: another digit is another instruction.
macro_rules! shifts {
    ($($name:ident = $wide:literal $byte:literal / $digit:literal;)*) => {
        $(pub(super) const $name: Shift = Shift { op: opcode(1, 1, $wide == 1, $byte), digit: $digit };)*

        /// All of them, for the test of their names.
        #[cfg(any(test, feature = "testing"))]
        pub(super) const SHIFTS: &[(&str, Shift)] = &[$((stringify!($name), $name)),*];
    };
}

/// A shift by a number that the instruction holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub(super) op: Opcode,
    /// What stands in the `reg` field.
    pub(super) digit: u8,
}

opcodes! {
    // Moves. Stores have opcodes of their own.
    VMOVDQA32 = 1 1 0 0x6f;
    VMOVDQA64 = 1 1 1 0x6f;
    VMOVDQU8 = 1 3 0 0x6f;
    VMOVDQU16 = 1 3 1 0x6f;
    VMOVDQU32 = 1 2 0 0x6f;
    VMOVDQU64 = 1 2 1 0x6f;
    VMOVDQU8_STORE = 1 3 0 0x7f;
    VMOVDQU16_STORE = 1 3 1 0x7f;
    VMOVDQU32_STORE = 1 2 0 0x7f;
    VMOVDQU64_STORE = 1 2 1 0x7f;
    VPBROADCASTB = 2 1 0 0x78;
    VPBROADCASTW = 2 1 0 0x79;
    VPBROADCASTD = 2 1 0 0x58;
    VPBROADCASTQ = 2 1 1 0x59;
    VPGATHERDD = 2 1 0 0x90;
    VPGATHERDQ = 2 1 1 0x90;
    // Choices by a mask.
    VPBLENDMB = 2 1 0 0x66;
    VPBLENDMW = 2 1 1 0x66;
    VPBLENDMD = 2 1 0 0x64;
    VPBLENDMQ = 2 1 1 0x64;
    // Floats.
    VADDPS = 1 0 0 0x58;
    VADDPD = 1 1 1 0x58;
    VSUBPS = 1 0 0 0x5c;
    VSUBPD = 1 1 1 0x5c;
    VMULPS = 1 0 0 0x59;
    VMULPD = 1 1 1 0x59;
    VDIVPS = 1 0 0 0x5e;
    VDIVPD = 1 1 1 0x5e;
    VSQRTPS = 1 0 0 0x51;
    VSQRTPD = 1 1 1 0x51;
    VMAXPS = 1 0 0 0x5f;
    VMAXPD = 1 1 1 0x5f;
    VMINPS = 1 0 0 0x5d;
    VMINPD = 1 1 1 0x5d;
    VRNDSCALEPS = 3 1 0 0x08;
    VRNDSCALEPD = 3 1 1 0x09;
    // Masks from vectors.
    VCMPPS = 1 0 0 0xc2;
    VCMPPD = 1 1 1 0xc2;
    VFPCLASSPS = 3 1 0 0x66;
    VFPCLASSPD = 3 1 1 0x66;
    VPTESTMB = 2 1 0 0x26;
    VPTESTMW = 2 1 1 0x26;
    VPTESTMD = 2 1 0 0x27;
    VPTESTMQ = 2 1 1 0x27;
    VPCMPUB = 3 1 0 0x3e;
    VPCMPUW = 3 1 1 0x3e;
    VPCMPUD = 3 1 0 0x1e;
    VPCMPUQ = 3 1 1 0x1e;
    VPCMPB = 3 1 0 0x3f;
    VPCMPW = 3 1 1 0x3f;
    VPCMPD = 3 1 0 0x1f;
    VPCMPQ = 3 1 1 0x1f;
    // Integers.
    VPADDB = 1 1 0 0xfc;
    VPADDW = 1 1 0 0xfd;
    VPADDD = 1 1 0 0xfe;
    VPADDQ = 1 1 1 0xd4;
    VPSUBB = 1 1 0 0xf8;
    VPSUBW = 1 1 0 0xf9;
    VPSUBD = 1 1 0 0xfa;
    VPSUBQ = 1 1 1 0xfb;
    VPMULLW = 1 1 0 0xd5;
    VPMULLD = 2 1 0 0x40;
    VPMULLQ = 2 1 1 0x40;
    VPABSB = 2 1 0 0x1c;
    VPABSW = 2 1 0 0x1d;
    VPABSD = 2 1 0 0x1e;
    VPABSQ = 2 1 1 0x1f;
    VPMAXSB = 2 1 0 0x3c;
    VPMAXSW = 1 1 0 0xee;
    VPMAXSD = 2 1 0 0x3d;
    VPMAXSQ = 2 1 1 0x3d;
    VPMAXUB = 1 1 0 0xde;
    VPMAXUW = 2 1 0 0x3e;
    VPMAXUD = 2 1 0 0x3f;
    VPMAXUQ = 2 1 1 0x3f;
    VPMINSB = 2 1 0 0x38;
    VPMINSW = 1 1 0 0xea;
    VPMINSD = 2 1 0 0x39;
    VPMINSQ = 2 1 1 0x39;
    VPMINUB = 1 1 0 0xda;
    VPMINUW = 2 1 0 0x3a;
    VPMINUD = 2 1 0 0x3b;
    VPMINUQ = 2 1 1 0x3b;
    // Bits.
    VPANDD = 1 1 0 0xdb;
    VPANDQ = 1 1 1 0xdb;
    VPORD = 1 1 0 0xeb;
    VPORQ = 1 1 1 0xeb;
    VPXORD = 1 1 0 0xef;
    VPXORQ = 1 1 1 0xef;
    VPTERNLOGD = 3 1 0 0x25;
    VPTERNLOGQ = 3 1 1 0x25;
    VPOPCNTD = 2 1 0 0x55;
    VPOPCNTQ = 2 1 1 0x55;
    VPLZCNTD = 2 1 0 0x44;
    VPSLLVW = 2 1 1 0x12;
    VPSLLVD = 2 1 0 0x47;
    VPSLLVQ = 2 1 1 0x47;
    VPSRLVW = 2 1 1 0x10;
    VPSRLVD = 2 1 0 0x45;
    VPSRLVQ = 2 1 1 0x45;
    VPSRAVW = 2 1 1 0x11;
    VPSRAVD = 2 1 0 0x46;
    VPSRAVQ = 2 1 1 0x46;
    // Other widths of integers.
    VPMOVSXBW = 2 1 0 0x20;
    VPMOVSXBD = 2 1 0 0x21;
    VPMOVSXBQ = 2 1 0 0x22;
    VPMOVSXWD = 2 1 0 0x23;
    VPMOVSXWQ = 2 1 0 0x24;
    VPMOVSXDQ = 2 1 0 0x25;
    VPMOVZXBW = 2 1 0 0x30;
    VPMOVZXBD = 2 1 0 0x31;
    VPMOVZXBQ = 2 1 0 0x32;
    VPMOVZXWD = 2 1 0 0x33;
    VPMOVZXWQ = 2 1 0 0x34;
    VPMOVZXDQ = 2 1 0 0x35;
    VPMOVWB = 2 2 0 0x30;
    VPMOVDB = 2 2 0 0x31;
    VPMOVQB = 2 2 0 0x32;
    VPMOVDW = 2 2 0 0x33;
    VPMOVQW = 2 2 0 0x34;
    VPMOVQD = 2 2 0 0x35;
    VPMOVUSDB = 2 2 0 0x11;
    VPMOVUSDW = 2 2 0 0x13;
    VPMOVSDB = 2 2 0 0x21;
    VPMOVSDW = 2 2 0 0x23;
    // Between floats and integers, and between floats.
    VCVTPH2PS = 2 1 0 0x13;
    VCVTPS2PH = 3 1 0 0x1d;
    VCVTPD2PS = 1 1 1 0x5a;
    VCVTPS2PD = 1 0 0 0x5a;
    VCVTDQ2PS = 1 0 0 0x5b;
    VCVTUDQ2PS = 1 3 0 0x7a;
    VCVTDQ2PD = 1 2 0 0xe6;
    VCVTUDQ2PD = 1 2 0 0x7a;
    VCVTQQ2PS = 1 0 1 0x5b;
    VCVTUQQ2PS = 1 3 1 0x7a;
    VCVTQQ2PD = 1 2 1 0xe6;
    VCVTUQQ2PD = 1 2 1 0x7a;
    VCVTTPS2DQ = 1 2 0 0x5b;
    VCVTTPS2UDQ = 1 0 0 0x78;
    // Masks.
    KANDW = 1 0 0 0x41;
    KANDNW = 1 0 0 0x42;
    KNOTW = 1 0 0 0x44;
    KORW = 1 0 0 0x45;
    KXNORW = 1 0 0 0x46;
    KXORW = 1 0 0 0x47;
    KMOVW = 1 0 0 0x90;
    KMOVW_STORE = 1 0 0 0x91;
}

shifts! {
    VPROLD = 0 0x72 / 1;
    VPROLQ = 1 0x72 / 1;
    VPSRLW = 0 0x71 / 2;
    VPSRAW = 0 0x71 / 4;
    VPSLLW = 0 0x71 / 6;
    VPSRLD = 0 0x72 / 2;
    VPSRLQ = 1 0x73 / 2;
    VPSRAD = 0 0x72 / 4;
    VPSRAQ = 1 0x72 / 4;
    VPSLLD = 0 0x72 / 6;
    VPSLLQ = 1 0x73 / 6;
}

/// What stands for an instruction that is written by other means.
pub(super) const NONE: Opcode = opcode(0, 0, false, 0);

/// The instruction for elements of 1, 2, 4 or 8 bytes.
pub(super) fn by_width(width: usize, [one, two, four, eight]: [Opcode; 4]) -> Opcode {
    match width {
        1 => one,
        2 => two,
        4 => four,
        _ => eight,
    }
}

/// The instruction for elements of 8 bytes, or the one for all shorter ones.
pub(super) fn by_size<T>(width: usize, [four, eight]: [T; 2]) -> T {
    if width == 8 { eight } else { four }
}

/// The larger of integers.
pub(super) fn largest(width: usize, signed: bool) -> Opcode {
    let signs = [VPMAXSB, VPMAXSW, VPMAXSD, VPMAXSQ];
    by_width(width, if signed { signs } else { [VPMAXUB, VPMAXUW, VPMAXUD, VPMAXUQ] })
}

/// The smaller of integers.
pub(super) fn least(width: usize, signed: bool) -> Opcode {
    let signs = [VPMINSB, VPMINSW, VPMINSD, VPMINSQ];
    by_width(width, if signed { signs } else { [VPMINUB, VPMINUW, VPMINUD, VPMINUQ] })
}

/// A comparison of integers.
pub(super) fn compare(width: usize, signed: bool) -> Opcode {
    let signs = [VPCMPB, VPCMPW, VPCMPD, VPCMPQ];
    by_width(width, if signed { signs } else { [VPCMPUB, VPCMPUW, VPCMPUD, VPCMPUQ] })
}

/// Integers of a width as ones of a larger width.
pub(super) fn extend(width: usize, to: usize, signed: bool) -> Opcode {
    const SIGNED: [Opcode; 6] = [VPMOVSXBW, VPMOVSXBD, VPMOVSXBQ, VPMOVSXWD, VPMOVSXWQ, VPMOVSXDQ];
    const ZEROS: [Opcode; 6] = [VPMOVZXBW, VPMOVZXBD, VPMOVZXBQ, VPMOVZXWD, VPMOVZXWQ, VPMOVZXDQ];
    (if signed { SIGNED } else { ZEROS })[pair(width, to)]
}

/// The low bits of integers.
pub(super) fn cut(width: usize, to: usize) -> Opcode {
    [VPMOVWB, VPMOVDB, VPMOVQB, VPMOVDW, VPMOVQW, VPMOVQD][pair(to, width)]
}

fn pair(small: usize, large: usize) -> usize {
    match (small, large) {
        (1, 2) => 0,
        (1, 4) => 1,
        (1, 8) => 2,
        (2, 4) => 3,
        (2, 8) => 4,
        _ => 5,
    }
}

/// A load of whole vectors, by elements of a width.
pub(super) fn load(width: usize) -> Opcode {
    by_width(width, [VMOVDQU8, VMOVDQU16, VMOVDQU32, VMOVDQU64])
}

/// A store of whole vectors, by elements of a width.
pub(super) fn store(width: usize) -> Opcode {
    by_width(width, [VMOVDQU8_STORE, VMOVDQU16_STORE, VMOVDQU32_STORE, VMOVDQU64_STORE])
}
