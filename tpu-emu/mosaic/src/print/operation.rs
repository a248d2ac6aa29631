//! Operations, by the texts of their rows.
use super::Printer;
use super::attributes::{attribute, dictionary, list, pair, symbol, word};
use crate::ir::{
    Attribute, Attributes, Block, Class, FLOAT_PREDICATES, INTEGER_PREDICATES, Op, Operation,
    Region, Type, Value, group_name,
};
use tpu_mlir::location::quote;

impl Printer<'_> {
    /// The operations of a block; whether the last one is written, too.
    pub(super) fn block(&mut self, block: &Block, with_end: bool) {
        self.indent += 1;
        let count = block.operations.len() - usize::from(!with_end && !block.operations.is_empty());
        for operation in &block.operations[..count] {
            self.operation(operation);
        }
        self.indent -= 1;
    }

    fn operation(&mut self, operation: &Operation) {
        self.line();
        self.results(operation);
        let row = operation.op.row();
        match operation.op {
            Op::ScfIf => self.scf_if(operation),
            Op::ScfFor => self.scf_for(operation),
            Op::ScfWhile => self.scf_while(operation),
            Op::ScfIndexSwitch => self.scf_index_switch(operation),
            Op::ArithConstant => self.constant(operation),
            Op::VectorExtract => self.extract(operation),
            _ if row.text.is_empty() => self.general(operation),
            _ => {
                // The dialect of a function's own operations goes without saying.
                let name = row.name.strip_prefix("func.").filter(|_| self.indent == 2);
                self.push(name.unwrap_or(row.name));
                self.pattern(row.text, operation);
            }
        }
        self.push("\n");
    }

    /// `%0 = `, `%0:2 = ` or `%a, %b = `.
    fn results(&mut self, operation: &Operation) {
        match operation.results.as_slice() {
            [] => return,
            [first, _, ..] if operation.op.row().results.len() == 1 => {
                let name = self.names.of_value(*first);
                let name = name.split('#').next().unwrap_or(name).to_owned();
                self.push(&format!("{name}:{}", operation.results.len()));
            }
            results => self.commas(results, Self::value),
        }
        self.push(" = ");
    }

    fn group(&self, operation: &Operation, name: &str) -> Vec<Value> {
        let results = operation.op.row().results;
        match results.iter().position(|group| group_name(group) == name) {
            Some(0) if results.len() == 1 => operation.results.clone(),
            Some(index) => operation.results.get(index..=index).unwrap_or(&[]).to_vec(),
            None => operation.group(name).to_vec(),
        }
    }

    fn types(&mut self, values: &[Value]) {
        let function = self.function;
        self.commas(values, |printer, value| printer.of(function.type_of(value)));
    }

    /// Types of results: in parentheses, but for one alone.
    fn result_types(&mut self, values: &[Value]) {
        if values.len() == 1 {
            return self.types(values);
        }
        self.push("(");
        self.types(values);
        self.push(")");
    }

    /// Writes the text of a row.
    fn pattern(&mut self, text: &str, operation: &Operation) {
        let mut rest = text;
        while let Some((plain, after)) = rest.split_once('{') {
            self.push(plain);
            let end = closing(after);
            let (item, after) = (&after[..end], after.get(end + 1..).unwrap_or(""));
            rest = after;
            self.item(item, text, operation);
        }
        self.push(rest);
    }

    fn item(&mut self, item: &str, text: &str, operation: &Operation) {
        if let Some(name) = item.strip_prefix(':') {
            let values = self.group(operation, name);
            self.types(&values);
        } else if let Some(name) = item.strip_prefix('@') {
            self.attribute_value(operation, name);
        } else if item == "*" {
            self.rest_of_attributes(text, operation);
        } else if let Some(optional) = item.strip_prefix('?') {
            if let Some((name, inside)) = optional.split_once(':')
                && (!self.group(operation, name).is_empty() || says(name, operation))
            {
                self.pattern(inside, operation);
            }
        } else if let Some(name) = item.strip_prefix('&') {
            // A condition that is no vector goes without saying.
            let values = self.group(operation, name);
            if let Some(value) = values.first()
                && matches!(self.function.type_of(*value), Type::Vector(_))
            {
                self.types(&values);
                self.push(", ");
            }
        } else if let Some(name) = item.strip_prefix('(') {
            let values = self.group(operation, name);
            self.result_types(&values);
        } else if item == ">" {
            self.signature(operation);
        } else {
            let values = self.group(operation, item);
            self.commas(&values, Self::value);
        }
    }

    /// `(types) -> types`.
    fn signature(&mut self, operation: &Operation) {
        self.push("(");
        self.types(&operation.operands);
        self.push(") -> ");
        self.result_types(&operation.results);
    }

    /// An attribute that stands by itself.
    fn attribute_value(&mut self, operation: &Operation, name: &str) {
        let Some(value) = operation.attributes.get(name) else { return };
        let properties = operation.op.row().attributes;
        let class = properties.iter().find(|property| property.name == name).map(|of| of.class);
        let predicate = |words: &[&'static str], value: i64| {
            usize::try_from(value).ok().and_then(|value| words.get(value)).copied().unwrap_or("?")
        };
        match (value, class) {
            (Attribute::Integer(value, _), Some(Class::IntegerPredicate)) => {
                self.push(predicate(INTEGER_PREDICATES, *value));
            }
            (Attribute::Integer(value, _), Some(Class::FloatPredicate)) => {
                self.push(predicate(FLOAT_PREDICATES, *value));
            }
            (Attribute::Integer(value, _) | Attribute::Signed(value, _), _) => {
                self.push(&value.to_string());
            }
            (Attribute::Integers(values, _), Some(Class::Booleans)) => {
                let words: Vec<&str> =
                    values.iter().map(|&value| if value == 0 { "false" } else { "true" }).collect();
                self.push(&format!("[{}]", words.join(", ")));
            }
            (Attribute::Integers(values, _), _) => self.push(&list(values)),
            (Attribute::Text(text), _) => quote(text, self.text),
            (Attribute::Symbol(name), _) => {
                self.push("@");
                symbol(name, self.text);
            }
            (Attribute::Space(space), _) => self.push(&format!("<{}>", space.memory.word())),
            (other, _) => self.push(&format!("<{}>", word(other).1)),
        }
    }

    /// The attributes that do not stand elsewhere and are not what they are anyway.
    fn rest_of_attributes(&mut self, text: &str, operation: &Operation) {
        let mut rest = said(text, operation);
        for (key, value) in &rest.0 {
            if let Attribute::Promise(_, words) = value {
                let key = if &**key == "fastmath" { "fastmath" } else { "overflow" };
                self.push(&format!(" {key}<{words}>"));
            }
        }
        rest.0.retain(|(_, value)| !matches!(value, Attribute::Promise(..)));
        if !rest.0.is_empty() {
            self.push(" ");
            dictionary(&rest, self.text);
        }
    }

    /// MLIR's general form: `"name"(operands) <{properties}> ({regions}) {hints} : type`.
    fn general(&mut self, operation: &Operation) {
        let row = operation.op.row();
        self.push(&format!("\"{}\"(", row.name));
        self.commas(&operation.operands, Self::value);
        self.push(")");
        let is_property = |key: &str| row.attributes.iter().any(|property| property.name == key);
        let (properties, hints): (Vec<_>, Vec<_>) =
            operation.attributes.0.iter().cloned().partition(|(key, _)| is_property(key));
        if !properties.is_empty() {
            self.push(" <{");
            for (number, (key, value)) in properties.iter().enumerate() {
                self.push(if number == 0 { "" } else { ", " });
                pair(key, value, self.text);
            }
            self.push("}>");
        }
        if !operation.regions.is_empty() {
            self.push(" (");
            for (number, region) in operation.regions.iter().enumerate() {
                self.push(if number == 0 { "{\n" } else { ", {\n" });
                self.region(region, true, true);
                self.push("}");
            }
            self.push(")");
        }
        if !hints.is_empty() {
            self.push(" ");
            dictionary(&Attributes(hints), self.text);
        }
        self.push(" : ");
        self.signature(operation);
    }

    /// The code of a region, and the start of the line of its closing brace.
    fn region(&mut self, region: &Region, with_arguments: bool, with_end: bool) {
        if let Some(block) = &region.block {
            if with_arguments && !block.arguments.is_empty() {
                let function = self.function;
                self.line();
                self.push("^bb0(");
                self.commas(&block.arguments, |printer, value| {
                    printer.value(value);
                    printer.push(": ");
                    printer.of(function.type_of(value));
                });
                self.push("):\n");
            }
            self.block(block, with_end);
        }
        self.line();
    }

    fn constant(&mut self, operation: &Operation) {
        self.push("arith.constant ");
        let Some(value) = operation.attributes.get("value") else { return };
        attribute(value, self.text);
    }

    fn extract(&mut self, operation: &Operation) {
        self.push("vector.extract ");
        self.commas(operation.group("a"), Self::value);
        self.push("[");
        let mut dynamic = operation.group("positions").iter();
        for (number, position) in
            operation.integers("static_position").unwrap_or_default().into_iter().enumerate()
        {
            self.push(if number == 0 { "" } else { ", " });
            match dynamic.next().filter(|_| position == i64::MIN) {
                Some(value) => self.value(*value),
                None => self.push(&position.to_string()),
            }
        }
        self.push("] : ");
        self.types(&operation.results);
        self.push(" from ");
        self.types(operation.group("a"));
    }

    fn scf_if(&mut self, operation: &Operation) {
        self.push("scf.if ");
        self.commas(&operation.operands, Self::value);
        let with_end = !operation.results.is_empty();
        if with_end {
            self.push(" -> (");
            self.types(&operation.results);
            self.push(")");
        }
        self.push(" {\n");
        for (number, region) in operation.regions.iter().enumerate() {
            if number > 0 {
                if region.block.is_none() {
                    break;
                }
                self.push("} else {\n");
            }
            self.region(region, false, with_end);
        }
        self.push("}");
        self.rest_of_attributes("", operation);
    }

    fn scf_for(&mut self, operation: &Operation) {
        let empty = Block::default();
        let body = operation.regions.first().and_then(|region| region.block.as_ref());
        let body = body.unwrap_or(&empty);
        let unsigned = operation.flag("unsignedCmp");
        self.push(if unsigned { "scf.for unsigned " } else { "scf.for " });
        self.commas(body.arguments.get(..1).unwrap_or(&[]), Self::value);
        for (word, group) in [(" = ", "low"), (" to ", "high"), (" step ", "step")] {
            self.push(word);
            self.commas(operation.group(group), Self::value);
        }
        let carried = body.arguments.get(1..).unwrap_or(&[]);
        if !carried.is_empty() {
            self.push(" iter_args(");
            self.assignments(carried, operation.group("initial"));
            self.push(") -> (");
            self.types(&operation.results);
            self.push(")");
        }
        let of = operation.operand("low").map(|low| self.function.type_of(low).clone());
        if let Some(of) = of.filter(|of| *of != Type::Scalar(tpu_mlir::Element::Index)) {
            self.push("  : ");
            self.of(&of);
        }
        self.push(" {\n");
        if let Some(region) = operation.regions.first() {
            self.region(region, false, !operation.results.is_empty());
        }
        self.push("}");
        self.rest_of_attributes("{@unsignedCmp}", operation);
    }

    /// The cases are the regions behind that of all other values.
    fn scf_index_switch(&mut self, operation: &Operation) {
        self.push("scf.index_switch ");
        self.commas(&operation.operands, Self::value);
        self.rest_of_attributes("{@cases}", operation);
        if operation.results.is_empty() {
            self.push(" ");
        } else {
            self.push(" -> ");
            self.types(&operation.results);
            self.push(" ");
        }
        let cases = operation.integers("cases").unwrap_or_default();
        let otherwise = operation.regions.first().into_iter();
        let all = operation.regions.iter().skip(1).zip(cases).map(|(of, case)| (of, Some(case)));
        for (region, case) in all.chain(otherwise.map(|of| (of, None))) {
            self.push("\n");
            self.line();
            match case {
                Some(case) => self.push(&format!("case {case} {{\n")),
                None => self.push("default {\n"),
            }
            let body = region.block.as_ref().map_or(0, |block| block.operations.len());
            self.region(region, false, body > 1 || !operation.results.is_empty());
            self.push("}");
        }
    }

    /// `%a = %b, %c = %d`.
    fn assignments(&mut self, targets: &[Value], sources: &[Value]) {
        let pairs: Vec<(Value, Value)> =
            targets.iter().copied().zip(sources.iter().copied()).collect();
        self.commas(&pairs, |printer, (target, source)| {
            printer.value(target);
            printer.push(" = ");
            printer.value(source);
        });
    }

    fn scf_while(&mut self, operation: &Operation) {
        self.push("scf.while ");
        if let Some(before) = operation.regions.first().and_then(|region| region.block.as_ref())
            && !before.arguments.is_empty()
        {
            self.push("(");
            self.assignments(&before.arguments, &operation.operands);
            self.push(") ");
        }
        self.push(": ");
        self.signature(operation);
        self.push(" {\n");
        for (number, region) in operation.regions.iter().enumerate() {
            self.push(if number == 0 { "" } else { "} do {\n" });
            self.region(region, number > 0, true);
        }
        self.push("}");
        self.rest_of_attributes("", operation);
    }
}

/// Where the brace of an item closes.
fn closing(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return at,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The attributes that a text does not have, without those that are what they are anyway.
fn said(text: &str, operation: &Operation) -> Attributes {
    let stays = |(key, value): &&(std::sync::Arc<str>, Attribute)| {
        !text.contains(&format!("{{@{key}}}")) && !goes_without_saying(key, value, operation)
    };
    Attributes(operation.attributes.0.iter().filter(stays).cloned().collect())
}

/// Whether an operation has an attribute that is not what it is anyway.
fn says(key: &str, operation: &Operation) -> bool {
    let value = operation.attributes.get(key);
    value.is_some_and(|value| !goes_without_saying(key, value, operation))
}

fn goes_without_saying(key: &str, value: &Attribute, operation: &Operation) -> bool {
    let properties = operation.op.row().attributes;
    let property = properties.iter().find(|property| property.name == key);
    let default = property.and_then(|property| property.class.default(property.presence));
    default.as_ref() == Some(value)
}
