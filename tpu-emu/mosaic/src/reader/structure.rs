//! What is checked of a whole module: who calls whom, and how regions fit their operations.
use crate::ir::{
    Block, Element, Function, LocationId, Module, Op, Operation, Transform, Type, Value,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What is wrong with a module, and where. What is missing is told of one that has all its parts.
pub(super) fn check(module: &Module, is_whole: bool) -> Vec<(String, LocationId)> {
    let mut wrong = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (number, function) in module.functions.iter().enumerate() {
        if names.insert(&function.name, number).is_some() {
            wrong.push((format!("a second function {}", function.name), function.location));
        }
    }
    if is_whole && module.kernels().next().is_none() {
        wrong.push(("a module without a kernel".to_owned(), LocationId::UNKNOWN));
    }
    let mut calls = vec![Vec::new(); module.functions.len()];
    for (function, calls) in module.functions.iter().zip(&mut calls) {
        let mut checker = Checker { module, function, names: &names, calls, wrong: &mut wrong };
        checker.windows();
        checker.block(&function.body, &[Op::FuncReturn], &function.results, function.location);
    }
    for number in recursive(&calls) {
        let function = &module.functions[number];
        wrong.push((format!("function {} calls itself", function.name), function.location));
    }
    wrong
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    names: &'a HashMap<&'a str, usize>,
    calls: &'a mut Vec<usize>,
    wrong: &'a mut Vec<(String, LocationId)>,
}

/// Operations that end a block.
const TERMINATORS: &[Op] = &[Op::FuncReturn, Op::ScfYield, Op::ScfCondition, Op::TpuYield];

impl Checker<'_> {
    fn refuse(&mut self, location: LocationId, what: String) {
        self.wrong.push((what, location));
    }

    fn types(&self, values: &[Value]) -> Vec<Type> {
        values.iter().map(|value| self.function.type_of(*value).clone()).collect()
    }

    /// The index maps of a kernel.
    fn windows(&mut self) {
        let Some(kernel) = &self.function.kernel else { return };
        let rank = kernel.grid.as_ref().map_or(0, Vec::len);
        let given = rank.saturating_add(kernel.scalar_prefetch);
        for (number, window) in kernel.windows.iter().flatten().enumerate() {
            let Some(Transform::Function(name)) = &window.transform else { continue };
            let location = self.function.location;
            let Some(map) = self.names.get(&**name).map(|&at| &self.module.functions[at]) else {
                let what = format!("the index map {name} of window {number} is not here");
                self.refuse(location, what);
                continue;
            };
            let taken = self.function.body.arguments.get(..given).unwrap_or(&[]);
            let taken = self.types(taken);
            let gives = window.bounds.as_ref().map_or(map.results.len(), Vec::len);
            let takes = map.body.arguments.iter().map(|value| map.type_of(*value));
            let all = map.results.iter().all(|of| *of == Type::Scalar(Element::S32));
            if !takes.eq(taken.iter()) || map.results.len() != gives || !all {
                let what = "does not take the grid and the scalar operands and give an i32 a \
                            dimension of the block";
                self.refuse(
                    map.location,
                    format!("the index map {name} of window {number} {what}"),
                );
            }
        }
    }

    /// A block that ends with one of these, which hands on values of these types.
    fn block(&mut self, block: &Block, ends: &[Op], gives: &[Type], around: LocationId) {
        for operation in &block.operations {
            self.operation(operation);
        }
        let last = block.operations.last().filter(|last| ends.contains(&last.op));
        let Some(last) = last else {
            let expected = ends.first().map_or("", |op| op.row().name);
            return self.refuse(around, format!("code that does not end with {expected}"));
        };
        let before = &block.operations[..block.operations.len() - 1];
        if let Some(early) = before.iter().find(|early| TERMINATORS.contains(&early.op)) {
            let what = format!("{} before the end of a block", early.op.row().name);
            self.refuse(early.location, what);
        }
        if last.op != Op::ScfCondition {
            self.equal(last, "hands on", &self.types(&last.operands), gives);
        }
    }

    fn equal(&mut self, operation: &Operation, does: &str, found: &[Type], expected: &[Type]) {
        if found != expected {
            let text = |types: &[Type]| {
                let types: Vec<String> = types.iter().map(crate::print::type_text).collect();
                types.join(", ")
            };
            let name = operation.op.row().name;
            let (found, expected) = (text(found), text(expected));
            self.refuse(operation.location, format!("{name} {does} ({found}), not ({expected})"));
        }
    }

    fn operation(&mut self, operation: &Operation) {
        let results = self.types(&operation.results);
        let empty = Block::default();
        let block = |index: usize| operation.regions.get(index).and_then(|of| of.block.as_ref());
        let location = operation.location;
        match operation.op {
            Op::FuncCall => self.call(operation, &results),
            Op::ScfIf => {
                self.arguments(operation, block(0).unwrap_or(&empty), &[]);
                self.block(block(0).unwrap_or(&empty), &[Op::ScfYield], &results, location);
                match block(1) {
                    None if results.is_empty() => {}
                    otherwise => {
                        let otherwise = otherwise.unwrap_or(&empty);
                        self.arguments(operation, otherwise, &[]);
                        self.block(otherwise, &[Op::ScfYield], &results, location);
                    }
                }
            }
            Op::ScfIndexSwitch => {
                for region in &operation.regions {
                    let body = region.block.as_ref().unwrap_or(&empty);
                    self.arguments(operation, body, &[]);
                    self.block(body, &[Op::ScfYield], &results, location);
                }
            }
            Op::ScfFor => {
                let body = block(0).unwrap_or(&empty);
                let initial = self.types(operation.group("initial"));
                self.equal(operation, "gives", &results, &initial);
                let mut carried = self.types(operation.group("low"));
                carried.extend(initial);
                self.arguments(operation, body, &carried);
                self.block(body, &[Op::ScfYield], &results, location);
            }
            Op::ScfWhile => {
                let (before, after) = (block(0).unwrap_or(&empty), block(1).unwrap_or(&empty));
                let initial = self.types(&operation.operands);
                self.arguments(operation, before, &initial);
                self.block(before, &[Op::ScfCondition], &[], location);
                if let Some(condition) = before.operations.last()
                    && condition.op == Op::ScfCondition
                {
                    let handed = self.types(condition.group("values"));
                    self.equal(condition, "hands on", &handed, &results);
                }
                self.arguments(operation, after, &results);
                self.block(after, &[Op::ScfYield], &initial, location);
            }
            Op::TpuRegion | Op::TpuTrace => {
                let body = block(0).unwrap_or(&empty);
                self.arguments(operation, body, &[]);
                self.block(body, &[Op::TpuYield], &results, location);
            }
            _ => {}
        }
    }

    fn arguments(&mut self, operation: &Operation, block: &Block, expected: &[Type]) {
        self.equal(operation, "takes", &self.types(&block.arguments), expected);
    }

    fn call(&mut self, operation: &Operation, results: &[Type]) {
        let name: Option<Arc<str>> =
            operation.attributes.get("callee").and_then(|name| name.text().cloned());
        let callee = name.as_ref().and_then(|name| self.names.get(&**name).copied());
        let Some(callee) = callee else {
            let name = name.unwrap_or_default();
            return self.refuse(operation.location, format!("a call of {name}, which is not here"));
        };
        self.calls.push(callee);
        let function = &self.module.functions[callee];
        let takes: Vec<Type> =
            function.body.arguments.iter().map(|value| function.type_of(*value).clone()).collect();
        self.equal(operation, "takes", &self.types(&operation.operands), &takes);
        self.equal(operation, "gives", results, &function.results);
    }
}

/// The functions that call themselves, by others or not.
fn recursive(calls: &[Vec<usize>]) -> Vec<usize> {
    // A function is taken away when nothing it calls is left; what stays is in a circle, or calls
    // one.
    let mut waits: Vec<usize> = calls.iter().map(Vec::len).collect();
    let mut callers = vec![Vec::new(); calls.len()];
    for (caller, callees) in calls.iter().enumerate() {
        callees.iter().for_each(|&callee| callers[callee].push(caller));
    }
    let mut done: Vec<usize> = (0..calls.len()).filter(|&number| waits[number] == 0).collect();
    while let Some(number) = done.pop() {
        for &caller in &callers[number] {
            waits[caller] -= 1;
            if waits[caller] == 0 {
                done.push(caller);
            }
        }
    }
    (0..calls.len()).filter(|&number| waits[number] > 0).collect()
}
