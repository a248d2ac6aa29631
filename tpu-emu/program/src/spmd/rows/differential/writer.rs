//! Writes random operations of code per device, as text.
use crate::differential::Random;
use std::fmt::Write as _;

pub(super) type Mesh = &'static [(&'static str, usize)];

#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) name: String,
    pub(super) dims: Vec<usize>,
}

fn of(element: &str, dims: &[usize]) -> String {
    let mut text = "tensor<".to_owned();
    dims.iter().for_each(|dim| write!(text, "{dim}x").unwrap());
    text + element + ">"
}

pub(super) fn f32s(dims: &[usize]) -> String {
    of("f32", dims)
}

/// Whether an array of these extents keeps a test short.
fn is_small(dims: &[usize]) -> bool {
    dims.iter().product::<usize>() <= 400
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Where an operation may stand: collectives need all devices.
#[derive(Clone, Copy)]
pub(super) struct Stand {
    pub(super) depth: usize,
    pub(super) together: bool,
}

pub(super) struct CodeWriter {
    pub(super) random: Random,
    pub(super) text: String,
    pub(super) count: usize,
    pub(super) mesh: Mesh,
    /// The axes that the code is manual along, as numbers.
    pub(super) manual: Vec<usize>,
    /// Operation that gives a device's number.
    pub(super) number: &'static str,
    pub(super) replicas: bool,
    pub(super) seen: Vec<Local>,
}

impl CodeWriter {
    pub(super) fn name(&mut self) -> String {
        self.count += 1;
        format!("%v{}", self.count)
    }

    pub(super) fn dims(&mut self) -> Vec<usize> {
        let rank = self.random.below(4);
        (0..rank).map(|_| self.random.pick(&[1, 1, 2, 3, 4, 6, 8, 0])).collect()
    }

    fn line(&mut self, text: &str) {
        writeln!(self.text, "      {text}").unwrap();
    }

    /// A new value of an operation, whose text ends before the type of the result.
    pub(super) fn put(&mut self, dims: &[usize], code: &str) -> Local {
        let name = self.name();
        let result = f32s(dims);
        self.line(&format!("{name} = {code} {result}"));
        let value = Local { name, dims: dims.to_vec() };
        self.seen.push(value.clone());
        value
    }

    pub(super) fn any(&mut self) -> Local {
        let seen = self.seen.clone();
        self.random.pick(&seen)
    }

    fn like(&mut self, dims: &[usize]) -> Local {
        let same: Vec<Local> = self.seen.iter().filter(|one| one.dims == dims).cloned().collect();
        if !same.is_empty() && self.random.below(4) > 0 {
            return self.random.pick(&same);
        }
        let value = self.random.below(5);
        self.put(dims, &format!("stablehlo.constant dense<{value}.5> :"))
    }

    /// Keeps numbers small, of which sums and products are made again and again.
    fn bounded(&mut self, value: &Local) -> Local {
        self.seen.pop();
        self.put(&value.dims, &format!("stablehlo.tanh {} :", value.name))
    }

    /// The place of a device along each axis.
    fn place(&self, device: usize) -> Vec<usize> {
        let dims: Vec<usize> = self.mesh.iter().map(|(_, size)| *size).collect();
        crate::grid::digits(device, &dims)
    }

    pub(super) fn devices(&self) -> usize {
        self.mesh.iter().map(|(_, size)| size).product()
    }

    /// Devices that differ only along some of the axes of the code, each group in the same order;
    /// and how many are in each.
    fn groups(&mut self) -> (Vec<Vec<usize>>, usize) {
        let manual = self.manual.clone();
        let mut taken: Vec<usize> =
            manual.into_iter().filter(|_| self.random.below(3) > 0).collect();
        if taken.is_empty() {
            taken.clone_from(&self.manual);
        }
        self.groups_along(&taken, self.random.0 & 1 << 40 != 0)
    }

    pub(super) fn groups_along(&self, taken: &[usize], turned: bool) -> (Vec<Vec<usize>>, usize) {
        let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for device in 0..self.devices() {
            let mut key = self.place(device);
            taken.iter().for_each(|&axis| key[axis] = 0);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, group)) => group.push(device),
                None => groups.push((key, vec![device])),
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_iter().map(|(_, group)| group).collect();
        if turned {
            groups.iter_mut().for_each(|group| group.reverse());
        }
        let count = groups[0].len();
        (groups, count)
    }

    pub(super) fn channel(&self) -> &'static str {
        if self.replicas {
            ""
        } else {
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, "
        }
    }

    pub(super) fn table(&self, groups: &[Vec<usize>]) -> String {
        let rows: Vec<String> = groups.iter().map(|group| format!("[{}]", list(group))).collect();
        let (rows, count) = (rows.join(", "), groups.len());
        format!("dense<[{rows}]> : tensor<{count}x{}xi64>", groups[0].len())
    }

    pub(super) fn reducer(&mut self) -> String {
        let word = self.random.pick(&["add", "add", "maximum", "subtract"]);
        format!(
            "({{
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.{word} %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }})"
        )
    }

    fn collective(&mut self) {
        let Local { name, dims } = self.any();
        let from = f32s(&dims);
        let (groups, count) = self.groups();
        let (table, channel) = (self.table(&groups), self.channel());
        let global = if self.replicas { "" } else { ", use_global_device_ids" };
        let rank = dims.len();
        match self.random.below(7) {
            0 | 1 => {
                let by = self.reducer();
                let made = self.put(&dims, &format!("\"stablehlo.all_reduce\"({name}) <{{{channel}replica_groups = {table}{global}}}> {by} : ({from}) ->"));
                self.bounded(&made);
            }
            2 if rank > 0 => {
                let axis = self.random.below(rank);
                let mut to = dims.clone();
                to[axis] *= count;
                if is_small(&to) {
                    self.put(&to, &format!("\"stablehlo.all_gather\"({name}) <{{all_gather_dim = {axis} : i64, {channel}replica_groups = {table}{global}}}> : ({from}) ->"));
                }
            }
            3 if rank > 0 => {
                let axis = self.random.below(rank);
                if dims[axis] % count == 0 {
                    let mut to = dims.clone();
                    to[axis] /= count;
                    let by = self.reducer();
                    let made = self.put(&to, &format!("\"stablehlo.reduce_scatter\"({name}) <{{{channel}replica_groups = {table}, scatter_dimension = {axis} : i64{global}}}> {by} : ({from}) ->"));
                    self.bounded(&made);
                }
            }
            4 if rank > 0 => {
                let (split, concat) = (self.random.below(rank), self.random.below(rank));
                if dims[split] % count == 0 {
                    let mut to = dims.clone();
                    to[split] /= count;
                    to[concat] *= count;
                    self.put(&to, &format!("\"stablehlo.all_to_all\"({name}) <{{{channel}concat_dimension = {concat} : i64, replica_groups = {table}, split_count = {count} : i64, split_dimension = {split} : i64}}> : ({from}) ->"));
                }
            }
            5 => {
                self.put(&dims, &format!("\"stablehlo.collective_broadcast\"({name}) <{{{channel}replica_groups = {table}}}> : ({from}) ->"));
            }
            _ => {
                let shift = self.random.below(count);
                let wraps = self.random.below(2) == 0;
                let mut pairs = Vec::new();
                for group in &groups {
                    for (at, &device) in group.iter().enumerate() {
                        if wraps || at + shift < count {
                            pairs.push(vec![device, group[(at + shift) % count]]);
                        }
                    }
                }
                let table = self.table(&pairs);
                self.put(&dims, &format!("\"stablehlo.collective_permute\"({name}) <{{{channel}source_target_pairs = {table}}}> : ({from}) ->"));
            }
        }
    }

    /// The number of the device, below a limit, as an integer.
    fn number(&mut self, limit: usize) -> String {
        let [own, most, some, signed] = [(); 4].map(|()| self.name());
        let word = self.number;
        self.line(&format!("{own} = stablehlo.{word} : tensor<ui32>"));
        self.line(&format!("{most} = stablehlo.constant dense<{limit}> : tensor<ui32>"));
        self.line(&format!("{some} = stablehlo.remainder {own}, {most} : tensor<ui32>"));
        self.line(&format!("{signed} = stablehlo.convert {some} : (tensor<ui32>) -> tensor<i32>"));
        signed
    }

    fn with_number(&mut self) {
        let Local { name, dims } = self.any();
        let limit = 1 + self.random.below(4);
        let number = self.number(limit);
        let scalar = self.put(&[], &format!("stablehlo.convert {number} : (tensor<i32>) ->"));
        let code =
            format!("stablehlo.broadcast_in_dim {}, dims = [] : (tensor<f32>) ->", scalar.name);
        let wide = self.put(&dims, &code);
        self.put(&dims, &format!("stablehlo.add {name}, {} :", wide.name));
    }

    fn shape_of(&mut self) {
        let Local { name, dims } = self.any();
        let (from, rank) = (f32s(&dims), dims.len());
        match self.random.below(5) {
            0 if rank > 0 => {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|at| order.swap(at, self.random.below(at + 1)));
                let to: Vec<usize> = order.iter().map(|&axis| dims[axis]).collect();
                let order = list(&order);
                self.put(
                    &to,
                    &format!("stablehlo.transpose {name}, dims = [{order}] : ({from}) ->"),
                );
            }
            1 => {
                let size: usize = dims.iter().product();
                let to = vec![1, size];
                self.put(&to, &format!("stablehlo.reshape {name} : ({from}) ->"));
            }
            2 if rank < 3 => {
                let at = self.random.below(rank + 1);
                let mut to = dims.clone();
                to.insert(at, self.random.pick(&[1, 2, 3]));
                let kept: Vec<usize> = (0..=rank).filter(|&axis| axis != at).collect();
                let kept = list(&kept);
                if is_small(&to) {
                    self.put(
                        &to,
                        &format!(
                            "stablehlo.broadcast_in_dim {name}, dims = [{kept}] : ({from}) ->"
                        ),
                    );
                }
            }
            3 if rank > 0 => {
                let (mut ranges, mut to) = (Vec::new(), Vec::new());
                for &dim in &dims {
                    let low = self.random.below(dim + 1);
                    let high = low + self.random.below(dim - low + 1);
                    ranges.push(format!("{low}:{high}"));
                    to.push(high - low);
                }
                let ranges = ranges.join(", ");
                self.put(&to, &format!("stablehlo.slice {name} [{ranges}] : ({from}) ->"));
            }
            _ if rank > 0 => {
                let zero = self.put(&[], "stablehlo.constant dense<0.0> :").name;
                let axis = self.random.below(rank);
                let mut to = dims.clone();
                to.remove(axis);
                let made = self.put(&to, &format!("stablehlo.reduce({name} init: {zero}) applies stablehlo.add across dimensions = [{axis}] : ({from}, tensor<f32>) ->"));
                self.bounded(&made);
            }
            _ => {}
        }
    }

    fn product(&mut self) {
        let Local { name, dims } = self.any();
        let [rows, inner] = dims[..] else { return };
        let columns = self.random.pick(&[1, 2, 5]);
        let other = self.like(&[inner, columns]);
        let (l, r) = (f32s(&dims), f32s(&[inner, columns]));
        let code = format!(
            "stablehlo.dot_general {name}, {}, contracting_dims = [1] x [0] : ({l}, {r}) ->",
            other.name
        );
        let made = self.put(&[rows, columns], &code);
        self.bounded(&made);
    }

    /// Rows of an array from the one on that has the device's number.
    fn picked(&mut self) {
        let Local { name, dims } = self.any();
        let [rows, columns] = dims[..] else { return };
        if rows == 0 {
            return;
        }
        let start = self.number(rows);
        let zero = self.name();
        self.line(&format!("{zero} = stablehlo.constant dense<0> : tensor<i32>"));
        let from = f32s(&dims);
        self.put(&[1, columns], &format!("stablehlo.dynamic_slice {name}, {start}, {zero}, sizes = [1, {columns}] : ({from}, tensor<i32>, tensor<i32>) ->"));
    }

    /// Operations in a region; gives a value like `wanted`.
    fn inside(&mut self, at: Stand, wanted: &[usize]) -> Local {
        let known = self.seen.len();
        let at = Stand { depth: at.depth + 1, ..at };
        for _ in 0..1 + self.random.below(4) {
            self.step(at);
        }
        let made: Vec<Local> =
            self.seen[known..].iter().filter(|one| one.dims == wanted).cloned().collect();
        let made = if made.is_empty() { self.like(wanted) } else { self.random.pick(&made) };
        self.seen.truncate(known);
        made
    }

    fn looping(&mut self, at: Stand) {
        let start = self.any();
        let result = f32s(&start.dims);
        // Devices that go their own ways wait for nobody.
        let apart = self.random.below(2) == 0;
        let bound = if apart { self.number(4) } else { self.name() };
        if !apart {
            self.line(&format!("{bound} = stablehlo.constant dense<3> : tensor<i32>"));
        }
        let [zero, made, carried, count, test, one, next] = [(); 7].map(|()| self.name());
        self.line(&format!("{zero} = stablehlo.constant dense<0> : tensor<i32>"));
        self.line(&format!(
            "{made}:2 = stablehlo.while({carried} = {}, {count} = {zero}) : {result}, tensor<i32>",
            start.name
        ));
        self.line("cond {");
        self.line(&format!("{test} = stablehlo.compare LT, {count}, {bound} : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
        self.line(&format!("stablehlo.return {test} : tensor<i1>\n      }} do {{"));
        let known = self.seen.len();
        self.seen.push(Local { name: carried.clone(), dims: start.dims.clone() });
        let again = self.inside(Stand { together: at.together && !apart, ..at }, &start.dims);
        self.seen.truncate(known);
        self.line(&format!("{one} = stablehlo.constant dense<1> : tensor<i32>"));
        self.line(&format!("{next} = stablehlo.add {count}, {one} : tensor<i32>"));
        let last = self.name();
        self.line(&format!("{last} = stablehlo.add {}, {carried} : {result}", again.name));
        self.line(&format!("stablehlo.return {last}, {next} : {result}, tensor<i32>\n      }}"));
        let made = Local { name: format!("{made}#0"), dims: start.dims };
        self.seen.push(made.clone());
        self.bounded(&made);
    }

    fn choosing(&mut self, at: Stand) {
        let like = self.any();
        let result = f32s(&like.dims);
        let apart = self.random.below(3) > 0;
        let count = 1 + self.random.below(3);
        let chosen = if apart { self.number(4) } else { self.name() };
        if !apart {
            let which = self.random.below(4);
            self.line(&format!("{chosen} = stablehlo.constant dense<{which}> : tensor<i32>"));
        }
        let made = self.name();
        self.line(&format!("{made} = \"stablehlo.case\"({chosen}) ({{"));
        for number in 0..count {
            if number > 0 {
                self.line("}, {");
            }
            let inside = Stand { together: at.together && !apart, ..at };
            let given = self.inside(inside, &like.dims);
            self.line(&format!("stablehlo.return {} : {result}", given.name));
        }
        self.line(&format!("}}) : (tensor<i32>) -> {result}"));
        self.seen.push(Local { name: made, dims: like.dims });
    }

    fn calling(&mut self, at: Stand) {
        let scalars: Vec<Local> =
            self.seen.iter().filter(|one| one.dims.is_empty()).cloned().collect();
        if scalars.is_empty() {
            return;
        }
        let given = self.random.pick(&scalars).name;
        let callee = if at.together { self.random.pick(&["number", "total"]) } else { "number" };
        self.put(&[], &format!("func.call @{callee}({given}) : (tensor<f32>) ->"));
    }

    /// One more operation.
    pub(super) fn step(&mut self, at: Stand) {
        match self.random.below(16) {
            0..3 => {
                let Local { name, dims } = self.any();
                let other = self.like(&dims).name;
                let word = self.random.pick(&["add", "maximum", "subtract", "multiply", "divide"]);
                let made = self.put(&dims, &format!("stablehlo.{word} {name}, {other} :"));
                self.bounded(&made);
            }
            3..5 => self.shape_of(),
            5 => self.product(),
            6 => self.with_number(),
            7 => self.picked(),
            8 if at.depth < 2 => self.looping(at),
            9 if at.depth < 2 => self.choosing(at),
            10 => self.calling(at),
            _ if at.together => self.collective(),
            _ => self.with_number(),
        }
    }
}
