//! Programs whose devices have nothing to exchange: each has its part of what one device makes of
//! the whole, bit for bit.
use super::machine::{Array, bytes, f32s, get, launch_all, machine};
use super::sharded::{compile, put};
use std::sync::Arc;
use tpu_emu::tensor::DType;
use tpu_emu::{Buffer, Emulator};

/// An array of the program: its type, how it is split (`x`, `y` or `i` is an axis of a mesh, `-`
/// is none), and other attributes.
#[derive(Clone, Copy)]
struct Of(&'static str, &'static str, &'static str);

impl Of {
    fn dims(&self) -> Vec<usize> {
        let mut dims: Vec<&str> = self.0.split('x').collect();
        dims.pop();
        dims.iter().map(|dim| dim.parse().unwrap()).collect()
    }

    fn attributes(&self) -> String {
        let mesh = if self.1.contains('i') { "line" } else { "mesh" };
        let axes = self.1.chars().map(|axis| match axis {
            '-' => "{}".to_owned(),
            axis => format!("{{\"{axis}\"}}"),
        });
        let axes: Vec<String> = axes.collect();
        format!("{{sdy.sharding = #sdy.sharding<@{mesh}, [{}]>{}}}", axes.join(", "), self.2)
    }

    /// The part of a device.
    fn part(&self, whole: &Array, device: usize) -> Array {
        let dims = self.dims();
        let split = self.1.chars().map(|axis| match axis {
            'x' => (4, device / 2),
            'y' => (2, device % 2),
            'i' => (8, device),
            _ => (1, 0),
        });
        let split: Vec<(usize, usize)> = split.collect();
        let own: Vec<usize> =
            dims.iter().zip(&split).map(|(dim, (parts, _))| dim / parts).collect();
        let count: usize = dims.iter().product();
        let width = whole.bytes.len().checked_div(count).unwrap_or(4);
        let mut found = Vec::new();
        for index in 0..count {
            let mut rest = index;
            let mut inside = true;
            for ((dim, own), (_, place)) in dims.iter().zip(&own).zip(&split).rev() {
                inside &= (rest % dim) / own == *place;
                rest /= dim;
            }
            if inside {
                found.extend_from_slice(&whole.bytes[index * width..][..width]);
            }
        }
        let dims = own.iter().map(|&dim| i64::try_from(dim).unwrap()).collect();
        Array { dtype: whole.dtype, dims, bytes: found }
    }
}

/// Elements of any size, none of them nice.
fn elements(of: &Of, seed: u16) -> Array {
    let dims = of.dims();
    let count = u16::try_from(dims.iter().product::<usize>()).unwrap();
    let dims: Vec<i64> = dims.iter().map(|&dim| i64::try_from(dim).unwrap()).collect();
    let number = |at: u16| f32::from(at.wrapping_mul(40503).wrapping_add(seed) % 9973);
    let all = 0..count;
    match of.0.rsplit('x').next().unwrap() {
        "f32" => f32s(&dims, &all.map(|at| (number(at) - 4986.0) / 700.0).collect::<Vec<_>>()),
        "i4" => {
            bytes(DType::S4, &dims, &all.map(|at| (at % 7).to_le_bytes()[0]).collect::<Vec<_>>())
        }
        other => panic!("{other}"),
    }
}

fn run(machine: &Arc<Emulator>, text: &str, arguments: &[Vec<Arc<Buffer>>]) -> Vec<Vec<Buffer>> {
    let program = compile(machine, text).unwrap();
    let launched = launch_all(machine, &program, arguments).unwrap();
    let results = launched.into_iter().map(|one| {
        one.done.wait().unwrap();
        one.results
    });
    results.collect()
}

fn program(takes: &[Of], gives: &[Of], body: &str) -> String {
    let parameters = takes.iter().enumerate();
    let parameters: Vec<String> = parameters
        .map(|(index, of)| format!("%p{index}: tensor<{}> {}", of.0, of.attributes()))
        .collect();
    let results: Vec<String> =
        gives.iter().map(|of| format!("tensor<{}> {}", of.0, of.attributes())).collect();
    format!("func.func @main({}) -> ({}) {{ {body} }}", parameters.join(", "), results.join(", "))
}

/// Runs a program on eight devices and holds each result to that of one device.
fn check(takes: &[Of], gives: &[Of], body: &str) {
    let machine = machine();
    let text = program(takes, gives, body);
    let wholes: Vec<Array> = (0..).zip(takes).map(|(seed, of)| elements(of, seed * 77)).collect();
    let meshes = "sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n sdy.mesh @line = <[\"i\"=8]>";
    let alone = super::machine::run(&format!("module {{ {meshes}\n {text} }}"), &wholes);
    let arguments: Vec<Vec<Arc<Buffer>>> = (0..8)
        .map(|device| {
            let part = |(of, whole): (&Of, &Array)| put(&machine, device, &of.part(whole, device));
            takes.iter().zip(&wholes).map(part).collect()
        })
        .collect();
    for (device, results) in run(&machine, &text, &arguments).into_iter().enumerate() {
        for ((of, whole), result) in gives.iter().zip(&alone).zip(results) {
            assert_eq!(get(result).unwrap(), of.part(whole, device), "device {device}: {text}");
        }
    }
}

const DONATED: &str = ", jax.buffer_donor = true";

#[test]
fn an_optimizers_step_updates_the_parts_that_each_device_has() {
    let body = "
      %c = stablehlo.broadcast_in_dim %p3, dims = [] : (tensor<f32>) -> tensor<16x148xf32>
      %0 = stablehlo.multiply %p1, %c : tensor<16x148xf32>
      %1 = stablehlo.tanh %p2 : tensor<16x148xf32>
      %2 = stablehlo.add %0, %1 : tensor<16x148xf32>
      %3 = stablehlo.exponential %2 : tensor<16x148xf32>
      %4 = stablehlo.subtract %p0, %3 : tensor<16x148xf32>
      %5 = stablehlo.add %p3, %p3 : tensor<f32>
      return %4, %2, %5 : tensor<16x148xf32>, tensor<16x148xf32>, tensor<f32>";
    for split in ["i-", "x-", "-x", "xy", "yx", "-y", "--"] {
        for donated in ["", DONATED] {
            let array = |donated| Of("16x148xf32", split, donated);
            let scalar = Of("f32", "", "");
            let takes = [array(donated), array(donated), array(""), scalar];
            check(&takes, &[array(""), array(""), scalar], body);
        }
    }
}

#[test]
fn axes_change_places_and_pieces_are_cut_off_axes_that_are_whole() {
    let body = "
      %0 = stablehlo.transpose %p0, dims = [1, 0] : (tensor<8x12xf32>) -> tensor<12x8xf32>
      %1 = stablehlo.slice %0 [1:11, 0:8] : (tensor<12x8xf32>) -> tensor<10x8xf32>
      %2 = stablehlo.negate %1 : tensor<10x8xf32>
      %3 = stablehlo.concatenate %2, %0, dim = 0 : (tensor<10x8xf32>, tensor<12x8xf32>) -> tensor<22x8xf32>
      return %3 : tensor<22x8xf32>";
    check(&[Of("8x12xf32", "i-", "")], &[Of("22x8xf32", "-i", "")], body);
    check(&[Of("8x12xf32", "x-", "")], &[Of("22x8xf32", "-x", "")], body);
    // Here devices have to exchange something.
    check(&[Of("8x12xf32", "-x", "")], &[Of("22x8xf32", "-x", "")], body);
}

#[test]
fn loops_and_branches_run_for_each_part() {
    let body = "
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %0:2 = stablehlo.while(%n = %zero, %a = %p0) : tensor<i32>, tensor<16x6xf32> cond {
        %c = stablehlo.compare LT, %n, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %m = stablehlo.add %n, %one : tensor<i32>
        %s = stablehlo.sine %a : tensor<16x6xf32>
        %t = stablehlo.add %s, %p0 : tensor<16x6xf32>
        stablehlo.return %m, %t : tensor<i32>, tensor<16x6xf32>
      }
      %q = stablehlo.compare LT, %p1, %p1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = \"stablehlo.if\"(%q) ({
        stablehlo.return %p0 : tensor<16x6xf32>
      }, {
        %r = stablehlo.negate %0#1 : tensor<16x6xf32>
        stablehlo.return %r : tensor<16x6xf32>
      }) : (tensor<i1>) -> tensor<16x6xf32>
      return %1 : tensor<16x6xf32>";
    for split in ["i-", "-y", "xy"] {
        let takes = [Of("16x6xf32", split, DONATED), Of("f32", "", "")];
        check(&takes, &[Of("16x6xf32", split, "")], body);
    }
}

