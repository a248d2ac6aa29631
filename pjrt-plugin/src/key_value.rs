//! The client's store of keys and values, through which the processes of a slice meet.
// UNSAFETY: the functions and pointers are the client's, and what they give is memory of its own.
#![expect(unsafe_code, reason = "calls of C functions")]
use crate::boundary::{Caller, UserPointer};
use crate::callback::make_error;
use crate::error;
use crate::sys;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, with_exposed_provenance, with_exposed_provenance_mut};
use tpu_emu::{Code, Error, Result};
use tpu_host::foreign;
use tpu_transport::Store;

/// Functions of a client and what each is called with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyValueStore {
    get: ClientFunction,
    put: ClientFunction,
    /// Asks without waiting; clients of older versions have none.
    try_get: Option<ClientFunction>,
}

#[derive(Debug, Clone, Copy)]
struct ClientFunction {
    address: usize,
    user_arg: UserPointer,
}

/// How far apart what the functions are called with may be: they are members of one object.
const APART: usize = 1 << 10;

/// How long an older client may wait for a key that is not there, in milliseconds.
const SHORTLY: i32 = 20;

impl KeyValueStore {
    /// The store of a client; `None` where it has none.
    ///
    /// A jaxlib whose program is not distributed leaves these fields as they happen to be. So they
    /// are looked at before they are believed: functions of one library, with arguments that lie
    /// in one object.
    pub(crate) fn of(args: &sys::PJRT_Client_Create_Args) -> Option<Self> {
        let function = |address: Option<usize>, user_arg| {
            let address = address.filter(|&address| address != 0)?;
            Some(ClientFunction { address, user_arg: UserPointer(user_arg) })
        };
        let get = args.kv_get_callback.map(|function| (function as *const ()).expose_provenance());
        let put = args.kv_put_callback.map(|function| (function as *const ()).expose_provenance());
        let try_get =
            args.kv_try_get_callback.map(|function| (function as *const ()).expose_provenance());
        let get = function(get, args.kv_get_user_arg)?;
        let put = function(put, args.kv_put_user_arg)?;
        let try_get = function(try_get, args.kv_try_get_user_arg);
        let own = library_of((make_error as *const ()).expose_provenance());
        let library = library_of(get.address)?;
        let near = |one: &ClientFunction| {
            let [one, first] = [one.user_arg.get().addr(), get.user_arg.get().addr()];
            one != 0 && first != 0 && one.abs_diff(first) < APART
        };
        let is_of_client = |one: &ClientFunction| {
            library_of(one.address).is_some_and(|found| found == library) && near(one)
        };
        let all = [Some(get), Some(put), try_get];
        let sound = own.as_ref() != Some(&library)
            && all.iter().flatten().all(is_of_client)
            && get.address != put.address;
        sound.then_some(Self { get, put, try_get })
    }

    fn ask(&self, key: &str) -> Result<String> {
        let (found, size, deleter) = match self.try_get {
            Some(function) => {
                let mut args = sys::PJRT_KeyValueTryGetCallback_Args {
                    struct_size: size_of::<sys::PJRT_KeyValueTryGetCallback_Args>(),
                    extension_start: ptr::null_mut(),
                    key: key.as_ptr().cast(),
                    key_size: key.len(),
                    callback_error: ptr::null_mut(),
                    user_arg: function.user_arg.get(),
                    value: ptr::null_mut(),
                    value_size: 0,
                    value_deleter_callback: None,
                };
                let mut make: sys::PJRT_CallbackError = Some(make_error);
                args.callback_error = &raw mut make;
                // SAFETY: the client gave the function to be called with such arguments.
                unsafe { call(function, (&raw mut args).cast()) }?;
                (args.value, args.value_size, args.value_deleter_callback)
            }
            None => {
                let function = self.get;
                let mut args = sys::PJRT_KeyValueGetCallback_Args {
                    struct_size: size_of::<sys::PJRT_KeyValueGetCallback_Args>(),
                    extension_start: ptr::null_mut(),
                    key: key.as_ptr().cast(),
                    key_size: key.len(),
                    timeout_in_ms: SHORTLY,
                    callback_error: ptr::null_mut(),
                    user_arg: function.user_arg.get(),
                    value: ptr::null_mut(),
                    value_size: 0,
                    value_deleter_callback: None,
                };
                let mut make: sys::PJRT_CallbackError = Some(make_error);
                args.callback_error = &raw mut make;
                // SAFETY: the client gave the function to be called with such arguments.
                unsafe { call(function, (&raw mut args).cast()) }?;
                (args.value, args.value_size, args.value_deleter_callback)
            }
        };
        if found.is_null() {
            return Ok(String::new());
        }
        // SAFETY: the client wrote so many bytes there, which are ours until they are deleted.
        let text = unsafe { Caller::new() }.text(found, size, "value");
        if let Some(deleter) = deleter {
            let arguments = [found.expose_provenance(), 0, 0, 0, 0];
            let what = "the deleter of a value";
            // SAFETY: the client gave both together, to be called once.
            unsafe { foreign::call_or_tell(what, deleter as *const (), arguments) };
        }
        text
    }
}

impl Store for KeyValueStore {
    fn put(&self, key: &str, value: &str) -> Result<()> {
        let mut make: sys::PJRT_CallbackError = Some(make_error);
        let mut args = sys::PJRT_KeyValuePutCallback_Args {
            struct_size: size_of::<sys::PJRT_KeyValuePutCallback_Args>(),
            extension_start: ptr::null_mut(),
            key: key.as_ptr().cast::<c_char>(),
            key_size: key.len(),
            value: value.as_ptr().cast::<c_char>(),
            value_size: value.len(),
            callback_error: &raw mut make,
            user_arg: self.put.user_arg.get(),
        };
        // SAFETY: the client gave the function to be called with such arguments.
        unsafe { call(self.put, (&raw mut args).cast()) }
    }

    fn get(&self, key: &str) -> Result<Option<String>> {
        match self.ask(key) {
            Ok(value) => Ok(Some(value)),
            Err(error) => match error.code() {
                Code::NotFound | Code::DeadlineExceeded => Ok(None),
                _ => Err(error),
            },
        }
    }
}

/// Where the library begins that an address belongs to; `None` for one that belongs to none.
fn library_of(address: usize) -> Option<usize> {
    let mut found: MaybeUninit<libc::Dl_info> = MaybeUninit::zeroed();
    // SAFETY: the address is compared and not followed; the place is this function's, and zeros
    // are a value of it.
    let (failed, found) = unsafe {
        let address = with_exposed_provenance(address);
        (libc::dladdr(address, found.as_mut_ptr()) == 0, found.assume_init())
    };
    (!failed).then_some(found.dli_fbase.addr())
}

/// Calls a function with its arguments; gives the error that it made.
///
/// # Safety
/// The client gave the function, and `args` are the ones that it takes.
unsafe fn call(function: ClientFunction, args: *mut c_void) -> Result<()> {
    let arguments = [args.expose_provenance(), 0, 0, 0, 0];
    let address = with_exposed_provenance::<()>(function.address);
    // SAFETY: promised by the caller.
    let returned = unsafe { foreign::call(address, arguments) };
    let error = returned.map_err(|thrown| {
        let message = format!("the client's store of keys and values {thrown}").into();
        Error::Verbatim { code: Code::Internal, message }
    })?;
    error::take(with_exposed_provenance_mut(error))
}
