//! `map`: a region on the elements at each index.
use super::{Cost, Cx, Entry, Kernel, Lowered, RegionCode, Site, reducer};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// Shapes: inputs and result of one shape.
///
/// Errors: inputs of different shapes, dimensions that are not all axes in order, a body of
/// another type.
///
/// Source: StableHLO specification, "map", C1-C4.
pub(super) const OP: Entry = Entry::new("map", infer, lower);

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let Some(first) = site.operands.first() else {
        return Err(site.violates("C2", "no operands"));
    };
    if let Some(other) = site.operands.iter().find(|operand| operand.dims != first.dims) {
        return Err(site.violates("C1", format!("{other} beside {first}")));
    }
    let dimensions = site.optional_indices("dimensions")?;
    if !dimensions.iter().copied().eq(0..first.rank()) {
        return Err(site.violates("C3", format!("dimensions {dimensions:?} of {first}")));
    }
    let body = site.body(0)?;
    let elements = site.operands.iter().map(|operand| Shape::scalar(operand.dtype));
    match body.results() {
        [result] if result.rank() == 0 && elements.eq(body.parameters().iter().cloned()) => {
            Ok(vec![first.with(result.dtype)])
        }
        results => {
            let (parameters, inputs) = (body.parameters(), site.operands);
            let what = format!("a body {parameters:?} to {results:?} for {inputs:?}");
            Err(site.violates("C4", what))
        }
    }
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let (body, elements) = (Arc::clone(site.body(0)?), site.operands[0].elements());
    Ok(Lowered::Kernel(Box::new(Map { body, elements })))
}

#[derive(Debug)]
struct Map {
    body: Arc<dyn RegionCode>,
    elements: usize,
}

impl Kernel for Map {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if self.elements == 0 {
            return Ok(());
        }
        self.body.apply(self.elements, operands, results)
    }

    fn cost(&self) -> Cost {
        reducer::cost(&*self.body, self.elements)
    }
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::{TestRegion, TestValue, integers, lane, run};
    use tpu_base::tensor::DType;

    #[test]
    fn the_body_runs_at_each_index() {
        let x = TestValue::of(DType::S32, &[2, 2], &[1, 2, 3, 4]);
        let y = TestValue::of(DType::S32, &[2, 2], &[10, 20, 30, 40]);
        let body = || TestRegion::binary(lane!("subtract", S32 i32 => S32 i32, |a, b| a - b));
        let list = [("dimensions", integers(&[0, 1]))];
        let found = run(&OP, &list, &[&x, &y], &[body()]).unwrap();
        assert_eq!(found[0].elements::<i32>(), [-9, -18, -27, -36]);
        let list = [("dimensions", integers(&[1, 0]))];
        let error = run(&OP, &list, &[&x, &y], &[body()]).unwrap_err();
        assert_eq!(error.to_string(), "map violates C3: dimensions [1, 0] of s32[2,2]");
    }
}
