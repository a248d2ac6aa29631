//! The names of values, as MLIR gives them.
use crate::ir::{Attribute, Block, Function, Op, Operation, Type, Value, group_name};
use crate::print::attributes::element_name;
use std::collections::HashSet;
use tpu_mlir::Element;

/// The names of a function's values, each with its `%`.
#[derive(Debug)]
pub(super) struct Names {
    names: Vec<String>,
}

/// The numbers that the next values of a region get.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    value: usize,
    argument: usize,
    conflict: usize,
}

/// What is named while one goes through a function.
struct Namer<'a> {
    function: &'a Function,
    names: Vec<String>,
    used: HashSet<String>,
    counters: Counters,
}

impl Names {
    /// The names of a function's values.
    pub(super) fn of(function: &Function) -> Self {
        let names = vec![String::new(); function.values.len()];
        let (used, counters) = (HashSet::new(), Counters::default());
        let mut namer = Namer { function, names, used, counters };
        namer.block(&function.body);
        Self { names: namer.names }
    }

    /// The name of a value.
    pub(super) fn of_value(&self, value: Value) -> &str {
        self.names.get(value.0 as usize).map_or("%?", String::as_str)
    }
}

impl Namer<'_> {
    /// Names the values of a block, then those of the regions in it.
    fn block(&mut self, block: &Block) {
        let mut here = Vec::new();
        for &argument in &block.arguments {
            let name = format!("arg{}", self.counters.argument);
            self.counters.argument += 1;
            here.push(self.unique(argument, &name));
        }
        for operation in &block.operations {
            self.operation(operation, &mut here);
        }
        let counters = self.counters;
        for region in block.operations.iter().flat_map(|operation| &operation.regions) {
            if let Some(block) = &region.block {
                self.counters = counters;
                self.block(block);
            }
        }
        self.counters = counters;
        for name in here {
            self.used.remove(&name);
        }
    }

    fn operation(&mut self, operation: &Operation, here: &mut Vec<String>) {
        let groups = operation.op.row().results;
        let name = match operation.op {
            Op::ArithConstant => Some(constant(operation, self.function)),
            Op::MemrefAlloca => Some("alloca".to_owned()),
            Op::MemrefCast => Some("cast".to_owned()),
            Op::MemrefMemorySpaceCast => Some("memspacecast".to_owned()),
            _ if groups.len() > 1 => {
                for (group, &value) in groups.iter().zip(&operation.results) {
                    here.push(self.unique(value, group_name(group)));
                }
                return;
            }
            _ => None,
        };
        match (name, operation.results.as_slice()) {
            (_, []) => {}
            (Some(name), &[value]) => here.push(self.unique(value, &name)),
            (_, &[value]) => self.names[value.0 as usize] = format!("%{}", self.number()),
            (_, values) => {
                let number = self.number();
                for (index, value) in values.iter().enumerate() {
                    self.names[value.0 as usize] = format!("%{number}#{index}");
                }
            }
        }
    }

    fn number(&mut self) -> usize {
        self.counters.value += 1;
        self.counters.value - 1
    }

    /// Gives a value a name that is not used around it, and tells which.
    fn unique(&mut self, value: Value, name: &str) -> String {
        let mut unique = name.to_owned();
        while !self.used.insert(unique.clone()) {
            unique = format!("{name}_{}", self.counters.conflict);
            self.counters.conflict += 1;
        }
        self.names[value.0 as usize] = format!("%{unique}");
        unique
    }
}

/// What a constant is called.
fn constant(operation: &Operation, function: &Function) -> String {
    let of = operation.results.first().map(|value| function.type_of(*value));
    match (operation.attributes.get("value"), of) {
        (Some(Attribute::Bool(value)), _) => value.to_string(),
        (Some(Attribute::Integer(value, Element::Index)), _) => format!("c{value}"),
        (Some(Attribute::Integer(value, of)), Some(Type::Scalar(_))) => {
            format!("c{value}_{}", element_name(*of))
        }
        _ => "cst".to_owned(),
    }
}
