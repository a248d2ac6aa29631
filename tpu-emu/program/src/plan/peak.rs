//! Where in a program the arena is fullest.
use super::live_range::{BlockTimes, LiveRanges};
use super::{ArenaSlot, Plan};
use crate::graph::ValueId;
use crate::lifetimes::levels;
use crate::passes::fuse::StepBlock;
use tpu_base::units::to_u64;

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

/// The moment at which most lies in the arena, and others with at least `share` of that in 256, each
/// the fullest of those that hang together, up to `most`. Without a share, every moment is one.
pub(crate) fn peaks(code: &StepBlock, plan: &Plan, share: u64, most: usize) -> Peaks {
    let (_, times) = LiveRanges::new(code);
    let profile: Vec<(usize, usize)> = levels(plan.slots.iter().map(ArenaSlot::life)).collect();
    let fullest = profile.iter().map(|&(_, live)| live).max().unwrap_or(0);
    let least = u128::from(to_u64(fullest)) * u128::from(share) / 256;
    let least = usize::try_from(least).unwrap_or(fullest);
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut run: Option<(usize, usize)> = None;
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
    let path = |&(_, at): &(usize, usize)| {
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
