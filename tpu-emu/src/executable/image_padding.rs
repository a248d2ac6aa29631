//! What images of convolutions take beyond their elements: a chip lays them with features or
//! images in the lanes of tiles, which these may not fill, and all that is made of them element by
//! element lies like them.
//!
//! Source: what libtpu 0.0.51 says of steps of training with 8 to 192 features on a v5e.
use super::charge::{Charged, LaidAnew, MIN_BYTES};
use super::stored_array::Array;
use crate::hbm::layout::{Layout, TileRules};
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_u64};
use tpu_placement::fullest;
use tpu_program::plan::{ArenaSlot, Plan};
use tpu_stablehlo::ir::Operation;

/// The extents of images of convolutions.
#[derive(Debug, Default)]
pub(super) struct Images {
    /// The axes of images and features, and the type of their elements.
    convolved: HashMap<Vec<u64>, ([usize; 2], DType)>,
    /// The order of the axes where features are taken apart into groups, the fastest first.
    grouped: HashMap<Vec<u64>, Vec<usize>>,
}

impl Images {
    pub(super) fn is_empty(&self) -> bool {
        self.convolved.is_empty()
    }

    /// Whether arrays with these extents are images.
    pub(super) fn contains(&self, dims: &[u64]) -> bool {
        self.convolved.contains_key(dims)
    }

    /// Whether an array is an image as a convolution has it.
    pub(super) fn are_made_as(&self, array: &Array) -> bool {
        self.convolved.get(&array.dims).is_some_and(|&(_, dtype)| dtype == array.dtype)
    }

    /// Whether an array is an image that is rounded for a convolution.
    pub(super) fn narrows(&self, array: &Array) -> bool {
        let is_rounded = |dtype| dtype == DType::F32 && array.dtype == DType::Bf16;
        self.convolved.get(&array.dims).is_some_and(|&(_, dtype)| is_rounded(dtype))
    }

    /// Notes the axes of images and features of a side of a convolution.
    pub(super) fn note(&mut self, of: &Array, axes: [usize; 2]) {
        self.convolved.entry(of.dims.clone()).or_insert((axes, of.dtype));
    }

    /// Notes how images with their features in groups lie.
    pub(super) fn note_groups(&mut self, dims: &[u64], layout: &Layout) {
        if layout.minor_to_major.len() == dims.len() {
            self.grouped.entry(dims.to_vec()).or_insert_with(|| layout.minor_to_major.clone());
        }
    }

    /// How an image lies whose features do not fill lanes.
    pub(super) fn stored(&self, rules: TileRules, array: &Array) -> Option<(Bytes, Layout)> {
        match self.convolved.get(&array.dims) {
            Some(&(axes, _)) => array.as_images(rules, axes),
            None => array.in_order(rules, self.grouped.get(&array.dims)?),
        }
    }
}

/// A temporary with what a chip takes for it.
pub(super) struct Temporary<'a> {
    pub(super) slot: &'a ArenaSlot,
    pub(super) bytes: u64,
    /// The array and its layout, of an image.
    image: Option<(Array, Layout)>,
}

impl Temporary<'_> {
    fn dense(&self) -> u64 {
        to_u64(self.slot.bytes)
    }

    /// Whether a rule holds for it as an array.
    pub(super) fn is(&self, rule: impl Fn(&Array) -> bool) -> bool {
        Array::in_slot(self.slot).is_some_and(|array| rule(&array))
    }

    /// Whether it is there at a position.
    pub(super) fn lives(&self, position: u64) -> bool {
        (to_u64(self.slot.first)..=to_u64(self.slot.last)).contains(&position)
    }
}

/// What temporaries take beyond their elements where they take most; `None` where that is little.
pub(super) fn of(all: &[Temporary<'_>]) -> Option<LaidAnew> {
    let dense = most(all, |of| of.dense())?.1;
    let (position, most) = most(all, |of| of.bytes)?;
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

/// The temporaries of a plan as a chip lays them, some of them so as is told of an array.
pub(super) fn temporaries(
    plan: &Plan,
    stored: impl Fn(&Array) -> Option<(Bytes, Layout)>,
) -> Vec<Temporary<'_>> {
    plan.slots.iter().map(|slot| padded(slot, &stored)).collect()
}

/// Those that are there where all together take most.
pub(super) fn at_most<'t, 'a>(all: &'t [Temporary<'a>]) -> impl Iterator<Item = &'t Temporary<'a>> {
    let position = most(all, |of| of.bytes).map(|(position, _)| position);
    all.iter().filter(move |of| position.is_some_and(|position| of.lives(position)))
}

/// Where temporaries take most together, and how much.
fn most(all: &[Temporary<'_>], bytes: impl Fn(&Temporary<'_>) -> u64) -> Option<(u64, u64)> {
    let lives = |of: &Temporary<'_>| (to_u64(of.slot.first), to_u64(of.slot.last), bytes(of));
    let position = fullest(all.iter().map(lives))?;
    let living = all.iter().filter(|of| of.lives(position));
    Some((position, living.fold(0, |sum: u64, of| sum.saturating_add(bytes(of)))))
}

/// A temporary as a chip lays it.
fn padded<'a>(
    slot: &'a ArenaSlot,
    stored: &impl Fn(&Array) -> Option<(Bytes, Layout)>,
) -> Temporary<'a> {
    let dense = to_u64(slot.bytes);
    let stored = Array::in_slot(slot).and_then(|array| {
        let (bytes, layout) = stored(&array)?;
        Some((bytes, array, layout))
    });
    match stored {
        Some((bytes, array, layout)) => {
            Temporary { slot, bytes: bytes.0.max(dense), image: Some((array, layout)) }
        }
        None => Temporary { slot, bytes: dense, image: None },
    }
}

/// The axis that an attribute of a convolution names.
pub(super) fn axis(operation: &Operation, name: &str) -> Option<usize> {
    usize::try_from(operation.attributes.integer(name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::tensor::Shape;
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
        let mut images = Images::default();
        images.note(&Array { dtype: DType::F32, dims: dims.to_vec() }, [0, 3]);
        let found = of(&temporaries(&plan, |array| images.stored(TileRules::V4, array)))?;
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
