//! The records of version 1.5 and later, and those that stand beside the changes.
use crate::fields::Fields;
use crate::reader::{Builder, ReadError, known};
use crate::recorded::{
    Calls, ClientEnd, Launch, LaunchArgument, Mark, Places, Program, RefusalHoles, SingleCall, Slot,
};

impl Builder {
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
