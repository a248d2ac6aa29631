//! The engine for processes of several machines: an MPI library, loaded when it is asked for
//! through the standard ABI of MPI 5. Ranks are the processes' numbers.
// UNSAFETY: calls functions of a library through their names, with types of the standard ABI.
#![expect(unsafe_code, reason = "calls of C functions")]
use crate::frame::{pack, unpack};
use crate::rendezvous::Member;
use libloading::Library;
use parking_lot::Mutex;
use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tpu_base::error::{Code, Error, Result};
use tpu_base::transport::{ArrayBytes, Inbox, Transport};

/// The names under which MPI libraries come.
const NAMES: [&str; 3] = ["libmpi_abi.so", "libmpi_abi.so.0", "libmpi_abi.so.1"];

// Source of the numbers: MPI 5.0, appendix A.2, as `mpi_abi.h` has them.
const COMM_WORLD: usize = 0x101;
const ERRORS_RETURN: usize = 0x143;
const BYTE: usize = 0x247;
const ANY_SOURCE: c_int = -1;
const THREAD_MULTIPLE: c_int = 4096;
const MAX_ERROR_STRING: usize = 512;
/// The tag of all messages.
const TAG: c_int = 1;

/// A handle of MPI: a pointer that is never followed.
type Handle = *mut c_void;

#[repr(C)]
#[derive(Default)]
struct Status {
    source: c_int,
    tag: c_int,
    error: c_int,
    internal: [c_int; 5],
}

/// The functions that are needed.
struct MpiFunctions {
    initialized: unsafe extern "C" fn(*mut c_int) -> c_int,
    init_thread:
        unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int,
    query_thread: unsafe extern "C" fn(*mut c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    comm_rank: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    comm_size: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    comm_dup: unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
    comm_set_errhandler: unsafe extern "C" fn(Handle, Handle) -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
    send: unsafe extern "C" fn(*const c_void, i64, Handle, c_int, c_int, Handle) -> c_int,
    improbe:
        unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut Handle, *mut Status) -> c_int,
    get_count: unsafe extern "C" fn(*const Status, Handle, *mut i64) -> c_int,
    mrecv: unsafe extern "C" fn(*mut c_void, i64, Handle, *mut Handle, *mut Status) -> c_int,
    /// Unloaded after the functions are gone, which is never: MPI does not end twice.
    _library: Library,
}

/// A communicator of our own over all processes.
struct Ranks {
    mpi: MpiFunctions,
    comm: usize,
    /// Whether MPI was begun here, and so is ended here.
    begun: bool,
    stop: AtomicBool,
    listener: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranks").field("begun", &self.begun).finish_non_exhaustive()
    }
}

/// The one that is ended with the process.
static RANKS: OnceLock<Arc<Ranks>> = OnceLock::new();

/// Connects a process with all others of its slice through MPI, and starts the thread that takes
/// what they send. `library` is a file; without one it is looked for by its standard names, and
/// beside the `mpiexec` of this process's path.
///
/// # Errors
/// `NotFound` where no library is there, `BadArgument` where its ranks are not the processes of
/// the slice, `DeadlineExceeded` for processes that do not come, and what MPI says.
pub fn join(
    member: &Member<'_>,
    library: Option<&str>,
    inbox: Arc<dyn Inbox>,
) -> Result<Arc<dyn Transport>> {
    let mpi = load(library)?;
    // Whoever begins MPI waits for the others without an end, so they must be there.
    member.arrive("mpi")?;
    member.others()?;
    let ranks = Arc::new(Ranks::begin(mpi, member)?);
    let (own, listening) = (Arc::clone(&ranks), thread::Builder::new());
    let thread = listening
        .name("tpu-emu-mpi".to_owned())
        .spawn(move || own.listen(&*inbox))
        .map_err(|why| Error::Host(format!("cannot start a thread: {why}")))?;
    *ranks.listener.lock() = Some(thread);
    if RANKS.set(Arc::clone(&ranks)).is_ok() {
        // SAFETY: the function takes nothing and gives nothing.
        unsafe { libc::atexit(end) };
    }
    Ok(ranks)
}

/// Ends MPI with the process: its launcher takes anything else for a crash.
extern "C" fn end() {
    let Some(ranks) = RANKS.get() else { return };
    ranks.stop.store(true, Ordering::Release);
    let listener = ranks.listener.lock().take();
    // In the child of a fork there is no such thread, and MPI is the parent's.
    if let Some(listener) = listener.filter(|_| std::process::id() == process()) {
        // A panic of it was told where it happened.
        let _ = listener.join();
        if ranks.begun {
            // SAFETY: MPI was begun, and no thread of ours calls it any more.
            unsafe { (ranks.mpi.finalize)() };
        }
    }
}

