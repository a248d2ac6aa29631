//! A program without futures: what `stablehlo.async_start` begins is done where it begins.
//!
//! Values do not depend on when they are made. A future that is given to anything but
//! `stablehlo.async_done` stays. Calls of `control_dep`, with which JAX says what is to be
//! scheduled before what, are left out: the order of the program is one that they allow.
use crate::ir::{Block, Function, Module, Operation, Region, Value};
use std::collections::HashMap;

impl Module {
    /// The program with the bodies of asynchronous operations in their place and without
    /// control dependencies; `None` where there is nothing that could be replaced.
    pub fn without_futures(&self) -> Option<Self> {
        let replaced = |function: &Function| {
            let mut futures = Futures::default();
            futures.find(&function.body);
            (futures.has_dependencies || !futures.values.is_empty()).then(|| {
                let mut function = function.clone();
                let body = std::mem::take(&mut function.body);
                function.body = futures.region(body);
                function
            })
        };
        let functions: Vec<Option<Function>> = self.functions.iter().map(replaced).collect();
        if functions.iter().all(Option::is_none) {
            return None;
        }
        let mut module = self.clone();
        for (function, replaced) in module.functions.iter_mut().zip(functions) {
            replaced.into_iter().for_each(|replaced| *function = replaced);
        }
        Some(module)
    }
}

/// The futures of a function that are waited for and used in no other way.
#[derive(Default)]
struct Futures {
    /// What each one will give.
    values: HashMap<Value, Vec<Value>>,
    /// What is written in the place of values that are gone.
    stands_for: HashMap<Value, Value>,
    /// Whether the function orders values that do not depend on each other.
    has_dependencies: bool,
}

impl Futures {
    /// Notes every start whose future is only waited for.
    fn find(&mut self, region: &Region) {
        let (mut regions, mut others) = (vec![region], Vec::new());
        while let Some(region) = regions.pop() {
            for operation in region.blocks.iter().flat_map(|block| &block.operations) {
                regions.extend(&operation.regions);
                if let Some((future, gives)) = started(operation) {
                    self.values.insert(future, gives.to_vec());
                }
                if is_dependency(operation) {
                    self.has_dependencies = true;
                } else {
                    others.push(operation);
                }
            }
        }
        // Most programs have no futures.
        if self.values.is_empty() {
            return;
        }
        for operation in others {
            for operand in &operation.operands {
                let gives = self.values.get(operand).map(Vec::len);
                let waits =
                    operation.name == "stablehlo.async_done" && operation.operands.len() == 1;
                if !waits || gives != Some(operation.results.len()) {
                    self.values.remove(operand);
                }
            }
        }
    }

    fn region(&mut self, region: Region) -> Region {
        Region { blocks: region.blocks.into_iter().map(|block| self.block(block)).collect() }
    }

    fn block(&mut self, block: Block) -> Block {
        let mut operations = Vec::with_capacity(block.operations.len());
        for operation in block.operations {
            if !is_dependency(&operation) {
                self.operation(operation, &mut operations);
            }
        }
        Block { operations, ..block }
    }

    fn operation(&mut self, mut operation: Operation, into: &mut Vec<Operation>) {
        for operand in &mut operation.operands {
            *operand = self.resolve(*operand);
        }
        let future = started(&operation).map(|(future, _)| future);
        if let Some(future) = future.filter(|future| self.values.contains_key(future)) {
            for block in operation.regions.into_iter().flat_map(|region| region.blocks) {
                let given = block.arguments.iter().copied().zip(operation.operands.iter().copied());
                self.stands_for.extend(given);
                let mut body = self.block(block).operations;
                let gives = body.pop().map(|last| last.operands).unwrap_or_default();
                into.extend(body);
                self.values.insert(future, gives);
            }
        } else if let Some(values) = operation.operands.first().and_then(|of| self.values.get(of)) {
            self.stands_for.extend(operation.results.into_iter().zip(values.iter().copied()));
        } else {
            let regions = std::mem::take(&mut operation.regions);
            operation.regions = regions.into_iter().map(|region| self.region(region)).collect();
            into.push(operation);
        }
    }

