//! What still reads or writes bytes that their owner has given back, and where.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tpu_base::event::Event;
use tpu_base::units::DevAddr;
use tpu_placement::Span;

/// The end of work that will come whatever the client does.
#[derive(Debug, Clone)]
pub struct End {
    /// No other end has it.
    number: u64,
    event: Event,
}

impl End {
    /// The end of work that begins.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), event: Event::certain() }
    }

    /// The event of the work, which whoever does it settles.
    pub fn event(&self) -> &Event {
        &self.event
    }
}

/// Ends of work that still uses some bytes.
#[derive(Debug, Clone, Default)]
pub struct PendingUses(Vec<End>);

/// Ends that are kept before what is over is looked for: to look at an end that another thread
/// settles takes long.
const FEW: usize = 4;

impl PendingUses {
    /// Adds the end of some work. What is over by now is forgotten at times.
    pub fn add(&mut self, end: &End) {
        if self.0.len() >= FEW && self.0.len().is_power_of_two() {
            self.0.retain(|known| !known.event.is_ready());
        }
        if !self.0.iter().any(|known| known.number == end.number) && !end.event.is_ready() {
            self.0.push(end.clone());
        }
    }

    /// Adds the end of work that begins when all of it is over.
    pub fn replace(&mut self, end: &End) {
        self.0.clear();
        self.add(end);
    }

    /// Adds all of others.
    pub fn add_all(&mut self, others: &Self) {
        others.0.iter().for_each(|end| self.add(end));
    }

    /// Whether all of it is over.
    pub fn are_over(&self) -> bool {
        self.0.iter().all(|end| end.event.is_ready())
    }

    /// The ends that have not come yet.
    pub fn pending(self) -> Vec<Event> {
        self.0.into_iter().map(|end| end.event).filter(|event| !event.is_ready()).collect()
    }

    /// Calls `then` when all of it is over: now, on this thread, if it is already.
    pub fn then(self, then: impl FnOnce() + Send + 'static) {
        self.then_boxed(Box::new(then));
    }

    fn then_boxed(self, then: Box<dyn FnOnce() + Send>) {
        let mut ends = self.0;
        ends.retain(|end| !end.event.is_ready());
        match ends.pop() {
            None => then(),
            // One after the other: whoever ends last calls.
            Some(last) => last.event.on_ready(move |_| Self(ends).then_boxed(then)),
        }
    }

    /// Waits until all of it is over. A thread of the pool, which may be what the work waits for,
    /// does other work meanwhile.
    pub fn wait(&self) {
        /// How long a thread of the pool without work sleeps before it looks for some.
        const NAP: Duration = Duration::from_millis(1);
        for End { event, .. } in &self.0 {
            while !event.is_ready() {
                match rayon::yield_now() {
                    // How the work ended is told to those who wait for its results.
                    None => drop(event.wait()),
                    Some(rayon::Yield::Executed) => {}
                    Some(rayon::Yield::Idle) => drop(event.wait_for(NAP)),
                }
            }
        }
    }
}

/// Ranges of holes that something still uses.
#[derive(Debug, Default)]
pub(super) struct Busy {
    /// Start to end, and the uses: ranges that do not overlap.
    ranges: BTreeMap<DevAddr, (DevAddr, PendingUses)>,
    /// How many ranges there were after what is over had been forgotten.
    left: usize,
}

/// Ranges that are kept beyond those that are in use, before what is over is forgotten.
const SLACK: usize = 64;

impl Busy {
    /// Adds a range with its uses.
    pub(super) fn add(&mut self, span: Span, uses: &PendingUses) {
        if uses.are_over() {
            return;
        }
        let mut all = self.take(span);
        all.add_all(uses);
        self.ranges.insert(span.start, (span.end, all));
        if self.ranges.len() > 2 * self.left + SLACK {
            self.ranges.retain(|_, (_, uses)| !uses.are_over());
            self.left = self.ranges.len();
        }
    }

