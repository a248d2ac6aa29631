//! Who held what, and when.
use crate::written::{ALLOCATE, CHANGE, Change, FREE, Field, REFUSED, Written};
use tpu_trace::{By, History, Holders, Moment, MomentName, NO_CHANGE, Trace, live, read};

/// Two blocks, the first of which is freed between, and what JAX frees at its end.
fn trace() -> Trace {
    let mut trace = Written::new();
    trace.label(6, "temporaries of jit_f: largest f32[10,10] stablehlo.add at train.py:12");
    let at = |sequence, time| Change { sequence, time, ..CHANGE };
    trace.change(ALLOCATE, Change { size: 8192, ..at(1, 10) });
    trace.change(REFUSED, Change { size: 1 << 50, ..at(0, 15) });
    // Two threads wrote these in the other order.
    trace.change(ALLOCATE, Change { address: 8192, size: 16384, stack: 3, label: 6, ..at(3, 20) });
    trace.change(FREE, Change { size: 8192, ..at(2, 30) });
    trace.change(ALLOCATE, Change { address: 0, size: 512, ..at(4, 40) });
    trace.change(FREE, Change { address: 8192, size: 16384, stack: 2, ..at(5, 50) });
    trace.change(FREE, Change { address: 0, size: 512, stack: 2, ..at(6, 60) });
    trace.change(ALLOCATE, Change { space: 1, size: 64, ..at(1, 5) });
    read(&trace.0[..]).unwrap()
}

fn rows(held: &Holders) -> Vec<(&str, u64, u64)> {
    held.rows.iter().map(|row| (&*row.key, row.size.in_memory, row.blocks)).collect()
}

#[test]
fn changes_stand_by_their_numbers_and_times_rise() {
    let trace = trace();
    let history = History::new(&trace);
    let space = &history.spaces[0];
    let sequences: Vec<_> = space.order.iter().map(|&at| trace.events.at(at).sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5, 6]);
    assert_eq!(space.in_use, [8192, 0, 16384, 16896, 512, 0]);
    assert_eq!(space.times, [10, 30, 30, 40, 50, 60]);
    assert_eq!((space.peak(), space.peak_at, space.missing), (16896, 4, 0));
    assert_eq!((space.time_after(4), space.time_after(0)), (Some(40), None));
    assert_eq!(history.refusals.len(), 1);
}

#[test]
fn the_end_is_where_the_client_begins_to_clean_up() {
    let trace = trace();
    let history = History::new(&trace);
    assert_eq!((history.spaces[0].end_at, history.spaces[1].end_at), (4, 1));
    let of = |moment: &str| {
        let moment: Moment = moment.parse().unwrap();
        Holders::at(&trace, &history, moment, By::Line).total.in_memory
    };
    assert_eq!(
        [of("peak"), of("end"), of("last"), of("30ns"), of("9ns")],
        [16896, 16896, 0, 16384, 0]
    );
}

#[test]
fn an_interpreter_that_ends_lets_go_of_what_the_program_held() {
    let end = |function| {
        let mut written = Written::new();
        written.frame(105, function, "Python/pylifecycle.c", 2081, false);
        written.record(5, &[21, 0, 105].map(Field::Number));
        let at = |sequence, stack| Change { sequence, stack, ..CHANGE };
        written.change(ALLOCATE, at(1, 1)).change(FREE, at(2, 21));
        History::new(&read(&written.0[..]).unwrap()).spaces[0].end_at
    };
    for function in ["Py_FinalizeEx", "_Py_Finalize", "_Py_Finalize.part.0.constprop.0"] {
        assert_eq!(end(function), 1, "{function}");
    }
    assert_eq!(end("_Py_FinalizeEverything"), 2);
}