#[test]
fn places_count_where_a_program_asks_for_them() {
    let body = "
      %0 = stablehlo.iota dim = 0 : tensor<16x6xf32>
      %1 = stablehlo.iota dim = 1 : tensor<16x6xf32>
      %2 = stablehlo.multiply %0, %1 : tensor<16x6xf32>
      %3 = stablehlo.add %2, %p0 : tensor<16x6xf32>
      %4 = stablehlo.add %1, %p0 : tensor<16x6xf32>
      return %3, %4 : tensor<16x6xf32>, tensor<16x6xf32>";
    for split in ["i-", "-y", "xy"] {
        let of = Of("16x6xf32", split, "");
        check(&[of], &[of, of], body);
    }
    let along = "
      %1 = stablehlo.iota dim = 1 : tensor<16x6xf32>
      %4 = stablehlo.add %1, %p0 : tensor<16x6xf32>
      return %4 : tensor<16x6xf32>";
    let of = Of("16x6xf32", "i-", "");
    check(&[of], &[of], along);
}

#[test]
fn arrays_without_elements_and_of_half_bytes_have_parts() {
    let add =
        |of: &str| format!("%0 = stablehlo.add %p0, %p0 : tensor<{of}> return %0 : tensor<{of}>");
    for (of, split) in [("8x0xf32", "i-"), ("0x8xf32", "-i"), ("8x1xf32", "i-"), ("16x3xi4", "i-")]
    {
        for donated in ["", DONATED] {
            check(&[Of(of, split, donated)], &[Of(of, split, "")], &add(of));
        }
    }
}

