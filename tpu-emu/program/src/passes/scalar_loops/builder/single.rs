//! How kernels are done on single elements.
use super::reductions::is_few;
use crate::tuning::MAX_SCALAR_LOOP_ARRAY_ELEMENTS;
use tpu_base::tensor::DType;
use tpu_kernels::matmul::tiny::TinyProduct;
use tpu_kernels::movement::move_list::Moves;
use tpu_kernels::reduce::combiner::Combiner;
use tpu_ops::{FewReduced, Kernel, Reduced};

/// What a kernel does with a few elements.
pub(in crate::passes::scalar_loops) enum Single<'k> {
    /// Sums of a few products.
    Product(TinyProduct),
    /// A reduction by a known combiner.
    Reduction(Reduced),
    /// A reduction by a body.
    Body(FewReduced<'k>),
    /// Elements are moved, and joined with what is there where a combiner of a type is given.
    Moves(Moves, Option<(Combiner, DType)>),
}

impl<'k> Single<'k> {
    /// What a kernel does; `None` for one that is not done on single elements.
    pub(in crate::passes::scalar_loops) fn of(kernel: &'k dyn Kernel) -> Option<Self> {
        let most = MAX_SCALAR_LOOP_ARRAY_ELEMENTS;
        if let Some(product) = kernel.tiny_product(most) {
            return Some(Self::Product(product));
        }
        if let Some(reduced) = kernel.reduction() {
            return is_few(reduced.dims).then_some(Self::Reduction(reduced));
        }
        if let Some(few) = kernel.few_reduced(most) {
            return Some(Self::Body(few));
        }
        if let Some(moves) = kernel.moves(most) {
            return Some(Self::Moves(moves, None));
        }
        let (moves, of) = kernel.joined_moves()?;
        Some(Self::Moves(moves, Some(of)))
    }
}
