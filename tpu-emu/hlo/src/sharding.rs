//! Shardings as the text that StableHLO programs carry them in.
use std::fmt::Write as _;
use tpu_proto::xla::OpSharding;
use tpu_proto::xla::op_sharding::Type;

/// `{replicated}`, `{devices=[2,1]<=[2]}` and so on.
pub(crate) fn text(sharding: &OpSharding) -> String {
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

#[cfg(test)]
mod tests {
    use super::text;
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
}
