//! A program with the bodies of its functions in the place of the calls.
use crate::ir::{
    Attribute, Attributes, Block, Function, Module, Name, Operation, Region, Type, Value,
};
use std::collections::{HashMap, HashSet};

/// Calls inside of calls that are followed.
const DEPTH: usize = 64;

impl Module {
    /// The program with the body of a function where the function was called, and without the
    /// functions that nobody calls then. A call that says more than whom it calls stays.
    ///
    /// `None` if there is no such call, if the program would have more than `most` operations,
    /// or if calls are nested too deep.
    pub fn with_calls_inlined(&self, most: usize) -> Option<Self> {
        Some(self.with_calls_inlined_together(most)?.0)
    }

    /// The program with bodies in the place of calls, as [`Self::with_calls_inlined`] gives it, and
    /// which values of the entry were made by one call that made several.
    pub fn with_calls_inlined_together(&self, most: usize) -> Option<(Self, Vec<Vec<Value>>)> {
        let mut together = Vec::new();
        let named = self.functions.iter().map(|function| (&*function.name, function));
        let mut inliner = Inliner {
            functions: named.collect(),
            left: most,
            inlined: false,
            values: Vec::new(),
            together: Vec::new(),
        };
        let entry = self.entry()?;
        let public = |function: &&Function| function.public || std::ptr::eq(*function, entry);
        let mut functions: Vec<Function> = Vec::new();
        for function in self.functions.iter().filter(public) {
            inliner.values.clone_from(&function.values);
            let body = inliner.region(&function.body, &mut HashMap::new(), 0)?;
            let values = std::mem::take(&mut inliner.values);
            let given = std::mem::take(&mut inliner.together);
            if std::ptr::eq(function, entry) {
                together = given;
            }
            functions.push(Function { values, body, ..function.clone() });
        }
        if !inliner.inlined {
            return None;
        }
        // What is still named is kept as it is, with what it names itself.
        let mut kept: HashSet<&str> = self.functions.iter().filter(public).map(name).collect();
        let mut at = 0;
        while let Some(function) = functions.get(at) {
            let mut named = HashSet::new();
            names_in(&function.body, &mut named);
            let more = |function: &&Function| {
                named.contains(&*function.name) && !kept.contains(&*function.name)
            };
            let more: Vec<&Function> = self.functions.iter().filter(more).collect();
            kept.extend(more.iter().copied().map(name));
            functions.extend(more.into_iter().cloned());
            at += 1;
        }
        Some((Self { functions, ..self.clone() }, together))
    }
}

fn name(function: &Function) -> &str {
    &function.name
}

struct Inliner<'m> {
    functions: HashMap<&'m str, &'m Function>,
    /// Operations that may still be written.
    left: usize,
    inlined: bool,
    /// The types of the values of the function that is written; those of bodies are added.
    values: Vec<Type>,
    /// What calls made that made several of the values that they gave.
    together: Vec<Vec<Value>>,
}

/// What stands for a value of the function that is read.
type Renamed = HashMap<Value, Value>;

impl<'m> Inliner<'m> {
    /// `None` where something is too large.
    fn region(&mut self, region: &Region, names: &mut Renamed, depth: usize) -> Option<Region> {
        let blocks = region.blocks.iter().map(|block| self.block(block, names, depth));
        Some(Region { blocks: blocks.collect::<Option<_>>()? })
    }

    fn block(&mut self, block: &Block, names: &mut Renamed, depth: usize) -> Option<Block> {
        let mut operations = Vec::with_capacity(block.operations.len());
        for operation in &block.operations {
            self.operation(operation, names, depth, &mut operations)?;
        }
        let arguments = block.arguments.iter().map(|value| renamed(names, *value)).collect();
        Some(Block { arguments, operations })
    }

    fn operation(
        &mut self,
        operation: &Operation,
        names: &mut Renamed,
        depth: usize,
        into: &mut Vec<Operation>,
    ) -> Option<()> {
        let operands = operation.operands.iter().map(|value| renamed(names, *value)).collect();
        if let Some(callee) = self.callee(operation) {
            let returned = self.body(callee, operands, depth, into)?;
            self.inlined = true;
            names.extend(operation.results.iter().copied().zip(returned));
            return Some(());
        }
        self.left = self.left.checked_sub(1)?;
        let regions = operation.regions.iter().map(|region| self.region(region, names, depth));
        let regions = regions.collect::<Option<_>>()?;
        let results = operation.results.iter().map(|value| renamed(names, *value)).collect();
        into.push(Operation { operands, results, regions, ..operation.clone() });
        Some(())
    }

