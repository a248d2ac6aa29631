//! The text of random programs over a few shapes of `f32` and `i32`.
use super::Random;
use std::fmt::Write;

/// A value of the text: its name, element type and extents.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value(pub(super) String, pub(super) &'static str, pub(super) Vec<usize>);

impl Value {
    pub(super) fn of(&self) -> String {
        tensor(self.1, &self.2)
    }
}

pub(super) fn tensor(element: &str, dims: &[usize]) -> String {
    let mut text = "tensor<".to_owned();
    dims.iter().for_each(|dim| write!(text, "{dim}x").unwrap());
    text + element + ">"
}

pub(super) const SHAPES: &[&[usize]] = &[
    &[],
    &[4],
    &[3, 4],
    &[4, 3],
    &[2, 2, 3],
    &[12],
    &[30, 50],
    &[50, 30],
    &[0, 4],
    &[3, 400],
    &[5, 1030],
];

/// A program that is being written.
pub(super) struct ProgramWriter {
    pub(super) random: Random,
    pub(super) text: String,
    pub(super) count: usize,
    /// Whether values have any type and extents.
    pub(super) wide: bool,
}

impl ProgramWriter {
    pub(super) fn name(&mut self) -> String {
        self.count += 1;
        format!("%v{}", self.count)
    }

    /// One operation with one result, now and then once more.
    pub(super) fn put(
        &mut self,
        seen: &mut Vec<Value>,
        element: &'static str,
        dims: &[usize],
        code: &str,
    ) -> Value {
        let name = self.name();
        writeln!(self.text, "{name} = {code}").unwrap();
        let value = Value(name, element, dims.to_vec());
        seen.push(value.clone());
        if !self.wide && self.random.below(16) == 0 {
            return self.put(seen, element, dims, code);
        }
        value
    }

    /// A value of this type: one that is there, or a new one.
    pub(super) fn get(
        &mut self,
        seen: &mut Vec<Value>,
        element: &'static str,
        dims: &[usize],
    ) -> Value {
        let fits: Vec<Value> =
            seen.iter().filter(|value| value.1 == element && value.2 == dims).cloned().collect();
        let to = tensor(element, dims);
        match self.random.below(8) {
            0 if element != "i1" && !element.starts_with("f4") && !dims.is_empty() => {
                let axis = self.random.below(dims.len());
                self.put(seen, element, dims, &format!("stablehlo.iota dim = {axis} : {to}"))
            }
            1 if !dims.is_empty() => {
                let scalar = self.get(seen, element, &[]);
                let from = scalar.of();
                let code = format!(
                    "stablehlo.broadcast_in_dim {}, dims = [] : ({from}) -> {to}",
                    scalar.0
                );
                self.put(seen, element, dims, &code)
            }
            2.. if !fits.is_empty() => self.random.pick(&fits),
            _ => {
                let number = self.number(element);
                self.put(seen, element, dims, &format!("stablehlo.constant dense<{number}> : {to}"))
            }
        }
    }

