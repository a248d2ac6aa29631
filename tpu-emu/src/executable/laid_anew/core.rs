//! What of a chip's temporaries lies in the memory of its core, and takes no HBM.
//!
//! The compiler keeps there what was made last and is read soon, and copies to HBM what must stay
//! longer (`copy-start`). Images of convolutions that it has room for lie there at all moments that
//! were looked at, two or three at a time; arrays of other programs do as well, but plans here lack
//! about as much of what a chip stores of these.
//!
//! Source: the buffers of libtpu 0.0.51 at the peaks of some twenty steps of image models on a v5e.
use crate::executable::charge::MIN_BYTES;
use crate::executable::stored_array::CORE_BYTES;

/// The first and the last position where an array is there, and its bytes.
type Life = (usize, usize, u64);

/// Bytes of images at a moment that takes most, which leave room for weights and for what the
/// operation itself needs.
const ROOM_FOR_IMAGES: u64 = 80 << 20;
/// Bytes of the largest image at a moment at which some lie there.
const LARGEST_IMAGE: u64 = 56 << 20;
/// Bytes of all that can lie there, without what the operation itself needs.
pub(super) const ROOM: u64 = CORE_BYTES - (16 << 20);
/// Bytes of a program of which those are not counted that lie in the core; of less, they are.
pub(super) const MUCH: u64 = 196 << 20;

/// Whether so many bytes are planned well enough as they are.
pub(super) fn is_little(all: u64) -> bool {
    all <= ROOM / 2
}

/// The most that is left in HBM of what is there at each position, images with these lives among it,
/// or what lies in the core at most, if that is more; `None` where there are no such images, and
/// where all that is there is little.
pub(super) fn left_in_hbm(level: &[u64], images: impl Iterator<Item = Life>) -> Option<u64> {
    if level.iter().all(|&all| is_little(all)) {
        return None;
    }
    let mut there = vec![(0_u64, 0_u64); level.len()];
    for (first, last, bytes) in images {
        for (sum, largest) in there.iter_mut().take(last + 1).skip(first) {
            (*sum, *largest) = (sum.saturating_add(bytes), bytes.max(*largest));
        }
    }
    let fits = |&&(_, largest): &&(u64, u64)| (MIN_BYTES..=LARGEST_IMAGE).contains(&largest);
    let in_core = there.iter().filter(fits).map(|&(sum, _)| sum.min(ROOM)).max()?;
    let left = level.iter().zip(&there).map(|(&all, there)| {
        let whole = fits(&there).then(|| ROOM_FOR_IMAGES / there.1 * there.1);
        all.saturating_sub(whole.map_or(0, |whole| whole.min(there.0)))
    });
    left.max().map(|left| left.max(in_core))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What is left of images of so many MiB, all there at one moment, and of others.
    fn left(images: &[u64], others: u64) -> Option<u64> {
        let level = [images.iter().sum::<u64>() + others].map(|of| of * MIB);
        let left = left_in_hbm(&level, images.iter().map(|of| (0, 0, of * MIB)));
        left.map(|left| left / MIB)
    }

    #[test]
    fn whole_images_lie_in_the_core_and_the_others_in_hbm() {
        assert_eq!(left(&[32; 8], 16), Some(8 * 32 + 16 - 2 * 32));
        assert_eq!(left(&[48; 4], 0), Some(3 * 48), "one that has room");
        assert_eq!(left(&[64; 4], 0), None, "images without room");
        assert_eq!(left(&[32, 32, 64], 0), None, "beside larger ones");
        assert_eq!(left(&[], 512), None, "no images");
        assert_eq!(left(&[16; 3], 0), None, "little");
        // What lies in the core counts where that is more than what is left.
        assert_eq!(left(&[32; 3], 0), Some(96));
    }

    #[test]
    fn images_count_while_they_are_there() {
        let level = [64, 160, 64].map(|of| of * MIB);
        let lives = [(0, 1, 32 * MIB), (1, 2, 32 * MIB)];
        assert_eq!(left_in_hbm(&level, lives.into_iter()), Some(96 * MIB));
    }
}
