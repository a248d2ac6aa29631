//! Kernels that run on several devices together: one step with the operands and results of all.
use super::super::graph::{Node, NodeKind, Subgraph, ValueId};
use super::super::import::Loader;
use super::super::import::control::bind_all;
use super::super::import::scope::Binding;
use super::participants::Participants;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::Operation;

impl<'m> Loader<'m> {
    /// A kernel whose devices talk to one another, over the participants.
    pub(super) fn joint_kernel(
        &mut self,
        participants: &mut Participants<'m>,
        operation: &'m Operation,
        into: &mut Subgraph,
    ) -> Result<()> {
        let shared = participants.devices().into_iter().find(|devices| devices.len() != 1);
        if let Some(devices) = shared {
            let what = format!("a kernel over devices {devices:?}, which run the same code");
            return Err(Error::Unimplemented(what));
        }
        let count = participants.scopes.len();
        let devices: Vec<usize> = (0..count).map(|place| participants.device(place)).collect();
        let (kernel, made) = self.compiled_kernel(&participants.scopes[0], operation, &devices)?;
        let (mut operands, mut shapes) = (Vec::new(), Vec::new());
        for scope in &participants.scopes {
            for &operand in &operation.operands {
                scope.binding(operand)?.arrays(&mut operands, &mut shapes);
            }
        }
        self.count_nodes(1)?;
        let mut results: Vec<ValueId> = Vec::new();
        for scope in &mut participants.scopes {
            let own: Vec<(ValueId, Shape)> =
                made.iter().map(|shape| (self.graph.add(shape.clone()), shape.clone())).collect();
            results.extend(own.iter().map(|(id, _)| *id));
            let bindings = own.into_iter().map(|(id, shape)| Binding::Array(id, shape)).collect();
            bind_all(scope, operation, bindings)?;
        }
        into.nodes.push(Node {
            work: NodeKind::Kernel(kernel),
            operands,
            shapes,
            results,
            name: tpu_ops::name_of(operation).into(),
            location: operation.location,
            effect: operation.attributes.flag("has_side_effect"),
        });
        Ok(())
    }
}
