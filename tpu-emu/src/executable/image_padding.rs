//! What images of convolutions take beyond their elements: a chip lays them with features or
//! images in the lanes of tiles, which these may not fill, and all that is made of them element by
//! element lies like them.
//!
//! Source: what libtpu 0.0.51 says of steps of training with 8 to 192 features on a v5e.
use super::laid_anew::{Charged, LaidAnew, MIN_BYTES};
use super::stored_array::Array;
use crate::hbm::layout::{Layout, TileRules};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::units::{Bytes, to_u64};
use tpu_placement::fullest;
use tpu_program::plan::{ArenaSlot, Plan};
use tpu_stablehlo::ir::Operation;

/// The axes of images and features of arrays with these extents.
pub(super) type Images = HashMap<Vec<u64>, [usize; 2]>;

/// A temporary with what a chip takes for it.
struct Padded<'a> {
    slot: &'a ArenaSlot,
    bytes: u64,
    /// The array and its layout, of an image.
    image: Option<(Array, Layout)>,
}

impl Padded<'_> {
    fn dense(&self) -> u64 {
        to_u64(self.slot.bytes)
    }

    fn lives(&self, position: u64) -> bool {
        (to_u64(self.slot.first)..=to_u64(self.slot.last)).contains(&position)
    }
}

/// What the temporaries of a plan take beyond their elements where it takes most; `None` where that
/// is little.
pub(super) fn of(images: &Images, rules: TileRules, plan: &Plan) -> Option<LaidAnew> {
    if images.is_empty() {
        return None;
    }
    let all: Vec<Padded<'_>> = plan.slots.iter().map(|slot| padded(images, rules, slot)).collect();
    let dense = most(&all, |of| of.dense())?.1;
    let (position, most) = most(&all, |of| of.bytes)?;
    let bytes = most.saturating_sub(dense);
    let living = all.iter().filter(|of| of.lives(position));
    let largest = living.max_by_key(|of| of.bytes.saturating_sub(of.dense()))?;
    let (array, layout) = largest.image.as_ref()?;
    (bytes >= MIN_BYTES).then(|| LaidAnew {
        bytes: Bytes(bytes),
        others: 0,
        place: Charged::Beside(position),
        dtype: array.dtype,
        dims: array.dims.clone(),
        layout: layout.to_string().into(),
        name: Arc::clone(&largest.slot.name),
        location: largest.slot.location,
    })
}

/// Where temporaries take most together, and how much.
fn most(all: &[Padded<'_>], bytes: impl Fn(&Padded<'_>) -> u64) -> Option<(u64, u64)> {
    let lives = |of: &Padded<'_>| (to_u64(of.slot.first), to_u64(of.slot.last), bytes(of));
    let position = fullest(all.iter().map(lives))?;
    let living = all.iter().filter(|of| of.lives(position));
    Some((position, living.fold(0, |sum: u64, of| sum.saturating_add(bytes(of)))))
}

/// A temporary as a chip lays it.
fn padded<'a>(images: &Images, rules: TileRules, slot: &'a ArenaSlot) -> Padded<'a> {
    let dense = to_u64(slot.bytes);
    let stored = slot.shape.as_ref().and_then(|shape| {
        let dims: Vec<u64> = shape.dims.iter().map(|&dim| to_u64(dim)).collect();
        let axes = *images.get(&dims)?;
        let array = Array { dtype: shape.dtype, dims };
        let (bytes, layout) = array.as_images(rules, axes)?;
        Some((bytes, array, layout))
    });
    match stored {
        Some((bytes, array, layout)) => {
            Padded { slot, bytes: bytes.0.max(dense), image: Some((array, layout)) }
        }
        None => Padded { slot, bytes: dense, image: None },
    }
}

/// The axis that an attribute of a convolution names.
pub(super) fn axis(operation: &Operation, name: &str) -> Option<usize> {
    usize::try_from(operation.attributes.integer(name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::{DType, Shape};
    use tpu_stablehlo::ir::LocationId;

    /// What is charged beside arrays of these extents and lives for a convolution of so many images
    /// and features.
    fn charged([images, features]: [usize; 2], lives: &[(&[usize], usize, usize)]) -> Option<u64> {
        let dims = [images, 96, 96, features].map(to_u64);
        let slot = |&(dims, first, last): &(&[usize], usize, usize)| {
            let shape = Shape::new(DType::F32, dims.to_vec());
            let (offset, bytes) = (0, shape.bytes());
            let (name, location) = ("convolution".into(), LocationId::UNKNOWN);
            ArenaSlot { offset, bytes, first, last, shape: Some(shape), name, location }
        };
        let mut plan = Plan::default();
        plan.slots.extend(lives.iter().map(slot));
        let images = Images::from([(dims.to_vec(), [0, 3])]);
        let found = of(&images, TileRules::V4, &plan)?;
        assert!(matches!(found.place, Charged::Beside(_)));
        Some(found.bytes.0)
    }

    #[test]
    fn all_images_that_live_together_are_padded() {
        let half = 16 * 96 * 96 * 64 * 4;
        let image: &[usize] = &[16, 96, 96, 64];
        assert_eq!(
            charged([16, 64], &[(image, 0, 3), (image, 2, 5), (image, 4, 6)]),
            Some(2 * half)
        );
        // What is no image takes what it takes, and may be there when they are not.
        let other: &[usize] = &[16 * 96 * 96 * 64];
        assert_eq!(charged([16, 64], &[(image, 0, 3), (other, 1, 2)]), Some(half));
        assert_eq!(charged([16, 64], &[(image, 0, 3), (other, 5, 6), (other, 5, 6)]), None);
        assert_eq!(charged([16, 64], &[(other, 0, 1)]), None);
    }

    #[test]
    fn features_or_images_that_fill_lanes_need_no_padding() {
        for of in [[16, 128], [128, 64], [256, 8]] {
            let image: &[usize] = &[of[0], 96, 96, of[1]];
            assert_eq!(charged(of, &[(image, 0, 3)]), None);
        }
        let image: &[usize] = &[16, 96, 96, 192];
        assert_eq!(charged([16, 192], &[(image, 0, 3)]), Some(16 * 96 * 96 * 64 * 4));
    }
}