    /// Takes a range out; gives its uses.
    pub(super) fn take(&mut self, span: Span) -> PendingUses {
        let mut uses = PendingUses::default();
        while let Some(found) = self.last_in(span) {
            let Some((end, ended)) = self.ranges.remove(&found) else { break };
            uses.add_all(&ended);
            if end > span.end {
                self.ranges.insert(span.end, (end, ended.clone()));
            }
            if found < span.start {
                self.ranges.insert(found, (span.start, ended));
            }
        }
        uses
    }

    /// Whether something still uses a part of the range.
    pub(super) fn meets(&self, span: Span) -> bool {
        let below = self.ranges.range(..span.end).rev();
        below.take_while(|(_, (end, _))| *end > span.start).any(|(_, (_, uses))| !uses.are_over())
    }

    /// The start of the last range that shares a byte with this one.
    fn last_in(&self, span: Span) -> Option<DevAddr> {
        let (&start, (end, _)) = self.ranges.range(..span.end).next_back()?;
        (*end > span.start).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_base::units::Bytes;

    fn span(start: u64, end: u64) -> Span {
        Span { start: DevAddr(start), end: DevAddr(end) }
    }

    fn used_by(end: &End) -> PendingUses {
        let mut uses = PendingUses::default();
        uses.add(end);
        uses
    }

    #[test]
    fn a_part_is_taken_out_of_a_range_and_the_rest_stays_in_use() {
        let (end, mut busy) = (End::new(), Busy::default());
        busy.add(span(100, 200), &used_by(&end));
        assert!(busy.take(span(0, 100)).are_over() && busy.take(span(200, 300)).are_over());
        assert_eq!(busy.take(span(120, 150)).pending().len(), 1);
        assert!(busy.meets(span(0, 101)) && busy.meets(span(199, 200)));
        assert!(!busy.meets(span(120, 150)) && busy.meets(span(119, 150)));
        assert!(busy.meets(span(120, 151)));
        end.event().settle(Ok(()));
        assert!(!busy.meets(span(0, 300)));
    }

    #[test]
    fn ranges_of_one_use_are_waited_for_once() {
        let (end, other, mut busy) = (End::new(), End::new(), Busy::default());
        for at in 0..10 {
            let of = if at == 5 { &other } else { &end };
            busy.add(Span::new(DevAddr(at * 10), Bytes(10)), &used_by(of));
        }
        let all = busy.take(span(0, 100));
        other.event().settle(Ok(()));
        assert_eq!(all.pending().len(), 1);
        assert!(busy.take(span(0, 100)).are_over() && busy.ranges.is_empty());
    }

    #[test]
    fn work_behind_all_others_is_all_that_is_waited_for() {
        let (ends, last) = ([End::new(), End::new()], End::new());
        let mut uses = PendingUses::default();
        ends.iter().for_each(|end| uses.add(end));
        assert_eq!(uses.clone().pending().len(), 2);
        uses.replace(&last);
        ends.iter().for_each(|end| assert!(end.event().settle(Ok(()))));
        assert!(!uses.are_over());
        last.event().settle(Ok(()));
        assert!(uses.are_over() && uses.pending().is_empty());
    }

    #[test]
    fn ends_that_are_over_do_not_pile_up() {
        let mut uses = PendingUses::default();
        for _ in 0..1000 {
            let end = End::new();
            uses.add(&end);
            end.event().settle(Ok(()));
        }
        assert!(uses.0.len() <= FEW, "{}", uses.0.len());
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut busy = Busy::default();
        for at in 0..1000 {
            let end = End::new();
            busy.add(Span::new(DevAddr(at * 10), Bytes(10)), &used_by(&end));
            end.event().settle(Ok(()));
        }
        assert!(busy.ranges.len() <= SLACK + 1, "{}", busy.ranges.len());
    }
}
