//! The versioned binary record format. `docs/trace-format.md` describes it for readers.
use super::definitions::Definitions;
use super::notes::{ClientEnd, FreeList, Places};
use super::record::{RecordKind, long_number, number, record, text};
use super::{Change, Dispatched, Fault, Names, Operand};
use crate::origin::{ChangeKind, StackId};
use tpu_base::record_sum::RecordSum;
use tpu_base::tensor::Shape;
use tpu_base::units::{Bytes, Nanos, to_u64, to_usize};
use tpu_ops::custom_call::Backend;

/// The first bytes of every trace.
pub const MAGIC: [u8; 8] = *b"TPUEMUTR";
/// A reader refuses another number here.
const FORMAT_MAJOR: u16 = 1;
/// A reader skips the record kinds that it does not know.
const FORMAT_MINOR: u16 = 7;

/// The sign of a client's end that is found in stacks.
const CLEAN_UP: &str = "clean_up of jax/_src/api.py";

/// What a trace says of its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header<'a> {
    /// Process id.
    pub process: u32,
    /// Nanoseconds since 1970 when the machine's clock stood at 0.
    pub started_ns: u64,
    /// Version of this library.
    pub version: &'a str,
    /// The topology, as `TPU_EMU_TOPOLOGY` takes it.
    pub topology: &'a str,
}

/// One memory space of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceInfo {
    /// Number in this trace.
    pub number: u32,
    /// The device whose HBM it is; `None` for other memory.
    pub device: Option<u64>,
    /// `TPU_0` or `host`; of a memory of a SparseCore, `TPU_0 core 0, vector subcore 3`.
    pub owner: String,
    /// `device`, `pinned_host` or `unpinned_host`; of a core `vmem`, `smem`, `vmem_shared` or
    /// `semaphores`.
    pub kind: &'static str,
    /// What can be allocated; 0 where that is not known.
    pub capacity: Bytes,
}

/// A memory space.
pub(super) fn space(space: &SpaceInfo, out: &mut Vec<u8>) {
    record(out, RecordKind::Space, |payload| {
        number(payload, space.number.into());
        number(payload, space.device.map_or(0, |device| device + 1));
        text(payload, &space.owner);
        text(payload, space.kind);
        number(payload, space.capacity.0);
    });
}

/// How full a memory space is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// The space's number.
    pub space: u32,
    /// Sum of the live blocks.
    pub in_use: Bytes,
    /// The most that was in use.
    pub peak: Bytes,
    /// Allocations so far.
    pub allocations: u64,
    /// The largest block that would fit.
    pub largest_hole: Bytes,
}

/// What a writer could not write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// How many changes, custom calls and faults.
    pub records: u64,
    /// The system's number of the error that ended the trace; 0 for none and for another reason.
    pub error: u32,
}

/// Writes records, each definition before its first use.
#[derive(Debug, Default)]
pub struct Encoder {
    known: Definitions,
    /// Sequence of the last change that was written of each space, by its number.
    last: Vec<u64>,
    /// Whether anything was taken since the last sign of a client's end.
    under_way: bool,
}

impl Encoder {
    /// Begins a trace: magic, version, process, memory spaces.
    pub fn start(&self, header: &Header<'_>, spaces: &[SpaceInfo], out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT_MAJOR.to_le_bytes());
        out.extend_from_slice(&FORMAT_MINOR.to_le_bytes());
        record(out, RecordKind::Start, |payload| {
            number(payload, header.process.into());
            number(payload, header.started_ns);
            text(payload, header.version);
            text(payload, header.topology);
        });
        for space in spaces {
            self::space(space, out);
        }
    }

    /// A change in memory.
    pub fn change(&mut self, change: &Change<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        let Change { past, spec, free } = change;
        self.known.spec(spec, out);
        let origin = past.record.origin;
        self.stack(origin.stack, names, out);
        let label = past.record.label;
        self.known.label(label, names, out);
        let kind = match past.kind {
            ChangeKind::Allocate => RecordKind::Allocate,
            ChangeKind::Free => RecordKind::Free,
            ChangeKind::Refused => RecordKind::Refused,
        };
        match past.kind {
            ChangeKind::Allocate => self.under_way = true,
            ChangeKind::Free => {
                if self.under_way && self.known.is_clean_up(origin.stack) {
                    // The free itself is behind the end.
                    self.reach(past.space, past.sequence.saturating_sub(1));
                    let places = self.places();
                    self.client_end(&ClientEnd { why: CLEAN_UP, origin, places }, names, out);
                }
            }
            ChangeKind::Refused => {
                if let Some(free) = free {
                    holes(free, origin.time, out);
                }
            }
        }
        self.reach(past.space, past.sequence);
        record(out, kind, |payload| {
            number(payload, past.space.into());
            number(payload, past.sequence);
            number(payload, past.address.0);
            number(payload, past.size.0);
            number(payload, past.record.spec.into());
            number(payload, origin.stack.0.into());
            number(payload, origin.thread.into());
            number(payload, origin.time.0);
            text(payload, origin.entry);
            number(payload, label.0.into());
        });
    }

