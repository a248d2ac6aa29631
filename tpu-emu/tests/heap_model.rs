//! The heap against a model that is too simple to be wrong, and from many threads.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tpu_emu::error::{Error, Result};
use tpu_emu::hbm::{Allocated, Freed, Heap, HeapStats, Live, Region, Space};
use tpu_emu::units::{Bytes, DevAddr};

const GRANULE: u64 = 512;

/// Blocks in a list by address; every question is answered by walking it.
struct Model {
    capacity: u64,
    live: Vec<Live<u32>>,
    peak: u64,
    allocs: u64,
    changes: u64,
    largest: u64,
}

impl Model {
    fn in_use(&self) -> u64 {
        self.live.iter().map(|block| block.size.0).sum()
    }

    /// Start and size of the gaps, by address.
    fn holes(&self) -> Vec<(u64, u64)> {
        let ends = self.live.iter().map(|block| block.addr.0 + block.size.0);
        let starts = self.live.iter().map(|block| block.addr.0).chain([self.capacity]);
        let gaps = [0].into_iter().chain(ends).zip(starts);
        gaps.map(|(end, start)| (end, start - end)).filter(|&(_, size)| size > 0).collect()
    }

    /// The address a request must get, or the sum and the maximum of the holes.
    fn allocate(&mut self, size: u64, record: u32) -> std::result::Result<u64, (u64, u64)> {
        let holes = self.holes();
        let fitting = holes.iter().filter(|hole| hole.1 >= size);
        let Some(&(addr, _)) = fitting.min_by_key(|&&(addr, hole)| (hole, addr)) else {
            let sizes = holes.iter().map(|hole| hole.1);
            return Err((sizes.clone().sum(), sizes.max().unwrap_or(0)));
        };
        let place = self.live.partition_point(|block| block.addr.0 < addr);
        self.live.insert(place, Live { addr: DevAddr(addr), size: Bytes(size), record });
        self.peak = self.peak.max(self.in_use());
        self.allocs += 1;
        self.changes += 1;
        self.largest = self.largest.max(size);
        Ok(addr)
    }

    fn check(&self, heap: &Heap<u32>) {
        let stats = heap.stats();
        let sizes = self.holes().into_iter().map(|hole| hole.1);
        let expected = HeapStats {
            bytes_in_use: Bytes(self.in_use()),
            peak_bytes_in_use: Bytes(self.peak),
            num_allocs: self.allocs,
            live_blocks: self.live.len().try_into().unwrap(),
            largest_alloc_size: Bytes(self.largest),
            bytes_limit: Bytes(self.capacity),
            bytes_reservable_limit: Bytes(self.capacity),
            bytes_free: Bytes(self.capacity - self.in_use()),
            largest_free_block_bytes: Bytes(sizes.max().unwrap_or(0)),
            bytes_kept: stats.bytes_kept,
            ..HeapStats::default()
        };
        assert_eq!(stats, expected);
    }
}

/// Xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length.try_into().unwrap())).unwrap()
    }
}

fn heap(capacity: Bytes) -> Heap<u32> {
    Heap::new(Space { place: "0x0x0_HBM0".into(), capacity, granule: Bytes(GRANULE) })
}

fn get(heap: &Heap<u32>, size: Bytes, record: u32) -> Result<Region> {
    heap.allocate(size, || record).0.map(|taken| taken.region)
}

/// Random steps with requests of up to `largest` bytes, then all blocks freed in random order.
fn compare(seed: u64, capacity: Bytes, largest: u64, steps: u32) {
    let (heap, mut random) = (heap(capacity), Random(seed));
    let mut model = Model {
        capacity: capacity.0,
        live: Vec::new(),
        peak: 0,
        allocs: 0,
        changes: 0,
        largest: 0,
    };
    let free_one = |model: &mut Model, random: &mut Random| {
        let block = model.live.remove(random.index(model.live.len()));
        let Live { addr, size, record } = block;
        assert_eq!(heap.at(addr.offset(Bytes(random.below(size.0)))), Some(block));
        model.changes += 1;
        let sequence = model.changes;
        assert_eq!(heap.free(addr), Ok(Freed { size, record, sequence }));
        assert!(heap.free(addr).is_err(), "{addr} was freed twice");
    };
    for step in 0..steps {
        // Tides: more requests than frees for a while, then fewer, so that the space fills and
        // empties.
        let request = random.below(10) < if step / 200 % 2 == 0 { 7 } else { 3 };
        if request || model.live.is_empty() {
            let asked = 1 + random.below(largest);
            let size = asked.next_multiple_of(GRANULE);
            let (taken, record) = heap.allocate(Bytes(asked), || step);
            assert_eq!(record, step);
            match (taken, model.allocate(size, step)) {
                (Ok(Allocated { region, sequence, .. }), Ok(addr)) => {
                    assert_eq!(sequence, model.changes);
                    assert_eq!((region.addr(), region.size()), (DevAddr(addr), Bytes(size)));
                }
                (Err(Error::OutOfMemory { asked, free, hole, .. }), Err(holes)) => {
                    assert_eq!((asked.0, (free.0, hole.0)), (size, holes));
                }
                (heap, model) => panic!("seed {seed}, step {step}: {heap:?} is not {model:?}"),
            }
        } else {
            free_one(&mut model, &mut random);
        }
        model.check(&heap);
        assert_eq!(heap.live(), model.live, "seed {seed}, step {step}");
    }
    while !model.live.is_empty() {
        free_one(&mut model, &mut random);
        model.check(&heap);
    }
    assert_eq!(heap.stats().largest_free_block_bytes, capacity);
}

