//! Large work in chunks, on the threads of the pool that the caller belongs to.
//!
//! Where the chunks begin depends on the work alone, never on the number of threads, so results
//! do not either. Outside of a pool, and in one of a single thread, everything runs on the
//! caller's thread. Chunks do with subnormal floats what their caller does. A caller holds no lock and no borrow of a thread-local while its chunks run:
//! its thread may run chunks of others meanwhile.
use crate::tuning::CHUNK_BYTES;
use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use std::cell::Cell;
use std::ops::Range;
use tpu_base::tensor::subnormals::Subnormals;

thread_local! {
    static WIDTH: Cell<usize> = const { Cell::new(1) };
}

/// Says how many threads share the work of this one. A pool's threads say it when they start.
pub fn share_with(threads: usize) {
    WIDTH.set(threads);
}

/// How many threads share the work of this one.
pub fn threads() -> usize {
    WIDTH.get()
}

/// Does work that shares itself with no other thread.
pub fn alone<R>(work: impl FnOnce() -> R) -> R {
    /// Gives this thread its width back, however the work ends.
    struct FormerWidth(usize);
    impl Drop for FormerWidth {
        fn drop(&mut self) {
            WIDTH.set(self.0);
        }
    }
    let _back = FormerWidth(WIDTH.replace(1));
    work()
}

/// Items of `bytes` each that make a chunk.
pub fn items_per_chunk(bytes: usize) -> usize {
    (CHUNK_BYTES / bytes.max(1)).max(1)
}

/// Calls `work` with ranges of at most `chunk` numbers that together are `0..count`.
pub fn ranges(count: usize, chunk: usize, work: impl Fn(Range<usize>) + Sync) {
    let chunk = chunk.max(1);
    let work = |index: usize| work(index * chunk..count.min((index + 1) * chunk));
    each(count.div_ceil(chunk), &work);
}

/// Calls `work` with the numbers `0..count`.
//
// This and the functions that take a `dyn` below are compiled once, and not for each work: with
// what they bring of rayon they are larger than most of it.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    if count < 2 || threads() < 2 {
        (0..count).for_each(work);
    } else {
        let mode = Subnormals::here();
        (0..count).into_par_iter().with_max_len(1).for_each(|index| {
            let _mode = mode.enter();
            work(index);
        });
    }
}

/// Calls `work` with the number of each chunk of `chunk` elements and the chunk.
pub fn chunks_mut<T: Send>(data: &mut [T], chunk: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    each_chunk(data, chunk.max(1), &work);
}

fn each_chunk<T: Send>(data: &mut [T], chunk: usize, work: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if data.len() <= chunk || threads() < 2 {
        data.chunks_mut(chunk).enumerate().for_each(|(index, chunk)| work(index, chunk));
    } else {
        let chunks = data.par_chunks_mut(chunk).enumerate().with_max_len(1);
        let mode = Subnormals::here();
        chunks.for_each(|(index, chunk)| {
            let _mode = mode.enter();
            work(index, chunk);
        });
    }
}

/// The results of `work` for the numbers `0..count`, in order; each call is a chunk.
pub fn map<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    results(count, &work)
}

fn results<R: Send>(count: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    if count < 2 || threads() < 2 {
        return (0..count).map(work).collect();
    }
    let mode = Subnormals::here();
    let work = |index| {
        let _mode = mode.enter();
        work(index)
    };
    (0..count).into_par_iter().with_max_len(1).map(work).collect()
}

/// Two chunks of work.
pub fn both<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    if threads() < 2 {
        return (first(), second());
    }
    let (mut first, mut second) = (Some(first), Some(second));
    let (mut a, mut b) = (None, None);
    join(&mut || a = first.take().map(|work| work()), &mut || b = second.take().map(|work| work()));
    match (a, b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("both were called"),
    }
}

fn join(first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
    let mode = Subnormals::here();
    let first = || {
        let _mode = mode.enter();
        first();
    };
    let second = || {
        let _mode = mode.enter();
        second();
    };
    rayon::join(first, second);
}

/// Runs a test's code on a pool of this many threads.
#[cfg(any(test, feature = "testing"))]
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(move |_| share_with(threads))
        .build()
        .expect("threads for a test");
    pool.install(work)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[test]
    fn chunks_are_the_same_for_any_number_of_threads() {
        let chunks = |threads: usize| {
            with_threads(threads, || {
                let seen = Mutex::new(Vec::new());
                ranges(10, 4, |range| seen.lock().push(range));
                let mut seen = seen.into_inner();
                seen.sort_by_key(|range| range.start);
                seen
            })
        };
        assert_eq!(chunks(1), [0..4, 4..8, 8..10]);
        assert_eq!(chunks(3), chunks(1));
        assert_eq!(chunks(3).len(), 3);
    }

    #[test]
    fn every_element_is_visited_once_and_results_keep_their_order() {
        for threads in [1, 2, 5] {
            let (chunks, squares, two) = with_threads(threads, || {
                let mut data = [0; 11];
                chunks_mut(&mut data, 3, |index, chunk| {
                    chunk.iter_mut().for_each(|value| *value += index + 1);
                });
                (data, map(4, |index| index * index), both(|| 1, || 2))
            });
            assert_eq!(chunks, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]);
            assert_eq!((squares, two), (vec![0, 1, 4, 9], (1, 2)));
        }
    }

    #[test]
    fn chunks_do_with_subnormal_floats_what_their_caller_does() {
        for mode in [Subnormals::Flushed, Subnormals::Kept] {
            let seen = with_threads(3, || {
                let _mode = mode.enter();
                let seen = Mutex::new(map(5, |_| Subnormals::here()));
                ranges(5, 1, |_| seen.lock().push(Subnormals::here()));
                chunks_mut(&mut [0; 5], 1, |_, _| seen.lock().push(Subnormals::here()));
                let (first, second) = both(Subnormals::here, Subnormals::here);
                seen.lock().extend([first, second]);
                seen.into_inner()
            });
            assert_eq!(seen, [mode; 17]);
        }
    }

    #[test]
    fn work_alone_stays_on_its_thread() {
        let stays = with_threads(3, || {
            let stays = alone(|| {
                let here = std::thread::current().id();
                map(8, |_| std::thread::current().id() == here)
            });
            (stays, threads())
        });
        assert_eq!(stays, (vec![true; 8], 3));
    }

    #[test]
    fn outside_of_a_pool_the_caller_does_everything() {
        assert_eq!(threads(), 1);
        let here = std::thread::current().id();
        ranges(3, 1, |_| assert_eq!(std::thread::current().id(), here));
    }
}
