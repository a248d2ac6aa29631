//! Arrays that a program over several devices declares the same on all of them and that are not:
//! every device goes on with its own.
use super::machine::{f32s, get, launch_all, machine};
use super::sharded::{compile, first, launch, manual, pairs, put, run};
use std::sync::Arc;
use tpu_emu::Buffer;

const ROWS: &str = "[{\"i\"}, {}]";
const WHOLE: &str = "[{}, {}]";

/// The elements of a result that stays.
fn floats(buffer: &Arc<Buffer>) -> Vec<f32> {
    let bytes = get(buffer.alias().unwrap()).unwrap().bytes;
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

/// The first element that each device has.
fn firsts(found: &[Vec<f32>]) -> Vec<f32> {
    found.iter().map(|part| part[0]).collect()
}

/// Devices' own values, by a scale and an offset.
fn own(scale: f32, offset: f32) -> Vec<f32> {
    (0..8_u8).map(|device| f32::from(device) * scale + offset).collect()
}

/// Every device gives its pair out as the whole.
fn declared_the_same() -> String {
    let body = "%r = stablehlo.add %a, %a : tensor<1x2xf32>";
    let local = ["tensor<1x2xf32>"; 2];
    manual("tensor<8x2xf32>", "tensor<1x2xf32>", local, [ROWS, WHOLE], body)
}

#[test]
fn a_result_that_differs_is_each_devices_own() {
    assert_eq!(firsts(&run(&declared_the_same(), &pairs())), own(20.0, 0.0));
}

#[test]
fn code_over_whole_arrays_goes_on_with_the_copies() {
    let main = declared_the_same().replace(
        "    return %0",
        "    %z = stablehlo.constant dense<0.0> : tensor<1x2xf32>
    %t = stablehlo.constant dense<true> : tensor<i1>
    %1 = \"stablehlo.if\"(%t) ({
      %2 = stablehlo.add %0, %0 : tensor<1x2xf32>
      stablehlo.return %2 : tensor<1x2xf32>
    }, {
      stablehlo.return %z : tensor<1x2xf32>
    }) : (tensor<i1>) -> tensor<1x2xf32>
    %3 = func.call @next(%1) : (tensor<1x2xf32>) -> tensor<1x2xf32>
    return %3",
    );
    let next = "
  func.func private @next(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
    %c = stablehlo.constant dense<1.0> : tensor<1x2xf32>
    %0 = stablehlo.add %x, %c : tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }";
    assert_eq!(firsts(&run(&(main + next), &pairs())), own(40.0, 1.0));
}

#[test]
fn a_loop_whose_body_makes_them_carries_them() {
    let main = "func.func @main(%x: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> tensor<1x2xf32> {
    %n = stablehlo.constant dense<0> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<1x2xf32>
    %0:2 = stablehlo.while(%k = %n, %w = %z) : tensor<i32>, tensor<1x2xf32>
    cond {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %c = stablehlo.compare LT, %k, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %m = sdy.manual_computation(%x, %w) in_shardings=[<@line, [{\"i\"}, {}]>, <@line, [{}, {}]>] out_shardings=[<@line, [{}, {}]>] manual_axes={\"i\"} (%a: tensor<1x2xf32>, %b: tensor<1x2xf32>) {
        %s = stablehlo.add %a, %b : tensor<1x2xf32>
        sdy.return %s : tensor<1x2xf32>
      } : (tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
      stablehlo.return %next, %m : tensor<i32>, tensor<1x2xf32>
    }
    return %0#1 : tensor<1x2xf32>
  }";
    assert_eq!(firsts(&run(main, &pairs())), own(20.0, 0.0));
}

#[test]
fn what_all_devices_have_alike_is_one_value() {
    // A sum over all, scaled by each device for itself in a loop: one value for all of them.
    let body = "%t = \"stablehlo.all_reduce\"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.add %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<1x2xf32>) -> tensor<1x2xf32>
      %r = stablehlo.multiply %t, %t : tensor<1x2xf32>";
    let local = ["tensor<1x2xf32>"; 2];
    let main = manual("tensor<8x2xf32>", "tensor<1x2xf32>", local, [ROWS, WHOLE], body);
    let found = run(&main, &pairs());
    assert_eq!(firsts(&found), [280.0_f32 * 280.0; 8]);
    let program = compile(&machine(), &main).unwrap();
    let multiplications = program.run_flops;
    let alone = main.replace("%r = stablehlo.multiply %t, %t", "%r = stablehlo.add %t, %a");
    let each = compile(&machine(), &alone).unwrap().run_flops;
    assert_eq!(each - multiplications, 7.0 * 2.0, "every device adds, all multiply as one");
}

#[test]
fn an_argument_that_differs_is_read_by_each_device_for_itself() {
    let machine = machine();
    let main = "func.func @main(%x: tensor<1x2xf32>, %y: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> (tensor<1x2xf32>, tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) {
    %0 = stablehlo.add %x, %x : tensor<1x2xf32>
    %1 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<8x2xf32>
    %2 = stablehlo.add %1, %y : tensor<8x2xf32>
    return %0, %2 : tensor<1x2xf32>, tensor<8x2xf32>
  }";
    let program = compile(&machine, main).unwrap();
    let parts = pairs();
    let step = |wholes: Vec<Arc<Buffer>>| -> (Vec<f32>, Vec<f32>, Vec<Arc<Buffer>>) {
        let own = parts.iter().enumerate().map(|(device, part)| put(&machine, device, part));
        let arguments: Vec<Vec<Arc<Buffer>>> =
            wholes.into_iter().zip(own).map(|(whole, part)| vec![whole, part]).collect();
        let launched = launch_all(&machine, &program, &arguments).unwrap();
        let (mut doubled, mut sums, mut wholes) = (Vec::new(), Vec::new(), Vec::new());
        for mut one in launched {
            one.done.wait().unwrap();
            let whole = Arc::new(one.results.remove(0));
            doubled.push(floats(&whole)[0]);
            sums.push(floats(&Arc::new(one.results.remove(0)))[1]);
            wholes.push(whole);
        }
        (doubled, sums, wholes)
    };
    let put = |scale: f32| -> Vec<Arc<Buffer>> {
        let values = own(scale, 1.0).into_iter().enumerate();
        values.map(|(device, value)| put(&machine, device, &f32s(&[1, 2], &[value; 2]))).collect()
    };
    let (doubled, sums, _) = step(put(0.0));
    assert_eq!((doubled, sums), (own(0.0, 2.0), own(10.0, 2.0)));
    let (doubled, sums, wholes) = step(put(3.0));
    assert_eq!((doubled, sums), (own(6.0, 2.0), own(13.0, 2.0)));
    // What came out differing goes in again.
    let (doubled, sums, _) = step(wholes);
    assert_eq!((doubled, sums), (own(12.0, 4.0), own(16.0, 3.0)));
}

#[test]
fn a_donated_argument_that_differs_becomes_each_devices_result() {
    let machine = machine();
    let main =
        "func.func @main(%x: tensor<1x2xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1x2xf32> {
    %0 = stablehlo.add %x, %x : tensor<1x2xf32>
    return %0 : tensor<1x2xf32>
  }";
    let program = compile(&machine, main).unwrap();
    let found = launch(&machine, &program, &pairs()).unwrap();
    assert_eq!(firsts(&found.into_iter().map(first).collect::<Vec<_>>()), own(20.0, 0.0));
}