/// The process that joined.
fn process() -> u32 {
    static ID: OnceLock<u32> = OnceLock::new();
    *ID.get_or_init(std::process::id)
}

/// Loads the library and finds its functions.
#[expect(clippy::disallowed_methods, reason = "where this process finds its launcher")]
fn load(library: Option<&str>) -> Result<MpiFunctions> {
    process();
    let mut tried = Vec::new();
    let beside = env::var_os("PATH").into_iter().flat_map(|path| {
        env::split_paths(&path)
            .filter(|folder| folder.join("mpiexec").exists())
            .filter_map(|folder| Some(folder.parent()?.join("lib")))
            .collect::<Vec<_>>()
    });
    let beside: Vec<PathBuf> =
        beside.flat_map(|folder| NAMES.map(|name| folder.join(name))).collect();
    let files: Vec<PathBuf> = match library {
        Some(library) => vec![library.into()],
        None => NAMES.iter().map(PathBuf::from).chain(beside).collect(),
    };
    for file in files {
        // SAFETY: an MPI library does nothing of note when it is loaded.
        match unsafe { Library::new(&file) } {
            Ok(library) => return functions(library),
            Err(why) => tried.push(format!("{}: {why}", file.display())),
        }
    }
    Err(Error::NotFound(format!(
        "TPU_EMU_TRANSPORT=mpi needs a library with the standard ABI of MPI 5 (as of \
         `pip install mpich`): {}",
        tried.join("; ")
    )))
}

fn functions(library: Library) -> Result<MpiFunctions> {
    macro_rules! find {
        ($name:literal) => {
            // SAFETY: the type is the function's in the standard ABI.
            *unsafe { library.get($name) }.map_err(|why| {
                let name = String::from_utf8_lossy($name).into_owned();
                Error::NotFound(format!("{name} of the MPI library: {why}"))
            })?
        };
    }
    Ok(MpiFunctions {
        initialized: find!(b"MPI_Initialized"),
        init_thread: find!(b"MPI_Init_thread"),
        query_thread: find!(b"MPI_Query_thread"),
        finalize: find!(b"MPI_Finalize"),
        comm_rank: find!(b"MPI_Comm_rank"),
        comm_size: find!(b"MPI_Comm_size"),
        comm_dup: find!(b"MPI_Comm_dup"),
        comm_set_errhandler: find!(b"MPI_Comm_set_errhandler"),
        error_string: find!(b"MPI_Error_string"),
        send: find!(b"MPI_Send_c"),
        improbe: find!(b"MPI_Improbe"),
        get_count: find!(b"MPI_Get_count_c"),
        mrecv: find!(b"MPI_Mrecv_c"),
        _library: library,
    })
}

fn handle(bits: usize) -> Handle {
    without_provenance_mut(bits)
}

impl MpiFunctions {
    /// What a call's number says.
    fn checked(&self, what: &str, number: c_int) -> Result<()> {
        if number == 0 {
            return Ok(());
        }
        let (mut text, mut length) = ([0_u8; MAX_ERROR_STRING], 0);
        // SAFETY: the text has the room that the standard asks for.
        unsafe { (self.error_string)(number, text.as_mut_ptr().cast(), &raw mut length) };
        let length = usize::try_from(length).unwrap_or(0).min(MAX_ERROR_STRING);
        let text = String::from_utf8_lossy(&text[..length]).into_owned();
        let message = format!("{what}: {text}").into();
        Err(Error::Verbatim { code: Code::Unavailable, message })
    }
}

