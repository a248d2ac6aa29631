//! Several tokens as one.
use super::{Entry, Lowered, Site};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// A token that comes after all operands.
///
/// Shapes: tokens; result a token.
/// Errors: `BadArgument` for an operand that is none.
/// Source: StableHLO specification, "after_all".
pub(super) const OP: Entry = Entry::new("after_all", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    if let Some(other) = site.operands.iter().find(|&shape| *shape != Shape::token()) {
        return Err(tpu_base::error::Error::bad(format!("{}: {other} is no token", site.name)));
    }
    Ok(vec![Shape::token()])
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Constant(Arc::new([])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn tokens_become_one() {
        let case = Case::new("stablehlo.after_all");
        let case = case.operand(DType::Pred, &[0]).operand(DType::Pred, &[0]);
        assert_eq!(case.run(&OP).unwrap(), [vec![]]);
        assert!(case.operand(DType::Pred, &[1]).shapes(&OP).contains("pred[1] is no token"));
    }
}
