//! Python's pickles of plain values, in what all readers of protocol 4 know.
use std::collections::HashMap;

const MARK: u8 = b'(';
const STOP: u8 = b'.';
const BININT: u8 = b'J';
const BININT1: u8 = b'K';
const BINUNICODE: u8 = b'X';
const EMPTY_LIST: u8 = b']';
const APPENDS: u8 = b'e';
const BINGET: u8 = b'h';
const LONG_BINGET: u8 = b'j';
const SETITEMS: u8 = b'u';
const EMPTY_DICT: u8 = b'}';
const PROTO: u8 = 0x80;
const TUPLE2: u8 = 0x86;
const NEWFALSE: u8 = 0x89;
const LONG1: u8 = 0x8a;
const SHORT_BINUNICODE: u8 = 0x8c;
const MEMOIZE: u8 = 0x94;

/// A pickle that grows at its end.
///
/// A dictionary or a list is begun, filled with keys and values or with values, and ended.
#[derive(Debug)]
pub(super) struct Pickle {
    bytes: Vec<u8>,
    /// How many values were kept for later.
    kept: u32,
    texts: HashMap<Box<str>, u32>,
}

impl Pickle {
    /// One without a value.
    pub(super) fn new() -> Self {
        Self { bytes: vec![PROTO, 4], kept: 0, texts: HashMap::new() }
    }

    /// The bytes, behind the one value.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(STOP);
        self.bytes
    }

    /// A whole number.
    pub(super) fn number(&mut self, number: u64) {
        if let Ok(byte) = u8::try_from(number) {
            self.bytes.extend([BININT1, byte]);
        } else if let Ok(four) = i32::try_from(number) {
            self.bytes.push(BININT);
            self.bytes.extend(four.to_le_bytes());
        } else {
            // The sign's bit must stay free.
            let all = [number.to_le_bytes().as_slice(), &[0]].concat();
            let length = 9 - number.leading_zeros().div_ceil(8);
            self.bytes.extend([LONG1, u8::try_from(length).unwrap_or(9)]);
            self.bytes.extend(&all[..length as usize]);
        }
    }

    /// `False`.
    pub(super) fn no(&mut self) {
        self.bytes.push(NEWFALSE);
    }

    /// A text; one that was there before is the same object.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(&kept) = self.texts.get(text) {
            return self.again(kept);
        }
        // Texts end at 4 GiB, as everywhere in a trace.
        match (u8::try_from(text.len()), u32::try_from(text.len())) {
            (Ok(length), _) => self.bytes.extend([SHORT_BINUNICODE, length]),
            (_, length) => {
                self.bytes.push(BINUNICODE);
                self.bytes.extend(length.unwrap_or(u32::MAX).to_le_bytes());
            }
        }
        self.bytes.extend(text.as_bytes());
        let kept = self.keep();
        self.texts.insert(text.into(), kept);
    }

    /// A tuple of two numbers.
    pub(super) fn pair(&mut self, first: u64, second: u64) {
        self.number(first);
        self.number(second);
        self.bytes.push(TUPLE2);
    }

    /// Begins a dictionary.
    pub(super) fn dict(&mut self) {
        self.bytes.extend([EMPTY_DICT, MARK]);
    }

    /// Ends the dictionary that was begun last.
    pub(super) fn end_dict(&mut self) {
        self.bytes.push(SETITEMS);
    }

    /// Begins a list.
    pub(super) fn list(&mut self) {
        self.bytes.extend([EMPTY_LIST, MARK]);
    }

    /// Comes before each value of a long list, with how many it has so far. A reader in JavaScript
    /// cannot take them all at once.
    pub(super) fn next(&mut self, count: usize) {
        if count != 0 && count.is_multiple_of(1000) {
            self.bytes.extend([APPENDS, MARK]);
        }
    }

    /// Ends the list that was begun last.
    pub(super) fn end_list(&mut self) {
        self.bytes.push(APPENDS);
    }

    /// Keeps the value that was written last, for [`Self::again`].
    pub(super) fn keep(&mut self) -> u32 {
        self.bytes.push(MEMOIZE);
        self.kept += 1;
        self.kept - 1
    }

    /// The object that was kept.
    pub(super) fn again(&mut self, kept: u32) {
        match u8::try_from(kept) {
            Ok(byte) => self.bytes.extend([BINGET, byte]),
            Err(_) => {
                self.bytes.push(LONG_BINGET);
                self.bytes.extend(kept.to_le_bytes());
            }
        }
    }

    /// A key and a number.
    pub(super) fn number_at(&mut self, key: &str, number: u64) {
        self.text(key);
        self.number(number);
    }

    /// A key and a text.
    pub(super) fn text_at(&mut self, key: &str, text: &str) {
        self.text(key);
        self.text(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_many_bytes_as_their_sign_leaves() {
        let of = |number| {
            let mut pickle = Pickle::new();
            pickle.number(number);
            pickle.finish()[2..].to_vec()
        };
        assert_eq!(of(255), [BININT1, 255, STOP]);
        assert_eq!(of(0x7fff_ffff), [BININT, 255, 255, 255, 127, STOP]);
        assert_eq!(of(0x8000_0000), [LONG1, 5, 0, 0, 0, 0x80, 0, STOP]);
        assert_eq!(of(0x7f << 32), [LONG1, 5, 0, 0, 0, 0, 0x7f, STOP]);
        assert_eq!(of(1 << 62), [LONG1, 8, 0, 0, 0, 0, 0, 0, 0, 0x40, STOP]);
        assert_eq!(of(1 << 63), [LONG1, 9, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, STOP]);
    }

    #[test]
    fn a_text_is_written_once() {
        let mut pickle = Pickle::new();
        pickle.list();
        pickle.text("a");
        pickle.text("a");
        pickle.end_list();
        let list = [EMPTY_LIST, MARK, SHORT_BINUNICODE, 1, b'a', MEMOIZE, BINGET, 0, APPENDS, STOP];
        assert_eq!(pickle.finish()[2..], list);
    }

    #[test]
    fn a_long_list_is_written_in_pieces() {
        let mut pickle = Pickle::new();
        pickle.list();
        for count in 0..2500 {
            pickle.next(count);
            pickle.no();
        }
        pickle.end_list();
        let bytes = pickle.finish();
        assert_eq!(bytes.iter().filter(|&&byte| byte == MARK).count(), 3);
        assert_eq!(bytes.split(|&byte| byte == APPENDS).map(<[u8]>::len).max(), Some(2 + 2 + 1000));
    }
}
