//! The one machine of this process. It is the only global of its kind: the libtpu interface has
//! functions without a client handle, and a leak report must cover both interfaces.
use crate::at_exit::at_exit;
use crate::autopsy::Autopsist;
use crate::calls::{CallCounter, CallMode};
use crate::clock::Monotonic;
use crate::env::{HandlerLibrary, Settings};
use crate::fork;
use crate::host_memory::Host;
use crate::stack::ProcessStacks;
use crate::trace_file::{self, Records};
use std::sync::{Arc, LazyLock, OnceLock};
use tpu_emu::custom_call::Registry;
use tpu_emu::trace::Header;
use tpu_emu::{Config, Emulator, Result};

struct Made {
    machine: Arc<Emulator>,
    topology: String,
    started_ns: u64,
    handler_libraries: Vec<HandlerLibrary>,
    asked_dialect: Option<String>,
    trace: Option<Arc<Records>>,
    calls: Option<&'static CallCounter>,
}

/// The end of the process: what lives now was not given back.
extern "C" fn end_trace() {
    let Some(Ok(made)) = MACHINE.get() else { return };
    made.machine.client_ends("process exit");
    if let Some(calls) = made.calls {
        calls.write_all();
    }
    if let Some(trace) = &made.trace {
        trace.finish();
    }
}

static MACHINE: OnceLock<Result<Made>> = OnceLock::new();

/// Handlers are registered before there is a machine, too.
static CUSTOM_CALLS: LazyLock<Arc<Registry>> = LazyLock::new(Arc::default);

/// The targets that programs of this process can call, on whichever machine.
pub fn custom_calls() -> Arc<Registry> {
    Arc::clone(&CUSTOM_CALLS)
}

/// The machine, made by the first call as the environment says.
///
/// # Errors
/// The same at every call where the environment asks for what cannot be.
pub fn machine() -> Result<Arc<Emulator>> {
    made().map(|made| Arc::clone(&made.machine))
}

/// The machine, if it was made.
pub fn machine_if_made() -> Option<&'static Arc<Emulator>> {
    MACHINE.get()?.as_ref().ok().map(|made| &made.machine)
}

/// What a trace of this process begins with.
///
/// # Errors
/// As for [`machine`].
pub fn header() -> Result<Header<'static>> {
    made().map(|made| Header {
        process: std::process::id(),
        started_ns: made.started_ns,
        version: env!("CARGO_PKG_VERSION"),
        topology: &made.topology,
    })
}

/// The libraries whose custom call handlers the environment asks for.
///
/// # Errors
/// As for [`machine`].
pub fn handler_libraries() -> Result<&'static [HandlerLibrary]> {
    made().map(|made| made.handler_libraries.as_slice())
}

/// The dialect of the libtpu interface that the environment asks for.
///
/// # Errors
/// As for [`machine`].
pub fn asked_dialect() -> Result<Option<&'static str>> {
    made().map(|made| made.asked_dialect.as_deref())
}

fn made() -> Result<&'static Made> {
    MACHINE.get_or_init(make).as_ref().map_err(Clone::clone)
}

fn make() -> Result<Made> {
    let settings = Settings::from_environment()?;
    settings.start_log();
    let clock = Monotonic::new();
    let started_ns = clock.started_ns;
    let stacks = Arc::new(ProcessStacks::by(settings.unwinder, settings.stacks));
    let (sink, trace) = match &settings.trace {
        Some(target) => {
            let (sink, records) = trace_file::open(target, started_ns)?;
            (Some(sink), records)
        }
        None => (None, None),
    };
    if sink.is_some() {
        at_exit(end_trace);
    }
    let topology = settings.topology.canonical_spec();
    let config = Config {
        topology: settings.topology,
        hbm: settings.hbm,
        process_index: settings.process_index,
        history: settings.history,
        numerics: settings.numerics,
        custom_calls: custom_calls(),
        threads: settings.threads,
        vectors: settings.vectors,
        call_timeout: settings.call_timeout,
        stacks,
        clock: Arc::new(clock.clone()),
        sink,
        host_memory: Arc::new(Host),
        poison: settings.poison,
    };
    let machine = Emulator::new(config)?;
    machine.explain_refusals(Arc::new(Autopsist));
    fork::watch();
    let calls = trace.as_ref().filter(|_| settings.calls != CallMode::Off).map(|records| {
        CallCounter::start(settings.calls, clock, Arc::clone(records), Arc::clone(&machine))
    });
    let (handler_libraries, asked_dialect) = (settings.handler_libraries, settings.asked_dialect);
    Ok(Made { machine, topology, started_ns, handler_libraries, asked_dialect, trace, calls })
}
