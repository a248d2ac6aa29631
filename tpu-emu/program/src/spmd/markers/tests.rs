//! Markers inside of code that runs per device.
use crate::compile::Passes;
use crate::differential::run;
use crate::import::load;
use crate::interpret::region::make_body;
use crate::plan::StorageForm;
use crate::sharding::groups::Devices;
use std::collections::BTreeMap;
use tpu_base::tensor::Shape;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;

#[test]
fn code_per_device_inside_of_code_per_device_has_parts_of_each_part() {
    let text = r#"module @nested attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<4x8xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> (tensor<4x2xf32>, tensor<4x8xf32>) {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<4x8xf32>) -> tensor<2x8xf32>
    %2:2 = call @shmap_body(%1) : (tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<2x8xf32>)
    %3 = stablehlo.custom_call @Sharding(%2#0) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<2x2xf32>) -> tensor<4x2xf32>
    %5 = stablehlo.custom_call @Sharding(%2#1) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"} : (tensor<2x8xf32>) -> tensor<4x8xf32>
    return %4, %6 : tensor<4x2xf32>, tensor<4x8xf32>
  }
  func.func private @shmap_body(%a: tensor<2x8xf32>) -> (tensor<2x2xf32>, tensor<2x8xf32>) {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<2x8xf32>) -> tensor<2x2xf32>
    %2 = call @shmap_body_0(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = stablehlo.add %1, %2 : tensor<2x2xf32>
    %6 = stablehlo.custom_call @Sharding(%5) {mhlo.sharding = "{manual}"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %7 = stablehlo.custom_call @SPMDShardToFullShape(%6) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"} : (tensor<2x2xf32>) -> tensor<2x8xf32>
    return %4, %7 : tensor<2x2xf32>, tensor<2x8xf32>
  }
  func.func private @shmap_body_0(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}"#;
    let module = tpu_stablehlo::text::parse(text).unwrap();
    let (registry, none) = (Registry::default(), BTreeMap::new());
    let devices = Devices { count: 8, replicas: false, only: None };
    let given = (devices, &none);
    let loaded = load(&module, Numerics::Ieee, &registry, make_body, given, Passes::ALL).unwrap();
    let mut graph = loaded.graph;
    let bytes: Vec<usize> = loaded.results.iter().map(Shape::bytes).collect();
    let plan = crate::compile::plan(&mut graph, StorageForm::Unpacked(&[]), Passes::ALL);
    let numbers: Vec<f32> = (0_u8..32).map(f32::from).collect();
    let input = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let made = run(&plan, &[input], &bytes, &[None]);
    let floats = |bytes: &Vec<u8>| -> Vec<f32> {
        bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
    };
    let sum = |row: usize, column: usize| (0..4).map(|at| numbers[row * 8 + at * 2 + column]).sum();
    let sums: Vec<f32> = (0..8).map(|at| sum(at / 2, at % 2)).collect();
    assert_eq!(floats(&made[0]), sums);
    let all: Vec<f32> = (0..32).map(|at| numbers[at] + sums[at / 8 * 2 + at % 2]).collect();
    assert_eq!(floats(&made[1]), all);
}
