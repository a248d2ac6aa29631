//! Arguments that are given up, wait, or have failed.
use super::machine::{
    Array, HBM, bytes, compile, f32s, get, i32s, launch, launch_with, machine, put, run,
};
use std::sync::Arc;
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::runtime::LaunchOptions;
use tpu_emu::tensor::DType;
use tpu_emu::{Buffer, Emulator, Error};

const ADD: &str = "func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> tensor<4xf32> {
    %s = stablehlo.add %x, %y : tensor<4xf32>
    return %s : tensor<4xf32>
}";

fn address(buffer: &Buffer) -> usize {
    buffer.host_pointer().unwrap().addr()
}

fn pair(machine: &Arc<Emulator>) -> [Arc<Buffer>; 2] {
    [put(machine, &f32s(&[4], &[1.0, 2.0, 3.0, 4.0])), put(machine, &f32s(&[4], &[10.0; 4]))]
}

fn sum() -> Array {
    f32s(&[4], &[11.0, 12.0, 13.0, 14.0])
}

#[test]
fn a_donated_argument_is_where_the_result_lies_and_is_gone() {
    let machine = machine();
    let program = compile(&machine, ADD).unwrap();
    let arguments = pair(&machine);
    let place = address(&arguments[0]);
    let mut results = launch(&machine, &program, &arguments).unwrap().results;
    assert!(arguments[0].is_deleted() && !arguments[1].is_deleted());
    assert_eq!(address(&results[0]), place);
    assert_eq!(get(results.remove(0)).unwrap(), sum());
    let again = launch(&machine, &program, &arguments).unwrap_err().to_string();
    assert!(again.contains("deleted or donated"), "{again}");
}

