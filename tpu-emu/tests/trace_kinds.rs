//! Every kind of record that the encoder can write is one that the reader reads.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::collections::BTreeSet;
use std::sync::Arc;
use tpu_emu::custom_call::{Abi, Backend, CallSite, Stage};
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::ledger::Ledger;
use tpu_emu::origin::{ChangeKind, Clock, Frame, FrameText, LabelId, Past, Record, StackSource};
use tpu_emu::tensor::DType;
use tpu_emu::trace::{
    ApiCall, ApiCalls, CallCounts, Change, ClientEnd, Dispatched, Encoder, Fault, FreeList, Header,
    LaunchRun, Loss, MAGIC, Mark, Note, OtherPlanned, PlannedValue, ProgramPlan, SpaceInfo, Usage,
};
use tpu_emu::units::{Bytes, DevAddr, Nanos};
use tpu_emu::{Config, Emulator};

/// The kinds of docs/trace-format.md.
const KINDS: std::ops::RangeInclusive<u8> = 1..=20;

/// Two frames, the inner one that of JAX's clean-up.
#[derive(Debug)]
struct CleanUp;

impl StackSource for CleanUp {
    fn capture(&self, frames: &mut Vec<Frame>) {
        frames.extend([Frame(8), Frame(7)]);
    }

    fn is_native(&self, _: Frame) -> bool {
        false
    }

    fn thread(&self) -> u32 {
        3
    }

    fn describe(&self, frame: Frame, texts: &mut Vec<FrameText>) {
        let (function, file) = match frame.0 {
            8 => ("clean_up", "/v/site-packages/jax/_src/api.py"),
            _ => ("main", "/home/u/train.py"),
        };
        let (function, file) = (function.to_owned(), file.to_owned());
        texts.push(FrameText { function, file, line: 4, module: "python".into(), python: true });
    }
}

#[derive(Debug)]
struct Five;

impl Clock for Five {
    fn now(&self) -> Nanos {
        Nanos(5)
    }
}

/// A trace with a record of every kind.
fn trace() -> Vec<u8> {
    let machine = Emulator::new(Config::plain()).unwrap();
    let spec = machine.describe(DType::F32, &[2], LayoutRequest::Default).unwrap();
    let ledger = Ledger::new(Arc::new(CleanUp), Arc::new(Five), None, 0);
    let (origin, names) = (ledger.origin(), ledger.names());
    let label = ledger.labels().intern("constants of jit_f");
    let (mut encoder, mut out) = (Encoder::default(), Vec::new());
    let header = Header { process: 1, started_ns: 2, version: "0.1.0", topology: "v5e:1x1" };
    let space = SpaceInfo {
        number: 0,
        device: Some(0),
        owner: "TPU_0".to_owned(),
        kind: "device",
        capacity: Bytes::gib(16),
    };
    encoder.start(&header, &[space], &mut out);
    Encoder::loss(Loss::default(), &mut out);
    let counts = CallCounts { count: 2, time: Nanos(9), bytes: Bytes(512), errors: 1 };
    let (thread, stack) = (origin.thread, origin.stack);
    let calls = ApiCalls { function: "PJRT_Buffer_Delete", stack, thread, first: Nanos(4), counts };
    encoder.calls(&calls, &names, &mut out);
    let call = ApiCall {
        function: "PJRT_Buffer_Delete",
        stack,
        thread,
        time: Nanos(4),
        duration: Nanos(5),
        bytes: Bytes(512),
        code: 3,
    };
    encoder.call(&call, &names, &mut out);
    let mark = Mark { name: "before", origin, places: vec![(0, 0)] };
    encoder.note(&Note::Mark(&mark), &names, &mut out);
    let value = PlannedValue {
        size: 256,
        logical: 8,
        last: 1,
        dtype: "f32".into(),
        dims: vec![2],
        layout: "{0}".to_owned(),
        operation: "stablehlo.add".into(),
        line: "train.py:4".to_owned(),
        ..PlannedValue::default()
    };
    let program = ProgramPlan {
        number: 1,
        name: "jit_f".into(),
        temporaries: Bytes(512),
        other: Some(OtherPlanned {
            planner: "libtpu 1".into(),
            values: vec![PlannedValue { layout: "{0:T(1024)}".to_owned(), ..value.clone() }].into(),
            positions: 9,
        }),
        values: vec![value],
        positions: 3,
        ..ProgramPlan::default()
    };
    encoder.note(&Note::Program(&program), &names, &mut out);
    let (started, ended) = (Nanos(6), Nanos(7));
    let run = LaunchRun { program: 1, run: 1, device: 0, origin, started, ended, code: 0 };
    encoder.note(&Note::Launch(&run), &names, &mut out);
    let record = Record { origin, spec: spec.number, label };
    let past = |kind, sequence| Past {
        kind,
        space: 0,
        sequence,
        address: DevAddr(0),
        size: Bytes(512),
        record,
    };
    let free = FreeList {
        sequence: 1,
        asked: Bytes(512),
        count: 1,
        holes: vec![(DevAddr(512), Bytes(64))],
        ..FreeList::default()
    };
    for (kind, sequence) in
        [(ChangeKind::Allocate, 1), (ChangeKind::Refused, 0), (ChangeKind::Free, 2)]
    {
        let free = (kind == ChangeKind::Refused).then_some(&free);
        encoder.change(&Change { past: past(kind, sequence), spec: &spec, free }, &names, &mut out);
    }
    // Another sign of the same end.
    let end = ClientEnd { why: "PJRT_Client_Destroy", origin, places: vec![(0, 2)] };
    encoder.note(&Note::ClientEnd(&end), &names, &mut out);
    let site = CallSite {
        target: "t".into(),
        kernel_name: None,
        abi: Abi::Typed,
        backend: Backend::Opaque(Vec::new().into()),
        operands: Vec::new(),
        results: Vec::new(),
        tuple: false,
        aliases: Vec::new(),
        partition: 0,
        line: None,
    };
    let dispatched = Dispatched {
        site: Arc::new(site),
        stage: Stage::Execute,
        device: 0,
        run: 1,
        program: "jit_f".into(),
        origin,
        operands: Vec::new(),
        results: Vec::new(),
        duration: Nanos(1),
        scratch: Vec::new(),
        error: None,
    };
    encoder.dispatched(&dispatched, &names, &mut out);
    encoder.fault(&Fault { message: "twice", origin }, &names, &mut out);
    encoder.usage(&Usage::default(), &mut out);
    assert_ne!(label, LabelId::NONE);
    out
}

