//! Which memory arrays lie in.
use tpu_proto::xla::{LayoutProto, ShapeProto};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Operation, Region};

/// The number of the host's memory in layouts.
pub const HOST: i64 = 5;

/// What an operation that moves an array between memories says of where to.
pub(super) fn is_to_host(operation: &Operation) -> Option<bool> {
    if operation.attributes.text("call_target_name") != Some("annotate_device_placement") {
        return None;
    }
    let Some(Attribute::Dictionary(named)) = operation.attributes.get("mhlo.frontend_attributes")
    else {
        return None;
    };
    match named.text("_xla_buffer_placement")? {
        "pinned_host" | "unpinned_host" => Some(true),
        "device" => Some(false),
        _ => None,
    }
}

/// Whether a program puts an array into the memory of the host.
pub fn moves_to_host(module: &Module) -> bool {
    module.functions.iter().any(|function| moves(&function.body))
}

fn moves(region: &Region) -> bool {
    let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
    operations
        .any(|operation| is_to_host(operation) == Some(true) || operation.regions.iter().any(moves))
}

/// Puts the arrays of a shape into a memory.
pub(super) fn set(shape: &mut ShapeProto, memory: i64) {
    if let Some(layout) = &mut shape.layout {
        layout.memory_space = memory;
    }
    shape.tuple_shapes.iter_mut().for_each(|part| set(part, memory));
}

/// Whether an array lies in the host's memory.
pub(super) fn is_host(shape: &ShapeProto) -> bool {
    let of = |layout: &LayoutProto| layout.memory_space == HOST;
    shape.layout.as_ref().is_some_and(of)
}
