//! Counts the calls of API functions for the trace: how often, how long, from which stacks.
//!
//! A call is counted in memory. The trace has a record for each function and stack, whose numbers
//! are written again when a count has doubled, when a quarter of a second has passed, and at the end.
use crate::clock::Monotonic;
use crate::forked::is_forked;
use crate::stack::thread_number;
use crate::trace_file::Records;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::Emulator;
use tpu_emu::entry::{Began, CallObserver, EndedCall, FunctionName, observe};
use tpu_emu::origin::{Clock as _, StackId};
use tpu_emu::trace::{ApiCall, ApiCalls, CallCounts};
use tpu_emu::units::{Bytes, Nanos};

/// Nanoseconds after which all numbers that have changed are written.
const WRITTEN_AGAIN: u64 = 250_000_000;

/// Calls without a new stack after which stacks are taken half as often.
const QUIET: u32 = 32;

/// A stack is taken once in so many calls at least.
const RAREST: u32 = 4096;

/// Calls of a function by a thread that are timed, each of them.
const TIMED: u32 = 1024;

/// Of the calls behind them one in so many is timed, by chance, and stands for so many. Reading the
/// clock twice costs more than all else that is done for a call.
const STANDS_FOR: u32 = 8;

/// Stacks that are counted by themselves, over all functions.
const MOST_STACKS: usize = 1 << 16;

/// What a trace has of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CallMode {
    /// Nothing.
    Off,
    /// How often each function was called.
    Counts,
    /// How often each function was called from each stack.
    #[default]
    Stacks,
    /// How often each function was called from each stack, and every single call.
    Each,
}

/// The calls of one function from one stack. What each call writes lies in one line of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
struct Counted {
    count: AtomicU64,
    time: AtomicU64,
    bytes: AtomicU64,
    errors: AtomicU64,
    /// The count that the trace has.
    written: AtomicU64,
    /// Where in the trace the numbers are; 0 for nowhere.
    place: AtomicU64,
    function: FunctionName,
    stack: StackId,
    thread: u32,
    first: Nanos,
}

impl Counted {
    /// Adds a call, and the time of so many nanoseconds; whether the count has doubled.
    fn add(&self, time: u64, call: &EndedCall) -> bool {
        if time > 0 {
            self.time.fetch_add(time, Ordering::Relaxed);
        }
        if call.bytes > Bytes::ZERO {
            self.bytes.fetch_add(call.bytes.0, Ordering::Relaxed);
        }
        if call.error.is_some() {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        (self.count.fetch_add(1, Ordering::Relaxed) + 1).is_power_of_two()
    }

    fn counts(&self) -> CallCounts {
        CallCounts {
            count: self.count.load(Ordering::Relaxed),
            time: Nanos(self.time.load(Ordering::Relaxed)),
            bytes: Bytes(self.bytes.load(Ordering::Relaxed)),
            errors: self.errors.load(Ordering::Relaxed),
        }
    }

    /// The numbers and their place, where the trace has older ones.
    fn changed(&self) -> Option<(u64, CallCounts)> {
        let counts = self.counts();
        let place = self.place.load(Ordering::Acquire);
        let is_new = self.written.swap(counts.count, Ordering::Relaxed) != counts.count;
        (is_new && place > 0).then_some((place, counts))
    }
}

/// What a thread knows of a function and looks at in every call, in one line of the cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct SeenFunction {
    /// Where its name is.
    key: usize,
    /// What chance makes its next number of.
    chance: u64,
    /// The count of calls whose stack was not taken.
    other: Option<&'static Counted>,
    /// Calls so far, up to [`TIMED`].
    calls: u32,
    /// Calls until the next stack is taken.
    left: u32,
    /// Calls from one stack that is taken to the next.
    gap: u32,
    /// Stacks taken since the last new one.
    quiet: u32,
    /// Whether it is one of an interface: what is none has a name with spaces.
    is_counted: bool,
}

impl SeenFunction {
    fn new(function: FunctionName) -> Self {
        Self { key: key_of(function), is_counted: is_counted(function), ..Self::default() }
    }

    /// For how many calls the time of this one is to stand; 0 for one that is not timed.
    fn stands_for(&mut self) -> u32 {
        if self.calls < TIMED {
            self.calls += 1;
            return 1;
        }
        // Knuth's generator for 64 bits, of which the top ones are the best.
        self.chance = self
            .chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if self.chance >> 61 == 0 { STANDS_FOR } else { 0 }
    }

    /// Whether the stack of this call is to be taken.
    fn looks(&mut self) -> bool {
        let looks = self.left == 0;
        self.left = if looks { self.gap } else { self.left - 1 };
        looks
    }

    /// Learns whether a stack was new: many of one kind are looked at less and less often.
    fn learn(&mut self, is_new: bool) {
        if is_new {
            (self.quiet, self.gap) = (0, self.gap / 4);
            return;
        }
        self.quiet += 1;
        if self.quiet >= QUIET {
            (self.quiet, self.gap) = (0, (2 * self.gap + 1).min(RAREST - 1));
        }
        self.left = self.left.min(self.gap);
    }
}

