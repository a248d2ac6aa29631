//! An operation as its file sees it: attributes, shapes, and what is known before it runs.
use super::{Numerics, RegionCode};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::{DType, Shape};
use tpu_stablehlo::ir::{Attribute, Attributes};

/// A result's type as the program declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Element type.
    pub dtype: DType,
    /// Extents; `None` where only running (or folding) tells.
    pub dims: Vec<Option<usize>>,
}

impl Declared {
    /// The shape, if every extent is known.
    pub fn shape(&self) -> Option<Shape> {
        let dims: Option<Vec<usize>> = self.dims.iter().copied().collect();
        Some(Shape::new(self.dtype, dims?))
    }
}

/// One operation of a program, at compile time.
#[derive(Debug)]
pub struct Site<'a> {
    /// The operation's name with its dialect; for a custom call its target.
    pub name: &'a str,
    /// Properties and discardable attributes.
    pub attributes: &'a Attributes,
    /// Shapes of the operands.
    pub operands: &'a [Shape],
    /// The operands' values where they are known at compile time.
    pub known: &'a [Option<Arc<[u8]>>],
    /// The results as declared.
    pub declared: &'a [Declared],
    /// The results' shapes. Empty while they are being inferred.
    pub results: &'a [Shape],
    /// The code inside the operation, in order.
    pub bodies: &'a [Arc<dyn RegionCode>],
    /// How matrix products round.
    pub numerics: Numerics,
    /// The device that the operation runs for: its number in the assignment. 0 where it runs
    /// once for all of them.
    pub partition: usize,
}

