//! The environment, read once; `variables.rs` has a row for each variable.
use crate::calls::CallMode;
use crate::stack::{StackMode, Unwinder};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tpu_emu::config::{DEFAULT_CALL_TIMEOUT, DEFAULT_HISTORY, DEFAULT_HOSTS_TIMEOUT};
use tpu_emu::kernels::simd::Level;
use tpu_emu::ops::Numerics;
use tpu_emu::topology::Topology;
use tpu_emu::units::Bytes;
use tpu_emu::{Error, Result};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

mod place;
mod variables;

use place::{Asked, Given, is_given};
pub use place::{Nodes, ProcessPlace, TPU_VARIABLES, TpuVariable};

pub use variables::{VARIABLES, Variable};

/// Variables of other programs of this project: the Python package, the command and the tests.
const OTHERS: [&str; 2] = ["TPU_EMU_LIBRARY", "TPU_EMU_EDITOR"];
const TESTS: &str = "TPU_EMU_TEST_";

/// A shared library with custom call handlers, as `TPU_EMU_FFI` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerLibrary {
    /// The file, as the loader takes it.
    pub path: String,
    /// The name of a target and the function of the library that serves it; without one the
    /// library registers its handlers itself.
    pub handler: Option<(String, String)>,
}

impl FromStr for HandlerLibrary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is neither NAME=LIBRARY:SYMBOL nor LIBRARY");
        let parts = text.split_once('=').map(|(name, rest)| (name, rest.rsplit_once(':')));
        let (path, handler) = match parts {
            None => (text, None),
            Some((name, Some((path, symbol)))) if !name.is_empty() && !symbol.is_empty() => {
                (path, Some((name.to_owned(), symbol.to_owned())))
            }
            Some(_) => return Err(wanted()),
        };
        if path.is_empty() {
            return Err(wanted());
        }
        Ok(Self { path: path.to_owned(), handler })
    }
}

impl fmt::Display for HandlerLibrary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.handler {
            None => write!(out, "{}", self.path),
            Some((name, symbol)) => write!(out, "{name}={}:{symbol}", self.path),
        }
    }
}

/// What carries messages between the processes of a slice, as `TPU_EMU_TRANSPORT` names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TransportKind {
    /// Channels and shared memory of one machine.
    #[default]
    SharedMemory,
    /// An MPI library: this file, or the one that is found.
    Mpi(Option<String>),
}

impl FromStr for TransportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("shared_memory", "") => Ok(Self::SharedMemory),
            ("mpi", "") => Ok(Self::Mpi(None)),
            ("mpi", library) => Ok(Self::Mpi(Some(library.to_owned()))),
            _ => Err("shared_memory, mpi or mpi:LIBRARY".to_owned()),
        }
    }
}

/// The real compiler, as `TPU_EMU_COMPILER` and what belongs to it ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCompiler {
    /// `libtpu` for the installed one, or a path.
    pub library: String,
    /// The folder of its answers; without it, one among the user's caches.
    pub cache: Option<PathBuf>,
    /// How long it may take for one program.
    pub limit: Duration,
}

/// What the environment asks for.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The topology that `TPU_EMU_TOPOLOGY` asks for.
    topology: Option<Topology>,
    process_index: Option<i32>,
    /// The variables of TPU users.
    given: Given,
    pub(crate) hbm: Option<Bytes>,
    pub(crate) numerics: Numerics,
    pub(crate) stacks: StackMode,
    pub(crate) unwinder: Unwinder,
    pub(crate) trace: Option<String>,
    pub(crate) calls: CallMode,
    pub(crate) history: usize,
    pub(crate) poison: bool,
    pub(crate) pallas: tpu_emu::pallas::Settings,
    pub(crate) handler_libraries: Vec<HandlerLibrary>,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) vectors: Level,
    pub(crate) call_timeout: Duration,
    pub(crate) hosts_timeout: Duration,
    pub(crate) transport: TransportKind,
    pub(crate) asked_dialect: Option<String>,
    pub(crate) metrics: Option<String>,
    pub(crate) compiler: Option<String>,
    pub(crate) compiler_cache: Option<PathBuf>,
    pub(crate) compiler_limit: Duration,
    log: Option<Targets>,
}

