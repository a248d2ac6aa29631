//! The net finds faults that are planted, each of another kind.
use std::process::Command;
use tpu_fuzz::planted::Fault;

/// Seconds that finding a fault may take, beside other work.
const SECONDS: &str = "60";

#[test]
fn a_planted_fault_of_every_kind_is_found_and_named() {
    for (name, fault) in Fault::ALL {
        let mut run = Command::new(env!("CARGO_BIN_EXE_tpu-fuzz"));
        let said = run.args([SECONDS, "1", name]).output().unwrap();
        let text = String::from_utf8_lossy(&said.stderr);
        let words = match fault {
            Fault::Compile | Fault::Panic => ["panic at ", "the planted fault"],
            Fault::Abort => ["died of signal 6", "found, with programs in"],
            Fault::Hang => ["too slow: Run", "found, with programs in"],
            Fault::Unsteady => ["two runs differ", "the planted fault"],
        };
        assert_eq!(said.status.code(), Some(1), "{name}: {text}");
        for word in words {
            assert!(text.contains(word), "{name}: {word} is not in {text}");
        }
    }
}

#[test]
fn a_program_without_a_fault_is_none_under_the_same_net() {
    let said = Command::new(env!("CARGO_BIN_EXE_tpu-fuzz")).args(["one", "no-such.mlir"]).output();
    assert!(!said.unwrap().status.success());
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/seeds/programs/slices.mlir");
    let said = Command::new(env!("CARGO_BIN_EXE_tpu-fuzz")).args(["one", program]).output();
    assert_eq!(String::from_utf8_lossy(&said.unwrap().stdout), "Ran\n");
}
