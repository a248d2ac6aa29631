//! The one place where a caller's memory is touched: structs are copied in and out by their
//! `struct_size`, pointers in them are followed through [`Caller`], panics stop here.
// UNSAFETY: reads and writes the memory that a C caller passes; what it guarantees is stated
// at each function.
#![expect(unsafe_code, reason = "the boundary to C")]
use crate::error::give_error;
use crate::sys::{
    PJRT_Buffer_MemoryLayout, PJRT_Buffer_MemoryLayout_Strides, PJRT_Buffer_MemoryLayout_Tiled,
    PJRT_Error,
};
use std::ffi::c_void;
use std::ptr;
use std::slice;
use tpu_emu::buffer::HostTarget;
use tpu_emu::entry::{self, FunctionName};
use tpu_emu::hbm::spec::check_rank;
use tpu_emu::{Error, Id, Result};

/// An argument struct of the interface.
///
/// # Safety
/// `#[repr(C)]`, all zeros is a value, and the first field is `struct_size: usize`.
pub(crate) unsafe trait CArgs: Copy {
    /// The name in the header.
    const NAME: &'static str;
}

/// Declares argument structs.
macro_rules! c_args {
    ($($args:ident),* $(,)?) => {
        // UNSAFETY: a promise about generated structs.
        #[expect(unsafe_code, reason = "an unsafe trait")]
        const _: () = {
            $(
                // SAFETY: generated from the header: C structs of numbers and pointers, which
                // begin with `struct_size`.
                unsafe impl crate::boundary::CArgs for crate::sys::$args {
                    const NAME: &'static str = stringify!($args);
                }
            )*
        };
    };
}
pub(crate) use c_args;

/// Where a field of a C struct ends, in bytes from its start.
macro_rules! end_of {
    ($args:ty, $field:ident) => {
        std::mem::offset_of!($args, $field)
            + crate::boundary::size_of_field(|args: &$args| &args.$field)
    };
}
pub(crate) use end_of;

/// Writes a function that C calls by its name in the header.
///
/// `call(path, Args, last)`: the safe function at `path`, once `struct_size` reaches the end of
/// `last`, the last field that it touches. `missing(Args)`: UNIMPLEMENTED.
macro_rules! c_function {
    ($name:ident call($path:path, $args:ident, $last:ident)) => {
        pub(super) unsafe extern "C" fn $name(
            args: *mut crate::sys::$args,
        ) -> *mut crate::sys::PJRT_Error {
            let needed = crate::boundary::end_of!(crate::sys::$args, $last);
            // SAFETY: the caller keeps the header's contract for `args`.
            unsafe { crate::boundary::serve(&stringify!($name), args, needed, $path) }
        }
    };
    ($name:ident missing($args:ident)) => {
        pub(super) unsafe extern "C" fn $name(
            args: *mut crate::sys::$args,
        ) -> *mut crate::sys::PJRT_Error {
            let refuse = |_: &crate::boundary::Caller, _: &mut crate::sys::$args| {
                crate::boundary::not_done(stringify!($name))
            };
            // SAFETY: the caller keeps the header's contract for `args`.
            unsafe { crate::boundary::serve(&stringify!($name), args, size_of::<usize>(), refuse) }
        }
    };
}
pub(crate) use c_function;

/// Refuses a function that is not done, by name.
pub(crate) fn not_done(function: &'static str) -> Result<()> {
    Err(Error::Unimplemented(format!("{function} is not implemented by the emulated TPU")))
}

/// The size of what `field` selects.
pub(crate) const fn size_of_field<A, T>(_field: fn(&A) -> &T) -> usize {
    size_of::<T>()
}

/// What a C caller promises of the pointers in its argument struct, as a value.
///
/// Its methods follow such pointers. They may be given nothing but pointers from the arguments
/// of the call that the `Caller` belongs to.
#[derive(Debug)]
pub(crate) struct Caller(());

impl Caller {
    /// # Safety
    /// Every pointer in the arguments of this call is null or valid, for the counts beside it,
    /// as the header says, until the call returns.
    pub(crate) const unsafe fn new() -> Self {
        Self(())
    }

