//! Code inside an operation (a reduction's body, a sort's comparator) as its file sees it.
use std::fmt;
use tpu_base::error::Result;
use tpu_base::tensor::Shape;
use tpu_kernels::elementwise::program::ElementwiseProgram;
use tpu_kernels::reduce::combiner::Combiner;

/// The code of one region.
pub trait RegionCode: fmt::Debug + Send + Sync {
    /// Shapes of the parameters; scalars for every operation but control flow.
    fn parameters(&self) -> &[Shape];

    /// Shapes of the results.
    fn results(&self) -> &[Shape];

    /// Evaluates the region for `lanes` independent sets of scalars at once.
    ///
    /// `inputs[k]` has `lanes` elements of parameter `k`, `outputs[k]` room for as many of
    /// result `k`; all are aligned for their element type.
    ///
    /// # Errors
    /// Those of the operations inside.
    fn apply(&self, lanes: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()>;

    /// The region as steps over lanes, for kernels that recognise common ones. `None` for a
    /// region with other operations than elementwise ones.
    fn program(&self) -> Option<&ElementwiseProgram>;
}

/// The operation of a region that is one commutative operation on its two parameters
/// (`add`, `maximum`, …), without its dialect.
pub fn combiner(body: &dyn RegionCode) -> Option<Combiner> {
    body.program()?.combiner()
}
