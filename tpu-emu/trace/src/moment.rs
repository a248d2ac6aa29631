//! Points in a trace.
use crate::history::SpaceHistory;
use crate::tables::Trace;
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
    /// Behind the last allocation of a space, of each space its own: before what the functions of
    /// the program held is given back as they return.
    Allocated,
    /// Behind the last change of the trace.
    Last,
    /// So many nanoseconds after the start of the machine.
    Time(u64),
    /// Where the program set a mark; its place among those of the trace.
    Mark(u32),
    /// Where an allocation found no room; its place among the refusals of the history.
    Refusal(u32),
}

impl Moment {
    /// How many changes of a space were made until then.
    pub fn changes(self, space: &SpaceHistory) -> usize {
        let at = |of: &[usize], place: u32| of.get(place as usize).copied().unwrap_or(0);
        match self {
            Self::Peak => space.peak_at,
            Self::End => space.end_at,
            Self::Allocated => space.allocated_at,
            Self::Last => space.order.len(),
            Self::Time(time) => space.changes_until(time),
            Self::Mark(place) => at(&space.marks, place),
            Self::Refusal(place) => at(&space.refusals, place),
        }
    }

    /// The point in words, a mark with its name.
    pub fn words(self, trace: &Trace) -> String {
        match self {
            Self::Mark(place) => match trace.marks.get(place as usize) {
                Some(mark) => format!("at the mark {}", name_of(trace, place, &mark.name)),
                None => self.to_string(),
            },
            _ => self.to_string(),
        }
    }
}

/// A mark's name, with its number among those of the same name where there are several.
fn name_of(trace: &Trace, place: u32, name: &str) -> String {
    let same = |marks: &[crate::Mark]| marks.iter().filter(|mark| mark.name == name).count();
    match same(&trace.marks) {
        0 | 1 => name.to_owned(),
        _ => format!("{name}#{}", same(&trace.marks[..=place as usize])),
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Peak => f.write_str("at the peak"),
            Self::End => f.write_str("at the end, before the client's clean-up"),
            Self::Allocated => f.write_str("after the last allocation"),
            Self::Last => f.write_str("after the last change"),
            Self::Time(time) => {
                write!(f, "at {}.{:06} s", time / 1_000_000_000, time % 1_000_000_000 / 1000)
            }
            Self::Mark(place) => write!(f, "at mark {}", place + 1),
            Self::Refusal(place) => write!(f, "at refusal {}", place + 1),
        }
    }
}

/// A text that names no point in a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// It could not name one of any trace.
    #[error(
        "{0:?} is no moment: peak, end, allocated, last, a mark's name, refusal, or a time since the start \
         as 12.5s, 350ms or 80us"
    )]
    Other(String),
    /// The trace has no such mark.
    #[error("{name:?} is no moment of this trace: {marks}")]
    Mark {
        /// What was asked for.
        name: String,
        /// Which marks there are.
        marks: String,
    },
    /// The trace has fewer refusals.
    #[error("{name:?} is no moment of this trace: it has {count} refusals")]
    Refusal {
        /// What was asked for.
        name: String,
        /// How many refusals there are.
        count: usize,
    },
}

impl FromStr for Moment {
    type Err = MomentError;

    /// Reads `peak`, `end`, `allocated`, `last` and times; marks are those of a trace, for [`MomentName`].
    fn from_str(text: &str) -> Result<Self, MomentError> {
        match text {
            "peak" => return Ok(Self::Peak),
            "end" => return Ok(Self::End),
            "allocated" => return Ok(Self::Allocated),
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
        found
            .map(|nanos| Self::Time(whole(nanos)))
            .ok_or_else(|| MomentError::Other(text.to_owned()))
    }
}

/// A number that is not negative and less than 2⁵³, without what is behind its point.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// A point as a user names it: what [`Moment`] reads, a mark, or `refusal`.
///
/// Of several marks of one name `NAME#2` is the second and `NAME#last` the last; the name alone is
/// the first. `mark:NAME` is a mark whatever its name. Refusals are `refusal#2` likewise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MomentName(String);

impl FromStr for MomentName {
    type Err = MomentError;

    fn from_str(text: &str) -> Result<Self, MomentError> {
        match text.is_empty() {
            true => Err(MomentError::Other(String::new())),
            false => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for MomentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl MomentName {
    /// The point of a trace, of which the history has so many refusals.
    ///
    /// # Errors
    /// `Mark` and `Refusal` where the trace has none that is meant, `Other` where nothing could
    /// be meant: the trace has no marks at all.
    pub fn resolve(&self, trace: &Trace, refusals: usize) -> Result<Moment, MomentError> {
        let (text, is_mark) = match self.0.strip_prefix("mark:") {
            Some(name) => (name, true),
            None => (&*self.0, false),
        };
        if !is_mark && let Ok(moment) = text.parse() {
            return Ok(moment);
        }
        let of = |name: &str| {
            let named = (0..).zip(&trace.marks).filter(|(_, mark)| mark.name == name);
            named.map(|(place, _)| place).collect::<Vec<u32>>()
        };
        // A mark may have the sign in its name.
        if let Some(&first) = of(text).first() {
            return Ok(Moment::Mark(first));
        }
        let (name, which) = match text.rsplit_once('#') {
            Some((name, "last")) => (name, Some(usize::MAX)),
            Some((name, number)) if number.parse::<u32>().is_ok() => (name, number.parse().ok()),
            _ => (text, None),
        };
        if let Some(place) = chosen(&of(name), which) {
            return Ok(Moment::Mark(place));
        }
        if !is_mark && name == "refusal" {
            let places: Vec<u32> = (0..).take(refusals).collect();
            let name = text.to_owned();
            return chosen(&places, which)
                .map(Moment::Refusal)
                .ok_or(MomentError::Refusal { name, count: refusals });
        }
        match trace.marks.is_empty() && !is_mark {
            true => Err(MomentError::Other(text.to_owned())),
            false => Err(MomentError::Mark { name: self.0.clone(), marks: marks_text(trace) }),
        }
    }
}

/// The place that is meant: the first, the one of a number from 1, or the last.
fn chosen(places: &[u32], which: Option<usize>) -> Option<u32> {
    match which {
        None => places.first().copied(),
        Some(usize::MAX) => places.last().copied(),
        Some(number) => places.get(number.checked_sub(1)?).copied(),
    }
}

/// How many names of marks a message has.
const NAMES: usize = 10;

fn marks_text(trace: &Trace) -> String {
    let mut names: Vec<&str> = Vec::new();
    for mark in &trace.marks {
        if !names.contains(&&*mark.name) {
            names.push(&mark.name);
            if names.len() > NAMES {
                break;
            }
        }
    }
    match names.len() {
        0 => "it has no marks".to_owned(),
        count if count > NAMES => format!("its marks are {}, …", names[..NAMES].join(", ")),
        _ => format!("its marks are {}", names.join(", ")),
    }
}
