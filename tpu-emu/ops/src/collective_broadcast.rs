//! A member's value for its whole group.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The operands of a group's first member: of one member, its own.
///
/// Shapes: those of the operands.
/// Errors: `Constraint` C3 without an operand; `Unimplemented` for a root that the program
/// computes.
/// Source: StableHLO specification, "collective_broadcast", C1-C6.
pub(super) const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::CollectiveBroadcast),
    ..Entry::new("collective_broadcast", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    if site.operands.is_empty() {
        return Err(site.violates("C3", "no operand"));
    }
    if site.attributes.flag("has_dynamic_root") {
        return Err(site.unimplemented("has_dynamic_root"));
    }
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

    #[test]
    fn one_member_receives_its_own() {
        let case = || Case::new("stablehlo.collective_broadcast");
        assert_eq!(case().value(DType::U8, &[1], &[7_u8]).eval::<u8>(&OP), [7]);
        assert!(case().shapes(&OP).contains("violates C3"));
    }
}
