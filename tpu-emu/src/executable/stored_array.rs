//! Arrays as a chip stores them where it lays them anew, and the bytes that they take padded.
use crate::hbm::layout::{Layout, TileRules, default_layout, explicit_layout, padded_bytes};
use tpu_base::tensor::{DType, Shape, dtype::DeviceElement};
use tpu_base::units::{Bytes, to_u64, to_usize};
use tpu_program::import::element_type;
use tpu_program::plan::{ArenaSlot, Plan};
use tpu_stablehlo::ir::{Function, Value};

/// Lanes of a tile.
pub(super) const LANES: u64 = 128;
/// Sublanes of a tile of 32-bit elements.
pub(super) const SUBLANES: u64 = 8;
/// What the memory of a core holds, of which a chip's temporaries have no part.
pub(super) const CORE_BYTES: u64 = 128 << 20;

/// An array: its element type and its extents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Array {
    /// The type of an element.
    pub(super) dtype: DType,
    /// The extents.
    pub(super) dims: Vec<u64>,
}

impl Array {
    /// A value of static extents with elements in it.
    pub(super) fn of(function: &Function, value: Value) -> Option<Self> {
        let of = function.type_of(value).tensor()?;
        let dtype = element_type(of.element).ok()?;
        let dims: Vec<u64> =
            of.dims.iter().map(|&dim| u64::try_from(dim).ok()).collect::<Option<_>>()?;
        dims.iter().all(|&dim| dim > 0).then_some(Self { dtype, dims })
    }

    /// The array in a slot of a plan, if it is one.
    pub(super) fn in_slot(slot: &ArenaSlot) -> Option<Self> {
        slot.shape.as_ref().map(Self::of_shape)
    }

    /// The array of a shape, which has elements.
    fn of_shape(shape: &Shape) -> Self {
        Self { dtype: shape.dtype, dims: shape.dims.iter().map(|&dim| to_u64(dim)).collect() }
    }

    /// The element as devices count it.
    pub(super) fn element(&self) -> DeviceElement {
        self.dtype.element()
    }

    /// The bytes of its elements, without padding.
    pub(super) fn dense(&self) -> u64 {
        let bits = u64::from(self.element().bits);
        self.dims.iter().fold(bits, |all, &dim| all.saturating_mul(dim)).div_ceil(8)
    }

    /// Whether at most one of its axes has several elements.
    pub(super) fn is_line(&self) -> bool {
        self.dims.iter().filter(|&&dim| dim > 1).count() < 2
    }

    /// The bytes with the axes in this order, the fastest first, and the layout.
    pub(super) fn in_order(&self, rules: TileRules, order: &[usize]) -> Option<(Bytes, Layout)> {
        let layout = explicit_layout(rules, self.element(), &self.dims, order).ok()?;
        let bytes = padded_bytes(self.element(), &self.dims, &layout).ok()?;
        Some((bytes, layout))
    }

    /// The bytes in rows, and the layout. Rows of one element are a line of them.
    pub(super) fn in_rows(&self, rules: TileRules) -> Option<(Bytes, Layout)> {
        if self.dims.last() == Some(&1) {
            return self.by_default(rules);
        }
        let order: Vec<usize> = (0..self.dims.len()).rev().collect();
        self.in_order(rules, &order)
    }

    /// The bytes in rows if these need more than the default layout does.
    pub(super) fn in_padded_rows(&self, rules: TileRules) -> Option<(Bytes, Layout)> {
        let rows = self.in_rows(rules)?;
        let default = default_layout(rules, self.element(), &self.dims).ok()?;
        let least = padded_bytes(self.element(), &self.dims, &default).ok()?;
        (rows.0 > least).then_some(rows)
    }

