//! What a launch that found no room would have needed, for who explains it.
use super::emulator::Emulator;
use super::request::{DeviceRequest, LaunchRequest};
use crate::memory::{Memory, MemoryKind, Refused};
use crate::trace::{LaunchArgument, LaunchNeeds};
use tpu_base::error::Error;
use tpu_base::units::to_u64;

impl Emulator {
    /// The error of a launch, with the reasons why the memory of its device had no room for it.
    /// The launch has given back what it had taken.
    pub(super) fn explained_launch(&self, error: Error, request: &LaunchRequest<'_>) -> Error {
        let Error::OutOfMemory { asked, ref place, .. } = error else { return error };
        let memory =
            |one: &DeviceRequest<'_>| Memory { device: one.device, kind: MemoryKind::Device };
        let is_there = |one: &&DeviceRequest<'_>| self.heap(memory(one)).space().place == *place;
        let Some(one) = request.devices.iter().find(is_there) else { return error };
        let memory = memory(one);
        let LaunchRequest { executable, options, .. } = *request;
        // What the launch asks for: results that take no argument over, then its temporaries.
        let mut wanted = Vec::new();
        let mut open = Vec::new();
        let results = executable.results.iter().zip(&executable.labels.results);
        for (result, &label) in results.filter(|_| one.results.is_none()) {
            let is_given = result.alias.is_some_and(|index| options.gives(executable, index));
            if result.kind == MemoryKind::Device && !is_given && result.spec.padded.0 > 0 {
                open.push((wanted.len(), result.spec.number));
                wanted.push((&result.spec, label));
            }
        }
        if let Some(arena) = executable.arena.as_ref().filter(|arena| arena.padded.0 > 0) {
            wanted.push((arena, executable.labels.temporaries));
        }
        let size = |at: usize| self.rounded(memory, wanted[at].0.padded);
        let refused = (0..wanted.len()).find(|&at| size(at) == asked);
        let mut arguments = Vec::new();
        for (number, argument) in one.arguments.iter().enumerate() {
            let Ok(hold) = argument.hold() else { continue };
            let Some(region) = hold.region().filter(|_| argument.memory() == memory) else {
                continue;
            };
            let spec = argument.spec().number;
            let can = !options.gives(executable, number);
            let saves = open.iter().position(|&(_, result)| can && result == spec);
            let saves = saves.map_or(0, |at| to_u64(open.remove(at).0) + 1);
            arguments.push(LaunchArgument {
                number: to_u64(number),
                address: region.addr(),
                saves,
            });
        }
        let sizes = |range: std::ops::Range<usize>| range.map(size).collect::<Vec<_>>();
        let needs = LaunchNeeds {
            program: executable.name.to_string(),
            before: sizes(0..refused.unwrap_or(0)),
            rest: sizes(refused.map_or(0, |at| at + 1)..wanted.len()),
            arguments,
        };
        // A donated argument that somebody else reads is not taken over, and constants are asked
        // for before everything else.
        let results = executable.results.iter().zip(&executable.labels.results);
        let others = results.map(|(result, &label)| (&result.spec, label));
        let constants = executable.pool.as_ref().map(|pool| (pool, executable.labels.constants));
        let mut others = others.chain(constants);
        let asked_for = refused
            .map(|at| wanted[at])
            .or_else(|| others.find(|(spec, _)| self.rounded(memory, spec.padded) == asked));
        let Some((spec, label)) = asked_for else { return error };
        let origin = self.ledger().origin();
        self.explained(error, Refused { spec, memory, label, origin }, Some(&needs))
    }
}
