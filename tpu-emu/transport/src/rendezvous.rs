//! Who is there: the numbers of the processes, each taken once, and none missing.
use std::fmt::{self, Write as _};
use std::thread;
use std::time::{Duration, Instant};
use tpu_base::error::{Code, Error, Result};

/// Keys and values that all processes of a slice reach.
pub trait Store: fmt::Debug {
    /// Sets the value of a key that has none.
    ///
    /// # Errors
    /// `AlreadyExists` for a key that has one, and what the store says.
    fn put(&self, key: &str, value: &str) -> Result<()>;

    /// The value of a key; `None` while it has none.
    ///
    /// # Errors
    /// What the store says.
    fn get(&self, key: &str) -> Result<Option<String>>;
}

/// A process that joins its slice.
#[derive(Debug)]
pub struct Member<'a> {
    /// Where the processes meet.
    pub store: &'a dyn Store,
    /// The number of this one.
    pub me: usize,
    /// How many there are.
    pub count: usize,
    /// How long it waits for the others.
    pub patience: Duration,
}

/// How long a process waits before it asks again, at first and at most.
const NAPS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(100)];

impl Member<'_> {
    /// Says that this process is there, with what the others need to reach it.
    ///
    /// # Errors
    /// `AlreadyExists` where another process has the number, which hears of it too.
    pub fn arrive(&self, address: &str) -> Result<()> {
        let (me, pid) = (self.me, std::process::id());
        match self.store.put(&present(me), &format!("{pid} {address}")) {
            Err(error) if error.code() == Code::AlreadyExists => {
                let other = self.store.get(&present(me))?.unwrap_or_default();
                let other = other.split(' ').next().unwrap_or_default().to_owned();
                // A third one finds the key taken, and knows all the same.
                if let Err(why) = self.store.put(&taken(me), &pid.to_string()) {
                    tracing::debug!(me, %why, "the number is taken more than twice");
                }
                Err(twice(me, &other, &pid.to_string()))
            }
            outcome => outcome,
        }
    }

    /// Waits for all processes; gives what each needs to be reached, by number.
    ///
    /// # Errors
    /// `DeadlineExceeded` with the numbers of those that have not come, `AlreadyExists` where two
    /// have one number.
    #[expect(clippy::disallowed_methods, reason = "patience with processes is real time")]
    pub fn others(&self) -> Result<Vec<String>> {
        let mut found: Vec<Option<String>> = vec![None; self.count];
        let begun = Instant::now();
        let mut nap = NAPS[0];
        loop {
            for (process, found) in found.iter_mut().enumerate() {
                if found.is_none() {
                    *found = self.store.get(&present(process))?;
                }
            }
            self.taken_twice(&found)?;
            if found.iter().all(Option::is_some) {
                let address = |value: String| match value.split_once(' ') {
                    Some((_, address)) => address.to_owned(),
                    None => value,
                };
                return Ok(found.into_iter().flatten().map(address).collect());
            }
            if begun.elapsed() >= self.patience {
                return Err(self.late(&found));
            }
            thread::park_timeout(nap);
            nap = (nap * 2).min(NAPS[1]);
        }
    }

    /// Whether this process's number is taken twice, or, while some have not come, that of any: the
    /// one that is missing may have taken it.
    fn taken_twice(&self, found: &[Option<String>]) -> Result<()> {
        let missing = found.iter().any(Option::is_none);
        for (process, first) in found.iter().enumerate() {
            let asked = first.as_ref().filter(|_| missing || process == self.me);
            let Some(first) = asked else { continue };
            if let Some(other) = self.store.get(&taken(process))? {
                let first = first.split(' ').next().unwrap_or_default();
                return Err(twice(process, first, &other));
            }
        }
        Ok(())
    }

    /// The error of a process that has come and then was not heard of.
    pub fn unreached(&self, process: usize) -> Error {
        let (me, patience) = (self.me, self.patience);
        let message = format!(
            "process {me} of the slice has not reached process {process} after {patience:?}"
        );
        Error::Verbatim { code: Code::DeadlineExceeded, message: message.into() }
    }

    fn late(&self, found: &[Option<String>]) -> Error {
        let [mut here, mut missing] = [String::new(), String::new()];
        for (process, found) in found.iter().enumerate() {
            let list = if found.is_some() { &mut here } else { &mut missing };
            let comma = if list.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(list, "{comma}{process}");
        }
        let (me, count, patience) = (self.me, self.count, self.patience);
        let message = format!(
            "the slice has {count} processes; after {patience:?} {missing} had not joined, {here} \
             had (this is process {me})"
        );
        Error::Verbatim { code: Code::DeadlineExceeded, message: message.into() }
    }
}

