//! Dense arrays.
use super::BytecodeReader;
use crate::ReadError;
use crate::ir::{Attribute, Element, Elements, TensorType};
use std::sync::Arc;
use tpu_mlir::dense;

/// Longer lists that are one repeated element stay [`Elements`].
const LIST: usize = 1 << 16;

impl BytecodeReader<'_> {
    /// A dense array from its bytes: booleans may be packed eight to a byte, and one element may
    /// stand for all.
    pub(crate) fn elements(
        &mut self,
        at: usize,
        of: TensorType,
        blob: &[u8],
    ) -> Result<Elements, ReadError> {
        let error = |what: String| ReadError::at(at, what);
        if of.element.bytes().is_none() {
            return Err(error(format!("an array of {:?}", of.element)));
        }
        let count = Elements { of: of.clone(), data: Arc::new([]), splat: false }
            .count()
            .ok_or_else(|| error(format!("an array of the shape {:?}", of.dims)))?;
        let wrong = || {
            let shape = format!("{:?} of {:?}", of.dims, of.element);
            ReadError::at(at, format!("{} bytes for an array {shape}", blob.len()))
        };
        let (data, splat) = dense::unpacked(of.element, count, blob).ok_or_else(wrong)?;
        self.pay_once(at, data.len())?;
        Ok(Elements { of, data, splat })
    }

    /// A dense array as an attribute: one-dimensional integers of 64 bits and booleans are lists.
    pub(crate) fn list(&mut self, at: usize, elements: Elements) -> Result<Attribute, ReadError> {
        let (&[extent], element) = (elements.of.dims.as_slice(), elements.of.element) else {
            return Ok(Attribute::Elements(elements));
        };
        let count = usize::try_from(extent).unwrap_or(usize::MAX);
        let listed = matches!(element, Element::S64 | Element::Index | Element::Pred);
        if !listed || (elements.splat && count > LIST) || elements.of.quantization.is_some() {
            return Ok(Attribute::Elements(elements));
        }
        self.pay(at, count.saturating_mul(8))?;
        let Some(integers) = elements.integers() else {
            return Ok(Attribute::Elements(elements));
        };
        Ok(if element == Element::Pred {
            Attribute::Booleans(integers.into_iter().map(|value| value != 0).collect())
        } else {
            Attribute::Integers(integers)
        })
    }
}
