//! Attributes of typed calls, as a handler finds them in memory.
#![expect(unsafe_code, reason = "handlers in C's manner")]
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

mod c;

use c::handlers::{handler, register};
use c::programs::{compile, compile_with, end, on_device};
use c::{Client, INVALID, assert_refused, list, text};
use pjrt_sys::{
    XLA_FFI_Array, XLA_FFI_AttrType, XLA_FFI_Attrs, XLA_FFI_ByteSpan, XLA_FFI_DataType,
    XLA_FFI_Scalar,
};
use std::ffi::c_void;
use std::fmt::Write;
use std::ptr::null_mut;
use std::sync::Mutex;

/// What the handler saw, a line an attribute.
static SEEN: Mutex<String> = Mutex::new(String::new());
/// One test at a time looks at it.
static TURN: Mutex<()> = Mutex::new(());

/// Bytes of one element.
fn width(dtype: XLA_FFI_DataType) -> usize {
    match dtype {
        XLA_FFI_DataType::XLA_FFI_DataType_PRED
        | XLA_FFI_DataType::XLA_FFI_DataType_S8
        | XLA_FFI_DataType::XLA_FFI_DataType_U8 => 1,
        XLA_FFI_DataType::XLA_FFI_DataType_S16 | XLA_FFI_DataType::XLA_FFI_DataType_U16 => 2,
        XLA_FFI_DataType::XLA_FFI_DataType_S32
        | XLA_FFI_DataType::XLA_FFI_DataType_U32
        | XLA_FFI_DataType::XLA_FFI_DataType_F32 => 4,
        _ => 8,
    }
}

fn bytes(pointer: *mut c_void, dtype: XLA_FFI_DataType, count: usize) -> Vec<u8> {
    assert!(!pointer.is_null());
    assert_eq!(pointer.addr() % width(dtype), 0, "alignment");
    list(pointer.cast::<u8>().cast_const(), count * width(dtype))
}

fn write(attributes: &XLA_FFI_Attrs, path: &str, seen: &mut String) {
    assert_eq!(attributes.struct_size, size_of::<XLA_FFI_Attrs>());
    let size = usize::try_from(attributes.size).unwrap();
    let names = list(attributes.names, size);
    let types = list(attributes.types, size);
    let values = list(attributes.attrs, size);
    for ((name, of), value) in names.into_iter().zip(types).zip(values) {
        // SAFETY: what the type says is there.
        let name = unsafe { *name };
        let name = format!("{path}{}", text(name.ptr, name.len));
        match of {
            XLA_FFI_AttrType::XLA_FFI_AttrType_SCALAR => {
                // SAFETY: as above.
                let scalar = unsafe { *value.cast::<XLA_FFI_Scalar>() };
                let bytes = bytes(scalar.value, scalar.dtype, 1);
                writeln!(seen, "{name} scalar {} {bytes:?}", scalar.dtype.0).unwrap();
            }
            XLA_FFI_AttrType::XLA_FFI_AttrType_ARRAY => {
                // SAFETY: as above.
                let array = unsafe { *value.cast::<XLA_FFI_Array>() };
                let bytes = bytes(array.data, array.dtype, array.size);
                writeln!(seen, "{name} array {} x {} {bytes:?}", array.dtype.0, array.size)
                    .unwrap();
            }
            XLA_FFI_AttrType::XLA_FFI_AttrType_STRING => {
                // SAFETY: as above.
                let span = unsafe { *value.cast::<XLA_FFI_ByteSpan>() };
                writeln!(seen, "{name} string {:?}", text(span.ptr, span.len)).unwrap();
            }
            XLA_FFI_AttrType::XLA_FFI_AttrType_DICTIONARY => {
                // SAFETY: as above.
                let inner = unsafe { *value.cast::<XLA_FFI_Attrs>() };
                writeln!(seen, "{name} dictionary of {}", inner.size).unwrap();
                write(&inner, &format!("{name}."), seen);
            }
            other => panic!("{other:?}"),
        }
    }
}

handler!(look, |frame| {
    let mut seen = String::new();
    // SAFETY: a frame of the runtime's.
    write(unsafe { &(*frame).attrs }, "", &mut seen);
    *SEEN.lock().unwrap() = seen;
    null_mut()
});

fn program(attributes: &str) -> String {
    format!(
        "module @jit_look {{
  func.func public @main() -> tensor<f32> {{
    %0 = stablehlo.custom_call @attributes.look() {attributes} : () -> tensor<f32>
    return %0 : tensor<f32>
  }}
}}
"
    )
}

/// What a handler sees of `attributes` when it is instantiated.
fn seen(attributes: &str) -> String {
    let turn = TURN.lock().unwrap();
    let bundle = c::handlers::bundle(Some(look), None, None, Some(look));
    c::handlers::register_bundle("attributes.look", "TPU", bundle).unwrap();
    let client = Client::new();
    end(compile(&client, &program(&format!("{{mhlo.backend_config = {{{attributes}}}}}"))));
    let seen = SEEN.lock().unwrap().clone();
    drop(turn);
    seen
}

