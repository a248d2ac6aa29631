//! Slices along one axis, as PyTorch selects them.
use super::gather_dimensions::Take;
use super::{Entry, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::movement::block_copy::BlockCopy;
use tpu_kernels::movement::gather::{Batch, Gather};
use tpu_kernels::movement::index::{Component, Outside, placer};

/// `operand[.., index[b.., i..], ..]` along axis `dim`, the first `batch_dims` axes together;
/// indices outside are moved inside.
///
/// Shapes: `operand [b.., p.., dim, s..]`; `index [b.., i..]`; result `[b.., p.., i.., s..]`.
/// Errors: `BadArgument` for shapes that do not fit.
/// Source: StableHLO's dialect, "torch_index_select" (before 1.0, now `gather`).
pub(super) const OP: Entry = Entry::new("torch_index_select", infer, lower);

/// `dim` and `batch_dims`, counted from the end where negative.
fn axes(site: &Site<'_>, operand: &Shape, index: &Shape) -> Result<(usize, usize)> {
    let number = |name: &str, rank: usize| {
        let value = site.attribute(name)?.integer().unwrap_or(i64::MIN);
        let from_end = value.checked_add(i64::try_from(rank).unwrap_or(0));
        let value = if value < 0 { from_end.unwrap_or(value) } else { value };
        usize::try_from(value).map_err(|_| Error::bad(format!("{}: {name} {value}", site.name)))
    };
    let (dim, batch) = (number("dim", operand.rank())?, number("batch_dims", index.rank())?);
    let fits = dim < operand.rank()
        && batch <= dim
        && batch <= index.rank()
        && operand.dims[..batch] == index.dims[..batch]
        && placer(index.dtype, Outside::Clamp).is_some();
    if !fits {
        let what = format!("{index} into axis {dim} of {operand} with {batch} batch axes");
        return Err(Error::bad(format!("{}: {what}", site.name)));
    }
    Ok((dim, batch))
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand, index] = site.exactly()?;
    let (dim, batch) = axes(site, operand, index)?;
    let dims = [&operand.dims[..dim], &index.dims[batch..], &operand.dims[dim + 1..]].concat();
    Ok(vec![site.shape(operand.dtype, dims)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let [operand, index] = site.exactly()?;
    let (dim, batch) = axes(site, operand, index)?;
    let result = &site.results[0];
    if operand.dims[dim] == 0 && result.elements() != 0 {
        return Err(site.unimplemented(format!("{index} of an empty axis of {operand}")));
    }
    let width = operand.dtype.host_bytes();
    let (from, to, counts) = (operand.strides(), result.strides(), index.strides());
    let picked = index.rank() - batch;
    // Outer axes of the operand step through operand and result, those of the index through the
    // index and the result, batch axes through all three.
    let outer = (0..dim).map(|axis| Batch {
        count: operand.dims[axis],
        indices: if axis < batch { counts[axis] } else { 0 },
        operand: from[axis] * width,
        result: to[axis] * width,
    });
    let inner = (0..picked).map(|axis| Batch {
        count: index.dims[batch + axis],
        indices: counts[batch + axis],
        operand: 0,
        result: to[dim + axis] * width,
    });
    let slice =
        BlockCopy::new(width, &operand.dims[dim + 1..], &from[dim + 1..], &to[dim + picked..]);
    let placer = placer(index.dtype, Outside::Clamp)
        .ok_or_else(|| site.unimplemented(format!("indices {index}")))?;
    let mut gather = Gather {
        placer,
        batches: outer.chain(inner).collect(),
        components: vec![Component { starts: operand.dims[dim].max(1), step: from[dim] * width }],
        component_step: 0,
        slice,
    };
    gather.merge();
    Ok(Lowered::Kernel(Box::new(Take::by(gather))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    fn case(dim: i64, batch: i64, dims: &[usize], index: &[i32]) -> Case {
        Case::new("stablehlo.torch_index_select")
            .value(DType::U8, &[2, 3], &[1_u8, 2, 3, 4, 5, 6])
            .value(DType::S32, dims, index)
            .integer("dim", dim)
            .integer("batch_dims", batch)
    }

    #[test]
    fn an_axis_is_selected_with_and_without_a_batch() {
        let columns = case(1, 0, &[2], &[2, 0]);
        assert_eq!(columns.shapes(&OP), "u8[2,2]");
        assert_eq!(columns.eval::<u8>(&OP), [3, 1, 6, 4]);
        assert_eq!(case(0, 0, &[1], &[1]).eval::<u8>(&OP), [4, 5, 6]);
        assert_eq!(case(-1, 1, &[2, 1], &[2, 0]).eval::<u8>(&OP), [3, 4]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_errors() {
        assert!(case(2, 0, &[1], &[0]).shapes(&OP).contains("axis 2 of u8[2,3]"));
        assert!(case(0, 1, &[2], &[0, 0]).shapes(&OP).contains("1 batch axes"));
    }
}
