//! How marks, programs, launches and calls are written.
use super::Names;
use super::encode::Encoder;
use super::notes::{
    ApiCall, ApiCalls, CallCounts, LaunchRun, Mark, Note, OtherPlanned, PlannedValue, ProgramPlan,
    RefusedProgram,
};
use super::record::{RecordKind, long_number, number, record, text};
use tpu_base::units::to_u64;

/// Bytes of the numbers at the end of a count of calls.
pub const COUNTS_BYTES: usize = 40;

impl Encoder {
    /// Whatever is told besides changes, custom calls and faults.
    pub fn note(&mut self, note: &Note<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        match note {
            Note::Space(info) => super::encode::space(info, out),
            Note::Mark(mark) => self.mark(mark, names, out),
            Note::Program(program) => plan(program, out),
            Note::Launch(run) => self.launch(run, names, out),
            Note::ClientEnd(end) => self.client_end(end, names, out),
            Note::RefusedProgram(refused) => self.refused_program(refused, names, out),
        }
    }

    fn refused_program(&mut self, of: &RefusedProgram, names: &Names<'_>, out: &mut Vec<u8>) {
        let origin = of.origin;
        self.stack(origin.stack, names, out);
        record(out, RecordKind::RefusedProgram, |payload| {
            number(payload, of.program);
            number(payload, origin.stack.0.into());
            number(payload, origin.thread.into());
            number(payload, origin.time.0);
            text(payload, origin.entry);
            number(payload, of.available.0);
            text(payload, &of.line);
            number(payload, to_u64(of.devices.len()));
            of.devices.iter().for_each(|&device| number(payload, device));
            number(payload, to_u64(of.advice.len()));
            of.advice.iter().for_each(|words| text(payload, words));
        });
    }

    fn mark(&mut self, mark: &Mark<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        let origin = mark.origin;
        self.stack(origin.stack, names, out);
        record(out, RecordKind::Mark, |payload| {
            text(payload, mark.name);
            number(payload, origin.stack.0.into());
            number(payload, origin.thread.into());
            number(payload, origin.time.0);
            super::encode::places(payload, &mark.places);
        });
    }

    fn launch(&mut self, run: &LaunchRun, names: &Names<'_>, out: &mut Vec<u8>) {
        let origin = run.origin;
        self.stack(origin.stack, names, out);
        record(out, RecordKind::Launch, |payload| {
            number(payload, run.program);
            number(payload, run.run);
            number(payload, run.device);
            number(payload, origin.thread.into());
            number(payload, origin.stack.0.into());
            number(payload, origin.time.0);
            number(payload, run.started.0);
            number(payload, run.ended.0);
            number(payload, run.code.into());
        });
    }

    /// A count of calls, whose last [`COUNTS_BYTES`] bytes are its numbers: a writer can put those
    /// of [`Encoder::counts`] in their place.
    pub fn calls(&mut self, calls: &ApiCalls<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        self.stack(calls.stack, names, out);
        record(out, RecordKind::Calls, |payload| {
            text(payload, calls.function);
            number(payload, calls.stack.0.into());
            number(payload, calls.thread.into());
            number(payload, calls.first.0);
            Self::counts(&calls.counts, payload);
        });
    }

    /// The numbers of a count of calls, which always take [`COUNTS_BYTES`] bytes.
    pub fn counts(counts: &CallCounts, out: &mut Vec<u8>) {
        long_number(out, counts.count);
        long_number(out, counts.time.0);
        long_number(out, counts.bytes.0);
        long_number(out, counts.errors);
    }

    /// One call of an API function.
    pub fn call(&mut self, call: &ApiCall<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        self.stack(call.stack, names, out);
        record(out, RecordKind::Call, |payload| {
            text(payload, call.function);
            number(payload, call.stack.0.into());
            number(payload, call.thread.into());
            number(payload, call.time.0);
            number(payload, call.duration.0);
            number(payload, call.bytes.0);
            number(payload, call.code.into());
        });
    }
}

fn plan(program: &ProgramPlan, out: &mut Vec<u8>) {
    record(out, RecordKind::Program, |payload| {
        number(payload, program.number);
        text(payload, &program.name);
        number(payload, program.temporaries.0);
        number(payload, program.constants.0);
        number(payload, program.arguments.0);
        number(payload, program.results.0);
        all_planned(payload, &program.values);
        number(payload, program.positions);
        number(payload, program.needed.0);
        let none = OtherPlanned::default();
        let other = program.other.as_ref().unwrap_or(&none);
        text(payload, &other.planner);
        all_planned(payload, &other.values);
        number(payload, other.positions);
    });
}

fn all_planned(out: &mut Vec<u8>, values: &[PlannedValue]) {
    number(out, to_u64(values.len()));
    values.iter().for_each(|value| planned(out, value));
}

fn planned(out: &mut Vec<u8>, value: &PlannedValue) {
    for field in [value.offset, value.size, value.logical, value.first, value.last] {
        number(out, field);
    }
    text(out, &value.dtype);
    number(out, to_u64(value.dims.len()));
    value.dims.iter().for_each(|&dim| number(out, dim));
    text(out, &value.layout);
    text(out, &value.operation);
    text(out, &value.line);
}