#[test]
fn blocks_are_summed_up_by_what_they_have_in_common() {
    let trace = trace();
    let history = History::new(&trace);
    let of = |by| Holders::in_space(&trace, &history.spaces[0], Moment::Peak, by);
    assert_eq!(
        rows(&of(By::Line)),
        [("/home/u/train.py:3 main", 16384, 1), ("/home/u/train.py:12 train", 512, 1)]
    );
    assert_eq!(
        rows(&of(By::Function)),
        [("main in /home/u/train.py", 16384, 1), ("train in /home/u/train.py", 512, 1)]
    );
    assert_eq!(rows(&of(By::Executable)), [("jit_f", 16384, 1), ("no program", 512, 1)]);
    assert_eq!(rows(&of(By::Array)), [("f32[10,10]{1,0:T(8,128)}", 16896, 2)]);
    assert_eq!(rows(&of(By::Space)), [("TPU_0", 16896, 2)]);
    assert_eq!(rows(&of(By::Entry)), [("PJRT_Client_BufferFromHostBuffer", 16896, 2)]);
    assert_eq!(of(By::Stack).rows.len(), 2);
    for (name, by) in By::ALL {
        let held = of(by);
        assert_eq!(name.parse(), Ok(by));
        assert_eq!(held.rows.iter().map(|row| row.size.in_memory).sum::<u64>(), 16896, "{name}");
        assert_eq!((held.total.logical, held.total.padding(), held.blocks), (800, 16096, 2));
    }
}

#[test]
fn the_line_is_the_users_before_a_packages_and_jaxs() {
    let mut trace = Written::new();
    trace.frame(200, "update", "/v/lib/python3.11/site-packages/optax/_src/base.py", 8, true);
    trace.frame(201, "wraps", "/usr/lib/python3.11/functools.py", 9, true);
    for (stack, caller, frame) in
        [(30, 0, 200), (31, 30, 201), (32, 31, 100), (33, 0, 100), (34, 0, 104)]
    {
        trace.record(5, &[stack, caller, frame].map(Field::Number));
    }
    for (sequence, stack) in [(1, 32), (2, 33), (3, 34), (4, 0)] {
        trace.change(ALLOCATE, Change { sequence, address: 512 * sequence, stack, ..CHANGE });
    }
    let trace = read(&trace.0[..]).unwrap();
    let history = History::new(&trace);
    let held = Holders::at(&trace, &history, Moment::Last, By::Line);
    let keys: Vec<_> = held.rows.iter().map(|row| &*row.key).collect();
    assert_eq!(
        keys,
        [
            "/v/lib/python3.11/site-packages/optax/_src/base.py:8 update",
            "/v/site-packages/jax/_src/api.py:5 put",
            "no Python frame, malloc in some module",
            "no stack",
        ]
    );
}

#[test]
fn live_blocks_stand_by_their_addresses() {
    let trace = trace();
    let history = History::new(&trace);
    let at = |changes| {
        let places = live(&trace, &history.spaces[0], changes);
        places.into_iter().map(|place| trace.events.at(place).address).collect::<Vec<_>>()
    };
    assert_eq!((at(0), at(1), at(4), at(99)), (vec![], vec![0], vec![0, 8192], vec![]));
}

#[test]
fn gaps_in_the_numbers_are_counted() {
    let mut trace = Written::new();
    for sequence in [1, 2, 5] {
        trace.change(ALLOCATE, Change { sequence, address: 512 * sequence, ..CHANGE });
    }
    let numbers = [0, 7, 8, 9, 10].map(Field::Number);
    let changes = read(&trace.0[..]).unwrap();
    assert_eq!(History::new(&changes).spaces[0].missing, 2);
    trace.record(9, &numbers);
    let snapshot = read(&trace.0[..]).unwrap();
    assert_eq!(History::new(&snapshot).spaces[0].missing, 0);
}

#[test]
fn a_block_that_is_freed_twice_does_not_count_twice() {
    let mut trace = Written::new();
    trace.change(ALLOCATE, CHANGE);
    for sequence in [2, 3] {
        trace.change(FREE, Change { sequence, ..CHANGE });
    }
    let trace = read(&trace.0[..]).unwrap();
    assert_eq!(History::new(&trace).spaces[0].in_use, [512, 0, 0]);
}

