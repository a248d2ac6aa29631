//! Random loops over a few elements give the bits that their steps give.
use super::tests::{GO, compiles, scalar_of, text};
use crate::compile::Passes;
use crate::differential::{Random, plan_of, results};
use tpu_kernels::jit::is_here;
use tpu_kernels::simd::at_every_level;

/// Values of a random iteration by their types.
struct Iteration {
    random: Random,
    code: String,
    values: Vec<(String, &'static str)>,
}

impl Iteration {
    /// What an iteration begins with: numbers, small arrays, and arrays that are walked through.
    const TYPES: [&str; 6] = ["f32", "4xf32", "i32", "3xbf16", "30xf32", "25x2xi32"];

    fn get(&mut self, of: &str) -> String {
        let names: Vec<String> =
            self.values.iter().filter(|value| value.1 == of).map(|value| value.0.clone()).collect();
        self.random.pick(&names)
    }

    fn put(&mut self, of: &'static str, code: &str) -> String {
        let name = format!("%x{}", self.values.len());
        self.code.push_str(&format!("{name} = {code}\n"));
        self.values.push((name.clone(), of));
        name
    }

    /// Keeps numbers small: none becomes NaN.
    fn bounded(&mut self, of: &'static str, name: &str) {
        let number = if of.contains("i32") { "1000" } else { "1.0e2" };
        let mut bound = |sign: &str| {
            self.put(of, &format!("stablehlo.constant dense<{sign}{number}> : tensor<{of}>"))
        };
        let (low, high) = (bound("-"), bound(""));
        self.put(of, &format!("stablehlo.clamp {low}, {name}, {high} : tensor<{of}>"));
    }

    fn arithmetic(&mut self) {
        let of = self.random.pick(&["f32", "f32", "4xf32", "4xf32", "i32", "i32", "3xbf16"]);
        let name = self.random.pick(&["add", "subtract", "multiply", "maximum", "minimum"]);
        let (a, b) = (self.get(of), self.get(of));
        let made = self.put(of, &format!("stablehlo.{name} {a}, {b} : tensor<{of}>"));
        self.bounded(of, &made);
    }