#[test]
fn every_address_and_number_is_the_models_in_a_crowded_space() {
    let steps = if cfg!(miri) { 100 } else { 4_000 };
    (1..=8).for_each(|seed| compare(seed, Bytes::kib(64), 4096, steps));
}

#[test]
#[cfg(not(miri))] // Too large for Miri.
fn every_address_and_number_is_the_models_while_pages_go_back() {
    (1..=8).for_each(|seed| compare(seed, Bytes::mib(300), 24 << 20, 2_000));
}

#[test]
fn threads_leave_the_records_and_the_holes_in_agreement() {
    let pairs = if cfg!(miri) { 20 } else { 10_000 };
    let capacity = if cfg!(miri) { Bytes::mib(4) } else { Bytes::gib(2) };
    let heap = heap(capacity);
    thread::scope(|scope| {
        for thread in 1..=8_u8 {
            let heap = &heap;
            scope.spawn(move || {
                let (record, mut random) = (u32::from(thread), Random(u64::from(thread)));
                let mut held = Vec::new();
                for _ in 0..pairs {
                    // One in a hundred is large enough for its pages to go back at once.
                    let large = random.below(100) == 0 && !cfg!(miri);
                    let size = if large { Bytes::mib(20) } else { Bytes(1 + random.below(8192)) };
                    let region = get(heap, size, record).unwrap();
                    region.write(Bytes::ZERO, &[thread]).unwrap();
                    held.push(region);
                    if held.len() > 4 {
                        let region = held.swap_remove(random.index(held.len()));
                        let mut byte = [0];
                        region.read(Bytes::ZERO, &mut byte).unwrap();
                        assert_eq!(byte, [thread], "another thread has the block");
                        assert_eq!(heap.free(region.addr()).unwrap().record, record);
                    }
                }
            });
        }
    });
    let (live, stats) = (heap.live(), heap.stats());
    assert_eq!((live.len(), stats.live_blocks), (8 * 4, 8 * 4));
    assert_eq!(stats.num_allocs, 8 * pairs);
    let sum: u64 = live.iter().map(|block| block.size.0).sum();
    assert_eq!((stats.bytes_in_use.0, stats.bytes_free.0), (sum, capacity.0 - sum));
    assert!(live.windows(2).all(|pair| pair[0].addr.offset(pair[0].size) <= pair[1].addr));

    live.iter().for_each(|block| assert_eq!(heap.free(block.addr).unwrap().record, block.record));
    assert_eq!(heap.stats().largest_free_block_bytes, capacity);
}

#[test]
#[cfg(not(miri))] // Too many steps for Miri.
fn a_request_never_fails_because_another_thread_gives_pages_back() {
    let (heap, done) = (heap(Bytes::mib(128)), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            // Each second free gives pages of the whole free space back, which takes a moment
            // if they were touched.
            for _ in 0..100 {
                let blocks = [0, 1].map(|n| get(&heap, Bytes::mib(10), n));
                for block in blocks.into_iter().flatten() {
                    block.fill_zero();
                    heap.free(block.addr()).unwrap();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        // Of changing size, so that the hole left by the last one is not always enough.
        let sizes = (0..).map(|n| Bytes::mib(6 + n % 7));
        let results = sizes.map(|size| {
            let region = get(&heap, size, 2)?;
            heap.free(region.addr())
        });
        let results = results.take_while(|_| !done.load(Ordering::Relaxed));
        assert_eq!(results.filter(Result::is_err).count(), 0);
    });
}
