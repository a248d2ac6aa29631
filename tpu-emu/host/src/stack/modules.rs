//! The modules of this process: what is mapped where, and their unwind tables in place.
//!
//! Modules that were seen once stay known, so that a frame of a closed library keeps its name.
// UNSAFETY: the loader gives raw program headers, and the tables are read where they are mapped.
#![expect(unsafe_code, reason = "program headers and unwind tables are raw mapped memory")]
use parking_lot::Mutex;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::time::Duration;

/// Modules a code address can belong to at most, so that an address fits a frame.
const EPOCHS: u16 = 1 << 15;

/// A code address takes the low bits of a native frame; the epoch stands above.
const ADDRESS_BITS: u32 = 48;

/// How long a capture waits for the list: after a fork its holder may not exist any more.
const PATIENCE: Duration = Duration::from_millis(10);

/// Every module ever seen, oldest first.
static SEEN: Mutex<Vec<Arc<Module>>> = Mutex::new(Vec::new());

/// How often the loader added and removed modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) adds: u64,
    pub(super) subs: u64,
}

/// A mapped program, library or vDSO.
#[derive(Debug)]
pub(super) struct Module {
    /// Where the file was when it was loaded.
    pub(super) path: PathBuf,
    /// Address in memory less address in the file.
    pub(super) bias: u64,
    /// First mapped address.
    pub(super) start: u64,
    /// End of the mapped addresses.
    pub(super) end: u64,
    /// Bytes that a file must have at an offset to be the one that was mapped.
    pub(super) identity: Vec<(u64, Vec<u8>)>,
    /// 0, or how many other modules have been seen at one of its addresses.
    pub(super) epoch: u16,
    /// Unwind tables, `None` without `.eh_frame_hdr`.
    pub(super) unwind: Option<UnwindTables>,
}

/// `.eh_frame_hdr` and `.eh_frame` where they are mapped.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnwindTables {
    /// Address of `hdr`.
    pub(super) hdr_at: u64,
    /// From `.eh_frame_hdr` to the end of its segment.
    pub(super) hdr: &'static [u8],
    /// Address of `eh_frame`.
    pub(super) eh_frame_at: u64,
    /// From `.eh_frame` to the end of its segment.
    pub(super) eh_frame: &'static [u8],
}

/// The modules mapped at one time.
#[derive(Debug, Default)]
pub(super) struct Modules {
    /// By start address.
    list: Vec<Arc<Module>>,
    /// The loader's counters when the list was made.
    pub(super) counts: Counts,
    /// Whether some address has belonged to several modules.
    epochs: bool,
}

impl Modules {
    /// Lists what is mapped now.
    pub(super) fn load() -> Self {
        let mut found = Found::default();
        // SAFETY: `collect` takes a `Found`, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut found).cast()) };
        let mut list = match SEEN.try_lock_for(PATIENCE) {
            Some(mut seen) => found.modules.into_iter().map(|m| remember(&mut seen, m)).collect(),
            None => found.modules.into_iter().map(Arc::new).collect::<Vec<_>>(),
        };
        list.sort_by_key(|module| module.start);
        let epochs = list.iter().any(|module| module.epoch != 0);
        Self { list, counts: found.counts, epochs }
    }

    /// The module mapped at `address`.
    pub(super) fn at(&self, address: u64) -> Option<&Arc<Module>> {
        let after = self.list.partition_point(|module| module.start <= address);
        self.list[..after].last().filter(|module| address < module.end)
    }

    /// The frame of a code address: the address, and which of its modules in time.
    pub(super) fn frame(&self, address: u64) -> u64 {
        let address = address & ((1 << ADDRESS_BITS) - 1);
        match self.epochs.then(|| self.at(address)).flatten() {
            Some(module) => address | u64::from(module.epoch) << ADDRESS_BITS,
            None => address,
        }
    }
}

/// The module of a frame made by [`Modules::frame`], mapped or not, and the code address.
pub(super) fn module_of(frame: u64) -> (Option<Arc<Module>>, u64) {
    let address = frame & ((1 << ADDRESS_BITS) - 1);
    let epoch = frame >> ADDRESS_BITS;
    let seen = SEEN.lock();
    let mut candidates = seen.iter().rev();
    let module = candidates.find(|module| {
        u64::from(module.epoch) == epoch && (module.start..module.end).contains(&address)
    });
    (module.cloned(), address)
}

/// The loader's counters now.
pub(super) fn counts() -> Counts {
    let mut counts = Counts::default();
    // SAFETY: `count` takes a `Counts`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut counts).cast()) };
    counts
}

/// The module in `seen` that equals `found`, or `found`, from now on in `seen`.
fn remember(seen: &mut Vec<Arc<Module>>, mut found: Module) -> Arc<Module> {
    let overlaps = |known: &&Arc<Module>| known.start < found.end && found.start < known.end;
    match seen.iter().rev().find(overlaps) {
        Some(known) if known.is_same(&found) => return Arc::clone(known),
        Some(_) => {
            let epochs = seen.iter().filter(overlaps).map(|known| known.epoch);
            found.epoch = (epochs.max().unwrap_or(0) + 1).min(EPOCHS - 1);
        }
        None => {}
    }
    let module = Arc::new(found);
    seen.push(Arc::clone(&module));
    module
}

