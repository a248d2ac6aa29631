//! Element type and extents of an array inside a program.
use super::DType;
use std::fmt;

/// Element type and extents. In a program arrays are dense and row-major, with sub-byte types
/// and booleans one to a byte.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Element type.
    pub dtype: DType,
    /// Extents, major first.
    pub dims: Box<[usize]>,
}

impl Shape {
    /// The empty value that stands for a token: clients pass and take `pred[0]` for it.
    pub fn token() -> Self {
        Self::new(DType::Pred, [0])
    }

    /// An array type.
    pub fn new(dtype: DType, dims: impl Into<Box<[usize]>>) -> Self {
        Self { dtype, dims: dims.into() }
    }

    /// A single element.
    pub fn scalar(dtype: DType) -> Self {
        Self { dtype, dims: Box::default() }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Number of elements. Programs are checked on load to have no array past `isize` bytes.
    pub fn elements(&self) -> usize {
        self.dims.iter().product()
    }

    /// Bytes of the dense array.
    pub fn bytes(&self) -> usize {
        self.elements() * self.dtype.host_bytes()
    }

    /// Elements from one index to the next along each axis.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.dims.len()];
        for axis in (1..self.dims.len()).rev() {
            strides[axis - 1] = strides[axis] * self.dims[axis];
        }
        strides
    }

    /// The same extents with another element type.
    pub fn with(&self, dtype: DType) -> Self {
        Self { dtype, dims: self.dims.clone() }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(usize::to_string).collect();
        write!(f, "{}[{}]", self.dtype.name(), dims.join(","))
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_count_elements_and_bytes_follow_the_type() {
        let shape = Shape::new(DType::F32, [2, 3, 4]);
        assert_eq!(shape.strides(), [12, 4, 1]);
        assert_eq!((shape.elements(), shape.bytes()), (24, 96));
        assert_eq!(shape.to_string(), "f32[2,3,4]");
        assert_eq!(Shape::token().bytes(), 0);
    }
}
