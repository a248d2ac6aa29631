//! Structs that the client reads, by the addresses that were given out.
// UNSAFETY: owns memory that the client has the addresses of.
#![expect(unsafe_code, reason = "owns structs by their addresses")]
use super::opened::Driver;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use tpu_emu::units::to_u64;
use tpu_emu::{Error, Id, Result};

/// Structs that came back and are kept, so that their addresses are not given out again at once.
const KEPT: usize = 1024;

/// Structs `C` that are given out, with the object behind each.
///
/// A pointer that comes back is looked up and never followed.
#[derive(Debug)]
pub(super) struct Loans<C, T> {
    kind: &'static str,
    lent: Mutex<Lent<C, T>>,
}

#[derive(Debug)]
struct Lent<C, T> {
    by_address: BTreeMap<usize, Loan<C, T>>,
    back: VecDeque<LoanedStruct<C>>,
}

#[derive(Debug)]
struct Loan<C, T> {
    place: LoanedStruct<C>,
    owner: Option<Id<Driver>>,
    object: Result<Arc<T>>,
}

/// A struct on the heap, which only the client reads and writes.
#[derive(Debug)]
struct LoanedStruct<C>(NonNull<C>);

// SAFETY: the struct is not touched here between its making and its end.
unsafe impl<C> Send for LoanedStruct<C> {}

