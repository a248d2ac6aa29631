//! What the heap takes from the host. Alone in its process, so that nothing else moves the count.
#![cfg(all(target_os = "linux", not(miri)))]
use std::fs;
use tpu_emu::hbm::{Heap, KEEP_AT_MOST, Region, Space};
use tpu_emu::units::Bytes;

/// Room for the test's own data and the first page of the space, which stays.
const SLACK: Bytes = Bytes::mib(8);

fn heap() -> Heap<u32> {
    let place = "0x0x0_HBM0".into();
    Heap::new(Space { place, capacity: Bytes::gib(96), granule: Bytes(512) })
}

fn take(heap: &Heap<u32>, size: Bytes) -> Region {
    heap.allocate(size, || 0).0.expect("room").region
}

/// Memory of this process that is in RAM, from its status in KiB.
fn resident() -> Bytes {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Bytes::kib(kib.expect("a number of kB"))
}

// One test, because two would count each other's memory.
#[test]
fn memory_is_taken_by_touch_and_goes_back_when_freed() {
    let before = resident();
    let grown = || resident().saturating_sub(before);

    let heaps: Vec<_> = (0..256).map(|_| heap()).collect();
    let blocks: Vec<Region> = heaps.iter().map(|heap| take(heap, Bytes::gib(90))).collect();
    assert!(grown() < SLACK, "256 untouched blocks of 90 GiB took {}", grown());
    drop((heaps, blocks));

    let heap = heap();
    for _ in 0..2 {
        let large = take(&heap, KEEP_AT_MOST);
        large.fill_zero();
        assert!(grown() > Bytes::mib(500), "{KEEP_AT_MOST} touched took {}", grown());
        heap.free(large.addr()).expect("live");
        assert!(grown() < SLACK, "after the free {} are left", grown());
    }

    let small: Vec<Region> = (0..1024).map(|_| take(&heap, Bytes::kib(64))).collect();
    small.iter().for_each(Region::fill_zero);
    assert!(grown() > Bytes::mib(60), "64 MiB touched took {}", grown());
    for block in &small {
        heap.free(block.addr()).expect("live");
    }
    let kept = heap.stats().bytes_kept;
    assert!(kept <= KEEP_AT_MOST && grown() < kept + SLACK, "{kept} and {} are left", grown());

    drop((heap, small));
    assert!(grown() < SLACK, "after the drop {} are left", grown());
}
