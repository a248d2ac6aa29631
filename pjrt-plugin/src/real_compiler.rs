//! What the user's own libtpu says of programs, where `TPU_EMU_COMPILER` asks for it.
// UNSAFETY: reads a text that Python hands over.
#![expect(unsafe_code, reason = "a C string")]
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tpu_aot::{Answer, Compiled, Compiler, MemoryStats, Pending, Refused, Request, Silence};
use tpu_emu::error::Code;
use tpu_emu::executable::{Format, MemoryAnalysis, OtherCompiler, OtherPlan};
use tpu_emu::trace::PlannedValue;
use tpu_emu::units::Bytes;
use tpu_emu::{Emulator, Error, Result};
use tpu_hlo::Scheduled;

/// The compiler of this process, and what it is called.
struct Real {
    compiler: Compiler,
    name: String,
}

/// Made when the first topology is asked for, or the first program is compiled; `None` where nobody
/// asks for it or it cannot be had.
static REAL: OnceLock<Option<Real>> = OnceLock::new();

/// What was said on standard error.
static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says a sentence, once.
fn say(sentence: String) {
    if !SAID.lock().contains(&sentence) {
        tpu_host::tell(&sentence);
        SAID.lock().insert(sentence);
    }
}

/// Finds the real compiler, if somebody asks for it, on a thread that may take the interpreter's lock.
///
/// jaxlib 0.10 keeps that lock while another thread of it compiles for a topology without devices.
pub(crate) fn prepare() {
    let _ = real();
}

const STANDS: &str = "the plan of tpu-emu stands";

fn real() -> Option<&'static Real> {
    let made = REAL.get_or_init(|| {
        let asked = tpu_host::asked_compiler().ok()??;
        let variable = format!("TPU_EMU_COMPILER={}", asked.library);
        match made(asked) {
            Ok(real) => Some(real),
            Err(why) => {
                say(format!("{variable}: {why}; {STANDS}"));
                None
            }
        }
    });
    made.as_ref()
}

fn made(asked: tpu_host::env::AskedCompiler) -> Result<Real, String> {
    let library = tpu_aot::library(&asked.library, &packages())?;
    let command = tpu_aot::beside_or_on_path(tpu_host::own_file().as_deref())?;
    let name = match tpu_aot::package_version(&library) {
        Some(version) => format!("libtpu {version}"),
        None => library.display().to_string(),
    };
    let settings = tpu_aot::Settings { library, command, cache: asked.cache, limit: asked.limit };
    Ok(Real { compiler: Compiler::new(settings)?, name })
}

thread_local! {
    /// The folders that the text has told on this thread.
    static TOLD: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn take(folder: *const c_char) {
    // SAFETY: the text hands over a C string.
    let folder = unsafe { CStr::from_ptr(folder) };
    TOLD.with_borrow_mut(|told| told.push(OsStr::from_bytes(folder.to_bytes()).into()));
}

/// The folders of packages of this process's interpreter; none where there is no interpreter.
///
/// It takes the interpreter's lock, which jaxlib gives up while it compiles for a client.
fn packages() -> Vec<PathBuf> {
    let take: *const () = take as *const ();
    TOLD.with_borrow_mut(Vec::clear);
    let text = include_str!("packages.py");
    let ran = tpu_host::run_python(text, "packages", &[("TAKE", take.expose_provenance())]);
    if let Err(error) = ran {
        tracing::warn!(%error, "the folders of packages are not known");
    }
    TOLD.with_borrow_mut(std::mem::take)
}

/// A program that the real compiler was shown.
#[derive(Debug)]
pub(crate) struct ShownProgram {
    name: &'static str,
    pending: Mutex<Option<Pending>>,
    /// Whether a device has more HBM here than the chip.
    has_more: bool,
    compiled: OnceLock<Arc<Compiled>>,
}

/// Shows a program to the real compiler, which works while this one does; `None` where nobody
/// wants that.
pub(crate) fn ask(
    machine: &Emulator,
    format: Format,
    code: &[u8],
    options: &[u8],
) -> Option<ShownProgram> {
    let real = real()?;
    let topology = machine.topology();
    let format = match format {
        Format::Mlir => "mlir",
        Format::Hlo => "hlo",
        Format::HloWithConfig => "hlo_with_config",
    };
    let pending = real.compiler.ask(Request {
        topology: its_words(&topology.canonical_spec()),
        format: format.to_owned(),
        code: code.to_vec(),
        options: options.to_vec(),
    });
    Some(ShownProgram {
        name: &real.name,
        pending: Mutex::new(Some(pending)),
        has_more: machine.memory_limit() > topology.live_memory_limit(),
        compiled: OnceLock::new(),
    })
}

/// A topology in the real library's words: without what says which process has what.
fn its_words(spec: &str) -> String {
    let is_ours = |piece: &str| matches!(piece, "processes=1" | "subslice=1");
    spec.split(',').filter(|piece| !is_ours(piece)).collect::<Vec<_>>().join(",")
}

impl ShownProgram {
    /// The program as the real compiler has made it, where it has.
    pub(crate) fn into_compiled(self) -> Option<Arc<Compiled>> {
        self.compiled.into_inner()
    }
}

impl OtherCompiler for ShownProgram {
    fn plan(&self, program: &str, here: Result<(), &str>) -> Result<Option<OtherPlan>> {
        let Some(pending) = self.pending.lock().take() else { return Ok(None) };
        let name = self.name;
        match pending.wait() {
            Ok(Answer::Compiled(compiled)) => {
                if here.is_err() {
                    say(format!("{name} compiles {program}, which tpu-emu refuses"));
                }
                let memory = analysis(&compiled.memory);
                let (values, positions) = values(&compiled);
                let _ = self.compiled.set(Arc::new(compiled));
                Ok(Some(OtherPlan { compiler: name.into(), memory, values, positions }))
            }
            Ok(Answer::Refused(refused)) => match self.stands_against(&refused) {
                None => Err(refusal(refused)),
                Some(why) => {
                    let words = first_line(&refused.message);
                    say(format!("{name} refuses {program} ({words}), {why}; {STANDS}"));
                    Ok(None)
                }
            },
            Ok(Answer::NotAsked(why)) | Err(Silence::Useless(why)) => {
                say(format!("{name} cannot be asked: {why}; {STANDS}"));
                Ok(None)
            }
            Err(Silence::Unanswered(why)) => {
                say(format!("{name} gives no answer for {program}: {why}; {STANDS}"));
                Ok(None)
            }
        }
    }
}

impl ShownProgram {
    /// Why a refusal says nothing of the program on a chip, where that is so.
    fn stands_against(&self, refused: &Refused) -> Option<&'static str> {
        let says = |words: &str| refused.message.contains(words);
        let is_form = [
            "Failed to parse using StableHLO",
            "Unknown program format",
            "failed to deserialize",
            "Failed to deserialize",
        ];
        let is_place = ["Not enough cores available", "Number of replicas ("];
        let is_memory = Code::from_number(refused.code) == Some(Code::ResourceExhausted)
            && (says("on HBM") || says("memory space hbm"));
        if is_form.iter().any(|words| says(words)) {
            Some("which is of a form that it does not read")
        } else if is_place.iter().any(|words| says(words)) {
            Some("which has other devices there")
        } else if says("Custom emitter for ") {
            Some("which calls a handler that this process alone has")
        } else if is_memory && self.has_more {
            Some("which TPU_EMU_HBM_BYTES gives more than the chip has")
        } else {
            None
        }
    }
}

