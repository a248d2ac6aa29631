//! Programs over several devices: every device gets its part of what the whole program gives.
use super::machine::{Array, f32s, get, launch_all, machine};
use std::sync::Arc;
use tpu_emu::buffer::HostArray;
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::runtime::{Launched, LoadedExecutable};
use tpu_emu::units::Bytes;
use tpu_emu::{Buffer, Emulator, Memory, MemoryKind, Result};

const DEVICES: usize = 8;

fn memory(device: usize) -> Memory {
    Memory { device, kind: MemoryKind::Device }
}

/// A program with a mesh of 4 × 2 and one of 8.
pub(super) fn compile(machine: &Arc<Emulator>, main: &str) -> Result<Arc<LoadedExecutable>> {
    let text = format!(
        "module @m {{
  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>
  sdy.mesh @line = <[\"i\"=8]>
  {main}
}}"
    );
    let options = CompileOptions { partitions: DEVICES, ..CompileOptions::default() };
    machine.compile(Format::Mlir, text.as_bytes(), options)
}

/// The manual computation `body` from one operand `%a` on each device to `%r`.
pub(super) fn manual(
    from: &str,
    to: &str,
    [local, made]: [&str; 2],
    [takes, gives]: [&str; 2],
    body: &str,
) -> String {
    format!(
        "func.func @main(%x: {from} {{sdy.sharding = #sdy.sharding<@line, {takes}>}}) -> ({to} {{sdy.sharding = #sdy.sharding<@line, {gives}>}}) {{
    %0 = sdy.manual_computation(%x) in_shardings=[<@line, {takes}>] out_shardings=[<@line, {gives}>] manual_axes={{\"i\"}} (%a: {local}) {{
      {body}
      sdy.return %r : {made}
    }} : ({from}) -> {to}
    return %0 : {to}
  }}"
    )
}

pub(super) fn put(machine: &Arc<Emulator>, device: usize, array: &Array) -> Arc<Buffer> {
    let spec = machine.describe(array.dtype, &array.dims, LayoutRequest::Default).unwrap();
    let array = HostArray { bytes: &array.bytes, low: 0, strides: None };
    Arc::new(machine.put(memory(device), spec, array).unwrap())
}

/// Runs a program of one parameter: the parts of the devices in, the parts of the devices out.
pub(super) fn run(main: &str, parts: &[Array]) -> Vec<Vec<f32>> {
    let machine = machine();
    let program = compile(&machine, main).unwrap();
    launch(&machine, &program, parts).unwrap().into_iter().map(first).collect()
}

pub(super) fn launch(
    machine: &Arc<Emulator>,
    program: &Arc<LoadedExecutable>,
    parts: &[Array],
) -> Result<Vec<Launched>> {
    let arguments: Vec<Vec<Arc<Buffer>>> =
        parts.iter().enumerate().map(|(device, part)| vec![put(machine, device, part)]).collect();
    launch_all(machine, program, &arguments)
}

/// The elements of the first result.
pub(super) fn first(launched: Launched) -> Vec<f32> {
    let Launched { mut results, done } = launched;
    done.wait().unwrap();
    let bytes = get(results.remove(0)).unwrap().bytes;
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

/// Device `i` has `10 i` and `10 i + 1`.
pub(super) fn pairs() -> Vec<Array> {
    let pair =
        |device: u8| f32s(&[1, 2], &[f32::from(device) * 10.0, f32::from(device) * 10.0 + 1.0]);
    (0..8).map(pair).collect()
}

const ROWS: &str = "[{\"i\"}, {}]";
const WHOLE: &str = "[{}, {}]";
const EVERYONE: &str = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>";
const SUM: &str = "({
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.add %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      })";

