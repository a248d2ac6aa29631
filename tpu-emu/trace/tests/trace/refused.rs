//! Replays in other memories, and what is said of a refusal.
use crate::written::{ALLOCATE, CHANGE, Change, FREE, Field, REFUSED, Written};
use tpu_trace::{
    Autopsy, By, History, Holes, Memory, Moment, Remedy, Replay, Target, Trace, autopsy, fit,
    leaks, lifetimes, padding, read, reduced, steps,
};

const MIB: u64 = 1 << 20;

/// A trace of a device of 16 MiB.
fn small() -> Written {
    let mut trace = Written::new();
    trace.space(5, 8, "TPU_7", "device", 16 * MIB);
    trace
}

fn change(sequence: u64, address: u64, size: u64, stack: u64) -> Change {
    let (address, size) = (address * MIB, size * MIB);
    Change { space: 5, sequence, address, size, stack, time: 10 * sequence, ..CHANGE }
}

/// Four blocks of two lines beside each other, of which the first of each is freed: holes of 4 MiB
/// at 0 and of 4 MiB at 8, behind the other two nothing.
fn fragmented() -> Written {
    let mut trace = small();
    for (at, stack) in [(0, 1), (1, 3), (2, 1), (3, 3)] {
        trace.change(ALLOCATE, change(at + 1, 4 * at, 4, stack));
    }
    trace.change(FREE, change(5, 0, 4, 1));
    trace.change(FREE, change(6, 8, 4, 1));
    trace
}

fn found(written: &Written) -> (Trace, Autopsy) {
    let trace = read(&written.0[..]).unwrap();
    let history = History::new(&trace);
    let found = autopsy(&trace, &history, 0).unwrap();
    (trace, found)
}

fn helps(of: &Autopsy, wanted: impl Fn(&Remedy) -> bool) -> Option<bool> {
    of.advice.iter().find(|advice| wanted(&advice.remedy)).map(|advice| advice.helps)
}

#[test]
fn blocks_lie_in_a_memory_where_they_lay() {
    let mut written = small();
    written.change(ALLOCATE, change(1, 4, 4, 1)).change(ALLOCATE, change(2, 10, 1, 3));
    let trace = read(&written.0[..]).unwrap();
    let memory = Memory::with(&trace, &[0, 1], 16 * MIB, 512).unwrap();
    let holes: Vec<_> = memory.holes().map(|(at, size)| (at / MIB, size / MIB)).collect();
    assert_eq!(holes, [(0, 4), (8, 2), (11, 5)]);
    assert!(memory.has_room(&[4 * MIB, 5 * MIB]));
    assert!(!memory.has_room(&[5 * MIB, 5 * MIB]));
    assert!(Memory::with(&trace, &[0, 1], 10 * MIB, 512).is_none());
    assert!(Memory::with(&trace, &[0, 0], 16 * MIB, 512).is_none());
}

#[test]
fn a_refusal_says_who_holds_what_and_what_opens_a_hole() {
    let mut written = fragmented();
    written.change(REFUSED, change(0, 0, 6, 1));
    let (_, found) = found(&written);
    assert_eq!(
        (found.asked, found.in_use, found.free, found.holes),
        (6 * MIB, 8 * MIB, 8 * MIB, 2)
    );
    let rows: Vec<_> = found.holders.iter().map(|row| (&*row.key, row.blocks)).collect();
    assert_eq!(rows, [("/home/u/train.py:3 main", 2)]);
    let hole = found.largest_hole.as_ref().unwrap();
    assert_eq!((hole.address, hole.size, hole.below.is_none()), (0, 4 * MIB, true));
    assert_eq!(hole.above.as_ref().unwrap().line, "/home/u/train.py:3 main");
    assert_eq!(helps(&found, |remedy| *remedy == Remedy::Defragment), Some(true));
    assert_eq!(helps(&found, |remedy| matches!(remedy, Remedy::Free { .. })), Some(true));
    assert_eq!(helps(&found, |remedy| matches!(remedy, Remedy::Donate { .. })), None);
    let text = found.text();
    assert!(text.starts_with("TPU_7: 8.00 MiB of 16.0 MiB in use, 8.00 MiB free in 2 holes; "));
    assert!(text.contains("\nlargest hole: 4.00 MiB at 0x0, between\n  the start of TPU_7\n"));
    assert!(found.careful.is_empty(), "{:?}", found.careful);
}

