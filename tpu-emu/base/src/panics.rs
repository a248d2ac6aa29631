//! Panics: bugs of ours, which become errors where they are caught and are not printed before.
use crate::error::{Error, Result};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// Places of panics that nobody has caught yet, at most.
const KEPT: usize = 64;

thread_local! {
    /// How many [`caught`] this thread is in; a thread of ours is always in one.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// What panics said and where, until they are caught. Not by thread: a pool carries a panic from
/// the thread that had it to the one that waits for it.
static PLACES: Mutex<VecDeque<(String, String)>> = Mutex::new(VecDeque::new());

/// Runs `work` for `function`; a panic becomes an error with the place of it. Nothing is printed.
///
/// # Errors
/// `Panic`, and what `end_work` ended the work with.
pub fn caught<R>(function: &'static str, work: impl FnOnce() -> R) -> Result<R> {
    install();
    let depth = DEPTH.get();
    DEPTH.set(depth + 1);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(depth);
    outcome.map_err(|payload| {
        if let Some(error) = payload.downcast_ref::<Error>() {
            return error.clone();
        }
        let message = text_of(&*payload);
        let place = take_place(&message);
        Error::Panic { function, message, place }
    })
}

/// Makes the calling thread one of ours: its panics are carried to whoever waits for its work.
pub fn adopt() {
    install();
    DEPTH.set(DEPTH.get() + 1);
}

/// Says that a thread of ours lost a panic that nobody waits for.
pub fn lost(payload: &(dyn Any + Send)) {
    let message = text_of(payload);
    let error =
        Error::Panic { function: "a background thread", place: take_place(&message), message };
    // There is nobody else to tell, and nothing to do where nobody reads.
    drop(writeln!(std::io::stderr(), "{error}"));
}

/// Puts a hook before the one that is there, once.
fn install() {
    static INSTALLED: Once = Once::new();
    if INSTALLED.is_completed() || std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 || is_the_end(&text_of(info.payload())) {
                before(info);
            } else {
                note(info);
            }
        }));
    });
}

fn note(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let mut places = PLACES.lock();
    if places.len() == KEPT {
        places.pop_front();
    }
    places.push_back((text_of(info.payload()), place));
}

/// Whether a panic that says this ends the process, as one does that cannot unwind. Then those
/// that led to it are printed too.
fn is_the_end(message: &str) -> bool {
    if !message.starts_with("panic in a ") && !message.contains("precondition(s) violated") {
        return false;
    }
    for (message, place) in PLACES.lock().drain(..) {
        drop(writeln!(std::io::stderr(), "tpu-emu panicked at {place}: {message}"));
    }
    true
}

fn take_place(message: &str) -> String {
    let mut places = PLACES.lock();
    let at = places.iter().rposition(|(known, _)| known == message);
    at.and_then(|at| places.remove(at)).map_or_else(|| "an unknown place".to_owned(), |it| it.1)
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_panic_is_an_error_that_says_where_and_whose_fault_it_is() {
        let line = line!() + 1;
        let error = caught::<()>("PJRT_Some_Call", || panic!("lost {}", 1)).unwrap_err();
        let text = error.to_string();
        let place = format!("PJRT_Some_Call panicked: lost 1 (tpu-emu/base/src/panics.rs:{line}:");
        assert!(text.starts_with(&place), "{text}");
        assert!(text.ends_with("): a fault of tpu-emu, please report it"), "{text}");
        assert_eq!(caught("f", || 7), Ok(7));
    }

    #[test]
    fn a_panic_of_a_thread_that_others_wait_for_has_its_place() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(|_| adopt());
        let pool = pool.build().unwrap();
        let error = caught::<()>("f", || pool.install(|| panic!("on the pool"))).unwrap_err();
        assert!(error.to_string().contains("on the pool (tpu-emu/base/src/panics.rs:"), "{error}");
    }

    /// What a process prints that runs the test `name` of this file with `PANICS_CHILD`.
    fn printed(name: &str) -> String {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", &format!("panics::tests::{name}"), "--nocapture"]);
        let output = child.env("PANICS_CHILD", "1").output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "a process of its own")]
    fn is_child() -> bool {
        std::env::var_os("PANICS_CHILD").is_some()
    }

    #[test]
    fn a_caught_panic_prints_nothing() {
        if is_child() {
            drop(caught("f", || panic!("silent")));
            drop(caught("f", || [1, 2, 3][text_of(&"three").len()]));
            return;
        }
        let text = printed("a_caught_panic_prints_nothing");
        assert!(!text.contains("panicked"), "{text}");
    }

    #[test]
    fn a_panic_of_somebody_else_goes_to_the_hook_that_was_there() {
        if is_child() {
            drop(caught("f", || ()));
            drop(std::thread::spawn(|| panic!("not ours")).join());
            return;
        }
        let text = printed("a_panic_of_somebody_else_goes_to_the_hook_that_was_there");
        assert!(text.contains("panicked at") && text.contains("not ours"), "{text}");
    }

    #[test]
    fn a_panic_that_ends_the_process_is_printed_with_what_led_to_it() {
        struct Worse;
        impl Drop for Worse {
            fn drop(&mut self) {
                panic!("worse");
            }
        }
        if is_child() {
            drop(caught("f", || {
                let _worse = Worse;
                panic!("bad")
            }));
            return;
        }
        let text = printed("a_panic_that_ends_the_process_is_printed_with_what_led_to_it");
        for words in ["bad", "worse", "panic in a destructor"] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
    }

    #[test]
    fn a_panic_that_nobody_waits_for_is_printed_once() {
        if is_child() {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(|_| adopt());
            let (told, ended) = std::sync::mpsc::channel();
            let told = Mutex::new(told);
            let pool = pool.panic_handler(move |payload| {
                lost(&*payload);
                told.lock().send(()).unwrap();
            });
            pool.build().unwrap().spawn(|| panic!("a listener"));
            ended.recv().unwrap();
            return;
        }
        let text = printed("a_panic_that_nobody_waits_for_is_printed_once");
        assert_eq!(text.matches("a listener").count(), 1, "{text}");
        assert!(
            text.contains("a background thread panicked: a listener (tpu-emu/base/src"),
            "{text}"
        );
    }
}
