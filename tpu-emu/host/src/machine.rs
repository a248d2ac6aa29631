//! The one machine of this process. It is the only global of its kind: the libtpu interface has
//! functions without a client handle, and a leak report must cover both interfaces.
use crate::at_exit::at_exit;
use crate::autopsy::Autopsist;
use crate::calls::{CallCounter, CallMode};
use crate::clock::Monotonic;
use crate::env::{AskedCompiler, HandlerLibrary, Nodes, ProcessPlace, Settings, TransportKind};
use crate::fork;
use crate::host_memory::Host;
use crate::interrupts;
use crate::metrics;
use crate::prints;
use crate::stack::ProcessStacks;
use crate::trace_file::{self, Records};
use std::sync::{Arc, LazyLock, OnceLock};
use tpu_emu::custom_call::Registry;
use tpu_emu::pallas::Outside;
use tpu_emu::trace::Header;
use tpu_emu::{Config, Emulator, Error, Result};

struct Made {
    machine: Arc<Emulator>,
    place: ProcessPlace,
    topology: String,
    started_ns: u64,
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

/// What the environment asks for, read by the first call.
static SETTINGS: LazyLock<Result<Settings>> = LazyLock::new(|| {
    let settings = Settings::from_environment()?;
    settings.start_log();
    Ok(settings)
});

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

/// The machine, made by the first call as the environment and the options of a client say.
///
/// # Errors
/// As for [`machine`]; `BadArgument` for options that contradict the environment, or that name
/// another process than the machine was made as.
pub fn machine_of(nodes: Nodes) -> Result<Arc<Emulator>> {
    if nodes.is_empty() {
        return machine();
    }
    if MACHINE.get().is_none() {
        // What is wrong with the options of one client must not stay for the next one.
        settings()?.place(nodes)?;
    }
    let made = MACHINE.get_or_init(|| make(nodes)).as_ref().map_err(Clone::clone)?;
    check_nodes(&made.place, nodes).map(|()| Arc::clone(&made.machine))
}

/// What was made is what these options ask for.
fn check_nodes(place: &ProcessPlace, nodes: Nodes) -> Result<()> {
    let (index, count) = (place.process_index, place.process_count());
    match nodes {
        Nodes { node: Some(node), .. } if !(0..count).contains(&node) => {
            let says = nodes.says_node(node);
            Err(Error::bad(format!("{says}; this topology has {count} processes")))
        }
        Nodes { node: Some(node), .. } if node != index => Err(Error::bad(format!(
            "{}; this machine was made as process {index} of {count}",
            nodes.says_node(node)
        ))),
        Nodes { count: Some(asked), .. } if asked != count => Err(Error::bad(format!(
            "{}; this machine was made for {count} processes",
            nodes.says_count(asked)
        ))),
        _ => Ok(()),
    }
}

/// Whether the environment says nothing of other processes.
pub fn is_alone_by_environment() -> bool {
    let place = settings().and_then(|settings| settings.place(Nodes::default()));
    place.is_ok_and(|place| place.is_alone())
}

/// Reads the environment, and makes the machine unless its place is for the first client to say,
/// as it is where the client's program has `others`.
///
/// # Errors
/// As for [`machine`].
pub fn start(others: bool) -> Result<()> {
    if settings()?.place_depends_on_client() || others {
        return Ok(());
    }
    machine().map(drop)
}

/// Which chips this process has, and which process of how many it is; makes the machine.
///
/// # Errors
/// As for [`machine`].
pub fn place() -> Result<&'static ProcessPlace> {
    made().map(|made| &made.place)
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
    settings().map(|settings| settings.handler_libraries.as_slice())
}

/// The dialect of the libtpu interface that the environment asks for.
///
/// # Errors
/// As for [`machine`].
pub fn asked_dialect() -> Result<Option<&'static str>> {
    settings().map(|settings| settings.asked_dialect.as_deref())
}

/// The real compiler that the environment asks for.
///
/// # Errors
/// As for [`machine`].
pub fn asked_compiler() -> Result<Option<AskedCompiler>> {
    settings().map(Settings::asked_compiler)
}

fn settings() -> Result<&'static Settings> {
    SETTINGS.as_ref().map_err(Clone::clone)
}

/// What is to carry messages between the processes of a slice.
///
/// # Errors
/// As for [`machine`].
pub fn transport() -> Result<&'static TransportKind> {
    settings().map(|settings| &settings.transport)
}

fn made() -> Result<&'static Made> {
    MACHINE.get_or_init(|| make(Nodes::default())).as_ref().map_err(Clone::clone)
}

fn make(nodes: Nodes) -> Result<Made> {
    let settings = settings()?.clone();
    let place = settings.place(nodes)?;
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
    let topology = place.topology.canonical_spec();
    let config = Config {
        topology: place.topology.clone(),
        hbm: settings.hbm,
        process_index: place.process_index,
        history: settings.history,
        numerics: settings.numerics,
        custom_calls: custom_calls(),
        threads: settings.threads,
        vectors: settings.vectors,
        call_timeout: settings.call_timeout,
        hosts_timeout: settings.hosts_timeout,
        stacks,
        clock: Arc::new(clock.clone()),
        sink,
        host_memory: Arc::new(Host),
        poison: settings.poison,
        pallas: settings.pallas,
        outside: Outside {
            prints: prints::to_standard_error(),
            listens: Arc::new(interrupts::listen),
        },
    };
    let machine = Emulator::new(config)?;
    machine.explain_refusals(Arc::new(Autopsist));
    fork::watch();
    let calls = trace.as_ref().filter(|_| settings.calls != CallMode::Off).map(|records| {
        CallCounter::start(settings.calls, clock, Arc::clone(records), Arc::clone(&machine))
    });
    if let Some(asked) = &settings.metrics {
        metrics::serve(asked, &machine);
    }
    Ok(Made { machine, place, topology, started_ns, trace, calls })
}