#[test]
fn a_constraint_moves_tiles_between_devices() {
    let main = "func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}, {}]>}) {
    %0 = stablehlo.add %x, %x : tensor<4x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{\"y\"}, {}]> : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }";
    // Tile (row, column half) of 0, 1, …, 15 is on device 2 row + half.
    let tile = |device: u8| {
        let first = f32::from(device) * 2.0;
        f32s(&[1, 2], &[first, first + 1.0])
    };
    let found = run(main, &(0..8).map(tile).collect::<Vec<_>>());
    let doubled: Vec<f32> = (0..16_u8).map(|value| f32::from(value) * 2.0).collect();
    for (device, part) in found.iter().enumerate() {
        let half = device % 2;
        assert_eq!(*part, doubled[half * 8..half * 8 + 8], "device {device}");
    }
}

#[test]
fn what_is_whole_everywhere_is_given_to_everyone_and_told_so() {
    let machine = machine();
    let main = "func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> (tensor<f32>, tensor<8x2xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x2xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.negate %x : tensor<8x2xf32>
    return %0, %1 : tensor<f32>, tensor<8x2xf32>
  }";
    let program = compile(&machine, main).unwrap();
    let told: Vec<&str> =
        program.results.iter().map(|result| result.sharding.as_deref().unwrap()).collect();
    assert_eq!(told, ["{replicated}", "{devices=[8,1]<=[8]}"]);
    assert_eq!(program.parameters[0].sharding.as_deref(), Some("{devices=[8,1]<=[8]}"));
    assert_eq!(*program.parameters[0].spec.dims, [1, 2]);
    let launched = launch(&machine, &program, &pairs()).unwrap();
    for run in launched {
        assert_eq!(first(run), [2.0 * 280.0 + 8.0]);
    }
}

#[test]
fn collectives_are_over_the_values_of_all_devices() {
    let local = "tensor<1x2xf32>";
    let sum = format!(
        "%r = \"stablehlo.all_reduce\"(%a) <{{{EVERYONE}, use_global_device_ids}}> {SUM} : ({local}) -> {local}"
    );
    let reduced =
        run(&manual("tensor<8x2xf32>", local, [local, local], [ROWS, WHOLE], &sum), &pairs());
    assert_eq!(reduced, vec![vec![280.0, 288.0]; 8]);

    let gathered = "tensor<8x2xf32>";
    let gather = format!(
        "%r = \"stablehlo.all_gather\"(%a) <{{all_gather_dim = 0 : i64, {EVERYONE}, use_global_device_ids}}> : ({local}) -> {gathered}"
    );
    let found =
        run(&manual(gathered, gathered, [local, gathered], [ROWS, WHOLE], &gather), &pairs());
    let all: Vec<f32> = pairs()
        .iter()
        .flat_map(|pair| {
            pair.bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        })
        .collect();
    assert_eq!(found, vec![all; 8]);

    let permute = format!(
        "%r = \"stablehlo.collective_permute\"(%a) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [3, 3]]> : tensor<2x2xi64>}}> : ({local}) -> {local}"
    );
    let found = run(&manual(gathered, gathered, [local, local], [ROWS, ROWS], &permute), &pairs());
    let mut expected = vec![vec![0.0, 0.0]; 8];
    expected[1] = vec![0.0, 1.0];
    expected[3] = vec![30.0, 31.0];
    assert_eq!(found, expected);
}

#[test]
fn parts_are_exchanged_and_sums_are_scattered() {
    let (local, whole) = ("tensor<8x1xf32>", "tensor<8x8xf32>");
    let column = |device: u8| {
        let values: Vec<f32> = (0..8_u8).map(|row| f32::from(row * 8 + device)).collect();
        f32s(&[8, 1], &values)
    };
    let columns: Vec<Array> = (0..8).map(column).collect();
    let exchange = format!(
        "%r = \"stablehlo.all_to_all\"(%a) <{{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 8 : i64, {EVERYONE}}}> : ({local}) -> tensor<1x8xf32>"
    );
    let found = run(
        &manual(whole, whole, [local, "tensor<1x8xf32>"], ["[{}, {\"i\"}]", ROWS], &exchange),
        &columns,
    );
    for (row, part) in (0..8_u8).zip(&found) {
        let expected: Vec<f32> = (0..8).map(|column| f32::from(row * 8 + column)).collect();
        assert_eq!(*part, expected);
    }
    let scatter = format!(
        "%r = \"stablehlo.reduce_scatter\"(%a) <{{scatter_dimension = 0 : i64, {EVERYONE}, use_global_device_ids}}> {SUM} : ({local}) -> tensor<1x1xf32>"
    );
    let found = run(
        &manual(
            whole,
            "tensor<8x1xf32>",
            [local, "tensor<1x1xf32>"],
            ["[{}, {\"i\"}]", ROWS],
            &scatter,
        ),
        &columns,
    );
    for (row, part) in (0..8_u8).zip(&found) {
        assert_eq!(*part, [f32::from(row) * 64.0 + 28.0]);
    }
}

