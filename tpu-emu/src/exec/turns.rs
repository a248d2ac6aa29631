//! Runs that move data to and from their client take turns on a device.
use crate::event::Event;
use crate::host_transfer;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The last such run of each device.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<usize, Event>>);

impl Turns {
    /// Queues a run that ends with `done`; gives the end of the one before it, unless that is
    /// over.
    ///
    /// A run that is launched from inside of a client's call has no turn: the run that it is
    /// inside of waits for it.
    pub(crate) fn take(&self, device: usize, done: &Event) -> Option<Event> {
        self.take_all(&[device], done).pop()
    }

    /// Queues a run on several devices at once; gives the ends of those before it.
    pub(crate) fn take_all(&self, devices: &[usize], done: &Event) -> Vec<Event> {
        if host_transfer::inside() {
            return Vec::new();
        }
        // In one go: two runs that each had a turn before the other would wait forever.
        let mut last = self.0.lock();
        let before = devices.iter().filter_map(|&device| last.insert(device, done.clone()));
        before.filter(|event| !event.is_ready()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_device_follow_one_another() {
        let turns = Turns::default();
        let events = [Event::pending(), Event::pending(), Event::pending()];
        assert!(turns.take(0, &events[0]).is_none());
        assert!(turns.take(1, &events[1]).is_none());
        let before = turns.take(0, &events[2]).unwrap();
        events[0].settle(Ok(()));
        assert!(before.is_ready());
        events[2].settle(Ok(()));
        assert!(turns.take(0, &events[1]).is_none());
    }

    #[test]
    fn a_run_inside_of_a_call_does_not_wait_for_its_caller() {
        let turns = Turns::default();
        let (outer, inner, later) = (Event::pending(), Event::pending(), Event::pending());
        assert!(turns.take(0, &outer).is_none());
        assert!(host_transfer::call(|| turns.take(0, &inner)).is_none());
        let before = turns.take(0, &later).unwrap();
        outer.settle(Ok(()));
        assert!(before.is_ready());
    }
}
