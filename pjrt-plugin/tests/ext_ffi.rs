//! The FFI extension, through its table.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::buffers::destroy;
use c::contract::{Checked, check, end};
use c::handlers::{ask, elements, handler, operand, pointer, result};
use c::programs::{Run, compile, floats, value};
use c::{Client, EXISTS, INVALID, NOT_FOUND, assert_refused, call, call_with};
use pjrt_sys::{
    PJRT_ExecuteContext, PJRT_Extension_Type, PJRT_FFI_Extension, PJRT_FFI_Handler_TraitsBits,
    PJRT_FFI_Register_Handler_Args, PJRT_FFI_Type_Info, PJRT_FFI_Type_Register_Args,
    PJRT_FFI_UserData, PJRT_FFI_UserData_Add_Args, XLA_FFI_InvokeContext_Get_Args, XLA_FFI_TypeId,
};
use std::ptr::null_mut;
use std::sync::OnceLock;

fn extension() -> &'static PJRT_FFI_Extension {
    let found = c::extension(PJRT_Extension_Type::PJRT_Extension_Type_FFI).unwrap();
    // SAFETY: the type says what it is, and the table lives as long as the library.
    let extension = unsafe { &*found.cast::<PJRT_FFI_Extension>() };
    assert_eq!(extension.base.struct_size, size_of::<PJRT_FFI_Extension>());
    extension
}

fn register_type(name: &str, type_id: i64) -> Result<i64, c::Failure> {
    let mut info = PJRT_FFI_Type_Info { deleter: None, serialize: None, deserialize: None };
    let args = call_with(extension().type_register, |args: &mut PJRT_FFI_Type_Register_Args| {
        (args.type_name, args.type_name_size) = (name.as_ptr().cast(), name.len());
        (args.type_id, args.type_info) = (type_id, &raw mut info);
    });
    args.map(|args| args.type_id)
}

fn register_handler(
    name: &str,
    platform: &str,
    handler: Option<c::handlers::Function>,
) -> Result<(), c::Failure> {
    let handler = handler.map_or(null_mut(), |handler| handler as *mut _);
    let args =
        call_with(extension().register_handler, |args: &mut PJRT_FFI_Register_Handler_Args| {
            (args.target_name, args.target_name_size) = (name.as_ptr().cast(), name.len());
            (args.platform_name, args.platform_name_size) =
                (platform.as_ptr().cast(), platform.len());
            (args.handler, args.traits) = (handler, PJRT_FFI_Handler_TraitsBits(0));
        });
    args.map(drop)
}

fn add(
    context: *mut PJRT_ExecuteContext,
    type_id: i64,
    bias: &f32,
) -> Result<PJRT_FFI_UserData_Add_Args, c::Failure> {
    let user_data = PJRT_FFI_UserData { type_id, data: pointer(bias) };
    call_with(extension().user_data_add, |args| {
        (args.context, args.user_data) = (context, user_data);
    })
}

#[test]
fn every_function_keeps_the_contract() {
    let table = extension();
    let context = call!(PJRT_ExecuteContext_Create).unwrap().context;
    let mut next = register_type("ext_ffi.contract", 0).unwrap();
    let checked = Checked::<PJRT_FFI_UserData_Add_Args> {
        name: "PJRT_FFI_UserData_Add",
        function: table.user_data_add,
        end: |args| end(args, &args.user_data),
        handle: Some((
            |args| args.context.addr(),
            |args, bits| args.context = std::ptr::without_provenance_mut(bits),
        )),
    };
    let fill = &mut |args: &mut PJRT_FFI_UserData_Add_Args| {
        next += 1;
        args.context = context;
        args.user_data = PJRT_FFI_UserData { type_id: next, data: null_mut() };
    };
    check(checked, fill, &mut |_| {});
    call!(PJRT_ExecuteContext_Destroy, context: context).unwrap();

    let checked = Checked::<PJRT_FFI_Type_Register_Args> {
        name: "PJRT_FFI_Type_Register",
        function: table.type_register,
        end: |args| end(args, &args.type_info),
        handle: None,
    };
    let name = "ext_ffi.contract.type";
    let fill = &mut |args: &mut PJRT_FFI_Type_Register_Args| {
        (args.type_name, args.type_name_size) = (name.as_ptr().cast(), name.len());
    };
    check(checked, fill, &mut |_| {});

    let checked = Checked::<PJRT_FFI_Register_Handler_Args> {
        name: "PJRT_FFI_Register_Handler",
        function: table.register_handler,
        end: |args| end(args, &args.traits),
        handle: None,
    };
    let fill = &mut |args: &mut PJRT_FFI_Register_Handler_Args| {
        (args.target_name, args.target_name_size) = (name.as_ptr().cast(), name.len());
        (args.platform_name, args.platform_name_size) = (c"tpu".as_ptr(), 3);
        args.handler = add_bias as *mut _;
    };
    check(checked, fill, &mut |_| {});
}

