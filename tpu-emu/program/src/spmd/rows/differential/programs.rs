//! Random code per device, as text.
use super::writer::{CodeWriter, Local, Mesh, Stand, f32s};
use crate::differential::Random;
use crate::sharding::groups::Devices;

const MESHES: &[Mesh] = &[
    &[("a", 2), ("b", 2), ("c", 2)],
    &[("a", 4), ("b", 2)],
    &[("a", 2), ("b", 3)],
    &[("a", 1), ("b", 4)],
    &[("a", 2)],
    &[("a", 5)],
];

impl CodeWriter {
    /// Which of the code's axes split each axis of an array, and the whole array's extents.
    fn split(&mut self, local: &[usize], axes: &[usize]) -> (Vec<Vec<usize>>, Vec<usize>) {
        let mut split = vec![Vec::new(); local.len()];
        let mut whole = local.to_vec();
        for &axis in axes {
            let at = self.random.below(local.len());
            split[at].push(axis);
            whole[at] *= self.mesh[axis].1;
        }
        (split, whole)
    }

    fn sharding(&self, split: &[Vec<usize>]) -> String {
        let names = |axes: &Vec<usize>| {
            let names: Vec<String> =
                axes.iter().map(|&axis| format!("{:?}", self.mesh[axis].0)).collect();
            format!("{{{}}}", names.join(", "))
        };
        format!("<@mesh, [{}]>", split.iter().map(names).collect::<Vec<_>>().join(", "))
    }

    fn axes(&mut self) -> Vec<usize> {
        let manual = self.manual.clone();
        manual.into_iter().filter(|_| self.random.below(3) > 0).collect()
    }

    /// A result, with how it is split: devices along other axes give the same.
    fn result(&mut self) -> (Local, Vec<Vec<usize>>, Vec<usize>) {
        let mut value = self.any();
        if value.dims.is_empty() {
            value = self.put(&[1], &format!("stablehlo.reshape {} : (tensor<f32>) ->", value.name));
        }
        let mut axes = self.axes();
        if self.random.below(2) == 0 {
            axes.clone_from(&self.manual);
        }
        let others: Vec<usize> =
            self.manual.iter().copied().filter(|axis| !axes.contains(axis)).collect();
        if !others.is_empty() && !self.replicas {
            let (groups, _) = self.groups_along(&others, false);
            let (table, channel) = (self.table(&groups), self.channel());
            let (by, from) = (self.reducer(), f32s(&value.dims));
            value = self.put(&value.dims, &format!("\"stablehlo.all_reduce\"({}) <{{{channel}replica_groups = {table}, use_global_device_ids}}> {by} : ({from}) ->", value.name));
        }
        let (split, whole) = self.split(&value.dims, &axes);
        (value, split, whole)
    }

    fn functions(&mut self) -> String {
        let all: Vec<usize> = (0..self.devices()).collect();
        let (table, channel) = (self.table(&[all]), self.channel());
        let word = self.number;
        let global = if self.replicas { "" } else { ", use_global_device_ids" };
        format!(
            "  func.func private @number(%a: tensor<f32>) -> tensor<f32> {{
    %n = stablehlo.{word} : tensor<ui32>
    %f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>
    %r = stablehlo.add %f, %a : tensor<f32>
    %b = stablehlo.sine %r : tensor<f32>
    return %b : tensor<f32>
  }}
  func.func private @total(%a: tensor<f32>) -> tensor<f32> {{
    %n = func.call @number(%a) : (tensor<f32>) -> tensor<f32>
    %r = \"stablehlo.all_reduce\"(%n) <{{{channel}replica_groups = {table}{global}}}> ({{
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.add %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }}\n"
        )
    }
}

