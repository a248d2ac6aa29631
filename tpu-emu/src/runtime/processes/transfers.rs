//! Clients of other processes, as a program sees them that runs here.
use super::message::{Message, RunId};
use super::table::Processes;
use crate::runtime::emulator::Emulator;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_ops::host_transfer::{Channel, Direction, HostTransfers};

/// The client of a device of another process.
#[derive(Debug)]
pub(super) struct RemoteClient {
    pub(super) machine: Arc<Emulator>,
    pub(super) processes: Arc<Processes>,
    pub(super) process: usize,
    pub(super) run: RunId,
    /// Number of the device among those of its process in the run.
    pub(super) place: usize,
}

impl RemoteClient {
    fn ask(&self, channel: Channel, given: &[u8], bytes: usize) -> Result<Vec<u8>> {
        let (run, place) = (self.run, self.place);
        let Channel { id: channel, direction } = channel;
        let message = |ticket| Message::Ask { ticket, run, place, channel, direction, bytes };
        let (processes, given) = (&self.processes, [given.to_vec()]);
        let answer = self.machine.ask_process(processes, self.process, message, &given)?;
        Ok(answer.into_iter().next().unwrap_or_default())
    }
}

impl HostTransfers for RemoteClient {
    /// Every channel: its own process has checked that.
    fn serves(&self, _: Channel) -> bool {
        true
    }

    fn send(&self, channel: i64, bytes: &[u8]) -> Result<()> {
        self.ask(Channel { id: channel, direction: Direction::ToHost }, bytes, 0).map(drop)
    }

    fn recv(&self, channel: i64, bytes: &mut [u8]) -> Result<()> {
        let channel = Channel { id: channel, direction: Direction::ToDevice };
        let given = self.ask(channel, &[], bytes.len())?;
        if given.len() != bytes.len() {
            let (process, given, wanted) = (self.process, given.len(), bytes.len());
            let message = format!("process {process} gave {given} bytes to a recv of {wanted}");
            return Err(Error::bad(message));
        }
        bytes.copy_from_slice(&given);
        Ok(())
    }
}
