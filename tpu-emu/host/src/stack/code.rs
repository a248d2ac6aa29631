//! Python code, known by value: an address is used again as soon as a code object is gone.
use super::linetable;
use super::ways::Ways;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Duration;
use tpu_emu::origin::{Frame, FrameText};

/// How long a capture waits for the table: after a fork its holder may not exist any more.
const PATIENCE: Duration = Duration::from_millis(10);

/// Marks a Python frame.
const PYTHON: u64 = 1 << 63;

/// Bits of the instruction in a Python frame.
const UNIT_BITS: u32 = 31;

/// Codes a thread remembers by address, a power of two.
const CACHED_CODES: usize = 512;

/// A string as CPython stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawText<'a> {
    /// Bytes a character: 1, 2 or 4.
    pub(super) width: u8,
    /// Characters, native byte order.
    pub(super) bytes: &'a [u8],
}

/// What tells a code object from others, in its own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RawCode<'a> {
    pub(super) file: RawText<'a>,
    pub(super) name: RawText<'a>,
    pub(super) first_line: u32,
    pub(super) lines: &'a [u8],
}

/// What a code object says of itself, copied.
#[derive(Debug, Default)]
pub(super) struct Code {
    file: (u8, Box<[u8]>),
    name: (u8, Box<[u8]>),
    first_line: u32,
    lines: Box<[u8]>,
}

impl Code {
    fn raw(&self) -> RawCode<'_> {
        RawCode {
            file: RawText { width: self.file.0, bytes: &self.file.1 },
            name: RawText { width: self.name.0, bytes: &self.name.1 },
            first_line: self.first_line,
            lines: &self.lines,
        }
    }

    fn copy(raw: RawCode<'_>) -> Self {
        let text = |text: RawText<'_>| (text.width, text.bytes.into());
        let (file, name) = (text(raw.file), text(raw.name));
        Self { file, name, first_line: raw.first_line, lines: raw.lines.into() }
    }
}

/// Every code seen, by the order of its first sight. Number 0 is code that could not be read.
#[derive(Debug, Default)]
pub(super) struct Codes {
    table: Mutex<CodeTable>,
}

#[derive(Debug, Default)]
struct CodeTable {
    codes: Vec<Arc<Code>>,
    by_hash: HashMap<u64, Vec<u32>>,
}

impl Codes {
    /// The number of `raw` and the code; number 0 if the table cannot be had.
    pub(super) fn intern(&self, raw: RawCode<'_>) -> Option<(u32, Arc<Code>)> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(raw);
        let mut table = self.table.try_lock_for(PATIENCE)?;
        let CodeTable { codes, by_hash } = &mut *table;
        if codes.is_empty() {
            codes.push(Arc::default());
        }
        let same = by_hash.entry(hash).or_default();
        let found = same.iter().find_map(|&id| {
            let code = codes.get(id as usize).filter(|code| code.raw() == raw)?;
            Some((id, Arc::clone(code)))
        });
        if found.is_some() {
            return found;
        }
        let id = u32::try_from(codes.len()).ok()?;
        let code = Arc::new(Code::copy(raw));
        codes.push(Arc::clone(&code));
        same.push(id);
        Some((id, code))
    }

    /// The text of a frame made by [`python_frame`].
    pub(super) fn describe(&self, frame: Frame) -> FrameText {
        let bits = frame.0 & !PYTHON;
        let id = usize::try_from(bits >> UNIT_BITS).unwrap_or(0);
        let code = self.table.lock().codes.get(id).cloned().unwrap_or_default();
        let unit = u32::try_from(bits & ((1 << UNIT_BITS) - 1)).unwrap_or(0);
        let line = match unit.checked_sub(1) {
            Some(at) => linetable::line_at(&code.lines, code.first_line, at),
            None => code.first_line,
        };
        let function = match id {
            0 => "?".to_owned(),
            _ => text_of(&code.name),
        };
        let file = text_of(&code.file);
        FrameText { function, file, line, module: "python".to_owned(), python: true }
    }
}

/// The frame of code number `id`, `unit` code units after its begin; `None` before the begin.
pub(super) fn python_frame(id: u32, unit: Option<u32>) -> Frame {
    let limit = (1 << UNIT_BITS) - 1;
    let unit = unit.map_or(0, |unit| u64::from(unit) + 1).min(limit);
    Frame(PYTHON | u64::from(id) << UNIT_BITS | unit)
}

/// Whether a frame is a Python frame.
pub(super) fn is_python(frame: Frame) -> bool {
    frame.0 & PYTHON != 0
}

/// The codes a thread met last, by address. An address finds a code only if the content agrees.
pub(super) struct CodeCache {
    entries: Ways<(u32, Arc<Code>)>,
}

impl CodeCache {
    /// An empty cache.
    pub(super) fn new() -> Self {
        Self { entries: Ways::new(CACHED_CODES, (0, Arc::default())) }
    }

    /// The number of the code at `address`, whose content is `raw`.
    pub(super) fn id(&mut self, codes: &Codes, address: u64, raw: RawCode<'_>) -> u32 {
        let entry = self.entries.entry(address);
        if entry.0 == address && entry.1.1.raw() == raw {
            return entry.1.0;
        }
        let Some((id, code)) = codes.intern(raw) else { return 0 };
        *entry = (address, (id, code));
        id
    }
}

/// Characters as a string; what is no character becomes the replacement character.
fn text_of((width, bytes): &(u8, Box<[u8]>)) -> String {
    let width = usize::from((*width).clamp(1, 4));
    let character = |bytes: &[u8]| {
        let mut padded = [0; 4];
        padded[..width].copy_from_slice(bytes);
        char::from_u32(u32::from_le_bytes(padded)).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    bytes.chunks_exact(width).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw<'a>(name: &'a str, lines: &'a [u8]) -> RawCode<'a> {
        let text = |text: &'a str| RawText { width: 1, bytes: text.as_bytes() };
        RawCode { file: text("a.py"), name: text(name), first_line: 7, lines }
    }

    #[test]
    fn another_code_at_the_same_address_is_another_code() {
        let (codes, mut cache) = (Codes::default(), CodeCache::new());
        let first = cache.id(&codes, 4096, raw("f", &[]));
        let second = cache.id(&codes, 4096, raw("g", &[]));
        let longer = cache.id(&codes, 4096, raw("g", &[0xf8]));
        assert_eq!((first, second, longer), (1, 2, 3));
        assert_eq!(cache.id(&codes, 8192, raw("f", &[])), first);
        let text = codes.describe(python_frame(second, None));
        assert_eq!((text.function.as_str(), text.file.as_str(), text.line), ("g", "a.py", 7));
    }

    #[test]
    fn wide_characters_are_read() {
        let bytes: Vec<u8> = [0x3b1_u16, 0xd800].iter().flat_map(|c| c.to_le_bytes()).collect();
        assert_eq!(text_of(&(2, bytes.into())), "α\u{fffd}");
        assert_eq!(text_of(&(1, [0xe9].into())), "é");
        assert_eq!(text_of(&(4, 0x1f600_u32.to_le_bytes().into())), "😀");
    }

    #[test]
    fn unknown_code_is_a_question_mark() {
        let text = Codes::default().describe(python_frame(0, Some(3)));
        assert_eq!((text.function.as_str(), text.line), ("?", 0));
    }

    #[test]
    fn a_frame_keeps_the_largest_numbers() {
        let frame = python_frame(u32::MAX, Some(u32::MAX));
        assert!(is_python(frame));
        assert_eq!(frame.0, u64::MAX);
        assert!(!is_python(Frame(PYTHON - 1)));
    }
}
