//! The shards of a group side by side.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site, collective};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The operands of a group's members, one after another along `all_gather_dim`: of one member,
/// its own.
///
/// Shapes: those of the operands.
/// Errors: `Constraint` C1.
/// Source: StableHLO specification, "all_gather", C1-C6.
pub const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::AllGather),
    ..Entry::new("all_gather", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    collective::axis(site, "all_gather_dim", "C1")?;
    Ok(site.operands.to_vec())
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Forward)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(axis: i64) -> Case {
        let case = Case::new("stablehlo.all_gather").value(DType::U8, &[2], &[1_u8, 2]);
        case.integer("all_gather_dim", axis)
    }

    #[test]
    fn one_member_gathers_its_own() {
        assert_eq!(case(0).eval::<u8>(&OP), [1, 2]);
        assert!(case(1).shapes(&OP).contains("violates C1"));
    }
}
