//! Modules, functions and code.
use super::{
    AffineMap, Attributes, CoreType, DimensionSemantics, LocationId, Locations, Operation,
    PipelineMode, RevisitMode, Type, Value,
};
use std::sync::Arc;

/// A kernel with its index maps, or several kernels of SparseCores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module {
    /// The symbol, if it has one.
    pub name: Option<Arc<str>>,
    /// The version of the format that it was written in.
    pub format: i64,
    /// Attributes other than these: `tpu.dynamic_dimension_mapping_*` of exports with symbolic
    /// shapes.
    pub attributes: Attributes,
    /// Functions in the order of the source.
    pub functions: Vec<Function>,
    /// What [`LocationId`]s stand for.
    pub locations: Locations,
}

impl Module {
    /// The function with this symbol.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| &*function.name == name)
    }

    /// The kernels: the functions that say where they run.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.kernel.is_some())
    }
}

/// A function: a kernel, an index map, or one that others call.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The symbol.
    pub name: Arc<str>,
    /// Whether its visibility is private.
    pub private: bool,
    /// What makes it a kernel, if it is one.
    pub kernel: Option<Kernel>,
    /// Attributes other than name, type, visibility and those of [`Kernel`].
    pub attributes: Attributes,
    /// The type of each result.
    pub results: Vec<Type>,
    /// The type of every value of the function, regions included: [`Value`] is an index here.
    pub values: Vec<Type>,
    /// The body: its arguments, and code that ends with `func.return`.
    pub body: Block,
    /// Where it was written.
    pub location: LocationId,
}

impl Function {
    /// The type of a value.
    pub fn type_of(&self, value: Value) -> &Type {
        &self.values[value.0 as usize]
    }
}

/// What makes a function a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Where it runs.
    pub core: CoreType,
    /// The grid, [`super::DYNAMIC`] where the call gives it; `None` without one: one point.
    pub grid: Option<Vec<i64>>,
    /// How the points of each dimension may be ordered; `None` where the kernel asks itself on
    /// which core it is.
    pub semantics: Option<Vec<DimensionSemantics>>,
    /// How many arguments behind the indices are scalar operands.
    pub scalar_prefetch: usize,
    /// How many arguments at the end are scratch.
    pub scratch_operands: usize,
    /// A window for each operand and result; `None` without a grid.
    pub windows: Option<Vec<Window>>,
}

/// How an operand or result comes to a kernel. Without a transform it is the whole array, where it
/// lies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// Which block each point of the grid has.
    pub transform: Option<Transform>,
    /// The extents of a block; `None` for an argument that is the whole array.
    pub bounds: Option<Vec<i64>>,
    /// What the blocks have below and above the array, where the transform gives elements and not
    /// blocks.
    pub element_window: Option<(Vec<i64>, Vec<i64>)>,
    /// How many buffers it has.
    pub pipeline_mode: Option<PipelineMode>,
    /// Whether blocks of a result may be entered again later.
    pub revisit_mode: Option<RevisitMode>,
}

/// An index map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transform {
    /// A function of the module: grid indices and scalar operands in, one `i32` a dimension out.
    Function(Arc<str>),
    /// A map over the grid.
    Map(AffineMap),
}

/// Code inside an operation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// The one block that a region has; none where the operation may go without (the `else` of an
    /// `scf.if`).
    pub block: Option<Block>,
}

/// Straight-line code. The last operation is the terminator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Parameters.
    pub arguments: Vec<Value>,
    /// What it does, in order.
    pub operations: Vec<Operation>,
}