impl Settings {
    /// # Errors
    /// `BadArgument` that names every wrong variable and the right ones.
    pub(crate) fn from_environment() -> Result<Self> {
        Self::read(std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            Some((name, value.to_string_lossy().into_owned()))
        }))
    }

    fn read(environment: impl Iterator<Item = (String, String)>) -> Result<Self> {
        let mut settings = Self {
            topology: None,
            process_index: None,
            given: Given::new(),
            hbm: None,
            numerics: Numerics::default(),
            stacks: StackMode::Full,
            unwinder: Unwinder::default(),
            trace: None,
            calls: CallMode::default(),
            history: DEFAULT_HISTORY,
            poison: false,
            pallas: tpu_emu::pallas::Settings::default(),
            handler_libraries: Vec::new(),
            threads: None,
            vectors: Level::Avx512,
            call_timeout: DEFAULT_CALL_TIMEOUT,
            hosts_timeout: DEFAULT_HOSTS_TIMEOUT,
            transport: TransportKind::default(),
            asked_dialect: None,
            metrics: None,
            compiler: None,
            compiler_cache: None,
            compiler_limit: Duration::from_mins(10),
            log: None,
        };
        let ours = environment.filter(|(name, value)| {
            if is_given(name, value) {
                settings.given.insert(name.clone(), value.clone());
            }
            name.starts_with("TPU_EMU_")
                && !name.starts_with(TESTS)
                && !OTHERS.contains(&name.as_str())
        });
        let mut given: Vec<_> = ours.collect();
        given.sort();
        let mut wrong = Vec::new();
        for (name, value) in &given {
            match VARIABLES.iter().find(|variable| variable.name == name) {
                None => wrong.push(unknown(name)),
                Some(variable) => {
                    if let Err(wanted) = (variable.set)(&mut settings, value) {
                        wrong.push(format!("{name}={value}: {wanted}"));
                    }
                }
            }
        }
        if wrong.is_empty() { Ok(settings) } else { Err(Error::bad(wrong.join("\n"))) }
    }

    /// Which chips this process has, and which process of how many it is.
    ///
    /// # Errors
    /// `BadArgument` that names variables and options that cannot be, or contradict each other.
    pub(crate) fn place(&self, nodes: Nodes) -> Result<ProcessPlace> {
        let Self { topology, process_index, given, .. } = self;
        let process_index = *process_index;
        ProcessPlace::of(&Asked { topology: topology.as_ref(), process_index, given, nodes })
    }

    /// Whether a client's options could change [`Self::place`].
    pub(crate) fn place_depends_on_client(&self) -> bool {
        let hosts = self.topology.as_ref().map_or(1, Topology::process_count);
        hosts > 1 || !self.given.is_empty()
    }

    /// The real compiler that is asked for.
    pub(crate) fn asked_compiler(&self) -> Option<AskedCompiler> {
        let library = self.compiler.clone()?;
        Some(AskedCompiler {
            library,
            cache: self.compiler_cache.clone(),
            limit: self.compiler_limit,
        })
    }

    /// Starts the log that was asked for.
    pub(crate) fn start_log(&self) {
        let Some(filter) = &self.log else { return };
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_writer(std::io::stderr)
            // The end of each call, with the time that it took.
            .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
            .finish()
            .with(filter.clone());
        // A program that set a subscriber of its own keeps it.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }
}

fn unknown(name: &str) -> String {
    let nearest = VARIABLES.iter().min_by_key(|variable| distance(variable.name, name));
    let all: Vec<&str> = VARIABLES.iter().map(|variable| variable.name).collect();
    let hint = nearest.map_or("", |variable| variable.name);
    format!("{name} is no variable of tpu-emu; did you mean {hint}? There are {}", all.join(", "))
}

