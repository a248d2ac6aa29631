//! An allocation and its free, against the floor named on each line.
#![expect(clippy::print_stdout, reason = "a bench reports on stdout")]
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]
#![expect(clippy::cast_precision_loss, reason = "nanoseconds for people")]
use std::hint::black_box;
use std::time::Instant;
use tpu_emu::hbm::{Heap, Region, Space};
use tpu_emu::units::{Bytes, to_usize};

const ROUNDS: usize = 15;
const CAPACITY: Bytes = Bytes::gib(96);

fn main() {
    for others in [0, 10_000] {
        let heap = with_others(others);
        println!("\n{others} other live blocks");
        for size in [Bytes(512), Bytes::kib(64), Bytes::mib(64)] {
            let pair = nanos(10_000, || pair(&heap, size, false));
            let malloc = nanos(10_000, || drop(black_box(vec![0_u8; to_usize(size.0)])));
            report(size, "untouched", pair, "malloc and free", malloc);
        }
        for size in [Bytes::kib(64), Bytes::mib(1), Bytes::mib(4), Bytes::mib(64)] {
            let region = take(&heap, size, 0);
            let count = 1 + to_usize((64 << 20) / size.0).min(1000);
            let pair = nanos(count, || pair(&heap, size, true));
            let fill = nanos(count, || black_box(&region).fill_zero());
            report(size, "filled", pair, "fill of a live block", fill);
            heap.free(region.addr()).expect("live");
        }
    }
    let heap = with_others(0);
    let million = nanos(1_000_000, || pair(&heap, Bytes(512), false));
    println!("\na million pairs of 512 B: {million:.1} ns each, then {:?}", heap.stats());
}

/// A heap with blocks of mixed sizes, every other one freed, so that there are as many holes.
fn with_others(live: u32) -> Heap<u32> {
    let space = Space { place: "0x0x0_HBM0".into(), capacity: CAPACITY, granule: Bytes(512) };
    let heap = Heap::new(space);
    let size = |n: u32| Bytes(512 + u64::from(n % 17) * 512);
    let blocks: Vec<_> = (0..2 * live).map(|n| take(&heap, size(n), n).addr()).collect();
    for &addr in blocks.iter().step_by(2) {
        heap.free(addr).expect("live");
    }
    heap
}

fn take(heap: &Heap<u32>, size: Bytes, record: u32) -> Region {
    heap.allocate(size, || record).0.expect("room").region
}

fn pair(heap: &Heap<u32>, size: Bytes, fill: bool) {
    let region = take(heap, black_box(size), 0);
    if fill {
        region.fill_zero();
    }
    drop(black_box(heap.free(region.addr())));
}

fn report(size: Bytes, what: &str, pair: f64, floor: &str, floor_ns: f64) {
    let ratio = pair / floor_ns;
    println!(
        "{:>8} {what:9} {pair:12.1} ns a pair  ({ratio:5.1}x {floor}, {floor_ns:.1} ns)",
        size.to_string()
    );
}

/// Nanoseconds a call, best of [`ROUNDS`] rounds of `count` calls.
fn nanos(count: usize, mut call: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        (0..count).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e9 / count as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}
