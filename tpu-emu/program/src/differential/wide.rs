//! Programs over every element type, with extents of 0 and 1 anywhere and up to six axes.
use super::writer::{ProgramWriter, Value, tensor};
use std::fmt::Write;

/// Element types, by what can be done with them.
const FLOATS: &[&str] = &["f32", "f32", "f64", "f16", "bf16"];
const EIGHTS: &[&str] = &[
    "f8E3M4",
    "f8E4M3",
    "f8E4M3B11FNUZ",
    "f8E4M3FN",
    "f8E4M3FNUZ",
    "f8E5M2",
    "f8E5M2FNUZ",
    "f4E2M1FN",
];
const INTEGERS: &[&str] = &["i32", "i32", "i64", "i8", "i16", "ui8", "ui16", "ui32", "ui64"];
const SMALL: &[&str] = &["i4", "ui4", "i2", "ui2"];
const COMPLEX: &[&str] = &["complex<f32>", "complex<f64>"];

/// What an element type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Integer,
    Complex,
    Boolean,
}

fn kind(element: &str) -> Kind {
    match element.as_bytes() {
        b"i1" => Kind::Boolean,
        [b'i' | b'u', ..] => Kind::Integer,
        [b'c', ..] => Kind::Complex,
        _ => Kind::Float,
    }
}