static BIAS: OnceLock<i64> = OnceLock::new();

handler!(add_bias, |frame| {
    let (from, to) = (operand(frame, 0), result(frame, 0));
    let mut of = XLA_FFI_TypeId { type_id: *BIAS.get().unwrap() };
    // SAFETY: a frame of the runtime's.
    let (table, context) = unsafe { (c::handlers::api_of(frame), (*frame).ctx) };
    let given = ask(table.XLA_FFI_InvokeContext_Get, |args| {
        let args: &mut XLA_FFI_InvokeContext_Get_Args = args;
        (args.ctx, args.type_id) = (context, &raw mut of);
    });
    let bias = match given {
        // SAFETY: the test adds pointers to floats for this type.
        Ok(args) => unsafe { *args.data.cast::<f32>() },
        Err(text) => {
            return c::handlers::error(
                pjrt_sys::XLA_FFI_Error_Code::XLA_FFI_Error_Code_NOT_FOUND,
                &text,
            );
        }
    };
    for (to, from) in elements::<f32>(&to).iter_mut().zip(elements::<f32>(&from).iter()) {
        *to = from + bias;
    }
    null_mut()
});

const PROGRAM: &str = "module @jit_call {
  func.func public @main(%arg0: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.custom_call @ext_ffi.bias(%arg0) {mhlo.backend_config = {}}
        : (tensor<8x128xf32>) -> tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}
";

#[test]
fn a_handler_gets_the_user_data_of_its_execution() {
    let bias = *BIAS.get_or_init(|| register_type("ext_ffi.Bias", 0).unwrap());
    register_handler("ext_ffi.bias", "tpu", Some(add_bias)).unwrap();
    let client = Client::new();
    let program = compile(&client, PROGRAM);
    let argument = floats(&client, 0, 1.0);
    for added in [0.5, 4.0] {
        let context = call!(PJRT_ExecuteContext_Create).unwrap().context;
        add(context, bias, &added).unwrap();
        assert_refused(add(context, bias, &added), EXISTS, &["user data", "already"]);
        assert_refused(add(context, 0, &added), INVALID, &["type id 0"]);
        let arguments = [argument];
        let mut run = Run::new(program, &arguments, 1);
        run.options.context = context;
        let result = run.start().unwrap()[0];
        assert_eq!(value(result), 1.0 + added);
        destroy(result);
        call!(PJRT_ExecuteContext_Destroy, context: context).unwrap();
        let mut run = Run::new(program, &arguments, 1);
        run.options.context = context;
        assert_refused(run.start(), INVALID, &["execute context handle", "stale"]);
    }
    let without = Run::new(program, &[argument], 1).start();
    assert_refused(without, NOT_FOUND, &["ext_ffi.Bias", "no user data"]);
    destroy(argument);
    c::programs::end(program);
}

#[test]
fn a_type_has_one_number_and_a_number_one_type() {
    let first = register_type("ext_ffi.first", 0).unwrap();
    assert_eq!(register_type("ext_ffi.first", 0).unwrap(), first);
    assert_eq!(register_type("ext_ffi.first", first).unwrap(), first);
    let other = register_type("ext_ffi.other", 0).unwrap();
    assert_ne!(first, other);
    let numbers = [first.to_string(), other.to_string()];
    let refused = register_type("ext_ffi.first", other);
    assert_refused(refused, EXISTS, &[&numbers[0], &numbers[1]]);
    let refused = register_type("ext_ffi.third", first);
    assert_refused(refused, EXISTS, &["ext_ffi.first", "ext_ffi.third"]);
    assert_refused(register_type("", 0), INVALID, &[]);
}

#[test]
fn a_handler_is_refused_that_is_null_or_another_one() {
    assert_refused(register_handler("ext_ffi.null", "tpu", None), INVALID, &["handler"]);
    register_handler("ext_ffi.taken", "tpu", Some(add_bias)).unwrap();
    register_handler("ext_ffi.taken", "TPU", Some(add_bias)).unwrap();
    handler!(another, |_frame| null_mut());
    let refused = register_handler("ext_ffi.taken", "tpu", Some(another));
    assert_refused(refused, EXISTS, &["ext_ffi.taken", "the PJRT FFI extension"]);
    register_handler("ext_ffi.taken", "CUDA", Some(another)).unwrap();
}
