//! A plane a device: what it is, and the programs that ran on it.
use super::messages::{Value, XEvent};
use super::plane::{EncodedEvents, Finished, Plane};
use super::{OperationRun, Profiled, module_name};
use crate::export::signed;
use crate::recorded::Launch;
use crate::tables::{Space, Trace};
use std::collections::HashMap;

/// The planes of the devices that ran something.
pub(super) fn devices(trace: &Trace, launches: &[&Launch], profiled: &Profiled) -> Vec<Finished> {
    let spaces = trace.spaces.iter().filter(|space| space.kind == "device");
    let planes = spaces.filter_map(|space| {
        let number = space.device?;
        let mut own: Vec<&Launch> =
            launches.iter().copied().filter(|launch| launch.device == number).collect();
        own.sort_by_key(|launch| (launch.started, launch.run));
        (!own.is_empty()).then(|| {
            let steps = profiled.operations.iter().filter(|of| of.device == number);
            device(trace, space, (&own, &steps.collect::<Vec<_>>()), profiled)
        })
    });
    planes.collect()
}

fn device(
    trace: &Trace,
    space: &Space,
    (launches, operations): (&[&Launch], &[&OperationRun]),
    profiled: &Profiled,
) -> Finished {
    let number = space.device.unwrap_or_default();
    let mut plane = Plane::new(&format!("/device:TPU:{number}"));
    plane.add("memory_size", Value::Uint(space.capacity));
    if let Ok(chip) = tpu_topology::Topology::parse(&trace.header.topology) {
        let generation = chip.generation();
        plane.add("device_type_string", Value::Text(generation.kind.to_owned()));
    }
    let at = profiled.begins(trace);
    let (mut steps, mut modules) = (EncodedEvents::default(), EncodedEvents::default());
    for (step, launch) in launches.iter().enumerate() {
        let (offset_ps, end) = (profiled.offset(launch.started), profiled.offset(launch.ended));
        let duration_ps = end.saturating_sub(offset_ps);
        let step = step as u64;
        let group = plane.stat("group_id", Value::Int(signed(step)));
        let number = plane.stat("step_num", Value::Int(signed(step)));
        let metadata_id = plane.event(&step.to_string(), |_| (String::new(), Vec::new()));
        let stats = vec![group.clone(), number];
        steps.push(&XEvent { metadata_id, offset_ps, duration_ps, stats });
        let name = trace.program(launch.program).map_or("program", |program| &program.name);
        let name = module_name(name, launch.program);
        let metadata_id = plane.event(&name, |_| (String::new(), Vec::new()));
        let stats = vec![
            group,
            plane.stat("run_id", Value::Uint(launch.run)),
            plane.stat("program_id", Value::Uint(launch.program)),
        ];
        modules.push(&XEvent { metadata_id, offset_ps, duration_ps, stats });
    }
    plane.line("Steps", at, steps);
    plane.line("XLA Modules", at, modules);
    if !operations.is_empty() {
        let steps = launches.iter().zip(0..).map(|(launch, step)| (launch.run, step)).collect();
        let events = self::operations(trace, &mut plane, (operations, &steps), profiled);
        plane.line("XLA Ops", at, events);
    }
    plane.finish(signed(number.saturating_add(10)))
}

/// The steps of launches, whose places among the steps of the profile `steps` has by their numbers.
fn operations(
    trace: &Trace,
    plane: &mut Plane,
    (operations, steps): (&[&OperationRun], &HashMap<u64, i64>),
    profiled: &Profiled,
) -> EncodedEvents {
    let mut events = Vec::new();
    for of in operations {
        let short = of.name.rsplit('.').next().unwrap_or_default();
        let program = trace.program(of.program).map_or("program", |program| &program.name);
        // Names of events are the plane's, so those of two programs must differ.
        let display = format!("{short}.{}", of.step);
        let name = format!("%{display} = {short}(), program {}", of.program);
        let metadata_id = plane.event(&name, |plane| {
            let stats = vec![
                plane.shared("hlo_category", short),
                plane.stat("program_id", Value::Uint(of.program)),
                plane.stat("symbol_id", Value::Uint(of.step)),
                plane.stat("flops", Value::Uint(0)),
                plane.stat("bytes_accessed", Value::Uint(of.bytes)),
                plane.shared("tf_op", &format!("{program}/{short}:")),
                plane.shared("source", &of.line),
                plane.shared("deduplicated_name", ""),
            ];
            (display, stats)
        });
        let (offset_ps, end) = (profiled.offset(of.started), profiled.offset(of.ended));
        let mut stats = vec![plane.stat("run_id", Value::Uint(of.run))];
        if let Some(&step) = steps.get(&of.run) {
            stats.push(plane.stat("group_id", Value::Int(step)));
        }
        events.push(XEvent {
            metadata_id,
            offset_ps,
            duration_ps: end.saturating_sub(offset_ps),
            stats,
        });
    }
    events.sort_by_key(|event| event.offset_ps);
    let mut encoded = EncodedEvents::default();
    events.iter().for_each(|event| encoded.push(event));
    encoded
}
