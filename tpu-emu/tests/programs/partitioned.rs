//! What each device of a program over several needs, is charged and is told.
use super::machine::machine;
use super::sharded::compile;

/// The product of a matrix that is split by rows with itself: each device has a summand of all of
/// it.
const GRADIENT: &str = "func.func @main(%x: tensor<64x1024xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@line, [{}, {}]>}) {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<1024x1024xf32>
    return %0 : tensor<1024x1024xf32>
  }";

#[test]
fn a_device_holds_its_summand_of_what_all_sum_up_in_the_place_of_the_sum() {
    let program = compile(&machine(), GRADIENT).unwrap();
    let whole = 1024 * 1024 * 4;
    assert_eq!(program.memory.outputs.0, whole);
    assert!(program.memory.temporaries.0 < 4096);
}

/// Gradients of two layers, as JAX writes them: products that are moved, then taken away.
const STEP: &str = "func.func @main(%x: tensor<64x512xf32> {sdy.sharding = #sdy.sharding<@line, [{\"i\"}, {}]>}, %u: tensor<512x512xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<512x512xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
    %a = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %b = stablehlo.transpose %a, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %y = stablehlo.add %x, %x : tensor<64x512xf32>
    %c = stablehlo.dot_general %y, %x, contracting_dims = [0] x [0] : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %d = stablehlo.transpose %c, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %0 = stablehlo.subtract %u, %b : tensor<512x512xf32>
    %1 = stablehlo.subtract %v, %d : tensor<512x512xf32>
    return %0, %1 : tensor<512x512xf32>, tensor<512x512xf32>
  }";

#[test]
fn sums_wait_for_others_past_what_moves_them() {
    let program = compile(&machine(), STEP).unwrap();
    let gradients = 2 * 512 * 512 * 4;
    assert_eq!(program.memory.alias.0, gradients);
    // Both gradients at once, as summands and as sums, and one that is moved.
    let most = 2 * gradients + gradients / 2 + 4096;
    assert!((2 * gradients..most).contains(&program.memory.temporaries.0));
    let text = program.listing().unwrap().to_mlir(true);
    assert_eq!(text.matches("stablehlo.all_reduce").count(), 1, "{text}");
}

#[test]
fn a_device_does_its_part_of_a_product() {
    let program = compile(&machine(), GRADIENT).unwrap();
    let all = 2.0 * 64.0 * 1024.0 * 1024.0;
    assert!((program.cost.flops - all / 8.0).abs() < 1.0, "{}", program.cost.flops);
}

#[test]
fn the_text_has_the_shapes_of_one_device_and_what_devices_exchange() {
    let text = compile(&machine(), GRADIENT).unwrap().listing().unwrap().to_mlir(true);
    for part in ["tensor<8x1024xf32>", "stablehlo.all_reduce", "tensor<1x8xi64>"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("64x1024"), "{text}");
}

#[test]
fn a_device_that_needs_more_than_its_memory_is_refused_when_the_program_is_compiled() {
    let machine = machine();
    let limit =
        machine.memory_stats(tpu_emu::Memory { device: 0, kind: tpu_emu::MemoryKind::Device });
    let limit = limit.bytes_limit.0;
    // Sorting along the axis that is split needs all of it; an eighth of it would fit.
    let size = (limit / 4 + 4096) / 4096 * 4096;
    let main = |axis: usize| {
        format!(
            "func.func @main(%x: tensor<8x{0}xf32> {{sdy.sharding = #sdy.sharding<@line, [{{\"i\"}}, {{}}]>}}) -> (tensor<8xf32> {{sdy.sharding = #sdy.sharding<@line, [{{}}]>}}) {{
    %0 = \"stablehlo.sort\"(%x) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
    }}) {{dimension = {axis} : i64}} : (tensor<8x{0}xf32>) -> tensor<8x{0}xf32>
    %1 = stablehlo.slice %0 [0:8, 0:1] : (tensor<8x{0}xf32>) -> tensor<8x1xf32>
    %2 = stablehlo.reshape %1 : (tensor<8x1xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }}",
            size / 8
        )
    };
    assert!(compile(&machine, &main(1)).is_ok());
    let error = compile(&machine, &main(0)).unwrap_err().to_string();
    assert!(error.contains("E1000: CompileTimeHbmOom"), "{error}");
}
