//! Bytes that are a trace, and bytes that are none.
use crate::written::{ALLOCATE, CHANGE, Change, FREE, Field, REFUSED, Written};
use tpu_trace::{
    By, ChangeKind, History, Holders, Moment, ReadError, Target, fit, read, refused_programs,
};

/// A trace with every kind of record.
fn whole() -> Written {
    let mut trace = Written::new();
    trace.label(6, "result 0 of jit_f: stablehlo.add at train.py:12");
    trace.change(ALLOCATE, Change { label: 6, ..CHANGE });
    trace.change(FREE, Change { sequence: 2, ..CHANGE });
    trace.change(REFUSED, Change { size: 1 << 40, sequence: 0, ..CHANGE });
    let [zero, one] = [0, 1].map(Field::Number);
    let text = Field::Text;
    let operand = [text("f32"), one, Field::Number(8), Field::Number(4097), Field::Number(32)];
    let mut call = vec![zero, Field::Number(3), one, text("scale"), text("jit_f"), text("t.py:3")];
    call.push(one);
    call.extend(operand);
    call.extend([
        zero,
        one,
        text("by"),
        text("2 : i32"),
        text(""),
        one,
        zero,
        one,
        text("Execute"),
    ]);
    call.extend([Field::Number(250), one, Field::Number(64), Field::Number(128), text("broken")]);
    trace.record(11, &call);
    trace.record(12, &[text("twice"), one, zero, one, text("TpuExecutor_Deallocate")]);
    trace.record(
        9,
        &[zero, Field::Number(7), Field::Number(8), Field::Number(9), Field::Number(10)],
    );
    trace.record(13, &[Field::Number(3), Field::Number(28)]);
    let [two, three, nine] = [2, 3, 9].map(Field::Number);
    let long = [7, 70, 700, u64::MAX].map(Field::Long);
    let calls = [text("PJRT_Buffer_Destroy"), one, three, Field::Number(5)];
    trace.record(14, &[&calls[..], &long[..]].concat());
    trace.record(15, &[text("PJRT_Event_Await"), one, three, two, nine, zero, Field::Number(8)]);
    trace.mark("warm", 6, 1);
    let plan = [0, 4, 5, 6, 7].map(Field::Number);
    let slot = [512, 1024, 400, 1, 2].map(Field::Number);
    let array = [text("f32"), two, three, three, text("{1,0}"), text("add"), text("t.py:3")];
    let program = [&[three, text("jit_f")], &plan[1..], &[one], &slot[..], &array[..], &[nine]];
    trace.record(17, &program.concat());
    let holes = [0, 2, 5, 4096, 8192, 2048, 1024, 2, 2, 512, 1024, 64, 512].map(Field::Number);
    trace.record(18, &holes);
    trace.change(REFUSED, Change { size: 4096, sequence: 0, ..CHANGE });
    trace.record(19, &[nine, three, one, one, zero, two, text("PJRT_Client_Destroy")]);
    trace.record(20, &[3, 1, 0, 3, 1, 20, 30, 40, 13].map(Field::Number));
    trace
}