    /// The bytes with the first axis as the slowest and the two fastest axes that need least padding,
    /// and the layout.
    pub(super) fn as_slices(&self, rules: TileRules) -> Option<(Bytes, Layout)> {
        let inner = 1..self.dims.len();
        let pairs = inner.clone().rev().flat_map(|fastest| {
            inner
                .clone()
                .rev()
                .filter(move |&next| next != fastest)
                .map(move |next| [fastest, next])
        });
        let order = |pair: [usize; 2]| {
            let rest = (0..self.dims.len()).rev().filter(move |axis| !pair.contains(axis));
            pair.into_iter().chain(rest).collect::<Vec<_>>()
        };
        pairs.filter_map(|pair| self.in_order(rules, &order(pair))).min_by_key(|of| of.0)
    }

    /// The bytes in the default layout, and the layout.
    pub(super) fn by_default(&self, rules: TileRules) -> Option<(Bytes, Layout)> {
        let layout = default_layout(rules, self.element(), &self.dims).ok()?;
        let bytes = padded_bytes(self.element(), &self.dims, &layout).ok()?;
        Some((bytes, layout))
    }

    /// What is less of images and features as the fastest axis, the other one next to it; nothing
    /// where the features fill tiles.
    pub(super) fn as_images(
        &self,
        rules: TileRules,
        [image, feature]: [usize; 2],
    ) -> Option<(Bytes, Layout)> {
        let features = *self.dims.get(feature)?;
        if image == feature || image >= self.dims.len() || features.is_multiple_of(LANES) {
            return None;
        }
        let spatial: Vec<usize> =
            (0..self.dims.len()).rev().filter(|&axis| axis != image && axis != feature).collect();
        let by_image = [&[image, feature], &spatial[..]].concat();
        let by_feature = [&[feature], &spatial[..], &[image]].concat();
        let both = [by_image, by_feature];
        both.iter().filter_map(|order| self.in_order(rules, order)).min_by_key(|of| of.0)
    }

    /// What rows need of which slices are taken: nothing where they lie in rows already, or where
    /// the memory of the core has room for them, and no padding where it has room without. A matrix
    /// goes without only if padding is much of it.
    pub(super) fn as_table(&self, rules: TileRules, use_of: TableUse) -> u64 {
        let rows = self.in_padded_rows(rules).map_or(0, |(bytes, _)| bytes.0);
        let dense = self.dense();
        let fits = dense <= CORE_BYTES;
        let goes_without = match use_of {
            _ if self.dims.len() != 2 => fits,
            TableUse::LookedUp => fits && rows > 2 * dense && rows >= 2 * CORE_BYTES,
            TableUse::Updated => rows > 2 * dense && rows >= 6 * CORE_BYTES,
        };
        match dense {
            _ if rows < CORE_BYTES || (self.dims.len() != 2 && rows == CORE_BYTES) => 0,
            dense if goes_without => dense,
            _ => rows,
        }
    }
}

/// What is done to a table of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableUse {
    /// Rows are looked up and nothing else.
    LookedUp,
    /// Rows are added to it, or it is updated as a whole.
    Updated,
}

/// The bytes of a stored array, if there is one.
pub(super) fn bytes_of(stored: Option<&(Bytes, Layout)>) -> u64 {
    stored.map_or(0, |(bytes, _)| bytes.0)
}

/// More bytes beside a stored array.
fn with(stored: Option<(Bytes, Layout)>, more: u64) -> Option<(Bytes, Layout)> {
    stored.map(|(bytes, layout)| (Bytes(bytes.0.saturating_add(more)), layout))
}

