//! Whether what a trace did finds room on other devices, and how much memory it needs.
use crate::chips::{granule, tile_rules, topology};
use crate::event::Event;
use crate::history::History;
use crate::holders::{By, origin};
use crate::padding::elsewhere;
use crate::replay::Replay;
use crate::tables::Trace;
use serde::Serialize;
use std::collections::BTreeSet;
use tpu_topology::{TileRules, Topology};

/// The devices that are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The topology; `None` for the devices of the trace with another size.
    pub topology: Option<String>,
    /// Bytes that programs can use on each device.
    pub capacity: u64,
    /// How many devices there are; `None` for as many as the trace has.
    devices: Option<usize>,
    tiles: Option<TileRules>,
}

impl Target {
    /// The devices of a trace, each with so many bytes for programs.
    pub fn with_capacity(capacity: u64) -> Self {
        Self { topology: None, capacity, devices: None, tiles: None }
    }

    /// Those of a topology, as `TPU_EMU_TOPOLOGY` takes it.
    ///
    /// # Errors
    /// Why a text names none.
    pub fn of_topology(text: &str) -> Result<Self, String> {
        let chips = Topology::parse(text).map_err(|why| why.to_string())?;
        let tiles = chips.generation().tiles;
        let granule = tiles.granule().0;
        Ok(Self {
            topology: Some(text.to_owned()),
            capacity: chips.live_memory_limit().0 / granule * granule,
            devices: Some(chips.devices().len()),
            tiles: Some(tiles),
        })
    }
}

/// The first allocation for which there is no room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Nanoseconds since the start of the machine, in the trace.
    pub time: u64,
    /// Bytes that it asks for.
    pub asked: u64,
    /// Bytes in use by then.
    pub in_use: u64,
    /// Bytes of all holes.
    pub free: u64,
    /// Bytes of the largest.
    pub largest_hole: u64,
    /// The line that asks.
    pub line: String,
    /// What for: a label, or an array type.
    pub what: String,
}

/// A program that a device must have more memory for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProgramNeed {
    /// As `jit_step`.
    pub name: String,
    /// Bytes of its arguments, results, temporaries, constants and instructions.
    pub needed: u64,
}

/// The program that needs most, of those that ran on a device.
fn largest_program(trace: &Trace, device: u64) -> Option<ProgramNeed> {
    let ran: BTreeSet<u64> = trace
        .launches
        .iter()
        .filter(|launch| launch.device == device)
        .map(|launch| launch.program)
        .chain(refused(trace, device))
        .collect();
    let programs = trace.programs.iter().filter(|program| ran.contains(&program.number));
    let most = programs.max_by_key(|program| program.needed)?;
    Some(ProgramNeed { name: most.name.clone(), needed: most.needed })
}

/// The programs that were to run on a device and were refused when they were compiled.
fn refused(trace: &Trace, device: u64) -> impl Iterator<Item = u64> {
    let there = trace.refused_programs.iter().filter(move |of| of.devices.contains(&device));
    there.map(|of| of.program)
}

/// What becomes of one memory space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpaceFit {
    /// The space of the trace.
    pub space: String,
    /// Bytes of the space in the trace.
    pub traced_capacity: u64,
    /// The most bytes in use in the trace.
    pub peak: u64,
    /// Whether all of it finds room.
    pub fits: bool,
    /// Where not, the first that does not.
    pub refused: Option<Refused>,
    /// A program that would be refused when it is compiled, the one that needs most.
    pub program: Option<ProgramNeed>,
    /// The least bytes in which all of it finds room, by replay, and every program is compiled;
    /// `None` where no memory has them.
    pub smallest: Option<u64>,
}

/// What becomes of a trace on other devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fit {
    /// The topology that was asked about; `None` for another size of the same.
    pub topology: Option<String>,
    /// Bytes that programs can use on each device.
    pub capacity: u64,
    /// Whether all spaces fit.
    pub fits: bool,
    /// The least bytes for each device in which all of it finds room.
    pub smallest: Option<u64>,
    /// What the answer does not know.
    pub careful: Vec<String>,
    /// Each memory space of a device that was used.
    pub spaces: Vec<SpaceFit>,
}

/// Makes the changes of a trace on other devices.
pub fn fit(trace: &Trace, history: &History, target: &Target) -> Fit {
    let mut careful = Vec::new();
    let here = tile_rules(trace);
    let own_granule = granule(trace);
    let granule = target.tiles.map_or(own_granule, |tiles| tiles.granule().0);
    let capacity = target.capacity / granule * granule;
    let mut sizes = Vec::new();
    if let (Some(here), Some(there)) = (here, target.tiles.filter(|&tiles| Some(tiles) != here)) {
        sizes = trace.specs.iter().map(|spec| elsewhere(here, there, spec)).collect();
        careful.push(
            "arrays lie in other tiles there: those in default layouts count with the bytes that \
             they take there, temporaries and others with those of the trace"
                .to_owned(),
        );
    }
    if topology(trace).is_none() {
        let name = &trace.header.topology;
        careful.push(format!("the topology of the trace, {name:?}, is not known"));
    }
    if !trace.usages.is_empty() {
        careful.push("a snapshot has what lives, and no changes before".to_owned());
    }
    if !history.refusals.is_empty() {
        careful.push(
            "the program was refused memory: what it would have done with it is not known"
                .to_owned(),
        );
    }
    let mut spaces = Vec::new();
    for (number, (space, of)) in (0..).zip(trace.spaces.iter().zip(&history.spaces)) {
        let is_used = !of.order.is_empty()
            || refused(trace, number.into()).next().is_some()
            || history.refusals.iter().any(|&refusal| trace.events.at(refusal).space == number);
        let Some(device) = space.device.filter(|_| space.kind == "device" && is_used) else {
            continue;
        };
        if target.devices.is_some_and(|count| device as u128 >= count as u128) {
            careful.push(format!("there is no {} there: it counts as one more", space.name()));
        }
        let replay = Replay::new(trace, history, number, granule).with_sizes(sizes.clone());
        let again = Replay::new(trace, history, number, own_granule);
        if trace.usages.is_empty() && !again.is_where_it_lay(space.capacity) {
            careful.push(format!(
                "made again, the changes of {} lie elsewhere than in the trace, which does not \
                 begin with the memory empty or has another version's placement",
                space.name()
            ));
        }
        let refused = replay.first_refusal(capacity).map(|refused| {
            let Event { time, label, spec, .. } = trace.events.at(refused.place);
            Refused {
                time,
                asked: refused.asked,
                in_use: refused.in_use,
                free: refused.free,
                largest_hole: refused.largest_hole,
                line: origin(trace, refused.place, By::Line),
                what: match &*trace.labels[label as usize] {
                    "" => trace.specs[spec as usize].text(),
                    label => label.to_owned(),
                },
            }
        });
        let program = largest_program(trace, number.into());
        let needed = program.as_ref().map_or(0, |program| program.needed);
        let program = program.filter(|program| program.needed > capacity);
        let smallest = match needed.checked_next_multiple_of(granule) {
            Some(needed) => replay.smallest_from(needed),
            None => None,
        };
        spaces.push(SpaceFit {
            space: space.name(),
            traced_capacity: space.capacity,
            peak: of.peak(),
            fits: refused.is_none() && program.is_none(),
            refused,
            program,
            smallest,
        });
    }
    let smallest = spaces.iter().map(|space| space.smallest);
    Fit {
        topology: target.topology.clone(),
        capacity,
        fits: spaces.iter().all(|space| space.fits),
        smallest: smallest.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b))).flatten(),
        careful,
        spaces,
    }
}
