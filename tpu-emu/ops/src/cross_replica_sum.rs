//! The sum over a group.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The sum of the operands of a group's members: of one member, its own.
///
/// Shapes: result as the operand.
/// Source: StableHLO's dialect, "cross-replica-sum" (before 1.0, now `all_reduce`).
pub(super) const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::CrossReplicaSum),
    ..Entry::new("cross-replica-sum", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    Ok(vec![operand.clone()])
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::View)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn the_sum_over_one_member_is_its_own() {
        let case = Case::new("stablehlo.cross-replica-sum").value(DType::U8, &[2], &[1_u8, 2]);
        assert_eq!(case.eval::<u8>(&OP), [1, 2]);
    }
}
