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

    /// Elements of large arrays, at places that run past their ends.
    fn walk(&mut self) {
        let (at, column) = (self.get("i32"), self.get("i32"));
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
            match iteration.random.below(5) {
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
