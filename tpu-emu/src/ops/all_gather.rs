//! The shards of a group side by side.
use super::{Entry, Lowered, Site, collective};
use crate::error::Result;
use crate::tensor::Shape;

/// The operands of a group's members, one after another along `all_gather_dim`: of one member,
/// its own.
///
/// Shapes: those of the operands.
/// Errors: `Constraint` C1; `Unimplemented` for several devices.
/// Source: StableHLO specification, "all_gather", C1-C6.
pub(super) const OP: Entry = Entry { mnemonic: "all_gather", infer, lower };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    collective::axis(site, "all_gather_dim", "C1")?;
    collective::alone(site)?;
    Ok(site.operands.to_vec())
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Forward)
}

#[cfg(test)]
mod tests {
    use super::super::case::{Case, bytes};
    use super::*;
    use crate::tensor::DType;
    use tpu_stablehlo::ir::{Attribute, Element, Elements, TensorType};

    fn case(axis: i64, dims: &[i64], members: &[i64]) -> Case {
        let of = TensorType::new(Element::S64, dims.to_vec());
        let groups = Elements { of, data: bytes(members).into(), splat: false };
        Case::new("stablehlo.all_gather")
            .value(DType::U8, &[2], &[1_u8, 2])
            .integer("all_gather_dim", axis)
            .attribute("replica_groups", Attribute::Elements(groups))
    }

    #[test]
    fn one_member_gathers_its_own() {
        assert_eq!(case(0, &[1, 1], &[0]).eval::<u8>(&OP), [1, 2]);
        assert_eq!(case(0, &[0, 0], &[]).eval::<u8>(&OP), [1, 2]);
    }

    #[test]
    fn other_members_take_several_devices() {
        assert!(case(1, &[1, 1], &[0]).shapes(&OP).contains("violates C1"));
        for (dims, members) in [([1, 2], &[0, 1][..]), ([2, 1], &[0, 1]), ([1, 1], &[1])] {
            let text = case(0, &dims, members).shapes(&OP);
            assert!(text.contains("take several devices"), "{text}");
        }
    }
}
