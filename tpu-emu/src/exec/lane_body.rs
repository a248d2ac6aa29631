//! Regions that need a run of their own: one lane after the other.
use super::frame::Frame;
use super::run::Run;
use crate::error::Result;
use crate::kernels::aligned::Aligned;
use crate::kernels::lanes::LaneProgram;
use crate::ops::Body;
use crate::program::fuse::fuse;
use crate::program::graph::Graph;
use crate::program::plan::{Plan, plan};
use crate::tensor::Shape;
use std::sync::Arc;

/// A region as a program.
#[derive(Debug)]
struct PlannedBody {
    plan: Plan,
    parameters: Vec<Shape>,
    results: Vec<Shape>,
}

/// Plans a region.
///
/// # Errors
/// None today; the signature is the loader's.
pub(super) fn make_body(
    mut graph: Graph,
    parameters: Vec<Shape>,
    results: Vec<Shape>,
) -> Result<Arc<dyn Body>> {
    let code = fuse(&mut graph);
    let plan = plan(&graph, &code, &[]);
    Ok(Arc::new(PlannedBody { plan, parameters, results }))
}

impl Body for PlannedBody {
    fn parameters(&self) -> &[Shape] {
        &self.parameters
    }

    fn results(&self) -> &[Shape] {
        &self.results
    }

    #[expect(unsafe_code, reason = "the frame is made of memory that this function holds")]
    fn apply(&self, lanes: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        let mut arena = Aligned::zeros(self.plan.arena);
        let mut pool = Aligned::of(&self.plan.pool);
        let mut arguments: Vec<Aligned> =
            self.parameters.iter().map(|shape| Aligned::zeros(shape.bytes())).collect();
        let mut results: Vec<Aligned> =
            self.results.iter().map(|shape| Aligned::zeros(shape.bytes())).collect();
        let place = |memory: &mut Aligned| {
            let bytes = memory.bytes_mut();
            (bytes.as_mut_ptr(), bytes.len())
        };
        let mut bases = vec![place(&mut arena), place(&mut pool)];
        bases.extend(arguments.iter_mut().map(place));
        bases.extend(results.iter_mut().map(place));
        // SAFETY: the memory is this function's own and outlives the frame; it is touched
        // through it alone, but for the copies in and out between two runs.
        let frame = unsafe { Frame::new(bases) };
        for lane in 0..lanes {
            for (argument, input) in arguments.iter_mut().zip(inputs) {
                let bytes = argument.bytes_mut();
                let width = bytes.len();
                bytes.copy_from_slice(&input[lane * width..(lane + 1) * width]);
            }
            Run { frame: &frame, locations: None, seed: 0 }.plan(&self.plan)?;
            for (result, output) in results.iter().zip(outputs.iter_mut()) {
                let bytes = result.bytes();
                output[lane * bytes.len()..(lane + 1) * bytes.len()].copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn program(&self) -> Option<&LaneProgram> {
        None
    }
}
