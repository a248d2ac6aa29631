//! Parts of each member's operand for each member of a group.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site, collective};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// Part `i` along `split_dimension` goes to member `i`, the parts received lie along
/// `concat_dimension`: with one member, nothing moves.
///
/// Shapes: those of the operands.
/// Errors: `Constraint` C1, C3, C4; `Unimplemented` for several devices.
/// Source: StableHLO specification, "all_to_all", C1-C9.
pub const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::AllToAll),
    ..Entry::new("all_to_all", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    collective::axis(site, "split_dimension", "C1")?;
    collective::axis(site, "concat_dimension", "C3")?;
    match site.index("split_count")? {
        0 => Err(site.violates("C4", "split_count 0")),
        1 => Ok(site.operands.to_vec()),
        parts => Err(site.unimplemented(format!("{parts} parts take several devices"))),
    }
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
    fn one_part_stays_where_it_is() {
        let case = |count| {
            let case = Case::new("stablehlo.all_to_all").value(DType::U8, &[2], &[1_u8, 2]);
            let case = case.integer("split_dimension", 0).integer("concat_dimension", 0);
            case.integer("split_count", count)
        };
        assert_eq!(case(1).eval::<u8>(&OP), [1, 2]);
        assert!(case(0).shapes(&OP).contains("violates C4"));
        assert!(case(2).shapes(&OP).contains("2 parts take several devices"));
    }
}
