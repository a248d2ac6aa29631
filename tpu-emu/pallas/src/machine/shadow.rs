//! What is known of each byte that kernels use: whether anybody has written it, who wrote it last,
//! and who has read it since.
use std::collections::BTreeMap;

/// The number of an access that was noted.
pub(super) type AccessId = u32;

/// Who wrote bytes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// Somebody before the launch.
    Before,
    /// Nobody: memory of the kernel's with this number.
    Never(u32),
    /// This access.
    By(AccessId),
}

/// Bytes side by side of which the same is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    end: usize,
    pub(super) written: Written,
    /// Reads since, of which none is before another.
    pub(super) reads: Vec<AccessId>,
}

/// What is known, by the address of bytes. Bytes that are not here were written before the launch,
/// and nobody has read them.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    runs: BTreeMap<usize, Run>,
}

impl Shadow {
    /// Makes what is known of a range another: `change` is given each run of it.
    pub(super) fn change(&mut self, start: usize, end: usize, change: &mut dyn FnMut(&mut Run)) {
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        let mut at = start;
        let mut gaps = Vec::new();
        for (&from, run) in self.runs.range_mut(start..end) {
            if at < from {
                gaps.push((at, from));
            }
            at = run.end;
            change(run);
        }
        if at < end {
            gaps.push((at, end));
        }
        for (from, end) in gaps {
            let mut run = Run { end, written: Written::Before, reads: Vec::new() };
            change(&mut run);
            self.runs.insert(from, run);
        }
        self.join(start, end);
    }

    /// Who wrote each part of a range.
    pub(super) fn written(&self, start: usize, end: usize) -> Vec<(usize, Written)> {
        let mut parts = Vec::new();
        let mut at = start;
        let first = self.runs.range(..=start).next_back().map_or(start, |(&from, _)| from);
        for (&from, run) in self.runs.range(first..end) {
            if run.end <= at {
                continue;
            }
            if at < from {
                parts.push((from - at, Written::Before));
                at = from;
            }
            let until = run.end.min(end);
            parts.push((until - at, run.written));
            at = until;
        }
        if at < end {
            parts.push((end - at, Written::Before));
        }
        parts
    }

    /// Lets a run begin at an address.
    fn split(&mut self, at: usize) {
        let Some((_, run)) = self.runs.range_mut(..at).next_back() else { return };
        if run.end > at {
            let behind = run.clone();
            run.end = at;
            self.runs.insert(at, behind);
        }
    }

    /// Joins neighbours of which the same is known.
    fn join(&mut self, start: usize, end: usize) {
        let first = self.runs.range(..start).next_back().map_or(start, |(&from, _)| from);
        let keys: Vec<usize> = self.runs.range(first..=end).map(|(&from, _)| from).collect();
        for pair in keys.windows(2).rev() {
            let (Some(one), Some(next)) = (self.runs.get(&pair[0]), self.runs.get(&pair[1])) else {
                continue;
            };
            if one.end == pair[1] && one.written == next.written && one.reads == next.reads {
                let until = next.end;
                self.runs.remove(&pair[1]);
                if let Some(one) = self.runs.get_mut(&pair[0]) {
                    one.end = until;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_where_something_else_is_known_and_joined_again() {
        let mut shadow = Shadow::default();
        let mut set = |start, end, to| {
            shadow.change(start, end, &mut |run| run.written = to);
            (shadow.runs.len(), shadow.written(0, 100))
        };
        assert_eq!(set(10, 40, Written::Never(0)).1[1], (30, Written::Never(0)));
        let (_, parts) = set(20, 30, Written::By(1));
        assert_eq!(
            parts,
            [
                (10, Written::Before),
                (10, Written::Never(0)),
                (10, Written::By(1)),
                (10, Written::Never(0)),
                (60, Written::Before),
            ]
        );
        let (count, parts) = set(0, 100, Written::By(2));
        assert_eq!((count, parts), (1, vec![(100, Written::By(2))]));
        assert_eq!(set(5, 5, Written::Never(0)).0, 1);
    }
}
