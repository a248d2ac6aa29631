//! Shardings as the text that StableHLO programs carry them in.
use std::fmt::Write as _;
use tpu_proto::xla::OpSharding;
use tpu_proto::xla::op_sharding::Type;

/// `{replicated}`, `{devices=[2,1]<=[2]}` and so on.
pub fn text(sharding: &OpSharding) -> String {
    match sharding.r#type() {
        Type::Replicated => "{replicated}".into(),
        Type::Maximal => {
            let device = sharding.tile_assignment_devices.first().copied().unwrap_or(0);
            format!("{{maximal device={device}}}")
        }
        Type::Tuple => {
            let parts: Vec<String> = sharding.tuple_shardings.iter().map(text).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Type::Manual => "{manual}".into(),
        Type::Unknown => "{unknown}".into(),
        Type::Unreduced => "{unreduced}".into(),
        Type::Other => tiles(sharding),
    }
}

fn tiles(sharding: &OpSharding) -> String {
    let mut text = format!("{{devices=[{}]", joined(&sharding.tile_assignment_dimensions));
    if sharding.iota_reshape_dims.is_empty() {
        text += &joined(&sharding.tile_assignment_devices);
    } else {
        let _ = write!(text, "<=[{}]", joined(&sharding.iota_reshape_dims));
        if sharding.iota_transpose_perm.len() > 1 {
            let order: Vec<i64> =
                sharding.iota_transpose_perm.iter().map(|&axis| axis.into()).collect();
            let _ = write!(text, "T({})", joined(&order));
        }
    }
    if sharding.replicate_on_last_tile_dim {
        text += " last_tile_dim_replicate";
    }
    if !sharding.last_tile_dims.is_empty() {
        let words: Vec<String> =
            sharding.last_tile_dims().map(|group| group.as_str_name().to_lowercase()).collect();
        let _ = write!(text, " last_tile_dims={{{}}}", words.join(", "));
    }
    text + "}"
}

fn joined(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// The message of a text as `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`; `None` for words
/// that are not known.
pub fn parse(text: &str) -> Option<OpSharding> {
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

fn plain(kind: Type) -> OpSharding {
    OpSharding { r#type: kind.into(), ..OpSharding::default() }
}

#[cfg(test)]
mod tests {
    use super::{parse, text};
    use tpu_proto::xla::OpSharding;
    use tpu_proto::xla::op_sharding::Type;

    #[test]
    fn shardings_are_written_as_xla_writes_them() {
        let tiled = OpSharding {
            r#type: Type::Other.into(),
            tile_assignment_dimensions: vec![2, 1, 4],
            iota_reshape_dims: vec![4, 2],
            iota_transpose_perm: vec![1, 0],
            replicate_on_last_tile_dim: true,
            ..<_>::default()
        };
        assert_eq!(text(&tiled), "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}");
        let listed = OpSharding {
            r#type: Type::Other.into(),
            tile_assignment_dimensions: vec![2, 2],
            tile_assignment_devices: vec![0, 2, 1, 3],
            last_tile_dims: vec![Type::Manual.into()],
            ..<_>::default()
        };
        assert_eq!(text(&listed), "{devices=[2,2]0,2,1,3 last_tile_dims={manual}}");
        let both = OpSharding {
            r#type: Type::Tuple.into(),
            tuple_shardings: vec![OpSharding::default(), listed],
            ..<_>::default()
        };
        assert!(text(&both).starts_with("{{replicated}, {devices="));
    }

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
}
