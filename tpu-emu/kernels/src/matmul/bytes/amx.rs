//! Tiles of products of bytes by the matrix unit of newer servers: AMX.
// UNSAFETY: tiles have no intrinsics yet; the tiles that are loaded and stored lie in arrays whose
// lengths are checked first.
#![expect(unsafe_code, reason = "instructions without a safe name, and a call of the system")]
use super::units::UnitForm;
use super::{COLUMNS, LARGEST_TILE_ROWS};
use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _xgetbv};
use std::sync::OnceLock;

/// Asks the system for the use of a part of the processor's state, and the number of that of tiles.
const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
const XFEATURE_XTILEDATA: libc::c_long = 18;

/// Units of a row of a tile.
const TILE_UNITS: usize = 16;

/// How large the tiles are: all have sixteen rows of sixty-four bytes.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static TILES: TileConfig = TileConfig {
    palette: 1,
    start_row: 0,
    reserved: [0; 14],
    row_bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
    rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// Whether the processor has tiles of bytes, and the system lets the process use them. It is asked
/// once: Linux from 5.16 on wants to know, since such threads need larger stacks for signals.
pub(super) fn is_permitted() -> bool {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    *PERMITTED.get_or_init(|| {
        let leaves = __cpuid_count(0, 0).eax;
        if leaves < 7 {
            return false;
        }
        let has_xgetbv = __cpuid_count(1, 0).ecx & (1 << 27) != 0;
        let tiles = __cpuid_count(7, 0).edx;
        let (amx_tile, amx_int8) = (1 << 24, 1 << 25);
        if !has_xgetbv || tiles & (amx_tile | amx_int8) != amx_tile | amx_int8 {
            return false;
        }
        // SAFETY: the processor has the instruction, and the call takes numbers.
        unsafe {
            let state = 0b11 << 17;
            enabled_state() & state == state
                && libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0
        }
    })
}

#[target_feature(enable = "xsave")]
fn enabled_state() -> u64 {
    // SAFETY: the register is there where the instruction is.
    unsafe { _xgetbv(0) }
}

/// The sums of two by two tiles; `dot` multiplies two.
macro_rules! sums {
    ($dot:literal, $left:ident, $right:ident, $steps:ident, $stride:ident, $out:ident, $apart:ident) => {
        asm!(
            "ldtilecfg [{config}]",
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{left} + {stride}]",
            "tileloadd tmm6, [{right} + {line}]",
            concat!($dot, " tmm0, tmm4, tmm6"),
            "tileloadd tmm7, [{right} + {line} + 64]",
            concat!($dot, " tmm1, tmm4, tmm7"),
            "tileloadd tmm5, [{below} + {stride}]",
            concat!($dot, " tmm2, tmm5, tmm6"),
            concat!($dot, " tmm3, tmm5, tmm7"),
            "add {left}, 64",
            "add {below}, 64",
            "add {right}, 2048",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{out} + {apart}], tmm0",
            "tilestored [{out} + {apart} + 64], tmm1",
            "tilestored [{low} + {apart}], tmm2",
            "tilestored [{low} + {apart} + 64], tmm3",
            "tilerelease",
            config = in(reg) &raw const TILES,
            left = inout(reg) $left => _,
            below = inout(reg) $left.byte_add(16 * $stride) => _,
            right = inout(reg) $right => _,
            steps = inout(reg) $steps => _,
            stride = in(reg) $stride,
            line = in(reg) 4 * COLUMNS,
            out = in(reg) $out,
            low = in(reg) $out.byte_add(16 * $apart),
            apart = in(reg) $apart,
            out("tmm0") _,
            out("tmm1") _,
            out("tmm2") _,
            out("tmm3") _,
            out("tmm4") _,
            out("tmm5") _,
            out("tmm6") _,
            out("tmm7") _,
            options(nostack),
        )
    };
}

/// The sums of a tile of thirty-two rows: the units of a row are as many as lines on the right, and
/// a multiple of sixteen.
///
/// # Safety
/// [`is_permitted`] was true, and the sums have such rows, `apart` elements from one to the next.
///
/// # Panics
/// Where an array is shorter than it is read or written.
pub(super) unsafe fn tile(
    form: UnitForm,
    left: &[u32],
    right: &[[u32; COLUMNS]],
    out: &mut [u32],
    apart: usize,
) {
    let units = right.len();
    let steps = units / TILE_UNITS;
    assert!(steps > 0 && units.is_multiple_of(TILE_UNITS), "units are no whole tiles");
    assert!(left.len() >= LARGEST_TILE_ROWS * units, "too few rows");
    assert!(out.len() >= (LARGEST_TILE_ROWS - 1) * apart + COLUMNS, "too few sums");
    let UnitForm::Lines { signed } = form else { unreachable!("units of another form") };
    let (stride, apart) = (4 * units, 4 * apart);
    let (left, right, out) = (left.as_ptr(), right.as_ptr(), out.as_mut_ptr());
    // SAFETY: the caller says that there are tiles; all lines of them are in the arrays, as above.
    unsafe {
        match signed {
            [true, true] => sums!("tdpbssd", left, right, steps, stride, out, apart),
            [true, false] => sums!("tdpbsud", left, right, steps, stride, out, apart),
            [false, true] => sums!("tdpbusd", left, right, steps, stride, out, apart),
            [false, false] => sums!("tdpbuud", left, right, steps, stride, out, apart),
        }
    }
}