impl Module {
    fn is_same(&self, other: &Self) -> bool {
        self.bias == other.bias && self.path == other.path && self.identity == other.identity
    }

    /// File name, for people.
    pub(super) fn name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

#[derive(Default)]
struct Found {
    modules: Vec<Module>,
    counts: Counts,
}

unsafe extern "C" fn count(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid `info`, and `data` is the `Counts` of `counts`.
    let (info, counts) = unsafe { (&*info, &mut *data.cast::<Counts>()) };
    *counts = Counts { adds: info.dlpi_adds, subs: info.dlpi_subs };
    1
}

unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader gives a valid `info`, and `data` is the `Found` of `load`.
    let (info, found) = unsafe { (&*info, &mut *data.cast::<Found>()) };
    found.counts = Counts { adds: info.dlpi_adds, subs: info.dlpi_subs };
    let mut path = Path::new(OsStr::new("")).to_path_buf();
    if !info.dlpi_name.is_null() {
        // SAFETY: a non-null name is a NUL-terminated string of the loader.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    }
    if path.as_os_str().is_empty() && found.modules.is_empty() {
        path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    }
    let mut headers: &[libc::Elf64_Phdr] = &[];
    if !info.dlpi_phdr.is_null() {
        // SAFETY: the loader gives `dlpi_phnum` program headers, valid during the call.
        headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    }
    // SAFETY: the headers are those of a mapped module, as the loader says.
    found.modules.extend(unsafe { describe(path, info.dlpi_addr, headers) });
    0
}

/// # Safety
/// `headers` are those of a module mapped with `bias`.
unsafe fn describe(path: PathBuf, bias: u64, headers: &[libc::Elf64_Phdr]) -> Option<Module> {
    let range = |h: &libc::Elf64_Phdr| {
        let start = bias.wrapping_add(h.p_vaddr);
        (start, start.wrapping_add(h.p_memsz))
    };
    let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let start = loads().map(|h| range(h).0).min()?;
    let end = loads().map(|h| range(h).1).max()?;

    // SAFETY: a segment is mapped for `p_memsz` bytes; only parts of readable ones are asked for.
    let bytes = |from: u64, to: u64| unsafe { mapped(from, to) };
    let readable = || loads().filter(|h| h.p_flags & libc::PF_R != 0);
    let segment_of = |address: u64| readable().map(range).find(|r| (r.0..r.1).contains(&address));

    let mut identity = Vec::new();
    if let Some(first) = readable().find(|h| h.p_offset == 0 && h.p_filesz >= 64) {
        let length = (64 + 56 * headers.len() as u64).min(first.p_filesz);
        identity.push((0, bytes(range(first).0, range(first).0 + length).to_vec()));
    }
    for note in headers.iter().filter(|h| h.p_type == libc::PT_NOTE) {
        let (from, to) = range(note);
        if segment_of(from).is_some_and(|segment| to <= segment.1) {
            identity.push((note.p_offset, bytes(from, to).to_vec()));
        }
    }
    let unwind = headers.iter().find(|h| h.p_type == libc::PT_GNU_EH_FRAME).and_then(|h| {
        let hdr_at = range(h).0;
        let hdr = bytes(hdr_at, segment_of(hdr_at)?.1);
        // The common encoding: a signed 32-bit distance from its own address.
        let [1, 0x1b, ..] = *hdr else { return None };
        let distance = i32::from_le_bytes(hdr.get(4..8)?.try_into().ok()?);
        let eh_frame_at = (hdr_at + 4).wrapping_add_signed(i64::from(distance));
        let eh_frame = bytes(eh_frame_at, segment_of(eh_frame_at)?.1);
        Some(UnwindTables { hdr_at, hdr, eh_frame_at, eh_frame })
    });
    Some(Module { path, bias, start, end, identity, epoch: 0, unwind })
}

/// # Safety
/// The addresses are mapped, readable and not written. The slice is only read while the module
/// is mapped: by a walk on a stack that has code of this module on it.
unsafe fn mapped(from: u64, to: u64) -> &'static [u8] {
    let length = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
    let start = std::ptr::with_exposed_provenance(usize::try_from(from).unwrap_or(0));
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(start, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, start: u64) -> Module {
        let path = PathBuf::from(path);
        let identity = Vec::new();
        Module { path, bias: start, start, end: start + 64, identity, epoch: 0, unwind: None }
    }

    #[test]
    fn this_test_is_in_a_module_with_unwind_tables() {
        let here = this_test_is_in_a_module_with_unwind_tables as fn() as usize as u64;
        let modules = Modules::load();
        let module = modules.at(here).unwrap();
        assert_eq!(module.path, std::env::current_exe().unwrap());
        assert!(module.unwind.is_some());
        assert_eq!(modules.counts, counts());
        assert!(modules.at(0).is_none());
    }

    #[test]
    fn a_second_module_at_an_address_gets_another_epoch() {
        let mut seen = Vec::new();
        assert_eq!(remember(&mut seen, module("a", 0)).epoch, 0);
        assert_eq!(remember(&mut seen, module("b", 64)).epoch, 0);
        assert_eq!(remember(&mut seen, module("c", 32)).epoch, 1);
        assert_eq!(remember(&mut seen, module("c", 32)).epoch, 1);
        assert_eq!(seen.len(), 3);
    }
}
