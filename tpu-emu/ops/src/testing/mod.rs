//! The kit for testing an operation: an operation and its operands ([`Case`]), arrays
//! ([`TestValue`]), bodies of operations ([`TestRegion`]).
mod case;
mod region;
mod value;

pub(crate) use case::{Case, attributes, bytes, execute, integers};
pub(crate) use region::{TestRegion, kind, lane, lane_operation, step};
pub(crate) use value::{TestValue, numbers};

use crate::{Entry, Lowered, RegionCode};
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::tensor::element::Element;
use tpu_stablehlo::ir::{Attribute, Attributes};

/// `op(a)` on vectors.
pub(crate) fn unary<A: Element, R: Element>(entry: &Entry, a: &[A]) -> Vec<R> {
    elementwise(entry, Case::new(entry.mnemonic).value(A::DTYPE, &[a.len()], a), a.len())
}

/// `op(a, b)` on vectors.
pub(crate) fn binary<A: Element, B: Element, R: Element>(
    entry: &Entry,
    attributes: &Attributes,
    a: &[A],
    b: &[B],
) -> Vec<R> {
    let case = Case::new(entry.mnemonic).attributes(&attributes.0);
    let case = case.value(A::DTYPE, &[a.len()], a).value(B::DTYPE, &[b.len()], b);
    elementwise(entry, case, a.len())
}

fn elementwise<R: Element>(entry: &Entry, case: Case, count: usize) -> Vec<R> {
    let case = case.declares(R::DTYPE, &[count]);
    assert!(matches!(case.lower(entry), Ok(Lowered::Elementwise(_))), "{}", entry.mnemonic);
    case.eval(entry)
}

/// Runs an operation with attributes and bodies on arrays.
pub(crate) fn run(
    entry: &Entry,
    list: &[(&'static str, Attribute)],
    operands: &[&TestValue],
    bodies: &[Arc<dyn RegionCode>],
) -> Result<Vec<TestValue>> {
    Case::new(entry.mnemonic).attributes(list).given(operands).bodies(bodies).results(entry)
}
