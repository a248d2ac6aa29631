//! Calls that a round of a loop makes together: of one operation, on elements that do not depend on
//! each other.
use super::libcall::room;
use super::scalar_loop::Action;
use super::select::job;
use crate::elementwise::program::{ElementwiseProgram, Instr, Register};
use std::collections::HashSet;
use tpu_base::tensor::DType;

/// The actions of a round in an order in which the calls of a group follow each other: groups of
/// numbers of actions.
pub(super) fn grouped(program: &ElementwiseProgram, actions: &[Action]) -> Vec<Vec<usize>> {
    let mut order = CallOrder {
        program,
        actions,
        made: Vec::new(),
        open: Vec::new(),
        later: Vec::new(),
        held: HashSet::new(),
    };
    for at in 0..actions.len() {
        order.add(at);
    }
    order.close();
    order.made
}

struct CallOrder<'a> {
    program: &'a ElementwiseProgram,
    actions: &'a [Action],
    made: Vec<Vec<usize>>,
    /// Calls that wait for others of their kind.
    open: Vec<Vec<usize>>,
    /// What waits for the results of those.
    later: Vec<usize>,
    /// The steps that wait.
    held: HashSet<usize>,
}

impl CallOrder<'_> {
    fn waits(&self, register: &Register) -> bool {
        matches!(register, Register::Step(step) if self.held.contains(step))
    }

    fn step(&self, at: usize) -> Option<(usize, &Instr)> {
        match self.actions[at] {
            Action::Step(step) => Some((step, &self.program.steps[step])),
            Action::Read(..) | Action::Write(..) => None,
        }
    }

    fn inputs(&self, step: &Instr) -> Vec<DType> {
        step.inputs.iter().map(|&input| self.program.dtype(input)).collect()
    }

    /// Whether one call can do both steps.
    fn is_same(&self, a: &Instr, b: &Instr) -> bool {
        let key = |of: &Instr| (of.op.kind, of.op.operand, of.op.result, of.op.immediate);
        key(a) == key(b) && self.inputs(a) == self.inputs(b)
    }

    fn add(&mut self, at: usize) {
        let Some((number, step)) = self.step(at) else {
            // What is read and written in memory stays in order, behind all before it.
            self.close();
            self.made.push(vec![at]);
            return;
        };
        if step.inputs.iter().any(|input| self.waits(input)) {
            self.later.push(at);
            self.held.insert(number);
        } else if job(&step.op).is_some() {
            self.made.push(vec![at]);
        } else {
            let most = room(&step.op, &self.inputs(step));
            let fits = |calls: &Vec<usize>| {
                let first = calls.first().and_then(|&first| self.step(first));
                calls.len() < most && first.is_some_and(|(_, first)| self.is_same(first, step))
            };
            match self.open.iter().position(fits) {
                Some(group) => self.open[group].push(at),
                None => self.open.push(vec![at]),
            }
            self.held.insert(number);
        }
    }

    /// Makes the calls that wait, and then what waits for them.
    fn close(&mut self) {
        while !self.open.is_empty() {
            self.made.append(&mut self.open);
            self.held.clear();
            for at in std::mem::take(&mut self.later) {
                self.add(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elementwise::kind::ElementwiseKind;
    use crate::elementwise::program::ElementwiseOp;

    fn step(kind: ElementwiseKind, inputs: &[Register]) -> Instr {
        let op = ElementwiseOp {
            kind,
            operand: DType::F32,
            result: DType::F32,
            run: |_, _, _| {},
            immediate: [0; 2],
            transcendental: true,
        };
        Instr { op, inputs: inputs.to_vec() }
    }

    #[test]
    fn calls_of_one_kind_that_do_not_depend_on_each_other_are_made_together() {
        use Register::{Parameter, Step};
        let call = |of| step(ElementwiseKind::Cosine, &[of]);
        let other = |of| step(ElementwiseKind::Sine, &[of]);
        let add = |a, b| step(ElementwiseKind::Add, &[a, b]);
        let program = ElementwiseProgram {
            parameters: vec![DType::F32; 2],
            steps: vec![
                call(Parameter(0)),
                add(Step(0), Parameter(0)),
                other(Parameter(1)),
                add(Parameter(0), Parameter(1)),
                call(Step(3)),
                call(Step(1)),
                other(Step(4)),
            ],
            ..ElementwiseProgram::default()
        };
        let actions: Vec<Action> = (0..7).map(Action::Step).collect();
        let found = grouped(&program, &actions);
        assert_eq!(found, [vec![3], vec![0, 4], vec![2], vec![1], vec![5], vec![6]]);
    }

    #[test]
    fn a_group_is_no_larger_than_its_cells() {
        let call = || step(ElementwiseKind::Cosine, &[Register::Parameter(0)]);
        let program = ElementwiseProgram {
            parameters: vec![DType::F32],
            steps: (0..20).map(|_| call()).collect(),
            ..ElementwiseProgram::default()
        };
        let actions: Vec<Action> = (0..20).map(Action::Step).collect();
        let sizes: Vec<usize> = grouped(&program, &actions).iter().map(Vec::len).collect();
        assert_eq!(sizes, [16, 4]);
    }
}
