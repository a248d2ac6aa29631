//! How far a device reads beyond its own piece.
use super::axes::piece;
use crate::tuning::MAX_HALO_PIECES;
use tpu_ops::factors::{Bounds, Factors, Reach};

/// What a device reads of an operand along one axis, when its pieces and those of the operation are
/// as long on every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Halo {
    /// Elements before the piece, and behind it.
    pub(super) beside: [i64; 2],
    /// Where what is read begins in the piece with these: on the first device, and how much further
    /// on each next one.
    pub(super) start: i64,
    pub(super) step: i64,
    /// How many elements are read.
    pub(super) length: i64,
    /// Padding of the operation over them.
    pub(super) edges: [i64; 2],
    /// The place of the first element that is read in the whole operand: on the first device, and
    /// how much further on each next one.
    pub(super) place: [i64; 2],
}

/// Devices whose pieces a device reads along an axis of so many, on either side: more is a gather.
fn furthest(devices: i64) -> i64 {
    (devices / 2).clamp(1, MAX_HALO_PIECES)
}

impl Halo {
    /// That of an operand of which an operation with `size` indices reads so, over so many devices;
    /// `None` where it needs too much of the other pieces.
    pub(super) fn of(reach: &Reach, size: i64, devices: i64) -> Option<Self> {
        if reach.size < 1 || size < 1 || devices < 1 || reach.size > i64::from(i32::MAX) / 2 {
            return None;
        }
        let (had, own) = (piece(reach.size, devices), piece(size, devices));
        let stepped = own.checked_mul(reach.stride)?;
        let read = (own - 1).checked_mul(reach.stride)?.checked_add(reach.extent)?;
        let spread = had.checked_mul(reach.spread)?;
        let first = reach.offset;
        // From the piece's begin to what is read, on the first device and on the last one.
        let last = (devices - 1).checked_mul(stepped.checked_sub(spread)?)?.checked_add(first)?;
        let near = |count: i64| count <= had.saturating_mul(furthest(devices));
        let places = |at: i64| at.div_euclid(reach.spread);
        let before = (-places(first.min(last))).max(0);
        let end = first.max(last).checked_add(read)?;
        let behind = (places(end - 1) - had + 1).max(0);
        if !near(before) || !near(behind) {
            return None;
        }
        if reach.spread == 1 {
            return Some(Self {
                beside: [before, behind],
                start: first + before,
                step: stepped - had,
                length: read,
                edges: [0, 0],
                place: [first, stepped],
            });
        }
        if stepped != spread || reach.size % devices != 0 {
            return None;
        }
        let all = before + had + behind;
        let low = -(first + before * reach.spread);
        let high = read - (all - 1) * reach.spread - 1 - low;
        let place = [-before, had];
        Some(Self {
            beside: [before, behind],
            start: 0,
            step: 0,
            length: all,
            edges: [low, high],
            place,
        })
    }
}

/// Whether what an operation with `size` indices reads goes past the ends of the operand.
pub(super) fn overhangs(reach: &Reach, size: i64) -> bool {
    let end = (size - 1).saturating_mul(reach.stride).saturating_add(reach.offset);
    let whole = (reach.size - 1).saturating_mul(reach.spread);
    reach.offset < 0 || end.saturating_add(reach.extent) > whole.saturating_add(1)
}

/// Whether the pieces of a factor may be made by so many devices.
pub(super) fn feasible(factors: &Factors, factor: usize, devices: i64) -> bool {
    let size = factors.factors[factor].size;
    let mut reaches = factors.reaches.iter().filter(|reach| reach.factor == factor);
    let own = piece(size, devices.max(1));
    reaches.all(|reach| match reach.bounds {
        Bounds::Places => beside(reach, size, devices).is_some() || reach.size <= own,
        _ => Halo::of(reach, size, devices).is_some(),
    })
}

/// What is read of an operand that lies beside others, where it is split as the result is.
pub(super) fn beside(reach: &Reach, size: i64, devices: i64) -> Option<Halo> {
    Halo::of(reach, size, devices).filter(|_| reach.size > devices)
}
