//! Names of topologies: the grammar, and what to say about a name outside of it.
use super::generations::{self, GENERATIONS, Generation};
use super::mesh::Bounds;
use super::{cores, options};
use tpu_base::error::{Error, Result};

/// The grammar as the real library prints it.
const REGEX: &str = r"^([a-zA-Z0-9\_ ]+)[=\_:]([0-9x]+)(\_twisted|\_untwisted)?$";

/// Whole names outside of the grammar that are known nevertheless.
///
/// Source: names accepted by libtpu 0.0.51.
const WHOLE_NAMES: [(&str, &str); 4] =
    [("", "v2:2x2"), ("v3-8", "v3:2x2"), ("v4-8", "v4:2x2x1"), ("v5e-4", "v5e:2x2")];

/// Whether the real library knows a whole name outside of its grammar.
pub(super) fn is_whole(text: &str) -> bool {
    WHOLE_NAMES.iter().any(|(name, _)| name.eq_ignore_ascii_case(text))
}

/// Names of Cloud machines and of users that stand for a family.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("v4lite", "v4 lite"),
    ("v5lite", "v5e"),
    ("v5litepod", "v5e"),
    ("v6", "v6e"),
    ("v6lite", "v6e"),
    ("v7", "tpu7x"),
    ("v7x", "tpu7x"),
    ("tpu7", "tpu7x"),
    ("tpuv7x", "tpu7x"),
    ("ironwood", "tpu7x"),
];

/// A name that was understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The full name of the generation; it has at least one row.
    pub(super) external: String,
    /// Chips along each axis, none of them 0.
    pub(super) bounds: Bounds,
    /// Whether the name ends in `_twisted`.
    pub(super) twisted: bool,
}

impl Name {
    /// Errors: `BadArgument` in the words of libtpu 0.0.51, then a sentence of help.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let known = WHOLE_NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        let Some(parts) = split(known.map_or(text, |(_, name)| name)) else {
            let what = format!("Your TPU topology name {text} is invalid and does not match regex");
            return Err(refuse(&format!("{what}: {REGEX}"), text));
        };
        let external = external_name(parts.family);
        if generations::named(&external).next().is_none() {
            return Err(refuse(&format!("Invalid TPU external name: {external}"), text));
        }
        let Some(bounds) = parse_bounds(parts.shape) else {
            let shape = parts.shape;
            return Err(refuse(
                &format!("Invalid topology layout for a single slice: {shape}"),
                text,
            ));
        };
        Ok(Self { external, bounds, twisted: parts.twisted })
    }
}

struct Parts<'a> {
    family: &'a str,
    shape: &'a str,
    twisted: bool,
}

/// The pieces of a name inside the grammar.
fn split(text: &str) -> Option<Parts<'_>> {
    let (rest, twisted) = match text.strip_suffix("_twisted") {
        Some(rest) => (rest, true),
        None => (text.strip_suffix("_untwisted").unwrap_or(text), false),
    };
    let (family, shape) = rest.rsplit_once(['=', '_', ':'])?;
    let in_family = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ';
    let fits = !family.is_empty()
        && !shape.is_empty()
        && family.chars().all(in_family)
        && shape.chars().all(|c| c.is_ascii_digit() || c == 'x');
    fits.then_some(Parts { family, shape, twisted })
}

/// The full name that the real library looks up.
fn external_name(family: &str) -> String {
    match family.get(..3) {
        Some(prefix) if prefix.eq_ignore_ascii_case("tpu") => format!("TPU{}", &family[3..]),
        _ => format!("TPU {family}"),
    }
}

/// Two or three sides of at least 1. The third one is 1 if it is left out.
pub(super) fn parse_bounds(shape: &str) -> Option<Bounds> {
    let mut bounds = [1; 3];
    let mut given = 0;
    for side in shape.split('x') {
        *bounds.get_mut(given)? = side.parse().ok().filter(|&side| side > 0)?;
        given += 1;
    }
    (given >= 2).then_some(bounds)
}

fn refuse(real: &str, text: &str) -> Error {
    let mut families: Vec<_> = GENERATIONS.iter().map(|row| row.family).collect();
    families.dedup();
    let families = families.join(", ");
    let options = options::NAMES.join(", ");
    let example = match nearest(text) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => "for example \"v5e:2x4\".".to_owned(),
    };
    Error::bad(format!(
        "{real}. A topology is FAMILY:XxY or FAMILY:XxYxZ chips, of the families {families}, with \
         the options {options}; {example}"
    ))
}

