//! What was thrown: its type and its words, read from memory that nothing is assumed of.
// UNSAFETY: calls a function of an object whose type is known.
use crate::memory::word_at;
use std::fmt;

/// The classes of C++'s exceptions: libstdc++'s and libc++'s, thrown and rethrown.
pub(super) const CXX_CLASSES: [u64; 4] =
    [class(b"GNUCC++\0"), class(b"GNUCC++\x01"), class(b"CLNGC++\0"), class(b"CLNGC++\x01")];

/// The class of Rust's panics.
pub(super) const RUST_CLASS: u64 = class(b"MOZ\0RUST");

const fn class(text: &[u8; 8]) -> u64 {
    u64::from_be_bytes(*text)
}

/// The bytes of a C++ exception's own head, before that of the unwinder.
const HEAD: usize = 80;

/// The longest text that is read.
const MOST: usize = 1 << 12;

/// The most classes between a thrown one and `std::exception`.
const DEPTH: usize = 32;

/// What a function of others threw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown(String);

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Thrown {
    /// Reads an exception of `class` whose head of the unwinder's, `size` bytes, is at `at`.
    pub(super) fn read(class: u64, at: usize, size: usize) -> Self {
        if class == 0 {
            return Self("wanted to end its thread".to_owned());
        }
        if class == RUST_CLASS {
            return Self("panicked in Rust".to_owned());
        }
        if !CXX_CLASSES.contains(&class) {
            let class = class.to_be_bytes();
            return Self(format!("threw an exception of class \"{}\"", class.escape_ascii()));
        }
        let found = || {
            let first = word_at(at.checked_sub(HEAD)?)?;
            // A rethrown one begins with the object, which has a head of its own.
            let (of, object) = match class & 1 {
                0 => (first, at + size),
                _ => (word_at(first.checked_sub(HEAD + size)?)?, first),
            };
            let name = name_of(of)?;
            let words = words_of(&name, of, object);
            Some((demangled(&name), words))
        };
        Self(match found() {
            Some((name, Some(words))) => format!("threw {name}: {words}"),
            Some((name, None)) => format!("threw {name}"),
            None => "threw a C++ exception".to_owned(),
        })
    }
}

/// A type's name as the linker has it.
fn name_of(of: usize) -> Option<String> {
    let name = text_at(word_at(of.checked_add(8)?)?)?;
    Some(name.trim_start_matches('*').to_owned())
}

fn demangled(name: &str) -> String {
    let symbol = cpp_demangle::Symbol::new(format!("_ZTS{name}")).ok();
    let text = symbol.and_then(|symbol| symbol.demangle().ok());
    let text = text.as_deref().and_then(|text| text.strip_prefix("typeinfo name for "));
    text.unwrap_or(name).to_owned()
}

/// What an object of a type says: `what()` of exceptions, and values of the plainest types.
fn words_of(name: &str, of: usize, object: usize) -> Option<String> {
    match name {
        "i" => Some(word_at(object)?.to_ne_bytes())
            .and_then(|bytes| Some(i32::from_ne_bytes(*bytes.first_chunk()?).to_string())),
        "PKc" | "Pc" => text_at(word_at(object)?),
        _ => text_at(what(exception_in(of, object, DEPTH)?)?),
    }
}

/// Where the `std::exception` of an object is.
///
/// Source: the Itanium C++ ABI, run-time type information. The type of a type says how its bases
/// are listed.
fn exception_in(of: usize, object: usize, depth: usize) -> Option<usize> {
    if name_of(of)? == "St9exception" {
        return Some(object);
    }
    let depth = depth.checked_sub(1)?;
    let kind = name_of(word_at(word_at(of)?.checked_sub(8)?)?)?;
    match &*kind {
        "N10__cxxabiv120__si_class_type_infoE" => {
            exception_in(word_at(of.wrapping_add(16))?, object, depth)
        }
        "N10__cxxabiv121__vmi_class_type_infoE" => {
            let count = word_at(of.wrapping_add(16))? >> 32;
            (0..count.min(DEPTH)).find_map(|number| {
                let entry = of.wrapping_add(24 + 16 * number);
                let (base, how) = (word_at(entry)?, word_at(entry.wrapping_add(8))?.cast_signed());
                let offset = match how & 1 {
                    0 => how >> 8,
                    _ => word_at(word_at(object)?.checked_add_signed(how >> 8)?)?.cast_signed(),
                };
                exception_in(base, object.checked_add_signed(offset)?, depth)
            })
        }
        _ => None,
    }
}

/// The text that `what()` of a `std::exception` gives: the third function of its table.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a function of C++")]
fn what(exception: usize) -> Option<usize> {
    let function = word_at(word_at(exception)?.wrapping_add(16))?;
    let function = std::ptr::with_exposed_provenance::<()>(function);
    // SAFETY: the table of a `std::exception`, whose type is known; `what` takes the object.
    unsafe { super::call(function, [exception, 0, 0, 0, 0]) }.ok()
}

#[cfg(not(target_arch = "x86_64"))]
fn what(_: usize) -> Option<usize> {
    None
}

/// Text up to its NUL, where there is some.
fn text_at(at: usize) -> Option<String> {
    let mut text = Vec::new();
    let mut place = at;
    while text.len() < MOST {
        // A word that is aligned never reaches into memory that is not there.
        let within = place % size_of::<usize>();
        let word = word_at(place - within)?.to_ne_bytes();
        let bytes = &word[within..];
        match bytes.iter().position(|&byte| byte == 0) {
            Some(end) => {
                text.extend_from_slice(&bytes[..end]);
                break;
            }
            None => text.extend_from_slice(bytes),
        }
        place = place.checked_add(bytes.len())?;
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(demangled("St13runtime_error"), "std::runtime_error");
        assert_eq!(demangled("N4mine5ErrorE"), "mine::Error");
        assert_eq!(demangled("i"), "int");
        assert_eq!(demangled("PKc"), "char const*");
    }

    #[test]
    fn memory_that_is_not_there_says_nothing() {
        let text = Thrown::read(CXX_CLASSES[0], 4096, 32).to_string();
        assert_eq!(text, "threw a C++ exception");
        assert_eq!(text_at(8), None);
        let words = c"a text that is longer than a word";
        assert_eq!(text_at(words.as_ptr().addr() + 2).as_deref(), words[2..].to_str().ok());
    }
}
