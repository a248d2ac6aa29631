//! Arrays that go from a device of one process to a device of another, without a program.
use super::message::{ArrayId, Message};
use super::table::{CameArray, ExpectedArray, Processes, gone};
use crate::buffer::Buffer;
use crate::hbm::spec::ArraySpec;
use crate::memory::Memory;
use crate::runtime::emulator::Emulator;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;
use tpu_base::error::{Code, Error, Result};
use tpu_base::event::Event;
use tpu_base::units::to_u64;

impl Emulator {
    /// Sends arrays to `device`, which is of another process and is to take them with
    /// [`Emulator::receive_arrays`], under the same keys. Gives when each has left. They are read
    /// as they are now: a buffer may be deleted or donated meanwhile.
    ///
    /// # Errors
    /// `BadArgument` for deleted buffers, a device of this process, or as many keys as there are
    /// no arrays; `WrongState` for a process that is not connected to others. As the error of an
    /// event: the buffer's, and `Unavailable` where the process is gone.
    pub fn send_arrays(
        self: &Arc<Self>,
        buffers: &[Arc<Buffer>],
        device: usize,
        keys: &[i64],
    ) -> Result<Vec<Event>> {
        let (processes, to) = self.partner(device, buffers.len(), keys)?;
        let mut sent = Vec::with_capacity(buffers.len());
        for (number, (buffer, &key)) in buffers.iter().zip(keys).enumerate() {
            let (read, bytes) = buffer.elements()?;
            let id = ArrayId { device: to_u64(device), key, number: to_u64(number) };
            let (form, processes) = (form_of(buffer.spec()), Arc::clone(&processes));
            let left = Event::pending();
            sent.push(left.clone());
            self.workers.run_dedicated(left, move || {
                let failed = read.wait().err();
                let bytes = std::mem::take(&mut *bytes.lock());
                let arrays = if failed.is_none() { vec![bytes] } else { Vec::new() };
                let message = Message::Array { id, form, failed: failed.clone() };
                processes.send(to, &message, &arrays)?;
                failed.map_or(Ok(()), Err)
            });
        }
        Ok(sent)
    }

    /// Buffers for arrays that the process of device `from` sends to the device of `memory`. Each
    /// is ready once its array has come.
    ///
    /// # Errors
    /// As for [`Emulator::send_arrays`], and `OutOfMemory`. As the error of a buffer: the sender's,
    /// `BadArgument` for an array of another form, `Unavailable` where the process is gone, and
    /// `DeadlineExceeded` after [`Emulator::hosts_timeout`].
    pub fn receive_arrays(
        self: &Arc<Self>,
        memory: Memory,
        specs: Vec<Arc<ArraySpec>>,
        from: usize,
        keys: &[i64],
    ) -> Result<Vec<Arc<Buffer>>> {
        let (processes, sender) = self.partner(from, specs.len(), keys)?;
        let manager = Arc::new(self.begin_transfer(memory, specs.clone())?);
        let (mut buffers, mut awaited) = (Vec::with_capacity(specs.len()), Vec::new());
        for (number, (spec, &key)) in specs.into_iter().zip(keys).enumerate() {
            let buffer = manager.retrieve(number)?;
            let id = ArrayId { device: to_u64(memory.device), key, number: to_u64(number) };
            let manager = Arc::clone(&manager);
            processes.expect_array(id, ExpectedArray { from: sender, manager, number, spec });
            if !buffer.ready_event().is_ready() {
                awaited.push((id, buffer.ready_event().clone()));
            }
            buffers.push(buffer);
        }
        if !awaited.is_empty() {
            let patience = self.hosts_timeout();
            self.workers.run_dedicated(Event::pending(), move || {
                processes.watch_arrays(awaited, patience);
                Ok(())
            });
        }
        Ok(buffers)
    }

    /// The process of a device that arrays go to or come from.
    fn partner(
        &self,
        device: usize,
        count: usize,
        keys: &[i64],
    ) -> Result<(Arc<Processes>, usize)> {
        self.check_not_forked()?;
        if keys.len() != count {
            return Err(Error::bad(format!("{} keys for {count} arrays", keys.len())));
        }
        let all = self.topology().devices();
        let info = all.get(device).ok_or_else(|| Error::bad(format!("no device {device}")))?;
        let Some(joined) = self.processes.get() else {
            return Err(Error::WrongState(format!(
                "{info} is of process {}, to which this one is not connected: call \
                 jax.distributed.initialize in each before the devices are first asked for",
                info.process_index
            )));
        };
        let processes = Arc::clone(joined.as_ref().map_err(Clone::clone)?);
        let process = usize::try_from(info.process_index).unwrap_or(0);
        if process == processes.me {
            return Err(Error::bad(format!("{info} is of this process: copy the array instead")));
        }
        Ok((processes, process))
    }
}

impl Processes {
    /// Takes an array that has come.
    pub(super) fn take_array(&self, id: ArrayId, came: CameArray) {
        let expected = {
            let mut state = self.lock();
            let expected = state.expected.remove(&id);
            if expected.is_none() {
                state.came.insert(id, came);
                return;
            }
            expected.map(|expected| (expected, came))
        };
        if let Some((expected, came)) = expected {
            fill(expected, &came);
        }
    }

    /// Says that an array is to come.
    fn expect_array(&self, id: ArrayId, expected: ExpectedArray) {
        let mut state = self.lock();
        if let Some(came) = state.came.remove(&id) {
            drop(state);
            return fill(expected, &came);
        }
        if let Some(why) = state.lost.get(&expected.from) {
            let error = gone(expected.from, why);
            drop(state);
            return expected.fail(error);
        }
        match state.expected.entry(id) {
            Entry::Vacant(place) => drop(place.insert_entry(expected)),
            Entry::Occupied(_) => {
                drop(state);
                let (device, key) = (id.device, id.key);
                let message = format!("device {device} waits for an array with key {key} already");
                expected.fail(Error::bad(message));
            }
        }
    }

    /// Fails arrays that do not come in time.
    fn watch_arrays(&self, awaited: Vec<(ArrayId, Event)>, patience: Duration) {
        let mut left = patience;
        for (id, came) in awaited {
            if came.wait_for(left).is_some() {
                continue;
            }
            // All of them have waited as long.
            left = Duration::ZERO;
            let expected = self.lock().expected.remove(&id);
            let Some(expected) = expected else { continue };
            let (from, device, form) = (expected.from, id.device, form_of(&expected.spec));
            let message = format!(
                "{form} for device {device}: after {patience:?} process {from} of the slice had \
                 not sent it"
            );
            let code = Code::DeadlineExceeded;
            expected.fail(Error::Verbatim { code, message: message.into() });
        }
    }
}

/// Writes an array that has come to its device.
fn fill(expected: ExpectedArray, came: &CameArray) {
    let (wanted, from) = (form_of(&expected.spec), expected.from);
    let written = came.bytes.as_ref().map_err(Clone::clone).and_then(|bytes| {
        if (came.from, &came.form) != (from, &wanted) {
            let (sender, form) = (came.from, &came.form);
            return Err(Error::bad(format!(
                "process {sender} sent {form}, where process {from} was to send {wanted}"
            )));
        }
        expected.manager.write_array(expected.number, &expected.spec, (**bytes).as_ref())
    });
    if let Err(error) = written {
        expected.fail(error);
    }
}

/// Type and shape of an array, whatever its layout.
fn form_of(spec: &ArraySpec) -> String {
    let dims: Vec<String> = spec.dims.iter().map(u64::to_string).collect();
    format!("{}[{}]", spec.dtype.name(), dims.join(","))
}
