//! The devices that JAX loads a serialized program for.
//!
//! `deserialize_and_load(…, execution_devices=…)` of JAX makes shardings of them, and jaxlib ends
//! the process where these disagree with the program or its results; it tells nobody the devices.
use crate::programs::LoadedEntry;
use std::cell::RefCell;
use tpu_emu::{Error, Result};

thread_local! {
    /// The ids that the text has told on this thread.
    static TOLD: RefCell<Vec<i64>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn take(id: i64) {
    TOLD.with_borrow_mut(|told| told.push(id));
}

/// The ids of the devices that the one load under way in this process's interpreter is for; none
/// where there is no interpreter, no such load, or several.
///
/// It takes the interpreter's lock, which jaxlib gives up while it loads.
fn told() -> Vec<i64> {
    let take: *const () = take as *const ();
    let text = include_str!("execution_devices.py");
    TOLD.with_borrow_mut(Vec::clear);
    let ran = tpu_host::run_python(text, "devices", &[("TAKE", take.expose_provenance())]);
    if let Err(error) = ran {
        tracing::warn!(%error, "the devices of a load are not known");
    }
    TOLD.with_borrow_mut(std::mem::take)
}

/// Refuses a program over several devices that is loaded for others, or for the same ones in
/// another order.
///
/// # Errors
/// `BadArgument` with the ids of both.
pub(crate) fn check(loaded: &LoadedEntry) -> Result<()> {
    let devices = loaded.machine.topology().devices();
    let executable = &loaded.of.executable;
    if executable.devices.len() < 2 {
        return Ok(());
    }
    let id = |&index: &usize| devices.get(index).map_or(-1, |device| i64::from(device.id));
    let own: Vec<i64> = executable.devices.iter().map(id).collect();
    compare(&own, &told())
}

fn compare(own: &[i64], told: &[i64]) -> Result<()> {
    if told.is_empty() || told == own {
        return Ok(());
    }
    let (compiled, loaded) = (listed(own), listed(told));
    Err(Error::bad(format!(
        "a program that was compiled for the devices {compiled} is loaded for {loaded}; they must \
         be the same in the same order: deserialize_and_load(…, execution_devices=…)"
    )))
}

/// Some ids, and how many there are.
fn listed(ids: &[i64]) -> String {
    const SHOWN: usize = 16;
    let first: Vec<String> = ids.iter().take(SHOWN).map(ToString::to_string).collect();
    let first = first.join(", ");
    if ids.len() > SHOWN {
        format!("[{first}, …; {} in all]", ids.len())
    } else {
        format!("[{first}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_must_be_the_same_in_the_same_order() {
        assert_eq!(compare(&[0, 1], &[]), Ok(()));
        assert_eq!(compare(&[1, 0], &[1, 0]), Ok(()));
        let text = |own: &[i64], told: &[i64]| compare(own, told).unwrap_err().to_string();
        let refused = text(&[1, 0], &[0, 1]);
        assert!(refused.contains("devices [1, 0] is loaded for [0, 1];"), "{refused}");
        assert!(text(&[0, 1], &[0, 1, 2]).contains("loaded for [0, 1, 2]"));
        let many: Vec<i64> = (0..20).collect();
        assert!(text(&[0, 1], &many).contains("15, …; 20 in all]"));
    }
}