#[test]
fn an_argument_is_kept_where_the_launch_says_so_or_somebody_else_has_its_bytes() {
    let machine = machine();
    let program = compile(&machine, ADD).unwrap();
    let arguments = pair(&machine);
    let options = LaunchOptions { not_donated: vec![0], ..LaunchOptions::default() };
    let mut kept = launch_with(&machine, &program, &arguments, &options).unwrap().results;
    assert!(!arguments[0].is_deleted());
    assert_ne!(address(&kept[0]), address(&arguments[0]));
    assert_eq!(get(kept.remove(0)).unwrap(), sum());

    // An alias still reads the bytes, as a copy under way does.
    let alias = arguments[0].alias().unwrap();
    let mut results = launch(&machine, &program, &arguments).unwrap().results;
    assert!(arguments[0].is_deleted());
    assert_ne!(address(&results[0]), address(&alias));
    assert_eq!(get(results.remove(0)).unwrap(), sum());
    assert_eq!(get(alias).unwrap(), f32s(&[4], &[1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn one_buffer_cannot_be_given_up_and_be_another_argument() {
    let machine = machine();
    let program = compile(&machine, ADD).unwrap();
    let [x, _] = pair(&machine);
    let error = launch(&machine, &program, &[Arc::clone(&x), Arc::clone(&x)]).unwrap_err();
    assert!(error.to_string().contains("donated buffer"), "{error}");
    assert!(!x.is_deleted());
}

#[test]
fn two_donated_parameters_may_change_places() {
    let text = "func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
        return %y, %x : tensor<4xf32>, tensor<4xf32>
    }";
    let (x, y) = (f32s(&[4], &[1.0; 4]), f32s(&[4], &[2.0; 4]));
    assert_eq!(run(text, &[x.clone(), y.clone()]), [y, x]);
}

#[test]
fn a_donor_serves_the_first_result_that_fits() {
    let text = "func.func public @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %n: tensor<2xi32> {jax.buffer_donor = true}) -> (tensor<3xf32>, tensor<4xf32>) {
        %a = stablehlo.slice %x [1:4] : (tensor<4xf32>) -> tensor<3xf32>
        %b = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
        return %a, %b : tensor<3xf32>, tensor<4xf32>
    }";
    let machine = machine();
    let program = compile(&machine, text).unwrap();
    assert_eq!(program.results[1].alias, Some(0));
    let arguments =
        [put(&machine, &f32s(&[4], &[1.0, 2.0, 3.0, 4.0])), put(&machine, &i32s(&[2], &[0, 0]))];
    let place = address(&arguments[0]);
    let results = launch(&machine, &program, &arguments).unwrap().results;
    // Nobody took the second one's bytes; it is gone all the same.
    assert!(arguments.iter().all(|argument| argument.is_deleted()));
    assert_eq!(address(&results[1]), place);
    let results: Vec<Array> = results.into_iter().map(|result| get(result).unwrap()).collect();
    assert_eq!(results, [f32s(&[3], &[2.0, 3.0, 4.0]), f32s(&[4], &[4.0, 3.0, 2.0, 1.0])]);
}

#[test]
fn a_donor_serves_a_result_of_as_many_bytes_if_none_is_like_it() {
    let text = "func.func public @main(%x: tensor<2x3xf32> {jax.buffer_donor = true}, %y: tensor<3x2xf32> {jax.buffer_donor = true}) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
        %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
        %b = stablehlo.bitcast_convert %a : (tensor<3x2xf32>) -> tensor<3x2xi32>
        %c = stablehlo.add %a, %y : tensor<3x2xf32>
        return %c, %b : tensor<3x2xf32>, tensor<3x2xi32>
    }";
    let machine = machine();
    let program = compile(&machine, text).unwrap();
    assert_eq!([program.results[0].alias, program.results[1].alias], [Some(1), Some(0)]);
    let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let y = f32s(&[3, 2], &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    let arguments = [put(&machine, &x), put(&machine, &y)];
    let places = [address(&arguments[1]), address(&arguments[0])];
    let results = launch(&machine, &program, &arguments).unwrap().results;
    assert_eq!([address(&results[0]), address(&results[1])], places);
    let results: Vec<Array> = results.into_iter().map(|result| get(result).unwrap()).collect();
    let bits = [1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0].map(|of| of.to_bits().cast_signed());
    let sums = f32s(&[3, 2], &[11.0, 24.0, 32.0, 45.0, 53.0, 66.0]);
    assert_eq!(results, [sums, i32s(&[3, 2], &bits)]);
}

#[test]
fn narrow_arrays_are_given_up_like_others() {
    let text = "func.func public @main(%x: tensor<3xi4> {tf.aliasing_output = 1 : i32}, %y: tensor<3xi4> {tf.aliasing_output = 0 : i32}) -> (tensor<3xi4>, tensor<3xi4>) {
        %s = stablehlo.add %x, %y : tensor<3xi4>
        return %x, %s : tensor<3xi4>, tensor<3xi4>
    }";
    let x = bytes(DType::S4, &[3], &[1, 15, 3]);
    let results = run(text, &[x.clone(), bytes(DType::S4, &[3], &[1, 1, 14])]);
    assert_eq!(results, [x, bytes(DType::S4, &[3], &[2, 0, 1])]);
}

#[test]
fn a_launch_waits_for_arguments_that_are_promised() {
    let machine = machine();
    let program = compile(&machine, ADD).unwrap();
    let [x, y] = pair(&machine);
    let spec = machine.describe(DType::F32, &[4], LayoutRequest::Default).unwrap();
    let promises = [(); 2].map(|()| Arc::new(machine.promised(HBM, Arc::clone(&spec))));
    let launched = launch(&machine, &program, &promises).unwrap();
    assert!(promises[0].is_deleted());
    promises[1].fulfil(Ok(&y)).unwrap();
    assert!(!launched.done.is_ready());
    promises[0].fulfil(Ok(&x)).unwrap();
    launched.done.wait().unwrap();
    let results = launched.results.into_iter().map(|result| get(result).unwrap());
    assert_eq!(results.collect::<Vec<_>>(), [sum()]);
    // The bytes were the promise's only in part: the buffer behind it is as it was.
    let x = Arc::into_inner(x).unwrap();
    assert_eq!(get(x).unwrap(), f32s(&[4], &[1.0, 2.0, 3.0, 4.0]));
}

#[test]
fn a_failed_argument_fails_every_result_with_its_own_cause() {
    let machine = machine();
    let program = compile(&machine, ADD).unwrap();
    let [_, y] = pair(&machine);
    let spec = machine.describe(DType::F32, &[4], LayoutRequest::Default).unwrap();
    let cause = Error::bad("the first cause");
    let failed = Arc::new(machine.failed(HBM, Arc::clone(&spec), cause.clone()));
    let first = launch(&machine, &program, &[failed, Arc::clone(&y)]).unwrap();
    assert_eq!(first.done.wait(), Err(cause.clone()));
    let poisoned: Vec<Arc<Buffer>> = first.results.into_iter().map(Arc::new).collect();
    let second = launch(&machine, &program, &[Arc::clone(&y), Arc::clone(&poisoned[0])]).unwrap();
    assert_eq!(second.done.wait(), Err(cause.clone()));

    let promise = Arc::new(machine.promised(HBM, spec));
    let [x, _] = pair(&machine);
    let third = launch(&machine, &program, &[x, Arc::clone(&promise)]).unwrap();
    promise.fulfil(Err(cause.clone())).unwrap();
    assert_eq!(third.done.wait(), Err(cause));
}

#[test]
fn a_launch_leaves_no_memory_behind() {
    let machine = machine();
    let program = compile(&machine, ADD).unwrap();
    let before = machine.memory_stats(HBM).bytes_in_use;
    for _ in 0..3 {
        let launched = launch(&machine, &program, &pair(&machine)).unwrap();
        launched.done.wait().unwrap();
    }
    assert_eq!(machine.memory_stats(HBM).bytes_in_use, before);
}
