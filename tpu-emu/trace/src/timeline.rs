//! Bytes in use over time: each step, or a few of them that keep the extremes.
use crate::history::SpaceHistory;
use serde::Serialize;

/// How full a space was from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Nanoseconds since the start of the machine.
    pub time: u64,
    /// Bytes in use.
    pub in_use: u64,
    /// How many changes were made by then.
    pub changes: u64,
}

/// How full a space was after each of its changes.
pub fn steps(space: &SpaceHistory) -> impl Iterator<Item = Point> + '_ {
    let changes = 1_u64..;
    let points = changes.zip(space.times.iter().zip(&space.in_use));
    points.map(|(changes, (&time, &in_use))| Point { time, in_use, changes })
}

/// About so many points: of equal parts of the changes the first, the least, the most and the
/// last, in their order. The peak, the start and the end are always among them.
pub fn reduced(space: &SpaceHistory, points: usize) -> Vec<Point> {
    let count = space.order.len();
    let point = |at: usize| Point {
        time: space.times[at],
        in_use: space.in_use[at],
        changes: at as u64 + 1,
    };
    if count <= points.max(4) {
        return (0..count).map(point).collect();
    }
    let parts = (points / 4).max(1);
    let mut kept = Vec::with_capacity(4 * parts);
    for part in 0..parts {
        let range = part * count / parts..(part + 1) * count / parts;
        let (first, last) = (range.start, range.end - 1);
        let (mut least, mut most) = (first, first);
        for at in range {
            if space.in_use[at] < space.in_use[least] {
                least = at;
            }
            if space.in_use[at] > space.in_use[most] {
                most = at;
            }
        }
        let mut of = [first, least, most, last];
        of.sort_unstable();
        kept.extend(of);
    }
    kept.dedup();
    kept.into_iter().map(point).collect()
}