    pub(super) fn step(&mut self, seen: &mut Vec<Value>, depth: usize) {
        if self.wide {
            return self.wide_step(seen, depth);
        }
        let dims = self.random.pick(SHAPES).to_vec();
        let element = self.random.pick(&["f32", "f32", "i32"]);
        let to = tensor(element, &dims);
        match self.random.below(if depth == 0 { 21 } else { 17 }) {
            0..=3 => {
                let [a, b] = [(); 2].map(|()| self.get(seen, element, &dims));
                let name = self.random.pick(&["add", "multiply", "subtract", "maximum"]);
                self.put(
                    seen,
                    element,
                    &dims,
                    &format!("stablehlo.{name} {}, {} : {to}", a.0, b.0),
                );
            }
            4 => {
                let [a, b] = [(); 2].map(|()| self.get(seen, element, &dims));
                let predicates = tensor("i1", &dims);
                let code = format!(
                    "stablehlo.compare LT, {}, {} : ({to}, {to}) -> {predicates}",
                    a.0, b.0
                );
                let p = self.put(seen, "i1", &dims, &code);
                let code =
                    format!("stablehlo.select {}, {}, {} : {predicates}, {to}", p.0, b.0, a.0);
                self.put(seen, element, &dims, &code);
            }
            5 => {
                let a = self.get(seen, element, &dims);
                let turned: Vec<usize> = dims.iter().rev().copied().collect();
                let axes: Vec<String> =
                    (0..dims.len()).rev().map(|axis| axis.to_string()).collect();
                let result = tensor(element, &turned);
                let code = format!(
                    "stablehlo.transpose {}, dims = [{}] : ({to}) -> {result}",
                    a.0,
                    axes.join(", ")
                );
                self.put(seen, element, &turned, &code);
            }
            6 if dims.len() == 2 => {
                let axis = self.random.below(2);
                let a = self.get(seen, element, &dims[axis..=axis]);
                let code = format!(
                    "stablehlo.broadcast_in_dim {}, dims = [{axis}] : ({}) -> {to}",
                    a.0,
                    a.of()
                );
                self.put(seen, element, &dims, &code);
            }
            6 | 7 => {
                // Bytes under other names, and arithmetic on them.
                let a = self.get(seen, "f32", &dims);
                let bytes: Vec<usize> = dims.iter().copied().chain([4]).collect();
                let named = tensor("ui8", &bytes);
                let code = format!("stablehlo.bitcast_convert {} : ({}) -> {named}", a.0, a.of());
                let b = self.put(seen, "ui8", &bytes, &code);
                let c = self.get(seen, "ui8", &bytes);
                let code = format!("stablehlo.xor {}, {} : {named}", b.0, c.0);
                let d = self.put(seen, "ui8", &bytes, &code);
                let code = format!("stablehlo.bitcast_convert {} : ({named}) -> {}", d.0, a.of());
                self.put(seen, "f32", &dims, &code);
            }
            8 if !dims.is_empty() => {
                let axis = self.random.below(dims.len());
                let a = self.get(seen, element, &dims);
                let zero = self.get(seen, element, &[]);
                let mut rest = dims.clone();
                rest.remove(axis);
                let name = self.random.pick(&["add", "maximum"]);
                let code = format!(
                    "stablehlo.reduce({} init: {}) applies stablehlo.{name} across dimensions = [{axis}] : ({to}, {}) -> {}",
                    a.0,
                    zero.0,
                    zero.of(),
                    tensor(element, &rest)
                );
                self.put(seen, element, &rest, &code);
            }
            8 | 9 => {
                let a = self.get(seen, element, &[12]);
                let b = self.get(seen, element, &[4]);
                let at = self.get(seen, "i32", &[]);
                let (whole, part) = (a.of(), b.of());
                let code = format!(
                    "stablehlo.dynamic_update_slice {}, {}, {} : ({whole}, {part}, tensor<i32>) -> {whole}",
                    a.0, b.0, at.0
                );
                self.put(seen, element, &[12], &code);
            }
            10 => {
                let a = self.get(seen, element, &[12]);
                let result = tensor(element, &[3, 4]);
                let code = format!("stablehlo.reshape {} : ({}) -> {result}", a.0, a.of());
                self.put(seen, element, &[3, 4], &code);
            }
            11 | 12 => self.chain(seen, element),
            13 | 14 => self.lookup(seen, element, &dims),
            15 | 16 => self.roll(seen, element, &dims),
            17 => self.branches(seen, depth),
            _ => self.rounds(seen, depth),
        }
    }

    /// Single elements of an array at places that may lie outside of it, row by row or anywhere.
    fn lookup(&mut self, seen: &mut Vec<Value>, element: &'static str, dims: &[usize]) {
        let (at, to) = (self.get(seen, "i32", dims), tensor(element, dims));
        let rows = dims.len() == 2 && dims[0] > 0 && self.random.below(2) == 0;
        let from = if rows { vec![dims[0], 50] } else { vec![12] };
        let a = self.get(seen, element, &from);
        let (numbers, sizes) = if rows {
            let batching = "operand_batching_dims = [0], start_indices_batching_dims = [0]";
            (format!("collapsed_slice_dims = [1], {batching}, start_index_map = [1]"), "1, 1")
        } else {
            ("collapsed_slice_dims = [0], start_index_map = [0]".to_owned(), "1")
        };
        let code = format!(
            "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<{numbers}, index_vector_dim = {}>, slice_sizes = array<i64: {sizes}>}}> : ({}, {}) -> {to}",
            a.0,
            at.0,
            dims.len(),
            a.of(),
            at.of()
        );
        self.put(seen, element, dims, &code);
    }

    /// An array whose last part comes first.
    fn roll(&mut self, seen: &mut Vec<Value>, element: &'static str, dims: &[usize]) {
        if dims.iter().product::<usize>() == 0 || dims.is_empty() {
            return;
        }
        let axis = self.random.below(dims.len());
        let middle = self.random.below(dims[axis] + 1);
        let a = self.get(seen, element, dims);
        let parts = [(middle, dims[axis]), (0, middle)].map(|(from, to)| {
            let mut part = dims.to_vec();
            part[axis] = to - from;
            let ranges: Vec<String> =
                (0..dims.len())
                    .map(|at| {
                        if at == axis { format!("{from}:{to}") } else { format!("0:{}", dims[at]) }
                    })
                    .collect();
            let code = format!(
                "stablehlo.slice {} [{}] : ({}) -> {}",
                a.0,
                ranges.join(", "),
                a.of(),
                tensor(element, &part)
            );
            self.put(seen, element, &part, &code)
        });
        let code = format!(
            "stablehlo.concatenate {}, {}, dim = {axis} : ({}, {}) -> {}",
            parts[0].0,
            parts[1].0,
            parts[0].of(),
            parts[1].of(),
            a.of()
        );
        self.put(seen, element, dims, &code);
    }

