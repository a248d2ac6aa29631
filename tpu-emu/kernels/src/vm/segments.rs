//! Which steps of a program are done together.
use crate::elementwise::program::{ElementwiseProgram, Register};
use crate::jit::knows;

/// Steps that are done together, in this order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) steps: Vec<usize>,
    /// Whether they become machine code.
    pub(super) native: bool,
}

/// Every step by itself.
pub(super) fn calls(program: &ElementwiseProgram) -> Vec<Segment> {
    (0..program.steps.len()).map(|step| Segment { steps: vec![step], native: false }).collect()
}

/// As many steps as possible together as machine code: first all that can be done, then the
/// calls that can be done by then, and so on.
pub(super) fn groups(program: &ElementwiseProgram) -> Vec<Segment> {
    let native: Vec<bool> = program.steps.iter().map(|step| knows(&step.op)).collect();
    let mut done = vec![false; program.steps.len()];
    let mut left: Vec<usize> = (0..program.steps.len()).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        for wanted in [true, false] {
            let mut taken = Vec::new();
            // A call's result is there after its group, machine code's within it.
            let before = done.clone();
            left.retain(|&step| {
                let known = if wanted { &done } else { &before };
                let ready = |input: &Register| !matches!(*input, Register::Step(of) if !known[of]);
                let takes = native[step] == wanted && program.steps[step].inputs.iter().all(ready);
                if takes {
                    done[step] = true;
                    taken.push(step);
                }
                !takes
            });
            if wanted && !taken.is_empty() {
                groups.push(Segment { steps: taken, native: true });
            } else {
                let single = |step| Segment { steps: vec![step], native: false };
                groups.extend(taken.into_iter().map(single));
            }
        }
    }
    groups
}

/// The last group other than its own that reads each step's value. Results are read after all
/// groups.
pub(super) fn last_uses(program: &ElementwiseProgram, groups: &[Segment]) -> Vec<Option<usize>> {
    let mut last = vec![None; program.steps.len()];
    for (at, group) in groups.iter().enumerate() {
        for &step in &group.steps {
            for input in &program.steps[step].inputs {
                if let Register::Step(made) = *input
                    && !group.steps.contains(&made)
                {
                    last[made] = Some(at);
                }
            }
        }
    }
    for result in &program.results {
        if let Register::Step(made) = *result {
            last[made] = Some(groups.len());
        }
    }
    last
}
