//! A reduction over a group, a part of it for each member.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site, collective};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The member's part along `scatter_dimension` of the computation over a group: of one member,
/// its own operand.
///
/// Shapes: result as the operand.
/// Errors: `Constraint` C2; `Unimplemented` for a computation of another type.
/// Source: StableHLO specification, "reduce_scatter", C1-C9.
pub const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::ReduceScatter),
    ..Entry::new("reduce_scatter", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    collective::axis(site, "scatter_dimension", "C2")?;
    collective::keeps_types(site)?;
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
    fn the_axis_must_be_there() {
        let case = Case::new("stablehlo.reduce_scatter").operand(DType::U8, &[2]);
        assert!(case.integer("scatter_dimension", 1).shapes(&OP).contains("violates C2"));
    }
}
