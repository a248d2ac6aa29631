//! The one form of a program: plain data in StableHLO's terms, whatever it was read from.
//!
//! Operations are named as in StableHLO's text (`stablehlo.add`, `func.call`, `sdy.mesh`, …).
//! Attributes are flat, with the names that the newest VHLO gives them (`offset_dims` stands
//! beside `slice_sizes`, not inside a `dimension_numbers`). What StableHLO's text may leave out is
//! there as VHLO has it (`window_strides`, `precision_config`), but an attribute that says "none"
//! (an empty string or list of attributes, `NOTYPE`, the default accuracy) is absent.
//! See [`Attribute`] for the one way each kind of value is written.
mod attribute;
mod types;

pub use attribute::{
    Attribute, Attributes, AxisRef, DimensionSharding, Elements, Mesh, MeshAxes, MeshRef,
    OutputAlias, TensorSharding,
};
pub use types::{DYNAMIC, Quantization, TensorType, Type};

pub use tpu_mlir::Element;
pub use tpu_mlir::code::Value;
pub use tpu_mlir::location::{Location, LocationId, Locations, SourceLine};

use std::borrow::Cow;
use std::sync::Arc;

/// The name of an operation or attribute.
pub type Name = Cow<'static, str>;

/// A program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Module {
    /// The symbol, if it has one.
    pub name: Option<Arc<str>>,
    /// `mhlo.num_partitions` and the like.
    pub attributes: Attributes,
    /// `sdy.mesh` operations.
    pub meshes: Vec<NamedMesh>,
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

    /// Where a client enters: `main`, or the only public function.
    pub fn entry(&self) -> Option<&Function> {
        let public = || {
            let mut public = self.functions.iter().filter(|function| function.public);
            public.next().filter(|_| public.next().is_none())
        };
        self.function("main").or_else(public)
    }
}

/// A mesh that others refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedMesh {
    /// The symbol.
    pub name: Arc<str>,
    /// The mesh.
    pub mesh: Mesh,
    /// Attributes other than these, such as `stablehlo.mesh`, which says the mesh once more.
    pub attributes: Attributes,
}

/// A function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The symbol.
    pub name: Arc<str>,
    /// Whether its visibility is public (the default).
    pub public: bool,
    /// Attributes other than name, type and visibility.
    pub attributes: Attributes,
    /// Attributes of each argument; the arguments themselves are those of the body's block.
    pub arguments: Vec<Attributes>,
    /// Type and attributes of each result.
    pub results: Vec<(Type, Attributes)>,
    /// The type of every value of the function, regions included: [`Value`] is an index here. A
    /// declaration has those of its arguments.
    pub values: Vec<Type>,
    /// The body: one block that ends with `func.return`. A declaration has no block.
    pub body: Region,
    /// Where it was written.
    pub location: LocationId,
}

impl Function {
    /// The type of a value.
    pub fn type_of(&self, value: Value) -> &Type {
        &self.values[value.0 as usize]
    }

    /// The block of the body; `None` for a declaration.
    pub fn block(&self) -> Option<&Block> {
        self.body.blocks.first()
    }
}

/// Code inside an operation or a function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// StableHLO has one block a region; others are read and refused later.
    pub blocks: Vec<Block>,
}

/// Straight-line code. The last operation is the terminator.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Parameters.
    pub arguments: Vec<Value>,
    /// What it does, in order.
    pub operations: Vec<Operation>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Dialect and mnemonic, without a version: `stablehlo.dot_general`.
    pub name: Name,
    /// What it reads.
    pub operands: Vec<Value>,
    /// What it defines.
    pub results: Vec<Value>,
    /// Properties and discardable attributes together.
    pub attributes: Attributes,
    /// Code inside it.
    pub regions: Vec<Region>,
    /// Where it was written.
    pub location: LocationId,
}
