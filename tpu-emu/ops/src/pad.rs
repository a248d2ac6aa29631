//! Room around and between elements.
use super::edges::Edges;
use super::{Entry, Lowered, Relayout, ShardingRule, Site, factors};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The operand with `interior_padding` elements of the second operand between its elements and
/// `edge_padding_low`, `edge_padding_high` around them; negative edges cut off.
///
/// Shapes: `operand [o..]`; `padding_value []`; result
/// `[low + o + max(o - 1, 0) * interior + high, ..]`.
/// Errors: `Constraint` C1 to C4.
/// Source: StableHLO specification, "pad", C1-C4.
pub const OP: Entry = Entry {
    sharding: ShardingRule::Pieces,
    factors: factors::padded,
    relayout: Relayout::Padded,
    ..Entry::new("pad", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, value] = site.exactly()?;
    Ok(vec![edges(site)?.result(site, operand, value)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, _] = site.exactly()?;
    Ok(edges(site)?.lower(operand, &site.results[0]))
}

fn edges(site: &Site<'_>) -> Result<Edges> {
    Ok(Edges {
        low: site.integers("edge_padding_low")?,
        high: site.integers("edge_padding_high")?,
        interior: site.integers("interior_padding")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(low: &[i64], high: &[i64], interior: &[i64]) -> Case {
        Case::new("stablehlo.pad")
            .value(DType::S32, &[2, 3], &[1, 2, 3, 4, 5, 6])
            .value(DType::S32, &[], &[-9])
            .integers("edge_padding_low", low)
            .integers("edge_padding_high", high)
            .integers("interior_padding", interior)
    }

    #[test]
    fn room_is_made_around_and_between() {
        let padded = case(&[0, 1], &[1, 0], &[1, 2]);
        assert_eq!(padded.shapes(&OP), "s32[4,8]");
        let p = -9;
        let expected = [[p, 1, p, p, 2, p, p, 3], [p; 8], [p, 4, p, p, 5, p, p, 6], [p; 8]];
        assert_eq!(padded.eval::<i32>(&OP), expected.concat());
    }

    #[test]
    fn negative_edges_cut_off_after_the_interior_is_made() {
        // Row 0 to 1 with one row between, less one row before; columns 1 . 2 . 3 less one on
        // each side.
        let cut = case(&[-1, -1], &[0, -1], &[1, 1]);
        assert_eq!(cut.shapes(&OP), "s32[2,3]");
        assert_eq!(cut.eval::<i32>(&OP), [-9, -9, -9, -9, 5, -9]);
        let slice = case(&[0, -1], &[-1, 0], &[0, 0]);
        assert!(matches!(slice.lower(&OP).unwrap(), Lowered::Access(_)));
        assert_eq!(slice.eval::<i32>(&OP), [2, 3]);
    }

    #[test]
    fn elements_of_every_width_are_put_apart() {
        fn check<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(dtype: DType, of: fn(u8) -> T) {
            for (low, high) in [(0, 0), (1, 0), (0, 1), (2, 3), (-1, 0)] {
                let elements: Vec<T> = (1..=5).map(of).collect();
                let case = Case::new("stablehlo.pad")
                    .value(dtype, &[5], &elements)
                    .value(dtype, &[], &[of(9)])
                    .integers("edge_padding_low", &[low])
                    .integers("edge_padding_high", &[high])
                    .integers("interior_padding", &[1]);
                let whole = [9, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9, 9, 9];
                let range = usize::try_from(2 - low).unwrap()..usize::try_from(11 + high).unwrap();
                let expected: Vec<T> = whole[range].iter().map(|&value| of(value)).collect();
                assert_eq!(case.eval::<T>(&OP), expected, "{low} {high}");
            }
        }
        check(DType::U8, |value| value);
        check(DType::U16, u16::from);
        check(DType::F32, f32::from);
        check(DType::S64, i64::from);
        check(DType::C128, |value| u128::from(value) << 70);
    }

    #[test]
    fn nothing_may_be_left_of_the_operand() {
        assert_eq!(case(&[-3, 0], &[3, 0], &[0, 0]).eval::<i32>(&OP), [-9; 6]);
        assert_eq!(case(&[-2, 0], &[0, 0], &[0, 0]).shapes(&OP), "s32[0,3]");
        assert_eq!(case(&[-2, 0], &[0, 0], &[0, 0]).eval::<i32>(&OP), []);
    }

    #[test]
    fn every_broken_constraint_is_named() {
        assert!(case(&[0], &[0, 0], &[0, 0]).shapes(&OP).contains("violates C2"));
        assert!(case(&[0, 0], &[0, 0], &[0, -1]).shapes(&OP).contains("violates C3"));
        assert!(case(&[-3, 0], &[0, 0], &[0, 0]).shapes(&OP).contains("violates C4"));
        let huge = case(&[i64::MAX, i64::MAX], &[0, 0], &[0, 0]);
        assert!(huge.shapes(&OP).contains("past 2^63 bytes"));
    }
}
