// UNSAFETY: maps memory for machine code and calls it. No page is writable and executable at one
// address: the pages of a file without a name are mapped twice, once to write and once to run.
// What is called was written by this module's neighbours for exactly this signature. Machine code
// calls `enter` with the address of a `Callee` that its function owns, and of four cells of 64 bytes
// on its own stack.
//! Memory for machine code, and the calls into it and out of it.
#![expect(unsafe_code, reason = "maps, writes and calls machine code")]
use super::callee::{Callee, Cells, operate};
use crate::jit::tuning::CODE_CHUNK_BYTES;
use parking_lot::Mutex;
use std::sync::{Arc, Once};

/// Memory that is mapped twice.
#[derive(Debug)]
struct Chunk {
    writable: *mut u8,
    executable: *mut u8,
    /// The process that made it; a child that shares it must not write to it.
    process: i32,
}

// SAFETY: the addresses belong to no thread. Pieces are written once, before anybody knows them.
unsafe impl Send for Chunk {}

// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: nobody has an address inside any more: whoever runs code holds its chunk.
        unsafe {
            libc::munmap(self.writable.cast(), CODE_CHUNK_BYTES);
            libc::munmap(self.executable.cast(), CODE_CHUNK_BYTES);
        }
    }
}

fn process() -> i32 {
    // SAFETY: it asks for a number.
    unsafe { libc::getpid() }
}

/// Whether the process may make files of a chunk's size. A larger one would raise a signal, also
/// where it has no name.
fn is_allowed() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: the place is this function's.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    failed != 0 || usize::try_from(limit.rlim_cur).map_or(true, |limit| limit >= CODE_CHUNK_BYTES)
}

impl Chunk {
    /// Memory for code, or `None`: then loops are interpreted, which the log says once.
    fn new() -> Option<Self> {
        static TOLD: Once = Once::new();
        let chunk = if is_allowed() { Self::mapped() } else { None };
        if chunk.is_none() {
            let why = std::io::Error::last_os_error();
            TOLD.call_once(
                || tracing::warn!(%why, "no memory for machine code: loops are interpreted"),
            );
        }
        chunk
    }

    fn mapped() -> Option<Self> {
        let size = libc::off_t::try_from(CODE_CHUNK_BYTES).ok()?;
        // SAFETY: the name is a C string; the file is used by nobody else. A mapping outlives
        // the descriptor. What fails gives back what it took.
        unsafe {
            let file = libc::memfd_create(c"tpu-emu-loops".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 {
                return None;
            }
            let map = |protection| {
                let none = std::ptr::null_mut();
                let at = libc::mmap(none, CODE_CHUNK_BYTES, protection, libc::MAP_SHARED, file, 0);
                (at != libc::MAP_FAILED).then_some(at.cast::<u8>())
            };
            let sized = libc::ftruncate(file, size) == 0;
            let writable = if sized { map(libc::PROT_READ | libc::PROT_WRITE) } else { None };
            let executable = writable.and_then(|_| map(libc::PROT_READ | libc::PROT_EXEC));
            libc::close(file);
            if let (Some(writable), None) = (writable, executable) {
                libc::munmap(writable.cast(), CODE_CHUNK_BYTES);
            }
            Some(Self { writable: writable?, executable: executable?, process: process() })
        }
    }
}

/// The chunk that is being filled, and how far.
static CURRENT: Mutex<Option<(Arc<Chunk>, usize)>> = Mutex::new(None);

/// A loop as machine code. Its memory is freed with the last loop of its chunk.
#[derive(Debug)]
pub(crate) struct Function {
    chunk: Arc<Chunk>,
    entry: usize,
}

extern "sysv64" fn enter(callee: *const Callee, cells: *mut Cells) {
    // SAFETY: the code gives the addresses of a callee that lives as long as it does, and of cells
    // on its stack that nobody else knows.
    let (callee, cells) = unsafe { (&*callee, &mut *cells) };
    operate(callee, cells);
}

/// What machine code calls to run an operation.
pub(super) fn address_of_operate() -> usize {
    let enter: extern "sysv64" fn(*const Callee, *mut Cells) = enter;
    (enter as *const ()).expose_provenance()
}

/// How compiled loops are called: the addresses of the arrays, and a number of elements.
type Signature = unsafe extern "sysv64" fn(arrays: *const *mut u8, count: usize);

impl Function {
    /// Puts code into memory; `entry` is where it begins. `None` where it does not fit or the
    /// system gives no memory for code.
    pub(super) fn new(code: &[u8], entry: usize) -> Option<Self> {
        let mut current = CURRENT.lock();
        let usable = |(chunk, used): &(Arc<Chunk>, usize)| {
            used + code.len() <= CODE_CHUNK_BYTES && chunk.process == process()
        };
        if code.len() > CODE_CHUNK_BYTES {
            return None;
        }
        if !current.as_ref().is_some_and(usable) {
            *current = Some((Arc::new(Chunk::new()?), 0));
        }
        let (chunk, used) = current.as_mut()?;
        let at = *used;
        *used = (at + code.len()).next_multiple_of(64);
        // SAFETY: the piece is inside the chunk and nobody else's.
        unsafe { code.as_ptr().copy_to_nonoverlapping(chunk.writable.add(at), code.len()) };
        Some(Self { chunk: Arc::clone(chunk), entry: at + entry })
    }

    /// Where the code begins.
    pub(crate) fn entry(&self) -> CodeEntry {
        // SAFETY: the entry is inside of the chunk, and was written by the encoder for this
        // signature.
        unsafe {
            CodeEntry(std::mem::transmute::<*mut u8, Signature>(
                self.chunk.executable.add(self.entry),
            ))
        }
    }
}

/// Where the code of a [`Function`] begins; that keeps it there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CodeEntry(Signature);

impl CodeEntry {
    /// Runs the code.
    ///
    /// # Safety
    /// The function is still there. The addresses are those that the code was made for, with as
    /// many elements behind each.
    pub(crate) unsafe fn call(self, arrays: &[*mut u8], count: usize) {
        // SAFETY: the caller's promise.
        unsafe { (self.0)(arrays.as_ptr(), count) }
    }
}