    /// `count` values at `pointer`; a null pointer is fine for none.
    pub(crate) fn slice<'a, T: Copy>(
        &'a self,
        pointer: *const T,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [T]> {
        if count == 0 {
            return Ok(&[]);
        }
        self.check(pointer, what)?;
        if count.checked_mul(size_of::<T>()).is_none_or(|size| isize::try_from(size).is_err()) {
            return Err(Error::bad(format!("{count} values of {what} leave the address space")));
        }
        // SAFETY: not null, aligned and of a possible size, checked above; valid by the promise
        // of `Caller`.
        Ok(unsafe { slice::from_raw_parts(pointer, count) })
    }

    /// One value for each axis of an array, of its layout, or of a topology. A count that no array has is refused
    /// before anything is read, so that a field that nobody wrote leads nowhere.
    pub(crate) fn axes<'a, T: Copy>(
        &'a self,
        pointer: *const T,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [T]> {
        check_rank(count)?;
        self.slice(pointer, count, what)
    }

    /// Bytes at `pointer`.
    pub(crate) fn bytes<'a>(
        &'a self,
        pointer: *const c_void,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8]> {
        self.slice(pointer.cast(), count, what)
    }

    /// Text of `size` bytes; what is no UTF-8 is replaced.
    pub(crate) fn text(
        &self,
        pointer: *const std::ffi::c_char,
        size: usize,
        what: &'static str,
    ) -> Result<String> {
        let bytes = self.slice(pointer.cast::<u8>(), size, what)?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Text that ends with a NUL; what is no UTF-8 is replaced.
    pub(crate) fn c_text(
        &self,
        pointer: *const std::ffi::c_char,
        what: &'static str,
    ) -> Result<String> {
        self.check(pointer, what)?;
        // SAFETY: not null, checked above; valid up to a NUL by the promise of `Caller`.
        let text = unsafe { std::ffi::CStr::from_ptr(pointer) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// A value that the arguments point to.
    pub(crate) fn read_plain<T: Copy>(&self, pointer: *const T, what: &'static str) -> Result<T> {
        self.check(pointer, what)?;
        // SAFETY: not null and aligned, checked above; valid by the promise of `Caller`.
        Ok(unsafe { pointer.read() })
    }

    /// A struct that the arguments point to, whole.
    ///
    /// Its `struct_size` says nothing: jaxlib leaves that field of layouts uninitialised. Only
    /// structs that have not grown since they exist may be read by this.
    pub(crate) fn read<T: CArgs>(&self, pointer: *const T) -> Result<T> {
        self.check(pointer, T::NAME)?;
        // SAFETY: not null and aligned, checked above; valid by the promise of `Caller`, in its
        // full size by the rule of this function.
        Ok(unsafe { pointer.read() })
    }

    /// A struct that the arguments point to and that has grown over time: as much of it as its
    /// `struct_size` says, zeros behind. `needed` bytes must be there.
    pub(crate) fn read_sized<T: CArgs>(&self, pointer: *const T, needed: usize) -> Result<T> {
        self.check(pointer, T::NAME)?;
        // SAFETY: `T` begins with `struct_size`; not null and aligned, checked above; valid that
        // far by the promise of `Caller`.
        let given = unsafe { pointer.cast::<usize>().read() };
        if given < needed {
            return Err(Error::ShortStruct { name: T::NAME, given, needed });
        }
        // SAFETY: all zeros is a `T`.
        let mut copy: T = unsafe { std::mem::zeroed() };
        let shared = given.min(size_of::<T>());
        // SAFETY: `shared` bytes are inside both structs, which are distinct.
        unsafe { ptr::copy_nonoverlapping(pointer.cast::<u8>(), (&raw mut copy).cast(), shared) };
        Ok(copy)
    }

    /// Writes bytes to a place of their size that the arguments point to.
    pub(crate) fn write_all<T: Copy>(
        &self,
        pointer: *mut T,
        values: &[T],
        what: &'static str,
    ) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.check(pointer.cast_const(), what)?;
        // SAFETY: not null and aligned, checked above; valid for as many values by the promise
        // of `Caller`, and ours alone for the call.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), pointer, values.len()) };
        Ok(())
    }

    /// Writes a result to a place that the arguments point to.
    pub(crate) fn write<T: Copy>(
        &self,
        pointer: *mut T,
        value: T,
        what: &'static str,
    ) -> Result<()> {
        self.check(pointer.cast_const(), what)?;
        // SAFETY: not null and aligned, checked above; valid by the promise of `Caller`.
        unsafe { pointer.write(value) };
        Ok(())
    }

    /// `size` bytes that the caller keeps valid until an event fires, for a copy to write.
    pub(crate) fn target(&self, pointer: *mut c_void, size: usize) -> Result<Box<dyn HostTarget>> {
        if size > 0 {
            self.check(pointer.cast_const().cast::<u8>(), "destination")?;
        }
        if isize::try_from(size).is_err() {
            return Err(Error::bad(format!("a destination of {size} bytes")));
        }
        Ok(Box::new(CopyTarget { pointer: pointer.cast(), size }))
    }

    fn check<T>(&self, pointer: *const T, what: &'static str) -> Result<()> {
        if pointer.is_null() {
            return Err(Error::Null(what));
        }
        if !pointer.is_aligned() {
            return Err(Error::bad(format!("{what} at {:#x} is not aligned", pointer.addr())));
        }
        Ok(())
    }
}

/// A caller's bytes that a copy writes to later.
#[derive(Debug)]
struct CopyTarget {
    pointer: *mut u8,
    size: usize,
}

// SAFETY: the caller keeps the bytes valid for us, and leaves them to us, until the event of the
// copy fires, whichever thread writes them.
unsafe impl Send for CopyTarget {}

impl HostTarget for CopyTarget {
    fn bytes(&mut self) -> &mut [u8] {
        if self.size == 0 {
            return &mut [];
        }
        // SAFETY: not null for a size above 0, checked where a `CopyTarget` is made; valid and ours
        // until the event of the copy fires, by the header's contract.
        unsafe { slice::from_raw_parts_mut(self.pointer, self.size) }
    }
}

/// A caller's pointer that goes back to its callback, on whichever thread that is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserPointer(pub(crate) *mut c_void);

// SAFETY: it is not followed, only handed back to the one who gave it.
unsafe impl Send for UserPointer {}
// SAFETY: as above.
unsafe impl Sync for UserPointer {}

impl UserPointer {
    /// The pointer itself. A method, so that closures take the whole value along.
    pub(crate) fn get(self) -> *mut c_void {
        self.0
    }
}

/// A layout as tiles, which its `type_` says it is.
pub(crate) fn tiled(layout: &PJRT_Buffer_MemoryLayout) -> PJRT_Buffer_MemoryLayout_Tiled {
    // SAFETY: both members are C structs of numbers and pointers, of which any bits are one.
    unsafe { layout.anon_1.tiled }
}

/// A layout as strides, which its `type_` says it is.
pub(crate) fn strides(layout: &PJRT_Buffer_MemoryLayout) -> PJRT_Buffer_MemoryLayout_Strides {
    // SAFETY: as above.
    unsafe { layout.anon_1.strides }
}

/// Runs `body` on a copy of `*args`; if it succeeds, the copy goes back.
///
/// The caller's struct is shorter than ours under an older header and longer under a newer one,
/// so a `&mut A` into it would be unsound.
///
/// # Safety
/// `args` is null or points to `struct_size` bytes, exclusive for the call; the pointers in them
/// are as `Caller::new` asks.
pub(crate) unsafe fn with_args<A: CArgs>(
    args: *mut A,
    needed: usize,
    body: impl FnOnce(&Caller, &mut A) -> Result<()>,
) -> Result<()> {
    if args.is_null() {
        return Err(Error::Null(A::NAME));
    }
    if !args.is_aligned() {
        return Err(Error::bad(format!("{} at {:#x} is not aligned", A::NAME, args.addr())));
    }
    // SAFETY: `A` begins with `struct_size`, and `args` is valid that far.
    let given = unsafe { args.cast::<usize>().read() };
    if given < needed {
        return Err(Error::ShortStruct { name: A::NAME, given, needed });
    }
    let shared = given.min(size_of::<A>());
    // SAFETY: all zeros is an `A`.
    let mut copy: A = unsafe { std::mem::zeroed() };
    // SAFETY: `shared` bytes are inside both structs, which are distinct.
    unsafe { ptr::copy_nonoverlapping(args.cast::<u8>(), (&raw mut copy).cast(), shared) };
    // SAFETY: the promise of this function's caller.
    body(&unsafe { Caller::new() }, &mut copy)?;
    // SAFETY: as above, the other way.
    unsafe { ptr::copy_nonoverlapping((&raw const copy).cast::<u8>(), args.cast(), shared) };
    Ok(())
}

/// Whether all bytes of a struct from `known` to `end` are zero.
///
/// # Safety
/// `args` points to `end` bytes.
pub(crate) unsafe fn is_zero_behind<A: CArgs>(args: *const A, known: usize, end: usize) -> bool {
    // SAFETY: the promise of this function's caller.
    let bytes = unsafe { slice::from_raw_parts(args.cast::<u8>(), end) };
    bytes[known.min(end)..].iter().all(|&byte| byte == 0)
}

/// One entry of the table: names the call, copies the arguments, turns an error into an object.
///
/// # Safety
/// As for [`with_args`].
pub(crate) unsafe fn serve<A: CArgs>(
    function: FunctionName,
    args: *mut A,
    needed: usize,
    body: impl FnOnce(&Caller, &mut A) -> Result<()>,
) -> *mut PJRT_Error {
    // SAFETY: the promise of this function's caller.
    let served = entry::enter(function, || unsafe { with_args(args, needed, body) });
    match served {
        Ok(()) => ptr::null_mut(),
        Err(error) => give_error(function, &error),
    }
}

/// A C handle is the bits of an [`Id`], never an address.
pub(crate) fn id_of<C, T>(handle: *const C, kind: &'static str) -> Result<Id<T>> {
    Id::from_raw(handle.addr() as u64).ok_or(Error::Null(kind))
}

/// The handle of an object.
pub(crate) fn handle_of<C, T>(id: Id<T>) -> *mut C {
    ptr::without_provenance_mut(tpu_emu::units::to_usize(id.raw()))
}

/// C text that outlives the call: the bytes of an object that the table keeps.
pub(crate) fn give_text(text: &str, pointer: &mut *const std::ffi::c_char, size: &mut usize) {
    *pointer = text.as_ptr().cast();
    *size = text.len();
}

/// A C array that outlives the call.
pub(crate) fn give_slice<T>(values: &[T], pointer: &mut *const T, count: &mut usize) {
    *pointer = values.as_ptr();
    *count = values.len();
}

/// Bytes that the caller gives back by a deleter: the object behind the opaque pointer.
pub(crate) fn give_bytes<O>(bytes: Vec<u8>) -> (*const std::ffi::c_char, usize, *mut O) {
    let owned: Box<Vec<u8>> = Box::new(bytes);
    let (pointer, size) = (owned.as_ptr().cast(), owned.len());
    (pointer, size, Box::into_raw(owned).cast())
}

/// Deletes what [`give_bytes`] gave.
///
/// # Safety
/// `object` is null or came from [`give_bytes`] and was not deleted before.
pub(crate) unsafe extern "C" fn take_bytes<O>(object: *mut O) {
    if !object.is_null() {
        // SAFETY: the promise of this function's caller.
        drop(unsafe { Box::from_raw(object.cast::<Vec<u8>>()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_emu::Code;

    #[derive(Debug, Clone, Copy)]
    #[repr(C)]
    struct Args {
        struct_size: usize,
    }

    // SAFETY: a number, which is its size.
    unsafe impl CArgs for Args {
        const NAME: &'static str = "Args";
    }

    #[test]
    fn a_panic_becomes_an_error_object_that_says_whose_fault_it_is() {
        let mut args = Args { struct_size: size_of::<Args>() };
        let body = |_: &Caller, _: &mut Args| panic!("lost {}", 7);
        // SAFETY: a struct of its size.
        let error = unsafe { serve(&"PJRT_Some_Call", &raw mut args, size_of::<Args>(), body) };
        assert_eq!(args.struct_size, size_of::<Args>());
        assert_eq!(crate::error::code_of(error), Some(Code::Internal));
        let (text, size) = crate::error::text_of(error);
        // SAFETY: the text of a live error.
        let text = unsafe { slice::from_raw_parts(text.cast::<u8>(), size) };
        let text = String::from_utf8_lossy(text);
        let begin = "PJRT_Some_Call panicked: lost 7 (pjrt-plugin/src/boundary.rs:";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.ends_with("a fault of tpu-emu, please report it"), "{text}");
        crate::error::forget(error);
    }
}
