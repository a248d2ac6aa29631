use super::*;
use tpu_ops::custom_call::{Call, CallSite, Partitioner};

/// Negates parts of rows.
#[derive(Debug)]
struct Rows;

const ROWS: &str = "{devices=[4,1,2]<=[8] last_tile_dim_replicate}";

impl Partitioner for Rows {
    fn infer(&self, call: &SplitCall) -> Result<Vec<Arc<str>>> {
        Ok(vec![Arc::clone(&call.operands[0].sharding)])
    }

    fn partition(&self, call: &SplitCall) -> Result<DeviceCode> {
        if &*call.config == b"wrong" {
            return Err(Error::bad("the client's words"));
        }
        assert_eq!(&*call.operands[0].sharding, ROWS);
        assert_eq!(&*call.results[0].sharding, ROWS);
        let module = "func.func public @main(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
            %0 = call @inner(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32>
            return %0 : tensor<2x4xf32>
          }
          func.func private @inner(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
            %0 = stablehlo.negate %a : tensor<2x4xf32>
            return %0 : tensor<2x4xf32>
          }";
        let module = module.as_bytes().to_vec();
        Ok(DeviceCode { module, operands: vec![ROWS.into()], results: vec![ROWS.into()] })
    }
}

#[derive(Debug)]
struct Client;

impl Linker for Client {
    fn link(&self, _: CallSite) -> Result<Arc<dyn Call>> {
        Err(Error::bad("nobody calls"))
    }

    fn partitioner(&self, target: &str) -> Option<Arc<dyn Partitioner>> {
        (target == "mine").then(|| -> Arc<dyn Partitioner> { Arc::new(Rows) })
    }
}

fn rewritten(target: &str, config: &str) -> Result<Option<String>> {
    let source = format!(
        "module {{
  sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>
  func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}) -> tensor<8x4xf32> {{
    %0 = stablehlo.custom_call @{target}(%a) {{backend_config = \"{config}\"}} : (tensor<8x4xf32>) -> tensor<8x4xf32> loc(\"step.py\":7:1)
    return %0 : tensor<8x4xf32>
  }}
}}"
    );
    let module = tpu_stablehlo::text::parse(&source).unwrap();
    Ok(partitioned(&module, &Client, (8, &[]))?.map(|made| made.to_mlir(false)))
}

#[test]
fn the_code_of_a_device_stands_in_the_place_of_the_call() {
    let text = rewritten("mine", "").unwrap().unwrap();
    assert!(!text.contains("@mine"), "{text}");
    let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in {text}"));
    assert!(at("SPMDFullToShardShape") < at("callee = @shmap_body.main.split_1"), "{text}");
    assert!(at("callee = @shmap_body.main.split_1") < at("SPMDShardToFullShape"), "{text}");
    assert!(text.contains("callee = @inner.split_1"), "{text}");
    assert!(tpu_stablehlo::text::parse(&text).is_ok(), "{text}");
}

#[test]
fn errors_of_the_client_say_where() {
    let error = rewritten("mine", "wrong").unwrap_err().to_string();
    assert_eq!(error, "step.py:7:1: mine: the client's words");
}

#[test]
fn calls_of_others_stay_as_they_are() {
    assert_eq!(rewritten("theirs", "").unwrap(), None);
}
