//! What other programs read adds up to what lived.
use crate::written::{ALLOCATE, CHANGE, Change, Field, Written};
use flate2::read::GzDecoder;
use std::io::Read as _;
use tpu_trace::{
    Call, Face, History, Profiled, Trace, calls, collapsed, perfetto, pprof, pytorch, read,
    speedscope, xspace,
};

/// Three blocks of two origins, the names of one of which hold what forms are made of.
fn trace() -> Trace {
    let mut trace = Written::new();
    trace.frame(300, "odd; \"name\"\n</script>", "/home/u/a b.py", 7, true);
    trace.record(5, &[40, 10, 300].map(Field::Number));
    trace.label(6, "temporaries of jit_f: largest f32[10,10]; at train.py:12");
    for (sequence, stack, size, label) in [(1, 1, 512, 0), (2, 1, 1024, 0), (3, 40, 4096, 6)] {
        let of = Change { sequence, address: sequence * 8192, stack, size, label, ..CHANGE };
        trace.change(ALLOCATE, of);
    }
    read(&trace.0[..]).unwrap()
}

#[test]
fn a_line_a_stack_and_its_bytes_behind_the_last_space() {
    let text = collapsed(&trace(), &[0, 1, 2], Face::Python);
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "/home/u/train.py:3 main;/home/u/a b.py:7 odd: \"name\" </script>;temporaries of jit_f: \
             largest f32[10,10]: at train.py:12 4096",
            "/home/u/train.py:3 main;/home/u/train.py:12 train;f32[10,10]{1,0:T(8,128)} 1536",
        ]
    );
}

#[test]
fn speedscope_gets_a_profile_a_set_with_a_weight_a_stack() {
    let sets = [("TPU_0 at the peak".to_owned(), vec![0, 1, 2]), ("none".to_owned(), vec![])];
    let text = speedscope(&trace(), &sets, Face::Python, "run.trace").unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let [full, empty] = &json["profiles"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&full["unit"], &full["endValue"]), (&"bytes".into(), &5632.into()));
    assert_eq!((&empty["endValue"], &empty["samples"]), (&0.into(), &serde_json::json!([])));
    let frames = json["shared"]["frames"].as_array().unwrap();
    let samples = full["samples"].as_array().unwrap();
    assert_eq!((samples.len(), full["weights"].as_array().unwrap().len()), (2, 2));
    for sample in samples {
        let first = usize::try_from(sample[0].as_u64().unwrap()).unwrap();
        assert_eq!(frames[first]["name"], "main");
        assert_eq!(frames[first]["line"], 3);
    }
}

#[test]
fn pprof_gets_counts_and_both_sizes() {
    let mut bytes = Vec::new();
    let packed = pprof(&trace(), &[0, 1, 2], Face::Python).unwrap();
    GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    let fields = messages(&bytes);
    let texts: Vec<&[u8]> = fields.iter().filter(|(tag, _)| *tag == 6).map(|(_, of)| *of).collect();
    assert_eq!(texts[..6], [&b""[..], b"allocations", b"count", b"logical", b"bytes", b"space"]);
    let samples = fields.iter().filter(|(tag, _)| *tag == 2);
    let mut values: Vec<Vec<u64>> = samples
        .map(|(_, sample)| {
            let values = messages(sample).into_iter().find(|(tag, _)| *tag == 2);
            numbers(values.unwrap().1)
        })
        .collect();
    values.sort();
    assert_eq!(values, [[1, 400, 4096], [2, 800, 1536]]);
}

#[test]
fn a_face_shows_what_it_says() {
    let mut trace = Written::new();
    trace.record(
        4,
        &[
            Field::Number(301),
            Field::Number(1),
            Field::Number(0),
            Field::Text("call_core"),
            Field::Text("ceval.c"),
            Field::Number(1),
            Field::Text("/usr/lib/libpython3.11.so.1.0"),
        ],
    );
    for (stack, caller, frame) in [(50, 11, 301), (51, 50, 100), (52, 51, 104)] {
        trace.record(5, &[stack, caller, frame].map(Field::Number));
    }
    trace.change(ALLOCATE, Change { stack: 52, ..CHANGE });
    let trace = read(&trace.0[..]).unwrap();
    let shown = |face| {
        let calls = calls(&trace, &trace.events.at(0), face);
        calls.into_iter().map(|call| call.name).collect::<Vec<_>>()
    };
    let array = "f32[10,10]{1,0:T(8,128)}";
    assert_eq!(shown(Face::Python), ["main", "train", array]);
    assert_eq!(shown(Face::Mixed), ["main", "train", "put", "malloc", array]);
    assert_eq!(shown(Face::Full), ["main", "train", "call_core", "put", "malloc", array]);
    let names = ["python", "mixed", "full"].map(|name| name.parse::<Face>().unwrap());
    assert_eq!(names, [Face::Python, Face::Mixed, Face::Full]);
    assert!("half".parse::<Face>().is_err());
    let call = Call { name: "f".into(), file: "a.py".into(), line: 0 };
    assert_eq!(call.text(), "a.py f");
}