    /// What has no instruction of its own, and choices.
    fn special(&mut self) {
        let [a, b, i, j] = ["f32", "f32", "i32", "i32"].map(|of| self.get(of));
        let (array, half) = (self.get("4xf32"), self.get("3xbf16"));
        let code = match self.random.below(6) {
            5 => {
                self.put("4xf32", &format!("stablehlo.sine {array} : tensor<4xf32>"));
                self.put("3xbf16", &format!("stablehlo.tanh {half} : tensor<3xbf16>"));
                format!("stablehlo.logistic {a} : tensor<f32>")
            }
            0 => format!("stablehlo.sine {a} : tensor<f32>"),
            1 => {
                self.put("i32", &format!("stablehlo.remainder {i}, {j} : tensor<i32>"));
                format!("stablehlo.logistic {b} : tensor<f32>")
            }
            2 => {
                let less = format!(
                    "stablehlo.compare LT, {a}, {b}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>"
                );
                let less = self.put("i1", &less);
                let name = format!("%x{}", self.values.len() + 1000);
                format!(
                    "\"stablehlo.if\"({less}) ({{
                    {name} = stablehlo.negate {a} : tensor<f32>
                    stablehlo.return {name} : tensor<f32>
                    }}, {{
                    stablehlo.return {b} : tensor<f32>
                    }}) : (tensor<i1>) -> tensor<f32>"
                )
            }
            3 => format!("stablehlo.convert {i} : (tensor<i32>) -> tensor<f32>"),
            _ => {
                self.put("i32", &format!("stablehlo.convert {a} : (tensor<f32>) -> tensor<i32>"));
                format!("stablehlo.abs {b} : tensor<f32>")
            }
        };
        self.put("f32", &code);
    }

    /// Elements of small arrays.
    fn parts(&mut self) {
        let (array, number, half) = (self.get("4xf32"), self.get("f32"), self.get("3xbf16"));
        match self.random.below(4) {
            0 => {
                let at = self.random.below(4);
                let one = format!(
                    "stablehlo.slice {array} [{at}:{}] : (tensor<4xf32>) -> tensor<1xf32>",
                    at + 1
                );
                let one = self.put("1xf32", &one);
                self.put(
                    "f32",
                    &format!("stablehlo.reshape {one} : (tensor<1xf32>) -> tensor<f32>"),
                );
            }
            1 => {
                let one = self.put(
                    "1xf32",
                    &format!("stablehlo.reshape {number} : (tensor<f32>) -> tensor<1xf32>"),
                );
                let rest =
                    format!("stablehlo.slice {array} [1:4] : (tensor<4xf32>) -> tensor<3xf32>");
                let rest = self.put("3xf32", &rest);
                let code = format!(
                    "stablehlo.concatenate {rest}, {one}, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>"
                );
                self.put("4xf32", &code);
            }
            2 => {
                let wide = format!("stablehlo.convert {half} : (tensor<3xbf16>) -> tensor<3xf32>");
                let wide = self.put("3xf32", &wide);
                let code = format!(
                    "stablehlo.pad {wide}, {number}, low = [1], high = [0], interior = [0] : \
                     (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>"
                );
                self.put("4xf32", &code);
            }
            _ => {
                let back = format!("stablehlo.reverse {array}, dims = [0] : tensor<4xf32>");
                self.put("4xf32", &back);
            }
        }
    }

    /// Small arrays reduced to numbers, to rows and to columns, and what is done row by row with them.
    fn reductions(&mut self) {
        let (array, number) = (self.get("4xf32"), self.get("f32"));
        let name = self.random.pick(&["add", "maximum", "minimum", "multiply"]);
        let by = |code: &str, init: &str, axis: usize, from: &str, to: &str| {
            format!(
                "stablehlo.reduce({code} init: {init}) applies stablehlo.{name} across \
                 dimensions = [{axis}] : (tensor<{from}>, tensor<f32>) -> tensor<{to}>"
            )
        };
        match self.random.below(4) {
            0 => {
                let total = self.put("f32", &by(&array, &number, 0, "4xf32", "f32"));
                self.bounded("f32", &total);
            }
            1 => {
                let (i, j) = (self.get("i32"), self.get("3xbf16"));
                let words = self.put(
                    "2xi32",
                    &format!(
                        "stablehlo.broadcast_in_dim {i}, dims = [] : (tensor<i32>) -> tensor<2xi32>"
                    ),
                );
                let name = self.random.pick(&["and", "or", "xor", "add", "maximum"]);
                self.put(
                    "i32",
                    &format!(
                        "stablehlo.reduce({words} init: {i}) applies stablehlo.{name} across \
                         dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>"
                    ),
                );
                let zero = self.put("bf16", "stablehlo.constant dense<0.0> : tensor<bf16>");
                let sum = self.put(
                    "bf16",
                    &format!(
                        "stablehlo.reduce({j} init: {zero}) applies stablehlo.maximum across \
                         dimensions = [0] : (tensor<3xbf16>, tensor<bf16>) -> tensor<bf16>"
                    ),
                );
                self.put(
                    "f32",
                    &format!("stablehlo.convert {sum} : (tensor<bf16>) -> tensor<f32>"),
                );
            }
            axis => {
                // A table of all pairs, reduced along one axis, and less by that.
                let spread = |code: &str, axis: usize, from: &str| {
                    format!(
                        "stablehlo.broadcast_in_dim {code}, dims = [{axis}] : (tensor<{from}>) -> tensor<4x4xf32>"
                    )
                };
                let (axis, other) = (axis - 2, self.get("4xf32"));
                let rows = self.put("4x4xf32", &spread(&array, 0, "4xf32"));
                let columns = self.put("4x4xf32", &spread(&other, 1, "4xf32"));
                let pairs = format!("stablehlo.subtract {rows}, {columns} : tensor<4x4xf32>");
                let pairs = self.put("4x4xf32", &pairs);
                let least = self.put("4xf32", &by(&pairs, &number, axis, "4x4xf32", "4xf32"));
                self.bounded("4xf32", &least);
                let least = self.get("4xf32");
                let back = self.put("4x4xf32", &spread(&least, 1 - axis, "4xf32"));
                let less = format!("stablehlo.subtract {pairs}, {back} : tensor<4x4xf32>");
                let less = self.put("4x4xf32", &less);
                let zero = self.put("f32", "stablehlo.constant dense<0.0> : tensor<f32>");
                let sums = format!(
                    "stablehlo.reduce({less} init: {zero}) applies stablehlo.add across \
                     dimensions = [{axis}] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>"
                );
                let sums = self.put("4xf32", &sums);
                self.bounded("4xf32", &sums);
            }
        }
    }

    /// An index: any, or one that an operation keeps between two numbers.
    fn index(&mut self) -> String {
        let (number, way) = (self.get("i32"), self.random.below(4));
        let (name, bounds): (_, &[&str]) = match way {
            0 => ("and", &["0", "1", "3", "15", "24", "26", "31", "-1"]),
            1 => ("shift_right_logical", &["0", "1", "27", "28", "31", "32", "40"]),
            2 => ("remainder", &["0", "1", "2", "25", "27", "-3"]),
            _ => return number,
        };
        let bound = self.random.pick(bounds);
        let bound = self.put("i32", &format!("stablehlo.constant dense<{bound}> : tensor<i32>"));
        let number = if way == 2 {
            self.put("i32", &format!("stablehlo.and {number}, {bound} : tensor<i32>"))
        } else {
            number
        };
        self.put("i32", &format!("stablehlo.{name} {number}, {bound} : tensor<i32>"))
    }

    /// Elements of large arrays, at places that run past their ends.
    fn walk(&mut self) {
        let (at, column) = (self.index(), self.index());
        match self.random.below(4) {
            0 => {
                let array = self.get("30xf32");
                let code = format!(
                    "stablehlo.dynamic_slice {array}, {at}, sizes = [4] : (tensor<30xf32>, tensor<i32>) -> tensor<4xf32>"
                );
                self.put("4xf32", &code);
            }
            1 => {
                let array = self.get("25x2xi32");
                let code = format!(
                    "stablehlo.dynamic_slice {array}, {at}, {column}, sizes = [1, 1] : \
                     (tensor<25x2xi32>, tensor<i32>, tensor<i32>) -> tensor<1x1xi32>"
                );
                let one = self.put("1x1xi32", &code);
                self.put(
                    "i32",
                    &format!("stablehlo.reshape {one} : (tensor<1x1xi32>) -> tensor<i32>"),
                );
            }
            2 => {
                let (array, four) = (self.get("30xf32"), self.get("4xf32"));
                let code = format!(
                    "stablehlo.dynamic_update_slice {array}, {four}, {at} : \
                     (tensor<30xf32>, tensor<4xf32>, tensor<i32>) -> tensor<30xf32>"
                );
                self.put("30xf32", &code);
            }
            _ => {
                let (array, number) = (self.get("25x2xi32"), self.get("i32"));
                let one = self.put(
                    "1x1xi32",
                    &format!("stablehlo.reshape {number} : (tensor<i32>) -> tensor<1x1xi32>"),
                );
                let code = format!(
                    "stablehlo.dynamic_update_slice {array}, {one}, {at}, {column} : \
                     (tensor<25x2xi32>, tensor<1x1xi32>, tensor<i32>, tensor<i32>) -> tensor<25x2xi32>"
                );
                self.put("25x2xi32", &code);
            }
        }
    }

    fn body(seed: u64) -> String {
        let begins = (1..).zip(Self::TYPES).map(|(at, of)| (format!("%b{at}"), of));
        let mut values: Vec<(String, &'static str)> = begins.collect();
        values.push(("%b0".into(), "i32"));
        let mut iteration = Self { random: Random(seed), code: String::new(), values };
        for _ in 0..4 + iteration.random.below(8) {
            match iteration.random.below(6) {
                5 => iteration.reductions(),
                0 => iteration.special(),
                1 => iteration.parts(),
                2 => iteration.walk(),
                _ => iteration.arithmetic(),
            }
        }
        // The last array of each type, so that most are updated where they lie.
        let mut next = |of: &str| match of {
            "30xf32" | "25x2xi32" => {
                let mut all = iteration.values.iter().rev();
                all.find(|value| value.1 == of).map(|value| value.0.clone()).unwrap_or_default()
            }
            _ => iteration.get(of),
        };
        let names = Self::TYPES.map(&mut next).join(", ");
        let types = Self::TYPES.map(|of| format!("tensor<{of}>")).join(", ");
        format!("{}stablehlo.return %next, {names} : tensor<i32>, {types}", iteration.code)
    }
}

#[test]
fn random_iterations_give_the_bits_of_their_steps() {
    let mut whole = 0;
    for seed in 0..150 {
        let text = text(45, &Iteration::TYPES, GO, &Iteration::body(seed));
        let kept = [None; 8];
        let plan = plan_of(&text);
        whole += usize::from(scalar_of(&plan.steps).is_some_and(compiles));
        let wanted = std::cell::OnceCell::new();
        at_every_level(|_| {
            let got = results(&text, &kept, Passes::ALL);
            assert_eq!(wanted.get_or_init(|| got.clone()), &got, "seed {seed}\n{text}");
        });
    }
    if is_here() {
        assert!(whole > 140, "{whole} of 150 loops are one piece of code");
    }
}
