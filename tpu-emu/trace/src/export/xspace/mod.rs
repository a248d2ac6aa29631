//! An XSpace for XProf and TensorBoard: changes in memory, launches, and the plans of programs.
mod device;
mod hlo;
mod memory;
mod messages;
mod plane;

use crate::history::History;
use crate::tables::Trace;
use messages::{Value, XSpace};
use plane::Plane;
use prost::Message as _;
use std::ops::Range;

/// Changes of each memory space and runs of programs as an `XSpace`, as XProf reads it from
/// `LOGDIR/plugins/profile/RUN/HOST.xplane.pb`. `spans` has a range of changes for each space of
/// the trace. All times are those of the machine that emulates, which it says of itself.
pub fn xspace(trace: &Trace, history: &History, spans: &[Range<usize>]) -> Vec<u8> {
    let times = super::times(history, spans);
    let launches = trace.launches.iter().filter(|launch| times.contains(&launch.started));
    let launches: Vec<_> = launches.collect();
    let mut planes = vec![memory::memory(trace, history, spans)];
    planes.extend(device::devices(trace, &launches));
    planes.push(hlo::programs(trace));
    let mut task = Plane::new("Task Environment");
    let ends = history.spaces.iter().filter_map(|space| space.times.last());
    let last = ends.chain(launches.iter().map(|launch| &launch.ended)).max().copied().unwrap_or(0);
    let started = trace.header.started;
    task.add("profile_start_time", Value::Uint(started.saturating_add(times.start)));
    task.add("profile_stop_time", Value::Uint(started.saturating_add(last.min(times.end))));
    planes.push(task.finish(1000));
    let text = "made by tpu-emu, an emulated TPU: all times are those of the host that emulates it";
    XSpace { planes, warnings: vec![text.to_owned()], hostnames: vec!["tpu-emu".to_owned()] }
        .encode_to_vec()
}

/// What XProf calls a program.
fn module_name(name: &str, number: u64) -> String {
    format!("{name}({number})")
}
