//! An XSpace for XProf and TensorBoard: changes in memory, launches, and the plans of programs.
mod device;
mod hlo;
mod memory;
mod messages;
mod plane;

use super::{picoseconds, signed};
use crate::history::History;
use crate::tables::Trace;
use messages::{Value, XSpace};
use plane::Plane;
use prost::Message as _;
use std::ops::Range;
use std::sync::Arc;

/// Changes of each memory space and runs of programs as an `XSpace`, as XProf reads it from
/// `LOGDIR/plugins/profile/RUN/HOST.xplane.pb`. `spans` has a range of changes for each space of
/// the trace. All times are those of the machine that emulates, which it says of itself.
pub fn xspace(
    trace: &Trace,
    history: &History,
    spans: &[Range<usize>],
    profiled: &Profiled,
) -> Vec<u8> {
    let times = super::times(history, spans);
    let launches = trace.launches.iter().filter(|launch| times.contains(&launch.started));
    let launches: Vec<_> = launches.collect();
    let mut planes = vec![memory::memory(trace, history, spans, profiled)];
    planes.extend(device::devices(trace, &launches, profiled));
    planes.push(hlo::programs(trace));
    let mut task = Plane::new("Task Environment");
    let ends = history.spaces.iter().filter_map(|space| space.times.last());
    let last = ends.chain(launches.iter().map(|launch| &launch.ended)).max().copied().unwrap_or(0);
    let started = trace.header.started;
    task.add(
        "profile_start_time",
        Value::Uint(started.saturating_add(times.start.max(profiled.since))),
    );
    task.add("profile_stop_time", Value::Uint(started.saturating_add(last.min(times.end))));
    planes.push(task.finish(1000));
    let text = "made by tpu-emu, an emulated TPU: all times are those of the host that emulates it";
    let mut out = Vec::new();
    planes.into_iter().for_each(|plane| plane.write(&mut out));
    let space = XSpace { warnings: vec![text.to_owned()], hostnames: vec!["tpu-emu".to_owned()] };
    out.extend(space.encode_to_vec());
    out
}

/// What a profile has besides a trace.
#[derive(Debug, Clone)]
pub struct Profiled {
    /// The steps of launches, where their times are known.
    pub operations: Vec<OperationRun>,
    /// The name of the plane for changes in memory: `/host:CPU`, or what a profiler merges into it.
    pub host: &'static str,
    /// Nanoseconds since the start of the machine at which the profile begins.
    pub since: u64,
}

impl Default for Profiled {
    /// What an export of a trace has.
    fn default() -> Self {
        Self { operations: Vec::new(), host: "/host:CPU", since: 0 }
    }
}

impl Profiled {
    /// The time at which lines begin, in nanoseconds since 1970.
    fn begins(&self, trace: &Trace) -> i64 {
        signed(trace.header.started.saturating_add(self.since))
    }

    /// A time as an event of a line has it.
    fn offset(&self, time: u64) -> i64 {
        picoseconds(time.saturating_sub(self.since))
    }
}

/// One step of a launch on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRun {
    /// Number of the program.
    pub program: u64,
    /// Number of the launch.
    pub run: u64,
    /// Number of the device.
    pub device: u64,
    /// Number of the step in the program.
    pub step: u64,
    /// The operation's name, as `stablehlo.tanh`.
    pub name: Arc<str>,
    /// Where it was written, as `train.py:12`; empty where unknown.
    pub line: String,
    /// Bytes that it reads and writes.
    pub bytes: u64,
    /// Nanoseconds since the start of the machine when it began.
    pub started: u64,
    /// When it ended.
    pub ended: u64,
}

/// What XProf calls a program.
fn module_name(name: &str, number: u64) -> String {
    format!("{name}({number})")
}