#[test]
fn a_device_knows_its_number_and_groups_are_their_own() {
    let local = "tensor<1x2xf32>";
    let body = format!("%n = stablehlo.partition_id : tensor<ui32>
      %f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {local}
      %r = \"stablehlo.all_reduce\"(%b) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}}> {SUM} : ({local}) -> {local}");
    let found = run(
        &manual("tensor<8x2xf32>", "tensor<8x2xf32>", [local, local], [ROWS, ROWS], &body),
        &pairs(),
    );
    for (device, part) in found.iter().enumerate() {
        assert_eq!(*part, vec![if device % 2 == 0 { 12.0 } else { 16.0 }; 2]);
    }
}

/// A loop that adds the sum over a group until the first element passes a bound.
fn looping(groups: &str) -> String {
    let local = "tensor<1x2xf32>";
    let body = format!("%bound = stablehlo.constant dense<1000.0> : tensor<f32>
      %r = stablehlo.while(%v = %a) : {local}
      cond {{
        %e = stablehlo.slice %v [0:1, 1:2] : ({local}) -> tensor<1x1xf32>
        %f = stablehlo.reshape %e : (tensor<1x1xf32>) -> tensor<f32>
        %p = stablehlo.compare LT, %f, %bound : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %t = \"stablehlo.all_reduce\"(%v) <{{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = {groups}, use_global_device_ids}}> {SUM} : ({local}) -> {local}
        stablehlo.return %t : {local}
      }}");
    manual("tensor<8x2xf32>", "tensor<8x2xf32>", [local, local], [ROWS, ROWS], &body)
}

#[test]
fn a_loop_with_a_collective_goes_on_for_its_group() {
    let found =
        run(&looping("dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>"), &pairs());
    // 1 + 11 = 12, then doubled until 1536; the other groups need fewer rounds.
    assert_eq!(found[0][1], 1536.0);
    assert_eq!(found[1][1], 1536.0);
    assert_eq!(found[2][1], (21.0 + 31.0) * 32.0);
    assert_eq!(found[6][1], (61.0 + 71.0) * 8.0);
}

#[test]
fn devices_that_leave_a_shared_loop_at_different_times_are_an_error() {
    let machine = machine();
    let program =
        compile(&machine, &looping("dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>")).unwrap();
    let mut parts = pairs();
    parts[0] = f32s(&[1, 2], &[0.0, 2000.0]);
    let launched = launch(&machine, &program, &parts).unwrap();
    let error = launched[7].done.wait().unwrap_err().to_string();
    let said = "device 0 decides false (to leave the loop), devices 1 to 7 decide true (to wait in stablehlo.all_reduce)";
    assert!(error.contains(said), "{error}");
}

#[test]
fn axes_that_are_not_manual_are_whole_inside() {
    let main = "func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}) -> (tensor<1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"x\", ?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>] manual_axes={\"x\"} (%a: tensor<1x4xf32>) {
      %1 = \"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.add %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<1x4xf32>) -> tensor<1x4xf32>
      sdy.return %1 : tensor<1x4xf32>
    } : (tensor<4x4xf32>) -> tensor<1x4xf32>
    return %0 : tensor<1x4xf32>
  }";
    let tile = |device: u8| {
        let first = f32::from(device) * 2.0;
        f32s(&[1, 2], &[first, first + 1.0])
    };
    let found = run(main, &(0..8).map(tile).collect::<Vec<_>>());
    assert_eq!(found, vec![vec![24.0, 28.0, 32.0, 36.0]; 8]);
}