/// The kind of each record, and its payload.
fn records(trace: &[u8]) -> Vec<(u8, &[u8])> {
    let (mut rest, mut records) = (&trace[MAGIC.len() + 4..], Vec::new());
    while let [kind, a, b, c, d, behind @ ..] = rest {
        let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        records.push((*kind, &behind[..length]));
        rest = &behind[length..];
    }
    records
}

#[test]
fn every_kind_is_written_and_read() {
    let trace = trace();
    let kinds: BTreeSet<u8> = records(&trace).iter().map(|&(kind, _)| kind).collect();
    assert_eq!(kinds, KINDS.collect());
    let read = tpu_trace::read(&trace[..]).unwrap();
    assert!(!read.is_cut);
    assert_eq!((read.events.len(), read.faults.len(), read.dispatches.len()), (3, 1, 1));
    let calls = read.calls[0];
    assert_eq!((calls.thread, calls.first), (3, 4));
    assert_eq!((calls.count, calls.nanos, calls.bytes, calls.errors), (2, 9, 512, 1));
    let call = read.single_calls[0];
    assert_eq!((call.time, call.duration, call.bytes, call.status), (4, 5, 512, 3));
    let mark = &read.marks[0];
    assert_eq!((mark.name.as_str(), mark.thread, mark.time), ("before", 3, 5));
    let program = &read.programs[0];
    let slot = &program.slots[0];
    assert_eq!((program.name.as_str(), program.temporaries, program.positions), ("jit_f", 512, 3));
    assert_eq!((slot.size, slot.logical, slot.first, slot.last), (256, 8, 0, 1));
    assert_eq!(
        (slot.dtype.as_str(), &slot.shape[..], slot.layout.as_str()),
        ("f32", &[2][..], "{0}")
    );
    assert_eq!((slot.operation.as_str(), slot.line.as_str()), ("stablehlo.add", "train.py:4"));
    let holes = &read.refusal_holes[0];
    assert_eq!(
        (holes.asked, holes.largest, holes.count, &holes.list[..]),
        (512, 64, 1, &[(512, 64)][..])
    );
    let end = read.client_end.unwrap();
    assert_eq!((end.why.as_str(), end.places), ("clean_up of jax/_src/api.py", vec![(0, 1)]));
    let launch = read.launches[0];
    assert_eq!((launch.program, launch.run, launch.device, launch.thread), (1, 1, 0, 3));
    assert_eq!((launch.enqueued, launch.started, launch.ended, launch.status), (5, 6, 7, 0));
}

#[test]
fn holes_stand_before_their_refusal_and_the_end_of_a_client_before_its_first_free_and_once() {
    let trace = trace();
    let kinds: Vec<u8> = records(&trace).iter().map(|&(kind, _)| kind).collect();
    let changes: Vec<u8> =
        kinds.into_iter().filter(|kind| matches!(kind, 6..=8 | 18 | 19)).collect();
    assert_eq!(changes, [6, 18, 8, 19, 7]);
    let end = records(&trace).into_iter().find(|&(kind, _)| kind == 19).unwrap().1;
    // Time, thread, stack, one place: space 0 after its first change; 27 letters.
    assert_eq!(end, b"\x05\x03\x02\x01\x00\x01\x1bclean_up of jax/_src/api.py".as_slice());
}

#[test]
fn the_numbers_of_a_count_of_calls_are_the_end_of_its_record() {
    let trace = trace();
    let calls = records(&trace).into_iter().find(|&(kind, _)| kind == 14).unwrap().1;
    let mut counts = Vec::new();
    let numbers = CallCounts { count: 2, time: Nanos(9), bytes: Bytes(512), errors: 1 };
    Encoder::counts(&numbers, &mut counts);
    assert_eq!(counts.len(), tpu_emu::trace::COUNTS_BYTES);
    assert!(calls.ends_with(&counts));
}
