//! A plane a device: what it is, and the programs that ran on it.
use super::messages::{Value, XEvent, XPlane};
use super::module_name;
use super::plane::Plane;
use crate::export::{picoseconds, signed};
use crate::recorded::Launch;
use crate::tables::{Space, Trace};

/// The planes of the devices that ran something.
pub(super) fn devices(trace: &Trace, launches: &[&Launch]) -> Vec<XPlane> {
    let spaces = trace.spaces.iter().filter(|space| space.kind == "device");
    let planes = spaces.filter_map(|space| {
        let number = space.device?;
        let mut own: Vec<&Launch> =
            launches.iter().copied().filter(|launch| launch.device == number).collect();
        own.sort_by_key(|launch| (launch.started, launch.run));
        (!own.is_empty()).then(|| device(trace, space, number, &own))
    });
    planes.collect()
}

fn device(trace: &Trace, space: &Space, number: u64, launches: &[&Launch]) -> XPlane {
    let mut plane = Plane::new(&format!("/device:TPU:{number}"));
    plane.add("memory_size", Value::Uint(space.capacity));
    if let Ok(chip) = tpu_topology::Topology::parse(&trace.header.topology) {
        let generation = chip.generation();
        plane.add("device_type_string", Value::Text(generation.kind.to_owned()));
    }
    let at = signed(trace.header.started);
    let (mut steps, mut modules) = (Vec::new(), Vec::new());
    for (step, launch) in launches.iter().enumerate() {
        let (offset_ps, end) = (picoseconds(launch.started), picoseconds(launch.ended));
        let duration_ps = end.saturating_sub(offset_ps);
        let step = step as u64;
        let group = plane.stat("group_id", Value::Int(signed(step)));
        let number = plane.stat("step_num", Value::Int(signed(step)));
        let metadata_id = plane.event(&step.to_string(), |_| (String::new(), Vec::new()));
        let stats = vec![group.clone(), number];
        steps.push(XEvent { metadata_id, offset_ps, duration_ps, stats });
        let name = trace.program(launch.program).map_or("program", |program| &program.name);
        let name = module_name(name, launch.program);
        let metadata_id = plane.event(&name, |_| (String::new(), Vec::new()));
        let stats = vec![
            group,
            plane.stat("run_id", Value::Uint(launch.run)),
            plane.stat("program_id", Value::Uint(launch.program)),
        ];
        modules.push(XEvent { metadata_id, offset_ps, duration_ps, stats });
    }
    plane.line("Steps", at, steps);
    plane.line("XLA Modules", at, modules);
    plane.finish(signed(number.saturating_add(10)))
}
