//! Random programs over several devices, as text.
mod neighbours;

use crate::differential::Random;
use std::fmt::Write as _;

const MESHES: &[(usize, &[(&str, usize)])] = &[
    (8, &[("a", 2), ("b", 2), ("c", 2)]),
    (8, &[("a", 4), ("b", 2)]),
    (6, &[("a", 2), ("b", 3)]),
    (2, &[("a", 2)]),
];

/// A value of the text.
type Named = (String, Vec<usize>);

fn tensor(element: &str, dims: &[usize]) -> String {
    let mut text = "tensor<".to_owned();
    dims.iter().for_each(|dim| write!(text, "{dim}x").unwrap());
    text + element + ">"
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// A program that is being written.
struct Writer {
    random: Random,
    text: String,
    count: usize,
    mesh: &'static [(&'static str, usize)],
    seen: Vec<Named>,
}

impl Writer {
    fn name(&mut self) -> String {
        self.count += 1;
        format!("%v{}", self.count)
    }

    fn dims(&mut self) -> Vec<usize> {
        let rank = self.random.below(4);
        (0..rank).map(|_| self.random.pick(&[1, 4, 6, 8, 12, 12, 0, 7, 13, 24])).collect()
    }

    /// Axes of the mesh for each axis of an array.
    fn sharding(&mut self, dims: &[usize], closed: bool) -> String {
        let mut free: Vec<(&str, usize)> = self.mesh.to_vec();
        let mut parts = Vec::new();
        for &dim in dims {
            let (mut axes, mut count) = (Vec::new(), 1);
            while !free.is_empty() && self.random.below(2) == 0 {
                let at = self.random.below(free.len());
                if dim % (count * free[at].1) != 0 || dim == 0 {
                    break;
                }
                count *= free[at].1;
                axes.push(format!("{:?}", free.remove(at).0));
            }
            if !closed && self.random.below(2) == 0 {
                axes.push("?".to_owned());
            }
            parts.push(format!("{{{}}}", axes.join(", ")));
        }
        format!("<@mesh, [{}]>", parts.join(", "))
    }

    fn put(&mut self, dims: &[usize], code: &str) -> Named {
        let name = self.name();
        writeln!(self.text, "    {name} = {code} {}", tensor("f32", dims)).unwrap();
        let value = (name, dims.to_vec());
        self.seen.push(value.clone());
        value
    }

    /// Small numbers stay small.
    fn bounded(&mut self, value: &Named) -> Named {
        let (low, high) = (self.name(), self.name());
        let text = format!(
            "    {low} = stablehlo.constant dense<-4.0> : tensor<f32>\n    {high} = stablehlo.constant dense<4.0> : tensor<f32>\n"
        );
        self.text += &text;
        let of = tensor("f32", &value.1);
        let code = format!(
            "stablehlo.clamp {low}, {}, {high} : (tensor<f32>, {of}, tensor<f32>) ->",
            value.0
        );
        self.seen.pop();
        self.put(&value.1, &code)
    }

    fn like(&mut self, dims: &[usize]) -> Named {
        let same: Vec<Named> = self.seen.iter().filter(|one| one.1 == dims).cloned().collect();
        if !same.is_empty() && self.random.below(4) > 0 {
            return self.random.pick(&same);
        }
        let value = self.random.below(3);
        self.put(dims, &format!("stablehlo.constant dense<{value}.0> :"))
    }

