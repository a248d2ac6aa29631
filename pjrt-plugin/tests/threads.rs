//! Many threads at the table at once.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, U8, delete, destroy, get, put_bytes};
use c::{Client, INVALID, call, wait};
use pjrt_sys::{PJRT_Buffer, PJRT_Client, PJRT_Event, PJRT_Event_OnReady_Args, PJRT_Memory};
use std::ptr::without_provenance_mut;
use std::sync::Barrier;
use std::thread;

const THREADS: usize = 8;
const ROUNDS: usize = 150;

/// A client and its memories, for every thread.
#[derive(Clone, Copy)]
struct Shared {
    client: usize,
    memories: [usize; 4],
}

impl Shared {
    fn of(client: &Client, memories: [*mut PJRT_Memory; 4]) -> Self {
        let client: *mut PJRT_Client = client.raw;
        Self { client: client.addr(), memories: memories.map(|memory| memory.addr()) }
    }

    fn memory(&self, number: usize) -> *mut PJRT_Memory {
        without_provenance_mut(self.memories[number % 4])
    }
}

/// Numbers that differ, the same at every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

/// Puts, copies, reads and gives up arrays; keeps a few of them meanwhile.
fn work(shared: Shared, thread: usize) {
    let mut numbers = Numbers(thread as u64);
    let mut kept: Vec<(*mut PJRT_Buffer, Vec<u8>)> = Vec::new();
    let client = std::mem::ManuallyDrop::new(Client { raw: without_provenance_mut(shared.client) });
    for round in 0..ROUNDS {
        // Some are longer than what is copied on the caller's thread.
        let size = if round % 25 == 0 { (1 << 20) + thread } else { 1 + numbers.next(20_000) };
        let bytes: Vec<u8> = (0..size).map(|at| (at * 31 + thread).to_le_bytes()[0]).collect();
        let buffer = put_bytes(&client, shared.memory(numbers.next(4)), &bytes);
        let to = shared.memory(numbers.next(4));
        let copy = call!(PJRT_Buffer_CopyToMemory, buffer: buffer, dst_memory: to).unwrap();
        if numbers.next(2) == 0 {
            delete(buffer);
        }
        destroy(buffer);
        assert!(get(copy.dst_buffer).unwrap() == bytes, "thread {thread}, round {round}");
        kept.push((copy.dst_buffer, bytes));
        if kept.len() > 5 {
            let (old, bytes) = kept.swap_remove(numbers.next(6));
            assert!(get(old).unwrap() == bytes, "thread {thread}, round {round}, kept");
            destroy(old);
        }
    }
    kept.into_iter().for_each(|(buffer, _)| destroy(buffer));
}

#[test]
fn eight_threads_see_their_own_bytes_and_leave_nothing() {
    let client = Client::new();
    let shared = Shared::of(&client, [0, 1, 2, 3].map(|index| client.hbm(index)));
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || work(shared, number));
        }
    });
    let mut allocations = 0;
    for index in 0..4 {
        let device = client.device(index);
        let stats = call!(PJRT_Device_MemoryStats, device: device).unwrap();
        assert_eq!(stats.bytes_in_use, 0);
        assert_eq!(stats.largest_free_block_bytes, stats.bytes_limit, "one hole again");
        assert!(stats.peak_bytes_in_use > 0);
        allocations += stats.num_allocs;
    }
    assert_eq!(usize::try_from(allocations).unwrap(), THREADS * ROUNDS * 2);
}

/// Runs `call` on all threads at once; how many succeeded.
fn winners(call: impl Fn() -> Result<(), c::Failure> + Sync) -> usize {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    call()
                })
            })
            .collect();
        let answers = threads.into_iter().map(|thread| thread.join().unwrap());
        answers
            .filter(|answer| match answer {
                Ok(()) => true,
                Err(failure) => {
                    assert_eq!(failure.code, INVALID, "{}", failure.message);
                    assert!(failure.message.contains("stale"), "{}", failure.message);
                    false
                }
            })
            .count()
    })
}

