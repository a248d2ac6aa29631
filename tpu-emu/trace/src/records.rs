//! The records of version 1.5 and later, and those that stand beside the changes.
use crate::event::ChangeKind;
use crate::fields::Fields;
use crate::reader::{Builder, ReadError, known};
use crate::recorded::{
    Calls, ClientEnd, KeepingName, Launch, LaunchArgument, Mark, Places, Program, RefusalHoles,
    RefusedProgram, SingleCall, Slot,
};
use crate::tables::{Argument, Dispatch};
use std::collections::BTreeMap;

impl Builder {
    pub(crate) fn dispatch(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let dispatch = Dispatch {
            device: fields.number()?,
            stage: stage(fields)?,
            run: fields.number()?,
            target: fields.text()?.to_owned(),
            program: fields.text()?.to_owned(),
            line: fields.text()?.to_owned(),
            operands: fields.list(argument)?,
            results: fields.list(argument)?,
            attributes: fields
                .list(|fields| Ok((fields.text()?.to_owned(), fields.text()?.to_owned())))?,
            opaque: fields.text()?.to_owned(),
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.nanos()?,
            entry: fields.text()?.to_owned(),
            duration: fields.nanos()?,
            scratch: fields.list(|fields| Ok((fields.size()?, fields.size()?)))?,
            error: fields.text()?.to_owned(),
        };
        fields.add(&mut self.sums.times, dispatch.duration, "times of custom calls")?;
        for &(_, size) in &dispatch.scratch {
            fields.add(&mut self.sums.scratch, size, "blocks of custom calls")?;
        }
        self.trace.dispatches.push(dispatch);
        Ok(())
    }

    pub(crate) fn calls(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let calls = Calls {
            function: self.entry(fields)?,
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            first: fields.nanos()?,
            count: fields.number()?,
            nanos: fields.number()?,
            bytes: fields.number()?,
            errors: fields.number()?,
        };
        let sums = &mut self.sums;
        fields.add(&mut sums.calls, calls.count, "calls")?;
        fields.add(&mut sums.call_times, calls.nanos, "times of calls")?;
        fields.add(&mut sums.call_bytes, calls.bytes, "bytes of calls")?;
        fields.add(&mut sums.call_errors, calls.errors, "errors of calls")?;
        self.trace.calls.push(calls);
        Ok(())
    }

    pub(crate) fn call(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let call = SingleCall {
            function: self.entry(fields)?,
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.nanos()?,
            duration: fields.nanos()?,
            bytes: fields.number()?,
            status: fields.number()?,
        };
        fields.add(&mut self.sums.call_times, call.duration, "times of calls")?;
        fields.add(&mut self.sums.call_bytes, call.bytes, "bytes of calls")?;
        self.trace.single_calls.push(call);
        Ok(())
    }

    pub(crate) fn mark(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let mark = Mark {
            name: fields.text()?.to_owned(),
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.nanos()?,
            places: self.places(fields)?,
        };
        self.trace.marks.push(mark);
        Ok(())
    }

    pub(crate) fn program(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let program = Program {
            number: fields.number()?,
            name: fields.text()?.to_owned(),
            temporaries: fields.size()?,
            constants: fields.size()?,
            arguments: fields.size()?,
            results: fields.size()?,
            slots: fields.list(slot)?,
            positions: fields.number()?,
            needed: if fields.is_empty() { 0 } else { fields.size()? },
            planner: if fields.is_empty() { String::new() } else { fields.text()?.to_owned() },
            others: if fields.is_empty() { Vec::new() } else { fields.list(slot)? },
            other_positions: if fields.is_empty() { 0 } else { fields.number()? },
        };
        if !self.programs.define(program.number, 0) {
            return Err(fields.damaged(format!("program {} is defined twice", program.number)));
        }
        self.trace.programs.push(program);
        Ok(())
    }

    pub(crate) fn holes(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let mut holes = RefusalHoles {
            space: known(&self.spaces, "space", fields)?,
            sequence: fields.number()?,
            time: fields.nanos()?,
            asked: fields.size()?,
            in_use: fields.size()?,
            free: fields.size()?,
            largest: fields.size()?,
            count: fields.number()?,
            list: fields.list(|fields| Ok((fields.size()?, fields.size()?)))?,
            refusal: None,
            program: String::new(),
            rest: Vec::new(),
            before: Vec::new(),
            arguments: Vec::new(),
        };
        if !fields.is_empty() {
            holes.program = fields.text()?.to_owned();
            holes.rest = fields.list(Fields::size)?;
            holes.before = fields.list(Fields::size)?;
            holes.arguments = fields.list(|fields| {
                let (number, address) = (fields.number()?, fields.size()?);
                Ok(LaunchArgument { number, address, saves: fields.number()? })
            })?;
        }
        let mut wanted = 0;
        for &size in holes.before.iter().chain([&holes.asked]).chain(&holes.rest) {
            fields.add(&mut wanted, size, "blocks of a launch")?;
        }
        self.trace.refusal_holes.push(holes);
        Ok(())
    }