#[test]
fn an_argument_that_somebody_else_reads_stays_as_it_is() {
    let machine = machine();
    let of = Of("16x4xf32", "i-", DONATED);
    let text = program(
        &[of],
        &[Of("16x4xf32", "i-", "")],
        "%0 = stablehlo.negate %p0 : tensor<16x4xf32> return %0 : tensor<16x4xf32>",
    );
    let whole = elements(&of, 3);
    let arguments: Vec<Vec<Arc<Buffer>>> =
        (0..8).map(|device| vec![put(&machine, device, &of.part(&whole, device))]).collect();
    let place = |buffer: &Buffer| buffer.host_pointer().unwrap().addr();
    let places: Vec<usize> = arguments.iter().map(|one| place(&one[0])).collect();
    let kept = arguments[3][0].alias().unwrap();
    for (device, mut results) in run(&machine, &text, &arguments).into_iter().enumerate() {
        assert_eq!(place(&results[0]) == places[device], device != 3, "device {device}");
        let mut wanted = of.part(&whole, device);
        wanted.bytes.chunks_exact_mut(4).for_each(|element| element[3] ^= 0x80);
        assert_eq!(get(results.remove(0)).unwrap(), wanted, "device {device}");
    }
    assert_eq!(get(kept).unwrap(), of.part(&whole, 3));
}
