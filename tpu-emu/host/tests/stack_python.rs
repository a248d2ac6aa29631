//! Captures inside of a Python process agree with what the interpreter says of itself.
//!
//! `TPU_EMU_TEST_PYTHONS` lists interpreters, with colons between; without it `python3` is taken.
#![expect(clippy::disallowed_methods, reason = "a test takes its interpreters from outside")]
#![expect(clippy::unwrap_used, reason = "a test may fail")]
use std::path::{Path, PathBuf};
use std::process::Command;

/// The probe library, which `cargo test` builds as an example.
fn probe() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let probe = test.ancestors().nth(2).unwrap().join("examples/libstack_probe.so");
    assert!(probe.exists(), "build it with `cargo build -p tpu-host --example stack_probe`");
    probe
}

fn check(case: &str) -> Vec<String> {
    let pythons = std::env::var("TPU_EMU_TEST_PYTHONS").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stack/check.py");
    let run = |python: &str| {
        let mut command = Command::new(python);
        let output = command.arg(&script).arg(probe()).arg(case).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{python} {case}: {}\n{errors}", output.status);
        String::from_utf8(output.stdout).unwrap()
    };
    pythons.split(':').filter(|python| !python.is_empty()).map(run).collect()
}

#[test]
fn every_kind_of_call_has_its_frames() {
    check("case_calls");
}

#[test]
fn generators_and_coroutines_have_their_frames() {
    check("case_generators");
}

#[test]
fn code_at_an_address_used_again_has_its_own_name() {
    check("case_code_that_comes_and_goes");
}

#[test]
fn threads_have_their_own_frames() {
    check("case_threads");
}

#[test]
fn a_deep_recursion_is_cut_at_its_outer_end() {
    check("case_deep_recursion");
}

#[test]
fn a_forked_child_captures() {
    check("case_fork");
}

#[test]
fn the_end_of_the_interpreter_may_be_captured() {
    for output in check("case_tear_down") {
        assert_eq!(output, "torn down\n");
    }
}

#[test]
fn threads_may_capture_while_the_interpreter_ends() {
    for _ in 0..5 {
        check("case_shutdown_with_threads");
    }
}

#[test]
fn libraries_may_be_loaded_and_closed_between_captures() {
    check("case_libraries_that_come_and_go");
}

#[test]
fn a_signal_handler_has_the_frames_it_interrupted() {
    check("case_signal");
}
