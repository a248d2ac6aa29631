//! The kernel behind the operations that multiply two arrays over pairs of axes.
use super::precision::{Unit, arithmetic};
use super::{Absorbed, Cost, Cx, Kernel, Lowered, Regrouped, Site};
use crate::tuning::MIN_OUTER_ELEMENTS;
use std::ops::Range;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::element::{Number, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::elementwise::kind::ElementwiseKind;
use tpu_kernels::elementwise::loops::lane;
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_kernels::matmul::dot_general::{Axes, Contraction};
use tpu_kernels::matmul::tiny::TinyProduct;
use tpu_kernels::movement::strided_view::Access;

/// Axes of both operands: those that batch, and those that are summed over.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) batch: [Vec<usize>; 2],
    pub(super) sum: [Vec<usize>; 2],
}

impl Pairs {
    /// The other axes of an operand.
    pub(super) fn free(&self, side: usize, shape: &Shape) -> Vec<usize> {
        let used = |axis: &usize| self.batch[side].contains(axis) || self.sum[side].contains(axis);
        (0..shape.rank()).filter(|axis| !used(axis)).collect()
    }

    /// Extents of the result.
    pub(super) fn result(&self, [lhs, rhs]: [&Shape; 2]) -> Vec<usize> {
        let batch = self.batch[0].iter().map(|&axis| lhs.dims[axis]);
        let left = self.free(0, lhs).into_iter().map(|axis| lhs.dims[axis]);
        let right = self.free(1, rhs).into_iter().map(|axis| rhs.dims[axis]);
        batch.chain(left).chain(right).collect()
    }

    /// The unit that multiplies on the chip: where one operand is a vector, or where no axis
    /// is left to sum over, XLA's compiler for TPUs writes the product as multiplications of
    /// elements and a reduction. Axes of one element do not count.
    fn unit(&self, [lhs, rhs]: [&Shape; 2]) -> Unit {
        let single = |axes: &[usize], shape: &Shape| axes.iter().all(|&axis| shape.dims[axis] == 1);
        let vector = |side, shape| single(&self.free(side, shape), shape);
        if single(&self.sum[0], lhs) || vector(0, lhs) || vector(1, rhs) {
            Unit::Vector
        } else {
            Unit::Matrix
        }
    }

    /// Whether elements at the same index are multiplied, and nothing is summed.
    fn pairs_elements(&self, ranks: [usize; 2]) -> bool {
        let [left, right] = &self.batch;
        let all = ranks == [left.len(); 2] && left.iter().copied().eq(0..left.len());
        self.sum[0].is_empty() && left == right && all
    }

    /// Whether nothing is summed: each product of elements is an element of the result.
    fn is_outer(&self, lhs: &Shape) -> bool {
        self.sum[0].iter().all(|&axis| lhs.dims[axis] == 1)
    }

    /// Compiles the product.
    pub(super) fn lower(&self, site: &Site<'_>) -> Result<Lowered> {
        let [lhs, rhs] = site.exactly::<2>()?;
        let result = match site.results.first() {
            Some(result) => result.dtype,
            None => site.declared(0)?.dtype,
        };
        let types = [lhs.dtype, rhs.dtype];
        let unit = self.unit([lhs, rhs]);
        let arithmetic = arithmetic(site, site.attributes, types, result, unit)?;
        let takes = types == [result; 2] && arithmetic.takes(result) && arithmetic.gives(result);
        if takes && self.pairs_elements([lhs.rank(), rhs.rank()]) {
            return Ok(Lowered::Elementwise(multiply(site, result)?));
        }
        let free = [self.free(0, lhs), self.free(1, rhs)];
        if takes && unit == Unit::Vector && self.is_outer(lhs) {
            let shape = Shape { dtype: result, dims: self.result([lhs, rhs]).into() };
            if shape.elements() >= MIN_OUTER_ELEMENTS {
                let of = [(lhs, &free[0], 0), (rhs, &free[1], free[0].len())];
                let spread =
                    of.into_iter().zip(&self.batch).map(|((operand, free, before), batch)| {
                        let axes =
                            batch.iter().zip(0..).chain(free.iter().zip(batch.len() + before..));
                        let mut places = vec![0; operand.rank()];
                        axes.for_each(|(&axis, place)| places[axis] = place);
                        Access::spread(operand, &shape, &places)
                    });
                return Ok(Lowered::Spread(multiply(site, result)?, spread.collect()));
            }
        }
        let axes = Axes {
            batch: [&self.batch[0], &self.batch[1]],
            sum: [&self.sum[0], &self.sum[1]],
            free: [&free[0], &free[1]],
        };
        let plan = Contraction::new(arithmetic, [lhs, rhs], result, axes);
        Ok(Lowered::Kernel(Box::new(Product { plan })))
    }
}

/// The multiplication of elements of a type.
fn multiply(site: &Site<'_>, of: DType) -> Result<ElementwiseOp> {
    let run = for_dtype!(of, T: Number => lane!(|a: T, b: T| a.mul(b)));
    let run =
        run.ok_or_else(|| Error::bad(format!("{} does not take {}", site.name, of.name())))?;
    let (kind, immediate) = (ElementwiseKind::Multiply, [0; 2]);
    Ok(ElementwiseOp { kind, operand: of, result: of, run, immediate, transcendental: false })
}

#[derive(Debug)]
struct Product {
    plan: Contraction,
}

impl Kernel for Product {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        let (&[lhs, rhs], [result]) = (operands, results) else {
            return Err(Error::bad("a product takes two operands and gives one result"));
        };
        self.plan.run(cx.scratch, [lhs, rhs], result)
    }

    fn scratch(&self) -> usize {
        self.plan.scratch()
    }

    fn absorbs(&self) -> bool {
        true
    }

    fn absorbing(&self, work: &Absorbed<'_>) -> Option<Arc<dyn Kernel>> {
        let plan = match *work {
            Absorbed::View(operand, strides) => self.plan.through(operand, strides),
            Absorbed::Converted(operand, from) => self.plan.converted(operand, from),
            Absorbed::Ordered(wanted) => self.plan.ordered(wanted, false),
            Absorbed::Turned(wanted) => self.plan.ordered(wanted, true),
            Absorbed::Narrowed(result) => self.plan.narrowed(result),
        };
        Some(Arc::new(Self { plan: plan? }))
    }

    fn regrouped(&self) -> Option<Regrouped> {
        let of = self.plan.regrouped()?;
        let kernel = Arc::new(Self { plan: of.contraction });
        Some(Regrouped { kernel, dims: of.dims, strides: of.strides })
    }

    fn part(&self, _: usize, parts: usize) -> Option<(Arc<dyn Kernel>, Range<usize>)> {
        let (plan, taken) = self.plan.part_of_result(parts)?;
        Some((Arc::new(Self { plan }), taken))
    }

    fn rounds(&self, operand: usize) -> bool {
        self.plan.rounds(operand)
    }

    fn tiny_product(&self, most: usize) -> Option<TinyProduct> {
        self.plan.tiny(most)
    }

    fn cost(&self) -> Cost {
        Cost { flops: self.plan.flops(), transcendentals: 0.0 }
    }
}