#[test]
fn what_no_program_can_move_stays_where_it_is() {
    // 4 MiB are free below a program's constants and 3 above, where an array of 5 lies.
    let with = |label: &str, moved: u64| {
        let mut written = small();
        written.label(6, label);
        written.change(ALLOCATE, change(1, 0, 4, 1));
        written.change(ALLOCATE, Change { label: 6, ..change(2, 4, 4, 1) });
        written.change(ALLOCATE, change(3, 8, 3, 1)).change(ALLOCATE, change(4, 11, 5, 3));
        written.change(FREE, change(5, 0, 4, 1)).change(FREE, change(6, 8, 3, 1));
        written.change(REFUSED, change(0, 0, moved, 1));
        let (_, found) = found(&written);
        let advice = found.advice.into_iter().find(|of| of.remedy == Remedy::Defragment).unwrap();
        (advice.helps, advice.words)
    };
    let (helps, words) = with("constants of jit_f", 6);
    assert!(!helps && words.contains("of the 7.00 MiB that are free 4.00 MiB might be"), "{words}");
    assert!(with("result 0 of jit_f: stablehlo.add at train.py:3", 6).0);
    assert!(with("constants of jit_f", 4).0);
}

#[test]
fn a_program_that_needs_more_than_its_blocks_is_counted() {
    let mut written = fragmented();
    let program = [7, 0].map(Field::Number);
    let sizes = [0, 0, 4 * MIB, 4 * MIB, 0, 1].map(Field::Number);
    let needed = Field::Number(16 * MIB + 1);
    let record = [&program[..1], &[Field::Text("jit_f")], &sizes[..], &[needed]].concat();
    written.record(17, &record);
    // It ran on another device, and then on that of the space.
    let launch = |device: u64| [7, 1, device, 3, 1, 1, 2, 3, 0].map(Field::Number);
    written.record(20, &launch(1));
    let of = |written: &Written, capacity| {
        let trace = read(&written.0[..]).unwrap();
        fit(&trace, &History::new(&trace), &Target::with_capacity(capacity))
    };
    assert_eq!(of(&written, 16 * MIB).smallest, Some(16 * MIB));
    written.record(20, &launch(2));
    let found = of(&written, 16 * MIB);
    let program = found.spaces[0].program.as_ref().unwrap();
    assert_eq!((&*program.name, program.needed), ("jit_f", 16 * MIB + 1));
    assert!(!found.fits && found.spaces[0].refused.is_none());
    assert_eq!(found.smallest, Some(16 * MIB + 512));
    assert!(of(&written, 16 * MIB + 512).fits);
}

#[test]
fn changes_that_lie_elsewhere_when_they_are_made_again_are_told() {
    let mut written = small();
    written.change(ALLOCATE, change(1, 4, 4, 1));
    let trace = read(&written.0[..]).unwrap();
    let found = fit(&trace, &History::new(&trace), &Target::with_capacity(16 * MIB));
    assert!(found.careful[0].starts_with("made again, the changes of TPU_7 lie elsewhere "));
    let trace = read(&fragmented().0[..]).unwrap();
    let found = fit(&trace, &History::new(&trace), &Target::with_capacity(16 * MIB));
    assert_eq!(found.careful, [""; 0]);
}