#[test]
fn a_sum_that_is_still_to_be_done_is_done_by_whoever_reads_it() {
    let main = "func.func @main(%x: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}], unreduced={\"x\"}>}) -> (tensor<2xf32>, tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"y\"}], unreduced={\"x\"}>}) {
    %0 = stablehlo.negate %x : tensor<2xf32>
    return %0, %x : tensor<2xf32>, tensor<2xf32>
  }";
    let machine = machine();
    let program = compile(&machine, main).unwrap();
    let told = program.parameters[0].sharding.as_deref();
    assert_eq!(told, Some("{devices=[2,4]<=[4,2]T(1,0) last_tile_dims={unreduced}}"));
    let parts: Vec<Array> = (0..8_u8).map(|device| f32s(&[1], &[f32::from(device)])).collect();
    let launched = launch(&machine, &program, &parts).unwrap();
    for (device, mut run) in launched.into_iter().enumerate() {
        let second = run.results.remove(1);
        let summand = get(second).unwrap().bytes;
        assert_eq!(summand, parts[device].bytes, "device {device}");
        let negated = first(run);
        let own = if negated.len() == 2 { negated } else { [negated, Vec::new()].concat() };
        assert!(own.contains(&-12.0) || own.contains(&-16.0), "{own:?}");
    }
}

#[test]
fn every_device_is_charged_for_its_parts_alone() {
    let machine = machine();
    let main = "func.func @main(%x: tensor<8x4096xf32> {jax.buffer_donor = true, sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> (tensor<8x4096xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) {
    %0 = stablehlo.negate %x : tensor<8x4096xf32>
    return %0 : tensor<8x4096xf32>
  }";
    let program = compile(&machine, main).unwrap();
    assert_eq!(program.memory.arguments.0, 16384);
    assert_eq!(program.memory.alias.0, 16384);
    // The result is made where the parameter was.
    assert_eq!(program.memory.temporaries.0, 0);
    let part = f32s(&[1, 4096], &[1.0; 4096]);
    let arguments: Vec<Vec<Arc<Buffer>>> =
        (0..DEVICES).map(|device| vec![put(&machine, device, &part)]).collect();
    let launched = launch_all(&machine, &program, &arguments).unwrap();
    assert!(arguments.iter().flatten().all(|argument| argument.is_deleted()));
    launched[0].done.wait().unwrap();
    for device in 0..DEVICES {
        let stats = machine.memory_stats(memory(device));
        assert_eq!(stats.bytes_in_use.0, 16384, "device {device}");
        assert_eq!(stats.peak_bytes_in_use.0, 16384 + program.memory.temporaries.0);
    }
    for run in launched {
        assert_eq!(first(run), vec![-1.0; 4096]);
    }
}

#[test]
fn replicas_run_the_program_on_their_own_data() {
    let machine = machine();
    let text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    %0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
    ^bb0(%l: tensor<f32>, %m: tensor<f32>):
      %s = stablehlo.add %l, %m : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %n = \"stablehlo.replica_id\"() : () -> tensor<ui32>
    %f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.add %0, %b : tensor<2xf32>
    return %1 : tensor<2xf32>
  }";
    for text in [text.to_owned(), text.replace("stablehlo.replica_id", "mhlo.replica_id")] {
        let options = CompileOptions { replicas: DEVICES, ..CompileOptions::default() };
        let program = machine.compile(Format::Mlir, text.as_bytes(), options).unwrap();
        let parts = vec![f32s(&[2], &[1.0, 2.0]); 8];
        let found: Vec<Vec<f32>> =
            launch(&machine, &program, &parts).unwrap().into_iter().map(first).collect();
        for (replica, part) in (0..8_u8).zip(found) {
            assert_eq!(part, [8.0 + f32::from(replica), 16.0 + f32::from(replica)]);
        }
    }
}