impl<C> Drop for LoanedStruct<C> {
    fn drop(&mut self) {
        // SAFETY: it comes from a `Box`, in `give`, and has no other owner.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<C, T> Loans<C, T> {
    /// None yet; `kind` is the noun in errors.
    pub(super) const fn new(kind: &'static str) -> Self {
        let lent = Lent { by_address: BTreeMap::new(), back: VecDeque::new() };
        Self { kind, lent: Mutex::new(lent) }
    }

    /// Gives a struct out: it stands for an object, or for the error in its place.
    pub(super) fn give(&self, own: C, owner: Option<Id<Driver>>, object: Result<Arc<T>>) -> *mut C {
        let place = LoanedStruct(NonNull::from(Box::leak(Box::new(own))));
        let pointer = place.0.as_ptr();
        self.lent.lock().by_address.insert(pointer.addr(), Loan { place, owner, object });
        pointer
    }

    /// The object of a struct that belongs to this driver.
    ///
    /// # Errors
    /// `Null`; `StaleHandle`; `BadArgument` for another driver's; the error that the struct
    /// stands for.
    pub(super) fn get(&self, pointer: *const C, of: Id<Driver>) -> Result<Arc<T>> {
        let lent = self.lent.lock();
        let loan = lent.by_address.get(&pointer.addr()).ok_or_else(|| self.unknown(pointer))?;
        self.check(loan, pointer, Some(of))?;
        loan.object.clone()
    }

    /// The object of a struct, whoever it belongs to.
    ///
    /// # Errors
    /// As for [`Loans::get`].
    pub(super) fn get_of_any(&self, pointer: *const C) -> Result<Arc<T>> {
        let lent = self.lent.lock();
        let loan = lent.by_address.get(&pointer.addr()).ok_or_else(|| self.unknown(pointer))?;
        loan.object.clone()
    }

    /// Takes a struct back; gives the object, or the error that it stood for.
    ///
    /// # Errors
    /// `Null`, `StaleHandle`, and `BadArgument` for another driver's where `of` names one.
    pub(super) fn take(&self, pointer: *const C, of: Option<Id<Driver>>) -> Result<Result<Arc<T>>> {
        let mut lent = self.lent.lock();
        let loan = lent.by_address.get(&pointer.addr()).ok_or_else(|| self.unknown(pointer))?;
        self.check(loan, pointer, of)?;
        let loan = lent.by_address.remove(&pointer.addr());
        let Loan { place, object, .. } = loan.ok_or_else(|| self.unknown(pointer))?;
        lent.keep(place);
        Ok(object)
    }

    /// Takes back all of a driver's; gives their objects.
    pub(super) fn take_all(&self, of: Id<Driver>) -> Vec<Arc<T>> {
        let mut lent = self.lent.lock();
        let own = lent.by_address.extract_if(.., |_, loan| loan.owner == Some(of));
        let own: Vec<Loan<C, T>> = own.map(|(_, loan)| loan).collect();
        let mut objects = Vec::new();
        for Loan { place, object, .. } in own {
            lent.keep(place);
            objects.extend(object.ok());
        }
        objects
    }

    fn check(&self, loan: &Loan<C, T>, pointer: *const C, of: Option<Id<Driver>>) -> Result<()> {
        if of.is_none() || loan.owner == of {
            return Ok(());
        }
        let (kind, address) = (self.kind, pointer.addr());
        Err(Error::bad(format!("{kind} {address:#x} belongs to another TpuDriver")))
    }

    fn unknown(&self, pointer: *const C) -> Error {
        match to_u64(pointer.addr()) {
            0 => Error::Null(self.kind),
            raw => Error::StaleHandle { kind: self.kind, raw },
        }
    }
}

impl<C, T> Lent<C, T> {
    fn keep(&mut self, place: LoanedStruct<C>) {
        self.back.push_back(place);
        if self.back.len() > KEPT {
            self.back.pop_front();
        }
    }
}

/// A pointer that is a number: the `internal_handle` of a struct, which only the client reads.
pub(super) fn number<C, T>(id: Id<T>) -> *mut C {
    ptr::without_provenance_mut(tpu_emu::units::to_usize(id.raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(raw: u64) -> Id<Driver> {
        Id::from_raw(raw).unwrap()
    }

    #[test]
    fn a_struct_is_known_until_it_comes_back() {
        let loans: Loans<i32, &str> = Loans::new("thing");
        let given = loans.give(7, Some(id(1)), Ok(Arc::new("object")));
        assert_eq!(*loans.get(given, id(1)).unwrap(), "object");
        let text = loans.get(given, id(2)).unwrap_err().to_string();
        assert!(text.ends_with("belongs to another TpuDriver"), "{text}");
        assert!(loans.take(given, Some(id(2))).is_err());
        assert_eq!(*loans.take(given, Some(id(1))).unwrap().unwrap(), "object");
        assert!(matches!(loans.take(given, None), Err(Error::StaleHandle { .. })));
        assert_eq!(loans.get_of_any(ptr::null()).unwrap_err(), Error::Null("thing"));
        let foreign = 5;
        assert!(loans.get_of_any(&raw const foreign).is_err());
    }

    #[test]
    fn a_struct_may_stand_for_an_error() {
        let loans: Loans<i32, &str> = Loans::new("thing");
        let given = loans.give(7, Some(id(1)), Err(Error::bad("broken")));
        assert_eq!(loans.get(given, id(1)).unwrap_err(), Error::bad("broken"));
        assert_eq!(loans.take(given, Some(id(1))).unwrap(), Err(Error::bad("broken")));
    }

    #[test]
    fn addresses_do_not_come_again_at_once() {
        let loans: Loans<i32, ()> = Loans::new("thing");
        let first = loans.give(0, None, Ok(Arc::new(())));
        assert!(loans.take(first, None).is_ok());
        for _ in 0..KEPT {
            let next = loans.give(0, None, Ok(Arc::new(())));
            assert_ne!(next, first);
            assert!(loans.take(next, None).is_ok());
        }
    }

    #[test]
    fn a_driver_gets_its_own_back() {
        let loans: Loans<i32, u8> = Loans::new("thing");
        for number in 0..4 {
            loans.give(0, Some(id(u64::from(number % 2) + 1)), Ok(Arc::new(number)));
        }
        let own: Vec<u8> = loans.take_all(id(1)).iter().map(|object| **object).collect();
        assert_eq!(own.len(), 2);
        assert!(own.iter().all(|number| number % 2 == 0));
        assert_eq!(loans.take_all(id(2)).len(), 2);
    }
}
