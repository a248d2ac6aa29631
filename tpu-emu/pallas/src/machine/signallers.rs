//! Who could still signal a semaphore that a kernel waits for: which lines of the code do, and
//! which kernels have not ended.
use super::Machine;
use super::instance::{Instance, State};
use super::peers::Role;
use super::semaphores::Semaphore;
use crate::form::{Step, Sync, ViewId};
use std::collections::BTreeSet;
use tpu_mosaic::ir::{LocationId, user_line};

/// Lines that a report has.
const TOLD: usize = 8;

/// The views that a step makes a signal go to.
fn signals(step: &Step) -> [Option<ViewId>; 2] {
    let Step::Sync(sync) = step else { return [None; 2] };
    match &**sync {
        Sync::Signal { semaphore, .. } => [Some(*semaphore), None],
        Sync::Enqueue { source_semaphore, target_semaphore, .. } => {
            [*source_semaphore, *target_semaphore]
        }
        Sync::Indirect(indirect) => [Some(indirect.semaphore), None],
        _ => [None; 2],
    }
}

impl Machine<'_> {
    /// Which lines signal a semaphore, on whatever device, and whether a kernel that could come to
    /// one has not ended.
    pub(super) fn who_could_signal(&self, semaphore: Semaphore, instances: &[Instance]) -> String {
        let program = self.program;
        let Some((of, role)) = self.owners.of(semaphore.buffer) else { return String::new() };
        let Some(who) = self.roster.who(of) else { return String::new() };
        let mut views = BTreeSet::new();
        match role {
            Role::Argument(at) | Role::Array(at) => {
                views.extend(program.entries[who.entry].arguments.get(at).map(|of| of.view));
            }
            Role::Allocated(step) => {
                if let Some(Step::Allocate { to, .. }) = program.steps.get(step) {
                    views.insert(*to);
                }
            }
            Role::Barrier => views.extend(program.steps.iter().filter_map(|step| match step {
                Step::Sync(sync) => match **sync {
                    Sync::Barrier { to } => Some(to),
                    _ => None,
                },
                _ => None,
            })),
        }
        // A view is made of one that was made before it.
        for step in &program.steps {
            if let Step::View { from, to, .. } = step
                && views.contains(from)
            {
                views.insert(*to);
            }
        }
        let places: BTreeSet<LocationId> = program
            .steps
            .iter()
            .zip(&program.places)
            .filter(|(step, _)| signals(step).iter().flatten().any(|view| views.contains(view)))
            .map(|(_, &place)| place)
            .collect();
        let mut lines: Vec<String> =
            places.iter().filter_map(|&place| user_line(&program.locations, place)).collect();
        lines.dedup();
        if lines.is_empty() {
            return "; no line of the kernel signals it".to_owned();
        }
        let more = lines.len().saturating_sub(TOLD);
        lines.truncate(TOLD);
        if more > 0 {
            lines.push(format!("{more} more"));
        }
        let lines = lines.join(", ");
        let others = instances
            .iter()
            .filter(|other| other.number != of && !matches!(other.state, State::Ended));
        let others: Vec<String> =
            others.take(TOLD).map(|other| self.called(other.number)).collect();
        match others.as_slice() {
            [] => format!("; it is signalled at {lines}, and no other kernel is left to do it"),
            others => {
                format!(
                    "; it is signalled at {lines}, where {} could still come",
                    others.join(", ")
                )
            }
        }
    }
}