/// What a reshape stores. An axis that it keeps can be the fastest one of both sides: then only
/// the order changes. Otherwise both sides lie in rows, where a parameter may lie already.
pub(super) fn reshaped(
    rules: TileRules,
    (from, is_given): (&Array, bool),
    to: &Array,
) -> Option<(Bytes, Layout)> {
    let kept = kept_axes(&from.dims, &to.dims);
    let moves = |of: &Array| !of.is_line();
    let whole = |of: &Array| {
        let mut last = of.dims.iter().rev().filter(|&&dim| dim > 1);
        let lanes = last.next().is_none_or(|&dim| dim == LANES);
        lanes && last.next().is_none_or(|&dim| dim.is_multiple_of(SUBLANES))
    };
    match (moves(from), moves(to)) {
        (false, false) => return None,
        // A line has the elements of its tiles side by side.
        (false, true) if whole(to) => return None,
        (true, false) if whole(from) => return None,
        _ => {}
    }
    if let (Some(&a), Some(&b)) = (kept.last(), from.dims.iter().rposition(|&d| d > 1).as_ref())
        && a.0 == b
    {
        // The fastest axis stays. So do the tiles, if the next one has whole ones.
        let next = |of: &Array, axis: usize| {
            of.dims[..axis].iter().rev().find(|&&dim| dim > 1).copied().unwrap_or(1)
        };
        let (one, two) = (next(from, a.0), next(to, a.1));
        let same = one == two || (one.is_multiple_of(SUBLANES) && two.is_multiple_of(SUBLANES));
        if same {
            return None;
        }
    }
    let side = |of: &Array| moves(of).then(|| of.in_rows(rules)).flatten();
    let lies_so = is_given && from.in_padded_rows(rules).is_none();
    let in_rows = match (side(from).filter(|_| !lies_so), side(to)) {
        (Some((bytes, _)), to) => with(to, bytes.0).or(side(from)),
        (None, to) => to,
    };
    let by_kept = kept.iter().filter_map(|&(first, axis)| {
        let ordered = |of: &Array, axis: usize| {
            let mut order: Vec<usize> = (0..of.dims.len()).rev().filter(|&at| at != axis).collect();
            order.insert(0, axis);
            order
        };
        let stored = to.in_order(rules, &ordered(to, axis));
        let next = |of: &Array, axis: usize| {
            let others =
                of.dims.iter().enumerate().rev().filter(|&(at, &dim)| at != axis && dim > 1);
            others.map(|(_, &dim)| dim).next().unwrap_or(1)
        };
        let (one, two) = (next(from, first), next(to, axis));
        if one <= two || two.is_multiple_of(SUBLANES) {
            return stored;
        }
        // Other tiles along the next axis: it is laid so first, and taken apart then.
        let (Bytes(more), _) = from.in_order(rules, &ordered(from, first))?;
        with(stored, if more >= CORE_BYTES { more } else { 0 })
    });
    in_rows.into_iter().chain(by_kept).min_by_key(|(bytes, _)| *bytes)
}

/// The axes of more than one element that a reshape keeps as they are, in both shapes.
pub(super) fn kept_axes(from: &[u64], to: &[u64]) -> Vec<(usize, usize)> {
    let real = |dims: &[u64]| -> Vec<(usize, u64)> {
        dims.iter().copied().enumerate().filter(|&(_, dim)| dim > 1).collect()
    };
    let (from, to) = (real(from), real(to));
    let (mut a, mut b) = (0, 0);
    let mut kept = Vec::new();
    while a < from.len() && b < to.len() {
        let (first, second) = (a, b);
        let (mut left, mut right) = (u128::from(from[a].1), u128::from(to[b].1));
        while left != right {
            let more = if left < right { from.get(a + 1) } else { to.get(b + 1) };
            let Some(&(_, more)) = more else { return kept };
            if left < right {
                (a, left) = (a + 1, left.saturating_mul(more.into()));
            } else {
                (b, right) = (b + 1, right.saturating_mul(more.into()));
            }
        }
        if (a, b) == (first, second) {
            kept.push((from[a].0, to[b].0));
        }
        (a, b) = (a + 1, b + 1);
    }
    kept
}
/// Bytes of a plan's constants as a device has them: the larger ones in their default layouts.
pub(super) fn constant_bytes(plan: &Plan, rules: TileRules) -> usize {
    let padding = |shape: &Shape| {
        let array = Array::of_shape(shape);
        array.by_default(rules).map_or(0, |(bytes, _)| bytes.0.saturating_sub(array.dense()))
    };
    let padding = plan.constants.iter().map(padding).fold(0_u64, u64::saturating_add);
    plan.pool.len().saturating_add(to_usize(padding))
}
