//! Loops that run often enough for their fused loops to be bound to their arrays: turned arrays,
//! rows, columns and counts beside elements.
use super::{Random, results};
use crate::compile::Passes;
use tpu_kernels::simd::at_every_level;

/// What a round computes.
struct Round {
    random: Random,
    dims: [usize; 2],
    code: String,
    floats: Vec<String>,
    integers: Vec<String>,
}

impl Round {
    fn of(&self, element: &str) -> String {
        format!("tensor<{}x{}x{element}>", self.dims[0], self.dims[1])
    }

    fn put(&mut self, element: &str, code: &str) -> String {
        let names = self.floats.len() + self.integers.len();
        let name = format!("%x{names}_{}", self.code.len());
        self.code.push_str(&format!("{name} = {code}\n"));
        let all = if element == "f32" { &mut self.floats } else { &mut self.integers };
        all.push(name.clone());
        name
    }

    fn get(&mut self, element: &str) -> String {
        let all = if element == "f32" { &self.floats } else { &self.integers };
        self.random.pick(all)
    }

    /// An array whose rows, or elements, begin elsewhere.
    fn turned(&mut self, element: &str) {
        let (of, axis) = (self.of(element), self.random.below(2));
        let by = self.random.below(self.dims[axis]);
        if by == 0 {
            return;
        }
        let from = self.get(element);
        let at = self.code.len();
        let halves = [(by, self.dims[axis]), (0, by)].map(|(first, end)| {
            let mut ranges = self.dims.map(|dim| format!("0:{dim}"));
            ranges[axis] = format!("{first}:{end}");
            let mut dims = self.dims;
            dims[axis] = end - first;
            let half = format!("tensor<{}x{}x{element}>", dims[0], dims[1]);
            let name = format!("%h{at}_{first}");
            let ranges = ranges.join(", ");
            self.code.push_str(&format!(
                "{name} = stablehlo.slice {from} [{ranges}] : ({of}) -> {half}\n"
            ));
            (name, half)
        });
        let [(a, a_of), (b, b_of)] = halves;
        let code =
            format!("stablehlo.concatenate {a}, {b}, dim = {axis} : ({a_of}, {b_of}) -> {of}");
        self.put(element, &code);
    }

    /// A row, or a column, beside each other one.
    fn spread(&mut self, element: &str) {
        let (of, axis) = (self.of(element), self.random.below(2));
        let from = self.get(element);
        let at = self.random.below(self.dims[1 - axis]);
        let mut ranges = self.dims.map(|dim| format!("0:{dim}"));
        ranges[1 - axis] = format!("{at}:{}", at + 1);
        let mut dims = self.dims;
        dims[1 - axis] = 1;
        let line = format!("tensor<{}x{}x{element}>", dims[0], dims[1]);
        let vector = format!("tensor<{}x{element}>", self.dims[axis]);
        let name = format!("%l{}", self.code.len());
        self.code.push_str(&format!(
            "{name} = stablehlo.slice {from} [{}] : ({of}) -> {line}
            {name}_v = stablehlo.reshape {name} : ({line}) -> {vector}\n",
            ranges.join(", ")
        ));
        let code =
            format!("stablehlo.broadcast_in_dim {name}_v, dims = [{axis}] : ({vector}) -> {of}");
        self.put(element, &code);
    }

    fn step(&mut self) {
        let element = self.random.pick(&["f32", "i32"]);
        let of = self.of(element);
        let [a, b] = [self.get(element), self.get(element)];
        match self.random.below(8) {
            0 | 1 => self.turned(element),
            2 => self.spread(element),
            3 => {
                let axis = self.random.below(2);
                self.put(element, &format!("stablehlo.iota dim = {axis} : {of}"));
            }
            4 => {
                let (from, to) = if element == "f32" { ("i32", "f32") } else { ("f32", "i32") };
                let value = self.get(from);
                let code =
                    format!("stablehlo.convert {value} : ({}) -> {}", self.of(from), self.of(to));
                self.put(to, &code);
            }
            _ => {
                let integers = ["add", "subtract", "xor", "remainder", "divide", "multiply"];
                let floats = ["add", "subtract", "multiply", "maximum"];
                let name = match element {
                    "f32" => self.random.pick(&floats),
                    _ => self.random.pick(&integers),
                };
                let value = self.put(element, &format!("stablehlo.{name} {a}, {b} : {of}"));
                let number = if element == "f32" { "9.0e1" } else { "1000" };
                let mut bound = |sign: &str| {
                    self.put(element, &format!("stablehlo.constant dense<{sign}{number}> : {of}"))
                };
                let (low, high) = (bound("-"), bound(""));
                self.put(element, &format!("stablehlo.clamp {low}, {value}, {high} : {of}"));
            }
        }
    }
}

fn program(seed: u64, dims: [usize; 2]) -> String {
    let random = Random(seed);
    let (floats, integers) = (vec!["%a".to_owned()], vec!["%b".to_owned()]);
    let mut round = Round { random, dims, code: String::new(), floats, integers };
    (0..9).for_each(|_| round.step());
    let (a, b) = (round.floats.last().unwrap(), round.integers.last().unwrap());
    let [f, i] = ["f32", "i32"].map(|element| round.of(element));
    format!(
        "func.func public @main(%x: {f}, %y: {i}) -> ({f}, {i}) {{
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %r:3 = stablehlo.while(%n = %zero, %a = %x, %b = %y) : tensor<i32>, {f}, {i}
        cond {{
            %most = stablehlo.constant dense<45> : tensor<i32>
            %go = stablehlo.compare LT, %n, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %go : tensor<i1>
        }} do {{
            %one = stablehlo.constant dense<1> : tensor<i32>
            %next = stablehlo.add %n, %one : tensor<i32>
            {}stablehlo.return %next, {a}, {b} : tensor<i32>, {f}, {i}
        }}
        return %r#1, %r#2 : {f}, {i}
        }}",
        round.code
    )
}

#[test]
fn bound_loops_give_the_bits_of_plain_programs() {
    let all = [[1, 1200], [1100, 1], [3, 700], [20, 100], [1, 1], [2, 1300], [5, 4]];
    for seed in 0..28 {
        let dims = all[usize::try_from(seed).unwrap() % all.len()];
        let text = program(seed, dims);
        let kept = [None; 2];
        let wanted = results(&text, &kept, Passes::NONE);
        at_every_level(|level| {
            let found = results(&text, &kept, Passes::ALL);
            assert_eq!(found, wanted, "seed {seed}, {level:?}\n{text}");
        });
    }
}
