//! Slices at computed places.
use super::gather_dimensions::Dimensions;
use super::{Entry, LayoutRule, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// For each index vector the slice of `slice_sizes` there, moved so far that it lies inside.
///
/// Shapes: `operand [o..]`; `start_indices` integers; result: the axes of the indices but
/// `index_vector_dim`, and at `offset_dims` those of a slice that are neither collapsed nor
/// batching.
/// Errors: `Constraint` C1 to C21.
/// Source: StableHLO specification, "gather", C1-C23.
pub(super) const OP: Entry = Entry {
    sharding: ShardingRule::Gathered,
    layout: LayoutRule::Default,
    relayout: Relayout::Gathered,
    factors: factors::gathered,
    ..Entry::new("gather", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, indices] = site.exactly()?;
    let dimensions = Dimensions::of(site, site.indices("slice_sizes")?)?;
    Ok(vec![dimensions.result(site, operand, indices)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, indices] = site.exactly()?;
    let dimensions = Dimensions::of(site, site.indices("slice_sizes")?)?;
    dimensions.lower(site, operand, indices, &site.results[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;
    use tpu_kernels::parallel;

    /// The example of the specification: batching, collapsed and mapped axes in another order.
    fn example() -> Case {
        let operand: Vec<i32> = (1..=48).collect();
        let indices: [i64; 24] =
            [0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 0, 9, 0, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0];
        Case::new("stablehlo.gather")
            .value(DType::S32, &[2, 3, 4, 2], &operand)
            .value(DType::S64, &[2, 2, 3, 2], &indices)
            .integers("offset_dims", &[3, 4])
            .integers("collapsed_slice_dims", &[1])
            .integers("operand_batching_dims", &[0])
            .integers("start_indices_batching_dims", &[1])
            .integers("start_index_map", &[2, 1])
            .integer("index_vector_dim", 3)
            .integers("slice_sizes", &[1, 1, 2, 2])
    }

    #[test]
    fn the_example_of_the_specification() {
        assert_eq!(example().shapes(&OP), "s32[2,2,3,2,2]");
        let expected = [
            [1, 2, 3, 4],
            [3, 4, 5, 6],
            [13, 14, 15, 16],
            [33, 34, 35, 36],
            [35, 36, 37, 38],
            [41, 42, 43, 44],
            [1, 2, 3, 4],
            [13, 14, 15, 16],
            [21, 22, 23, 24],
            [43, 44, 45, 46],
            [33, 34, 35, 36],
            [27, 28, 29, 30],
        ];
        assert_eq!(example().eval::<i32>(&OP), expected.concat());
    }

    /// `operand[indices]` of one row each, with the slice before the batch.
    fn rows(dtype: DType, indices: &[u8], offset: i64) -> Case {
        Case::new("stablehlo.gather")
            .value(DType::U8, &[3, 2], &[1_u8, 2, 3, 4, 5, 6])
            .value(dtype, &[indices.len() / dtype.host_bytes()], indices)
            .integers("offset_dims", &[offset])
            .integers("collapsed_slice_dims", &[0])
            .integers("start_index_map", &[0])
            .integer("index_vector_dim", 1)
            .integers("slice_sizes", &[1, 2])
    }

    #[test]
    fn rows_outside_are_clamped_for_every_index_type() {
        assert_eq!(rows(DType::S8, &[2, 0xff, 7], 1).eval::<u8>(&OP), [5, 6, 1, 2, 5, 6]);
        assert_eq!(rows(DType::U8, &[2, 0xff, 1], 1).eval::<u8>(&OP), [5, 6, 5, 6, 3, 4]);
        let words = [u64::MAX, 1].map(u64::to_le_bytes).concat();
        assert_eq!(rows(DType::U64, &words, 1).eval::<u8>(&OP), [5, 6, 3, 4]);
        assert_eq!(rows(DType::S64, &words, 1).eval::<u8>(&OP), [1, 2, 3, 4]);
        let words = [-3_i32, 1].map(i32::to_le_bytes).concat();
        assert_eq!(rows(DType::S32, &words, 1).eval::<u8>(&OP), [1, 2, 3, 4]);
        assert_eq!(rows(DType::U32, &words, 1).eval::<u8>(&OP), [5, 6, 3, 4]);
    }

    #[test]
    fn a_slice_may_lie_across_the_batch() {
        assert_eq!(rows(DType::S8, &[2, 0], 0).shapes(&OP), "u8[2,2]");
        assert_eq!(rows(DType::S8, &[2, 0], 0).eval::<u8>(&OP), [5, 1, 6, 2]);
        assert_eq!(rows(DType::S8, &[], 0).eval::<u8>(&OP), []);
    }

    #[test]
    fn single_elements_are_looked_up_along_two_axes() {
        let case = Case::new("stablehlo.gather")
            .value(DType::F32, &[2, 3], &[0_f32, 1., 2., 3., 4., 5.])
            .value(DType::S32, &[2, 3], &[1, 0, 1, 2, 1, 0])
            .integers("collapsed_slice_dims", &[0, 1])
            .integers("start_index_map", &[0, 1])
            .integer("index_vector_dim", 0)
            .integers("slice_sizes", &[1, 1]);
        assert_eq!(case.eval::<f32>(&OP), [5., 1., 3.]);
    }

    #[test]
    fn many_slices_are_the_same_for_any_number_of_threads() {
        let rows = 20_000;
        let indices: Vec<i32> = (0..rows).map(|at| at * 7919 % 1009 - 3).collect();
        for (width, vectors) in [(1, vec![rows]), (40, vec![rows]), (1, vec![4, rows / 4])] {
            let dims: Vec<usize> =
                vectors.iter().map(|&count| usize::try_from(count).unwrap()).collect();
            let operand: Vec<i32> = (0..1000 * width).collect();
            let size = usize::try_from(width).unwrap();
            let offset = i64::try_from(dims.len()).unwrap();
            let case = Case::new("stablehlo.gather")
                .value(DType::S32, &[1000, size], &operand)
                .value(DType::S32, &dims, &indices)
                .integers("offset_dims", &[offset])
                .integers("collapsed_slice_dims", &[0])
                .integers("start_index_map", &[0])
                .integer("index_vector_dim", offset)
                .integers("slice_sizes", &[1, width.into()]);
            let row = |&index: &i32| {
                let first = index.clamp(0, 999) * width;
                first..first + width
            };
            let expected: Vec<i32> = indices.iter().flat_map(row).collect();
            for threads in [1, 2, 3] {
                let found = parallel::with_threads(threads, || case.eval::<i32>(&OP));
                assert_eq!(found, expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn every_broken_constraint_is_named() {
        let breaks = |name: &'static str, axes: &[i64]| {
            let text = example().integers(name, axes).shapes(&OP);
            text.split(':').next().unwrap().replace("stablehlo.gather violates ", "")
        };
        assert_eq!(breaks("collapsed_slice_dims", &[1, 2]), "C1");
        assert_eq!(breaks("offset_dims", &[4, 3]), "C4");
        assert_eq!(breaks("offset_dims", &[3, 5]), "C5");
        assert_eq!(breaks("collapsed_slice_dims", &[0]), "C6");
        assert_eq!(breaks("collapsed_slice_dims", &[4]), "C8");
        assert_eq!(breaks("slice_sizes", &[1, 2, 2, 2]), "C9");
        assert_eq!(breaks("slice_sizes", &[2, 1, 2, 2]), "C12");
        assert_eq!(breaks("start_indices_batching_dims", &[4]), "C14");
        assert_eq!(breaks("start_indices_batching_dims", &[3]), "C15");
        assert_eq!(breaks("start_indices_batching_dims", &[0, 1]), "C16");
        assert_eq!(breaks("start_indices_batching_dims", &[2]), "C17");
        assert_eq!(breaks("start_index_map", &[0, 1]), "C18");
        assert_eq!(breaks("start_index_map", &[4, 1]), "C19");
        assert_eq!(breaks("start_index_map", &[2]), "C3");
        assert_eq!(breaks("slice_sizes", &[1, 1, 2]), "C20");
        assert_eq!(breaks("slice_sizes", &[1, 1, 5, 2]), "C21");
        assert!(example().integer("index_vector_dim", 5).shapes(&OP).contains("violates C2"));
    }
}
