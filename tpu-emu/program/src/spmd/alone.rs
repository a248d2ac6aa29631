//! Programs over replicas whose devices have nothing to do with one another.
use crate::sharding::groups::communicates;
use tpu_ops::{DeviceDependence, Entry, Operator, ShardingRule, Structural};
use tpu_stablehlo::Module;
use tpu_stablehlo::ir::{Operation, Region};

/// Whether each replica of a program computes by itself: then the program of all is that of one
/// device, and any of them may run without the others.
pub fn is_alone(module: &Module) -> bool {
    !module.functions.iter().any(|function| is_part(&function.body))
}

fn is_part(region: &Region) -> bool {
    let mut operations = region.blocks.iter().flat_map(|block| &block.operations);
    operations.any(|one| asks_for_others(one) || one.regions.iter().any(is_part))
}

/// Whether an operation makes a device's run part of a run over all: it exchanges values, asks
/// which of the devices it is, or talks to a client that knows the run as one.
fn asks_for_others(operation: &Operation) -> bool {
    if communicates(operation) {
        return true;
    }
    match Operator::of(operation) {
        Operator::Structural(structural) => structural == Structural::ManualComputation,
        Operator::Row(Entry { sharding: ShardingRule::Inspected, .. }) => true,
        Operator::Row(entry) => match entry.devices {
            DeviceDependence::Collective(_)
            | DeviceDependence::ReplicaId
            | DeviceDependence::PartitionId
            | DeviceDependence::HostTransfer => true,
            DeviceDependence::Alike | DeviceDependence::Random => false,
        },
        Operator::Registered | Operator::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(body: &str) -> bool {
        let text = format!(
            "module {{ func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{ {body} return %x : tensor<2xf32> }} }}"
        );
        is_alone(&tpu_stablehlo::text::parse(&text).unwrap())
    }

    #[test]
    fn arithmetic_is_alone_and_what_asks_for_the_others_is_not() {
        assert!(alone("%0 = stablehlo.add %x, %x : tensor<2xf32>"));
        assert!(!alone("%0 = stablehlo.replica_id : tensor<ui32>"));
        assert!(!alone(
            "%0 = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = \
             dense<0> : tensor<1x1xi64>}> : (tensor<2xf32>) -> tensor<2xf32>"
        ));
        assert!(!alone(
            "%0 = stablehlo.custom_call @InspectSharding(%x) : (tensor<2xf32>) -> tensor<2xf32>"
        ));
        assert!(alone("%0 = stablehlo.custom_call @foo(%x) : (tensor<2xf32>) -> tensor<2xf32>"));
    }

    #[test]
    fn what_is_inside_of_a_branch_counts() {
        let inside = |name: &str| {
            alone(&format!(
                "%p = stablehlo.constant dense<true> : tensor<i1>
                 %0 = \"stablehlo.if\"(%p) ({{
                    %1 = stablehlo.{name} : tensor<ui32>
                    stablehlo.return %1 : tensor<ui32>
                 }}, {{
                    %1 = stablehlo.constant dense<1> : tensor<ui32>
                    stablehlo.return %1 : tensor<ui32>
                 }}) : (tensor<i1>) -> tensor<ui32>"
            ))
        };
        assert!(!inside("replica_id"));
        assert!(inside("constant dense<1>"));
    }
}
