//! The history keeps the last changes, as many as it is told to, in their order.
#![expect(clippy::unwrap_used, reason = "a test may stop anywhere")]

use std::sync::Arc;
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::origin::ChangeKind::{Allocate, Free, Refused};
use tpu_emu::origin::Past;
use tpu_emu::tensor::DType;
use tpu_emu::units::Bytes;
use tpu_emu::{Buffer, Config, Emulator, Memory, MemoryKind, Result};

const HBM: Memory = Memory { device: 0, kind: MemoryKind::Device };

fn machine(history: usize) -> Arc<Emulator> {
    Emulator::new(Config { history, hbm: Some(Bytes(1024)), ..Config::plain() }).unwrap()
}

/// Takes `size` bytes.
fn take(machine: &Arc<Emulator>, size: i64) -> Result<Buffer> {
    let spec = machine.describe(DType::U8, &[size], LayoutRequest::Default)?;
    machine.uninitialized(HBM, spec)
}

#[test]
fn the_last_changes_are_kept_and_the_older_ones_forgotten() {
    let machine = machine(3);
    let first = take(&machine, 1).unwrap();
    let second = take(&machine, 1).unwrap();
    assert!(take(&machine, 1).is_err());
    second.delete();
    first.delete();
    let past = machine.ledger().past();
    let told = |line: &Past| (line.kind, line.address.0, line.size);
    assert_eq!(
        past.iter().map(told).collect::<Vec<_>>(),
        [(Refused, 0, Bytes(512)), (Free, 512, Bytes(512)), (Free, 0, Bytes(512))]
    );
    assert!(past[1].sequence < past[2].sequence);
}

#[test]
fn a_change_is_told_with_its_array_and_none_is_kept_if_none_is_asked_for() {
    let machine = machine(1);
    let array = take(&machine, 7).unwrap();
    let [line] = machine.ledger().past()[..] else { panic!("one change") };
    assert_eq!((line.kind, line.record.spec), (Allocate, array.spec().number));

    let forgetful = self::machine(0);
    take(&forgetful, 7).unwrap().delete();
    assert_eq!(forgetful.ledger().past(), []);
}
