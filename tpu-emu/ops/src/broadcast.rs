//! Repeats along new outermost axes.
use super::{Entry, Lowered, Simplification, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::strided_view::Access;

/// The whole operand at every index of the new axes.
///
/// Shapes: `operand [o..]`; result `[broadcast_sizes.., o..]`.
/// Source: StableHLO's dialect, "broadcast" (before 1.0, now `broadcast_in_dim`).
pub(super) const OP: Entry =
    Entry { simplification: Simplification::Moved, ..Entry::new("broadcast", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    let mut dims = site.indices("broadcast_sizes")?;
    dims.extend(&operand.dims);
    Ok(vec![site.shape(operand.dtype, dims)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand] = site.exactly()?;
    let result = &site.results[0];
    let axes: Vec<usize> = (result.rank() - operand.rank()..result.rank()).collect();
    Ok(Lowered::Access(Access::spread(operand, result, &axes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn new_axes_come_first() {
        let case = Case::new("stablehlo.broadcast")
            .value(DType::U8, &[2], &[1_u8, 2])
            .integers("broadcast_sizes", &[3]);
        assert_eq!(case.shapes(&OP), "u8[3,2]");
        assert_eq!(case.eval::<u8>(&OP), [1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn a_size_past_memory_is_an_error() {
        let case = Case::new("stablehlo.broadcast")
            .operand(DType::U8, &[2])
            .integers("broadcast_sizes", &[i64::MAX, 0]);
        assert!(case.shapes(&OP).contains("past 2^63 bytes"));
    }
}