/// A program, and what it runs on.
pub(super) fn program(seed: u64) -> (String, Devices) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
    let mesh = random.pick(MESHES);
    let replicas = random.below(4) == 0;
    let mut manual: Vec<usize> = (0..mesh.len()).collect();
    // Along other axes, devices run the same.
    if !replicas && mesh.len() > 1 && random.below(3) == 0 {
        manual.remove(random.below(mesh.len()));
    }
    let number = if replicas { "replica_id" } else { "partition_id" };
    let (text, seen) = (String::new(), Vec::new());
    let mut writer = CodeWriter { random, text, count: 0, mesh, manual, number, replicas, seen };
    let devices = Devices { count: writer.devices(), replicas, only: None };
    let part_of_all = writer.manual.len() < mesh.len();
    let (mut given, mut shardings) = (Vec::new(), Vec::new());
    for _ in 0..1 + writer.random.below(3) {
        let dims = writer.dims();
        let axes = if dims.is_empty() { Vec::new() } else { writer.axes() };
        let (split, whole) = writer.split(&dims, &axes);
        shardings.push(writer.sharding(&split));
        let name = writer.name();
        writer.seen.push(Local { name, dims });
        given.push(whole);
    }
    let parameters = writer.seen.clone();
    let functions = if part_of_all { String::new() } else { writer.functions() };
    let at = Stand { depth: 0, together: true };
    for _ in 0..4 + writer.random.below(14) {
        // The function sums over all devices.
        writer.step(at);
    }
    let results: Vec<_> = (0..1 + writer.random.below(3)).map(|_| writer.result()).collect();
    finish(&writer, (&parameters, &given, &shardings), &results, &functions)
        .map_or_else(|| program(seed.wrapping_add(1 << 32)), |text| (text, devices))
}

type Returned = (Local, Vec<Vec<usize>>, Vec<usize>);

fn finish(
    writer: &CodeWriter,
    (parameters, given, shardings): (&[Local], &[Vec<usize>], &[String]),
    results: &[Returned],
    functions: &str,
) -> Option<String> {
    if functions.is_empty() && writer.text.contains("func.call") {
        return None;
    }
    let typed =
        |dims: &[Vec<usize>]| dims.iter().map(|dims| f32s(dims)).collect::<Vec<_>>().join(", ");
    let list = |parameters: &[Local]| {
        let all: Vec<String> =
            parameters.iter().map(|one| format!("{}: {}", one.name, f32s(&one.dims))).collect();
        all.join(", ")
    };
    let names: Vec<&str> = results.iter().map(|(value, ..)| &*value.name).collect();
    let names = names.join(", ");
    let made: Vec<Vec<usize>> = results.iter().map(|(value, ..)| value.dims.clone()).collect();
    let made = typed(&made);
    let axes: Vec<String> =
        writer.mesh.iter().map(|(name, size)| format!("{name:?}={size}")).collect();
    let mesh = format!("  sdy.mesh @mesh = <[{}]>\n", axes.join(", "));
    if writer.replicas {
        let head = format!("func.func public @main({}) -> ({made}) {{", list(parameters));
        let body = &writer.text;
        return Some(format!(
            "module @m {{\n{functions}  {head}\n{body}      return {names} : {made}\n  }}\n}}"
        ));
    }
    let outs: Vec<String> = results.iter().map(|(_, split, _)| writer.sharding(split)).collect();
    let wholes: Vec<Vec<usize>> = results.iter().map(|(.., whole)| whole.clone()).collect();
    let manual: Vec<String> =
        writer.manual.iter().map(|&axis| format!("{:?}", writer.mesh[axis].0)).collect();
    let whole: Vec<Local> = given
        .iter()
        .enumerate()
        .map(|(at, dims)| Local { name: format!("%w{at}"), dims: dims.clone() })
        .collect();
    let operands: Vec<&str> = whole.iter().map(|one| &*one.name).collect();
    let gives: Vec<String> = (0..results.len()).map(|at| format!("%r#{at}")).collect();
    let (of_whole, of_results) = (typed(given), typed(&wholes));
    Some(format!(
        "module @m {{\n{mesh}{functions}  func.func public @main({}) -> ({of_results}) {{
    %r:{} = sdy.manual_computation({}) in_shardings=[{}] out_shardings=[{}] manual_axes={{{}}} ({}) {{
{}      sdy.return {names} : {made}
    }} : ({of_whole}) -> ({of_results})
    return {} : {of_results}
  }}
}}",
        list(&whole),
        results.len(),
        operands.join(", "),
        shardings.join(", "),
        outs.join(", "),
        manual.join(", "),
        list(parameters),
        writer.text,
        gives.join(", "),
    ))
}
