//! When the values of a loop's body are read.
use super::inst::{LoopBody, Micro, Value};

/// A time that does not come.
pub(super) const NEVER: u32 = u32::MAX;

/// When each value is read.
#[derive(Debug, Clone)]
pub(super) struct Uses {
    starts: Vec<u32>,
    times: Vec<u32>,
    /// The first that is not over yet.
    next: Vec<u32>,
}

/// A number as the code has it.
pub(super) fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(NEVER)
}

fn size(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

impl Uses {
    pub(super) fn new(body: &LoopBody) -> Self {
        let mut starts = vec![0_u32; body.values.len() + 1];
        for value in body.code.iter().flat_map(Micro::reads) {
            starts[value.index() + 1] += 1;
        }
        for (value, ..) in &body.stores {
            starts[value.index() + 1] += 1;
        }
        if let Some((_, mask)) = body.decision {
            starts[mask.index() + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next: Vec<u32> = starts[..body.values.len()].to_vec();
        let mut times = vec![0; size(*starts.last().unwrap_or(&0))];
        let mut note = |value: Value, at: usize| {
            times[size(next[value.index()])] = number(at);
            next[value.index()] += 1;
        };
        let mut decision = body.decision;
        for (at, micro) in body.code.iter().enumerate() {
            if let Some((_, mask)) = decision.take_if(|(before, _)| *before == at) {
                note(mask, at);
            }
            micro.reads().for_each(|value| note(value, at));
        }
        if let Some((_, mask)) = decision {
            note(mask, body.code.len());
        }
        for (at, (value, ..)) in body.stores.iter().enumerate() {
            note(*value, body.code.len() + at);
        }
        let next = starts[..body.values.len()].to_vec();
        Self { starts, times, next }
    }

    /// When a value is read next; `NEVER` after its last use.
    pub(super) fn next(&self, value: Value) -> u32 {
        let (at, end) = (self.next[value.index()], self.starts[value.index() + 1]);
        if at < end { self.times[size(at)] } else { NEVER }
    }

    /// Forgets the uses up to a time.
    pub(super) fn pass(&mut self, value: Value, now: u32) {
        while self.next(value) <= now && self.next(value) != NEVER {
            self.next[value.index()] += 1;
        }
    }

    /// How often a value is read.
    pub(super) fn count(&self, index: usize) -> u32 {
        self.starts[index + 1] - self.starts[index]
    }
}
