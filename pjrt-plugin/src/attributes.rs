//! `PJRT_NamedValue`: names and values that go to and come from C.
// UNSAFETY: the structs hold pointers into strings and lists that they own.
#![expect(unsafe_code, reason = "C structs with pointers, shared between threads")]
use crate::boundary::Caller;
use crate::sys::{
    PJRT_NamedValue, PJRT_NamedValue__bindgen_ty_1 as Union, PJRT_NamedValue_Type as Type,
};
use std::fmt;
use tpu_emu::topology::OptionValue;
use tpu_emu::{Error, Result};

/// Names and values as C sees them; what the pointers lead to is owned here.
pub(crate) struct Attributes {
    values: Vec<PJRT_NamedValue>,
    /// Keeps names, texts and lists at their addresses.
    _owned: Vec<(Box<str>, OptionValue)>,
}

// SAFETY: never changed after `new`; the pointers lead into `_owned`.
unsafe impl Send for Attributes {}
// SAFETY: as above.
unsafe impl Sync for Attributes {}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attributes").field(&self.values.len()).finish()
    }
}

impl Attributes {
    pub(crate) fn new<Name: Into<Box<str>>>(
        attributes: impl IntoIterator<Item = (Name, OptionValue)>,
    ) -> Self {
        let owned: Vec<(Box<str>, OptionValue)> =
            attributes.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let values = owned.iter().map(|(name, value)| to_c(name, value)).collect();
        Self { values, _owned: owned }
    }

    /// The array as C takes it.
    pub(crate) fn as_slice(&self) -> &[PJRT_NamedValue] {
        &self.values
    }
}

fn to_c(name: &str, value: &OptionValue) -> PJRT_NamedValue {
    let (kind, union, size) = match value {
        OptionValue::Int(n) => (Type::PJRT_NamedValue_kInt64, Union { int64_value: *n }, 1),
        OptionValue::Ints(list) => {
            let pointer = Union { int64_array_value: list.as_ptr() };
            (Type::PJRT_NamedValue_kInt64List, pointer, list.len())
        }
        OptionValue::Text(text) => {
            let pointer = Union { string_value: text.as_ptr().cast() };
            (Type::PJRT_NamedValue_kString, pointer, text.len())
        }
        OptionValue::Bool(on) => {
            (Type::PJRT_NamedValue_kBool, Union { bool_value: u8::from(*on) }, 1)
        }
        OptionValue::Float(x) => (Type::PJRT_NamedValue_kFloat, Union { float_value: *x }, 1),
    };
    PJRT_NamedValue {
        struct_size: size_of::<PJRT_NamedValue>(),
        extension_start: std::ptr::null_mut(),
        name: name.as_ptr().cast(),
        name_size: name.len(),
        type_: kind,
        anon_1: union,
        value_size: size,
    }
}

/// The options that a client passes.
///
/// # Errors
/// `BadArgument` for values of no known type.
pub(crate) fn from_c(
    caller: &Caller,
    values: *const PJRT_NamedValue,
    count: usize,
) -> Result<Vec<(String, OptionValue)>> {
    let values = caller.slice(values, count, "options")?;
    values.iter().map(|value| one_from_c(caller, value)).collect()
}

fn one_from_c(caller: &Caller, value: &PJRT_NamedValue) -> Result<(String, OptionValue)> {
    let name = caller.text(value.name, value.name_size, "option name")?;
    // SAFETY: every member is a number or pointer of at most 8 bytes, all of them present, so
    // each may be read whatever was written.
    let union = unsafe { read_all(&value.anon_1) };
    let option = match value.type_ {
        Type::PJRT_NamedValue_kInt64 => OptionValue::Int(union.int),
        Type::PJRT_NamedValue_kInt64List => {
            let list = caller.slice(union.list, value.value_size, "option value")?;
            OptionValue::Ints(list.to_vec())
        }
        Type::PJRT_NamedValue_kString => {
            OptionValue::Text(caller.text(union.text, value.value_size, "option value")?)
        }
        Type::PJRT_NamedValue_kBool => OptionValue::Bool(union.bool != 0),
        Type::PJRT_NamedValue_kFloat => OptionValue::Float(union.float),
        Type(other) => {
            let known = "PJRT_NamedValue_Type; 0 to 4 are known";
            return Err(Error::bad(format!("option {name} has type {other}, which is no {known}")));
        }
    };
    Ok((name, option))
}

struct AllMembers {
    int: i64,
    list: *const i64,
    text: *const std::ffi::c_char,
    bool: u8,
    float: f32,
}

/// # Safety
/// The union's 8 bytes are initialised.
unsafe fn read_all(union: &Union) -> AllMembers {
    // SAFETY: the promise of this function's caller.
    unsafe {
        AllMembers {
            int: union.int64_value,
            list: union.int64_array_value,
            text: union.string_value,
            bool: union.bool_value,
            float: union.float_value,
        }
    }
}