/// The name that was probably meant.
fn nearest(text: &str) -> Option<String> {
    let lower = text.get(..text.len().min(64))?.to_ascii_lowercase();
    let (family, shape) = match split(&lower) {
        Some(parts) => (parts.family, parts.shape),
        None => lower.split_once(['-', ':', '=', ' ', '_']).unwrap_or((&lower, "")),
    };
    let row = nearest_family(family.strip_prefix("tpu ").unwrap_or(family))?;
    let bounds = parse_bounds(shape)
        .or_else(|| cores::shape_of(row, shape.parse().ok()?))
        .unwrap_or(row.host);
    let [x, y, z] = bounds;
    let family = row.family;
    let planar = row.axes == 2 && z == 1;
    Some(if planar { format!("{family}:{x}x{y}") } else { format!("{family}:{x}x{y}x{z}") })
}

fn nearest_family(family: &str) -> Option<&'static Generation> {
    let other = OTHER_NAMES.iter().map(|&(name, family)| (name, family));
    let own = GENERATIONS.iter().flat_map(|row| {
        let short = row.names.iter().map(|name| name.strip_prefix("TPU ").unwrap_or(name));
        short.map(|name| (name, row.family))
    });
    let candidates = other.chain(own);
    // Of equally near ones the last: a name of ours, and the newest.
    let scored = candidates.map(|(name, meant)| (distance(family, &name.to_lowercase()), meant));
    let (distance, meant) =
        scored.reduce(|best, next| if next.0 <= best.0 { next } else { best })?;
    let near = distance <= family.len() / 3;
    GENERATIONS.iter().find(|row| near && row.family == meant)
}

/// Edits that turn one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_name_is_understood() {
        let same = ["v5e:2x4", "V5E=2x4x1", "TPU v5 lite:2x4", "tpu v5e_2x4_untwisted"];
        for text in same {
            let name = Name::parse(text).unwrap();
            assert_eq!((name.bounds, name.twisted), ([2, 4, 1], false), "{text}");
            assert!(generations::named(&name.external).all(|row| row.family == "v5e"));
        }
        assert!(Name::parse("tpu7x:4x4x8_twisted").unwrap().twisted);
        assert_eq!(Name::parse("").unwrap().external, "TPU v2");
        assert_eq!(Name::parse("v4-8").unwrap().bounds, [2, 2, 1]);
    }

    #[test]
    fn a_bad_name_is_refused_in_the_real_words_and_answered_with_a_good_one() {
        let rows = [
            ("v5litepod-8", "Your TPU topology name v5litepod-8 is invalid", "\"v5e:2x4\"?"),
            ("v5p-8", "Your TPU topology name v5p-8 is invalid", "\"v5p:2x2x1\"?"),
            ("v4-32", "Your TPU topology name v4-32 is invalid", "\"v4:2x2x4\"?"),
            ("v3-32", "Your TPU topology name v3-32 is invalid", "\"v3:4x4\"?"),
            ("tpu7x-8", "Your TPU topology name tpu7x-8 is invalid", "\"tpu7x:2x2x1\"?"),
            ("v5e-1", "Your TPU topology name v5e-1 is invalid", "\"v5e:1x1\"?"),
            ("v5lite:2x2", "Invalid TPU external name: TPU v5lite.", "\"v5e:2x2\"?"),
            ("v7x:2x2x2", "Invalid TPU external name: TPU v7x.", "\"tpu7x:2x2x2\"?"),
            ("tpu7:2x2x1", "Invalid TPU external name: TPU7.", "\"tpu7x:2x2x1\"?"),
            ("v4 2x2x1", "Your TPU topology name v4 2x2x1 is invalid", "\"v4:2x2x1\"?"),
            ("v4:2x", "Invalid topology layout for a single slice: 2x.", "\"v4:2x2x1\"?"),
            ("v5e:0x0", "Invalid topology layout for a single slice: 0x0.", "\"v5e:2x2\"?"),
            ("v8:2x2x1", "Invalid TPU external name: TPU v8.", "for example \"v5e:2x4\"."),
            ("foo", "Your TPU topology name foo is invalid", "for example \"v5e:2x4\"."),
            ("é-8", "Your TPU topology name é-8 is invalid", "for example \"v5e:2x4\"."),
        ];
        for (text, start, end) in rows {
            let message = Name::parse(text).unwrap_err().to_string();
            assert!(message.starts_with(start) && message.ends_with(end), "{text}: {message}");
        }
    }

    #[test]
    fn every_name_that_is_offered_is_a_name() {
        for text in ["v5litepod-256", "v6e-4", "v2-512", "v4-16", "v4i:2x2", "tpuv7x-128"] {
            let offered = nearest(text).unwrap();
            assert!(Name::parse(&offered).is_ok(), "{text}: {offered}");
        }
    }

    #[test]
    fn sides_past_the_range_of_a_coordinate_are_refused() {
        assert_eq!(parse_bounds("99999999999x1"), None);
        assert_eq!(parse_bounds("2x2x1x1"), None);
        assert_eq!(parse_bounds("8"), None);
        assert_eq!(parse_bounds("2147483647x1"), Some([i32::MAX, 1, 1]));
    }
}
