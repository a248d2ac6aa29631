//! Where in a program the arena is fullest.
use super::Plan;
use super::live_range::{BlockTimes, LiveRanges};
use crate::graph::ValueId;
use crate::passes::fuse::StepBlock;
use std::collections::BTreeMap;

/// Moments at which much lies in the arena, latest first. Each is told as the step that runs then:
/// the step itself last, before it the loops and branches that it is inside of.
pub(crate) struct Peaks(pub(crate) Vec<Vec<Moment>>);

/// A step that runs at a moment.
pub(crate) struct Moment {
    /// The first value that it makes.
    pub(crate) made: ValueId,
    /// What is there when it begins: what it reads, and what the step before it made.
    pub(crate) before: Vec<ValueId>,
}

/// What lies in the arena from one moment at which that changes to the next.
fn profile(plan: &Plan) -> Vec<(usize, u64)> {
    let mut changes: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for slot in &plan.slots {
        let bytes = u64::try_from(slot.bytes).unwrap_or(0);
        changes.entry(slot.first).or_default().0 += bytes;
        changes.entry(slot.last.saturating_add(1)).or_default().1 += bytes;
    }
    let mut live = 0;
    let now = |(at, (more, less))| {
        live = live + more - less;
        (at, live)
    };
    changes.into_iter().map(now).collect()
}

/// What lies in the arena when that is most, without the holes between.
pub(crate) fn fullest(plan: &Plan) -> u64 {
    profile(plan).into_iter().map(|(_, live)| live).max().unwrap_or(0)
}

/// The moment at which most lies in the arena, and others with at least `share` of that in 256, each
/// the fullest of those that hang together, up to `most`. Without a share, every moment is one.
pub(crate) fn peaks(code: &StepBlock, plan: &Plan, share: u64, most: usize) -> Peaks {
    let (_, times) = LiveRanges::new(code);
    let profile = profile(plan);
    let fullest = profile.iter().map(|&(_, live)| live).max().unwrap_or(0);
    let least = u64::try_from(u128::from(fullest) * u128::from(share) / 256).unwrap_or(fullest);
    let mut found: Vec<(u64, usize)> = Vec::new();
    let mut run: Option<(u64, usize)> = None;
    for (at, live) in profile {
        if share == 0 {
            found.push((live, at));
        } else if live >= least.max(1) {
            run =
                Some(run.map_or((live, at), |best| if live > best.0 { (live, at) } else { best }));
        } else {
            found.extend(run.take());
        }
    }
    found.extend(run);
    found.sort_by_key(|&(live, at)| (std::cmp::Reverse(live), at));
    found.truncate(most);
    found.sort_by_key(|&(_, at)| std::cmp::Reverse(at));
    let path = |&(_, at): &(u64, usize)| {
        let mut path = Vec::new();
        follow(code, &times, at, &mut path);
        path
    };
    Peaks(found.iter().map(path).filter(|path| !path.is_empty()).collect())
}

/// Adds the steps that run at a moment, from outside to inside.
fn follow(code: &StepBlock, times: &BlockTimes, at: usize, into: &mut Vec<Moment>) {
    let after = times.steps.partition_point(|times| times.start <= at);
    let Some(number) = after.checked_sub(1) else { return };
    let step = &code.steps[number];
    let Some(&made) = step.results.first() else { return };
    let preceding = number.checked_sub(1).map(|at| code.steps[at].results.as_slice());
    let before = [step.operands.as_slice(), preceding.unwrap_or_default()].concat();
    into.push(Moment { made, before });
    for (block, times) in step.kind.blocks().zip(&times.steps[number].blocks) {
        if (times.start..times.end).contains(&at) {
            follow(block, times, at, into);
        }
    }
}
