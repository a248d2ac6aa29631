//! The one way into the machine: names the call and stops panics.
use crate::error::Result;
use crate::panics::caught;
use std::cell::Cell;

/// The name of an API function. A thin pointer, because every record holds one.
pub type Function = &'static &'static str;

/// Outside of any.
const NONE: Function = &"";

thread_local! {
    static CURRENT: Cell<Function> = const { Cell::new(NONE) };
}

/// The API function this thread is in, empty outside of one.
pub fn current() -> Function {
    CURRENT.get()
}

/// Runs `body` as the API function `function`; a panic becomes an error.
///
/// # Errors
/// Those of `body`, and `Panic` with the panic's message.
pub fn enter<R>(function: Function, body: impl FnOnce() -> Result<R>) -> Result<R> {
    let outer = CURRENT.replace(function);
    // The machine's state is behind locks that are not poisoned and is changed in one step, so
    // what a panic leaves behind is whole.
    let outcome = caught(function, body);
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