    fn resolve(&self, value: Value) -> Value {
        // What a value stands for was resolved when it was noted.
        self.stands_for.get(&value).copied().unwrap_or(value)
    }
}

/// Whether this says that one value is to be made before another one, and nothing else.
fn is_dependency(operation: &Operation) -> bool {
    operation.name == "stablehlo.custom_call"
        && operation.attributes.text("call_target_name") == Some("control_dep")
        && operation.operands.len() == 2
        && operation.results.is_empty()
}

/// The future of an `async_start` of one block, and what its body returns.
fn started(operation: &Operation) -> Option<(Value, &[Value])> {
    let (&[future], [Region { blocks }]) = (&operation.results[..], &operation.regions[..]) else {
        return None;
    };
    let [block] = &blocks[..] else { return None };
    let returned = &block.operations.last()?.operands;
    let fits = operation.name == "stablehlo.async_start"
        && block.arguments.len() == operation.operands.len();
    fits.then_some((future, returned))
}

#[cfg(test)]
mod tests {
    use crate::text::parse;

    fn program(last: &str) -> String {
        format!(
            r#"module {{
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = "stablehlo.async_start"(%0) ({{
    ^bb0(%y: tensor<4xf32>):
      %2 = "stablehlo.all_reduce"(%y) ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %3 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %3 : tensor<f32>
      }}) {{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %2 : tensor<4xf32>
    }}) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
    %4 = stablehlo.sine %x : tensor<4xf32>
    {last}
    %6 = stablehlo.add %4, %5 : tensor<4xf32>
    return %6 : tensor<4xf32>
  }}
}}"#
        )
    }

    #[test]
    fn what_is_started_is_done_at_once() {
        let last = "%5 = \"stablehlo.async_done\"(%1) \
            : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>";

        let plain = parse(&program(last)).unwrap().without_futures().unwrap().to_mlir(false);

        assert!(!plain.contains("async") && !plain.contains("future"), "{plain}");
        let at = |word: &str| plain.find(word).unwrap_or_else(|| panic!("{word} in {plain}"));
        assert!(at("stablehlo.negate") < at("stablehlo.all_reduce"), "{plain}");
        assert!(at("stablehlo.all_reduce") < at("stablehlo.sine"), "{plain}");
        assert!(parse(&plain).is_ok(), "{plain}");
    }

    #[test]
    fn what_is_scheduled_before_what_is_left_out() {
        let types = "(!stablehlo.future<tensor<4xf32>>, tensor<4xf32>) -> ()";
        let last = format!(
            "%5 = \"stablehlo.async_done\"(%1) \
            : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
            stablehlo.custom_call @control_dep(%1, %4) {{has_side_effect = true}} : {types}"
        );
        let plain = parse(&program(&last)).unwrap().without_futures().unwrap().to_mlir(false);
        assert!(!plain.contains("control_dep") && !plain.contains("future"), "{plain}");

        let ordered = |results: &str| {
            parse(&format!(
                "func.func public @main(%x: tensor<f32>) -> tensor<f32> {{
                  %0 = stablehlo.negate %x : tensor<f32>
                  {results}stablehlo.custom_call @control_dep(%x, %0) \
                    : (tensor<f32>, tensor<f32>) -> {}
                  return %0 : tensor<f32>
                }}",
                if results.is_empty() { "()" } else { "tensor<f32>" }
            ))
            .unwrap()
        };
        let plain = ordered("").without_futures().unwrap().to_mlir(false);
        assert!(plain.contains("negate") && !plain.contains("control_dep"), "{plain}");
        assert_eq!(ordered("%1 = ").without_futures(), None);
    }

    #[test]
    fn a_future_that_is_given_away_stays() {
        let last = "%5 = func.call @wait(%1) \
            : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>";
        let wait = "func.func private @wait(%f: !stablehlo.future<tensor<4xf32>>) \
            -> tensor<4xf32> {\n%r = \"stablehlo.async_done\"(%f) \
            : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>\nreturn %r : tensor<4xf32>\n}";
        let source = program(last).replacen("module {", &format!("module {{\n{wait}"), 1);

        assert_eq!(parse(&source).unwrap().without_futures(), None);
    }
}