    /// One more operation.
    fn step(&mut self, depth: usize) {
        let (name, dims) = self.random.pick(&self.seen.clone());
        let of = tensor("f32", &dims);
        let rank = dims.len();
        match self.random.below(27) {
            0 | 1 => {
                let (other, _) = self.like(&dims);
                let word = self.random.pick(&["add", "maximum", "subtract"]);
                let made = self.put(&dims, &format!("stablehlo.{word} {name}, {other} :"));
                self.bounded(&made);
            }
            2 if rank > 0 => {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|at| order.swap(at, self.random.below(at + 1)));
                let to: Vec<usize> = order.iter().map(|&axis| dims[axis]).collect();
                let code =
                    format!("stablehlo.transpose {name}, dims = [{}] : ({of}) ->", list(&order));
                self.put(&to, &code);
            }
            3 => {
                let size: usize = dims.iter().product();
                let shapes: Vec<Vec<usize>> = vec![
                    vec![size],
                    vec![1, size],
                    vec![2, size / 2],
                    vec![4, size / 4],
                    vec![size / 12, 12],
                    vec![size / 6, 2, 3],
                    vec![size / 8, 8],
                ];
                let to = self.random.pick(&shapes);
                if to.iter().product::<usize>() == size {
                    self.put(&to, &format!("stablehlo.reshape {name} : ({of}) ->"));
                }
            }
            4 if rank < 4 => {
                let mut to = dims.clone();
                let at = self.random.below(rank + 1);
                let size = self.random.pick(&[1, 4, 6]);
                to.insert(at, size);
                let kept: Vec<usize> = (0..=rank).filter(|&axis| axis != at).collect();
                let code = format!(
                    "stablehlo.broadcast_in_dim {name}, dims = [{}] : ({of}) ->",
                    list(&kept)
                );
                self.put(&to, &code);
            }
            5 | 6 if rank > 0 => {
                let (word, first) = self.random.pick(&[("add", "0.0"), ("maximum", "0xFF800000")]);
                let start = self.name();
                writeln!(
                    self.text,
                    "    {start} = stablehlo.constant dense<{first}> : tensor<f32>"
                )
                .unwrap();
                let gone: Vec<usize> = (0..rank).filter(|_| self.random.below(2) == 0).collect();
                let kept = (0..rank).filter(|axis| !gone.contains(axis));
                let to: Vec<usize> = kept.map(|axis| dims[axis]).collect();
                let code = format!(
                    "stablehlo.reduce({name} init: {start}) applies stablehlo.{word} across dimensions = [{}] : ({of}, tensor<f32>) ->",
                    list(&gone)
                );
                let made = self.put(&to, &code);
                self.bounded(&made);
            }
            7..=9 if rank > 0 => {
                let axis = self.random.below(rank);
                let other: Vec<Named> =
                    self.seen.iter().filter(|one| one.1.contains(&dims[axis])).cloned().collect();
                let (right, sizes) = self.random.pick(&other);
                let with = sizes.iter().position(|&size| size == dims[axis]).unwrap();
                let batch = (0..rank).find_map(|left| {
                    let right =
                        (0..sizes.len()).find(|&at| at != with && sizes[at] == dims[left])?;
                    (left != axis).then_some((left, right))
                });
                let batch = batch.filter(|_| self.random.below(2) == 0);
                let skip = |at: usize, side: usize, gone: usize| {
                    at == gone || batch.is_some_and(|pair| [pair.0, pair.1][side] == at)
                };
                let mut to: Vec<usize> = batch.iter().map(|pair| dims[pair.0]).collect();
                to.extend((0..rank).filter(|&at| !skip(at, 0, axis)).map(|at| dims[at]));
                to.extend((0..sizes.len()).filter(|&at| !skip(at, 1, with)).map(|at| sizes[at]));
                if to.len() > 4 || to.iter().product::<usize>() > 4000 {
                    return;
                }
                let batching = batch.map_or(String::new(), |(left, right)| {
                    format!("batching_dims = [{left}] x [{right}], ")
                });
                let code = format!(
                    "stablehlo.dot_general {name}, {right}, {batching}contracting_dims = [{axis}] x [{with}] : ({of}, {}) ->",
                    tensor("f32", &sizes)
                );
                let made = self.put(&to, &code);
                self.bounded(&made);
            }
            10 if rank > 0 => {
                let axis = self.random.below(rank);
                let (begin, end) = match dims[axis] {
                    0..=1 => (0, dims[axis]),
                    size => {
                        let some = [(0, size / 2), (size / 2, size), (0, size), (1, size)];
                        let more = [(0, size - 1), (size / 3, size - size / 4)];
                        self.random.pick(&[&some[..], &more].concat())
                    }
                };
                let step = self.random.pick(&[1, 1, 1, 2, 3]);
                let mut to = dims.clone();
                to[axis] = usize::div_ceil(end - begin, step);
                let ranges: Vec<String> = (0..rank)
                    .map(|at| {
                        if at == axis {
                            format!("{begin}:{end}:{step}")
                        } else {
                            format!("0:{}", dims[at])
                        }
                    })
                    .collect();
                let code = format!("stablehlo.slice {name} [{}] : ({of}) ->", ranges.join(", "));
                self.put(&to, &code);
            }
            11 if rank > 0 => {
                let axis = self.random.below(rank);
                let beside = |one: &&Named| {
                    let others = (0..rank).filter(|&at| at != axis);
                    one.1.len() == rank && { others }.all(|at| one.1[at] == dims[at])
                };
                let others: Vec<Named> = self.seen.iter().filter(beside).cloned().collect();
                let count = self.random.below(3) + 1;
                let mut all = vec![(name, dims.clone())];
                all.extend((0..count).map(|_| self.random.pick(&others)));
                let mut to = dims.clone();
                to[axis] = all.iter().map(|one| one.1[axis]).sum();
                if to.iter().product::<usize>() < 4000 {
                    let names: Vec<&str> = all.iter().map(|one| &one.0[..]).collect();
                    let types: Vec<String> = all.iter().map(|one| tensor("f32", &one.1)).collect();
                    let code = format!(
                        "stablehlo.concatenate {}, dim = {axis} : ({}) ->",
                        names.join(", "),
                        types.join(", ")
                    );
                    self.put(&to, &code);
                }
            }
            12 if rank > 0 => {
                let axis = self.random.below(rank);
                let code = format!("stablehlo.iota dim = {axis} :");
                let (counts, _) = self.put(&dims, &code);
                let made = self.put(&dims, &format!("stablehlo.add {counts}, {name} :"));
                self.bounded(&made);
            }
            13 if rank > 0 => {
                let axis = self.random.below(rank);
                let at = self.name();
                let start = self.random.below(3);
                writeln!(self.text, "    {at} = stablehlo.constant dense<{start}> : tensor<i32>")
                    .unwrap();
                let mut to = dims.clone();
                to[axis] = to[axis].div_ceil(2);
                let starts = vec![at.clone(); rank].join(", ");
                let types = vec!["tensor<i32>"; rank].join(", ");
                let code = format!(
                    "stablehlo.dynamic_slice {name}, {starts}, sizes = [{}] : ({of}, {types}) ->",
                    list(&to)
                );
                let (part, _) = self.put(&to, &code);
                let code = format!(
                    "stablehlo.dynamic_update_slice {name}, {part}, {starts} : ({of}, {}, {types}) ->",
                    tensor("f32", &to)
                );
                self.put(&dims, &code);
            }
            14 if rank > 0 && dims[0] > 0 => {
                let rows = self.random.pick(&[1, 4, 12]);
                let at = self.name();
                // Some are past the ends.
                let most = i64::try_from(dims[0]).unwrap();
                let mut index = || i64::try_from(self.random.below(dims[0] + 4)).unwrap() - 2;
                let indices: Vec<String> =
                    (0..rows).map(|_| format!("[{}]", index().min(most))).collect();
                let indices = indices.join(", ");
                writeln!(
                    self.text,
                    "    {at} = stablehlo.constant dense<[{indices}]> : tensor<{rows}x1xi32>"
                )
                .unwrap();
                let mut to = dims.clone();
                to[0] = rows;
                let offsets: Vec<usize> = (1..rank).collect();
                let sizes = [&[1], &dims[1..]].concat();
                let code = format!(
                    "\"stablehlo.gather\"({name}, {at}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: {}>}}> : ({of}, tensor<{rows}x1xi32>) ->",
                    list(&offsets),
                    list(&sizes)
                );
                let (updates, to) = self.put(&to, &code);
                let (into, _) = self.like(&dims);
                let (x, y, z) = (self.name(), self.name(), self.name());
                let word = self.random.pick(&["add", "add", "maximum"]);
                let code = format!(
                    "\"stablehlo.scatter\"({into}, {at}, {updates}) ({{\n    ^bb0({x}: tensor<f32>, {y}: tensor<f32>):\n      {z} = stablehlo.{word} {x}, {y} : tensor<f32>\n      stablehlo.return {z} : tensor<f32>\n    }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} : ({of}, tensor<{rows}x1xi32>, {}) ->",
                    list(&offsets),
                    tensor("f32", &to)
                );
                let made = self.put(&dims, &code);
                self.bounded(&made);
            }
            15 if rank > 0 => {
                let axis = self.random.below(rank);
                let code = format!("stablehlo.reverse {name}, dims = [{axis}] :");
                let (turned, _) = self.put(&dims, &code);
                let (x, y, z) = (self.name(), self.name(), self.name());
                let code = format!(
                    "\"stablehlo.sort\"({turned}) ({{\n    ^bb0({x}: tensor<f32>, {y}: tensor<f32>):\n      {z} = stablehlo.compare LT, {x}, {y} : (tensor<f32>, tensor<f32>) -> tensor<i1>\n      stablehlo.return {z} : tensor<i1>\n    }}) {{dimension = {axis} : i64, is_stable = true}} : ({of}) ->"
                );
                self.put(&dims, &code);
            }
            16 | 17 => {
                let stated = self.sharding(&dims, false);
                self.put(&dims, &format!("sdy.sharding_constraint {name} {stated} :"));
            }
            18 | 20 if rank > 0 && depth == 0 => self.padded(&name, &dims),
            21 if rank > 0 => {
                let axis = self.random.below(rank);
                self.put(&dims, &format!("stablehlo.reverse {name}, dims = [{axis}] :"));
            }
            22 if rank > 0 => self.windows(&name, &dims),
            23 if rank > 2 => self.convolution(&name, &dims),
            24 if rank > 0 => self.rolled(&name, &dims),
            26 if rank > 0 => self.summed_but_one(&name, &dims),
            25 if rank > 0 => self.scattered_back(&name, &dims),
            19 if depth == 0 => self.repeated(&name, &dims),
            _ => {}
        }
    }

    fn constant(&mut self, number: &str) -> String {
        let name = self.name();
        writeln!(self.text, "    {name} = stablehlo.constant dense<{number}> : tensor<f32>")
            .unwrap();
        name
    }

    /// A loop of two rounds over a value.
    fn repeated(&mut self, name: &str, dims: &[usize]) {
        let of = tensor("f32", dims);
        let (zero, one, two) = (self.name(), self.name(), self.name());
        for (name, number) in [(&zero, 0), (&one, 1), (&two, 2)] {
            writeln!(self.text, "    {name} = stablehlo.constant dense<{number}> : tensor<i32>")
                .unwrap();
        }
        let (count, carried, result) = (self.name(), self.name(), self.name());
        let (again, next) = (self.name(), self.name());
        writeln!(
            self.text,
            "    {result}:2 = stablehlo.while({count} = {zero}, {carried} = {name}) : tensor<i32>, {of}\n    cond {{\n      {again} = stablehlo.compare LT, {count}, {two} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n      stablehlo.return {again} : tensor<i1>\n    }} do {{"
        )
        .unwrap();
        let outer = self.seen.clone();
        self.seen.push((carried, dims.to_vec()));
        for _ in 0..3 {
            self.step(1);
        }
        let (made, _) = self.like(dims);
        writeln!(
            self.text,
            "      {next} = stablehlo.add {count}, {one} : tensor<i32>\n      stablehlo.return {next}, {made} : tensor<i32>, {of}\n    }}"
        )
        .unwrap();
        self.seen = outer;
        self.seen.push((format!("{result}#1"), dims.to_vec()));
    }
}

