//! Everything that is said of a trace, and that its sums add up.
use std::ops::Range;
use tpu_trace::{
    By, Face, History, Holders, Holes, Moment, Profiled, Target, Trace, autopsy, collapsed, fit,
    leaks, lifetimes, live, padding, perfetto, pprof, pytorch, reduced, refused_programs,
    speedscope, xspace,
};

/// Asks a trace everything that a face asks. What is held at a moment must add up to what is in use.
pub(crate) fn judge(trace: &Trace) {
    let history = History::new(trace);
    let numbers = |count: usize| 0..u32::try_from(count.min(3)).unwrap_or(0);
    let fixed = [Moment::Peak, Moment::End, Moment::Allocated, Moment::Last, Moment::Time(5)];
    let marks = numbers(trace.marks.len()).map(Moment::Mark);
    let refusals = numbers(history.refusals.len()).map(Moment::Refusal);
    let moments: Vec<Moment> = fixed.into_iter().chain(marks).chain(refusals).collect();
    for &moment in &moments {
        for (_, by) in By::ALL {
            adds_up(&Holders::at(trace, &history, moment, by));
        }
        adds_up(&Holders::of(trace, leaks(trace, &history, moment, Moment::End), By::Line));
        for (space, of) in trace.spaces.iter().zip(&history.spaces) {
            let changes = moment.changes(of);
            let held = Holders::in_space(trace, of, moment, By::Line).total.in_memory;
            assert_eq!(held, of.in_use_after(changes), "{} {moment}", space.name());
            let _ = Holes::at(trace, (space, of), changes, 5);
            let blocks = live(trace, of, changes);
            let _ = padding(trace, &blocks);
            let _ = collapsed(trace, &blocks, Face::Mixed);
        }
    }
    for space in &history.spaces {
        let _ = reduced(space, 10);
    }
    let _ = lifetimes(trace, &history, By::Line);
    for refusal in 0..history.refusals.len().min(3) {
        let _ = autopsy(trace, &history, refusal).map(|found| found.text());
    }
    refused_programs(trace).iter().for_each(|of| _ = of.text());
    let _ = fit(trace, &history, &Target::with_capacity(1 << 30));
    export(trace, &history);
    let options = tpu_report::Options::default();
    let _ = tpu_report::write_report(trace, &history, &options, &mut std::io::sink());
}

fn adds_up(held: &Holders) {
    let sum: u64 = held.rows.iter().map(|row| row.size.in_memory).sum();
    assert_eq!(held.total.in_memory, sum, "rows do not add up");
}

fn export(trace: &Trace, history: &History) {
    let of = |space: &tpu_trace::SpaceHistory| live(trace, space, space.peak_at);
    let blocks: Vec<u32> = history.spaces.iter().flat_map(of).collect();
    let _ = pprof(trace, &blocks, Face::Python);
    let _ = speedscope(trace, &[("peak".to_owned(), blocks)], Face::Python, "fuzz");
    let spans: Vec<Range<usize>> =
        history.spaces.iter().map(|space| 0..space.order.len()).collect();
    let _ = pytorch(trace, history, &spans, Face::Python);
    let _ = perfetto(trace, history, &spans, Face::Python);
    let _ = xspace(trace, history, &spans, &Profiled::default());
}

/// Traces as a fuzzer begins with them: records of every kind, small.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let plain = Writer::new().change(6, [0, 1, 0, 4096]).change(7, [0, 2, 0, 4096]);
    let leaking = (1..6).fold(Writer::new(), |writer, at| {
        writer.change(6, [0, at, 8192 * at, 8192]).mark("step", at)
    });
    let two_spaces = Writer::new()
        .change(6, [0, 1, 0, 4096])
        .change(6, [1, 1, 512, 1024])
        .change(7, [0, 2, 0, 4096])
        .change(6, [0, 3, 0, 8192])
        .record(19, |end| end.numbers(&[9, 3, 2, 2, 0, 3, 1, 1]).text("process exit"));
    let refused = (1..4)
        .fold(Writer::new(), |writer, at| writer.change(6, [0, at, 16384 * at, 8192]))
        .program()
        .record(18, |holes| {
            let numbers = [0, 3, 9, 65536, 24576, 40960, 16384, 2, 2, 0, 16384, 24576, 8192];
            let holes = holes.numbers(&numbers).text("jit_f");
            holes.numbers(&[1, 512, 1, 1024, 1, 0, 16384, 2])
        })
        .change(8, [0, 0, 0, 65536])
        .change(7, [0, 4, 16384, 8192]);
    let running = Writer::new()
        .change(6, [0, 1, 0, 8192])
        .program()
        .record(20, |run| run.numbers(&[1, 1, 0, 3, 2, 5, 6, 7, 0]))
        .record(14, |calls| calls.text("PJRT_Client_Compile").numbers(&[2, 3, 1, 7, 90, 64, 1]))
        .record(15, |call| call.text("PJRT_Client_Compile").numbers(&[2, 3, 1, 90, 64, 0]))
        .record(11, |of| {
            let of = of.numbers(&[0, 3, 1]).text("target").text("jit_f").text("a.py:3:1");
            let of = of.numbers(&[1]).text("f32").numbers(&[1, 8, 1, 32, 0, 0]).text("");
            of.numbers(&[2, 3, 5]).text("PJRT_Call").numbers(&[6, 1, 64, 128]).text("it failed")
        })
        .record(12, |fault| fault.text("refused").numbers(&[2, 3, 5]).text("PJRT_Call"));
    let snapshot = Writer::new()
        .change(6, [0, 4, 0, 8192])
        .change(6, [0, 9, 65536, 8192])
        .record(9, |usage| usage.numbers(&[0, 16384, 32768, 7, 4096]))
        .record(13, |loss| loss.numbers(&[0, 0]))
        .record(22, |name| name.numbers(&[0, 65600]).text("__main__.kept[3]"));
    let never = Writer::new().program().record(21, |of| {
        let of =
            of.numbers(&[1, 2, 3, 9]).text("PJRT_Client_Compile").numbers(&[1024]).text("a.py:9");
        of.numbers(&[1, 0, 1]).text("1312 bytes of HBM on each device")
    });
    let all = [plain, leaking, two_spaces, refused, running, snapshot, never];
    all.map(|writer| writer.0).into()
}

