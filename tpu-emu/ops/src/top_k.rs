//! `chlo.top_k`: the largest of each row, and where they were.
use super::{Cost, Cx, Entry, Kernel, Lowered, Relayout, Site, factors};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::sort::comparator::SortKey;
use tpu_kernels::sort::top_k::Top;

/// Floats are in the total order, so that NaN comes before every number; equal elements come in
/// the order of the row.
///
/// Shapes: operand `[d.., n]`; values `[d.., k]` of its type and indices `s32[d.., k]`.
/// Errors: `BadArgument` for a scalar, or a `k` past the row.
/// Source: CHLO, "top_k".
pub const OP: Entry = Entry {
    factors: factors::last_rows,
    relayout: Relayout::Ranked,
    ..Entry::new("top_k", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    largest(site, site.index("k")?)
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    lower_top(site, site.index("k")?, true)
}

/// The results' shapes for the first `k` of each row.
pub(super) fn largest(site: &Site<'_>, k: usize) -> Result<Vec<Shape>> {
    let [operand] = site.exactly::<1>()?;
    let mut dims = operand.dims.clone();
    match dims.last_mut() {
        Some(last) if k <= *last => *last = k,
        _ => return Err(Error::bad(format!("{}: the first {k} of {operand}", site.name))),
    }
    Ok(vec![Shape::new(operand.dtype, dims.clone()), Shape::new(DType::S32, dims)])
}

/// The kernel for the first `k` of each row, largest or smallest first.
pub(super) fn lower_top(site: &Site<'_>, k: usize, descending: bool) -> Result<Lowered> {
    let [operand] = site.exactly::<1>()?;
    let dtype = operand.dtype;
    let key = SortKey { operand: 0, dtype, descending, total: true, nan_is_largest: true };
    let axis = operand.rank().saturating_sub(1);
    let top = Top::new(operand, axis, k, key)
        .ok_or_else(|| site.unimplemented(format!("the first {k} of {operand}")))?;
    Ok(Lowered::Kernel(Box::new(TopK { top, width: dtype.host_bytes() })))
}

#[derive(Debug)]
struct TopK {
    top: Top,
    width: usize,
}

impl Kernel for TopK {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let [values, places] = results else { return Ok(()) };
        let places: &mut [i32] = bytemuck::cast_slice_mut(places);
        let width = self.width;
        self.top.run(operands[0], cx.scratch, &mut |row| {
            for (index, to) in row.indices().zip(row.to..) {
                let element = &operands[0][(row.from + index) * width..][..width];
                values[to * width..][..width].copy_from_slice(element);
                places[to] = i32::try_from(index).unwrap_or(i32::MAX);
            }
        });
        Ok(())
    }

    fn scratch(&self) -> usize {
        self.top.scratch()
    }

    fn cost(&self) -> Cost {
        #[expect(clippy::cast_precision_loss, reason = "a count that is reported rounded")]
        let flops = self.top.elements() as f64;
        Cost { flops, transcendentals: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::OP;
    use crate::testing::{TestValue, run};
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::{Attribute, Element};

    #[test]
    fn values_come_with_their_places() {
        let x = TestValue::of(DType::S16, &[2, 4], &[3_i16, 1, 3, 2, -5, -2, -7, -2]);
        let list = [("k", Attribute::Integer(3, Element::S64))];
        let found = run(&OP, &list, &[&x], &[]).unwrap();
        assert_eq!(found[0].elements::<i16>(), [3, 3, 2, -2, -2, -5]);
        assert_eq!(found[1].elements::<i32>(), [0, 2, 3, 1, 3, 0]);
        let list = [("k", Attribute::Integer(5, Element::S64))];
        let error = run(&OP, &list, &[&x], &[]).unwrap_err();
        assert_eq!(error.to_string(), "top_k: the first 5 of s16[2,4]");
    }
}
