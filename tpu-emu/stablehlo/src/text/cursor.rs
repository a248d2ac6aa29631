//! A place in the source and the smallest pieces that can stand there.
use crate::ReadError;

/// Nothing nests deeper than this: types, attributes, locations and regions together.
pub(super) const DEPTH: usize = 96;

pub(super) type Result<T> = std::result::Result<T, ReadError>;

/// The source and how far it is read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    source: &'a str,
    at: usize,
    depth: usize,
}

/// Whether a byte can stand inside a bare name.
pub(super) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
}

impl<'a> Cursor<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, depth: 0 }
    }

    pub(super) fn source(&self) -> &'a str {
        self.source
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    /// The text between two positions of this cursor.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.source.get(from..to).unwrap_or("").trim()
    }

    fn rest(&self) -> &'a [u8] {
        self.source.as_bytes().get(self.at..).unwrap_or(&[])
    }

    /// An error at a position.
    pub(super) fn error_at(&self, at: usize, what: impl Into<String>) -> ReadError {
        let bytes = self.source.as_bytes();
        let before = &bytes[..at.min(bytes.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |index| index + 1);
        ReadError::line(line + 1, before.len() - start + 1, what)
    }

    /// An error at the next piece, with that piece.
    pub(super) fn expected<T>(&mut self, what: &str) -> Result<T> {
        self.skip();
        Err(self.error_at(self.at, format!("expected {what}, found {}", self.found())))
    }

    /// An error at the next piece.
    pub(super) fn error<T>(&mut self, what: impl Into<String>) -> Result<T> {
        self.skip();
        Err(self.error_at(self.at, what))
    }

    fn found(&self) -> String {
        let rest = self.source.get(self.at..).unwrap_or("");
        let Some(first) = rest.chars().next() else { return "the end of the text".into() };
        let name = rest.bytes().take_while(|&byte| in_name(byte)).count();
        match rest.get(..name.min(40)) {
            Some(word) if !word.is_empty() => format!("'{word}'"),
            _ => format!("'{}'", first.escape_default()),
        }
    }

    /// One level deeper, or an error past [`DEPTH`].
    pub(super) fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self
                .error(format!("nested {} levels deep, at most {DEPTH} are read", self.depth));
        }
        Ok(())
    }

    /// Back one level.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Past blanks and comments.
    pub(super) fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            self.at += blanks;
            if !self.rest().starts_with(b"//") {
                return;
            }
            self.at += self.rest().iter().take_while(|&&byte| byte != b'\n').count();
        }
    }

    /// The next byte that is no blank.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.rest().first().copied()
    }

    /// The next byte, blanks included.
    pub(super) fn here(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// Whether this text stands next.
    pub(super) fn sees(&mut self, text: &str) -> bool {
        self.skip();
        self.rest().starts_with(text.as_bytes())
    }

    /// Takes this text if it stands next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.sees(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Takes this text or fails.
    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        if self.eat(text) { Ok(()) } else { self.expected(&format!("'{text}'")) }
    }

    /// The bare word that stands next.
    pub(super) fn peek_word(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        if !rest.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_') {
            return "";
        }
        let count = rest.iter().take_while(|&&byte| in_name(byte)).count();
        self.source.get(self.at..self.at + count).unwrap_or("")
    }

    /// Whether exactly this word stands next.
    pub(super) fn sees_word(&mut self, word: &str) -> bool {
        self.peek_word() == word
    }

    /// Takes exactly this word if it stands next.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.sees_word(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Takes exactly this word or fails.
    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("'{word}'")) }
    }

    /// A bare word.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str> {
        let word = self.peek_word();
        if word.is_empty() {
            return self.expected(what);
        }
        self.at += word.len();
        Ok(word)
    }

    /// What follows a sigil (`%`, `@`, `#`, `!`, `^`) without a blank: letters, digits, `_$.-`.
    pub(super) fn suffix(&mut self, what: &str) -> Result<&'a str> {
        let rest = self.rest();
        let count = rest.iter().take_while(|&&byte| in_name(byte) || byte == b'-').count();
        // An arrow is not part of a name.
        let count = if rest[..count].ends_with(b"-") { count - 1 } else { count };
        if count == 0 {
            return self.expected(what);
        }
        let text = self.source.get(self.at..self.at + count).unwrap_or("");
        self.at += count;
        Ok(text)
    }

    /// A quoted string, unescaped.
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        if self.peek() != Some(b'"') {
            return self.expected("a string");
        }
        let start = self.at;
        let unclosed = |cursor: &Self| Err(cursor.error_at(start, "this string does not end"));
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let rest = self.rest();
            let plain =
                rest.iter().take_while(|&&byte| !matches!(byte, b'"' | b'\\' | b'\n')).count();
            text.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.here() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => {
                    let Some(byte) = self.escape() else {
                        return Err(self.error_at(self.at, "unknown escape in a string"));
                    };
                    text.push(byte);
                }
                _ => return unclosed(self),
            }
        }
    }

    fn escape(&mut self) -> Option<u8> {
        let rest = self.rest();
        let (byte, length) = match *rest.get(1)? {
            b'"' => (b'"', 2),
            b'\\' => (b'\\', 2),
            b'n' => (b'\n', 2),
            b't' => (b'\t', 2),
            high => {
                let high = char::from(high).to_digit(16)?;
                let low = char::from(*rest.get(2)?).to_digit(16)?;
                (u8::try_from(high * 16 + low).ok()?, 3)
            }
        };
        self.at += length;
        Some(byte)
    }

    /// A quoted string that is UTF-8.
    pub(super) fn text(&mut self) -> Result<String> {
        let start = self.at;
        let bytes = self.string()?;
        String::from_utf8(bytes).map_err(|_| self.error_at(start, "this string is not UTF-8"))
    }

    /// `@name` or `@"name"`.
    pub(super) fn symbol(&mut self) -> Result<String> {
        if !self.eat("@") {
            return self.expected("a symbol ('@name')");
        }
        if self.here() == Some(b'"') {
            return self.text();
        }
        self.suffix("a symbol's name").map(str::to_owned)
    }

    /// The literal of a number that stands next: sign, digits, fraction and exponent, or `0x…`.
    pub(super) fn number(&mut self) -> Result<&'a str> {
        self.skip();
        let rest = self.rest();
        let sign = usize::from(rest.first() == Some(&b'-'));
        let digits = |from: usize, hex: bool| {
            let digit =
                |byte: &&u8| if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
            rest.get(from..).unwrap_or(&[]).iter().take_while(digit).count()
        };
        let count = digits(sign, false);
        if count == 0 {
            return self.expected("a number");
        }
        let mut end = sign + count;
        if count == 1
            && rest[sign] == b'0'
            && rest.get(end) == Some(&b'x')
            && digits(end + 1, true) > 0
        {
            end += 1 + digits(end + 1, true);
        } else if rest.get(end) == Some(&b'.') {
            end += 1 + digits(end + 1, false);
            if matches!(rest.get(end), Some(b'e' | b'E')) {
                let signed = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
                let exponent = digits(end + 1 + signed, false);
                if exponent > 0 {
                    end += 1 + signed + exponent;
                }
            }
        }
        let text = self.source.get(self.at..self.at + end).unwrap_or("");
        self.at += end;
        Ok(text)
    }

    /// A whole number in 64 bits.
    pub(super) fn integer(&mut self) -> Result<i64> {
        self.skip();
        let start = self.at;
        let text = self.number()?;
        integer(text)
            .and_then(|value| i64::try_from(value).ok())
            .ok_or_else(|| self.error_at(start, format!("'{text}' is no integer of 64 bits")))
    }

    /// Items between two delimiters, separated by commas.
    pub(super) fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return self.expected(&format!("',' or '{close}'"));
            }
        }
    }

    /// `[1, 2]`.
    pub(super) fn integers(&mut self) -> Result<Vec<i64>> {
        self.list("[", "]", Self::integer)
    }

    /// Past balanced brackets, from the opening one that stands next to the closing one.
    pub(super) fn balanced(&mut self) -> Result<()> {
        self.skip();
        let start = self.at;
        let mut open = Vec::new();
        loop {
            self.skip();
            let Some(byte) = self.here() else {
                return Err(self.error_at(start, "this bracket does not close"));
            };
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'-' if self.rest().starts_with(b"->") => {
                    self.at += 2;
                    continue;
                }
                b'<' => open.push(b'>'),
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b'>' | b')' | b']' | b'}' if open.pop() != Some(byte) => {
                    return self.error(format!("'{}' closes nothing", char::from(byte)));
                }
                _ => {}
            }
            self.at += 1;
            while !self.source.is_char_boundary(self.at) {
                self.at += 1;
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

/// The value of a literal, if it is whole.
pub(super) fn integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}
