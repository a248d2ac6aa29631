//! What of a chip's temporaries lies in the memory of its core, and takes no HBM.
//!
//! The compiler keeps there what was made last and is read soon, and copies to HBM what must stay
//! longer (`copy-start`). Images of convolutions that it has room for lie there at all moments that
//! were looked at, two or three at a time; arrays of other programs do as well, but plans here lack
//! about as much of what a chip stores of these.
//!
//! Arrays that fill a plan of one device lie there too, as layers of perceptrons do.
//!
//! Source: the buffers of libtpu 0.0.51 at the peaks of some twenty steps of image models on a v5e, and
//! its peaks of 26 steps of perceptrons.
use crate::executable::charge::{Charge, MIN_BYTES};
use crate::executable::stored_array::CORE_BYTES;
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_u64};
use tpu_program::lifetimes::levels;
use tpu_program::plan::{ArenaSlot, Plan};

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

/// Bytes of whole arrays for which there is room, of so many bytes each.
fn room_for_whole(bytes: u64) -> u64 {
    ROOM_FOR_IMAGES / bytes * bytes
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
        let whole = fits(&there).then(|| room_for_whole(there.1));
        all.saturating_sub(whole.map_or(0, |whole| whole.min(there.0)))
    });
    left.max().map(|left| left.max(in_core))
}

/// Of what is there where a plan holds most, the share that has 16 bits, in percent, of which nothing
/// is known between these: then arrays of f32 were rounded for products, and a plan lacks about as much
/// as the core holds.
const SHARES_OF_ROUNDED: RangeInclusive<u64> = 15..=60;

/// What a plan of one device that has all to itself is charged with: rows of its arrays may lie in the
/// memory of the core.
pub(in crate::executable) fn with_rows_in_core(mut charge: Charge, plan: &Plan) -> Charge {
    let charged = to_u64(charge.of(plan.arena));
    if charge.in_core.0 == 0
        && let Some(left) = rows_left_in_hbm(plan, charged)
    {
        charge.in_core = Bytes(charged - left);
    }
    charge
}

/// The most that is left in HBM of what a device is charged with, if arrays that the core has room for
/// fill a plan: what is left, or what lies in the core, if that is more.
fn rows_left_in_hbm(plan: &Plan, charged: u64) -> Option<u64> {
    if is_little(charged) {
        return None;
    }
    let arrays = || plan.slots.iter().filter(|slot| to_u64(slot.bytes) >= MIN_BYTES);
    let levels = levels(arrays().map(ArenaSlot::life));
    let (fullest, all) = levels.max_by_key(|&(position, level)| (level, Reverse(position)))?;
    let all = to_u64(all);
    let there = || arrays().filter(|slot| (slot.first..=slot.last).contains(&fullest));
    let is_half = |slot: &&ArenaSlot| {
        slot.shape.as_ref().is_some_and(|of| matches!(of.dtype, DType::Bf16 | DType::F16))
    };
    let halves: u64 = there().filter(is_half).map(|slot| to_u64(slot.bytes)).sum();
    let largest = there().map(|slot| to_u64(slot.bytes)).max()?;
    let fills = all >= charged / 4 * 3 && !SHARES_OF_ROUNDED.contains(&(halves * 100 / all));
    (fills && largest <= LARGEST_IMAGE)
        .then(|| charged.saturating_sub(room_for_whole(largest)).max(charged.min(ROOM)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::Shape;
    use tpu_base::units::to_usize;
    use tpu_stablehlo::ir::LocationId;

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
    fn whole_rows_lie_in_the_core_and_the_others_in_hbm() {
        let some_left = |dtypes: [DType; 2], arrays: &[u64]| {
            let slot = |(at, mib): (usize, &u64)| ArenaSlot {
                offset: 0,
                bytes: to_usize(mib * MIB),
                first: at,
                last: arrays.len(),
                shape: Some(Shape::new(dtypes[at % 2], vec![1])),
                name: "stablehlo.dot_general".into(),
                location: LocationId::UNKNOWN,
            };
            let slots = arrays.iter().enumerate().map(slot).collect();
            let all = arrays.iter().sum::<u64>() * MIB;
            let mut plan = Plan::default();
            plan.slots = slots;
            rows_left_in_hbm(&plan, all).map(|left| left / MIB)
        };
        let left = |dtype: DType, arrays: &[u64]| some_left([dtype; 2], arrays);
        assert_eq!(left(DType::Bf16, &[32; 8]), Some(6 * 32));
        assert_eq!(left(DType::Bf16, &[16; 9]), Some(112), "what the core holds");
        assert_eq!(left(DType::Bf16, &[48; 4]), Some(3 * 48), "one that has room");
        assert_eq!(left(DType::Bf16, &[64; 4]), None, "none that has room");
        assert_eq!(left(DType::F32, &[32; 8]), Some(6 * 32));
        assert_eq!(left(DType::Bf16, &[16; 3]), None, "little");
        assert_eq!(left(DType::Bf16, &[]), None, "nothing");
        assert_eq!(rows_left_in_hbm(&Plan::default(), 512 * MIB), None, "what no plan has");
        assert_eq!(some_left([DType::F32, DType::Bf16], &[32; 8]), None, "rounded");
    }

    #[test]
    fn images_count_while_they_are_there() {
        let level = [64, 160, 64].map(|of| of * MIB);
        let lives = [(0, 1, 32 * MIB), (1, 2, 32 * MIB)];
        assert_eq!(left_in_hbm(&level, lives.into_iter()), Some(96 * MIB));
    }
}
