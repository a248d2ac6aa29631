//! What a run over several devices takes from the host. Alone in its process, so that nothing else
//! moves the count.
#![cfg(all(target_os = "linux", not(miri)))]
use std::fs;
use std::sync::Arc;
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::runtime::{DeviceRequest, LaunchOptions, LaunchRequest};
use tpu_emu::tensor::DType;
use tpu_emu::units::Bytes;
use tpu_emu::{Buffer, Config, Emulator, Memory, MemoryKind};

const DEVICES: usize = 8;
/// Of an array over all devices: 64 MiB.
const ELEMENTS: i64 = 16 << 20;
const SLACK: Bytes = Bytes::mib(8);

/// The most memory that this process had in RAM since it was asked to count anew.
fn peak() -> Bytes {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    Bytes::kib(kib.expect("a number of kB"))
}

#[test]
fn donated_parts_are_updated_where_they_lie() {
    let machine = Emulator::new(Config::plain()).expect("a machine");
    let sharded = "{sdy.sharding = #sdy.sharding<@line, [{\"i\"}]>}";
    let text = format!(
        "module {{
           sdy.mesh @line = <[\"i\"={DEVICES}]>
           func.func @main(%x: tensor<{ELEMENTS}xf32> {{jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@line, [{{\"i\"}}]>}}) -> (tensor<{ELEMENTS}xf32> {sharded}) {{
             %0 = stablehlo.add %x, %x : tensor<{ELEMENTS}xf32>
             return %0 : tensor<{ELEMENTS}xf32>
           }}
         }}"
    );
    let options = CompileOptions { partitions: DEVICES, ..CompileOptions::default() };
    let program = machine.compile(Format::Mlir, text.as_bytes(), options).expect("compiles");
    let own = ELEMENTS / i64::try_from(DEVICES).expect("few");
    let mut arrays: Vec<Arc<Buffer>> = (0..DEVICES)
        .map(|device| {
            let spec = machine.describe(DType::F32, &[own], LayoutRequest::Default).expect("fits");
            let memory = Memory { device, kind: MemoryKind::Device };
            let buffer = machine.uninitialized(memory, spec).expect("room");
            buffer.region().expect("is there").expect("has bytes").fill(1);
            Arc::new(buffer)
        })
        .collect();
    fs::write("/proc/self/clear_refs", "5").expect("Linux has it");
    let before = peak();
    for _ in 0..3 {
        let lists: Vec<[Arc<Buffer>; 1]> = arrays.drain(..).map(|array| [array]).collect();
        let devices: Vec<_> = (0..DEVICES)
            .zip(&lists)
            .map(|(device, list)| DeviceRequest::new(device, list))
            .collect();
        let options = &LaunchOptions::default();
        let request = LaunchRequest { executable: &program, devices: &devices, options };
        for mut launched in machine.launch(&request).expect("starts") {
            launched.done.wait().expect("runs");
            arrays.push(Arc::new(launched.results.remove(0)));
        }
    }
    let taken = peak().saturating_sub(before);
    assert!(taken < SLACK, "three runs over 64 MiB took {taken}");
}
