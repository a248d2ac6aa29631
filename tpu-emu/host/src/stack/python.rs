//! The Python frames of the calling thread, read without the interpreter's help.
//!
//! Nothing here takes the interpreter's lock or calls what needs it. The thread is inside a call
//! out of its innermost frame, so its frames stand still and keep their code alive.
// UNSAFETY: reads the interpreter's structures, at the offsets of its version.
#![expect(unsafe_code, reason = "the interpreter's frames are raw memory")]
use super::code::{self, CodeCache, Codes, RawCode, RawText};
use super::layout::{Current, DEBUG_WORDS, GuestLayout, RunEnd};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_emu::origin::Frame;

/// Frames a walk gives at most, the interpreter's own included.
const MAX_FRAMES: usize = 1024;

/// Bytes of a name or table at most; more is taken for an error.
const MAX_BYTES: u64 = 1 << 24;

/// Owners of frames: a generator, and from here on the interpreter itself.
const OWNED_BY_GENERATOR: u8 = 1;
const OWNED_BY_INTERPRETER: u8 = 3;

/// A run of frames that one native evaluation function executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PythonFrames {
    /// Where the run ends in the list of frames.
    pub(super) end: usize,
    /// An address in the native frame of its evaluation function.
    pub(super) anchor: u64,
}

/// The frames of a thread, innermost first, and their runs.
#[derive(Debug, Default)]
pub(super) struct PythonStack {
    pub(super) frames: Vec<Frame>,
    pub(super) runs: Vec<PythonFrames>,
}

impl PythonStack {
    /// Forgets all frames, keeps the room.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.runs.clear();
    }
}

/// The interpreter in this process.
#[derive(Debug)]
struct Interpreter {
    layout: GuestLayout,
    runtime: u64,
    code_type: u64,
    text_type: u64,
    bytes_type: u64,
    thread_state: extern "C" fn() -> *mut c_void,
    /// The state that holds the lock, where that is kept by thread (3.12 and later).
    attached_state: Option<extern "C" fn() -> *mut c_void>,
}

static INTERPRETER: OnceLock<Option<Interpreter>> = OnceLock::new();

/// The loader's count of modules at the last search that found no interpreter.
static SEARCHED_AT: AtomicU64 = AtomicU64::new(0);

/// Fills `stack` with the calling thread's frames; `loaded` gives the loader's count of modules,
/// which is asked for until there is an interpreter.
pub(super) fn walk(
    stack: &mut PythonStack,
    codes: &Codes,
    cache: &mut CodeCache,
    loaded: impl FnOnce() -> u64,
) {
    stack.clear();
    if let Some(interpreter) = interpreter(loaded) {
        interpreter.walk(stack, codes, cache);
    }
}

fn interpreter(loaded: impl FnOnce() -> u64) -> Option<&'static Interpreter> {
    if let Some(known) = INTERPRETER.get() {
        return known.as_ref();
    }
    let loaded = loaded();
    if SEARCHED_AT.load(Ordering::Relaxed) == loaded {
        return None;
    }
    if symbol(c"Py_GetVersion").is_none() {
        SEARCHED_AT.store(loaded, Ordering::Relaxed);
        return None;
    }
    INTERPRETER.get_or_init(find).as_ref()
}

fn find() -> Option<Interpreter> {
    let address = |name| symbol(name).map(|address| address.expose_provenance() as u64);
    let runtime = address(c"_PyRuntime")?;
    let version = read::<u32>(address(c"Py_Version")?)?;
    let mut words = [0; DEBUG_WORDS];
    for (at, word) in words.iter_mut().enumerate() {
        *word = read(runtime + 8 * at as u64)?;
    }
    let thread_state = symbol(c"PyGILState_GetThisThreadState")?;
    let attached_state = match version >= 0x030c_0000 {
        true => {
            symbol(c"PyThreadState_GetUnchecked").or_else(|| symbol(c"_PyThreadState_UncheckedGet"))
        }
        false => None,
    };
    type Getter = extern "C" fn() -> *mut c_void;
    // SAFETY: both are functions without parameters that return a `PyThreadState *`.
    let getter = |symbol| unsafe { std::mem::transmute::<*mut c_void, Getter>(symbol) };
    Some(Interpreter {
        layout: GuestLayout::of(version, &words)?,
        runtime,
        code_type: address(c"PyCode_Type")?,
        text_type: address(c"PyUnicode_Type")?,
        bytes_type: address(c"PyBytes_Type")?,
        thread_state: getter(thread_state),
        attached_state: attached_state.map(getter),
    })
}

fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up; both arguments are valid.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

impl Interpreter {
    /// The calling thread's state, null without one.
    fn state(&self) -> u64 {
        let attached = self.attached_state.map(|get| get()).filter(|state| !state.is_null());
        attached.unwrap_or_else(|| (self.thread_state)()).expose_provenance() as u64
    }

    /// Whether the frames of `state` stand still: a shutdown frees those of every thread but the
    /// one that runs it.
    fn stands_still(&self, state: u64) -> Option<()> {
        let finalizing = read::<u64>(self.runtime + self.layout.finalizing)?;
        (finalizing == 0 || finalizing == state).then_some(())
    }

