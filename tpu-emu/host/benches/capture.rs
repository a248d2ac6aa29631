//! A capture against the walk of the system's unwinder, which is the reference.
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]
#![expect(clippy::print_stdout, reason = "a bench reports on stdout")]
use std::hint::black_box;
use std::time::Instant;
use tpu_emu::origin::StackSource;
use tpu_host::stack::{ProcessStacks, StackMode, Unwinder};

const ROUNDS: u32 = 2000;
const REPEATS: u32 = 7;
const DEPTH: usize = 60;

fn main() {
    let sources = [
        ProcessStacks::new(StackMode::Native),
        ProcessStacks::new(StackMode::Full),
        ProcessStacks::by(Unwinder::Backtrace, StackMode::Native),
    ];
    let mut frames = Vec::new();
    let mut walked = 0;
    let [native, full, backtrace, reference] = at_depth(DEPTH, &mut || {
        let [native, full, backtrace] = sources.each_ref().map(|source| {
            microseconds(|| {
                frames.clear();
                source.capture(&mut frames);
            })
        });
        let reference = microseconds(|| {
            walked = 0;
            backtrace::trace(|frame| {
                black_box(frame.ip());
                walked += 1;
                true
            });
        });
        [native, full, backtrace, reference]
    });
    println!("reference   {reference:8.2} us  {walked} frames");
    for (name, time) in [("native", native), ("full", full), ("backtrace", backtrace)] {
        let count = frames.len();
        println!("{name:9}   {time:8.2} us  {count} frames  ({:.3}x)", time / reference);
    }
}

/// Runs `body` with `depth` more functions on the stack.
#[inline(never)]
fn at_depth<T>(depth: usize, body: &mut dyn FnMut() -> T) -> T {
    let result = if depth == 0 { body() } else { at_depth(depth - 1, body) };
    black_box(&depth);
    result
}

/// Best of [`REPEATS`]: the mean of [`ROUNDS`].
fn microseconds(mut round: impl FnMut()) -> f64 {
    let times = (0..REPEATS).map(|_| {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| round());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
    });
    times.fold(f64::INFINITY, f64::min)
}
