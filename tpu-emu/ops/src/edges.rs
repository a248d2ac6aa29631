//! Padding: the shapes and the copy that `pad` and `dynamic_pad` share.
use super::{Cost, Cx, Kernel, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::movement::block_copy::{BlockCopy, fill_shared, interleave};
use tpu_kernels::movement::index::Outside;
use tpu_kernels::movement::move_list::{Move, Moves};
use tpu_kernels::movement::strided_view::Access;
use tpu_kernels::movement::strided_view::signed;

/// What is added, per axis.
#[derive(Debug)]
pub(super) struct Edges {
    /// Before the first element; negative to cut off.
    pub(super) low: Vec<i64>,
    /// After the last element; negative to cut off.
    pub(super) high: Vec<i64>,
    /// Between elements.
    pub(super) interior: Vec<i64>,
}

impl Edges {
    /// The shape of the result.
    ///
    /// # Errors
    /// `Constraint` C1 to C4.
    pub(super) fn result(&self, site: &Site<'_>, operand: &Shape, value: &Shape) -> Result<Shape> {
        if value.dtype != operand.dtype || value.rank() != 0 {
            return Err(site.violates("C1", format!("{operand} padded with {value}")));
        }
        let sizes = [self.low.len(), self.high.len(), self.interior.len()];
        if sizes != [operand.rank(); 3] {
            return Err(site.violates("C2", format!("{sizes:?} paddings for {operand}")));
        }
        if let Some(interior) = self.interior.iter().find(|&&interior| interior < 0) {
            return Err(site.violates("C3", format!("interior padding {interior}")));
        }
        let mut dims = Vec::with_capacity(operand.rank());
        for (axis, &dim) in operand.dims.iter().enumerate() {
            let (low, high) = (i128::from(self.low[axis]), i128::from(self.high[axis]));
            let spread = i128::from(self.interior[axis]).checked_mul(wide(dim.saturating_sub(1)));
            let total = spread.map(|spread| spread + wide(dim) + low + high);
            let total = total.and_then(|total| usize::try_from(total).ok()).ok_or_else(|| {
                let what = format!("axis {axis} of {operand} with {low} and {high} around it");
                site.violates("C4", what)
            })?;
            dims.push(total);
        }
        site.shape(operand.dtype, dims)
    }

    /// The operation, its shapes checked.
    pub(super) fn lower(&self, operand: &Shape, result: &Shape) -> Lowered {
        let width = operand.dtype.host_bytes();
        let (from, to) = (operand.strides(), result.strides());
        let mut spans = Vec::with_capacity(operand.rank());
        for axis in 0..operand.rank() {
            let (dim, room) = (operand.dims[axis], result.dims[axis]);
            spans.push(Span::of(self.low[axis], self.interior[axis], dim, room));
        }
        let first = |strides: &[usize], start: fn(&Span) -> usize| -> usize {
            spans.iter().zip(strides).map(|(span, stride)| start(span) * stride).sum()
        };
        let counts: Vec<usize> = spans.iter().map(|span| span.count).collect();
        if *counts == *result.dims {
            // No element of the result is padding.
            let offset = first(&from, |span| span.from);
            if operand == result {
                return Lowered::View;
            }
            if !counts.contains(&0) {
                let strides = from.into_iter().map(signed).collect();
                return Lowered::Access(Access { offset, strides });
            }
        }
        let steps: Vec<usize> =
            spans.iter().zip(&to).map(|(span, stride)| span.step.saturating_mul(*stride)).collect();
        let copy = (!counts.contains(&0)).then(|| OperandBox {
            from: first(&from, |span| span.from) * width,
            to: first(&to, |span| span.to) * width,
            copy: BlockCopy::new(width, &counts, &from, &steps),
        });
        let along = if copy.is_some() { self.along() } else { None };
        Lowered::Kernel(Box::new(Pad { width, elements: result.elements(), copy, along }))
    }

    /// The only axis with room around the elements, and how much there is before them, if none is
    /// between them and none of them is cut off.
    fn along(&self) -> Option<(usize, usize)> {
        let mut longer =
            (0..self.low.len()).filter(|&axis| (self.low[axis], self.high[axis]) != (0, 0));
        let axis = longer.next()?;
        let only = longer.next().is_none() && self.interior.iter().all(|&interior| interior == 0);
        let low = usize::try_from(self.low[axis]).ok()?;
        (only && self.high[axis] >= 0).then_some((axis, low))
    }
}

fn wide(value: usize) -> i128 {
    i128::try_from(value).unwrap_or(i128::MAX)
}

/// The elements of the operand that the result has, along one axis.
#[derive(Debug)]
struct Span {
    /// The first of them, in the operand.
    from: usize,
    /// Where that lies in the result.
    to: usize,
    /// How many.
    count: usize,
    /// From one to the next in the result; 1 where there is no next.
    step: usize,
}

impl Span {
    /// Element `i` of `dim` lies at `low + i·(interior + 1)` of `room`.
    fn of(low: i64, interior: i64, dim: usize, room: usize) -> Self {
        let (low, step) = (i128::from(low), i128::from(interior) + 1);
        // `-((-a) / b)` rounds up; `a` and `b` are not negative.
        let up = |a: i128, b: i128| -(-a).div_euclid(b);
        let begin = if low < 0 { up(-low, step) } else { 0 };
        let end = up((wide(room) - low).max(0), step).min(wide(dim));
        let count = usize::try_from(end - begin).unwrap_or(0);
        if count == 0 {
            return Self { from: 0, to: 0, count, step: 1 };
        }
        let at = |value: i128| usize::try_from(value).unwrap_or(0);
        let step_or_none = if count > 1 { at(step) } else { 1 };
        Self { from: at(begin), to: at(low + begin * step), count, step: step_or_none }
    }
}

/// The operand's part of the result.
#[derive(Debug)]
struct OperandBox {
    from: usize,
    to: usize,
    copy: BlockCopy,
}

#[derive(Debug)]
struct Pad {
    /// Bytes of an element.
    width: usize,
    /// Elements of the result.
    elements: usize,
    /// `None` where no element of the operand is left.
    copy: Option<OperandBox>,
    /// The axis along which there is room around the operand, and where that begins.
    along: Option<(usize, usize)>,
}

impl Kernel for Pad {
    fn run(&self, _: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        if let Some(OperandBox { from, to, copy }) = &self.copy
            && let Some((count, width)) = copy.each_of(2)
            && width == operands[1].len()
        {
            // The last element may have nothing behind it.
            let pairs = count - 1;
            let (before, rest) = results[0].split_at_mut(*to);
            let (inside, after) = rest.split_at_mut(pairs * 2 * width);
            let (elements, last) = operands[0][*from..].split_at(pairs * width);
            fill_shared(before, operands[1]);
            interleave(elements, operands[1], inside);
            after[..width].copy_from_slice(&last[..width]);
            fill_shared(&mut after[width..], operands[1]);
            return Ok(());
        }
        fill_shared(results[0], operands[1]);
        if let Some(OperandBox { from, to, copy }) = &self.copy {
            copy.run_shared(&operands[0][*from..], &mut results[0][*to..]);
        }
        Ok(())
    }

    fn pads(&self) -> Option<(usize, usize)> {
        self.along
    }

    fn moves(&self, most: usize) -> Option<Moves> {
        let width = self.width;
        if self.elements > most {
            return None;
        }
        let fill = |at| Move { operand: 1, from: 0, to: at * width, bytes: width };
        let mut moves: Vec<Move> = (0..self.elements).map(fill).collect();
        if let Some(OperandBox { from, to, copy }) = &self.copy {
            let (runs, bytes) = copy.runs(most)?;
            let of = |(a, b)| Move { operand: 0, from: from + a, to: to + b, bytes };
            moves.extend(runs.into_iter().map(of));
        }
        Some(Moves { width, moves, starts: Vec::new(), outside: Outside::Clamp, into: false })
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}