/// Whether an element is less than a byte where programs begin and end.
pub(super) fn is_narrow(element: &str) -> bool {
    SMALL.contains(&element) || element == "f4E2M1FN"
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

impl ProgramWriter {
    fn element(&mut self) -> &'static str {
        let lists = [FLOATS, FLOATS, FLOATS, INTEGERS, INTEGERS, EIGHTS, SMALL, COMPLEX, &["i1"]];
        let list = self.random.pick(&lists);
        self.random.pick(list)
    }

    /// Extents: few of them large, many 1, some 0.
    fn dims(&mut self) -> Vec<usize> {
        let rank = self.random.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5, 6]);
        let extents = [&[0, 1, 1, 1, 2, 3, 4, 5], &[1, 1, 1, 2, 2, 3, 4, 7]];
        let extents = self.random.pick(&extents);
        let mut dims: Vec<usize> = (0..rank).map(|_| self.random.pick(extents)).collect();
        if rank > 0 && rank < 3 && self.random.below(6) == 0 {
            let axis = self.random.below(rank);
            dims[axis] = self.random.pick(&[33, 130, 600]);
        }
        dims
    }

    /// The parameter of a wide program. The check of plans knows no values of less than a byte
    /// at the program's ends.
    pub(super) fn parameter(&mut self) -> Value {
        let (dims, mut element) = (self.dims(), self.element());
        while is_narrow(element) {
            element = self.element();
        }
        Value(self.name(), element, dims)
    }

    /// A number of a type, as text.
    pub(super) fn number(&mut self, element: &str) -> &'static str {
        match (kind(element), element) {
            (Kind::Boolean, _) => self.random.pick(&["true", "false"]),
            (Kind::Complex, _) => self.random.pick(&["(1.5,-2.0)", "(0.0,1.0)", "(-0.5,0.25)"]),
            (Kind::Integer, "i2" | "ui2") => self.random.pick(&["0", "1"]),
            (Kind::Integer, _) => self.random.pick(&["0", "1", "3", "7"]),
            (Kind::Float, _) => self.random.pick(&["1.5", "-0.5", "3.0", "0.0"]),
        }
    }

    /// A value of the type that can be anything.
    fn some(&mut self, seen: &mut Vec<Value>) -> Value {
        if self.random.below(5) == 0 {
            let (element, dims) = (self.element(), self.dims());
            return self.get(seen, element, &dims);
        }
        let late = seen.len().saturating_sub(6);
        let from = if self.random.below(2) == 0 { late } else { 0 };
        self.random.pick(&seen[from..])
    }

    /// One operation of any kind.
    pub(super) fn wide_step(&mut self, seen: &mut Vec<Value>, depth: usize) {
        let a = self.some(seen);
        match self.random.below(if depth == 0 { 26 } else { 24 }) {
            0..=8 => self.view(seen, &a),
            9..=13 => self.arithmetic(seen, &a),
            14 => self.converted(seen, &a),
            15..=17 => self.reduction(seen, &a),
            18 => self.picked(seen, &a),
            19 => self.sorted(seen, &a),
            20 => self.part(seen, &a),
            21 => match self.random.below(2) {
                0 => self.scattered(seen, &a),
                _ => self.one_to_a_row(seen, &a),
            },
            22 => self.product(seen, &a),
            23 => self.windows(seen, &a),
            24 => self.branches(seen, depth),
            _ => self.rounds(seen, depth),
        }
    }

    /// The same elements in another order, fewer of them, or with others beside them.
    fn view(&mut self, seen: &mut Vec<Value>, a: &Value) {
        let (rank, from) = (a.2.len(), a.of());
        match self.random.below(7) {
            0 => {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|at| order.swap(at, self.random.below(at + 1)));
                let dims: Vec<usize> = order.iter().map(|&axis| a.2[axis]).collect();
                let (order, to) = (list(&order), tensor(a.1, &dims));
                let code =
                    format!("stablehlo.transpose {}, dims = [{order}] : ({from}) -> {to}", a.0);
                self.put(seen, a.1, &dims, &code);
            }
            1 => {
                let axes = list((0..rank).filter(|_| self.random.below(2) == 0));
                let code = format!("stablehlo.reverse {}, dims = [{axes}] : {from}", a.0);
                self.put(seen, a.1, &a.2, &code);
            }
            2 => {
                let (mut dims, mut ranges) = (Vec::new(), Vec::new());
                for &dim in &a.2 {
                    let start = self.random.below(dim + 1);
                    let whole = self.random.below(2) == 0;
                    let start = if whole { 0 } else { start };
                    let end = if whole { dim } else { start + self.random.below(dim - start + 1) };
                    let step = self.random.pick(&[1, 1, 2, 3]);
                    dims.push((end - start).div_ceil(step));
                    ranges.push(format!("{start}:{end}:{step}"));
                }
                let to = tensor(a.1, &dims);
                let code =
                    format!("stablehlo.slice {} [{}] : ({from}) -> {to}", a.0, ranges.join(", "));
                self.put(seen, a.1, &dims, &code);
            }
            3 if rank < 6 => {
                let (mut dims, mut axes) = (Vec::new(), Vec::new());
                for (axis, &dim) in a.2.iter().enumerate() {
                    if dims.len() + (rank - axis) < 6 && self.random.below(3) == 0 {
                        dims.push(self.random.pick(&[0, 1, 2, 3]));
                    }
                    axes.push(dims.len());
                    let spread = dim == 1 && self.random.below(2) == 0;
                    dims.push(if spread { self.random.pick(&[0, 1, 3, 5]) } else { dim });
                }
                if dims.len() < 6 {
                    dims.push(self.random.pick(&[1, 2, 4]));
                }
                let to = tensor(a.1, &dims);
                let code = format!(
                    "stablehlo.broadcast_in_dim {}, dims = [{}] : ({from}) -> {to}",
                    a.0,
                    list(axes)
                );
                self.put(seen, a.1, &dims, &code);
            }
            4 => {
                let mut dims = a.2.clone();
                match self.random.below(3) {
                    0 if rank > 0 => dims = vec![dims.iter().product()],
                    1 if rank > 1 => {
                        let axis = self.random.below(rank - 1);
                        let joined = dims.remove(axis) * dims[axis];
                        dims[axis] = joined;
                    }
                    _ if rank < 6 => dims.insert(self.random.below(rank + 1), 1),
                    _ => dims.reverse(),
                }
                let to = tensor(a.1, &dims);
                let code = format!("stablehlo.reshape {} : ({from}) -> {to}", a.0);
                self.put(seen, a.1, &dims, &code);
            }
            5 if rank > 0 => {
                let axis = self.random.below(rank);
                let mut parts = vec![a.clone()];
                for _ in 0..self.random.below(4) {
                    let mut dims = a.2.clone();
                    dims[axis] = self.random.pick(&[0, 1, 2, 3]);
                    parts.push(self.get(seen, a.1, &dims));
                }
                let at = self.random.below(parts.len());
                parts.swap(0, at);
                let mut dims = a.2.clone();
                dims[axis] = parts.iter().map(|part| part.2[axis]).sum();
                let code = format!(
                    "stablehlo.concatenate {}, dim = {axis} : ({}) -> {}",
                    list(parts.iter().map(|part| &part.0)),
                    list(parts.iter().map(Value::of)),
                    tensor(a.1, &dims)
                );
                self.put(seen, a.1, &dims, &code);
            }
            _ => {
                let by = self.get(seen, a.1, &[]);
                let mut dims = Vec::new();
                let [mut low, mut high, mut inside] = [(); 3].map(|()| Vec::new());
                for &dim in &a.2 {
                    let between = self.random.pick(&[0, 0, 0, 1, 2]);
                    let spread = dim + dim.saturating_sub(1) * between;
                    let before = self.random.below(4);
                    let cut = spread + before > 1 && self.random.below(4) == 0;
                    let after = if cut { 0 } else { self.random.below(3) };
                    dims.push(spread + before + after - usize::from(cut));
                    low.push(before.to_string());
                    high.push(if cut { "-1".to_owned() } else { after.to_string() });
                    inside.push(between.to_string());
                }
                let code = format!(
                    "stablehlo.pad {}, {}, low = [{}], high = [{}], interior = [{}] : ({from}, {}) -> {}",
                    a.0,
                    by.0,
                    low.join(", "),
                    high.join(", "),
                    inside.join(", "),
                    by.of(),
                    tensor(a.1, &dims)
                );
                self.put(seen, a.1, &dims, &code);
            }
        }
    }

    /// A combiner of two elements of a type.
    pub(super) fn combiner(&mut self, element: &str) -> &'static str {
        match kind(element) {
            Kind::Boolean => self.random.pick(&["and", "or", "xor"]),
            Kind::Complex => self.random.pick(&["add", "multiply"]),
            Kind::Integer => {
                self.random.pick(&["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
            }
            Kind::Float => self.random.pick(&["add", "multiply", "maximum", "minimum"]),
        }
    }

    fn arithmetic(&mut self, seen: &mut Vec<Value>, a: &Value) {
        let (element, to) = (a.1, a.of());
        let b = self.get(seen, element, &a.2);
        match self.random.below(4) {
            0 if kind(element) != Kind::Boolean => {
                let names: &[&str] = match kind(element) {
                    Kind::Complex => &["negate", "cosine"],
                    Kind::Integer => &["negate", "not", "sign"],
                    _ => &["negate", "abs", "floor", "tanh", "sqrt", "sign"],
                };
                let name = self.random.pick(names);
                self.put(seen, element, &a.2, &format!("stablehlo.{name} {} : {to}", a.0));
            }
            1 => {
                let p = self.get(seen, "i1", &a.2);
                let code = format!("stablehlo.select {}, {}, {} : {}, {to}", p.0, a.0, b.0, p.of());
                self.put(seen, element, &a.2, &code);
            }
            2 => {
                let result = tensor("i1", &a.2);
                let word = if kind(element) == Kind::Complex { "NE" } else { "LT" };
                let code = format!(
                    "stablehlo.compare {word}, {}, {} : ({to}, {to}) -> {result}",
                    a.0, b.0
                );
                self.put(seen, "i1", &a.2, &code);
            }
            _ => {
                let name = self.combiner(element);
                let code = format!("stablehlo.{name} {}, {} : {to}", a.0, b.0);
                self.put(seen, element, &a.2, &code);
            }
        }
    }

    fn converted(&mut self, seen: &mut Vec<Value>, a: &Value) {
        let to = self.element();
        if kind(a.1) == Kind::Complex && kind(to) != Kind::Complex {
            return;
        }
        let result = tensor(to, &a.2);
        let code = format!("stablehlo.convert {} : ({}) -> {result}", a.0, a.of());
        self.put(seen, to, &a.2, &code);
    }

    fn reduction(&mut self, seen: &mut Vec<Value>, a: &Value) {
        let ones = self.random.below(2) == 0;
        let mut axes: Vec<usize> = (0..a.2.len())
            .filter(|&axis| self.random.below(if ones && a.2[axis] == 1 { 1 } else { 3 }) == 0)
            .collect();
        if axes.is_empty() && !a.2.is_empty() {
            axes.push(self.random.below(a.2.len()));
        }
        let dims: Vec<usize> =
            (0..a.2.len()).filter(|axis| !axes.contains(axis)).map(|axis| a.2[axis]).collect();
        let (init, name) = (self.get(seen, a.1, &[]), self.combiner(a.1));
        let code = format!(
            "stablehlo.reduce({} init: {}) applies stablehlo.{name} across dimensions = [{}] : ({}, {}) -> {}",
            a.0,
            init.0,
            list(axes),
            a.of(),
            init.of(),
            tensor(a.1, &dims)
        );
        self.put(seen, a.1, &dims, &code);
    }

    /// The largest element along an axis, with its place.
    fn picked(&mut self, seen: &mut Vec<Value>, a: &Value) {
        if a.2.is_empty() || kind(a.1) == Kind::Complex {
            return;
        }
        let axis = self.random.below(a.2.len());
        let places = tensor("i32", &a.2);
        let at = self.put(seen, "i32", &a.2, &format!("stablehlo.iota dim = {axis} : {places}"));
        let (first, zero) = (self.get(seen, a.1, &[]), self.get(seen, "i32", &[]));
        let mut dims = a.2.clone();
        dims.remove(axis);
        let (name, one, number) = (self.name(), tensor(a.1, &[]), tensor("i32", &[]));
        let [x, i, y, j, more, same, less, tie, take, value, place] =
            [(); 11].map(|()| self.name());
        writeln!(
            self.text,
            "{name}:2 = \"stablehlo.reduce\"({}, {}, {}, {}) ({{\n\
             ^bb0({x}: {one}, {i}: {number}, {y}: {one}, {j}: {number}):\n\
             {more} = stablehlo.compare GT, {x}, {y} : ({one}, {one}) -> tensor<i1>\n\
             {same} = stablehlo.compare EQ, {x}, {y} : ({one}, {one}) -> tensor<i1>\n\
             {less} = stablehlo.compare LT, {i}, {j} : ({number}, {number}) -> tensor<i1>\n\
             {tie} = stablehlo.and {same}, {less} : tensor<i1>\n\
             {take} = stablehlo.or {more}, {tie} : tensor<i1>\n\
             {value} = stablehlo.select {take}, {x}, {y} : tensor<i1>, {one}\n\
             {place} = stablehlo.select {take}, {i}, {j} : tensor<i1>, {number}\n\
             stablehlo.return {value}, {place} : {one}, {number}\n\
             }}) {{dimensions = array<i64: {axis}>}} : ({}, {places}, {one}, {number}) -> ({}, {})",
            a.0,
            at.0,
            first.0,
            zero.0,
            a.of(),
            tensor(a.1, &dims),
            tensor("i32", &dims)
        )
        .unwrap();
        seen.push(Value(format!("{name}#0"), a.1, dims.clone()));
        seen.push(Value(format!("{name}#1"), "i32", dims));
    }

    /// Rows in order, with those of another array beside them.
    fn sorted(&mut self, seen: &mut Vec<Value>, a: &Value) {
        if a.2.is_empty() || kind(a.1) == Kind::Complex {
            return;
        }
        let (axis, element) = (self.random.below(a.2.len()), self.element());
        let b = self.get(seen, element, &a.2);
        let (name, one, other) = (self.name(), tensor(a.1, &[]), tensor(element, &[]));
        let [x, y, i, j, less] = [(); 5].map(|()| self.name());
        let word = self.random.pick(&["LT", "GT"]);
        let (from, beside) = (a.of(), b.of());
        writeln!(
            self.text,
            "{name}:2 = \"stablehlo.sort\"({}, {}) ({{\n\
             ^bb0({x}: {one}, {y}: {one}, {i}: {other}, {j}: {other}):\n\
             {less} = stablehlo.compare {word}, {x}, {y} : ({one}, {one}) -> tensor<i1>\n\
             stablehlo.return {less} : tensor<i1>\n\
             }}) {{dimension = {axis} : i64, is_stable = true}} : ({from}, {beside}) -> ({from}, {beside})",
            a.0, b.0
        )
        .unwrap();
        seen.push(Value(format!("{name}#0"), a.1, a.2.clone()));
        seen.push(Value(format!("{name}#1"), element, a.2.clone()));
    }

    /// A part at a place that is known when it runs, taken from there or put there.
    fn part(&mut self, seen: &mut Vec<Value>, a: &Value) {
        let dims: Vec<usize> = a
            .2
            .iter()
            .map(|&dim| if self.random.below(2) == 0 { dim } else { self.random.below(dim + 1) })
            .collect();
        let starts: Vec<Value> = dims.iter().map(|_| self.get(seen, "i32", &[])).collect();
        let names: String = starts.iter().map(|start| format!(", {}", start.0)).collect();
        let types: String = starts.iter().map(|start| format!(", {}", start.of())).collect();
        if self.random.below(2) == 0 {
            let code = format!(
                "stablehlo.dynamic_slice {}{names}, sizes = [{}] : ({}{types}) -> {}",
                a.0,
                list(&dims),
                a.of(),
                tensor(a.1, &dims)
            );
            self.put(seen, a.1, &dims, &code);
            return;
        }
        let part = self.get(seen, a.1, &dims);
        let (whole, some) = (a.of(), part.of());
        let code = format!(
            "stablehlo.dynamic_update_slice {}, {}{names} : ({whole}, {some}{types}) -> {whole}",
            a.0, part.0
        );
        self.put(seen, a.1, &a.2, &code);
    }
}