/// A program with shardings, and over how many devices.
pub(super) fn program(seed: u64) -> (String, usize) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (count, mesh) = random.pick(MESHES);
    let mut writer = Writer { random, text: String::new(), count: 0, mesh, seen: Vec::new() };
    let mut parameters = Vec::new();
    for at in 0..2 + writer.random.below(3) {
        let dims = writer.dims();
        let stated = writer.sharding(&dims, true);
        let of = tensor("f32", &dims);
        let stated = match writer.random.below(4) {
            0 => String::new(),
            _ => format!(" {{sdy.sharding = #sdy.sharding{stated}}}"),
        };
        parameters.push(format!("%p{at}: {of}{stated}"));
        writer.seen.push((format!("%p{at}"), dims));
    }
    for _ in 0..4 + writer.random.below(10) {
        writer.step(0);
    }
    let mut results = Vec::new();
    let mut types = Vec::new();
    for _ in 0..1 + writer.random.below(3) {
        let seen = writer.seen.clone();
        let (name, dims) = writer.random.pick(&seen);
        let stated = writer.sharding(&dims, true);
        let stated = match writer.random.below(2) {
            0 => String::new(),
            _ => format!(" {{sdy.sharding = #sdy.sharding{stated}}}"),
        };
        types.push((tensor("f32", &dims), stated));
        results.push(name);
    }
    let axes: Vec<String> = mesh.iter().map(|(name, size)| format!("{name:?}={size}")).collect();
    let plain: Vec<&str> = types.iter().map(|(of, _)| &of[..]).collect();
    let declared: Vec<String> = types.iter().map(|(of, stated)| format!("{of}{stated}")).collect();
    let text = format!(
        "module {{\n  sdy.mesh @mesh = <[{}]>\n  func.func public @main({}) -> ({}) {{\n{}    return {} : {}\n  }}\n}}",
        axes.join(", "),
        parameters.join(", "),
        declared.join(", "),
        writer.text,
        results.join(", "),
        plain.join(", ")
    );
    (text, count)
}