fn refusal(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn every_field_of_every_record_is_read() {
    let trace = read(&whole().0[..]).unwrap();
    assert_eq!((trace.header.process, trace.header.started, trace.header.format), (77, 9, (1, 5)));
    assert_eq!((&*trace.header.version, &*trace.header.topology), ("0.1.0", "v5e:1x1"));
    let spaces: Vec<_> = trace.spaces.iter().map(|space| (space.name(), space.device)).collect();
    assert_eq!(spaces, [("TPU_0".to_owned(), Some(0)), ("host pinned_host".to_owned(), None)]);
    let [spec] = &trace.specs[..] else { panic!("{:?}", trace.specs) };
    assert_eq!(
        (spec.text(), spec.logical, spec.padded),
        ("f32[10,10]{1,0:T(8,128)}".into(), 400, 8192)
    );
    let kinds: Vec<_> = trace.events.iter().map(|(_, event)| event.kind).collect();
    let refused = ChangeKind::Refused;
    assert_eq!(kinds, [ChangeKind::Allocate, ChangeKind::Free, refused, refused]);
    let event = trace.events.at(0);
    assert_eq!((event.sequence, event.size, event.thread, event.time), (1, 512, 3, 1));
    assert_eq!(
        trace.labels[event.label as usize],
        "result 0 of jit_f: stablehlo.add at train.py:12"
    );
    assert_eq!(trace.entries[event.entry as usize], "PJRT_Client_BufferFromHostBuffer");
    let functions: Vec<_> = trace.stacks.frames(event.stack).map(|part| &*part.function).collect();
    assert_eq!(functions, ["put", "train", "main"]);
    let [call] = &trace.dispatches[..] else { panic!("{:?}", trace.dispatches) };
    assert_eq!((&*call.target, &*call.program, &*call.line), ("scale", "jit_f", "t.py:3"));
    assert_eq!((call.operands[0].address, call.operands[0].size), (Some(4096), 32));
    assert_eq!(
        (call.attributes.len(), &call.scratch[..], &*call.error),
        (1, &[(64, 128)][..], "broken")
    );
    assert_eq!(
        (&*trace.faults[0].message, &*trace.faults[0].entry),
        ("twice", "TpuExecutor_Deallocate")
    );
    assert_eq!((trace.usages[0].in_use, trace.usages[0].largest_hole), (7, 10));
    assert_eq!(trace.loss.map(|loss| (loss.records, loss.error)), Some((3, 28)));
    assert!(!trace.is_cut);
}

#[test]
fn every_field_of_version_1_5_is_read() {
    let trace = read(&whole().0[..]).unwrap();
    let [calls] = trace.calls[..] else { panic!("{:?}", trace.calls) };
    assert_eq!(trace.entries[calls.function as usize], "PJRT_Buffer_Destroy");
    assert_eq!((calls.thread, calls.first), (3, 5));
    assert_eq!((calls.count, calls.nanos, calls.bytes, calls.errors), (7, 70, 700, u64::MAX));
    let [call] = trace.single_calls[..] else { panic!("{:?}", trace.single_calls) };
    assert_eq!(trace.entries[call.function as usize], "PJRT_Event_Await");
    assert_eq!((call.thread, call.time, call.duration, call.bytes, call.status), (3, 2, 9, 0, 8));
    assert_eq!((&*trace.marks[0].name, trace.marks[0].time), ("warm", 6));
    assert_eq!(trace.marks[0].places, [(0, 1)]);
    let program = trace.program(3).unwrap();
    assert_eq!((&*program.name, program.temporaries, program.constants), ("jit_f", 4, 5));
    assert_eq!((program.arguments, program.results, program.positions), (6, 7, 9));
    let [slot] = &program.slots[..] else { panic!("{:?}", program.slots) };
    assert_eq!(
        (slot.offset, slot.size, slot.logical, slot.first, slot.last),
        (512, 1024, 400, 1, 2)
    );
    assert_eq!((&*slot.dtype, &slot.shape[..], &*slot.layout), ("f32", &[3, 3][..], "{1,0}"));
    assert_eq!((&*slot.operation, &*slot.line), ("add", "t.py:3"));
    let holes = trace.holes_of(3).unwrap();
    assert_eq!((holes.space, holes.sequence, holes.time, holes.asked), (0, 2, 5, 4096));
    assert_eq!((holes.in_use, holes.free, holes.largest, holes.count), (8192, 2048, 1024, 2));
    assert_eq!(holes.list, [(512, 1024), (64, 512)]);
    assert!(trace.holes_of(2).is_none());
    let end = trace.client_end.unwrap();
    assert_eq!((end.time, end.thread, &*end.why), (9, 3, "PJRT_Client_Destroy"));
    assert_eq!(end.places, [(0, 2)]);
    let [launch] = trace.launches[..] else { panic!("{:?}", trace.launches) };
    assert_eq!((launch.program, launch.run, launch.device, launch.thread), (3, 1, 0, 3));
    assert_eq!((launch.enqueued, launch.started, launch.ended), (20, 30, 40));
    assert_eq!(launch.status, 13);
}

#[test]
fn zeros_behind_the_last_record_are_the_end_and_other_bytes_there_are_a_cut() {
    let whole = whole().0;
    for zeros in [1, 5, 4096, 3 << 20] {
        let mut mapped = whole.clone();
        mapped.resize(whole.len() + zeros, 0);
        let trace = read(&mapped[..]).unwrap();
        assert_eq!((trace.is_cut, trace.events.len()), (false, 4), "{zeros}");
        // A writer that was killed before it wrote the kind.
        *mapped.last_mut().unwrap() = 1;
        let trace = read(&mapped[..]).unwrap();
        assert_eq!((trace.is_cut, trace.events.len()), (true, 4), "{zeros}");
    }
}

#[test]
fn records_and_fields_of_later_versions_are_skipped() {
    let mut trace = Written::new();
    trace.record(200, &[Field::Text("of a later version")]);
    trace.label(6, "known");
    trace.record(10, &[Field::Number(7), Field::Text("with"), Field::Text("another field")]);
    trace.0[10] = 99;
    assert_eq!(read(&trace.0[..]).unwrap().labels, ["", "known", "with"]);
}

#[test]
fn a_change_without_a_label_is_of_version_1_0() {
    let mut trace = Written::new();
    let fields = [0, 1, 64, 512, 4, 1, 3, 5].map(Field::Number);
    trace.record(ALLOCATE, &[&fields[..], &[Field::Text("entry")]].concat());
    assert_eq!(read(&trace.0[..]).unwrap().events.at(0).label, 0);
}

#[test]
fn what_is_no_trace_is_refused_with_its_reason() {
    assert_eq!(refusal(b""), "no trace: it is empty");
    assert_eq!(refusal(b"TPUEMU"), "no trace: it does not begin with TPUEMUTR");
    assert_eq!(refusal(b"\x7fELF........"), "no trace: it does not begin with TPUEMUTR");
    let newer = [&b"TPUEMUTR\x02\x00\x07\x00"[..], &whole().0[12..]].concat();
    assert_eq!(refusal(&newer), "format version 2.7; this reader takes 1.x");
    let begun = Written(b"TPUEMUTR\x01\x00\x05\x00".to_vec());
    assert_eq!(refusal(&begun.0), "no trace: it ends before it says which process wrote it");
    let mut other = begun.clone();
    other.label(1, "first");
    assert!(refusal(&other.0).starts_with("the first record is not that of the process, at byte "));
}

#[test]
fn damage_is_refused_with_its_place() {
    let with = |kind, fields: &[Field<'_>]| {
        let mut trace = Written::new();
        let at = trace.0.len() + 5;
        trace.record(kind, fields);
        (refusal(&trace.0), at)
    };
    let (text, at) = with(5, &[9, 8, 7].map(Field::Number));
    assert_eq!(text, format!("stack 8 is used before it is defined, at byte {}", at + 1));
    let (text, at) = with(10, &[Field::Number(1), Field::Number(9)]);
    assert_eq!(text, format!("a text of 9 bytes is cut off, at byte {}", at + 2));
    let (text, _) = with(2, &[0, 1].map(Field::Number));
    assert!(text.starts_with("a number is cut off, at byte "), "{text}");
    let (text, _) =
        with(1, &[Field::Number(1), Field::Number(1), Field::Text(""), Field::Text("")]);
    assert!(text.starts_with("a second process, at byte "), "{text}");
    let (text, _) = with(10, &[Field::Number(u64::MAX), Field::Number(u64::MAX)]);
    assert!(text.starts_with(&format!("a text of {} bytes is cut off", u64::MAX)), "{text}");
    let mut twice = Written::new();
    twice.label(6, "a").label(6, "b");
    assert!(refusal(&twice.0).starts_with("label 6 is defined twice, at byte "));
}

#[test]
fn names_are_those_of_the_blocks_that_live_where_they_stand() {
    let mut trace = Written::new();
    let name = |trace: &mut Written, address: u64, path: &str| {
        trace.record(22, &[Field::Number(0), Field::Number(address), Field::Text(path)]);
    };
    trace.change(ALLOCATE, Change { address: 512, ..CHANGE });
    name(&mut trace, 512, "first");
    trace.change(FREE, Change { address: 512, sequence: 2, ..CHANGE });
    name(&mut trace, 512, "of nothing");
    trace.change(ALLOCATE, Change { address: 512, sequence: 3, ..CHANGE });
    name(&mut trace, 700, "inside");
    name(&mut trace, 512, "again");
    name(&mut trace, 1024, "behind it");
    name(&mut trace, 0, "before it");
    let read = read(&trace.0[..]).unwrap();
    let named: Vec<(u32, Vec<&str>)> = read
        .names
        .iter()
        .map(|(&place, names)| (place, names.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(named, [(0, vec!["first"]), (2, vec!["inside", "again"])]);
    let history = History::new(&read);
    let held = Holders::at(&read, &history, Moment::Last, By::Line);
    assert_eq!(held.rows[0].names, ["inside", "again"]);
}

#[test]
fn a_refused_program_has_its_plan_and_its_largest_temporaries() {
    let number = Field::Number;
    let text = Field::Text;
    let slot = |first: u64, last: u64, size: u64, line: &'static str| {
        let numbers = [0, size, size, first, last].map(number);
        let shape = [text("f32"), number(1), number(size / 4), text("{0}")];
        [&numbers[..], &shape, &[text("stablehlo.add"), text(line)]].concat()
    };
    let mut fields = vec![number(1), text("jit_f")];
    fields.extend([4096, 0, 64, 128, 3].map(number));
    // What ends at a position does not live with what begins behind it.
    fields.extend(slot(0, 1, 4096, "a.py:1"));
    fields.extend(slot(2, 3, 2048, "a.py:2"));
    fields.extend(slot(1, 1, 1024, "a.py:3"));
    fields.extend([4, 9000].map(number));
    let mut trace = Written::new();
    trace.record(17, &fields);
    let stack = [number(1), number(0), number(3), number(2_000_000)];
    let rest = [text("PJRT_Client_Compile"), number(8000), text("a.py:9"), number(1), number(0)];
    let advice = [number(1), text("9000 bytes of HBM on each device")];
    trace.record(21, &[&stack[..], &rest, &advice].concat());
    let read_again = read(&trace.0[..]).unwrap();
    let [found] = &refused_programs(&read_again)[..] else { panic!("one program") };
    assert_eq!((found.program.as_str(), found.needed, found.available), ("jit_f", 9000, 8000));
    assert_eq!(found.line, "a.py:9");
    let largest: Vec<(u64, &str)> =
        found.largest.iter().map(|of| (of.size, of.line.as_str())).collect();
    assert_eq!(largest, [(4096, "a.py:1"), (1024, "a.py:3")]);
    assert!(found.text().contains("9000 bytes of HBM on each device"), "{}", found.text());
    // Every device that it was to run on has too little, and the next size has enough.
    let history = History::new(&read_again);
    let asked = |bytes| fit(&read_again, &history, &Target::with_capacity(bytes));
    assert_eq!((asked(8704).fits, asked(9216).fits), (false, true));
    assert_eq!(asked(8704).smallest, Some(9216));
    let mut unknown = Written::new();
    unknown.record(21, &[&stack[..], &rest, &advice].concat());
    assert!(refusal(&unknown.0).starts_with("program 1 is refused before it is defined"));
}

#[test]
fn sizes_and_sums_that_no_memory_has_are_refused() {
    let refused = |fill: &dyn Fn(&mut Written)| {
        let mut trace = Written::new();
        fill(&mut trace);
        refusal(&trace.0).split(", at byte").next().unwrap().to_owned()
    };
    let large = u64::MAX;
    let change = |of: Change| {
        refused(&|trace| {
            trace.change(ALLOCATE, of);
        })
    };
    let bytes = format!("{large} bytes are more than any memory has");
    assert_eq!(change(Change { size: large, ..CHANGE }), bytes);
    assert_eq!(change(Change { address: large, ..CHANGE }), bytes);
    assert_eq!(
        change(Change { time: large, ..CHANGE }),
        format!("{large} ns are longer than any process ran")
    );
    let halves = refused(&|trace| {
        for sequence in 1..4 {
            trace.change(ALLOCATE, Change { sequence, size: large / 2, ..CHANGE });
        }
    });
    assert_eq!(halves, "all blocks of this trace together have more than 64 bits");
    let calls = refused(&|trace| {
        for _ in 0..2 {
            let numbers = [1, 3, 1, large, 0, 0, 0].map(Field::Number);
            trace.record(14, &[&[Field::Text("PJRT_Client_Compile")], &numbers[..]].concat());
        }
    });
    assert_eq!(calls, "all calls of this trace together have more than 64 bits");
    // What no memory has can be asked for, again and again.
    let mut asking = Written::new();
    for _ in 0..5 {
        asking.change(REFUSED, Change { size: large / 2, sequence: 0, ..CHANGE });
    }
    assert_eq!(read(&asking.0[..]).unwrap().events.len(), 5);
}

#[test]
fn every_beginning_of_a_trace_is_a_trace_that_is_cut_or_none() {
    let whole = whole().0;
    let head = Written::new().0.len();
    for length in 0..whole.len() {
        match read(&whole[..length]) {
            Ok(trace) => assert!(length >= 12 && trace.events.len() <= 4, "{length}"),
            Err(ReadError::Foreign(_)) => assert!(length < head, "{length}"),
            Err(why) => panic!("{length}: {why}"),
        }
    }
    let cut = read(&whole[..whole.len() - 1]).unwrap();
    assert!(cut.is_cut && cut.launches.is_empty() && cut.client_end.is_some());
}

#[test]
fn no_damaged_byte_ends_the_reader() {
    let whole = whole().0;
    let mut refused = 0;
    for at in 0..whole.len() {
        for bits in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            if let Ok(trace) = read(&damaged[..]) {
                // What is read can be walked.
                for (_, event) in trace.events.iter() {
                    assert!(trace.stacks.frames(event.stack).count() < 100);
                }
            } else {
                refused += 1;
            }
        }
    }
    assert!(refused > whole.len() / 2, "{refused} of {}", 3 * whole.len());
}