/// A trace, record by record, as docs/trace-format.md says.
struct Writer(Vec<u8>);

/// The fields of a record.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn numbers(mut self, all: &[u64]) -> Self {
        for &one in all {
            let mut left = one;
            while left >= 0x80 {
                self.0.push(left.to_le_bytes()[0] | 0x80);
                left >>= 7;
            }
            self.0.push(left.to_le_bytes()[0]);
        }
        self
    }

    fn text(self, text: &str) -> Self {
        let mut fields = self.numbers(&[text.len() as u64]);
        fields.0.extend_from_slice(text.as_bytes());
        fields
    }
}

impl Writer {
    /// A process with a device and host memory, an array type, a label and two stacks.
    fn new() -> Self {
        let space = |fields: Fields, owner: &str, kind: &str| fields.text(owner).text(kind);
        Self(b"TPUEMUTR\x01\x00\x05\x00".to_vec())
            .record(1, |process| process.numbers(&[77, 9]).text("0.1.0").text("v5e:1x1"))
            .record(2, |of| space(of.numbers(&[0, 1]), "TPU_0", "device").numbers(&[65536]))
            .record(2, |of| space(of.numbers(&[1, 0]), "host", "pinned_host").numbers(&[65536]))
            .record(3, |spec| {
                let shape = spec.numbers(&[4]).text("f32").numbers(&[2, 10, 10]);
                shape.text("{1,0:T(8,128)}").numbers(&[400, 8192])
            })
            .record(4, |frame| {
                let python = frame.numbers(&[100, 1, 1]).text("train").text("/home/u/train.py");
                python.numbers(&[12]).text("python")
            })
            .record(4, |frame| {
                let native = frame.numbers(&[101, 1, 0]).text("malloc").text("").numbers(&[0]);
                native.text("libc.so")
            })
            .record(5, |stack| stack.numbers(&[1, 0, 100]))
            .record(5, |stack| stack.numbers(&[2, 1, 101]))
            .record(10, |label| label.numbers(&[1]).text("result 0 of jit_f: stablehlo.add"))
    }

    fn record(mut self, kind: u8, fill: impl FnOnce(Fields) -> Fields) -> Self {
        let Fields(payload) = fill(Fields::default());
        self.0.push(kind);
        self.0.extend(u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.extend(payload);
        self
    }

    /// Space, sequence, address and size.
    fn change(self, kind: u8, [space, sequence, address, size]: [u64; 4]) -> Self {
        self.record(kind, |change| {
            let change = change.numbers(&[space, sequence, address, size, 4, 2, 3, 4 + sequence]);
            change.text("PJRT_Call").numbers(&[u64::from(kind == 6)])
        })
    }

    fn mark(self, name: &str, sequence: u64) -> Self {
        self.record(16, |mark| mark.text(name).numbers(&[1, 3, 4 + sequence, 1, 0, sequence]))
    }

    fn program(self) -> Self {
        self.record(17, |program| {
            let slot = program.numbers(&[1]).text("jit_f").numbers(&[512, 0, 400, 400, 1]);
            let slot = slot.numbers(&[0, 512, 400, 0, 1]).text("f32").numbers(&[1, 100]);
            let slot = slot.text("{0}").text("stablehlo.add").text("a.py:3");
            slot.numbers(&[2, 1312])
        })
    }
}
