//! Traces that are read while they are written.
use crate::written::{ALLOCATE, CHANGE, Change, FREE, Written};
use std::cell::RefCell;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::rc::Rc;
use tpu_trace::{Follower, read};

/// A file to which another one writes.
struct Growing {
    bytes: Rc<RefCell<Vec<u8>>>,
    at: u64,
}

impl Read for Growing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.bytes.borrow();
        let mut there = Cursor::new(&bytes[..]);
        there.set_position(self.at);
        let count = there.read(into)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Growing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { panic!("{to:?}") };
        self.at = at;
        Ok(at)
    }
}

fn written() -> Vec<u8> {
    let mut trace = Written::new();
    trace.change(ALLOCATE, CHANGE);
    trace.label(6, "constants of jit_f");
    trace.change(ALLOCATE, Change { sequence: 2, address: 512, label: 6, ..CHANGE });
    trace.change(FREE, Change { sequence: 3, ..CHANGE });
    trace.0
}

#[test]
fn a_file_that_grows_byte_by_byte_is_read_as_one_that_is_whole() {
    let whole = written();
    let bytes = Rc::new(RefCell::new(Vec::new()));
    let mut follower = Follower::new(Growing { bytes: Rc::clone(&bytes), at: 0 });
    let mut seen = 0;
    for &byte in &whole {
        let count = follower.more().unwrap().map_or(0, |trace| trace.events.len());
        assert!(count >= seen);
        seen = count;
        bytes.borrow_mut().push(byte);
    }
    let expected = read(&whole[..]).unwrap();
    let found = follower.more().unwrap().unwrap();
    assert_eq!(found.header, expected.header);
    let events = |trace: &tpu_trace::Trace| trace.events.iter().collect::<Vec<_>>();
    assert_eq!(events(found), events(&expected));
    assert_eq!(found.labels, expected.labels);
    assert_eq!(follower.position(), whole.len() as u64);
}

#[test]
fn the_room_behind_the_last_record_of_a_mapped_file_is_looked_at_again() {
    let whole = written();
    let bytes = Rc::new(RefCell::new(vec![0; 4096]));
    let mut follower = Follower::new(Growing { bytes: Rc::clone(&bytes), at: 0 });
    bytes.borrow_mut()[..12].copy_from_slice(&whole[..12]);
    // A record's first byte is written last.
    let mut at = 12;
    while at < whole.len() {
        let length = u32::from_le_bytes(whole[at + 1..at + 5].try_into().unwrap());
        let end = at + 5 + usize::try_from(length).unwrap();
        let before = follower.more().unwrap().map_or(0, |trace| trace.events.len());
        bytes.borrow_mut()[at + 1..end].copy_from_slice(&whole[at + 1..end]);
        let half = follower.more().unwrap().map_or(0, |trace| trace.events.len());
        assert_eq!(half, before);
        bytes.borrow_mut()[at] = whole[at];
        at = end;
    }
    assert_eq!(follower.more().unwrap().unwrap().events.len(), 3);
}

#[test]
fn what_is_no_trace_is_refused_by_a_follower_too() {
    let follow = |bytes: &[u8]| Follower::new(Cursor::new(bytes.to_vec()));
    assert!(follow(b"TPUEMU").more().unwrap().is_none());
    let error = follow(b"a text that is no trace").more().unwrap_err();
    assert!(error.to_string().contains("does not begin with TPUEMUTR"), "{error}");
}