    /// The function that takes the place of an operation: of one block, with as many values.
    fn callee(&self, operation: &Operation) -> Option<&'m Function> {
        let attributes = &operation.attributes;
        let plain = operation.name == "func.call" && attributes.0.iter().all(says_no_more);
        let callee = self.functions.get(attributes.text("callee").filter(|_| plain)?).copied()?;
        let block = callee.block()?;
        let returned = block.operations.last()?;
        let fits = block.arguments.len() == operation.operands.len()
            && returned.operands.len() == operation.results.len();
        fits.then_some(callee)
    }

    /// Writes a function's operations, with values of their own, and gives what it returns.
    fn body(
        &mut self,
        callee: &Function,
        operands: Vec<Value>,
        depth: usize,
        into: &mut Vec<Operation>,
    ) -> Option<Vec<Value>> {
        let block = callee.block().filter(|_| depth < DEPTH)?;
        let first = u32::try_from(self.values.len()).ok()?;
        let count = u32::try_from(callee.values.len()).ok()?;
        first.checked_add(count)?;
        self.left = self.left.checked_sub(1)?;
        self.values.extend_from_slice(&callee.values);
        let mut names: Renamed = (0..count).map(|at| (Value(at), Value(first + at))).collect();
        names.extend(block.arguments.iter().copied().zip(operands));
        let mut operations = self.block(block, &mut names, depth + 1)?.operations;
        let returned = operations.pop()?.operands;
        into.extend(operations);
        let own = returned.iter().copied().filter(|value| value.0 >= first);
        let own: Vec<Value> = own.collect();
        if own.len() > 1 {
            self.together.push(own);
        }
        Some(returned)
    }
}

/// Whether an attribute of a call is the function's name, or when to inline it.
fn says_no_more((name, value): &(Name, Attribute)) -> bool {
    match (&**name, value) {
        ("callee", _) => true,
        ("mhlo.frontend_attributes", Attribute::Dictionary(inner)) => {
            inner.0.iter().all(|(name, _)| &**name == "inlineable")
        }
        _ => false,
    }
}

fn renamed(names: &Renamed, value: Value) -> Value {
    names.get(&value).copied().unwrap_or(value)
}

/// The functions that are named in a region.
fn names_in<'r>(region: &'r Region, names: &mut HashSet<&'r str>) {
    for operation in region.blocks.iter().flat_map(|block| &block.operations) {
        names_of(&operation.attributes, names);
        operation.regions.iter().for_each(|region| names_in(region, names));
    }
}

fn names_of<'r>(attributes: &'r Attributes, names: &mut HashSet<&'r str>) {
    let mut left: Vec<&Attribute> = attributes.0.iter().map(|(_, value)| value).collect();
    while let Some(attribute) = left.pop() {
        match attribute {
            Attribute::Symbol(name) => drop(names.insert(name)),
            Attribute::Array(items) => left.extend(items),
            Attribute::Dictionary(inner) => left.extend(inner.0.iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::parse;

    /// Two calls of a function that calls another one, one of them inside of a loop's body.
    const SOURCE: &str = r#"module {
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = call @twice(%x) : (tensor<f32>) -> tensor<f32>
    %1 = stablehlo.while(%i = %0) : tensor<f32>
    cond {
      %2 = stablehlo.compare LT, %i, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %3 = func.call @twice(%i) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }
    return %1 : tensor<f32>
  }
  func.func private @twice(%y: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %y, %y : tensor<f32>
    %1 = call @turned(%0) : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @turned(%y: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.negate %y : tensor<f32>
    return %0 : tensor<f32>
  }
}"#;

    #[test]
    fn bodies_stand_where_functions_were_called() {
        let inlined = parse(SOURCE).unwrap().with_calls_inlined(100).unwrap();

        let text = inlined.to_mlir(false);
        assert!(!text.contains("call"), "{text}");
        assert_eq!(inlined.functions.len(), 1, "{text}");
        let counts = ["stablehlo.add", "stablehlo.negate"].map(|name| text.matches(name).count());
        assert_eq!(counts, [2, 2], "{text}");
        // Values are defined once and before they are used, which the reader checks.
        assert!(parse(&text).is_ok(), "{text}");
    }

    #[test]
    fn a_call_that_says_when_it_is_inlined_is_inlined() {
        let when = "call @turned(%0) {mhlo.frontend_attributes = {inlineable = \"xla_late\"}}";
        let source = SOURCE.replacen("call @turned(%0)", when, 1);

        let inlined = parse(&source).unwrap().with_calls_inlined(100).unwrap();

        assert!(!inlined.to_mlir(false).contains("call"));
    }

    #[test]
    fn a_program_that_would_grow_beyond_bounds_keeps_its_calls() {
        assert_eq!(parse(SOURCE).unwrap().with_calls_inlined(8), None);
    }

    #[test]
    fn a_program_without_calls_is_left_alone() {
        let source = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }";
        assert_eq!(parse(source).unwrap().with_calls_inlined(100), None);
    }

    #[test]
    fn a_call_that_says_more_stays_with_its_function() {
        let source = SOURCE.replacen(
            "call @turned(%0)",
            "call @turned(%0) {mhlo.frontend_attributes = {_xla_compute_type = \"host\"}}",
            1,
        );

        let inlined = parse(&source).unwrap().with_calls_inlined(100).unwrap();

        let names: Vec<&str> = inlined.functions.iter().map(|function| &*function.name).collect();
        assert_eq!(names, ["main", "turned"]);
        assert_eq!(inlined.to_mlir(false).matches("_xla_compute_type").count(), 2);
    }
}
