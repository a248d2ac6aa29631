//! Checks that a reader could have left out: the faults that its fuzzer must find.
//!
//! Each is met by a form that no seed has and that one small change of a seed gives: a fuzzer that
//! does not reach it does not reach what is read at all. They look at what was read, so that the
//! readers themselves have no switch.
use crate::compile_options::Decoded;
use std::sync::LazyLock;
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Block, Function, Operation, Type, Value};

/// The variable that plants the faults. A fuzzer that does not find them would find nothing.
pub const PLANTED: &str = "TPU_EMU_TEST_PLANTED";

/// What a planted fault says as it is met.
pub const SAID: &str = "the planted fault";

/// The devices of a table that is indexed without a look at its length.
const DEVICES: i64 = 64;

/// The attributes that hold axes of what an operation reads or gives.
const AXES: [&str; 7] = [
    "broadcast_dimensions",
    "dimension",
    "dimensions",
    "iota_dimension",
    "lhs_contracting_dimensions",
    "permutation",
    "rhs_contracting_dimensions",
];

#[expect(clippy::disallowed_methods, reason = "a fuzzer's own switch, no part of the library")]
static IS_PLANTED: LazyLock<bool> = LazyLock::new(|| std::env::var_os(PLANTED).is_some());

/// Takes memory to end where it did in every trace that was tried.
pub(crate) fn blocks(trace: &tpu_trace::Trace) {
    if *IS_PLANTED {
        for (_, event) in trace.events.iter() {
            assert!(event.address < 1 << 20, "{SAID}: a block at {}", event.address);
        }
    }
}

/// Takes the extents of the axes that operations name, which their arrays may not have.
pub(crate) fn axes(module: &Module) {
    if !*IS_PLANTED {
        return;
    }
    for function in &module.functions {
        function.body.blocks.iter().for_each(|block| axes_of(function, block));
    }
}

fn axes_of(function: &Function, block: &Block) {
    for operation in &block.operations {
        let rank = rank(function, operation);
        for name in AXES {
            for axis in operation.attributes.integers(name).unwrap_or_default() {
                assert!((0..rank).contains(&axis), "{SAID}: axis {axis} of {rank}");
            }
        }
        let blocks = operation.regions.iter().flat_map(|region| &region.blocks);
        blocks.for_each(|block| axes_of(function, block));
    }
}

/// Takes the extents of the axes that a kernel's operations name, as [`axes`] does.
pub(crate) fn kernel_axes(module: &tpu_mosaic::Module) {
    if *IS_PLANTED {
        for function in &module.functions {
            kernel_axes_of(function, &function.body);
        }
    }
}

fn kernel_axes_of(function: &tpu_mosaic::ir::Function, block: &tpu_mosaic::ir::Block) {
    for operation in &block.operations {
        let values = operation.operands.iter().chain(&operation.results);
        let rank = values.map(|value| function.type_of(*value).dims().len()).max();
        let rank = i64::try_from(rank.unwrap_or_default()).unwrap_or(i64::MAX);
        for name in ["dimension", "dimensions", "permutation", "reduction_dims"] {
            let Some(value) = operation.attributes.get(name) else { continue };
            let axes = value.integer().map(|axis| vec![axis]).or_else(|| value.integers());
            for axis in axes.unwrap_or_default() {
                assert!((0..rank).contains(&axis), "{SAID}: axis {axis} of {rank}");
            }
        }
        let blocks = operation.regions.iter().flat_map(|region| &region.block);
        blocks.for_each(|block| kernel_axes_of(function, block));
    }
}

/// The most axes of what an operation reads and gives.
fn rank(function: &Function, operation: &Operation) -> i64 {
    let rank = |value: &Value| match function.type_of(*value) {
        Type::Tensor(tensor) => i64::try_from(tensor.dims.len()).unwrap_or(i64::MAX),
        _ => 0,
    };
    operation.operands.iter().chain(&operation.results).map(rank).max().unwrap_or_default()
}

/// Looks a device up by its number, which may be any.
pub(crate) fn devices(decoded: &Decoded) {
    if *IS_PLANTED {
        for device in &decoded.options.devices {
            assert!((0..DEVICES).contains(device), "{SAID}: device {device} of {DEVICES}");
        }
    }
}
