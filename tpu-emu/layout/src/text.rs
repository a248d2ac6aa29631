//! The text form of a layout: `{1,0:T(8,128)(2,1)E(4)S(5)}`.
use super::{Layout, MAX_RANK, MAX_TILE_RANK, MAX_TILES};
use std::fmt;
use std::str::FromStr;
use tpu_base::error::{Error, Result};

/// The longest text that is looked at.
const MAX_TEXT: usize = 4096;

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        write_list(f, &self.minor_to_major)?;
        let plain =
            self.tiles.is_empty() && self.element_bits.is_none() && self.memory_space.is_none();
        if !plain {
            f.write_str(":")?;
        }
        if !self.tiles.is_empty() {
            f.write_str("T")?;
        }
        for tile in &self.tiles {
            f.write_str("(")?;
            write_list(f, tile)?;
            f.write_str(")")?;
        }
        if let Some(bits) = self.element_bits {
            write!(f, "E({bits})")?;
        }
        if let Some(space) = self.memory_space {
            write!(f, "S({space})")?;
        }
        f.write_str("}")
    }
}

fn write_list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (position, item) in items.iter().enumerate() {
        let comma = if position == 0 { "" } else { "," };
        write!(f, "{comma}{item}")?;
    }
    Ok(())
}

impl Layout {
    /// Reads what `Display` writes; spaces are allowed between the tokens.
    ///
    /// Whether the layout fits an array is asked of `super::validate`.
    /// Errors: `BadArgument` with the byte at which the text stops being a layout.
    /// Source: XLA's shape text, of which `T`, `E` and `S` are known here.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_TEXT {
            let length = text.len();
            let message = format!("a layout of {length} bytes is past the limit of {MAX_TEXT}");
            return Err(Error::bad(message));
        }
        LayoutReader { text, at: 0 }.layout()
    }
}

struct LayoutReader<'a> {
    text: &'a str,
    at: usize,
}

impl LayoutReader<'_> {
    fn layout(mut self) -> Result<Layout> {
        let mut layout = Layout::default();
        self.expect('{')?;
        if !self.next_is('}') && !self.next_is(':') {
            layout.minor_to_major = self.list(MAX_RANK)?;
        }
        if self.take(':') {
            self.attributes(&mut layout)?;
        }
        self.expect('}')?;
        match self.peek() {
            None => Ok(layout),
            Some(_) => Err(self.wrong("the end")),
        }
    }

    fn attributes(&mut self, layout: &mut Layout) -> Result<()> {
        if self.take('T') {
            if !self.next_is('(') {
                return Err(self.wrong("'('"));
            }
            while self.take('(') {
                if layout.tiles.len() == MAX_TILES {
                    return Err(self.wrong(&format!("no more than {MAX_TILES} tiles")));
                }
                layout.tiles.push(self.list(MAX_TILE_RANK)?);
                self.expect(')')?;
            }
        }
        if self.take('E') {
            layout.element_bits = Some(self.in_brackets()?);
        }
        if self.take('S') {
            layout.memory_space = Some(self.in_brackets()?);
        }
        if !self.next_is('}') {
            return Err(self.wrong("T(..), E(..), S(..) in this order, or '}'"));
        }
        Ok(())
    }

    fn in_brackets(&mut self) -> Result<u32> {
        self.expect('(')?;
        let number = self.number()?;
        self.expect(')')?;
        Ok(number)
    }

    fn list<T: FromStr>(&mut self, limit: usize) -> Result<Vec<T>> {
        let mut items = vec![self.number()?];
        while self.take(',') {
            if items.len() == limit {
                return Err(self.wrong(&format!("no more than {limit} numbers")));
            }
            items.push(self.number()?);
        }
        Ok(items)
    }

    fn number<T: FromStr>(&mut self) -> Result<T> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest[..digits].parse().map_err(|_| self.wrong("a number"))?;
        self.at += digits;
        Ok(number)
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.take(wanted) { Ok(()) } else { Err(self.wrong(&format!("'{wanted}'"))) }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.next_is(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn next_is(&mut self, wanted: char) -> bool {
        self.peek() == Some(wanted)
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches(' ').len();
        self.text[self.at..].chars().next()
    }

    fn wrong(&self, wanted: &str) -> Error {
        let (text, at) = (self.text, self.at);
        let found = match text[at..].chars().next() {
            Some(found) => format!("'{found}'"),
            None => "the end".to_owned(),
        };
        Error::bad(format!("layout \"{text}\": at byte {at} wanted {wanted}, found {found}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let texts = [
            "{}",
            "{0}",
            "{:T(128)}",
            "{:T(128)S(5)}",
            "{1,0:T(8,128)(2,1)}",
            "{0:T(256)(128)(2,1)E(4)S(5)}",
            "{3,0,2,1:T(8,128)(2,1)}",
            "{1,0:S(5)}",
        ];
        for text in texts {
            assert_eq!(Layout::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Layout::parse(" { 1, 0 : T( 8,128 ) } ").unwrap().to_string(), "{1,0:T(8,128)}");
    }

    #[test]
    fn a_text_that_is_no_layout_is_refused_where_it_goes_wrong() {
        let refused = |text: &str| Layout::parse(text).unwrap_err().to_string();
        let end = "layout \"{1,0\": at byte 4 wanted '}', found the end";
        assert_eq!(refused("{1,0"), end);
        let letter = "layout \"{1,0:X(3)}\": at byte 5 wanted T(..), E(..), S(..) in this order, \
                      or '}', found 'X'";
        assert_eq!(refused("{1,0:X(3)}"), letter);
        let number = "layout \"{1,}\": at byte 3 wanted a number, found '}'";
        assert_eq!(refused("{1,}"), number);
        for text in ["", "{", "{0}x", "{0:T}", "{0:T()}", "{0:E(-1)}", "{0:E(99999999999)}", "{é}"]
        {
            refused(text);
        }
        refused(&"9".repeat(MAX_TEXT + 1));
        refused(&format!("{{{}0}}", "0,".repeat(MAX_RANK)));
        refused("{0:T(1)(1)(1)(1)(1)}");
        refused("{0:T(1,1,1,1,1)}");
    }
}
