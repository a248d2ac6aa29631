//! How busy something is that runs programs: the share of the last seconds in which it did.

/// Nanoseconds of a piece of the time that is looked at.
const PIECE: u64 = 100_000_000;
/// Pieces that are looked at: ten seconds.
const PIECES: u64 = 100;
const RING: usize = 100;

/// One device, or one chip.
#[derive(Debug)]
pub(crate) struct Busy {
    /// When it began to be looked at.
    began: u64,
    /// Runs that are under way.
    running: u32,
    /// Since when some have been, as far as it is not counted yet.
    since: u64,
    /// When the last one ended.
    ended: u64,
    /// Nanoseconds of each piece in which something ran, in a ring.
    pieces: [u64; RING],
    /// Number of the newest one.
    newest: u64,
}

impl Busy {
    /// Something that has never run.
    pub(crate) fn new(now: u64) -> Self {
        let pieces = [0; RING];
        Self { began: now, running: 0, since: now, ended: now, pieces, newest: now / PIECE }
    }

    /// A run has begun.
    pub(crate) fn begin(&mut self, now: u64) {
        if self.running == 0 {
            self.since = now;
        }
        self.running += 1;
    }

    /// A run that began has ended.
    pub(crate) fn end(&mut self, now: u64) {
        self.count(now);
        self.running = self.running.saturating_sub(1);
        self.ended = self.ended.max(now);
    }

    /// Hundredths of the last ten seconds in which something ran.
    pub(crate) fn share(&mut self, now: u64) -> f64 {
        self.count(now);
        self.turn_to(now);
        let first = (now / PIECE).saturating_sub(PIECES - 1) * PIECE;
        let looked_at = now.saturating_sub(first.max(self.began));
        let ran = self.pieces.iter().sum::<u64>().min(looked_at);
        if looked_at == 0 {
            return 0.0;
        }
        // Ten thousandths, so that the division is one of whole numbers.
        let share = u32::try_from(u128::from(ran) * 10_000 / u128::from(looked_at)).unwrap_or(0);
        f64::from(share) / 100.0
    }

    /// Nanoseconds since something ran; none while it does.
    pub(crate) fn idle(&self, now: u64) -> u64 {
        if self.running > 0 { 0 } else { now.saturating_sub(self.ended) }
    }

    /// Counts what ran until now.
    fn count(&mut self, now: u64) {
        if self.running == 0 || now <= self.since {
            return;
        }
        self.turn_to(now);
        let mut from = self.since.max(self.newest.saturating_sub(PIECES - 1) * PIECE);
        while from < now {
            let to = now.min((from / PIECE + 1) * PIECE);
            self.pieces[place(from / PIECE)] += to - from;
            from = to;
        }
        self.since = now;
    }

    /// Makes the piece of a time the newest one.
    fn turn_to(&mut self, now: u64) {
        let newest = now / PIECE;
        for number in (self.newest + 1..=newest).take(self.pieces.len()) {
            self.pieces[place(number)] = 0;
        }
        self.newest = self.newest.max(newest);
    }
}

/// Where in the ring a piece is.
fn place(number: u64) -> usize {
    usize::try_from(number % PIECES).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_device_that_ran_half_of_the_time_is_half_busy() {
        let mut busy = Busy::new(7 * SECOND);
        assert_eq!((busy.share(7 * SECOND), busy.idle(7 * SECOND)), (0.0, 0));
        busy.begin(7 * SECOND);
        // Two at once are no more than one.
        busy.begin(8 * SECOND);
        busy.end(9 * SECOND);
        assert_eq!((busy.share(9 * SECOND), busy.idle(9 * SECOND)), (100.0, 0));
        busy.end(10 * SECOND);
        assert_eq!((busy.share(13 * SECOND), busy.idle(13 * SECOND)), (50.0, 3 * SECOND));
    }

    #[test]
    fn what_ran_more_than_ten_seconds_ago_is_forgotten() {
        let mut busy = Busy::new(0);
        busy.begin(0);
        busy.end(3 * SECOND);
        assert_eq!(busy.share(30 * SECOND), 0.0);
        // A run that has not ended counts as it goes.
        busy.begin(40 * SECOND);
        assert_eq!(busy.share(1000 * SECOND), 100.0);
        busy.end(1001 * SECOND);
        let share = busy.share(1006 * SECOND);
        assert!((48.0..=52.0).contains(&share), "{share}");
    }
}
