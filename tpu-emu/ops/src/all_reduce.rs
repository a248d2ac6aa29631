//! The sum, or another reduction, over a group.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site, collective, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The computation over the operands of a group's members: of one member, its own.
///
/// Shapes: those of the operands.
/// Errors: `Unimplemented` for a computation of another type.
/// Source: StableHLO specification, "all_reduce", C1-C7.
pub const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::AllReduce),
    factors: factors::forwarded,
    ..Entry::new("all_reduce", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    collective::keeps_types(site)?;
    Ok(site.operands.to_vec())
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Forward)
}

#[cfg(test)]
mod tests {
    use super::super::RegionCode;
    use super::*;
    use crate::testing::Case;
    use std::sync::Arc;
    use tpu_base::tensor::DType;
    use tpu_kernels::elementwise::program::ElementwiseProgram;

    /// A computation that nobody runs.
    #[derive(Debug)]
    struct Unused([Shape; 1]);

    impl RegionCode for Unused {
        fn parameters(&self) -> &[Shape] {
            &[]
        }

        fn results(&self) -> &[Shape] {
            &self.0
        }

        fn apply(&self, _: usize, _: &[&[u8]], _: &mut [&mut [u8]]) -> Result<()> {
            Err(tpu_base::error::Error::bad("one member has nothing to reduce"))
        }

        fn program(&self) -> Option<&ElementwiseProgram> {
            None
        }
    }

    fn case(dtype: DType) -> Case {
        let body = Arc::new(Unused([Shape::scalar(dtype)]));
        Case::new("stablehlo.all_reduce").value(DType::U8, &[2], &[1_u8, 2]).body(body)
    }

    #[test]
    fn one_member_keeps_its_own() {
        assert_eq!(case(DType::U8).eval::<u8>(&OP), [1, 2]);
    }

    #[test]
    fn a_computation_of_another_type_is_not_done() {
        let text = case(DType::U32).shapes(&OP);
        assert_eq!(text, "stablehlo.all_reduce: u8[2] with a computation of [u32[]]");
    }
}
