//! A program without the Shardy dialect, for tools that read StableHLO alone.
//!
//! A sharding constraint says nothing about values, so its operand stands for its result. A
//! computation over one device's part becomes the pair of custom calls that XLA puts around it.
use crate::ir::{
    Attribute, Attributes, Block, Function, LocationId, Module, Operation, Region, Type, Value,
};
use std::collections::HashMap;

/// The result is the operand, whatever the layout over devices.
const SAME_VALUE: [&str; 4] =
    ["sdy.data_flow_edge", "sdy.propagation_barrier", "sdy.reshard", "sdy.sharding_constraint"];

/// A region with a value for each operand, that runs once.
const INLINED: [&str; 2] = ["sdy.manual_computation", "sdy.named_computation"];

impl Module {
    /// The program without operations, meshes and attributes of Shardy; `None` if it has none.
    pub fn without_shardy(&self) -> Option<Self> {
        let mut plain = self.clone();
        let mut changed = !plain.meshes.is_empty();
        plain.meshes.clear();
        changed |= forget(&mut plain.attributes);
        for function in &mut plain.functions {
            changed |= rewrite(function);
        }
        changed.then_some(plain)
    }
}

fn rewrite(function: &mut Function) -> bool {
    let mut changed = forget(&mut function.attributes);
    for attributes in &mut function.arguments {
        changed |= forget(attributes);
    }
    for (_, attributes) in &mut function.results {
        changed |= forget(attributes);
    }
    let body = std::mem::take(&mut function.body);
    let mut rewriter =
        Rewriter { values: &mut function.values, stands_for: HashMap::new(), changed };
    function.body = rewriter.region(body);
    rewriter.changed
}

/// Removes what belongs to Shardy. Returns whether there was anything.
fn forget(attributes: &mut Attributes) -> bool {
    let before = attributes.0.len();
    attributes.0.retain(|(name, _)| !name.starts_with("sdy."));
    attributes.0.len() != before
}

struct Rewriter<'f> {
    /// The types of the function's values; new ones are added.
    values: &'f mut Vec<Type>,
    /// What is written in the place of values that are gone.
    stands_for: HashMap<Value, Value>,
    changed: bool,
}

impl Rewriter<'_> {
    fn region(&mut self, region: Region) -> Region {
        Region { blocks: region.blocks.into_iter().map(|block| self.block(block)).collect() }
    }

    fn block(&mut self, block: Block) -> Block {
        let mut operations = Vec::with_capacity(block.operations.len());
        for operation in block.operations {
            self.operation(operation, &mut operations);
        }
        Block { operations, ..block }
    }

    fn operation(&mut self, mut operation: Operation, into: &mut Vec<Operation>) {
        for operand in &mut operation.operands {
            *operand = self.resolve(*operand);
        }
        let name = &*operation.name;
        if SAME_VALUE.contains(&name) && operation.operands.len() == operation.results.len() {
            self.changed = true;
            self.stands_for.extend(operation.results.into_iter().zip(operation.operands));
        } else if name == "sdy.sharding_group" && operation.results.is_empty() {
            self.changed = true;
        } else if INLINED.contains(&name) && self.can_be_inlined(&operation) {
            self.changed = true;
            self.inline(operation, into);
        } else {
            self.changed |= forget(&mut operation.attributes);
            if operation.name == "sdy.constant" {
                operation.name = "stablehlo.constant".into();
                self.changed = true;
            }
            let regions = std::mem::take(&mut operation.regions);
            operation.regions = regions.into_iter().map(|region| self.region(region)).collect();
            into.push(operation);
        }
    }

    fn resolve(&self, value: Value) -> Value {
        // What a value stands for was resolved when it was noted.
        self.stands_for.get(&value).copied().unwrap_or(value)
    }

    fn can_be_inlined(&self, operation: &Operation) -> bool {
        let [Region { blocks }] = &operation.regions[..] else { return false };
        let [block] = &blocks[..] else { return false };
        let returned = block.operations.last().filter(|last| last.name == "sdy.return");
        block.arguments.len() == operation.operands.len()
            && returned.is_some_and(|last| last.operands.len() == operation.results.len())
    }

    /// Writes the operations of the region in the place of the operation around it.
    fn inline(&mut self, operation: Operation, into: &mut Vec<Operation>) {
        let Operation { operands, results, regions, location, .. } = operation;
        let blocks = regions.into_iter().flat_map(|region| region.blocks);
        for block in blocks {
            for (&outside, &inside) in operands.iter().zip(&block.arguments) {
                let part = self.converted("SPMDFullToShardShape", outside, inside, location, into);
                self.stands_for.insert(inside, part);
            }
            let mut body = self.block(block).operations;
            let returned = body.pop().map(|last| last.operands).unwrap_or_default();
            into.extend(body);
            for (&inside, &result) in returned.iter().zip(&results) {
                let whole = self.converted("SPMDShardToFullShape", inside, result, location, into);
                self.stands_for.insert(result, whole);
            }
        }
    }

    /// `value` in the type of `like`: itself, or the result of XLA's custom call.
    fn converted(
        &mut self,
        target: &str,
        value: Value,
        like: Value,
        location: LocationId,
        into: &mut Vec<Operation>,
    ) -> Value {
        let kind = |values: &[Type], value: Value| values.get(value.0 as usize).cloned();
        let (Some(from), Some(to)) = (kind(self.values, value), kind(self.values, like)) else {
            return value;
        };
        let Ok(number) = u32::try_from(self.values.len()) else { return value };
        if from == to {
            return value;
        }
        self.values.push(to);
        let result = Value(number);
        let mut attributes = Attributes(vec![
            ("api_version".into(), Attribute::Word("API_VERSION_ORIGINAL".into())),
            ("call_target_name".into(), Attribute::string(target)),
        ]);
        if target == "SPMDFullToShardShape" {
            attributes.set("mhlo.sharding", Attribute::string("{manual}"));
        }
        into.push(Operation {
            name: "stablehlo.custom_call".into(),
            operands: vec![value],
            results: vec![result],
            attributes,
            regions: Vec::new(),
            location,
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use crate::text::parse;

    fn plain(source: &str) -> String {
        parse(source).unwrap().without_shardy().unwrap().to_mlir(false)
    }

    #[test]
    fn a_program_without_shardy_is_left_alone() {
        let source = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }";
        assert_eq!(parse(source).unwrap().without_shardy(), None);
    }

    #[test]
    fn a_constraint_is_its_operand() {
        let text = plain(
            r#"module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
      -> tensor<8xf32> {
    %0 = stablehlo.negate %x : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<8xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{}]> : tensor<8xf32>
    %3 = stablehlo.abs %2 : tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}"#,
        );
        assert!(!text.contains("sdy"), "{text}");
        assert!(text.contains("= stablehlo.abs %1"), "{text}");
    }

    #[test]
    fn a_manual_computation_is_inlined_between_two_calls() {
        let text = plain(
            r#"module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>]
        out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<4xf32>) {
      %1 = stablehlo.negate %part : tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}"#,
        );
        assert!(!text.contains("sdy"), "{text}");
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in {text}"));
        assert!(at("SPMDFullToShardShape") < at("stablehlo.negate"), "{text}");
        assert!(at("stablehlo.negate") < at("SPMDShardToFullShape"), "{text}");
        assert!(parse(&text).is_ok(), "{text}");
    }
}
