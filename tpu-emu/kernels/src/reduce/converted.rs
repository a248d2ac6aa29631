//! Folds of elements that are stored as a narrower type.
use super::combiner::{AddF32, AddU32, Combiner, Fold, Visitor};
use half::bf16;
use std::marker::PhantomData;
use tpu_base::tensor::DType;
use tpu_base::tensor::element::{Convert, Pred};

/// A fold of elements that are stored as another type, and converted as the operation `convert` does.
#[derive(Debug, Clone, Copy)]
struct Converted<F, S>(PhantomData<(F, S)>);

impl<F: Fold<Element: Convert>, S: Convert> Fold for Converted<F, S> {
    type Element = F::Element;
    type Stored = S;
    type Partial = F::Partial;
    type Total = F::Total;
    const IDENTITY: F::Partial = F::IDENTITY;

    #[inline(always)]
    fn read(stored: S) -> F::Partial {
        F::load(stored.convert())
    }
    #[inline(always)]
    fn load(element: F::Element) -> F::Partial {
        F::load(element)
    }
    #[inline(always)]
    fn join(a: F::Partial, b: F::Partial) -> F::Partial {
        F::join(a, b)
    }
    #[inline(always)]
    fn store(partial: F::Partial) -> F::Element {
        F::store(partial)
    }
    #[inline(always)]
    fn start(element: F::Element) -> F::Total {
        F::start(element)
    }
    #[inline(always)]
    fn extend(total: F::Total, partial: F::Partial) -> F::Total {
        F::extend(total, partial)
    }
    #[inline(always)]
    fn finish(total: F::Total) -> F::Element {
        F::finish(total)
    }
}

/// Whether there may be a fold of elements of a type that are stored as another one.
pub const fn is_converted(combiner: Combiner, to: DType) -> bool {
    matches!((combiner, to), (Combiner::Add, DType::F32 | DType::S32 | DType::U32))
}

/// Runs code for a combiner on elements of type `to` that are stored as `from`; `None` where there is
/// no such fold.
pub fn dispatch_converted<V: Visitor>(
    combiner: Combiner,
    [from, to]: [DType; 2],
    visitor: V,
) -> Option<V::Output> {
    if !is_converted(combiner, to) {
        return None;
    }
    let integer = matches!(to, DType::S32 | DType::U32);
    Some(match (from, to) {
        (DType::Bf16, DType::F32) => visitor.visit::<Converted<AddF32, bf16>>(),
        (DType::S8, DType::F32) => visitor.visit::<Converted<AddF32, i8>>(),
        (DType::U8, DType::F32) => visitor.visit::<Converted<AddF32, u8>>(),
        (DType::Pred, _) if integer => visitor.visit::<Converted<AddU32, Pred>>(),
        (DType::S8, _) if integer => visitor.visit::<Converted<AddU32, i8>>(),
        (DType::U8, _) if integer => visitor.visit::<Converted<AddU32, u8>>(),
        (DType::S16, _) if integer => visitor.visit::<Converted<AddU32, i16>>(),
        (DType::U16, _) if integer => visitor.visit::<Converted<AddU32, u16>>(),
        _ => return None,
    })
}