#[track_caller]
fn check(attributes: &str, expected: &[&str]) {
    assert_eq!(seen(attributes).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn scalars_have_the_width_and_sign_of_their_types() {
    check(
        "a = true, b = false, c = -2 : i8, d = 258 : i16, e = -1 : i32, f = 72623859790382856 : i64",
        &[
            "a scalar 1 [1]",
            "b scalar 1 [0]",
            "c scalar 2 [254]",
            "d scalar 3 [2, 1]",
            "e scalar 4 [255, 255, 255, 255]",
            "f scalar 5 [8, 7, 6, 5, 4, 3, 2, 1]",
        ],
    );
    check(
        "a = 255 : ui8, b = 65535 : ui16, c = 4294967295 : ui32, d = 18446744073709551615 : ui64",
        &[
            "a scalar 6 [255]",
            "b scalar 7 [255, 255]",
            "c scalar 8 [255, 255, 255, 255]",
            "d scalar 9 [255, 255, 255, 255, 255, 255, 255, 255]",
        ],
    );
    check(
        "a = 1.5 : f32, b = -2.5 : f64",
        &["a scalar 11 [0, 0, 192, 63]", "b scalar 12 [0, 0, 0, 0, 0, 0, 4, 192]"],
    );
}

#[test]
fn names_are_sorted_by_their_bytes() {
    check(
        r#"b = 1 : i8, "a b" = 2 : i8, Z = 3 : i8, a = 4 : i8, aa = 5 : i8, "ä" = 6 : i8"#,
        &[
            "Z scalar 2 [3]",
            "a scalar 2 [4]",
            "a b scalar 2 [2]",
            "aa scalar 2 [5]",
            "b scalar 2 [1]",
            "ä scalar 2 [6]",
        ],
    );
}

#[test]
fn strings_are_whole() {
    check(
        r#"empty = "", long = "thirty-two letters are in this text", nul = "a\00b""#,
        &[
            r#"empty string """#,
            r#"long string "thirty-two letters are in this text""#,
            r#"nul string "a\0b""#,
        ],
    );
}

#[test]
fn arrays_are_dense_however_they_are_written() {
    check(
        "a = array<i8: 1, -1>, b = array<i16: 1, 2>, c = array<i32: 7>, d = array<i64: 1, 2>",
        &[
            "a array 2 x 2 [1, 255]",
            "b array 3 x 2 [1, 0, 2, 0]",
            "c array 4 x 1 [7, 0, 0, 0]",
            "d array 5 x 2 [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]",
        ],
    );
    check(
        "a = array<f32: 1.0>, b = array<f64: 1.0>, c = array<i64>",
        &[
            "a array 11 x 1 [0, 0, 128, 63]",
            "b array 12 x 1 [0, 0, 0, 0, 0, 0, 240, 63]",
            "c array 5 x 0 []",
        ],
    );
    check(
        "a = dense<[1, 2, 3]> : tensor<3xui8>, b = dense<7> : tensor<2x2xi16>, \
         c = dense<1.0> : tensor<2xf32>, d = dense<9> : tensor<3xi64>",
        &[
            "a array 6 x 3 [1, 2, 3]",
            "b array 3 x 4 [7, 0, 7, 0, 7, 0, 7, 0]",
            "c array 11 x 2 [0, 0, 128, 63, 0, 0, 128, 63]",
            "d array 5 x 3 [9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]",
        ],
    );
}

#[test]
fn dictionaries_are_nested_and_sorted() {
    check(
        r#"outer = {b = {c = "deep", a = 1 : i8}, a = {}}"#,
        &[
            "outer dictionary of 2",
            "outer.a dictionary of 0",
            "outer.b dictionary of 2",
            "outer.b.a scalar 2 [1]",
            r#"outer.b.c string "deep""#,
        ],
    );
}

#[test]
fn the_other_spelling_carries_the_same_attributes() {
    let turn = TURN.lock().unwrap();
    let bundle = c::handlers::bundle(Some(look), None, None, Some(look));
    c::handlers::register_bundle("attributes.look", "TPU", bundle).unwrap();
    let client = Client::new();
    end(compile(&client, &program("{api_version = 4 : i32, backend_config = {n = 3 : i32}}")));
    assert_eq!(*SEEN.lock().unwrap(), "n scalar 4 [3, 0, 0, 0]\n");
    drop(turn);
}

#[test]
fn what_xla_cannot_pass_is_refused_by_name() {
    register("attributes.refused", look);
    let client = Client::new();
    for (attribute, what) in [
        ("1.0 : f16", "a float of type f16"),
        ("1.0 : bf16", "a float of type bf16"),
        ("1 : i4", "the integer 1 of type i4"),
        ("1 : index", "the integer 1 of type index"),
        ("unit", "a unit attribute"),
        ("@symbol", "the symbol @symbol"),
        ("[1 : i32, 2 : i32]", "a list of attributes"),
        ("array<i1: true, false>", "an array of booleans"),
        ("dense<1.0> : tensor<2xf16>", "an array of type f16 and shape [2]"),
        ("tensor<2xf32>", "cannot be passed"),
    ] {
        let attributes = format!("{{mhlo.backend_config = {{x = {{y = {attribute}}}}}}}");
        let code = program(&attributes).replace("attributes.look", "attributes.refused");
        let compiled = compile_with(&client, &code, &on_device(0));
        assert_refused(compiled, INVALID, &["attribute \"x.y\": ", what, "attributes.refused"]);
    }
}

#[test]
fn an_array_that_is_too_large_to_spread_is_refused() {
    register("attributes.large", look);
    let client = Client::new();
    let attributes = "{mhlo.backend_config = {x = dense<1> : tensor<1000000x1000000xi64>}}";
    let code = program(attributes).replace("attributes.look", "attributes.large");
    let compiled = compile_with(&client, &code, &on_device(0));
    assert_refused(compiled, INVALID, &["shape [1000000, 1000000]"]);
}