    pub(crate) fn client_end(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let end = ClientEnd {
            time: fields.nanos()?,
            thread: fields.number()?,
            stack: known(&self.stacks, "stack", fields)?,
            places: self.places(fields)?,
            why: fields.text()?.to_owned(),
        };
        self.trace.client_end = Some(end);
        Ok(())
    }

    pub(crate) fn launch(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let launch = Launch {
            program: fields.number()?,
            run: fields.number()?,
            device: fields.number()?,
            thread: fields.number()?,
            stack: known(&self.stacks, "stack", fields)?,
            enqueued: fields.nanos()?,
            started: fields.nanos()?,
            ended: fields.nanos()?,
            status: fields.number()?,
        };
        let took = launch.ended.saturating_sub(launch.started);
        fields.add(&mut self.sums.launch_times, took, "times of launches")?;
        self.trace.launches.push(launch);
        Ok(())
    }

    pub(crate) fn refused_program(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let program = fields.number()?;
        if self.programs.get(program).is_none() {
            let message = format!("program {program} is refused before it is defined");
            return Err(fields.damaged(message));
        }
        let refused = RefusedProgram {
            program,
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.nanos()?,
            entry: self.entry(fields)?,
            available: fields.size()?,
            line: fields.text()?.to_owned(),
            devices: fields.list(Fields::number)?,
            advice: fields.list(|fields| Ok(fields.text()?.to_owned()))?,
        };
        self.trace.refused_programs.push(refused);
        Ok(())
    }

    pub(crate) fn name(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let name = KeepingName {
            space: known(&self.spaces, "space", fields)?,
            address: fields.size()?,
            path: fields.text()?.to_owned(),
            behind: self.trace.events.len(),
        };
        self.names.push(name);
        Ok(())
    }

    /// The names by the blocks that lived where they were written.
    pub(crate) fn names_of_blocks(&self) -> BTreeMap<u32, Vec<String>> {
        let mut named: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        // Of each address that is taken the number of the change and its place.
        let mut live: BTreeMap<(u32, u64), (u64, u32)> = BTreeMap::new();
        let mut events = self.trace.events.iter();
        let mut read = 0;
        for name in &self.names {
            for (place, event) in events.by_ref().take(name.behind - read) {
                let at = (event.space, event.address);
                let newer = live.get(&at).is_none_or(|&(sequence, _)| sequence < event.sequence);
                // Two threads may have written theirs the other way round.
                match event.kind {
                    ChangeKind::Allocate if newer => _ = live.insert(at, (event.sequence, place)),
                    ChangeKind::Free if newer => _ = live.remove(&at),
                    _ => {}
                }
            }
            read = name.behind;
            let mut below = live.range((name.space, 0)..=(name.space, name.address));
            let Some((_, &(_, place))) = below.next_back() else { continue };
            let event = self.trace.events.at(place);
            if name.address < event.address.saturating_add(event.size.max(1)) {
                named.entry(place).or_default().push(name.path.clone());
            }
        }
        named
    }

    /// How far each memory space was.
    fn places(&self, fields: &mut Fields<'_>) -> Result<Places, ReadError> {
        fields.list(|fields| Ok((known(&self.spaces, "space", fields)?, fields.number()?)))
    }
}

fn slot(fields: &mut Fields<'_>) -> Result<Slot, ReadError> {
    Ok(Slot {
        offset: fields.size()?,
        size: fields.size()?,
        logical: fields.size()?,
        first: fields.number()?,
        last: fields.number()?,
        dtype: fields.text()?.to_owned(),
        shape: fields.list(Fields::number)?,
        layout: fields.text()?.to_owned(),
        operation: fields.text()?.to_owned(),
        line: fields.text()?.to_owned(),
    })
}

/// When a handler was called: a number from 0 to 3.
fn stage(fields: &mut Fields<'_>) -> Result<u64, ReadError> {
    let stage = fields.number()?;
    match stage {
        0..=3 => Ok(stage),
        _ => Err(fields.damaged(format!("a stage with the number {stage}"))),
    }
}

fn argument(fields: &mut Fields<'_>) -> Result<Argument, ReadError> {
    Ok(Argument {
        dtype: fields.text()?.to_owned(),
        shape: fields.list(Fields::number)?,
        address: fields.number()?.checked_sub(1),
        size: fields.number()?,
    })
}