fn present(process: usize) -> String {
    format!("tpu_emu/slice/{process}")
}

fn taken(process: usize) -> String {
    format!("tpu_emu/slice/{process}/taken_twice")
}

fn twice(process: usize, one: &str, other: &str) -> Error {
    let message = format!(
        "two processes say that they are process {process} of the slice: those with the process \
         ids {one} and {other}"
    );
    Error::Verbatim { code: Code::AlreadyExists, message: message.into() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::collections::BTreeMap;

    /// A store for the threads of a test.
    #[derive(Debug, Default)]
    pub(crate) struct Shelf(Mutex<BTreeMap<String, String>>);

    impl Store for Shelf {
        fn put(&self, key: &str, value: &str) -> Result<()> {
            let mut all = self.0.lock();
            if all.contains_key(key) {
                let message = format!("{key} is there").into();
                return Err(Error::Verbatim { code: Code::AlreadyExists, message });
            }
            all.insert(key.to_owned(), value.to_owned());
            Ok(())
        }

        fn get(&self, key: &str) -> Result<Option<String>> {
            Ok(self.0.lock().get(key).cloned())
        }
    }

    fn member(store: &Shelf, me: usize, count: usize, millis: u64) -> Member<'_> {
        Member { store, me, count, patience: Duration::from_millis(millis) }
    }

    #[test]
    fn processes_that_do_not_come_are_named() {
        let store = Shelf::default();
        member(&store, 1, 4, 0).arrive("a").unwrap();
        let two = member(&store, 2, 4, 0);
        two.arrive("b").unwrap();
        let error = two.others().unwrap_err();
        assert_eq!(error.code(), Code::DeadlineExceeded);
        assert_eq!(
            error.to_string(),
            "the slice has 4 processes; after 0ns 0, 3 had not joined, 1, 2 had (this is process 2)"
        );
    }

    #[test]
    fn a_number_that_is_taken_twice_is_told_to_both() {
        let store = Shelf::default();
        let [one, other] = [(); 2].map(|()| member(&store, 1, 2, 60_000));
        one.arrive("a").unwrap();
        let refused = other.arrive("b").unwrap_err();
        let heard = one.others().unwrap_err();
        let pid = std::process::id();
        let text = format!(
            "two processes say that they are process 1 of the slice: those with the process ids \
             {pid} and {pid}"
        );
        assert_eq!([refused.to_string(), heard.to_string()], [text.clone(), text]);
    }

    #[test]
    fn a_number_that_is_taken_twice_is_told_to_those_who_wait_for_the_missing_one() {
        let store = Shelf::default();
        let [zero, one, other] = [0, 1, 1].map(|me| member(&store, me, 3, 60_000));
        zero.arrive("a").unwrap();
        one.arrive("b").unwrap();
        let refused = other.arrive("c").unwrap_err().to_string();
        assert!(refused.starts_with("two processes say that they are process 1"), "{refused}");
        for waits in [zero, one] {
            assert_eq!(waits.others().unwrap_err().to_string(), refused);
        }
    }

    #[test]
    fn all_know_how_to_reach_all() {
        let store = Shelf::default();
        thread::scope(|scope| {
            for me in 0..3 {
                let store = &store;
                scope.spawn(move || {
                    let one = member(store, me, 3, 60_000);
                    one.arrive(&format!("at {me}")).unwrap();
                    assert_eq!(one.others().unwrap(), ["at 0", "at 1", "at 2"]);
                });
            }
        });
    }
}
