//! `OpSharding` messages from a program's own words.
use crate::texts::Texts;
use std::sync::Arc;
use tpu_emu::program::CompileOptions;
use tpu_emu::tensor::ArraySpec;
use tpu_proto::Message;
use tpu_proto::xla::OpSharding;
use tpu_proto::xla::op_sharding::Type;

/// One message a value; `None` if there is a value that nothing can be told of.
///
/// A program of one partition holds every value whole. A message for each of no values is
/// nothing that clients take: they look for the sharding of an empty tuple.
pub(crate) fn messages<'a>(
    options: &CompileOptions,
    values: impl Iterator<Item = (Option<&'a str>, &'a ArraySpec)>,
) -> Option<Texts> {
    let one = options.partitions <= 1;
    let message = |(text, _): (Option<&str>, &ArraySpec)| -> Option<Arc<[u8]>> {
        let sharding = if one { Some(plain(Type::Replicated)) } else { text.and_then(parse) };
        sharding.map(|sharding| sharding.encode_to_vec().into())
    };
    let all = values.map(message).collect::<Option<Vec<_>>>();
    all.filter(|all| !all.is_empty()).map(Texts::new)
}

/// The message of one sharding; `None` for words that are not known.
pub(crate) fn message(text: &str) -> Option<Vec<u8>> {
    parse(text).map(|sharding| sharding.encode_to_vec())
}

fn plain(kind: Type) -> OpSharding {
    OpSharding { r#type: kind.into(), ..OpSharding::default() }
}

/// The message of a text as `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`; `None` for words
/// that are not known.
fn parse(text: &str) -> Option<OpSharding> {
    let inside = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    // Where a sharding comes from is in braces of its own, at the end.
    let inside = inside.split(" metadata=").next()?.trim();
    if inside.starts_with('{') {
        let parts = top_level(inside)?.into_iter().map(parse).collect::<Option<_>>()?;
        return Some(OpSharding { tuple_shardings: parts, ..plain(Type::Tuple) });
    }
    if let Some(device) = inside.strip_prefix("maximal device=") {
        return Some(OpSharding {
            tile_assignment_dimensions: vec![1],
            tile_assignment_devices: vec![device.parse().ok()?],
            ..plain(Type::Maximal)
        });
    }
    if let Some(tiles) = inside.strip_prefix("devices=[") {
        return parse_tiles(tiles);
    }
    group(inside).map(plain)
}

/// The kinds that have a word alone.
fn group(word: &str) -> Option<Type> {
    match word.trim() {
        "replicated" => Some(Type::Replicated),
        "manual" => Some(Type::Manual),
        "unknown" => Some(Type::Unknown),
        "unreduced" => Some(Type::Unreduced),
        _ => None,
    }
}

/// `2,1,2]<=[2,2]T(1,0) last_tile_dims={manual}`: extents, devices, and what the last are.
fn parse_tiles(text: &str) -> Option<OpSharding> {
    let (extents, rest) = text.split_once(']')?;
    let mut sharding =
        OpSharding { tile_assignment_dimensions: numbers(extents)?, ..plain(Type::Other) };
    let (devices, words) = rest.split_once(' ').unwrap_or((rest, ""));
    if let Some(iota) = devices.strip_prefix("<=[") {
        let (shape, order) = iota.split_once(']')?;
        sharding.iota_reshape_dims = numbers(shape)?;
        let axes = 0..i32::try_from(sharding.iota_reshape_dims.len()).ok()?;
        sharding.iota_transpose_perm = match order.strip_prefix("T(") {
            Some(order) => numbers(order.strip_suffix(')')?)?,
            None if order.is_empty() => axes.collect(),
            None => return None,
        };
    } else {
        sharding.tile_assignment_devices = numbers(devices)?;
    }
    match words.trim() {
        "" => {}
        "last_tile_dim_replicate" => sharding.replicate_on_last_tile_dim = true,
        words => {
            let kinds = words.strip_prefix("last_tile_dims={")?.strip_suffix('}')?;
            let kinds = kinds.split(',').map(|kind| group(kind).map(i32::from));
            sharding.last_tile_dims = kinds.collect::<Option<_>>()?;
        }
    }
    Some(sharding)
}

fn numbers<N: std::str::FromStr>(text: &str) -> Option<Vec<N>> {
    text.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// `{…}, {…}` as its parts.
fn top_level(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        // A tuple holds no tuples, and its parts at most one list.
        if depth > 2 {
            return None;
        }
    }
    parts.push(&text[start..]);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_program_become_messages() {
        let halves = parse("{devices=[2,1,2]<=[4] last_tile_dim_replicate}").unwrap();
        assert_eq!(halves.r#type(), Type::Other);
        assert_eq!(halves.tile_assignment_dimensions, [2, 1, 2]);
        assert_eq!((halves.iota_reshape_dims, halves.iota_transpose_perm), (vec![4], vec![0]));
        assert!(halves.replicate_on_last_tile_dim);
        let listed = parse("{devices=[2,2]0,2,1,3}").unwrap();
        assert_eq!(listed.tile_assignment_devices, [0, 2, 1, 3]);
        let manual = parse("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}");
        let manual = manual.unwrap();
        assert_eq!(manual.iota_transpose_perm, [1, 0]);
        assert_eq!(manual.last_tile_dims, [4, 0]);
        let one = parse("{maximal device=3}").unwrap();
        assert_eq!((one.r#type(), one.tile_assignment_devices), (Type::Maximal, vec![3]));
        let pair = parse("{{replicated}, {devices=[2]<=[2]}}").unwrap();
        assert_eq!(pair.tuple_shardings.len(), 2);
        assert_eq!(parse("{manual}").unwrap().r#type(), Type::Manual);
    }

    #[test]
    fn other_words_are_not_guessed() {
        for text in ["", "{}", "{replicated", "{devices=[2", "{devices=[2]<=[2]X}", "{{{{}}}}"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn no_values_have_no_messages() {
        let options = CompileOptions { replicas: 1, partitions: 1, ..<_>::default() };
        assert!(messages(&options, std::iter::empty()).is_none());
    }
}
