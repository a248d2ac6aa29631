//! Typed calls of XLA FFI, through the table.
#![expect(unsafe_code, reason = "handlers in C's manner")]

mod c;

use c::buffers::destroy;
use c::handlers::{dims, elements, error, handler, operand, register, result};
use c::programs::{Run, compile, compile_with, end, floats, on_device, value};
use c::{ABORTED, Client, UNIMPLEMENTED, assert_refused};
use pjrt_sys::{XLA_FFI_DataType, XLA_FFI_Error_Code};
use std::ptr::null_mut;

/// A program of one call that takes and gives 8 by 128 floats.
fn one_call(target: &str, config: &str) -> String {
    format!(
        "module @jit_call {{
  func.func public @main(%arg0: tensor<8x128xf32>) -> tensor<8x128xf32> {{
    %0 = stablehlo.custom_call @{target}(%arg0) {{{config}}}
        : (tensor<8x128xf32>) -> tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }}
}}
"
    )
}

const TYPED: &str = "mhlo.backend_config = {}";

handler!(twice, |frame| {
    let (from, to) = (operand(frame, 0), result(frame, 0));
    assert_eq!(from.dtype, XLA_FFI_DataType::XLA_FFI_DataType_F32);
    assert_eq!((dims(&from), dims(&to)), (vec![8, 128], vec![8, 128]));
    for (to, from) in elements::<f32>(&to).iter_mut().zip(elements::<f32>(&from).iter()) {
        *to = 2.0 * from;
    }
    null_mut()
});

#[test]
fn a_handler_computes_the_result() {
    register("call.twice", twice);
    let client = Client::new();
    let it = compile(&client, &one_call("call.twice", TYPED));
    for round in [1.0, 3.0] {
        let argument = floats(&client, 0, round);
        let result = Run::new(it, &[argument], 1).start().unwrap()[0];
        assert_eq!(value(result), 2.0 * round);
        [argument, result].into_iter().for_each(destroy);
    }
    end(it);
}

handler!(fails, |_frame| {
    error(XLA_FFI_Error_Code::XLA_FFI_Error_Code_ABORTED, "cannot go on: {1}")
});

#[test]
fn a_handlers_error_fails_the_execution_in_its_words() {
    register("call.fails", fails);
    let client = Client::new();
    let it = compile(&client, &one_call("call.fails", TYPED));
    let argument = floats(&client, 0, 1.0);
    let run = Run::new(it, &[argument], 1).start();
    assert_refused(run, ABORTED, &["cannot go on: {1}", "call.fails"]);
    destroy(argument);
    end(it);
}

#[test]
fn an_unknown_target_is_refused_when_the_program_is_compiled() {
    let client = Client::new();
    let code = one_call("call.nobody", TYPED);
    let compiled = compile_with(&client, &code, &on_device(0));
    assert_refused(compiled, UNIMPLEMENTED, &["\"call.nobody\" is not registered"]);
}
