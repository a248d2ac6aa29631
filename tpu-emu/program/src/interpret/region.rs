//! Regions that need a run of their own: one lane after the other.
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
struct PlannedBody {
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
    let plan = plan(&mut graph, StorageForm::Unpacked, Passes::ALL);
    if let Some((channel, _)) = plan.channels.first() {
        let (verb, id) = (channel.direction.verb(), channel.id);
        let what = format!("a {verb} of channel {id} inside of a region that computes elements");
        return Err(Error::Unimplemented(what));
    }
    Ok(Arc::new(PlannedBody { plan, parameters, results }))
}

impl RegionCode for PlannedBody {
    fn parameters(&self) -> &[Shape] {
        &self.parameters
    }

    fn results(&self) -> &[Shape] {
        &self.results
    }

    fn apply(&self, lanes: usize, inputs: &[&[u8]], outputs: &mut [&mut [u8]]) -> Result<()> {
        let zeros = |shape: &Shape| Aligned::zeros(shape.bytes());
        let arena = Aligned::zeros(self.plan.arena);
        let mut memories = vec![arena, Aligned::of(&self.plan.pool)];
        memories.extend(self.parameters.iter().chain(&self.results).map(zeros));
        let frame = Frame::new(memories);
        let places = |shapes: &[Shape], first: u32| -> Vec<Slot> {
            let place =
                |(base, shape): (u32, &Shape)| Slot { base, offset: 0, bytes: shape.bytes() };
            (first..).zip(shapes).map(place).collect()
        };
        let arguments = places(&self.parameters, Plan::PARAMETERS);
        let results = places(&self.results, self.plan.results());
        for lane in 0..lanes {
            for (&argument, input) in arguments.iter().zip(inputs) {
                let width = argument.bytes;
                frame.write(argument, 0, &input[lane * width..(lane + 1) * width]);
            }
            Interpreter { frame: &frame, locations: None, seed: 0, launch: None }
                .plan(&self.plan)?;
            for (&result, output) in results.iter().zip(outputs.iter_mut()) {
                let width = result.bytes;
                output[lane * width..(lane + 1) * width].copy_from_slice(frame.bytes(result));
            }
        }
        Ok(())
    }

    fn program(&self) -> Option<&ElementwiseProgram> {
        None
    }
}