#[test]
fn what_replicas_compute_alike_is_refused_once() {
    let text = "func.func public @main() -> tensor<ui32> {
    %x = stablehlo.constant dense<1> : tensor<ui32>
    %y = func.call @f(%x) : (tensor<ui32>) -> tensor<ui32>
    %n = stablehlo.replica_id : tensor<ui32>
    %z = stablehlo.add %n, %y : tensor<ui32>
    return %z : tensor<ui32>
  }
  func.func private @f(%x: tensor<ui32>) -> tensor<ui32> {
    %0 = \"stablehlo.unheard_of\"(%x) : (tensor<ui32>) -> tensor<ui32>
    return %0 : tensor<ui32>
  }";
    let options = CompileOptions { replicas: DEVICES, ..CompileOptions::default() };
    let refused = machine().compile(Format::Mlir, text.as_bytes(), options).unwrap_err();
    let reason = "operation stablehlo.unheard_of is not supported";
    assert_eq!(refused.to_string().matches(reason).count(), 1, "{refused}");
}

#[test]
fn parts_of_another_shape_and_lists_of_another_number_are_named() {
    let machine = machine();
    let main = "func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> tensor<8x2xf32> {
    return %x : tensor<8x2xf32>
  }";
    let program = compile(&machine, main).unwrap();
    let error = launch(&machine, &program, &pairs()[..3]).unwrap_err().to_string();
    assert!(error.contains("3 argument lists") && error.contains("8 devices"), "{error}");
    let mut parts = pairs();
    parts[5] = f32s(&[8, 2], &[0.0; 16]);
    let error = launch(&machine, &program, &parts).unwrap_err().to_string();
    assert!(error.contains("f32[8,2]") && error.contains("f32[1,2]"), "{error}");
    let one = super::machine::launch(&machine, &program, &[]).unwrap_err();
    assert!(one.to_string().contains("on 8 devices at once"), "{one}");
}

#[test]
fn what_does_not_divide_is_refused_by_its_number() {
    let main = "func.func @main(%x: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> tensor<6x2xf32> {
    return %x : tensor<6x2xf32>
  }";
    let error = compile(&machine(), main).unwrap_err().to_string();
    assert!(error.contains("parameter 0") && error.contains("do not divide"), "{error}");
}

#[test]
fn an_array_of_one_element_is_repeated_by_each_device() {
    let machine = machine();
    let main = "func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>, tf.aliasing_output = 0 : i32}) -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}, tensor<512xf32>, tensor<1024xi4> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}]>}) {
    %c = stablehlo.constant dense<3.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %2 = stablehlo.constant dense<-3> : tensor<1024xi4>
    return %0, %1, %2 : tensor<8x2xf32>, tensor<512xf32>, tensor<1024xi4>
  }";
    let program = compile(&machine, main).unwrap();
    for mut launched in launch(&machine, &program, &pairs()).unwrap() {
        launched.done.wait().unwrap();
        let [rows, whole, packed] = [0; 3].map(|_| get(launched.results.remove(0)).unwrap());
        assert_eq!(rows, f32s(&[1, 2], &[3.0; 2]));
        assert_eq!(whole, f32s(&[512], &[3.0; 512]));
        assert_eq!(packed.dims, [128]);
        assert!(packed.bytes.iter().all(|&byte| byte << 4 == 0xd0), "{:?}", packed.bytes);
    }
}

#[test]
fn constants_larger_than_the_host_are_never_whole() {
    // Eight times two arrays of half a gigabyte, of zeros; the whole of each would be four.
    let machine = machine();
    let main = "func.func @main() -> (tensor<8x134217728xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}, tensor<1024x1024x1024xf32> {sdy.sharding = #sdy.sharding<@line, [{}, {\"i\"}, {}]>}) {
    %0 = stablehlo.constant dense<0.0> : tensor<8x134217728xf32>
    %1 = stablehlo.constant dense<0.0> : tensor<1024x1024x1024xf32>
    return %0, %1 : tensor<8x134217728xf32>, tensor<1024x1024x1024xf32>
  }";
    let program = compile(&machine, main).unwrap();
    let launched = launch_all(&machine, &program, &vec![Vec::new(); DEVICES]).unwrap();
    for one in launched {
        one.done.wait().unwrap();
        for result in one.results {
            let region = result.region().unwrap().unwrap();
            assert!(region.resident() < Bytes::mib(4), "{:?}", region.resident());
        }
    }
}
