//! Points in a trace.
use crate::history::SpaceHistory;
use std::fmt;
use std::str::FromStr;

/// A point in the changes of every memory space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Where the most bytes of a space were in use, of each space its own.
    Peak,
    /// Before the client gave up what it held because its process ended; the last change where it
    /// did not.
    End,
    /// Behind the last change of the trace.
    Last,
    /// So many nanoseconds after the start of the machine.
    Time(u64),
}

impl Moment {
    /// How many changes of a space were made until then.
    pub fn changes(self, space: &SpaceHistory) -> usize {
        match self {
            Self::Peak => space.peak_at,
            Self::End => space.end_at,
            Self::Last => space.order.len(),
            Self::Time(time) => space.changes_until(time),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Peak => f.write_str("at the peak"),
            Self::End => f.write_str("at the end, before the client's clean-up"),
            Self::Last => f.write_str("after the last change"),
            Self::Time(time) => {
                write!(f, "at {}.{:06} s", time / 1_000_000_000, time % 1_000_000_000 / 1000)
            }
        }
    }
}

/// A text that names no point in a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no moment: peak, end, last, or a time since the start as 12.5s, 350ms or 80us")]
pub struct MomentError(String);

impl FromStr for Moment {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        match text {
            "peak" => return Ok(Self::Peak),
            "end" => return Ok(Self::End),
            "last" => return Ok(Self::Last),
            _ => {}
        }
        let units = [("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("s", 1e9)];
        let found = units.iter().find_map(|&(unit, nanos)| {
            let number = text.strip_suffix(unit)?;
            let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            let number = number.parse::<f64>().ok().filter(|_| is_plain)? * nanos;
            // As far as f64 counts nanoseconds exactly: a hundred days.
            (number < 9e15).then_some(number)
        });
        found.map(|nanos| Self::Time(whole(nanos))).ok_or_else(|| MomentError(text.to_owned()))
    }
}

/// A number that is not negative and less than 2⁵³, without what is behind its point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
