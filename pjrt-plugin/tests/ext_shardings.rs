//! The shardings extension, through its table.
#![expect(unsafe_code, reason = "follows the chain of extensions")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::contract::contract_of;
use c::programs::{DOUBLE, THREE_RESULTS, compile, end, end_executable, executable_of};
use c::{Client, call_with, list};
use pjrt_sys::{PJRT_Executable, PJRT_Extension_Type, PJRT_Shardings_Extension};
use std::ffi::c_char;
use tpu_proto::Message;
use tpu_proto::xla::OpSharding;
use tpu_proto::xla::op_sharding::Type;

fn extension() -> &'static PJRT_Shardings_Extension {
    let found = c::extension(PJRT_Extension_Type::PJRT_Extension_Type_Shardings).unwrap();
    // SAFETY: the type says what it is, and the table lives as long as the library.
    let extension = unsafe { &*found.cast::<PJRT_Shardings_Extension>() };
    assert_eq!(extension.base.struct_size, size_of::<PJRT_Shardings_Extension>());
    extension
}

/// Compiles, asks, and gives everything back.
fn with(code: &str, ask: impl FnOnce(*mut PJRT_Executable)) {
    let client = Client::new();
    let loaded = compile(&client, code);
    let executable = executable_of(loaded);
    ask(executable);
    end_executable(executable);
    end(loaded);
}

fn kinds(messages: *const *const c_char, sizes: *const usize, count: usize) -> Vec<Type> {
    let sizes = list(sizes, count);
    let messages = list(messages, count).into_iter().zip(sizes);
    messages
        .map(|(at, size)| OpSharding::decode(&*list(at.cast::<u8>(), size)).unwrap().r#type())
        .collect()
}

#[test]
fn both_functions_keep_the_contract() {
    with(DOUBLE, |it| {
        let table = extension();
        contract_of!(table,
            PJRT_Shardings_PJRT_Executable_ParameterShardings(executable, sharding_sizes),
            executable: it);
        contract_of!(table,
            PJRT_Shardings_PJRT_Executable_OutputShardings(executable, sharding_sizes),
            executable: it);
    });
}

#[test]
fn one_device_holds_all_of_every_value() {
    with(THREE_RESULTS, |it| {
        let table = extension();
        let function = table.PJRT_Shardings_PJRT_Executable_OutputShardings;
        let of = call_with(function, |args| args.executable = it).unwrap();
        let found = kinds(of.shardings, of.sharding_sizes, of.num_outputs);
        assert_eq!(found, [Type::Replicated; 3]);
        let function = table.PJRT_Shardings_PJRT_Executable_ParameterShardings;
        let of = call_with(function, |args| args.executable = it).unwrap();
        assert_eq!(of.num_parameters, 0);
        assert!(of.shardings.is_null(), "clients take null arrays for no values");
    });
    with(DOUBLE, |it| {
        let function = extension().PJRT_Shardings_PJRT_Executable_ParameterShardings;
        let of = call_with(function, |args| args.executable = it).unwrap();
        let found = kinds(of.shardings, of.sharding_sizes, of.num_parameters);
        assert_eq!(found, [Type::Replicated]);
    });
}
