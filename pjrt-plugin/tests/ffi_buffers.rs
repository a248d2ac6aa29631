//! What typed calls see of arrays: types, extents, addresses, layouts, shared memory, tokens.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::{Array, F32, S32, destroy, get};
use c::handlers::{dims, elements, handler, operand, register, result};
use c::programs::{Run, compile, compile_with, end, on_device};
use c::{Client, Failure, INVALID, UNIMPLEMENTED, assert_refused};
use pjrt_sys::{PJRT_Buffer, XLA_FFI_CallFrame};
use std::ptr::null_mut;
use std::sync::Mutex;

/// Runs a program on an array of numbers; gives the bytes of its results.
fn run(body: &str, signature: &str, arguments: &[&[i32]]) -> Result<Vec<Vec<u8>>, Failure> {
    let client = Client::new();
    let code = format!(
        "module @jit_buffers {{\n  func.func public @main{signature} {{\n{body}\n  }}\n}}\n"
    );
    let it = compile_with(&client, &code, &on_device(0))?;
    let put = |numbers: &&[i32]| -> *mut PJRT_Buffer {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let extents: &[i64] = if numbers.len() == 6 { &[2, 3] } else { &[1] };
        let extents = if numbers.is_empty() { &[0] } else { extents };
        Array::dense(S32, extents, &bytes).put(&client, client.hbm(0)).unwrap()
    };
    let arguments: Vec<_> = arguments.iter().map(put).collect();
    let count = signature.rsplit("->").next().unwrap().matches("tensor").count();
    let results = Run::new(it, &arguments, count).start();
    arguments.into_iter().for_each(destroy);
    end(it);
    let results = results?;
    let bytes = results.iter().map(|&result| get(result).unwrap()).collect();
    results.into_iter().for_each(destroy);
    Ok(bytes)
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|four| i32::from_ne_bytes(four.try_into().unwrap())).collect()
}

/// What handlers saw, by target.
static SEEN: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

fn see(target: &'static str, what: String) {
    SEEN.lock().unwrap().push((target, what));
}

fn seen(target: &str) -> String {
    let seen = SEEN.lock().unwrap();
    seen.iter().rfind(|(of, _)| *of == target).unwrap().1.clone()
}

fn counts(frame: *mut XLA_FFI_CallFrame) -> (usize, usize) {
    // SAFETY: a frame of the runtime's.
    let (args, rets) = unsafe { ((*frame).args.size, (*frame).rets.size) };
    (args.try_into().unwrap(), rets.try_into().unwrap())
}

fn describe(frame: *mut XLA_FFI_CallFrame) -> String {
    let (operands, results) = counts(frame);
    let operands = (0..operands).map(|at| operand(frame, at));
    let all = operands.chain((0..results).map(|at| result(frame, at)));
    let one = |buffer: pjrt_sys::XLA_FFI_Buffer| {
        let null = if buffer.data.is_null() { " null" } else { "" };
        assert!(buffer.data.is_null() || buffer.data.addr().is_multiple_of(64));
        format!("{}{:?}{null}", buffer.dtype.0, dims(&buffer))
    };
    all.map(one).collect::<Vec<_>>().join(" ")
}

handler!(describes, |frame| {
    see("describes", describe(frame));
    null_mut()
});

/// What a handler sees of an operand and a result of these types.
fn described(of: &str) -> String {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap();
    register("buffers.describes", describes);
    let body = format!(
        "    %0 = stablehlo.custom_call @buffers.describes() {{has_side_effect = true, \
         mhlo.backend_config = {{}}}} : () -> {of}
    %1 = stablehlo.custom_call @buffers.describes(%0) {{has_side_effect = true, \
         mhlo.backend_config = {{}}}} : ({of}) -> tensor<1xi32>
    return %1 : tensor<1xi32>"
    );
    run(&body, "() -> tensor<1xi32>", &[]).unwrap();
    let seen = seen("describes");
    drop(turn);
    seen
}

#[test]
fn every_element_type_has_its_number() {
    for (name, number) in [
        ("i1", 1),
        ("i8", 2),
        ("i16", 3),
        ("i32", 4),
        ("i64", 5),
        ("ui8", 6),
        ("ui16", 7),
        ("ui32", 8),
        ("ui64", 9),
        ("f16", 10),
        ("f32", 11),
        ("f64", 12),
        ("complex<f32>", 15),
        ("bf16", 16),
        ("complex<f64>", 18),
        ("f8E5M2", 19),
        ("f8E4M3FN", 20),
        ("i4", 21),
        ("ui4", 22),
        ("f8E4M3B11FNUZ", 23),
        ("f8E5M2FNUZ", 24),
        ("f8E4M3FNUZ", 25),
        ("i2", 26),
        ("ui2", 27),
        ("f8E4M3", 28),
        ("f8E3M4", 29),
        ("f4E2M1FN", 32),
        ("f8E8M0FNU", 33),
    ] {
        let seen = described(&format!("tensor<2x3x{name}>"));
        assert_eq!(seen, format!("{number}[2, 3] 4[1]"), "{name}");
    }
    assert_eq!(described("tensor<f32>"), "11[] 4[1]");
    assert_eq!(described("tensor<1x1x1x1x1x1x1x7xf32>"), "11[1, 1, 1, 1, 1, 1, 1, 7] 4[1]");
}

