//! Operations and the code inside them.
use super::Printer;
use crate::ir::{Attribute, Attributes, Block, Function, Operation, Region, Type, Value};

/// Operations whose short form is operands and one type for all.
const SHORT: &[&str] = &[
    "abs",
    "add",
    "and",
    "cbrt",
    "ceil",
    "count_leading_zeros",
    "cosine",
    "divide",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "maximum",
    "minimum",
    "multiply",
    "negate",
    "not",
    "or",
    "popcnt",
    "power",
    "remainder",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sine",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "xor",
];

impl<'m> Printer<'m> {
    /// `{ … }`; the arguments of the first block are written if nobody else has written them.
    pub(super) fn region(&mut self, function: &'m Function, region: &'m Region, labelled: bool) {
        self.push("{");
        for (index, block) in region.blocks.iter().enumerate() {
            if index > 0
                || labelled && !block.arguments.is_empty()
                || block.operations.is_empty() && labelled
            {
                self.line();
                self.push(&format!("^bb{index}"));
                self.block_arguments(function, block);
                self.push(":");
            }
            self.indent += 1;
            for operation in &block.operations {
                self.line();
                self.operation(function, operation);
            }
            self.indent -= 1;
        }
        self.line();
        self.push("}");
    }

    fn block_arguments(&mut self, function: &'m Function, block: &Block) {
        if block.arguments.is_empty() {
            return;
        }
        self.push("(");
        self.commas(&block.arguments, |printer, &argument| {
            printer.value(argument);
            printer.push(": ");
            printer.of(function.type_of(argument));
        });
        self.push(")");
    }

    fn operation(&mut self, function: &'m Function, operation: &'m Operation) {
        if !operation.results.is_empty() {
            // Each result has a name of its own: values are numbers, packs are not needed.
            self.commas(&operation.results, |printer, &result| printer.value(result));
            self.push(" = ");
        }
        if !self.short(function, operation) {
            self.generic(function, operation);
        }
        self.location(operation.location);
    }

    fn operands(&mut self, operation: &Operation) {
        self.commas(&operation.operands, |printer, &operand| printer.value(operand));
    }

    /// The short form, if the operation has one that loses nothing.
    fn short(&mut self, function: &'m Function, operation: &'m Operation) -> bool {
        let of = |value: &Value| function.type_of(*value);
        if !operation.regions.is_empty() {
            return false;
        }
        let none = Attributes::default();
        match &*operation.name {
            "func.return" if operation.attributes == none && operation.results.is_empty() => {
                self.push("return");
                if !operation.operands.is_empty() {
                    self.push(" ");
                    self.operands(operation);
                    self.push(" : ");
                    self.commas(operation.operands.iter().map(of), Self::of);
                }
                true
            }
            "stablehlo.constant" => {
                let ([(name, Attribute::Elements(elements))], [result], []) =
                    (&operation.attributes.0[..], &operation.results[..], &operation.operands[..])
                else {
                    return false;
                };
                if name != "value" || *of(result) != Type::Tensor(elements.of.clone()) {
                    return false;
                }
                self.push("stablehlo.constant ");
                self.elements(elements);
                true
            }
            name => {
                let Some(mnemonic) = name.strip_prefix("stablehlo.") else { return false };
                let [result] = &operation.results[..] else { return false };
                let same = !operation.operands.is_empty()
                    && operation.operands.iter().all(|operand| of(operand) == of(result));
                if !SHORT.contains(&mnemonic) || operation.attributes != none || !same {
                    return false;
                }
                self.push(name);
                self.push(" ");
                self.operands(operation);
                self.push(" : ");
                self.of(of(result));
                true
            }
        }
    }

    fn generic(&mut self, function: &'m Function, operation: &'m Operation) {
        self.string(operation.name.as_bytes());
        self.push("(");
        self.operands(operation);
        self.push(")");
        if !operation.regions.is_empty() {
            self.push(" (");
            self.commas(&operation.regions, |printer, region| {
                printer.region(function, region, true)
            });
            self.push(")");
        }
        let attributes = self.operation_attributes(operation);
        if !attributes.is_empty() {
            self.push(" {");
            self.push(&attributes.join(", "));
            self.push("}");
        }
        self.push(" : ");
        let of = |value: &Value| function.type_of(*value);
        self.function_type(operation.operands.iter().map(of), operation.results.iter().map(of));
    }
}