#[test]
fn the_largest_holder_is_not_named_as_a_remedy_where_its_blocks_open_no_hole() {
    // Line 12 holds 7 MiB in blocks of 1 MiB that stand between those of line 3.
    let mut written = small();
    let mut at = 0;
    for (number, (size, stack)) in (1..).zip([(1, 1), (1, 3)].into_iter().cycle().take(14)) {
        written.change(ALLOCATE, change(number, at, size, stack));
        at += size;
    }
    // A line that holds less, at the end.
    written.label(6, "result 0 of jit_f: stablehlo.add at train.py:3");
    written.change(ALLOCATE, Change { label: 6, ..change(15, 14, 2, 2) });
    written.change(REFUSED, change(0, 0, 2, 1));
    let (_, found) = found(&written);
    assert_eq!(found.free, 0);
    let [first, others @ ..] = &found.advice[..] else { panic!("{found:?}") };
    let Remedy::Free { lines } = &first.remedy else { panic!("{first:?}") };
    assert_eq!((lines.len(), &*lines[0].key), (1, "/v/site-packages/jax/_src/api.py:900 clean_up"));
    assert!(first.helps && first.words.starts_with("freed before: 2.00 MiB in 1 block of "));
    let larger = others.iter().find(|advice| matches!(advice.remedy, Remedy::Free { .. })).unwrap();
    assert!(!larger.helps && larger.words.ends_with("would not open a hole"), "{larger:?}");
    assert_eq!(helps(&found, |remedy| *remedy == Remedy::Defragment), Some(false));
}

#[test]
fn several_lines_are_named_where_one_is_not_enough() {
    let mut written = small();
    for (at, stack) in [(0, 1), (1, 3), (2, 2), (3, 2)] {
        written.change(ALLOCATE, change(at + 1, 4 * at, 4, stack));
    }
    written.label(6, "temporaries of jit_f: largest f32[1] stablehlo.add at train.py:3");
    written.change(FREE, change(5, 12, 4, 2));
    written.change(ALLOCATE, Change { label: 6, ..change(6, 12, 4, 2) });
    written.change(REFUSED, change(0, 0, 8, 1));
    let (_, found) = found(&written);
    let Remedy::Free { lines } = &found.advice[0].remedy else { panic!("{found:?}") };
    let keys: Vec<_> = lines.iter().map(|row| &*row.key).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys.contains(&"/home/u/train.py:3 main"), "{keys:?}");
}

/// A refusal in a launch: argument 0 is the block at 0, argument 1 that at 4, and the launch asks
/// for 4 MiB more behind what was refused.
fn in_launch(written: &mut Written, saves: [u64; 2]) {
    let number = |number: u64| Field::Number(number);
    let mut fields: Vec<Field<'_>> =
        [5, 9, 25, 4 * MIB, 8 * MIB, 4 * MIB, 4 * MIB, 1, 0].map(number).to_vec();
    fields.push(Field::Text("jit_f"));
    fields.extend([1, 4 * MIB, 0].map(number));
    fields.extend([2, 0, 0, saves[0], 1, 4 * MIB, saves[1]].map(number));
    written.record(18, &fields);
    written.change(REFUSED, change(0, 0, 4, 1));
}

