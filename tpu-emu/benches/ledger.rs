//! What the record keeping costs: bytes for each live allocation, time of an allocation.
//!
//! The floor of the time is the same heap with an empty record.
#![expect(clippy::print_stdout, reason = "a bench reports on stdout")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use tpu_emu::hbm::{Heap, Space};
use tpu_emu::ledger::Ledger;
use tpu_emu::origin::{Clock, Frame, LabelId, Record, StackSource};
use tpu_emu::units::{Bytes, Nanos};

const LIVE: u64 = 1_000_000;
const DEPTH: u64 = 60;

/// The same sixty frames each time: a stack that is known.
#[derive(Debug)]
struct Known;

impl StackSource for Known {
    fn capture(&self, frames: &mut Vec<Frame>) {
        frames.extend((0..DEPTH).map(|depth| Frame(0x7000_0000 + depth * 64)));
    }

    fn describe(&self, _: Frame, _: &mut Vec<tpu_emu::origin::FrameText>) {}
}

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Nanos {
        Nanos(0)
    }
}

fn space() -> Space {
    Space { place: "bench".into(), capacity: Bytes::gib(16), granule: Bytes(512) }
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let ledger = Ledger::new(Arc::new(Known), Arc::new(Still), None, 0);
    let heap = Heap::new(space());
    let record = || Record { origin: ledger.origin(), spec: 0, label: LabelId::NONE };
    black_box(heap.allocate(Bytes(512), record).0.is_ok());
    let before = resident();
    for _ in 0..LIVE {
        black_box(heap.allocate(Bytes(512), record).0.is_ok());
    }
    // Nothing is written to the blocks, so all that grew is the record keeping.
    let each = (resident() - before) / LIVE;
    println!("bytes for each of {LIVE} live allocations with a known stack: {each}");

    let recorded = nanoseconds(&Heap::new(space()), record);
    let floor = nanoseconds(&Heap::new(space()), || ());
    println!(
        "allocate and free 512 B, {DEPTH} known frames: {recorded} ns ({floor} ns without a record)"
    );
}

/// Best of ten rounds: one allocation and its free.
fn nanoseconds<R: Copy>(heap: &Heap<R>, record: impl Fn() -> R) -> u128 {
    let round = |_| {
        let start = Instant::now();
        for _ in 0..100_000 {
            let (taken, _) = heap.allocate(Bytes(512), &record);
            if let Ok(taken) = black_box(taken) {
                black_box(heap.free(taken.region.addr()).is_ok());
            }
        }
        start.elapsed().as_nanos() / 100_000
    };
    (0..10).map(round).min().unwrap_or(0)
}
