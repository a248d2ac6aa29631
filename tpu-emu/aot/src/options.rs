//! A `CompileOptionsProto` with its maps in one order: clients write them in another in each
//! process.

/// Of `CompileOptionsProto`.
const BUILD_OPTIONS: u64 = 3;
const OVERRIDES: u64 = 7;
/// Of `ExecutableBuildOptionsProto`.
const DEBUG_OPTIONS: u64 = 3;

/// A field of a message: its number, all of its bytes, and what it has where it has a length.
struct Field<'a> {
    number: u64,
    whole: &'a [u8],
    content: Option<&'a [u8]>,
}

/// The same options for all orders of their maps. What is no message stays as it is.
pub(crate) fn in_one_order(options: &[u8]) -> Vec<u8> {
    let debug = |debug: &[u8]| sorted(debug, |_| true);
    let build = |build: &[u8]| inside(build, DEBUG_OPTIONS, debug);
    let overridden = sorted(options, |number| number == OVERRIDES);
    overridden
        .and_then(|options| inside(&options, BUILD_OPTIONS, build))
        .unwrap_or_else(|| options.to_vec())
}

/// A message in which `change` was applied to what one of its fields has. It keeps its length, since
/// nothing but the order is changed.
fn inside(
    message: &[u8],
    number: u64,
    change: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(message.len());
    for field in fields(message)? {
        let changed = field.content.filter(|_| field.number == number).and_then(&change);
        let content = changed.as_deref().unwrap_or_default();
        out.extend_from_slice(&field.whole[..field.whole.len() - content.len()]);
        out.extend_from_slice(content);
    }
    Some(out)
}

/// A message in which the entries of these maps stand in the order of their bytes.
fn sorted(message: &[u8], is_map: impl Fn(u64) -> bool) -> Option<Vec<u8>> {
    let mut fields = fields(message)?;
    let key = |field: &Field<'_>| (field.number, is_map(field.number) && is_entry(field));
    for run in fields.chunk_by_mut(|a, b| key(a) == key(b)) {
        if key(&run[0]).1 {
            run.sort_by_key(|field| field.whole);
        }
    }
    Some(fields.iter().flat_map(|field| field.whole).copied().collect())
}

/// Whether a field is an entry of a map: a key and a value.
fn is_entry(field: &Field<'_>) -> bool {
    let inner = field.content.and_then(fields);
    inner.is_some_and(|inner| inner.iter().map(|field| field.number).eq([1, 2]))
}

fn fields(mut message: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let (tag, rest) = number(message)?;
        let (content, rest) = match tag & 7 {
            0 => (None, number(rest)?.1),
            1 => (None, rest.get(8..)?),
            2 => {
                let (length, rest) = number(rest)?;
                let (content, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                (Some(content), rest)
            }
            5 => (None, rest.get(4..)?),
            _ => return None,
        };
        let whole = &message[..message.len() - rest.len()];
        found.push(Field { number: tag >> 3, whole, content });
        message = rest;
    }
    Some(found)
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field that has a length.
    fn with(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn entry(number: u8, key: &str, value: &str) -> Vec<u8> {
        with(number, &[with(1, key.as_bytes()), with(2, value.as_bytes())].concat())
    }

    fn options(maps: &[Vec<u8>], overrides: &[Vec<u8>]) -> Vec<u8> {
        let debug = [&[8, 1][..], &maps.concat(), &[16, 5]].concat();
        [with(3, &[&[8, 2][..], &with(3, &debug)].concat()), overrides.concat()].concat()
    }

    #[test]
    fn the_order_of_maps_does_not_count() {
        let (a, b) = (entry(5, "a", "1"), entry(5, "b", "2"));
        let (x, y) = (entry(7, "x", "1"), entry(7, "y", "2"));
        let one = options(&[a.clone(), b.clone()], &[x.clone(), y.clone()]);
        let other = options(&[b.clone(), a.clone()], &[y, x]);
        assert_ne!(one, other);
        assert_eq!(in_one_order(&one), in_one_order(&other));
        let less = options(&[a], &[]);
        assert_ne!(in_one_order(&one), in_one_order(&less));
    }

    #[test]
    fn the_order_of_lists_counts() {
        let (a, b) = (with(4, b"\x08\x01"), with(4, b"\x08\x02"));
        let one = options(&[a.clone(), b.clone()], &[]);
        let other = options(&[b, a], &[]);
        assert_ne!(in_one_order(&one), in_one_order(&other));
    }

    #[test]
    fn what_is_no_message_stays() {
        for bytes in [&[255_u8; 20][..], &[0x1a, 200], &[], &[7]] {
            assert_eq!(in_one_order(bytes), bytes);
        }
    }
}
