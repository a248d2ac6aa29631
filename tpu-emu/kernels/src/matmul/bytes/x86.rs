//! Tiles of products of bytes on x86-64.
// UNSAFETY: calls functions that are compiled for instructions which the machine was asked for, and
// loads and stores vectors of arrays that are as long.
#![expect(unsafe_code, reason = "instructions that not every processor has")]
use super::amx;
use super::units::UnitForm;
use super::{COLUMNS, LARGEST_TILE_ROWS};
use crate::simd;
use crate::simd::Level;
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_storeu_si256, _mm512_add_epi32, _mm512_dpbusd_epi32,
    _mm512_loadu_si512, _mm512_madd_epi16, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_storeu_si512,
};
use std::sync::OnceLock;

/// Rows of a tile of vectors.
const TILE_ROWS: usize = 8;

/// A machine that multiplies bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteMachine(Instructions);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    Avx2,
    Avx512Bw,
    Vnni,
    Amx,
}

impl ByteMachine {
    /// The fastest one, of the vectors that loops may use. `None` where floats are as fast.
    pub(crate) fn found() -> Option<Self> {
        static WIDE: OnceLock<Instructions> = OnceLock::new();
        match simd::level() {
            Level::Portable => None,
            Level::Avx2 => Some(Self(Instructions::Avx2)),
            Level::Avx512 => Some(Self(*WIDE.get_or_init(|| {
                if amx::is_permitted() {
                    Instructions::Amx
                } else if is_x86_feature_detected!("avx512vnni") {
                    Instructions::Vnni
                } else {
                    Instructions::Avx512Bw
                }
            }))),
        }
    }

    /// All that this machine has.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        let level = simd::level();
        let has = [
            (level >= Level::Avx2, Instructions::Avx2),
            (level >= Level::Avx512, Instructions::Avx512Bw),
            (level >= Level::Avx512 && is_x86_feature_detected!("avx512vnni"), Instructions::Vnni),
            (level >= Level::Avx512 && amx::is_permitted(), Instructions::Amx),
        ];
        has.into_iter().filter(|&(has, _)| has).map(|(_, some)| Self(some)).collect()
    }

    /// Rows of a tile.
    pub(super) fn tile_rows(self) -> usize {
        if self.0 == Instructions::Amx { LARGEST_TILE_ROWS } else { TILE_ROWS }
    }

    /// How operands with these signs lie.
    pub(super) fn form(self, signed: [bool; 2]) -> UnitForm {
        match self.0 {
            Instructions::Avx2 | Instructions::Avx512Bw => UnitForm::Halves,
            Instructions::Vnni => UnitForm::Shifted { signed },
            Instructions::Amx => UnitForm::Lines { signed },
        }
    }

    /// The sums of one tile: the units of the left rows are as many as lines on the right. Rows of the
    /// result are so far apart.
    ///
    /// # Panics
    /// Where an array is shorter than that.
    pub(super) fn tile(
        self,
        form: UnitForm,
        left: &[u32],
        right: &[[u32; COLUMNS]],
        (out, stride): (&mut [u32], usize),
    ) {
        let rows = self.tile_rows();
        assert!(left.len() >= rows * right.len(), "too few rows");
        assert!(stride >= COLUMNS && out.len() >= (rows - 1) * stride + COLUMNS, "too few sums");
        // SAFETY: a machine is found only where it has the instructions, and the arrays are as long
        // as they are read and written.
        unsafe {
            match self.0 {
                Instructions::Avx2 => narrow_pairs(left, right, out, stride),
                Instructions::Avx512Bw => pairs(left, right, out, stride),
                Instructions::Vnni => quads(left, right, out, stride),
                Instructions::Amx => amx::tile(form, left, right, out, stride),
            }
        }
    }
}

/// A tile of sums in vectors: `$height` rows and two vectors of each at a time, to each of which
/// `$add` adds what a line and a unit give.
macro_rules! tile {
    (
        $(#[$doc:meta])* $name:ident, $features:literal, $vector:ty, $height:literal,
        [$zero:path, $load:path, $splat:path, $store:path], $add:expr
    ) => {
        $(#[$doc])*
        #[target_feature(enable = $features)]
        fn $name(left: &[u32], right: &[[u32; COLUMNS]], out: &mut [u32], stride: usize) {
            const LANES: usize = size_of::<$vector>() / size_of::<u32>();
            let units = right.len();
            for first in (0..TILE_ROWS).step_by($height) {
                let rows: [&[u32]; $height] =
                    std::array::from_fn(|i| &left[(first + i) * units..][..units]);
                for column in (0..COLUMNS).step_by(2 * LANES) {
                    let mut sums = [[$zero(); 2]; $height];
                    for (at, line) in right.iter().enumerate() {
                        let line = &line[column..column + 2 * LANES];
                        // SAFETY: both vectors are in the line.
                        let line = unsafe {
                            [$load(line.as_ptr().cast()), $load(line.as_ptr().add(LANES).cast())]
                        };
                        for (row, sums) in rows.iter().zip(&mut sums) {
                            let factor = $splat(row[at].cast_signed());
                            for (sum, vector) in sums.iter_mut().zip(line) {
                                *sum = $add(*sum, vector, factor);
                            }
                        }
                    }
                    for (i, sums) in sums.into_iter().enumerate() {
                        let out = &mut out[(first + i) * stride + column..][..2 * LANES];
                        for (sum, out) in sums.into_iter().zip(out.chunks_exact_mut(LANES)) {
                            // SAFETY: the places are as many as the lanes of the vector.
                            unsafe { $store(out.as_mut_ptr().cast(), sum) };
                        }
                    }
                }
            }
        }
    };
}

tile!(
    /// Two terms at a time, in vectors of 256 bits.
    narrow_pairs, "avx2", __m256i, 4,
    [_mm256_setzero_si256, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_storeu_si256],
    |sum, vector, factor| _mm256_add_epi32(sum, _mm256_madd_epi16(vector, factor))
);
tile!(
    /// Two terms at a time, in vectors of 512 bits.
    pairs, "avx512f,avx512bw", __m512i, 8,
    [_mm512_setzero_si512, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512],
    |sum, vector, factor| _mm512_add_epi32(sum, _mm512_madd_epi16(vector, factor))
);
tile!(
    /// Four terms at a time.
    quads, "avx512f,avx512vnni", __m512i, 8,
    [_mm512_setzero_si512, _mm512_loadu_si512, _mm512_set1_epi32, _mm512_storeu_si512],
    |sum, vector, factor| _mm512_dpbusd_epi32(sum, vector, factor)
);
