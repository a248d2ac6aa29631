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

/// The most pieces that are kept.
const MOST: usize = 4096;

/// What was made of what, by a number that equal sources share.
#[derive(Debug)]
struct Made<S, T> {
    by_hash: HashMap<u64, Vec<(S, Arc<T>)>>,
    count: usize,
}

impl<S, T> Default for Made<S, T> {
    fn default() -> Self {
        Self { by_hash: HashMap::new(), count: 0 }
    }
}

impl<S, T> Made<S, T> {
    /// Keeps one more. Where there are too many, those go that nobody has; then all.
    fn keep(&mut self, hash: u64, source: S, made: &Arc<T>, most: usize) {
        if self.count >= most {
            self.by_hash.retain(|_, made| {
                made.retain(|(_, made)| Arc::strong_count(made) > 1);
                !made.is_empty()
            });
            self.count = self.by_hash.values().map(Vec::len).sum();
        }
        if self.count >= most {
            *self = Self::default();
        }
        self.by_hash.entry(hash).or_default().push((source, Arc::clone(made)));
        self.count += 1;
    }
}

/// Pieces that were made, for kernels that have the same once more.
#[derive(Debug)]
pub(crate) struct Pieces {
    numerics: Numerics,
    known: Mutex<Made<Module, Piece>>,
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
        if let Some(found) = self.known.lock().by_hash.get(&key) {
            let same = |(other, piece): &&(Module, Arc<Piece>)| {
                *other == module && piece.donated == donated
            };
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
        self.known.lock().keep(key, module, &piece, MOST);
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_goes_first_where_there_is_too_much() {
        let mut made = Made::default();
        let held = Arc::new(0);
        made.keep(7, "held", &held, 3);
        (1..3).for_each(|number| made.keep(number, "loose", &Arc::new(0), 3));
        assert_eq!(made.count, 3);
        made.keep(9, "next", &held, 3);
        assert_eq!(made.count, 2);
        assert_eq!(made.by_hash[&7][0].0, "held");
        made.keep(10, "held, too", &held, 3);
        made.keep(11, "the last", &held, 3);
        assert_eq!((made.count, made.by_hash.len()), (1, 1));
        assert_eq!(made.by_hash[&11][0].0, "the last");
    }
}
