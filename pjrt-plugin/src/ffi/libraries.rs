//! Handlers of the shared libraries that `TPU_EMU_FFI` names.
// UNSAFETY: loads libraries, which runs their initialisers, and takes their symbols for handlers.
#![expect(unsafe_code, reason = "the loader's C functions")]
use super::{Bundle, register_typed};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use tpu_emu::{Error, Result};
use tpu_host::env::HandlerLibrary;

/// The platform that a symbol is registered for.
const PLATFORM: &str = "tpu";

/// Loads libraries, in their order, and registers what they are asked for. They stay loaded.
///
/// A library without a symbol registers itself: its initialisers call `XLA_FFI_GetApi`, which it
/// finds in this library. Loading one again changes nothing.
///
/// # Errors
/// `BadArgument` that names every library and symbol that is wrong.
pub(crate) fn load(wanted: &[HandlerLibrary]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    if let Err(error) = promote() {
        tracing::warn!(%error, "this library's symbols are not global");
    }
    let wrong: Vec<String> = wanted
        .iter()
        .filter_map(|library| Some(format!("TPU_EMU_FFI={library}: {}", one(library).err()?)))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::bad(wrong.join("\n"))) }
}

thread_local! {
    /// Why registrations of the library that is being loaded were refused: its initialisers drop
    /// the errors that they get.
    static REFUSED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Notes that an initialiser's registration was refused, where this thread loads a library.
pub(super) fn note_refusal(error: &Error) {
    REFUSED.with_borrow_mut(|refused| {
        refused.iter_mut().for_each(|refused| refused.push(error.to_string()));
    });
}

fn one(wanted: &HandlerLibrary) -> Result<()> {
    REFUSED.set(Some(Vec::new()));
    // SAFETY: whoever sets the variable wants the library's initialisers to run.
    let library = unsafe { Library::open(Some(&wanted.path), RTLD_NOW | RTLD_LOCAL) };
    let refused = REFUSED.take().unwrap_or_default();
    let library = library.map_err(|error| Error::bad(error.to_string()))?;
    let found = match &wanted.handler {
        _ if !refused.is_empty() => Err(Error::bad(refused.join("; "))),
        None => Ok(()),
        Some((name, symbol)) => register(&library, name, symbol, wanted.to_string()),
    };
    // The registry may keep addresses of it, whether or not this one was accepted.
    std::mem::forget(library);
    found
}

fn register(library: &Library, name: &str, symbol: &str, from: String) -> Result<()> {
    // SAFETY: the address alone is taken.
    let address = unsafe { library.get::<*mut c_void>(symbol.as_bytes()) };
    let address = address.map_err(|error| Error::bad(error.to_string()))?.as_raw_ptr();
    if !is_function(address) {
        return Err(Error::bad(format!("{symbol} is not a function")));
    }
    let bundle = Bundle { execute: address.expose_provenance(), ..Bundle::default() };
    register_typed(name, PLATFORM, bundle, 0, format!("TPU_EMU_FFI={from}"))
}

/// Whether the symbol at an address is code.
fn is_function(address: *const c_void) -> bool {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut symbol: *mut c_void = std::ptr::null_mut();
    // SAFETY: both results are places of their types.
    let known =
        unsafe { libc::dladdr1(address, found.as_mut_ptr(), &raw mut symbol, RTLD_DL_SYMENT) };
    // SAFETY: with this flag a symbol is one of ELF's, in the loaded library.
    let symbol = unsafe { symbol.cast::<libc::Elf64_Sym>().as_ref() };
    let kind = symbol.map(|symbol| symbol.st_info & 0xf);
    known != 0 && (kind == Some(STT_FUNC) || kind == Some(STT_GNU_IFUNC))
}

/// Asks `dladdr1` for the symbol itself. Source: `dlfcn.h`.
const RTLD_DL_SYMENT: libc::c_int = 1;

/// The kinds of symbols that are code, in the low half of `st_info`.
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;

/// Puts this library's symbols where libraries that are loaded from now on find them.
///
/// JAX loads a plugin with symbols of its own, so `XLA_FFI_GetApi` is not found otherwise.
fn promote() -> Result<()> {
    let own: *const c_void = (promote as *const ()).cast();
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result is a place of its type, all zeros is a value of it.
    let found = unsafe {
        libc::dladdr(own, found.as_mut_ptr());
        found.assume_init()
    };
    if found.dli_fname.is_null() {
        return Err(Error::bad("the loader does not know this library"));
    }
    // SAFETY: the loader's text, as long as the library is loaded.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes());
    // SAFETY: it is loaded already, so no initialiser runs.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL | libc::RTLD_NOLOAD) };
    std::mem::forget(library.map_err(|error| Error::bad(error.to_string()))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(path: &str, handler: Option<(&str, &str)>) -> HandlerLibrary {
        let handler = handler.map(|(name, symbol)| (name.to_owned(), symbol.to_owned()));
        HandlerLibrary { path: path.to_owned(), handler }
    }

    #[test]
    fn every_library_that_is_wrong_is_named() {
        let libraries = [
            wanted("/nowhere/a.so", None),
            wanted("libc.so.6", Some(("f", "no_such_symbol"))),
            wanted("libc.so.6", Some(("g", "environ"))),
            wanted("libc.so.6", None),
        ];
        let text = load(&libraries).unwrap_err().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("TPU_EMU_FFI=/nowhere/a.so: "), "{text}");
        assert!(lines[0].contains("No such file"), "{text}");
        assert!(lines[1].starts_with("TPU_EMU_FFI=f=libc.so.6:no_such_symbol: "), "{text}");
        assert_eq!(lines[2], "TPU_EMU_FFI=g=libc.so.6:environ: environ is not a function");
        assert_eq!(load(&[]), Ok(()));
    }
}
