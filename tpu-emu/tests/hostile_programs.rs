//! Damaged programs through the whole compiler, and through a run where they still compile: an
//! error or an answer, never a panic.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::fs::{read, read_dir};
use std::path::Path;
use std::sync::Arc;
use tpu_emu::exec::LaunchOptions;
use tpu_emu::program::{CompileOptions, Format};
use tpu_emu::{Buffer, Config, Emulator, Memory, MemoryKind};

const MEMORY: Memory = Memory { device: 0, kind: MemoryKind::Device };

/// The small programs that the reader is tested with.
fn programs() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("stablehlo/tests/golden");
    let mut found: Vec<(String, Vec<u8>)> = read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "mlirbc"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), read(&path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() > 10);
    found
}

/// Compiles, and runs on zeros what compiles and is small. Whether it ran to its end.
fn compile_and_run(machine: &Arc<Emulator>, code: &[u8]) -> bool {
    let Ok(executable) = machine.compile(Format::Mlir, code, CompileOptions::default()) else {
        return false;
    };
    // A flipped bit can ask for a gigabyte, or for a loop without an end.
    if executable.memory.total().0 > 1 << 22 || executable.name.contains("while") {
        return false;
    }
    let argument = |parameter: &tpu_emu::program::Parameter| -> Arc<Buffer> {
        let buffer = machine.uninitialized(MEMORY, Arc::clone(&parameter.spec)).unwrap();
        if let Some(region) = buffer.region().unwrap() {
            region.fill_zero();
        }
        Arc::new(buffer)
    };
    let arguments: Vec<Arc<Buffer>> = executable.parameters.iter().map(argument).collect();
    let launched = machine.launch(&executable, 0, &arguments, &LaunchOptions::default());
    let Ok(launched) = launched else { return false };
    match launched.done.wait() {
        Ok(()) => true,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("panicked"), "{text}");
            false
        }
    }
}

#[test]
fn whole_programs_compile_or_say_why_not() {
    let machine = Emulator::new(Config::plain()).unwrap();
    let ran = programs().iter().filter(|(_, code)| compile_and_run(&machine, code)).count();
    assert!(ran > 8, "{ran} ran");
}

#[test]
fn a_damaged_program_is_an_error_or_a_program_never_a_panic() {
    let machine = Emulator::new(Config::plain()).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
    };
    let mut ran = 0;
    for (name, code) in programs() {
        // A loop whose end was damaged may never come.
        if name.starts_with("while") {
            continue;
        }
        for _ in 0..400 {
            let mut damaged = code.clone();
            for _ in 0..=random(2) {
                let at = random(damaged.len());
                damaged[at] ^= 1 << random(8);
            }
            ran += usize::from(compile_and_run(&machine, &damaged));
        }
    }
    assert!(ran > 0);
}