    /// The first sign of a client's end; nothing where another was written since the last
    /// allocation.
    pub(super) fn client_end(&mut self, end: &ClientEnd<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.under_way) {
            return;
        }
        let origin = end.origin;
        self.stack(origin.stack, names, out);
        record(out, RecordKind::ClientEnd, |payload| {
            number(payload, origin.time.0);
            number(payload, origin.thread.into());
            number(payload, origin.stack.0.into());
            places(payload, &end.places);
            text(payload, end.why);
        });
    }

    /// How far the changes of each space are written.
    fn places(&self) -> Places {
        let used = (0..).zip(&self.last).filter(|&(_, &last)| last > 0);
        used.map(|(space, &last)| (space, last)).collect()
    }

    /// Notes that a space has come to a change.
    fn reach(&mut self, space: u32, sequence: u64) {
        let at = to_usize(space.into());
        if at >= self.last.len() {
            self.last.resize(at + 1, 0);
        }
        self.last[at] = self.last[at].max(sequence);
    }

    /// Defines what is new of a stack.
    pub(super) fn stack(&mut self, stack: StackId, names: &Names<'_>, out: &mut Vec<u8>) {
        self.known.stack(stack, names, out);
    }

    /// A stage of a custom call. The number of a device's memory space is the device's.
    pub fn dispatched(&mut self, call: &Dispatched, names: &Names<'_>, out: &mut Vec<u8>) {
        let origin = call.origin;
        self.stack(origin.stack, names, out);
        let site = &call.site;
        record(out, RecordKind::Dispatch, |payload| {
            number(payload, to_u64(call.device));
            number(payload, u64::from((call.stage as i32).cast_unsigned()));
            number(payload, call.run.cast_unsigned());
            text(payload, &site.target);
            text(payload, &call.program);
            text(payload, site.line.as_deref().unwrap_or_default());
            arrays(payload, &site.operands, &call.operands);
            arrays(payload, &site.results, &call.results);
            match &site.backend {
                Backend::Attributes(attributes) => {
                    number(payload, to_u64(attributes.0.len()));
                    for (name, value) in &attributes.0 {
                        text(payload, name);
                        text(payload, &value.to_mlir());
                    }
                    text(payload, "");
                }
                Backend::Opaque(opaque) => {
                    number(payload, 0);
                    text(payload, &String::from_utf8_lossy(opaque));
                }
            }
            number(payload, origin.stack.0.into());
            number(payload, origin.thread.into());
            number(payload, origin.time.0);
            text(payload, origin.entry);
            number(payload, call.duration.0);
            number(payload, to_u64(call.scratch.len()));
            for (address, size) in &call.scratch {
                number(payload, address.0);
                number(payload, size.0);
            }
            text(payload, call.error.as_deref().unwrap_or_default());
        });
    }

    /// A call that was refused.
    pub fn fault(&mut self, fault: &Fault<'_>, names: &Names<'_>, out: &mut Vec<u8>) {
        let Fault { message, origin } = fault;
        self.stack(origin.stack, names, out);
        record(out, RecordKind::Fault, |payload| {
            text(payload, message);
            number(payload, origin.stack.0.into());
            number(payload, origin.thread.into());
            number(payload, origin.time.0);
            text(payload, origin.entry);
        });
    }

    /// How full a space is.
    pub fn usage(&self, usage: &Usage, out: &mut Vec<u8>) {
        record(out, RecordKind::Usage, |payload| {
            number(payload, usage.space.into());
            number(payload, usage.in_use.0);
            number(payload, usage.peak.0);
            number(payload, usage.allocations);
            number(payload, usage.largest_hole.0);
        });
    }

    /// The sum over the records before this one, by which a reader finds damage.
    pub fn check(sum: RecordSum, out: &mut Vec<u8>) {
        record(out, RecordKind::Check, |payload| long_number(payload, sum.value()));
    }

    /// What could not be written. The record has one length for all numbers, so that a writer can
    /// put it in the place of an earlier one when it can add nothing to its file.
    pub fn loss(loss: Loss, out: &mut Vec<u8>) {
        record(out, RecordKind::Loss, |payload| {
            long_number(payload, loss.records);
            long_number(payload, loss.error.into());
        });
    }
}