#[test]
fn a_snapshot_covers_its_segment_and_writes_a_stack_once() {
    let trace = trace();
    let history = History::new(&trace);
    let pickle = |span| pytorch(&trace, &history, &[span, 0..0], Face::Python);
    let bytes = pickle(0..3);
    let count = |text: &str| bytes.windows(text.len()).filter(|of| of == &text.as_bytes()).count();
    assert_eq!(bytes[..2], [0x80, 4]);
    assert_eq!((count("/home/u/a b.py"), count("odd; \"name\" </script>")), (1, 1));
    assert_eq!((count("active_allocated"), count("inactive"), count("free_requested")), (1, 1, 0));
    // Of the last change alone there are fewer actions, and as many blocks.
    assert!(pickle(2..3).len() < bytes.len());
    let nothing = read(&Written::new().0[..]).unwrap();
    let bytes = pytorch(&nothing, &History::new(&nothing), &[0..0, 0..0], Face::Python);
    assert_eq!(bytes.last(), Some(&b'.'));
}

#[test]
fn perfetto_counts_what_is_in_use_after_each_change() {
    let trace = trace();
    let history = History::new(&trace);
    let counts = |span| {
        let bytes = perfetto(&trace, &history, &[span, 0..0], Face::Python);
        let packets = messages(&bytes);
        assert!(packets.iter().all(|(tag, _)| *tag == 1));
        // A counter's event has neither name nor details: kind 4, track, value.
        let events = packets.iter().flat_map(|(_, packet)| messages(packet));
        let counters = events.filter(|(tag, event)| *tag == 11 && event[..2] == [0x48, 4]);
        counters.map(|(_, event)| numbers(event)).collect::<Vec<_>>()
    };
    let in_use: Vec<u64> = counts(0..3)
        .into_iter()
        .filter(|fields| fields[3] == 2 && fields.len() == 6)
        .map(|fields| fields[5])
        .collect();
    assert_eq!(in_use, [512, 1536, 5632]);
    assert_eq!(counts(1..2).iter().filter(|fields| fields[3] == 2).count(), 1);
}

#[test]
fn an_xspace_has_an_event_a_change_and_a_plane_a_device_that_ran() {
    let planes = |trace: &Trace| {
        let history = History::new(trace);
        let spans = [0..history.spaces[0].order.len(), 0..0];
        let bytes = xspace(trace, &history, &spans, &Profiled::default());
        let planes = messages(&bytes).into_iter().filter(|(tag, _)| *tag == 1);
        planes
            .map(|(_, plane)| {
                let fields = messages(plane);
                let of = |tag| fields.iter().filter(move |field| field.0 == tag);
                let name = String::from_utf8(of(2).next().unwrap().1.to_vec()).unwrap();
                let lines = of(3)
                    .map(|(_, line)| messages(line).iter().filter(|(tag, _)| *tag == 4).count());
                (name, lines.collect::<Vec<_>>())
            })
            .collect::<Vec<_>>()
    };
    let without = planes(&trace());
    assert_eq!(without[0], ("/host:CPU".to_owned(), vec![3]));
    assert!(without.iter().all(|(name, _)| !name.starts_with("/device")));
    let mut launched = Written::new();
    launched.change(ALLOCATE, CHANGE);
    for run in [1, 2] {
        launched.record(20, &[3, run, 0, 3, 1, 20, 30, 40, 0].map(Field::Number));
    }
    let launched = planes(&read(&launched.0[..]).unwrap());
    assert_eq!(launched[1], ("/device:TPU:0".to_owned(), vec![2, 2]));
}

/// The fields of a protobuf message that have bytes.
fn messages(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        if key & 7 == 1 {
            bytes = &bytes[8..];
            continue;
        }
        let value = varint(&mut bytes);
        if key & 7 == 2 {
            let (field, rest) = bytes.split_at(usize::try_from(value).unwrap());
            found.push((key >> 3, field));
            bytes = rest;
        }
    }
    found
}

fn numbers(mut packed: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    while !packed.is_empty() {
        found.push(varint(&mut packed));
    }
    found
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let (&byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}