#[test]
fn a_donation_helps_where_what_the_launch_asks_for_behind_it_finds_room_too() {
    let full = |count: u64| {
        let mut written = small();
        for at in 0..count {
            written.change(ALLOCATE, change(at + 1, 4 * at, 4, 1 + 2 * (at % 2)));
        }
        written
    };
    // One hole of 4 MiB is left for the rest.
    let mut one_left = full(3);
    in_launch(&mut one_left, [1, 0]);
    let (_, one) = found(&one_left);
    let donated = one.advice.iter().find(|advice| matches!(advice.remedy, Remedy::Donate { .. }));
    let Remedy::Donate { arguments } = &donated.unwrap().remedy else { panic!() };
    assert_eq!((arguments.len(), arguments[0].argument, donated.unwrap().helps), (1, 0, true));
    assert_eq!(&*arguments[0].line, "/home/u/train.py:12 train");
    // None is left: one donation is not enough, two are.
    let mut none_left = full(4);
    in_launch(&mut none_left, [1, 0]);
    let (_, none) = found(&none_left);
    assert_eq!(helps(&none, |remedy| matches!(remedy, Remedy::Donate { .. })), Some(false));
    let mut both = full(4);
    in_launch(&mut both, [1, 2]);
    let (_, both) = found(&both);
    let advice = both.advice.iter().find(|advice| matches!(advice.remedy, Remedy::Donate { .. }));
    let Remedy::Donate { arguments } = &advice.unwrap().remedy else { panic!() };
    assert_eq!((arguments.len(), advice.unwrap().helps), (2, true));
    // What a launch is given cannot be freed before it.
    let freed = both.advice.iter().find_map(|advice| match &advice.remedy {
        Remedy::Free { lines } => Some((lines.iter().map(|row| row.blocks).sum(), advice.helps)),
        _ => None,
    });
    assert_eq!(freed, Some((2_u64, true)));
}

#[test]
fn a_replay_finds_the_least_memory_and_the_first_that_has_no_room() {
    let trace = read(&fragmented().0[..]).unwrap();
    let history = History::new(&trace);
    let replay = Replay::new(&trace, &history, 2, 512);
    assert_eq!(replay.smallest_from(0), Some(16 * MIB));
    let refused = replay.first_refusal(16 * MIB - 512).unwrap();
    assert_eq!((refused.place, refused.changes, refused.in_use), (3, 3, 12 * MIB));
    assert_eq!((refused.asked, refused.largest_hole), (4 * MIB, 4 * MIB - 512));
    // A refusal counts too.
    let mut written = fragmented();
    written.change(REFUSED, change(0, 0, 6, 1));
    let trace = read(&written.0[..]).unwrap();
    let history = History::new(&trace);
    let of = |capacity| fit(&trace, &history, &Target::with_capacity(capacity));
    let least = of(16 * MIB).smallest.unwrap();
    assert_eq!(least, 22 * MIB);
    assert!(of(least).fits && !of(least - 1).fits);
    let refused = of(least - 512).spaces[0].refused.clone().unwrap();
    assert_eq!((&*refused.line, refused.asked), ("/home/u/train.py:12 train", 6 * MIB));
    assert_eq!(of(least).careful.len(), 1);
}

#[test]
fn a_topology_is_a_target_and_what_is_none_is_refused() {
    let trace = read(&fragmented().0[..]).unwrap();
    let history = History::new(&trace);
    let target = Target::of_topology("v5p:2x2x1").unwrap();
    let there = fit(&trace, &history, &target);
    assert!(there.fits && there.capacity > 90 << 30, "{there:?}");
    // It has four devices, and the trace's is the eighth.
    assert_eq!(there.careful.len(), 1, "{:?}", there.careful);
    let other_tiles = fit(&trace, &history, &Target::of_topology("v3:2x2").unwrap());
    assert!(other_tiles.careful[0].starts_with("arrays lie in other tiles there"));
    assert!(Target::of_topology("v9:1x1").is_err());
}

#[test]
fn holes_have_their_neighbours() {
    let trace = read(&fragmented().0[..]).unwrap();
    let history = History::new(&trace);
    let of = (&trace.spaces[2], &history.spaces[2]);
    let holes = Holes::at(&trace, of, 6, 1);
    assert_eq!((holes.free, holes.largest, holes.count), (8 * MIB, 4 * MIB, 2));
    assert_eq!(holes.list.len(), 1);
    let second = &Holes::at(&trace, of, 6, 9).list[1];
    let ends = [&second.below, &second.above].map(|side| side.as_ref().unwrap().address / MIB);
    assert_eq!((second.address / MIB, ends), (8, [4, 12]));
    assert_eq!(Holes::at(&trace, of, 0, 9).list[0].size, 16 * MIB);
}