/// The form of the optimized programs that are understood.
const OPTIMIZED: &str = "hlo_with_config";

/// The temporaries of the optimized program, and how many positions its order has; none where
/// they are not known.
fn values(compiled: &Compiled) -> (Arc<[PlannedValue]>, u64) {
    if compiled.format != OPTIMIZED {
        return (Arc::default(), 0);
    }
    let scheduled = tpu_hlo::scheduled(&compiled.program).unwrap_or_else(|error| {
        tracing::warn!(%error, "the temporaries of libtpu's program are not known");
        Scheduled::default()
    });
    let values = scheduled.values.into_iter().map(|value| PlannedValue {
        offset: 0,
        size: value.array.bytes,
        logical: value.array.logical,
        first: value.first,
        last: value.last,
        dtype: value.array.dtype.into(),
        dims: value.array.dims,
        layout: value.array.layout,
        operation: value.operation.into(),
        line: value.line,
    });
    (values.collect(), scheduled.positions)
}

fn refusal(refused: Refused) -> Error {
    let code = Code::from_number(refused.code).unwrap_or(Code::Unknown);
    Error::Verbatim { code, message: refused.message.into() }
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

fn analysis(memory: &MemoryStats) -> MemoryAnalysis {
    let bytes = |count: i64| Bytes(u64::try_from(count).unwrap_or(0));
    MemoryAnalysis {
        code: bytes(memory.code),
        arguments: bytes(memory.arguments),
        outputs: bytes(memory.outputs),
        alias: bytes(memory.alias),
        temporaries: bytes(memory.temporaries),
        peak: bytes(memory.peak),
        host_arguments: bytes(memory.host_arguments),
        host_outputs: bytes(memory.host_outputs),
        host_alias: bytes(memory.host_alias),
        host_temporaries: bytes(memory.host_temporaries),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_what_is_no_word_of_the_real_library() {
        let spec = "v6e:2x2x1,chips_per_host_bounds=2x2x1,num_slices=2";
        assert_eq!(its_words(&format!("{spec},processes=1,subslice=1")), spec);
        assert_eq!(its_words(spec), spec);
    }

    #[test]
    fn refusals_that_say_nothing_of_a_chip_do_not_count() {
        let asked = |has_more| ShownProgram {
            name: "a fake",
            pending: Mutex::default(),
            has_more,
            compiled: OnceLock::new(),
        };
        let refused = |code, message: &str| Refused {
            version: String::new(),
            code,
            message: message.to_owned(),
        };
        let memory = refused(8, "E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total");
        assert_eq!(asked(false).stands_against(&memory), None);
        assert!(asked(true).stands_against(&memory).is_some());
        let vector_memory = refused(8, "Ran out of memory in memory space vmem.");
        assert_eq!(asked(true).stands_against(&vector_memory), None);
        let counts = |message: &str| asked(false).stands_against(&refused(3, message)).is_none();
        assert!(counts("Unexpected operand type for FFT: c128[16,16]{1,0}"));
        assert!(!counts("Custom emitter for mine not found"));
        assert!(!counts("error: Failed to parse using StableHLO v1.23.0, this could"));
        let error = refusal(refused(99, "x"));
        assert_eq!((error.code(), error.to_string()), (Code::Unknown, "x".to_owned()));
    }
}