    fn block(&mut self, seen: &[Value], depth: usize) -> Vec<Value> {
        let mut inner = seen.to_vec();
        for _ in 0..2 + self.random.below(5) {
            self.step(&mut inner, depth + 1);
        }
        inner
    }

    /// Values of these types, out of what a block has, as its results.
    fn give(&mut self, seen: &mut Vec<Value>, like: &[Value]) {
        let made: Vec<Value> =
            like.iter().map(|value| self.get(seen, value.1, &value.2.clone())).collect();
        self.finish("stablehlo.return", &made);
    }

    pub(super) fn finish(&mut self, word: &str, values: &[Value]) {
        let names: Vec<&str> = values.iter().map(|value| &*value.0).collect();
        let types: Vec<String> = values.iter().map(Value::of).collect();
        writeln!(self.text, "{word} {} : {}", names.join(", "), types.join(", ")).unwrap();
    }

    fn several(&mut self, seen: &[Value]) -> Vec<Value> {
        (0..1 + self.random.below(4)).map(|_| self.random.pick(seen)).collect()
    }

    pub(super) fn branches(&mut self, seen: &mut Vec<Value>, depth: usize) {
        let number = self.get(seen, "i32", &[]);
        let like = self.several(seen);
        let (name, count) = (self.name(), like.len());
        writeln!(self.text, "{name}:{count} = \"stablehlo.case\"({}) ({{", number.0).unwrap();
        for branch in 0..3 {
            if branch > 0 {
                self.text.push_str("}, {\n");
            }
            let mut inner = self.block(seen, depth);
            self.give(&mut inner, &like);
        }
        let types: Vec<String> = like.iter().map(Value::of).collect();
        writeln!(self.text, "}}) : (tensor<i32>) -> ({})", types.join(", ")).unwrap();
        let results = like.into_iter().enumerate();
        seen.extend(results.map(|(at, of)| Value(format!("{name}#{at}"), of.1, of.2)));
    }

    pub(super) fn rounds(&mut self, seen: &mut Vec<Value>, depth: usize) {
        let zero = self.put(seen, "i32", &[], "stablehlo.constant dense<0> : tensor<i32>");
        let initial = self.several(seen);
        let carried: Vec<Value> =
            initial.iter().map(|of| Value(self.name(), of.1, of.2.clone())).collect();
        let (name, counter, count) = (self.name(), self.name(), initial.len() + 1);
        let pairs =
            carried.iter().zip(&initial).map(|(to, from)| format!(", {} = {}", to.0, from.0));
        let pairs: String = pairs.collect();
        let types: String = initial.iter().map(|of| format!(", {}", of.of())).collect();
        writeln!(
            self.text,
            "{name}:{count} = stablehlo.while({counter} = {}{pairs}) : tensor<i32>{types}",
            zero.0
        )
        .unwrap();
        self.text.push_str("cond {\n");
        let mut inner: Vec<Value> = seen.iter().chain(&carried).cloned().collect();
        if self.random.below(2) == 0 {
            self.step(&mut inner, depth + 1);
        }
        let rounds = self.random.below(4);
        let code = format!("stablehlo.constant dense<{rounds}> : tensor<i32>");
        let limit = self.put(&mut inner, "i32", &[], &code);
        let code = format!(
            "stablehlo.compare LT, {counter}, {} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            limit.0
        );
        let decision = self.put(&mut inner, "i1", &[], &code);
        self.finish("stablehlo.return", &[decision]);
        self.text.push_str("} do {\n");
        let own = Value(counter.clone(), "i32", Vec::new());
        let outer: Vec<Value> = seen.iter().chain(&carried).chain([&own]).cloned().collect();
        let mut inner = self.block(&outer, depth);
        let one = self.put(&mut inner, "i32", &[], "stablehlo.constant dense<1> : tensor<i32>");
        let code = format!("stablehlo.add {counter}, {} : tensor<i32>", one.0);
        let next = self.put(&mut inner, "i32", &[], &code);
        // Often a carried value as it is, or another one's place.
        let mut made = vec![next];
        for of in &carried {
            let fits: Vec<Value> = carried
                .iter()
                .filter(|other| other.1 == of.1 && other.2 == of.2)
                .cloned()
                .collect();
            let value = match self.random.below(3) {
                0 => self.random.pick(&fits),
                _ => self.get(&mut inner, of.1, &of.2),
            };
            made.push(value);
        }
        self.finish("stablehlo.return", &made);
        self.text.push_str("}\n");
        let results = (1..).zip(carried);
        seen.extend(results.map(|(at, of)| Value(format!("{name}#{at}"), of.1, of.2)));
    }
}
