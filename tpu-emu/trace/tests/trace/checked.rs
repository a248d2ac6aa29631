//! Traces with sums over their records, damaged.
use crate::written::{ALLOCATE, CHANGE, Change, FREE, Field, Written};
use tpu_base::record_sum::RecordSum;
use tpu_trace::{Trace, read};

/// Bytes before the first record.
const BEGIN: usize = 12;
const CHECK: u8 = 23;

/// Adds the sum over all records so far.
fn check(trace: &mut Written) {
    let mut sum = RecordSum::default();
    sum.bytes(&trace.0[..BEGIN]);
    sum.records(&trace.0[BEGIN..]);
    trace.record(CHECK, &[Field::Long(sum.value())]);
}

/// Two blocks and a free, a sum behind each.
fn summed() -> Vec<u8> {
    let mut trace = Written::new();
    trace.record(13, &[Field::Long(0), Field::Long(0)]);
    trace.change(ALLOCATE, CHANGE);
    check(&mut trace);
    trace.change(ALLOCATE, Change { sequence: 2, address: 8192, ..CHANGE });
    check(&mut trace);
    trace.change(FREE, Change { sequence: 3, ..CHANGE });
    check(&mut trace);
    trace.0
}

/// What is said of a trace, but for the damage.
fn said(trace: &Trace) -> String {
    format!("{:?}", Trace { damaged: None, ..trace.clone() })
}

#[test]
fn what_was_not_damaged_is_not_said_to_be() {
    let trace = read(&summed()[..]).unwrap();
    assert_eq!((trace.damaged, trace.is_cut, trace.events.len()), (None, false, 3));
}

#[test]
fn every_changed_byte_that_changes_what_is_read_is_told() {
    let whole = summed();
    let expected = said(&read(&whole[..]).unwrap());
    let mut told = 0;
    for at in 0..whole.len() {
        for bits in 1..=u8::MAX {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            let Ok(trace) = read(&damaged[..]) else { continue };
            let is_told = trace.damaged.is_some() || trace.is_cut || trace.loss.is_some();
            assert!(is_told || said(&trace) == expected, "byte {at}, bits {bits:#x}");
            told += usize::from(trace.damaged.is_some());
        }
    }
    assert!(told > 10_000, "{told}");
}

#[test]
fn damage_is_between_the_sums_around_it_and_what_follows_is_sound() {
    let whole = summed();
    let mut sums = Vec::new();
    let mut at = BEGIN;
    while at < whole.len() {
        let length = u32::from_le_bytes(whole[at + 1..at + 5].try_into().unwrap());
        let end = at + 5 + usize::try_from(length).unwrap();
        if whole[at] == CHECK {
            sums.push((at, end as u64));
        }
        at = end;
    }
    let [(_, first), (second_at, second), ..] = sums[..] else { panic!("{sums:?}") };
    let in_second = usize::try_from(first).unwrap() + 5;
    let mut damaged = whole.clone();
    // The sequence of the second change.
    damaged[in_second + 1] = 9;
    assert_eq!(read(&damaged[..]).unwrap().damaged, Some((first, second)));
    // All of the second change is gone.
    let gone = second_at as u64 - first;
    let cut = [&whole[..in_second - 5], &whole[second_at..]].concat();
    assert_eq!(read(&cut[..]).unwrap().damaged, Some((first, second - gone)));
}