#[test]
fn times_are_moments_and_other_words_are_none() {
    let of = |text: &str| text.parse::<Moment>();
    assert_eq!(of("12.5s"), Ok(Moment::Time(12_500_000_000)));
    assert_eq!(of("350ms"), Ok(Moment::Time(350_000_000)));
    assert_eq!(of("80us"), Ok(Moment::Time(80_000)));
    assert_eq!(of("end"), Ok(Moment::End));
    for text in ["", "s", "-1s", "1e3s", "infs", "nans", "12", "1.2.3s", "99999999999s"] {
        let why = of(text).unwrap_err().to_string();
        assert!(why.starts_with(&format!("{text:?} is no moment: ")), "{why}");
    }
    assert_eq!(Moment::Time(12_500_000_000).to_string(), "at 12.500000 s");
}

#[test]
fn marks_refusals_and_the_recorded_end_are_moments() {
    let mut written = Written::new();
    let at = |sequence, time| Change { sequence, time, address: 512 * sequence, ..CHANGE };
    written.change(ALLOCATE, at(1, 10)).mark("step", 11, 1);
    written.change(ALLOCATE, at(2, 20)).mark("step", 21, 2).mark("peak", 22, 2);
    written.record(18, &[0, 1, 23, 1 << 40, 512, 1 << 33, 1 << 33, 1, 0].map(Field::Number));
    written.change(REFUSED, Change { size: 1 << 40, ..at(0, 23) });
    written.change(ALLOCATE, at(3, 30));
    written.change(REFUSED, Change { size: 1 << 40, ..at(0, 31) });
    written.record(
        19,
        &[[25, 3, 1, 1, 0, 2].map(Field::Number).to_vec(), vec![Field::Text("atexit")]].concat(),
    );
    written.change(FREE, Change { address: 512, ..at(4, 40) });
    let trace = read(&written.0[..]).unwrap();
    let history = History::new(&trace);
    let named = |text: &str| {
        let name: MomentName = text.parse().unwrap();
        name.resolve(&trace, history.refusals.len()).map_err(|why| why.to_string())
    };
    let changes = |text: &str| named(text).unwrap().changes(&history.spaces[0]);
    assert_eq!(["step", "step#2", "step#last", "mark:step#1"].map(changes), [1, 2, 2, 1]);
    // A mark that is named like another moment.
    assert_eq!(["peak", "mark:peak"].map(changes), [3, 2]);
    assert_eq!(["refusal", "refusal#2", "end", "last"].map(changes), [1, 3, 2, 4]);
    assert_eq!(history.spaces[1].marks, [0, 0, 0]);
    assert_eq!(
        named("step#3").unwrap_err(),
        "\"step#3\" is no moment of this trace: its marks are step, peak"
    );
    assert_eq!(
        named("refusal#3").unwrap_err(),
        "\"refusal#3\" is no moment of this trace: it has 2 refusals"
    );
    assert_eq!(named("step#2").unwrap().words(&trace), "at the mark step#2");
    let none = read(&Written::new().0[..]).unwrap();
    let name: MomentName = "warm".parse().unwrap();
    assert!(name.resolve(&none, 0).unwrap_err().to_string().starts_with("\"warm\" is no moment: "));
}

#[test]
fn a_clean_up_before_the_recorded_end_is_the_end() {
    let at = |sequence, stack| Change { sequence, stack, address: 512, time: sequence, ..CHANGE };
    let end = |between: &[(u8, u64)]| {
        let mut written = Written::new();
        written.change(ALLOCATE, at(1, 1)).change(FREE, at(2, 2));
        for (sequence, &(kind, stack)) in (3..).zip(between) {
            written.change(kind, at(sequence, stack));
        }
        let last = 2 + between.len() as u64;
        let places = [9, 3, 1, 1, 0, last].map(Field::Number).to_vec();
        written.record(19, &[places, vec![Field::Text("PJRT_Client_Destroy")]].concat());
        History::new(&read(&written.0[..]).unwrap()).spaces[0].end_at
    };
    assert_eq!(end(&[]), 1);
    // The clean-up was that of an earlier client.
    assert_eq!(end(&[(ALLOCATE, 1), (FREE, 1)]), 4);
}

#[test]
fn each_change_knows_the_one_that_it_belongs_to() {
    let history = History::new(&trace());
    assert_eq!(history.spaces[0].partner, [1, 0, 4, 5, 2, 3]);
    assert_eq!(history.spaces[1].partner, [NO_CHANGE]);
}