/// Stands for a function: names are static, so each has a place of its own.
fn key_of(function: FunctionName) -> usize {
    std::ptr::from_ref(function).addr()
}

/// Whether a function is one of an interface: what is none has a name with spaces.
fn is_counted(function: FunctionName) -> bool {
    !function.contains(' ')
}

/// How many functions a thread finds without a hash, about.
const NEAR: usize = 256;

/// What a thread knows of the functions that it called.
#[derive(Debug)]
struct SeenFunctions {
    all: Vec<SeenFunction>,
    /// Where in `all` a function may be, by its key. A name takes two words.
    near: [u16; NEAR],
    /// Where it is.
    places: FxHashMap<usize, u16>,
    stacks: FxHashMap<(usize, StackId), &'static Counted>,
}

impl Default for SeenFunctions {
    fn default() -> Self {
        let (places, stacks) = (FxHashMap::default(), FxHashMap::default());
        Self { all: Vec::new(), near: [0; NEAR], places, stacks }
    }
}

impl SeenFunctions {
    /// What is known of a function; `None` for one behind the first 65,536.
    fn of(&mut self, function: FunctionName) -> Option<&mut SeenFunction> {
        let key = key_of(function);
        let near = key / 16 % NEAR;
        let mut at = usize::from(self.near[near]);
        if self.all.get(at).is_none_or(|seen| seen.key != key) {
            let place = match self.places.get(&key) {
                Some(&place) => place,
                None => {
                    let place = u16::try_from(self.all.len()).ok()?;
                    self.all.push(SeenFunction::new(function));
                    self.places.insert(key, place);
                    place
                }
            };
            self.near[near] = place;
            at = usize::from(place);
        }
        self.all.get_mut(at)
    }
}

thread_local! {
    static FUNCTIONS: RefCell<SeenFunctions> = RefCell::default();
}

/// Does something with what the thread knows; `None` where it knows nothing: a thread that ends
/// keeps nothing, and a call inside of `what` finds it taken.
fn with_seen<T>(what: impl FnOnce(&mut SeenFunctions) -> Option<T>) -> Option<T> {
    let found = FUNCTIONS.try_with(|functions| what(&mut *functions.try_borrow_mut().ok()?));
    found.ok().flatten()
}

/// Hears of every call.
#[derive(Debug)]
pub(crate) struct CallCounter {
    mode: CallMode,
    clock: Monotonic,
    records: Arc<Records>,
    machine: Arc<Emulator>,
    known: Mutex<Known>,
    /// When all numbers were written last.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    all: Vec<&'static Counted>,
    by_stack: HashMap<(usize, StackId), &'static Counted>,
}

impl CallCounter {
    /// Counts from now on, for the rest of the process.
    pub(crate) fn start(
        mode: CallMode,
        clock: Monotonic,
        records: Arc<Records>,
        machine: Arc<Emulator>,
    ) -> &'static Self {
        let (known, written) = (Mutex::default(), AtomicU64::new(0));
        let counter = Box::leak(Box::new(Self { mode, clock, records, machine, known, written }));
        observe(counter);
        counter
    }

    /// Writes all numbers, at the end of the process.
    pub(crate) fn write_all(&self) {
        if is_forked() {
            return;
        }
        let all = self.known.lock().all.clone();
        if !self.records.has_places() {
            let names = self.machine.ledger().names();
            for counted in all {
                self.records.add_calls(&Self::record(counted), &names);
            }
            return;
        }
        let changed: Vec<(u64, CallCounts)> =
            all.into_iter().filter_map(Counted::changed).collect();
        self.records.rewrite_counts(&changed);
    }

    fn record(counted: &'static Counted) -> ApiCalls<'static> {
        ApiCalls {
            function: counted.function,
            stack: counted.stack,
            thread: counted.thread,
            first: counted.first,
            counts: counted.counts(),
        }
    }

    /// The count of a function's calls from a stack, which may be new to all threads.
    fn counted(&self, call: &EndedCall, stack: StackId) -> &'static Counted {
        let key = key_of(call.function);
        let mut known = self.known.lock();
        let is_full = known.by_stack.len() >= MOST_STACKS && stack != StackId::EMPTY;
        let stack = if is_full { StackId::EMPTY } else { stack };
        if let Some(&counted) = known.by_stack.get(&(key, stack)) {
            return counted;
        }
        let counted: &'static Counted = Box::leak(Box::new(Counted {
            function: call.function,
            stack,
            thread: thread_number(),
            first: if call.began.stands_for > 0 { call.began.at } else { self.clock.now() },
            count: AtomicU64::new(0),
            time: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            written: AtomicU64::new(0),
            place: AtomicU64::new(0),
        }));
        known.by_stack.insert((key, stack), counted);
        known.all.push(counted);
        drop(known);
        if self.records.has_places() {
            let names = self.machine.ledger().names();
            let place = self.records.add_calls(&Self::record(counted), &names);
            counted.place.store(place.unwrap_or_default(), Ordering::Release);
        }
        counted
    }

    /// Whether a call's stack is to be taken, and the count that it belongs to if it is not;
    /// `None` for what is no function of an interface.
    fn looked_up(&self, of: FunctionName) -> Option<(bool, Option<&'static Counted>)> {
        let known = with_seen(|functions| {
            let function = functions.of(of)?;
            if !function.is_counted {
                return Some(None);
            }
            let takes = match self.mode {
                CallMode::Off | CallMode::Counts => false,
                CallMode::Stacks => function.looks(),
                CallMode::Each => true,
            };
            Some(Some((takes, function.other)))
        });
        known.unwrap_or_else(|| is_counted(of).then_some((false, None)))
    }

    /// The count of a call from a stack, which the thread knows from now on.
    fn counted_by_stack(&self, call: &EndedCall, stack: StackId) -> &'static Counted {
        let of = call.function;
        let known = with_seen(|functions| {
            let found = functions.stacks.get(&(key_of(of), stack)).copied();
            functions.of(of)?.learn(found.is_none());
            found
        });
        known.unwrap_or_else(|| {
            let counted = self.counted(call, stack);
            with_seen(|functions| functions.stacks.insert((key_of(of), stack), counted));
            counted
        })
    }

    /// The count of a call whose stack was not taken, which the thread knows from now on.
    fn counted_without(&self, call: &EndedCall) -> &'static Counted {
        let counted = self.counted(call, StackId::EMPTY);
        with_seen(|functions| functions.of(call.function)?.other.replace(counted));
        counted
    }

    /// Writes what has changed since, where that was long ago.
    fn write_now_and_then(&self, now: u64) {
        let last = self.written.load(Ordering::Relaxed);
        if now.saturating_sub(last) < WRITTEN_AGAIN {
            return;
        }
        let relaxed = Ordering::Relaxed;
        if self.written.compare_exchange(last, now, relaxed, relaxed).is_ok()
            && self.records.has_places()
        {
            self.write_all();
        }
    }
}

