//! Damaged programs through the whole compiler, and through a run where they still compile: an
//! error or an answer, never a panic.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::fs::{read, read_dir};
use std::path::Path;
use std::sync::Arc;
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest};
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
    let argument = |parameter: &tpu_emu::executable::Parameter| -> Arc<Buffer> {
        let buffer = machine.uninitialized(MEMORY, Arc::clone(&parameter.spec)).unwrap();
        if let Some(region) = buffer.region().unwrap() {
            region.fill_zero();
        }
        Arc::new(buffer)
    };
    let arguments: Vec<Arc<Buffer>> = executable.parameters.iter().map(argument).collect();
    let devices = &[DeviceRequest::new(0, &arguments)];
    let options = &LaunchOptions::default();
    let launched = machine.launch(&LaunchRequest { executable: &executable, devices, options });
    let Ok(launched) = launched else { return false };
    match launched[0].done.wait() {
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

/// Manual code with collectives, a loop around one, and a sum that is still to be done.
const SHARDED: &str = r#"module @m {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x4xf32>, tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}, {?}]>] manual_axes={"x"} (%a: tensor<2x4xf32>) {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<2x4xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %w = "stablehlo.collective_permute"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [2, 4], [1, 3], [3, 5]]> : tensor<4x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
        stablehlo.return %j, %w : tensor<i32>, tensor<2x4xf32>
      }
      %2 = "stablehlo.all_reduce"(%1#1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.add %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<8x4xf32>
      %4 = stablehlo.slice %3 [0:2, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
      sdy.return %1#1, %4 : tensor<2x4xf32>, tensor<2x4xf32>
    } : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>)
    return %0#0, %0#1 : tensor<8x4xf32>, tensor<2x4xf32>
  }
}"#;

#[test]
fn a_damaged_program_over_several_devices_is_an_error_or_a_program_too() {
    let machine = Emulator::new(Config::plain()).unwrap();
    let compiles = |text: &[u8], partitions| {
        let options = CompileOptions { partitions, ..CompileOptions::default() };
        machine.compile(Format::Mlir, text, options).is_ok()
    };
    assert!(compiles(SHARDED.as_bytes(), 8));
    let digits: Vec<usize> = (0..SHARDED.len())
        .filter(|&at| {
            SHARDED.as_bytes()[at].is_ascii_digit() || b"xy[]{}".contains(&SHARDED.as_bytes()[at])
        })
        .collect();
    let mut fine = 0;
    for (number, &at) in digits.iter().enumerate() {
        for other in [b'0', b'1', b'3', b'8', b'9', b'x'] {
            let mut damaged = SHARDED.as_bytes().to_vec();
            damaged[at] = other;
            let partitions = if number % 3 == 0 { 4 } else { 8 };
            fine += usize::from(compiles(&damaged, partitions));
        }
    }
    assert!(fine > 10, "{fine} compile");
}
