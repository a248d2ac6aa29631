//! A fence for optimisers.
use super::{Entry, LayoutRule, Lowered, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// Result `i` is operand `i`.
///
/// Shapes: those of the operands.
/// Source: StableHLO specification, "optimization_barrier", C1-C2.
pub(super) const OP: Entry = Entry {
    layout: LayoutRule::LikeOperands,
    factors: factors::forwarded,
    ..Entry::new("optimization_barrier", infer, lower)
};

/// MHLO's copy: operations never share memory here, so that there is nothing to copy.
///
/// Shapes: those of the operands.
/// Source: MHLO's dialect, "copy".
pub(super) const COPY: Entry = Entry::new("mhlo.copy", infer, |_| Ok(Lowered::Forward));

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    Ok(site.operands.to_vec())
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Barrier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn every_result_is_its_operand() {
        let case = Case::new("stablehlo.optimization_barrier")
            .value(DType::U8, &[2], &[1_u8, 2])
            .value(DType::S32, &[], &[3_i32]);
        assert_eq!(case.shapes(&OP), "u8[2] s32[]");
        assert_eq!(case.run(&OP).unwrap(), [vec![1, 2], vec![3, 0, 0, 0]]);
    }
}
