//! What one device of several needs for its part of a program: the plan of the program that it
//! would run by itself. It is counted and told. What runs is the program over whole arrays, but where
//! the devices have nothing to exchange and the parts give the same bits.
use super::charge::Charge;
use super::stored_array::constant_bytes;
use crate::hbm::layout::TileRules;
use std::collections::BTreeMap;
use tpu_base::error::Result;
use tpu_ops::{Cost, Numerics};
use tpu_program::compile::{Passes, plan};
use tpu_program::import::{BodyMaker, load};
use tpu_program::partition::{Form, Unlinked, partition};
use tpu_program::plan::{Plan, StorageForm};
use tpu_program::rewrite::placement::placed_apart;
use tpu_program::sharding::groups::Devices;
use tpu_program::sharding::io_shardings::IoShardings;
use tpu_stablehlo::Module;

/// One device's part of a program.
#[derive(Debug)]
pub(crate) struct DevicePlan {
    /// The plan of the part.
    pub(crate) plan: Plan,
    /// Whether each device may run it by itself, with the bits of a run over whole arrays.
    pub(crate) runs: bool,
    /// Arithmetic of the part.
    pub(crate) cost: Cost,
    /// Bytes that the operations of the part read and write.
    pub(crate) bytes_accessed: f64,
    /// What a chip is charged with for the part's temporaries.
    pub(crate) charge: Charge,
    /// Bytes of its constants in HBM, padded.
    constants: usize,
    /// Bytes of temporaries that the part puts in host memory. Where it runs, they lie in HBM.
    pub(crate) host: usize,
}

impl DevicePlan {
    /// The part of each device of a program over several, whose arrays lie outside of it.
    ///
    /// # Errors
    /// Those of [`partition`] and [`load`].
    pub(super) fn of(
        how: (Numerics, BodyMaker),
        module: &Module,
        (io_shardings, devices): (&IoShardings, Devices),
        (outside, passes): (StorageForm<'_>, Passes),
        (charge, rules): (impl Fn((&Module, &Plan)) -> Charge, TileRules),
    ) -> Result<Self> {
        let part = partition(module, io_shardings, (devices.count, devices.replicas), Form::Plan)?;
        let alone = (Devices::ONE, &BTreeMap::new());
        let loaded = load(&part.module, how.0, &Unlinked, how.1, alone, passes)?;
        let mut graph = loaded.graph;
        let mut plan = plan(&mut graph, outside, passes);
        let alone = part.everywhere && plan.calls == 0 && !plan.waits() && !graph.draws;
        let runs = alone && (part.per_device || plan.is_by_elements());
        let told = told(how, &part.module, (outside, passes))?;
        let host = told.as_ref().map_or(plan.host, |told| told.host);
        if let (false, Some(told)) = (runs, told) {
            plan = told;
        }
        let (cost, bytes_accessed) = (graph.cost, graph.bytes_accessed);
        let charge = charge((&part.module, &plan));
        let constants = constant_bytes(&plan, rules);
        Ok(Self { plan, constants, runs, cost, bytes_accessed, charge, host })
    }

    /// Bytes of HBM that the part needs besides arguments and results.
    pub(super) fn temporaries(&self) -> usize {
        self.plan.arena.saturating_add(self.constants)
    }
}

/// The plan of one device's program with what it puts in host memory there, to be told; `None`
/// for a program that puts nothing there.
///
/// # Errors
/// Those of [`load`].
pub(super) fn told(
    (numerics, make_body): (Numerics, BodyMaker),
    module: &Module,
    (outside, passes): (StorageForm<'_>, Passes),
) -> Result<Option<Plan>> {
    let Some(module) = placed_apart(module) else { return Ok(None) };
    let StorageForm::Packed { donated, elsewhere, .. } = outside else { return Ok(None) };
    let alone = (Devices::ONE, &BTreeMap::new());
    let mut graph = load(&module, numerics, &Unlinked, make_body, alone, passes)?.graph;
    let apart = StorageForm::Packed { donated, elsewhere, apart: true };
    Ok(Some(plan(&mut graph, apart, passes)))
}
