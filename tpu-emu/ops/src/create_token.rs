//! A token from nothing.
use super::{Entry, Lowered, Site};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// The start of an order of effects: no bytes.
///
/// Shapes: result a token.
/// Source: StableHLO's dialect, "create_token" (now `after_all` without operands).
pub(super) const OP: Entry = Entry::new("create_token", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [] = site.exactly()?;
    Ok(vec![Shape::token()])
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Constant(Arc::new([])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    #[test]
    fn a_token_has_no_bytes() {
        let case = Case::new("stablehlo.create_token");
        assert_eq!(case.run(&OP).unwrap(), [vec![]]);
    }
}
