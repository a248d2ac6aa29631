//! What happens in the memories between two moments, for tools of the process: a trace in memory.
use super::Memories;
use crate::ledger::Before;
use crate::origin::{ChangeKind, Past};
use crate::trace::{Change, Encoder, Header, Session, Sink as _};
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::units::{Nanos, to_u64};

impl Memories {
    /// Begins a trace in memory, in place of the one before: what lives now, and from now on
    /// each change, launch and step.
    pub fn begin_session(&self, header: &Header<'_>) -> Arc<Session> {
        let mut spaces = self.space_infos();
        let session = self.cores.with(|cores| {
            spaces.extend(cores.iter().cloned());
            let session = Arc::new(Session::new(self.ledger.now(), header, &spaces));
            // A block that comes in between is told twice, and the later telling holds.
            self.ledger.listen(Some(Arc::clone(&session)));
            session
        });
        self.each_live(|change| session.change(change, &self.ledger.names()));
        self.cores.each_live(|change| session.change(change, &self.ledger.names()));
        session
    }

    /// Ends the trace in memory.
    pub fn end_session(&self) {
        self.ledger.listen(None);
    }

    /// Begins to keep all changes; gives the number of the recording, and the time.
    ///
    /// # Errors
    /// `WrongState` in the child of a fork.
    pub fn begin_recording(&self) -> Result<(u64, Nanos)> {
        self.check_not_forked()?;
        // First, so that no change falls between the two: what was before is left out at the end.
        let number = self.ledger().begin_recording();
        let spaces = (0..).zip(&self.heaps);
        let before = spaces.filter_map(|(space, heap)| {
            let (mut blocks, sequence) = heap.live_at();
            blocks.sort_by_key(|block| block.record.origin.time);
            let blocks = (1..).zip(blocks).map(|(sequence, block)| Past {
                kind: ChangeKind::Allocate,
                space,
                sequence,
                address: block.addr,
                size: block.size,
                record: block.record,
            });
            (sequence > 0).then(|| Before { space, sequence, blocks: blocks.collect() })
        });
        self.ledger().precede_recording(number, before.collect());
        Ok((number, self.ledger().now()))
    }

    /// A recording as a trace: the blocks that lived at its beginning as allocations of their own
    /// time, then all changes. It goes on, or ends with this.
    ///
    /// # Errors
    /// `BadArgument` where no recording has the number, `WrongState` in the child of a fork.
    pub fn recording(&self, number: u64, goes_on: bool, header: &Header<'_>) -> Result<Vec<u8>> {
        self.check_not_forked()?;
        let found = match goes_on {
            true => self.ledger().recording(number),
            false => self.ledger().end_recording(number),
        };
        let Some(recording) = found else {
            return Err(Error::bad(format!("there is no recording {number}")));
        };
        let mut encoder = Encoder::default();
        let mut out = Vec::new();
        encoder.start(header, &self.space_infos(), &mut out);
        // Positions go on behind those of the blocks that lived.
        let mut counted = BTreeMap::new();
        for Before { space, sequence, blocks } in &recording.before {
            counted.insert(*space, (*sequence, to_u64(blocks.len())));
        }
        let before = recording.before.iter().flat_map(|before| before.blocks.iter().copied());
        let since = recording.changes.into_iter().filter_map(|past| {
            let &(sequence, blocks) = counted.get(&past.space).unwrap_or(&(0, 0));
            if past.kind == ChangeKind::Refused {
                return Some(past);
            }
            let after = past.sequence.checked_sub(sequence).filter(|&after| after > 0)?;
            Some(Past { sequence: blocks + after, ..past })
        });
        let names = self.ledger().names();
        for past in before.chain(since) {
            if let Some(spec) = self.specs().get(past.record.spec) {
                encoder.change(&Change { past, spec: &spec, free: None }, &names, &mut out);
            }
        }
        Ok(out)
    }
}
