//! Regions that need a run of their own: one element after the other.
use super::frame::Frame;
use super::step::Interpreter;
use crate::compile::{Passes, plan};
use crate::graph::Graph;
use crate::plan::{Plan, Slot, StorageForm};
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_kernels::aligned::Aligned;
use tpu_kernels::elementwise::program::ElementwiseProgram;
use tpu_ops::RegionCode;

/// A region as a program.
#[derive(Debug)]
struct PlannedRegion {
    plan: Plan,
    parameters: Vec<Shape>,
    results: Vec<Shape>,
}

/// Plans a region.
///
/// # Errors
/// `Unimplemented` for one that moves data to or from the host.
pub fn make_body(
    mut graph: Graph,
    parameters: Vec<Shape>,
    results: Vec<Shape>,
) -> Result<Arc<dyn RegionCode>> {
    let plan = plan(&mut graph, StorageForm::Unpacked(&[]), Passes::ALL);
    if let Some((channel, _)) = plan.channels.first() {
        let (verb, id) = (channel.direction.verb(), channel.id);
        let what = format!("a {verb} of channel {id} inside of a region that computes elements");
        return Err(Error::Unimplemented(what));
    }
    Ok(Arc::new(PlannedRegion { plan, parameters, results }))
}

impl RegionCode for PlannedRegion {
    fn parameters(&self) -> &[Shape] {
        &self.parameters
    }

    fn results(&self) -> &[Shape] {
        &self.results
    }

    fn apply(&self, count: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        let zeros = |shape: &Shape| Aligned::zeros(shape.bytes());
        let arena = Aligned::zeros(self.plan.arena);
        let mut memories = vec![arena, Aligned::of(&self.plan.pool)];
        memories.extend(self.parameters.iter().chain(&self.results).map(zeros));
        let frame = Frame::new(memories).with_windows(self.plan.windows);
        let slots = |shapes: &[Shape], first: u32| -> Vec<Slot> {
            let slot =
                |(base, shape): (u32, &Shape)| Slot { base, offset: 0, bytes: shape.bytes() };
            (first..).zip(shapes).map(slot).collect()
        };
        let arguments = slots(&self.parameters, Plan::PARAMETERS);
        let results = slots(&self.results, self.plan.results());
        for at in 0..count {
            for (&argument, input) in arguments.iter().zip(inputs) {
                let width = argument.bytes;
                frame.write(argument, 0, &input[at * width..(at + 1) * width]);
            }
            Interpreter::alone(&frame).plan(&self.plan)?;
            for (&result, output) in results.iter().zip(outputs.iter_mut()) {
                let width = result.bytes;
                output[at * width..(at + 1) * width].copy_from_slice(frame.bytes(result));
            }
        }
        Ok(())
    }

    fn program(&self) -> Option<&ElementwiseProgram> {
        None
    }
}
