//! Runs that move data to and from their client take turns on a device.
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;
use tpu_base::event::Event;
use tpu_ops::host_transfer;

/// The last such run of each device.
#[derive(Debug, Default)]
pub(super) struct CallbackOrder(Mutex<HashMap<usize, Event>>);

impl CallbackOrder {
    /// Queues a run on its devices that ends with `done`; gives the ends of the runs before it,
    /// but for those that are over.
    ///
    /// A run that is launched from inside of a client's call waits for none: the run that it is
    /// inside of waits for it.
    pub(super) fn take_all(&self, devices: &[usize], done: &Event) -> Vec<Event> {
        if host_transfer::inside() {
            return Vec::new();
        }
        // In one go: two runs that were each before the other would wait forever.
        let mut last = self.0.lock();
        let before = devices.iter().filter_map(|&device| last.insert(device, done.clone()));
        before.filter(|event| !event.is_ready()).collect()
    }

    /// Waits for the runs that are under way, but no longer than `patience` for each device;
    /// whether some are still under way then.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let last: Vec<Event> = self.0.lock().values().cloned().collect();
        last.iter().any(|event| event.wait_for(patience).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl CallbackOrder {
        fn take(&self, device: usize, done: &Event) -> Option<Event> {
            self.take_all(&[device], done).pop()
        }
    }

    #[test]
    fn runs_of_one_device_follow_one_another() {
        let order = CallbackOrder::default();
        let events = [Event::pending(), Event::pending(), Event::pending()];
        assert!(order.take(0, &events[0]).is_none());
        assert!(order.take(1, &events[1]).is_none());
        let before = order.take(0, &events[2]).unwrap();
        events[0].settle(Ok(()));
        assert!(before.is_ready());
        assert!(order.wait(Duration::from_millis(1)));
        events[2].settle(Ok(()));
        events[1].settle(Ok(()));
        assert!(!order.wait(Duration::from_millis(1)));
        assert!(order.take(0, &events[1]).is_none());
    }

    #[test]
    fn a_run_inside_of_a_call_does_not_wait_for_its_caller() {
        let order = CallbackOrder::default();
        let (outer, inner, later) = (Event::pending(), Event::pending(), Event::pending());
        assert!(order.take(0, &outer).is_none());
        assert!(host_transfer::call(|| order.take(0, &inner)).is_none());
        let before = order.take(0, &later).unwrap();
        outer.settle(Ok(()));
        assert!(before.is_ready());
    }
}