/// The free memory of a space, before the refusal that it explains.
fn holes(free: &FreeList, time: Nanos, out: &mut Vec<u8>) {
    record(out, RecordKind::Holes, |payload| {
        number(payload, free.space.into());
        number(payload, free.sequence);
        number(payload, time.0);
        number(payload, free.asked.0);
        number(payload, free.in_use.0);
        number(payload, free.free.0);
        number(payload, free.holes.first().map_or(0, |&(_, size)| size.0));
        number(payload, free.count);
        number(payload, to_u64(free.holes.len()));
        for &(address, size) in &free.holes {
            number(payload, address.0);
            number(payload, size.0);
        }
        if let Some(launch) = &free.launch {
            text(payload, &launch.program);
            for sizes in [&launch.rest, &launch.before] {
                number(payload, to_u64(sizes.len()));
                sizes.iter().for_each(|size| number(payload, size.0));
            }
            number(payload, to_u64(launch.arguments.len()));
            for argument in &launch.arguments {
                number(payload, argument.number);
                number(payload, argument.address.0);
                number(payload, argument.saves);
            }
        }
    });
}

/// A list of spaces and the sequence of the last change of each.
pub(super) fn places(out: &mut Vec<u8>, places: &[(u32, u64)]) {
    number(out, to_u64(places.len()));
    for &(space, sequence) in places {
        number(out, space.into());
        number(out, sequence);
    }
}

/// Operands or results: type, extents, address plus 1, bytes. Where they lie is not known of an
/// instance.
fn arrays(out: &mut Vec<u8>, shapes: &[Shape], places: &[Operand]) {
    number(out, to_u64(shapes.len()));
    for (at, shape) in shapes.iter().enumerate() {
        let place = places.get(at);
        text(out, shape.dtype.name());
        number(out, to_u64(shape.rank()));
        shape.dims.iter().for_each(|&dim| number(out, to_u64(dim)));
        number(out, place.and_then(|place| place.address).map_or(0, |address| address.0 + 1));
        number(out, place.map_or(0, |place| place.bytes.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::ledger::Ledger;
    use crate::origin::Origin;

    #[test]
    fn a_record_is_kind_length_payload() {
        let mut out = Vec::new();
        Encoder::default()
            .usage(&Usage { space: 3, in_use: Bytes(200), ..Usage::default() }, &mut out);
        assert_eq!(out, [9, 6, 0, 0, 0, 3, 0xc8, 0x01, 0, 0, 0]);
    }

    #[test]
    fn a_loss_takes_the_same_bytes_whatever_its_numbers() {
        let of = |records, error| {
            let mut out = Vec::new();
            Encoder::loss(Loss { records, error }, &mut out);
            out
        };
        let none = [&[13, 20, 0, 0, 0][..], &[0x80; 9], &[0], &[0x80; 9], &[0]].concat();
        assert_eq!(of(0, 0), none);
        assert_eq!(of(200, 28)[5..17], *b"\xc8\x81\x80\x80\x80\x80\x80\x80\x80\x00\x9c\x80");
        assert_eq!(of(u64::MAX, u32::MAX).len(), none.len());
        assert_eq!(of(u64::MAX, 0)[5..15], [&[0xff; 9][..], &[1]].concat());
    }

    #[test]
    fn a_fault_is_its_words_and_who_called() {
        let ledger = Config::plain();
        let ledger = Ledger::new(ledger.stacks, ledger.clock, None, 0);
        let origin = Origin { entry: &"TpuExecutor_Deallocate", ..ledger.origin() };
        let mut out = Vec::new();
        let fault = Fault { message: "twice", origin };
        Encoder::default().fault(&fault, &ledger.names(), &mut out);
        let head = [12, 32, 0, 0, 0];
        assert_eq!(out, [&head[..], b"\x05twice\x00\x00\x00\x16TpuExecutor_Deallocate"].concat());
    }
}
