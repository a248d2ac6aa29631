//! `stablehlo.select`: one of two values, by a boolean.
use super::elementwise::{dtype, lane_of};
use super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Complex, Pred};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;

/// The row of `select`, which the compiler adds to programs itself, too.
pub const OP: Entry = Entry::elementwise("select", infer, lower);

/// `on_true` where `pred` holds, else `on_false`.
///
/// Shapes: `on_true`, `on_false` and result `[d..]`; `pred` `[]` or `[d..]`, boolean.
/// Errors: `Constraint` C1 for a condition of another shape, C2 for values of different types.
/// Source: StableHLO specification, "select", C1 and C2.
fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [pred, on_true, on_false] = site.exactly::<3>()?;
    if pred.dtype != DType::Pred || (pred.rank() != 0 && pred.dims != on_true.dims) {
        return Err(site.violates("C1", format!("{pred} does not choose among {on_true}")));
    }
    if on_true != on_false {
        return Err(site.violates("C2", format!("{on_true} and {on_false} differ")));
    }
    Ok(vec![on_true.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    macro_rules! choose {
        ($T:ty) => {
            Some(lane!(|p: Pred, a: $T, b: $T| if p.0 != 0 { a } else { b }))
        };
    }
    // Which bytes go where depends on the width alone.
    let run = match dtype(site)?.host_bytes() {
        1 => choose!(u8),
        2 => choose!(u16),
        4 => choose!(u32),
        8 => choose!(u64),
        16 => choose!(Complex<f64>),
        _ => None,
    };
    lane_of(site, ElementwiseKind::Select, run, false)
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn shapes(pred: &[usize], on_false: &[usize]) -> String {
        let case = Case::new("select").operand(DType::Pred, pred).operand(DType::F32, &[3]);
        case.operand(DType::F32, on_false).shapes(&OP)
    }

    #[test]
    fn a_boolean_chooses_each_element() {
        let case = Case::new("select").value(DType::Pred, &[3], &[1_u8, 1, 0]);
        let case = case.value(DType::F32, &[3], &[1.0_f32, -0.0, 3.0]);
        let output: Vec<f32> = case.value(DType::F32, &[3], &[4.0_f32, 5.0, f32::NAN]).eval(&OP);
        assert!(output[0] == 1.0 && output[1].is_sign_negative() && output[2].is_nan());
    }

    #[test]
    fn c1_a_condition_of_another_shape_is_refused() {
        let refused = shapes(&[2], &[3]);
        assert!(refused.contains("C1") && refused.contains("pred[2]"), "{refused}");
        assert_eq!(shapes(&[], &[3]), "f32[3]");
        assert!(shapes(&[3], &[4]).contains("C2"));
    }
}
