//! What a program puts in host memory, as copies of its own.
//!
//! A run leaves such a value where it is. What the program would need on a chip is planned with
//! calls that nobody answers: each makes a copy in the other memory.
use tpu_ops::CUSTOM_CALL;
use tpu_ops::custom::{TO_HOST, placement_call};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Attribute, Attributes, Operation, Region};

/// The program with a call for each value that it puts in another memory; `None` where it puts
/// none in host memory.
pub fn placed_apart(module: &Module) -> Option<Module> {
    let regions = module.functions.iter().map(|function| &function.body);
    regions.into_iter().any(places_on_host).then(|| {
        let mut made = module.clone();
        made.functions.iter_mut().for_each(|function| write_calls(&mut function.body));
        made
    })
}

fn call_of(operation: &Operation) -> Option<&'static str> {
    let one = operation.name == CUSTOM_CALL && operation.operands.len() == 1;
    placement_call(&operation.attributes).filter(|_| one)
}

fn places_on_host(region: &Region) -> bool {
    let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
    operations.any(|operation| {
        call_of(operation) == Some(TO_HOST) || operation.regions.iter().any(places_on_host)
    })
}

fn write_calls(region: &mut Region) {
    for operation in region.blocks.iter_mut().flat_map(|block| &mut block.operations) {
        if let Some(target) = call_of(operation) {
            operation.attributes = Attributes(vec![
                ("api_version".into(), Attribute::Word("API_VERSION_ORIGINAL".into())),
                ("call_target_name".into(), Attribute::string(target)),
                ("has_side_effect".into(), Attribute::Bool(false)),
            ]);
        }
        operation.regions.iter_mut().for_each(write_calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_ops::custom::TO_DEVICE;

    fn calls(place: &str) -> Option<Vec<String>> {
        let source = format!(
            r#"module {{
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = stablehlo.custom_call @annotate_device_placement(%x) {{has_side_effect = true, mhlo.frontend_attributes = {{_xla_buffer_placement = "{place}"}}}} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.custom_call @MoveToDevice(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.custom_call @other(%1) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }}
}}"#
        );
        let made = placed_apart(&tpu_stablehlo::text::parse(&source).unwrap())?;
        let operations = &made.functions[0].block().unwrap().operations;
        let target = |one: &Operation| one.attributes.text("call_target_name").map(str::to_owned);
        Some(operations.iter().filter_map(target).collect())
    }

    #[test]
    fn what_goes_to_the_host_and_back_is_copied_there() {
        for place in ["pinned_host", "unpinned_host"] {
            assert_eq!(calls(place).unwrap(), [TO_HOST, TO_DEVICE, "other"]);
        }
        assert_eq!(calls("device"), None);
    }
}
