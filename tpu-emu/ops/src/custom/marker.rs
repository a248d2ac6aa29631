//! Calls that say something about a value and leave it as it is.
use super::super::{Entry, LayoutRule, Lowered, ShardingRule, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::{Attribute, Attributes};

/// The marker of a value that is split as it says.
pub const SHARDING: &str = "Sharding";

/// The marker between a whole and the parts of devices.
pub const FULL_TO_SHARD: &str = "SPMDFullToShardShape";

/// The marker between the parts of devices and a whole.
pub const SHARD_TO_FULL: &str = "SPMDShardToFullShape";

/// The marker of an array that stays where it is from here on.
pub const PIN: &str = "Pin";

/// The marker of an array that no longer has to stay where it is.
pub const UNPIN: &str = "Unpin";

/// The call that copies an array to host memory, in a program that is planned and never run.
pub const TO_HOST: &str = "copy to host memory";

/// The call that copies an array to the device's memory, likewise.
pub const TO_DEVICE: &str = "copy to device memory";

const MOVE_TO_DEVICE: &str = "MoveToDevice";
const MOVE_TO_HOST: &str = "MoveToHost";
const PLACEMENT: &str = "annotate_device_placement";

/// The call that copies what an operation only says to be in another memory.
pub fn placement_call(attributes: &Attributes) -> Option<&'static str> {
    match attributes.text("call_target_name")? {
        MOVE_TO_HOST => Some(TO_HOST),
        MOVE_TO_DEVICE => Some(TO_DEVICE),
        PLACEMENT => {
            let told = attributes.get("mhlo.frontend_attributes");
            let Some(Attribute::Dictionary(told)) = told else { return None };
            match told.text("_xla_buffer_placement")? {
                "pinned_host" | "unpinned_host" => Some(TO_HOST),
                _ => Some(TO_DEVICE),
            }
        }
        _ => None,
    }
}

/// Shardings on one device, memory kinds and layouts: result `i` is operand `i`. The others
/// have no result, and nothing to do.
///
/// Shapes: results are the first operands.
/// Errors: `Unimplemented` for a result of another shape, which takes several devices.
/// Source: JAX's lowerings of these targets; XLA's Shardy round trip for `xla.sdy.*`.
pub(super) const TARGETS: &[Entry] = &[
    same("InspectSharding", ShardingRule::Inspected),
    Entry { layout: LayoutRule::Stated, ..same("LayoutConstraint", ShardingRule::Moved) },
    same(MOVE_TO_DEVICE, ShardingRule::Moved),
    same(MOVE_TO_HOST, ShardingRule::Moved),
    same(PIN, ShardingRule::Whole),
    same(FULL_TO_SHARD, ShardingRule::Split),
    same(SHARD_TO_FULL, ShardingRule::Join),
    same(SHARDING, ShardingRule::Annotated),
    same(UNPIN, ShardingRule::Whole),
    same(PLACEMENT, ShardingRule::Moved),
    same("xla.sdy.FuncResultSharding", ShardingRule::Whole),
    same("xla.sdy.GlobalToLocalShape", ShardingRule::Whole),
    same("xla.sdy.LocalToGlobalShape", ShardingRule::Whole),
    same("xla.sdy.PropagationBarrier", ShardingRule::Whole),
    nothing("dce_sink"),
    nothing("xla.sdy.ShardingGroup"),
];

const fn same(mnemonic: &'static str, sharding: ShardingRule) -> Entry {
    Entry { sharding, ..Entry::target(mnemonic, infer_same, lower_same) }
}

const fn nothing(mnemonic: &'static str) -> Entry {
    Entry::target(mnemonic, infer_nothing, lower_nothing)
}

fn infer_same(site: &Site<'_>) -> Result<Vec<Shape>> {
    // Further operands of a single result are extents of a dynamic shape.
    let fits = site.declared.len() == 1 || site.declared.len() == site.operands.len();
    if !fits || site.operands.is_empty() {
        let (operands, results) = (site.operands.len(), site.declared.len());
        let what = format!("{}: {operands} operands, {results} results", site.name);
        return Err(Error::bad(what));
    }
    for (operand, declared) in site.operands.iter().zip(site.declared) {
        if let Some(result) = declared.shape().filter(|result| result != operand) {
            let what = format!("{operand} as {result}, which takes several devices");
            return Err(site.unimplemented(what));
        }
    }
    Ok(site.operands[..site.declared.len()].to_vec())
}

fn lower_same(site: &Site<'_>) -> Result<Lowered> {
    Ok(if site.results.len() == 1 { Lowered::View } else { Lowered::Forward })
}

fn infer_nothing(site: &Site<'_>) -> Result<Vec<Shape>> {
    match site.declared.len() {
        0 => Ok(Vec::new()),
        results => Err(Error::bad(format!("{}: {results} results instead of none", site.name))),
    }
}

fn lower_nothing(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Forward)
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn a_marker_leaves_its_operand_as_it_is() {
        let case = Case::new("Sharding").value(DType::U8, &[2], &[1_u8, 2]);
        let case = case.declares(DType::U8, &[2]);
        assert_eq!(case.eval::<u8>(find("Sharding").unwrap()), [1, 2]);
    }

    #[test]
    fn a_shard_of_another_shape_takes_several_devices() {
        let op = find("SPMDFullToShardShape").unwrap();
        let case = Case::new("SPMDFullToShardShape").operand(DType::U8, &[4]);
        let text = case.declares(DType::U8, &[2]).shapes(op);
        let expected = "SPMDFullToShardShape: u8[4] as u8[2], which takes several devices";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_sink_has_no_result() {
        let case = Case::new("dce_sink").operand(DType::U8, &[4]);
        assert_eq!(case.run(find("dce_sink").unwrap()).unwrap(), Vec::<Vec<u8>>::new());
    }
}