#[test]
fn a_token_is_a_buffer_of_its_own_type_that_is_nowhere() {
    assert_eq!(described("!stablehlo.token"), "17[] null 4[1]");
}

#[test]
fn a_type_that_the_interface_does_not_know_is_refused() {
    register("buffers.unknown", describes);
    let body = "    %0 = stablehlo.custom_call @buffers.unknown(%arg0) \
                {mhlo.backend_config = {}} : (tensor<6xf6E2M3FN>) -> tensor<1xi32>
    return %0 : tensor<1xi32>";
    let refused = run(body, "(%arg0: tensor<6xf6E2M3FN>) -> tensor<1xi32>", &[]);
    assert_refused(refused, UNIMPLEMENTED, &["f6e2m3fn in a custom call", "buffers.unknown"]);
}

handler!(copies, |frame| {
    let (from, to) = (operand(frame, 0), result(frame, 0));
    let from = elements::<i32>(&from);
    see("copies", format!("{from:?}"));
    elements::<i32>(&to).copy_from_slice(from);
    null_mut()
});

#[test]
fn a_column_major_layout_is_what_the_handler_sees() {
    register("buffers.copies", copies);
    let call = |operand: &str, result: &str| {
        let body = format!(
            "    %0 = stablehlo.custom_call @buffers.copies(%arg0) {{mhlo.backend_config = {{}}, \
             operand_layouts = [dense<{operand}> : tensor<2xindex>], \
             result_layouts = [dense<{result}> : tensor<2xindex>]}} \
             : (tensor<2x3xi32>) -> tensor<2x3xi32>\n    return %0 : tensor<2x3xi32>"
        );
        let signature = "(%arg0: tensor<2x3xi32>) -> tensor<2x3xi32>";
        let results = run(&body, signature, &[&[1, 2, 3, 4, 5, 6]]).unwrap();
        (seen("copies"), numbers(&results[0]))
    };
    let rows = "[1, 2, 3, 4, 5, 6]".to_owned();
    let columns = "[1, 4, 2, 5, 3, 6]".to_owned();
    assert_eq!(call("[1, 0]", "[1, 0]"), (rows.clone(), vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(call("[0, 1]", "[0, 1]"), (columns.clone(), vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(call("[0, 1]", "[1, 0]"), (columns, vec![1, 4, 2, 5, 3, 6]));
    assert_eq!(call("[1, 0]", "[0, 1]"), (rows, vec![1, 3, 5, 2, 4, 6]));
}

handler!(increments, |frame| {
    let (from, to) = (operand(frame, 0), result(frame, 0));
    assert_eq!(from.data, to.data);
    elements::<i32>(&to).iter_mut().for_each(|number| *number += 1);
    null_mut()
});

#[test]
fn a_result_may_share_an_operands_memory() {
    register("buffers.increments", increments);
    let body = "    %0 = stablehlo.custom_call @buffers.increments(%arg0) \
                {mhlo.backend_config = {}, output_operand_aliases = \
                [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, \
                operand_tuple_indices = []>]} : (tensor<2x3xi32>) -> tensor<2x3xi32>
    %1 = stablehlo.add %0, %arg0 : tensor<2x3xi32>
    return %1 : tensor<2x3xi32>";
    let signature = "(%arg0: tensor<2x3xi32>) -> tensor<2x3xi32>";
    // The argument is still needed: the handler changes a copy.
    let results = run(body, signature, &[&[1, 2, 3, 4, 5, 6]]).unwrap();
    assert_eq!(numbers(&results[0]), [3, 5, 7, 9, 11, 13]);
}

handler!(splits, |frame| {
    assert_eq!(counts(frame), (2, 3));
    let (a, b) = (operand(frame, 0), operand(frame, 1));
    let (sum, difference, none) = (result(frame, 0), result(frame, 1), result(frame, 2));
    let (a, b) = (elements::<i32>(&a)[0], elements::<i32>(&b)[0]);
    elements::<i32>(&sum)[0] = a + b;
    elements::<i32>(&difference)[0] = a - b;
    assert_eq!((dims(&none), elements::<i32>(&none).len()), (vec![0], 0));
    null_mut()
});

#[test]
fn several_results_and_one_without_elements() {
    register("buffers.splits", splits);
    let body = "    %0:3 = stablehlo.custom_call @buffers.splits(%arg0, %arg1) \
                {mhlo.backend_config = {}} : (tensor<1xi32>, tensor<1xi32>) \
                -> (tensor<1xi32>, tensor<1xi32>, tensor<0xi32>)
    return %0#0, %0#1, %0#2 : tensor<1xi32>, tensor<1xi32>, tensor<0xi32>";
    let signature = "(%arg0: tensor<1xi32>, %arg1: tensor<1xi32>) \
                     -> (tensor<1xi32>, tensor<1xi32>, tensor<0xi32>)";
    let results = run(body, signature, &[&[7], &[2]]).unwrap();
    assert_eq!(results, [9_i32.to_ne_bytes().to_vec(), 5_i32.to_ne_bytes().to_vec(), vec![]]);
}

#[test]
fn tuples_are_opened_on_both_sides() {
    register("buffers.tuples", splits);
    let body = "    %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<1xi32>, tensor<1xi32>>
    %1 = stablehlo.custom_call @buffers.tuples(%0) {mhlo.backend_config = {}} \
                : (tuple<tensor<1xi32>, tensor<1xi32>>) \
                -> tuple<tensor<1xi32>, tensor<1xi32>, tensor<0xi32>>
    %2 = stablehlo.get_tuple_element %1[1] \
                : (tuple<tensor<1xi32>, tensor<1xi32>, tensor<0xi32>>) -> tensor<1xi32>
    return %2 : tensor<1xi32>";
    let signature = "(%arg0: tensor<1xi32>, %arg1: tensor<1xi32>) -> tensor<1xi32>";
    let results = run(body, signature, &[&[7], &[2]]).unwrap();
    assert_eq!(numbers(&results[0]), [5]);
}

handler!(overruns, |frame| {
    let to = result(frame, 0);
    // SAFETY: none: this is the mistake that is looked for. The byte is of the result's padding.
    unsafe { to.data.cast::<u8>().add(24).write(1) };
    null_mut()
});

#[test]
fn what_is_written_behind_a_result_fails_the_execution() {
    register("buffers.overruns", overruns);
    let body = "    %0 = stablehlo.custom_call @buffers.overruns() {mhlo.backend_config = {}} \
                : () -> tensor<2x3xi32>
    %1 = stablehlo.add %0, %0 : tensor<2x3xi32>
    return %1 : tensor<2x3xi32>";
    let refused = run(body, "() -> tensor<2x3xi32>", &[]);
    let parts = ["custom call \"buffers.overruns\" wrote past the end of result 0"];
    assert_refused(refused, INVALID, &parts);
}

handler!(sums, |frame| {
    let (a, b, to) = (operand(frame, 0), operand(frame, 1), result(frame, 0));
    let (a, b, to) = (elements::<f32>(&a), elements::<f32>(&b), elements::<f32>(&to));
    for (at, to) in to.iter_mut().enumerate() {
        *to = a[at] + b[at];
    }
    null_mut()
});

#[test]
fn calls_on_many_threads_do_not_disturb_each_other() {
    register("buffers.sums", sums);
    let client = Client::new();
    let code = "module @jit_sums {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @buffers.sums(%arg0, %arg1) {mhlo.backend_config = {}}
        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
";
    let it = compile(&client, code);
    let (address, memory) = (it.expose_provenance(), client.hbm(0).expose_provenance());
    let raw = client.raw.expose_provenance();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            scope.spawn(move || {
                let client = Client { raw: std::ptr::with_exposed_provenance_mut(raw) };
                let memory = std::ptr::with_exposed_provenance_mut(memory);
                for round in 0..50_u8 {
                    let put = |number: u8| {
                        let bytes = f32::from(number).to_ne_bytes().repeat(4);
                        Array::dense(F32, &[4], &bytes).put(&client, memory).unwrap()
                    };
                    let arguments = [put(thread), put(round)];
                    let it = std::ptr::with_exposed_provenance_mut(address);
                    let result = Run::new(it, &arguments, 1).start().unwrap()[0];
                    let expected = (f32::from(thread) + f32::from(round)).to_ne_bytes().repeat(4);
                    assert_eq!(get(result).unwrap(), expected);
                    arguments.into_iter().chain([result]).for_each(destroy);
                }
                std::mem::forget(client);
            });
        }
    });
    end(it);
}