impl CallObserver for CallCounter {
    fn begin(&self, of: FunctionName) -> Began {
        let found = with_seen(|functions| {
            let function = functions.of(of)?;
            Some(if function.is_counted { function.stands_for() } else { 0 })
        });
        let stands_for = match self.mode {
            CallMode::Each => 1,
            _ => found.unwrap_or(1),
        };
        let at = if stands_for > 0 { self.clock.now() } else { Nanos(0) };
        Began { at, stands_for }
    }

    #[inline(never)]
    fn end(&self, call: &EndedCall) {
        if is_forked() {
            return;
        }
        let Began { at, stands_for } = call.began;
        let now = if stands_for > 0 { self.clock.now() } else { at };
        let time = now.0.saturating_sub(at.0);
        let Some((takes, other)) = self.looked_up(call.function) else { return };
        let counted = if takes {
            // With nothing borrowed: a capture may call anything.
            let stack = self.machine.ledger().origin_of_call().stack;
            self.counted_by_stack(call, stack)
        } else {
            other.unwrap_or_else(|| self.counted_without(call))
        };
        if counted.add(time.saturating_mul(stands_for.into()), call)
            && let Some(changed) = counted.changed()
        {
            self.records.rewrite_counts(&[changed]);
        }
        if self.mode == CallMode::Each {
            let one = ApiCall {
                function: call.function,
                stack: counted.stack,
                thread: thread_number(),
                time: at,
                duration: Nanos(time),
                bytes: call.bytes,
                code: call.error.map_or(0, |code| (code as i32).unsigned_abs()),
            };
            self.records.call(&one, &self.machine.ledger().names());
        }
        if stands_for > 0 {
            self.write_now_and_then(now.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_that_are_timed_stand_for_all_of_them() {
        let mut function = SeenFunction::new(&"PJRT_Buffer_Memory");
        let calls: Vec<u32> = (0..100_000).map(|_| function.stands_for()).collect();
        assert!(calls[..TIMED as usize].iter().all(|&stands_for| stands_for == 1));
        let timed = calls.iter().filter(|&&stands_for| stands_for > 0).count();
        assert!((13_000..14_000).contains(&timed), "{timed}");
        let all: u32 = calls.iter().sum();
        assert!((97_000..103_000).contains(&all), "{all}");
        // Not always the same of four that come by turns.
        let by_turns = |turn: usize| {
            let every_fourth = calls[TIMED as usize + turn..].iter().step_by(4);
            every_fourth.filter(|&&stands_for| stands_for > 0).count()
        };
        assert!((0..4).all(|turn| (2_800..3_400).contains(&by_turns(turn))));
    }

    #[test]
    fn a_function_without_new_stacks_has_them_taken_less_and_less_often_and_never_not_at_all() {
        let mut function = SeenFunction::default();
        let mut taken = Vec::new();
        for call in 0..1_000_000_u32 {
            if function.looks() {
                function.learn(false);
                taken.push(call);
            }
        }
        assert!((0..32).all(|call| taken[call as usize] == call));
        assert!(taken.len() < 1000, "{}", taken.len());
        let longest = taken.windows(2).map(|pair| pair[1] - pair[0]).max();
        assert_eq!(longest, Some(RAREST));
        // A new stack makes it curious again.
        function.learn(true);
        assert_eq!(function.gap, RAREST / 4 - 1);
    }
}