impl Ranks {
    fn begin(mpi: MpiFunctions, member: &Member<'_>) -> Result<Self> {
        let (mut is_begun, mut threads) = (0, 0);
        // SAFETY: the places are this function's; the call is allowed at any time.
        mpi.checked("MPI_Initialized", unsafe { (mpi.initialized)(&raw mut is_begun) })?;
        if is_begun == 0 {
            let number = unsafe {
                // SAFETY: MPI has not begun; no arguments are given.
                (mpi.init_thread)(null_mut(), null_mut(), THREAD_MULTIPLE, &raw mut threads)
            };
            mpi.checked("MPI_Init_thread", number)?;
        } else {
            // SAFETY: MPI has begun.
            mpi.checked("MPI_Query_thread", unsafe { (mpi.query_thread)(&raw mut threads) })?;
        }
        if threads < THREAD_MULTIPLE {
            return Err(Error::bad("this MPI lets one thread call at a time; several must"));
        }
        let (mut rank, mut size, mut comm) = (0, 0, null_mut());
        let world = handle(COMM_WORLD);
        // SAFETY: MPI has begun; the places are this function's.
        unsafe {
            mpi.checked("MPI_Comm_rank", (mpi.comm_rank)(world, &raw mut rank))?;
            mpi.checked("MPI_Comm_size", (mpi.comm_size)(world, &raw mut size))?;
        }
        let [me, count] = [member.me, member.count].map(c_int::try_from);
        if (Ok(rank), Ok(size)) != (me, count) {
            let (me, count) = (member.me, member.count);
            return Err(Error::bad(format!(
                "this is process {me} of a slice of {count}, and rank {rank} of {size} of MPI: \
                 with TPU_EMU_TRANSPORT=mpi start one process a host by mpiexec, in the order of \
                 their numbers"
            )));
        }
        // SAFETY: as above. All processes call it, as all have come.
        unsafe {
            mpi.checked("MPI_Comm_dup", (mpi.comm_dup)(world, &raw mut comm))?;
            let errors = (mpi.comm_set_errhandler)(comm, handle(ERRORS_RETURN));
            mpi.checked("MPI_Comm_set_errhandler", errors)?;
        }
        let (begun, stop, listener) = (is_begun == 0, AtomicBool::new(false), Mutex::default());
        Ok(Self { mpi, comm: comm.expose_provenance(), begun, stop, listener })
    }

    fn comm(&self) -> Handle {
        std::ptr::with_exposed_provenance_mut(self.comm)
    }

    /// Takes what comes, until the process ends.
    fn listen(&self, inbox: &dyn Inbox) {
        /// How long the thread sleeps where nothing has come, at first and at most.
        const NAPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];
        let mut nap = NAPS[0];
        while !self.stop.load(Ordering::Acquire) {
            match self.next() {
                Ok(Some((from, bytes))) => {
                    nap = NAPS[0];
                    match unpack(bytes) {
                        Some((head, arrays)) => {
                            let arrays: Vec<ArrayBytes> = arrays;
                            inbox.received(from, head, arrays);
                        }
                        None => tracing::warn!(from, "a message cannot be read"),
                    }
                }
                Ok(None) => {
                    thread::park_timeout(nap);
                    nap = (nap * 2).min(NAPS[1]);
                }
                Err(error) => return tracing::warn!(%error, "MPI is not heard any more"),
            }
        }
    }

    /// The next message, if one has come.
    fn next(&self) -> Result<Option<(usize, Vec<u8>)>> {
        let (mut came, mut message, mut status) = (0, null_mut(), Status::default());
        let mpi = &self.mpi;
        let probed = unsafe {
            // SAFETY: MPI has begun; the places are this function's.
            (mpi.improbe)(
                ANY_SOURCE,
                TAG,
                self.comm(),
                &raw mut came,
                &raw mut message,
                &raw mut status,
            )
        };
        mpi.checked("MPI_Improbe", probed)?;
        if came == 0 {
            return Ok(None);
        }
        let mut count = 0_i64;
        let counted = unsafe {
            // SAFETY: the status is of the message that was found.
            (mpi.get_count)(&raw const status, handle(BYTE), &raw mut count)
        };
        mpi.checked("MPI_Get_count", counted)?;
        let mut bytes = vec![0_u8; usize::try_from(count).unwrap_or(0)];
        let from = usize::try_from(status.source).unwrap_or(usize::MAX);
        let taken = unsafe {
            // SAFETY: the bytes have room for what was counted; the message is taken once.
            let at = bytes.as_mut_ptr().cast();
            (mpi.mrecv)(at, count, handle(BYTE), &raw mut message, &raw mut status)
        };
        mpi.checked("MPI_Mrecv", taken)?;
        Ok(Some((from, bytes)))
    }
}

impl Transport for Ranks {
    fn send(&self, to: usize, head: &[u8], arrays: &[Vec<u8>]) -> Result<()> {
        let bytes = pack(head, arrays);
        let none = || Error::bad(format!("process {to} is none of the slice"));
        let rank = c_int::try_from(to).map_err(|_| none())?;
        let count = i64::try_from(bytes.len()).map_err(|_| none())?;
        let sent = unsafe {
            // SAFETY: MPI has begun, and the bytes stay until the call returns.
            (self.mpi.send)(bytes.as_ptr().cast(), count, handle(BYTE), rank, TAG, self.comm())
        };
        self.mpi.checked(&format!("process {to} of the slice cannot be reached"), sent)
    }
}
