//! Pieces: programs of their own, made by the passes that make any program of the machine.
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tpu_base::tensor::Shape;
use tpu_kernels::aligned::Aligned;
use tpu_ops::Numerics;
use tpu_program::compile::{Passes, plan};
use tpu_program::import::load;
use tpu_program::interpret::region::make_body;
use tpu_program::partition::Unlinked;
use tpu_program::plan::{Plan, StorageForm};
use tpu_program::sharding::groups::Devices;
use tpu_stablehlo::Module;

/// A piece that is ready to run.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The steps of its program.
    pub(crate) plan: Plan,
    /// What it takes.
    pub(crate) parameters: Vec<Shape>,
    /// What it gives.
    pub(crate) results: Vec<Shape>,
    /// The result that takes each parameter's memory over.
    pub(crate) donated: Vec<Option<usize>>,
    /// The constants of its program.
    pub(crate) pool: Aligned,
}

/// Makes pieces.
pub(crate) trait Planner: fmt::Debug {
    /// A piece of the function of a module.
    ///
    /// # Errors
    /// What the machine says of the module.
    fn plan(
        &self,
        module: Module,
        parameters: Vec<Shape>,
        results: Vec<Shape>,
        donated: Vec<Option<usize>>,
    ) -> Result<Arc<Piece>, String>;
}

/// A piece, and what it was made of.
type Known = (Module, Arc<Piece>);

/// Pieces that were made, for kernels that have the same once more.
#[derive(Debug)]
pub(crate) struct Pieces {
    numerics: Numerics,
    known: Mutex<HashMap<u64, Vec<Known>>>,
}

impl Pieces {
    /// None yet.
    pub(crate) fn new(numerics: Numerics) -> Self {
        Self { numerics, known: Mutex::default() }
    }
}

/// A number that equal modules share.
fn hash(module: &Module) -> u64 {
    let mut hasher = DefaultHasher::new();
    for function in &module.functions {
        function.values.len().hash(&mut hasher);
        for operation in function.body.blocks.iter().flat_map(|block| &block.operations) {
            operation.name.hash(&mut hasher);
            operation.operands.hash(&mut hasher);
        }
    }
    hasher.finish()
}

impl Planner for Pieces {
    fn plan(
        &self,
        module: Module,
        parameters: Vec<Shape>,
        results: Vec<Shape>,
        donated: Vec<Option<usize>>,
    ) -> Result<Arc<Piece>, String> {
        let key = hash(&module);
        if let Some(found) = self.known.lock().get(&key) {
            let same = |(other, piece): &&Known| *other == module && piece.donated == donated;
            if let Some((_, piece)) = found.iter().find(same) {
                return Ok(Arc::clone(piece));
            }
        }
        let none = BTreeMap::new();
        let loaded =
            load(&module, self.numerics, &Unlinked, make_body, (Devices::ONE, &none), Passes::ALL)
                .map_err(|error| error.to_string())?;
        let mut graph = loaded.graph;
        let mut plan = plan(&mut graph, StorageForm::Unpacked(&donated), Passes::ALL);
        let pool = Aligned::of(&std::mem::take(&mut plan.pool));
        let piece = Arc::new(Piece { plan, parameters, results, donated, pool });
        let kept = (module, Arc::clone(&piece));
        self.known.lock().entry(key).or_default().push(kept);
        Ok(piece)
    }
}
