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
            first: fields.number()?,
            count: fields.number()?,
            nanos: fields.number()?,
            bytes: fields.number()?,
            errors: fields.number()?,
        };
        self.trace.calls.push(calls);
        Ok(())
    }

    pub(crate) fn call(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let call = SingleCall {
            function: self.entry(fields)?,
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.number()?,
            duration: fields.number()?,
            bytes: fields.number()?,
            status: fields.number()?,
        };
        self.trace.single_calls.push(call);
        Ok(())
    }

    pub(crate) fn mark(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let mark = Mark {
            name: fields.text()?.to_owned(),
            stack: known(&self.stacks, "stack", fields)?,
            thread: fields.number()?,
            time: fields.number()?,
            places: self.places(fields)?,
        };
        self.trace.marks.push(mark);
        Ok(())
    }

    pub(crate) fn program(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let program = Program {
            number: fields.number()?,
            name: fields.text()?.to_owned(),
            temporaries: fields.number()?,
            constants: fields.number()?,
            arguments: fields.number()?,
            results: fields.number()?,
            slots: fields.list(slot)?,
            positions: fields.number()?,
            needed: if fields.is_empty() { 0 } else { fields.number()? },
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
            time: fields.number()?,
            asked: fields.number()?,
            in_use: fields.number()?,
            free: fields.number()?,
            largest: fields.number()?,
            count: fields.number()?,
            list: fields.list(|fields| Ok((fields.number()?, fields.number()?)))?,
            refusal: None,
            program: String::new(),
            rest: Vec::new(),
            before: Vec::new(),
            arguments: Vec::new(),
        };
        if !fields.is_empty() {
            holes.program = fields.text()?.to_owned();
            holes.rest = fields.list(Fields::number)?;
            holes.before = fields.list(Fields::number)?;
            holes.arguments = fields.list(|fields| {
                let (number, address) = (fields.number()?, fields.number()?);
                Ok(LaunchArgument { number, address, saves: fields.number()? })
            })?;
        }
        self.trace.refusal_holes.push(holes);
        Ok(())
    }

    pub(crate) fn client_end(&mut self, fields: &mut Fields<'_>) -> Result<(), ReadError> {
        let end = ClientEnd {
            time: fields.number()?,
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
            enqueued: fields.number()?,
            started: fields.number()?,
            ended: fields.number()?,
            status: fields.number()?,
        };
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
        offset: fields.number()?,
        size: fields.number()?,
        logical: fields.number()?,
        first: fields.number()?,
        last: fields.number()?,
        dtype: fields.text()?.to_owned(),
        shape: fields.list(Fields::number)?,
        layout: fields.text()?.to_owned(),
        operation: fields.text()?.to_owned(),
        line: fields.text()?.to_owned(),
    })
}