/// How many letters must change to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(&str, &str)]) -> Result<Settings> {
        Settings::read(given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn without_variables_it_is_an_eight_chip_host() {
        let settings = read(&[("PATH", "/bin"), ("TPU_EMU_TEST_X", "1")]).unwrap();
        let place = settings.place(Nodes::default()).unwrap();
        assert_eq!(place.topology, Topology::common_host());
        assert_eq!((settings.hbm, settings.stacks), (None, StackMode::Full));
    }

    #[test]
    fn values_are_taken() {
        let given = [
            ("TPU_EMU_TOPOLOGY", "v5p:2x2x1"),
            ("TPU_EMU_HBM_BYTES", "2GiB"),
            ("TPU_EMU_STACKS", "off"),
            ("TPU_EMU_UNWINDER", "backtrace"),
            ("TPU_EMU_FFI_TIMEOUT", "3"),
            ("TPU_EMU_SIMD", "avx2"),
        ];
        let threads = read(&[("TPU_EMU_THREADS", "3")]).unwrap().threads;
        assert_eq!(threads, NonZeroUsize::new(3));
        assert!(read(&[("TPU_EMU_THREADS", "0")]).is_err());
        let settings = read(&given).unwrap();
        assert_eq!(settings.call_timeout, Duration::from_secs(3));
        assert_eq!(settings.vectors, Level::Avx2);
        assert!(read(&[("TPU_EMU_SIMD", "neon")]).is_err());
        for log in ["debug", "warn,tpu_emu=trace", "off"] {
            assert!(read(&[("TPU_EMU_LOG", log)]).is_ok(), "{log}");
        }
        assert!(read(&[("TPU_EMU_LOG", "tpu_emu=loud")]).is_err());
        assert_eq!(settings.unwinder, Unwinder::Backtrace);
        assert!(read(&[("TPU_EMU_FFI_TIMEOUT", "0")]).is_err());
        let place = settings.place(Nodes::default()).unwrap();
        assert_eq!(place.topology.device_kind(), "TPU v5");
        assert_eq!((settings.hbm, settings.stacks), (Some(Bytes::gib(2)), StackMode::Off));
    }

    #[test]
    fn handlers_are_named_with_their_libraries() {
        let settings = read(&[("TPU_EMU_FFI", "f=/a:b/c.so:symbol,lib.so")]).unwrap();
        let texts: Vec<_> = settings.handler_libraries.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["f=/a:b/c.so:symbol", "lib.so"]);
        assert_eq!(settings.handler_libraries[0].path, "/a:b/c.so");
        for wrong in ["", "f=lib.so", "=lib.so:f", "f=:f", "f=lib.so:", "lib.so,"] {
            let text = read(&[("TPU_EMU_FFI", wrong)]).unwrap_err().to_string();
            assert!(text.contains("is neither NAME=LIBRARY:SYMBOL nor LIBRARY"), "{text}");
        }
    }

    #[test]
    fn all_mistakes_are_named_at_once_with_the_right_words() {
        let given = [
            ("TPU_EMU_STACK", "full"),
            ("TPU_EMU_HBM_BYTES", "2 apples"),
            ("TPU_EMU_UNWINDER", ""),
        ];
        let text = read(&given).unwrap_err().to_string();
        assert!(text.contains("TPU_EMU_UNWINDER=: compiled or backtrace"), "{text}");
        assert!(text.contains("did you mean TPU_EMU_STACKS?"), "{text}");
        assert!(text.contains("TPU_EMU_HBM_BYTES=2 apples: bytes from 1"), "{text}");
    }

    #[test]
    fn a_process_that_the_topology_does_not_have_is_refused() {
        let settings = read(&[("TPU_EMU_PROCESS_INDEX", "1")]).unwrap();
        let text = settings.place(Nodes::default()).unwrap_err().to_string();
        assert_eq!(text, "TPU_EMU_PROCESS_INDEX=1: the topology has 1 processes");
        assert!(read(&[("TPU_EMU_PROCESS_INDEX", "-1")]).is_err());
    }

    #[test]
    fn the_variables_of_tpu_users_are_read_beside_ours() {
        let settings = read(&[("TPU_VISIBLE_CHIPS", "0,1"), ("TPU_NAME", "x")]).unwrap();
        assert_eq!(settings.place(Nodes::default()).unwrap().topology.devices().len(), 2);
        assert!(settings.place_depends_on_client());
        assert!(!read(&[("TPU_NAME", "x")]).unwrap().place_depends_on_client());
    }
}