    fn walk(&self, stack: &mut PythonStack, codes: &Codes, cache: &mut CodeCache) -> Option<()> {
        let layout = &self.layout;
        let state = self.state();
        self.stands_still(state)?;
        let (mut c_frame, mut frame) = match layout.current {
            Current::CFrame { in_state, frame, .. } => {
                let c_frame = read(state + in_state)?;
                (c_frame, read(c_frame + frame)?)
            }
            Current::Frame { in_state } => (0, read(state + in_state)?),
        };
        for _ in 0..MAX_FRAMES {
            self.stands_still(state)?;
            let owner = read::<u8>(frame + layout.frame_owner)?;
            let previous = read(frame + layout.frame_previous)?;
            let is_shim = layout.run_end == RunEnd::Shim && owner >= OWNED_BY_INTERPRETER;
            if is_shim {
                stack.runs.push(PythonFrames { end: stack.frames.len(), anchor: frame });
            } else {
                stack.frames.extend(self.frame(frame, owner, codes, cache)?);
            }
            if let (RunEnd::Flag(flag), Current::CFrame { previous, .. }) =
                (layout.run_end, layout.current)
                && read::<u8>(frame + flag)? != 0
            {
                stack.runs.push(PythonFrames { end: stack.frames.len(), anchor: c_frame });
                c_frame = read(c_frame + previous)?;
            }
            frame = previous;
        }
        Some(())
    }

    /// The frame at `frame`; the inner `None` for one that has not begun, as in a traceback.
    fn frame(
        &self,
        frame: u64,
        owner: u8,
        codes: &Codes,
        cache: &mut CodeCache,
    ) -> Option<Option<Frame>> {
        let layout = &self.layout;
        // From 3.14 on the low bits say who counts the reference.
        let code = read::<u64>(frame + layout.frame_code)? & !3;
        if read::<u64>(code + 8)? != self.code_type {
            return None;
        }
        let units = code + layout.code_units;
        let instruction = read::<u64>(frame + layout.frame_instruction)?;
        let unit = instruction.wrapping_sub(units).cast_signed() / 2;
        let first = read::<i32>(code + layout.code_first_traced())?;
        if owner != OWNED_BY_GENERATOR && unit < i64::from(first) {
            return Some(None);
        }
        let count = read::<u64>(code + 16)?;
        let unit = u32::try_from(unit).ok().filter(|unit| u64::from(*unit) < count);
        let id = self.code(code).map_or(0, |raw| cache.id(codes, code, raw));
        Some(Some(code::python_frame(id, unit)))
    }

    /// The content of the code object at `code`.
    fn code(&self, code: u64) -> Option<RawCode<'static>> {
        let layout = &self.layout;
        Some(RawCode {
            file: self.text(read(code + layout.code_file)?)?,
            name: self.text(read(code + layout.code_name)?)?,
            first_line: read(code + layout.code_first_line)?,
            lines: self.bytes(read(code + layout.code_lines)?)?,
        })
    }

    fn text(&self, text: u64) -> Option<RawText<'static>> {
        if read::<u64>(text + 8)? != self.text_type {
            return None;
        }
        let (length, state) = (read::<u64>(text + 16)?, read::<u32>(text + 32)?);
        let (width, compact, ascii) = (state >> 2 & 7, state >> 5 & 1, state >> 6 & 1);
        if compact == 0 || ![1, 2, 4].contains(&width) || length > MAX_BYTES {
            return None;
        }
        let header = if ascii == 1 { self.layout.text_ascii } else { self.layout.text_other };
        let bytes = slice(text + header, length * u64::from(width))?;
        Some(RawText { width: u8::try_from(width).ok()?, bytes })
    }

    fn bytes(&self, bytes: u64) -> Option<&'static [u8]> {
        if read::<u64>(bytes + 8)? != self.bytes_type {
            return None;
        }
        let length = read::<u64>(bytes + 16)?;
        (length <= MAX_BYTES).then(|| slice(bytes + 32, length)).flatten()
    }
}

/// Integers of the interpreter's structures.
trait Field: Copy {}
impl Field for u8 {}
impl Field for i32 {}
impl Field for u32 {}
impl Field for u64 {}

/// The field at `address`, `None` where no object of the interpreter can be.
fn read<T: Field>(address: u64) -> Option<T> {
    let place = place::<T>(address)?;
    // SAFETY: aligned, and a field of an object that the calling thread's frames keep alive: each
    // address is a constant of the interpreter or was read from such an object, whose type or
    // layout has been checked before.
    Some(unsafe { place.read_volatile() })
}

fn slice(address: u64, length: u64) -> Option<&'static [u8]> {
    let place = place::<u8>(address)?;
    // SAFETY: the content of a string or bytes object, which does not change while the code that
    // holds it lives; it is compared and copied during the capture, and not kept.
    Some(unsafe { std::slice::from_raw_parts(place, usize::try_from(length).ok()?) })
}

fn place<T>(address: u64) -> Option<*const T> {
    let address = usize::try_from(address).ok()?;
    let possible = (4096..1 << 47).contains(&address) && address.is_multiple_of(align_of::<T>());
    possible.then(|| std::ptr::with_exposed_provenance(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_python_has_no_python_frames() {
        let mut stack = PythonStack::default();
        walk(&mut stack, &Codes::default(), &mut CodeCache::new(), || u64::MAX);
        assert_eq!((stack.frames.len(), stack.runs.len()), (0, 0));
    }

    #[test]
    fn impossible_addresses_are_not_read() {
        assert_eq!(read::<u64>(0), None);
        assert_eq!(read::<u64>(8), None);
        assert_eq!(read::<u8>(u64::MAX), None);
        let here = [1_u64, 2];
        let at = (&raw const here).expose_provenance() as u64;
        assert_eq!(read::<u64>(at + 8), Some(2));
        assert_eq!(read::<u64>(at + 4), None);
    }
}