#[test]
fn padding_is_told_with_what_avoids_it_by_the_rules_of_layouts() {
    let mut written = small();
    // f32[10,10] takes 8 KiB of 400 bytes; as one line of 100 it takes 512.
    let size = 8192;
    for sequence in [1, 2] {
        let address = size * sequence;
        written.change(ALLOCATE, Change { address, size, ..change(sequence, 0, 0, 1) });
    }
    let trace = read(&written.0[..]).unwrap();
    let rows = padding(&trace, &[0, 1]);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.blocks, row.in_memory, row.logical, row.padding()), (2, 16384, 800, 15584));
    let instead = row.instead.as_ref().unwrap();
    assert_eq!((&*instead.array, &*instead.how), ("f32[100]{0:T(128)}", "reshape(-1)"));
    assert_eq!((instead.padded, row.saves), (512, 16384 - 1024));
}

#[test]
fn lifetimes_end_with_the_free() {
    let trace = read(&fragmented().0[..]).unwrap();
    let history = History::new(&trace);
    let rows = lifetimes(&trace, &history, By::Line);
    let row = rows.iter().find(|row| row.key.ends_with(" train")).unwrap();
    assert_eq!((row.blocks, row.bytes, row.kept), (2, 8 * MIB, 0));
    assert_eq!((row.median, row.longest), (Some(40), Some(40)));
    let kept = rows.iter().find(|row| row.key.ends_with(" main")).unwrap();
    assert_eq!((kept.kept, kept.median), (2, None));
}

#[test]
fn fewer_points_keep_the_peak_and_both_ends() {
    let mut written = small();
    for number in 0..2000 {
        let size = if number == 777 { 3 * MIB } else { 512 };
        let of = Change { address: 0, size, ..change(2 * number + 1, 0, 0, 1) };
        written.change(ALLOCATE, of);
        written.change(FREE, Change { sequence: 2 * number + 2, ..of });
    }
    let trace = read(&written.0[..]).unwrap();
    let space = &History::new(&trace).spaces[2];
    let all: Vec<_> = steps(space).collect();
    assert_eq!((all.len(), all[0].in_use, all[3999].in_use), (4000, 512, 0));
    let few = reduced(space, 100);
    assert!(few.len() <= 100 && few.is_sorted_by_key(|point| point.changes), "{}", few.len());
    assert_eq!(few.iter().map(|point| point.in_use).max(), Some(3 * MIB));
    assert_eq!((few[0], few[few.len() - 1]), (all[0], all[3999]));
    assert_eq!(reduced(space, 4000), all);
}

#[test]
fn a_leak_is_what_was_taken_between_two_marks_and_still_lives() {
    let mut written = small();
    written.change(ALLOCATE, change(1, 0, 1, 1));
    let mark = |written: &mut Written, name, sequence| {
        let [stack, thread, time, one, space] = [1, 3, 9, 1, 5].map(Field::Number);
        let sequence = Field::Number(sequence);
        written.record(16, &[Field::Text(name), stack, thread, time, one, space, sequence]);
    };
    mark(&mut written, "from", 1);
    written.change(ALLOCATE, change(2, 1, 1, 1)).change(ALLOCATE, change(3, 2, 1, 1));
    written.change(FREE, change(4, 1, 1, 1));
    mark(&mut written, "to", 4);
    written.change(ALLOCATE, change(5, 1, 1, 1));
    let trace = read(&written.0[..]).unwrap();
    let history = History::new(&trace);
    let of = |from, to| leaks(&trace, &history, from, to);
    assert_eq!(of(Moment::Mark(0), Moment::Mark(1)), [2]);
    assert_eq!(of(Moment::Mark(0), Moment::Last), [4, 2]);
    assert_eq!(of(Moment::Mark(1), Moment::Mark(0)), [0_u32; 0]);
}
