//! Whether data decide what a kernel does: which way it goes, how often, and where.
use crate::form::{Access, Extent, Output, Program, Run, Step, Sync, ViewId};
use std::collections::HashSet;

/// Whether nothing that a kernel reads decides what it does.
pub(crate) fn is_fixed(program: &Program) -> bool {
    let mut grids = program.entries.iter().flat_map(|entry| &entry.grid);
    let sources = Sources::of(program);
    grids.all(|extent| matches!(extent, Extent::Known(_)))
        && !program.steps.iter().any(|step| sources.gives_data(step))
}

/// Which memory each view shows, and which memories have data.
struct Sources {
    /// The view of the whole memory, by the number of a view.
    whole: Vec<ViewId>,
    data: HashSet<ViewId>,
}

impl Sources {
    fn of(program: &Program) -> Self {
        let mut whole: Vec<ViewId> = (0..).map(ViewId).take(program.views).collect();
        for step in &program.steps {
            if let Step::View { from, to, .. } = step {
                whole[to.0 as usize] = whole[from.0 as usize];
            }
        }
        let arguments = program.entries.iter().flat_map(|entry| &entry.arguments);
        let arrays = arguments.filter(|argument| argument.source.array().is_some());
        let mut sources = Self { whole, data: arrays.map(|argument| argument.view).collect() };
        for step in &program.steps {
            match step {
                Step::Run(run) => {
                    stores(run).for_each(|access| sources.has_data(access.view));
                }
                Step::Sync(sync) => {
                    if let Sync::Enqueue { target, .. } = **sync {
                        sources.has_data(target);
                    }
                }
                _ => {}
            }
        }
        sources
    }

    fn has_data(&mut self, view: ViewId) {
        self.data.insert(self.whole[view.0 as usize]);
    }

    /// Whether a step makes a scalar of data, or goes where data say.
    fn gives_data(&self, step: &Step) -> bool {
        match step {
            Step::Load { from, .. } => self.data.contains(&self.whole[from.0 as usize]),
            Step::Run(run) => {
                run.outputs.iter().any(|(output, _)| matches!(output, Output::Scalar(..)))
            }
            Step::Sync(sync) => {
                matches!(**sync, Sync::Read { .. } | Sync::FetchAdd { .. } | Sync::Indirect(_))
            }
            _ => false,
        }
    }
}

/// What a piece stores.
fn stores(run: &Run) -> impl Iterator<Item = &Access> {
    run.outputs.iter().filter_map(|(output, _)| match output {
        Output::Store(access) => Some(access),
        Output::Slot(_) | Output::Scalar(..) => None,
    })
}
