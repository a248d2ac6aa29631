//! Choices between elements that scatters of one update to a row are.
use tpu_base::tensor::DType;
use tpu_kernels::elementwise::program::ElementwiseOp;
use tpu_kernels::movement::strided_view::Access;

/// What a scatter with one input gives where every element gets one update at most: of an element
/// whose number along an axis is the index, what it and the update make; of any other, itself.
#[derive(Debug, Clone)]
pub struct OneHot {
    /// The axis that indices count along.
    pub axis: usize,
    /// The type of the indices, which has all numbers along that axis.
    pub index: DType,
    /// The index for each element of the result.
    pub indices: Access,
    /// The update for each element of the result.
    pub updates: Access,
    /// What the input's element, first, and the update make; the update alone without it.
    pub combine: Option<ElementwiseOp>,
    /// Whether two indices are equal.
    pub equal: ElementwiseOp,
    /// One of two elements.
    pub choose: ElementwiseOp,
}