impl Site<'_> {
    /// Which of the devices of a launch the operation runs on.
    pub fn partition(&self) -> usize {
        self.partition
    }

    /// The error for a broken constraint of the specification (`C1`, …).
    pub fn violates(&self, constraint: &'static str, what: impl Into<String>) -> Error {
        Error::Constraint { op: self.name.to_owned(), constraint, what: what.into() }
    }

    /// The error for what this emulator does not do.
    pub fn unimplemented(&self, what: impl std::fmt::Display) -> Error {
        Error::Unimplemented(format!("{}: {what}", self.name))
    }

    /// Exactly `N` operands.
    ///
    /// # Errors
    /// `BadArgument` for another number.
    pub fn exactly<const N: usize>(&self) -> Result<&[Shape; N]> {
        self.operands.try_into().map_err(|_| {
            Error::bad(format!("{} has {} operands and takes {N}", self.name, self.operands.len()))
        })
    }

    /// The declared shape of result `index`, all extents known.
    ///
    /// # Errors
    /// `BadArgument` where there is no such result, `Unimplemented` for unknown extents.
    pub fn declared(&self, index: usize) -> Result<Shape> {
        let declared = self.declared.get(index).ok_or_else(|| {
            Error::bad(format!("{} has {} results", self.name, self.declared.len()))
        })?;
        declared
            .shape()
            .ok_or_else(|| self.unimplemented(format!("result {index} has an unknown extent")))
    }

    /// A shape that the operation makes.
    ///
    /// # Errors
    /// `BadArgument` for one past `isize` bytes.
    pub fn shape(&self, dtype: DType, dims: impl Into<Box<[usize]>>) -> Result<Shape> {
        let dims = dims.into();
        // Zeros count as ones: the strides of an empty array stay in range, too.
        let bytes = dims
            .iter()
            .try_fold(dtype.host_bytes(), |bytes, &dim| bytes.checked_mul(dim.max(1)))
            .filter(|&bytes| isize::try_from(bytes).is_ok());
        if bytes.is_none() {
            let name = dtype.name();
            return Err(Error::bad(format!("{}: {name}{dims:?} is past 2^63 bytes", self.name)));
        }
        Ok(Shape { dtype, dims })
    }

    /// An attribute that must be there.
    ///
    /// # Errors
    /// `BadArgument` where it is not.
    pub fn attribute(&self, name: &str) -> Result<&Attribute> {
        let missing = || Error::bad(format!("{} has no attribute {name}", self.name));
        self.attributes.get(name).ok_or_else(missing)
    }

    /// A list of integers that must be there.
    ///
    /// # Errors
    /// `BadArgument` where it is not, or is something else.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        let other = || Error::bad(format!("{}: {name} is no list of integers", self.name));
        self.attribute(name)?.integers().ok_or_else(other)
    }

    /// A list of axis numbers or extents: integers that are not negative.
    ///
    /// # Errors
    /// `BadArgument` where it is missing, something else, or has a negative number.
    pub fn indices(&self, name: &str) -> Result<Vec<usize>> {
        let negative = |value: i64| {
            usize::try_from(value)
                .map_err(|_| Error::bad(format!("{}: {name} has {value}", self.name)))
        };
        self.integers(name)?.into_iter().map(negative).collect()
    }

    /// The numbers of an attribute, none of them negative; empty where the attribute is absent.
    ///
    /// # Errors
    /// `BadArgument` where it is something else, or has a negative number.
    pub(crate) fn optional_indices(&self, name: &str) -> Result<Vec<usize>> {
        if self.attributes.get(name).is_none() { Ok(Vec::new()) } else { self.indices(name) }
    }

    /// An integer that must be there and not be negative.
    ///
    /// # Errors
    /// `BadArgument` where it is not.
    pub fn index(&self, name: &str) -> Result<usize> {
        let value = self.attribute(name)?.integer();
        value
            .and_then(|value| usize::try_from(value).ok())
            .ok_or_else(|| Error::bad(format!("{}: {name} is no integer from 0 on", self.name)))
    }

    /// The integers of an operand that is known at compile time.
    pub(crate) fn known_integers(&self, operand: usize) -> Option<Vec<i64>> {
        let bytes = self.known.get(operand)?.as_deref()?;
        let dtype = self.operands.get(operand)?.dtype;
        let signed = match dtype {
            DType::S8 | DType::S16 | DType::S32 | DType::S64 => true,
            DType::Pred | DType::U8 | DType::U16 | DType::U32 | DType::U64 => false,
            _ => return None,
        };
        let width = dtype.host_bytes();
        let unused = 64 - 8 * u32::try_from(width).unwrap_or(8);
        let read = |bytes: &[u8]| {
            let mut wide = [0; 8];
            wide[..width].copy_from_slice(bytes);
            let value = i64::from_le_bytes(wide);
            if signed { value << unused >> unused } else { value }
        };
        Some(bytes.chunks_exact(width).map(read).collect())
    }

    /// The code inside the operation, number `index`.
    ///
    /// # Errors
    /// `BadArgument` where there is none.
    pub fn body(&self, index: usize) -> Result<&Arc<dyn RegionCode>> {
        let missing = || Error::bad(format!("{} has {} regions", self.name, self.bodies.len()));
        self.bodies.get(index).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(dtype: DType, bytes: &[u8]) -> Option<Vec<i64>> {
        let site = Site {
            name: "test",
            attributes: &Attributes::default(),
            operands: &[Shape::scalar(dtype)],
            known: &[Some(bytes.into())],
            declared: &[],
            results: &[],
            bodies: &[],
            numerics: Numerics::default(),
            partition: 0,
        };
        site.known_integers(0)
    }

    #[test]
    fn integers_of_all_whole_byte_types_are_known_and_nothing_else_is_one() {
        assert_eq!(known(DType::S16, &[0xfe, 0xff]), Some(vec![-2]));
        assert_eq!(known(DType::U16, &[0xfe, 0xff]), Some(vec![0xfffe]));
        assert_eq!(known(DType::S64, &[0xff; 8]), Some(vec![-1]));
        assert_eq!(known(DType::Pred, &[1]), Some(vec![1]));
        for dtype in [DType::C128, DType::C64, DType::F64, DType::Bf16, DType::F8E5M2, DType::S4] {
            assert_eq!(known(dtype, &vec![0; dtype.host_bytes()]), None, "{dtype:?}");
        }
    }
}
