//! The one way into the machine: names the call, times it for the log, and stops panics.
use crate::error::{Code, Error, Result};
use crate::panics::caught;
use crate::units::{Bytes, Nanos};
use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;
use tracing::level_filters::LevelFilter;
use tracing::span::EnteredSpan;

/// The name of an API function. A thin pointer, because every record holds one.
pub type FunctionName = &'static &'static str;

/// Outside of any.
const NONE: FunctionName = &"";

thread_local! {
    static CURRENT: Cell<FunctionName> = const { Cell::new(NONE) };
    /// Bytes that calls of this thread took in a memory space or read from one.
    static MOVED: Cell<u64> = const { Cell::new(0) };
}

/// When a call began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Began {
    /// Nanoseconds since the start of the machine; 0 where nobody looked.
    pub at: Nanos,
    /// For how many calls the time of this one stands; 0 where nobody looked.
    pub stands_for: u32,
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedCall {
    /// The API function.
    pub function: FunctionName,
    /// When it began, as [`CallObserver::begin`] has it.
    pub began: Began,
    /// Bytes that it took in a memory space or read from one.
    pub bytes: Bytes,
    /// The kind of error that it ended with.
    pub error: Option<Code>,
}

/// Who hears of every call, on the thread that makes it.
pub trait CallObserver: Sync + fmt::Debug {
    /// The time at which a call of a function begins, if it is to be timed.
    fn begin(&self, function: FunctionName) -> Began;

    /// Takes a call that has ended. The stack is that of the call, two functions above it.
    fn end(&self, call: &EndedCall);
}

static OBSERVER: OnceLock<&'static dyn CallObserver> = OnceLock::new();

/// Has somebody hear of every call from now on. The first to ask is the one.
pub fn observe(observer: &'static dyn CallObserver) {
    // The process has one machine with a trace.
    let _ = OBSERVER.set(observer);
}

/// Says that the call of this thread took bytes in a memory space, or read them from one.
pub fn moved(bytes: Bytes) {
    MOVED.set(MOVED.get().wrapping_add(bytes.0));
}

/// A call that somebody hears of.
struct Observed {
    observer: &'static dyn CallObserver,
    began: Began,
    moved: u64,
}

/// Not a part of `enter`, which is compiled for each function.
#[inline(never)]
fn begin(observer: &'static dyn CallObserver, function: FunctionName) -> Observed {
    Observed { observer, began: observer.begin(function), moved: MOVED.get() }
}

#[inline(never)]
fn end(observed: &Observed, function: FunctionName, error: Option<Code>) {
    let Observed { observer, began, moved } = *observed;
    let bytes = Bytes(MOVED.get().wrapping_sub(moved));
    observer.end(&EndedCall { function, began, bytes, error });
}

/// The API function this thread is in, empty outside of one.
pub fn current() -> FunctionName {
    CURRENT.get()
}

/// The call in the log. Not a part of `enter`, which is compiled for each function.
#[cold]
#[inline(never)]
fn span(function: FunctionName) -> EnteredSpan {
    tracing::debug_span!("call", function).entered()
}

/// Runs `body` as the API function `function`; a panic becomes an error.
///
/// The call is a span of the log at the level `debug`. Where nobody asked for that level, all it
/// costs is the comparison of two numbers.
///
/// # Errors
/// Those of `body`, and `Panic` with the panic's message.
pub fn enter<R>(function: FunctionName, body: impl FnOnce() -> Result<R>) -> Result<R> {
    let logged = LevelFilter::current() >= LevelFilter::DEBUG;
    let _inside = logged.then(|| Box::new(span(function)));
    let observed = OBSERVER.get().map(|&observer| begin(observer, function));
    let outer = CURRENT.replace(function);
    // The machine's state is behind locks that are not poisoned and is changed in one step, so
    // what a panic leaves behind is whole.
    let outcome = caught(function, body);
    if let Some(observed) = &observed {
        let error = outcome
            .as_ref()
            .map_or_else(|panic| Some(panic.code()), |done| done.as_ref().err().map(Error::code));
        end(observed, function, error);
    }
    CURRENT.set(outer);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            tracing::debug!(function, %error, "failed");
            Err(error)
        }
        Err(error) => {
            tracing::error!(%error, "stopped");
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// A log that keeps which spans were made, begun, ended and closed.
    struct Notes(tracing::Level, std::sync::Arc<Mutex<Vec<String>>>);

    struct Named<'n>(&'n mut String);

    impl Visit for Named<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            *self.0 += &format!(" {}={value:?}", field.name());
        }
    }

    impl Subscriber for Notes {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() <= self.0
        }

        fn max_level_hint(&self) -> Option<LevelFilter> {
            Some(self.0.into())
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            let mut name = span.metadata().name().to_owned();
            span.record(&mut Named(&mut name));
            self.1.lock().push(name);
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {}

        fn enter(&self, _: &Id) {
            self.1.lock().push("begin".into());
        }

        fn exit(&self, _: &Id) {
            self.1.lock().push("end".into());
        }

        fn try_close(&self, _: Id) -> bool {
            self.1.lock().push("close".into());
            true
        }
    }

    #[test]
    fn a_call_is_a_span_at_the_level_debug_alone() {
        let notes = |level| {
            let kept = std::sync::Arc::new(Mutex::new(Vec::new()));
            tracing::subscriber::with_default(Notes(level, kept.clone()), || {
                // Tests beside this one call the same function without a log.
                tracing::callsite::rebuild_interest_cache();
                let work = || {
                    kept.lock().push("work".into());
                    Ok(())
                };
                enter(&"PJRT_Some_Call", work).unwrap();
                enter::<()>(&"PJRT_Other_Call", || panic!("lost")).unwrap_err();
            });
            std::mem::take(&mut *kept.lock())
        };
        let span = |name: &str| format!("call function={name:?}");
        let (some, other) = (span("PJRT_Some_Call"), span("PJRT_Other_Call"));
        let wanted = [&some, "begin", "work", "end", "close", &other, "begin", "end", "close"];
        assert_eq!(notes(tracing::Level::DEBUG), wanted);
        assert_eq!(notes(tracing::Level::INFO), ["work"]);
    }

    #[test]
    fn a_panic_is_an_error_with_the_functions_name() {
        let error = enter::<()>(&"PJRT_Some_Call", || panic!("lost {}", 1)).unwrap_err();
        assert!(error.to_string().starts_with("PJRT_Some_Call panicked: lost 1 ("), "{error}");
    }

    #[test]
    fn the_current_function_is_known_inside_and_restored() {
        let inner = enter(&"outer", || {
            let nested = enter(&"inner", || Ok(current()))?;
            Ok((nested, current()))
        });
        assert_eq!(inner, Ok((&"inner", &"outer")));
        assert_eq!(*current(), "");
    }
}
