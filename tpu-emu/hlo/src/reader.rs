//! What is known of the whole module while its computations are read.
use crate::location::Metadata;
use crate::{ReadError, shape};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tpu_proto::xla::{HloComputationProto, HloInstructionProto, HloModuleProto};
use tpu_stablehlo::ir::Type;

/// Operations and values that a program may become whatever its size.
const BUDGET_BASE: usize = 1 << 20;
/// Operations and values that a program may become a byte of it.
const BUDGET_RATE: usize = 16;

/// A module while it is read.
#[derive(Debug)]
pub(crate) struct ModuleReader<'a> {
    pub(crate) module: &'a HloModuleProto,
    pub(crate) metadata: Metadata<'a>,
    by_id: HashMap<i64, usize>,
    /// Symbols of computations that are functions.
    symbols: HashMap<usize, Arc<str>>,
    taken: HashSet<Arc<str>>,
    /// Functions that are called but not read yet.
    pub(crate) called: Vec<usize>,
    budget: usize,
}

impl<'a> ModuleReader<'a> {
    pub(crate) fn new(module: &'a HloModuleProto, size: usize) -> Result<Self, ReadError> {
        let mut by_id = HashMap::new();
        for (index, computation) in module.computations.iter().enumerate() {
            if by_id.insert(computation.id, index).is_some() {
                return Err(format!("two computations with the id {}", computation.id).into());
            }
        }
        Ok(Self {
            module,
            metadata: Metadata::new(module.stack_frame_index.as_ref()),
            by_id,
            symbols: HashMap::new(),
            taken: HashSet::from(["main".into()]),
            called: Vec::new(),
            budget: size.saturating_mul(BUDGET_RATE).saturating_add(BUDGET_BASE),
        })
    }

    /// Takes from the budget.
    pub(crate) fn pay(&mut self, items: usize) -> Result<(), ReadError> {
        let left = self.budget.checked_sub(items);
        self.budget = left.ok_or("the program grows too large when its calls are written out")?;
        Ok(())
    }

    pub(crate) fn computation(&self, index: usize) -> &'a HloComputationProto {
        &self.module.computations[index]
    }

    /// The place of a computation by its id.
    pub(crate) fn index(&self, id: i64) -> Result<usize, ReadError> {
        let known = self.by_id.get(&id).copied();
        known.ok_or_else(|| format!("there is no computation with the id {id}").into())
    }

    /// The place of a computation that another one calls. Those that are called come first, so
    /// that no computation calls itself.
    pub(crate) fn callee(&self, caller: usize, id: i64) -> Result<usize, ReadError> {
        let callee = self.index(id)?;
        if callee < caller {
            return Ok(callee);
        }
        let (name, by) = (&self.computation(callee).name, &self.computation(caller).name);
        Err(format!("'{name}' is called by '{by}', which does not come after it").into())
    }

    /// The symbol of a computation that is called as a function.
    pub(crate) fn function(&mut self, index: usize) -> Arc<str> {
        if let Some(symbol) = self.symbols.get(&index) {
            return Arc::clone(symbol);
        }
        let name = &self.computation(index).name;
        let mut symbol: Arc<str> = name.as_str().into();
        let mut number = 0_usize;
        while symbol.is_empty() || self.taken.contains(&symbol) {
            symbol = format!("{name}_{number}").into();
            number += 1;
        }
        self.taken.insert(Arc::clone(&symbol));
        self.symbols.insert(index, Arc::clone(&symbol));
        self.called.push(index);
        symbol
    }

    /// The parameters of a computation in their order.
    pub(crate) fn parameters(
        &self,
        index: usize,
    ) -> Result<Vec<&'a HloInstructionProto>, ReadError> {
        let computation = self.computation(index);
        let mut list: Vec<&HloInstructionProto> =
            computation.instructions.iter().filter(|one| one.opcode == "parameter").collect();
        list.sort_by_key(|one| one.parameter_number);
        let in_order = list.iter().zip(0_i64..).all(|(one, at)| one.parameter_number == at);
        if !in_order {
            return Err(format!(
                "the parameters of '{}' are not numbered 0, 1, …",
                computation.name
            )
            .into());
        }
        Ok(list)
    }

    /// The types of a computation's parameters, tuples dissolved.
    pub(crate) fn parameter_types(&self, index: usize) -> Result<Vec<Type>, ReadError> {
        let mut types = Vec::new();
        for parameter in self.parameters(index)? {
            types.extend(shape::leaves(shape_of(parameter)?)?);
        }
        Ok(types)
    }

    /// The instruction that a computation returns.
    pub(crate) fn root(&self, index: usize) -> Result<&'a HloInstructionProto, ReadError> {
        let computation = self.computation(index);
        let root = computation.instructions.iter().find(|one| one.id == computation.root_id);
        root.ok_or_else(|| {
            format!("'{}' has no instruction {} to return", computation.name, computation.root_id)
                .into()
        })
    }

    /// The types of a computation's results, tuples dissolved.
    pub(crate) fn result_types(&self, index: usize) -> Result<Vec<Type>, ReadError> {
        shape::leaves(shape_of(self.root(index)?)?)
    }
}

/// The shape of an instruction.
pub(crate) fn shape_of(
    instruction: &HloInstructionProto,
) -> Result<&tpu_proto::xla::ShapeProto, ReadError> {
    instruction.shape.as_ref().ok_or_else(|| format!("'{}' has no shape", instruction.name).into())
}