#[test]
fn of_threads_that_destroy_one_object_one_wins() {
    let client = Client::new();
    for _ in 0..50 {
        let buffer = put_bytes(&client, client.hbm(4), &[1; 100]).addr();
        let count = winners(|| {
            call!(PJRT_Buffer_Destroy, buffer: without_provenance_mut(buffer)).map(drop)
        });
        assert_eq!(count, 1);
        let event: *mut PJRT_Event = call!(PJRT_Event_Create).unwrap().event;
        let event = event.addr();
        let count =
            winners(|| call!(PJRT_Event_Destroy, event: without_provenance_mut(event)).map(drop));
        assert_eq!(count, 1);
        let other = call!(PJRT_Client_Create).unwrap().client.addr();
        let count =
            winners(|| call!(PJRT_Client_Destroy, client: without_provenance_mut(other)).map(drop));
        assert_eq!(count, 1);
    }
    assert_eq!(client.in_use(4), 0);
}

/// A reader gets all of the bytes or an error, whoever deletes them meanwhile.
#[test]
fn reads_and_deletions_at_once_are_each_whole() {
    let client = Client::new();
    for round in 0..50_u8 {
        let bytes = vec![round; 4096];
        let buffer = put_bytes(&client, client.hbm(5), &bytes).addr();
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for number in 0..THREADS {
                let (start, bytes) = (&start, &bytes);
                scope.spawn(move || {
                    let buffer: *mut PJRT_Buffer = without_provenance_mut(buffer);
                    start.wait();
                    if number == 0 {
                        delete(buffer);
                        return;
                    }
                    match get(buffer) {
                        Ok(read) => assert_eq!(&read, bytes),
                        Err(failure) => assert!(failure.message.contains("deleted or donated")),
                    }
                });
            }
        });
        destroy(without_provenance_mut(buffer));
    }
    assert_eq!(client.in_use(5), 0);
}

/// The read comes first; the promise is kept and deleted at once.
#[test]
fn a_promise_that_is_kept_while_it_is_deleted_reaches_its_reader() {
    let client = Client::new();
    let four = 4;
    for _ in 0..200 {
        let promise = call!(PJRT_Client_CreateAliasBuffer,
            client: client.raw, memory: client.hbm(6), shape_element_type: U8,
            shape_dims: &raw const four, shape_num_dims: 1)
        .unwrap();
        let mut dst = [0_u8; 4];
        let read = call!(PJRT_Buffer_ToHostBuffer,
            src: promise.alias_buffer, dst: dst.as_mut_ptr().cast(), dst_size: 4)
        .unwrap();
        let bytes = Array::dense(U8, &[4], b"abcd").put(&client, client.hbm(6)).unwrap();
        let (alias, given) = (promise.alias_buffer.addr(), bytes.addr());
        let (raw, token) = (client.raw.addr(), promise.fulfill_alias_buffer_cb.addr());
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                destroy(without_provenance_mut(alias));
            });
            start.wait();
            call!(PJRT_Client_FulfillAliasBuffer,
                client: without_provenance_mut(raw), buffer: without_provenance_mut(given),
                fulfill_alias_buffer_cb: without_provenance_mut(token))
            .unwrap();
        });
        wait(read.event).unwrap();
        assert_eq!(&dst, b"abcd");
        destroy(bytes);
        assert_eq!(client.in_use(6), 0);
    }
}

/// Registration and end of an event at once: the callback is called once.
#[test]
fn a_callback_that_is_given_while_its_event_ends_is_called_once() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn count(_: *mut pjrt_sys::PJRT_Error, _: *mut std::ffi::c_void) {
        CALLS.fetch_add(1, Ordering::SeqCst);
    }
    for round in 1..=200 {
        let event = call!(PJRT_Event_Create).unwrap().event.addr();
        let start = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                call!(PJRT_Event_Set, event: without_provenance_mut(event)).unwrap();
            });
            start.wait();
            c::call_with(c::api().PJRT_Event_OnReady, |args: &mut PJRT_Event_OnReady_Args| {
                args.event = without_provenance_mut(event);
                args.callback = Some(count);
            })
            .unwrap();
        });
        assert_eq!(CALLS.load(Ordering::SeqCst), round);
        call!(PJRT_Event_Destroy, event: without_provenance_mut(event)).unwrap();
    }
}
