//! Types of states and user data: a name, a number, and what ends a value's life.
use super::Deleter;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use tpu_emu::{Code, Error, Result};

/// Our numbers begin here: other runtimes of the process count from 1, and a type's number is one
/// variable that all of them read and write.
const FIRST: i64 = 1 << 32;

#[derive(Debug)]
struct KnownTypes {
    name: String,
    deleter: Option<Deleter>,
}

#[derive(Debug)]
struct Types {
    numbers: BTreeMap<String, i64>,
    known: BTreeMap<i64, KnownTypes>,
    next: i64,
}

static TYPES: Mutex<Types> =
    Mutex::new(Types { numbers: BTreeMap::new(), known: BTreeMap::new(), next: FIRST });

/// Gives a type its number; 0 asks for a new one. A number of another runtime is taken over.
///
/// # Errors
/// Both numbers where the name has another one, both names where the number has.
pub(crate) fn register_type(name: &str, number: i64, deleter: Option<Deleter>) -> Result<i64> {
    if name.is_empty() || number < 0 {
        return Err(Error::bad(format!("type \"{name}\" of number {number}")));
    }
    let exists = |message: String| {
        Err(Error::Verbatim { code: Code::AlreadyExists, message: message.into() })
    };
    let mut types = TYPES.lock();
    if let Some(&old) = types.numbers.get(name) {
        if number != 0 && number != old {
            return exists(format!("type \"{name}\" has the number {old} already, not {number}"));
        }
        if let Some(known) = types.known.get_mut(&old) {
            known.deleter = known.deleter.or(deleter);
        }
        return Ok(old);
    }
    let number = if number == 0 {
        while types.known.contains_key(&types.next) {
            types.next += 1;
        }
        types.next
    } else {
        if let Some(known) = types.known.get(&number) {
            let other = &known.name;
            return exists(format!("number {number} is of type \"{other}\", not of \"{name}\""));
        }
        number
    };
    types.numbers.insert(name.to_owned(), number);
    types.known.insert(number, KnownTypes { name: name.to_owned(), deleter });
    Ok(number)
}

/// What ends the life of a value of type `number`.
///
/// # Errors
/// `NotFound` for a number that no type has.
pub(super) fn deleter_of(number: i64) -> Result<Option<Deleter>> {
    let types = TYPES.lock();
    let known = types.known.get(&number);
    known.map(|known| known.deleter).ok_or_else(|| {
        Error::NotFound(format!("no type with the number {number} is registered for platform tpu"))
    })
}

/// A type's name for messages.
pub(super) fn name_of(number: i64) -> String {
    let types = TYPES.lock();
    match types.known.get(&number) {
        Some(known) => format!("\"{}\" (number {number})", known.name),
        None => format!("number {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_above_those_of_other_runtimes() {
        let number = register_type("types::One", 0, None).unwrap();
        assert!(number >= FIRST);
        assert_eq!(register_type("types::One", 0, None), Ok(number));
        assert_eq!(register_type("types::One", number, None), Ok(number));
        let error = register_type("types::One", 5, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("type \"types::One\" has the number {number} already, not 5")
        );
    }

    #[test]
    fn a_number_of_another_runtime_is_taken_over() {
        assert_eq!(register_type("types::Foreign", 12345, None), Ok(12345));
        let error = register_type("types::Other", 12345, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "number 12345 is of type \"types::Foreign\", not of \"types::Other\""
        );
        assert!(register_type("", 0, None).is_err());
        assert!(register_type("types::Negative", -1, None).is_err());
        assert!(deleter_of(12345).unwrap().is_none());
        assert!(deleter_of(54321).is_err());
    }
}
