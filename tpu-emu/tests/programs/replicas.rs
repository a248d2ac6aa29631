//! Runs over replicas whose client calls once for each: every replica has a program of its own, and
//! their collectives meet.
use super::machine::{Array, f32s, get, launch_all};
use std::sync::Arc;
use std::time::Duration;
use tpu_emu::buffer::HostArray;
use tpu_emu::executable::{CompileOptions, Format};
use tpu_emu::hbm::spec::LayoutRequest;
use tpu_emu::runtime::{
    DeviceRequest, LaunchOptions, LaunchRequest, Launched, LoadedExecutable, RunKey,
};
use tpu_emu::{Buffer, Code, Config, Emulator, Error, Memory, MemoryKind, Result};

const REPLICAS: usize = 4;
const EVERYONE: &str = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>";
const PAIRS: &str = "replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>";

fn reduction(name: &str, attributes: &str, by: &str, [from, to]: [&str; 2], line: u32) -> String {
    format!(
        "\"stablehlo.{name}\"(%a) <{{{attributes}}}> ({{
      ^bb0(%l: tensor<f32>, %m: tensor<f32>):
        %s = stablehlo.{by} %l, %m : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }}) : ({from}) -> {to} loc(\"rank.py\":{line}:1)"
    )
}

fn sum(attributes: &str, line: u32) -> String {
    reduction("all_reduce", attributes, "add", ["tensor<4xf32>"; 2], line)
}

/// A program from `%a` to `%r`, of four elements each.
fn main(body: &str) -> String {
    format!(
        "module @step {{ func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
  {body}
  return %r : tensor<4xf32>
}} }}"
    )
}

struct Client(Arc<Emulator>);

impl Client {
    fn new() -> Self {
        Self::patient_for(Duration::from_secs(600))
    }

    fn patient_for(call_timeout: Duration) -> Self {
        Self(Emulator::new(Config { call_timeout, ..Config::plain() }).unwrap())
    }

    fn compile(&self, text: &str) -> Arc<LoadedExecutable> {
        let options = CompileOptions { replicas: REPLICAS, ..CompileOptions::default() };
        self.0.compile(Format::Mlir, text.as_bytes(), options).unwrap()
    }

    /// Four elements on a device: its number and the next three.
    fn put(&self, device: usize) -> Arc<Buffer> {
        let Array { dtype, dims, bytes } = four(device);
        let spec = self.0.describe(dtype, &dims, LayoutRequest::Default).unwrap();
        let array = HostArray { bytes: &bytes, low: 0, strides: None };
        let memory = Memory { device, kind: MemoryKind::Device };
        Arc::new(self.0.put(memory, spec, array).unwrap())
    }

    fn call(&self, program: &Arc<LoadedExecutable>, device: usize) -> Result<Launched> {
        let arguments = vec![self.put(device); program.parameters.len()];
        self.join(program, device, &arguments)
    }

    fn join(
        &self,
        executable: &Arc<LoadedExecutable>,
        device: usize,
        arguments: &[Arc<Buffer>],
    ) -> Result<Launched> {
        let (options, key) = (&LaunchOptions::default(), RunKey { run: 0, devices: Vec::new() });
        let devices = &[DeviceRequest::new(device, arguments)];
        self.0.join(&LaunchRequest { executable, devices, options }, &key)
    }

    /// What the replicas' programs give, each called for by itself and one after the other.
    fn run(&self, texts: &[String]) -> Vec<Result<Vec<f32>>> {
        let programs: Vec<_> = texts.iter().map(|text| self.compile(text)).collect();
        let calls: Vec<_> = programs
            .iter()
            .enumerate()
            .map(|(device, program)| self.call(program, device).unwrap())
            .collect();
        calls.into_iter().map(first).collect()
    }

    /// The errors of all, where all have failed.
    fn failures(&self, texts: &[String]) -> Vec<String> {
        self.run(texts).into_iter().map(|outcome| outcome.unwrap_err().to_string()).collect()
    }
}

fn four(device: usize) -> Array {
    let first = u8::try_from(device).map(f32::from).unwrap();
    f32s(&[4], &[first, first + 1.0, first + 2.0, first + 3.0])
}

fn first(launched: Launched) -> Result<Vec<f32>> {
    let Launched { mut results, done } = launched;
    done.wait()?;
    let bytes = get(results.remove(0))?.bytes;
    Ok(bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect())
}

fn good(outcomes: Vec<Result<Vec<f32>>>) -> Vec<Vec<f32>> {
    outcomes.into_iter().map(Result::unwrap).collect()
}

#[test]
fn replicas_with_other_computations_meet_in_their_collectives() {
    let client = Client::new();
    let texts: Vec<String> = (0..REPLICAS)
        .map(|replica| {
            let own = match replica {
                0 => "%0 = stablehlo.constant dense<10.0> : tensor<4xf32>",
                1 => "%0 = stablehlo.add %a, %a : tensor<4xf32>",
                _ => "%0 = stablehlo.negate %a : tensor<4xf32>",
            };
            let after = ["add", "multiply", "subtract", "maximum"][replica];
            let sum = sum(EVERYONE, 1).replace("(%a)", "(%0)");
            main(&format!(
                "{own}
  %1 = {sum}
  %r = stablehlo.{after} %1, %a : tensor<4xf32>"
            ))
        })
        .collect();
    // 10 + 2 (1 + i) - (2 + i) - (3 + i) = 7.
    for _ in 0..3 {
        let found = good(client.run(&texts));
        assert_eq!(found[0], [7.0, 8.0, 9.0, 10.0]);
        assert_eq!(found[1], [7.0, 14.0, 21.0, 28.0]);
        assert_eq!(found[2], [5.0, 4.0, 3.0, 2.0]);
        assert_eq!(found[3], [7.0; 4]);
    }
}

#[test]
fn other_numbers_of_parameters_meet_too() {
    let client = Client::new();
    let body = format!("%r = {}", sum(EVERYONE, 1));
    let none = main(&format!("%a = stablehlo.constant dense<1.0> : tensor<4xf32>\n{body}"));
    let none = none.replace("@main(%a: tensor<4xf32>)", "@main()");
    let mut texts = vec![main(&body); REPLICAS];
    texts[2] = none;
    for found in good(client.run(&texts)) {
        assert_eq!(found, [5.0, 8.0, 11.0, 14.0]);
    }
}

/// Every collective gives the replicas that are called one by one what it gives to all at once.
#[test]
fn each_collective_gives_what_it_gives_to_replicas_that_run_as_one() {
    let [four, one, eight] = ["tensor<4xf32>", "tensor<1xf32>", "tensor<8xf32>"];
    let plain = |name: &str, attributes: &str, [from, to]: [&str; 2]| {
        format!("\"stablehlo.{name}\"(%a) <{{{attributes}}}> : ({from}) -> {to}")
    };
    let halves = |of: String| {
        let slice = "%r = stablehlo.slice %0 [2:6] : (tensor<8xf32>) -> tensor<4xf32>";
        format!("%0 = {of}\n{slice}")
    };
    let spread = |of: String| {
        let broadcast =
            "%r = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<1xf32>) -> tensor<4xf32>";
        format!("%0 = {of}\n{broadcast}")
    };
    let counted = "%n = stablehlo.replica_id : tensor<ui32>
  %f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %r = stablehlo.add %0, %b : tensor<4xf32>";
    let bodies = [
        format!("%r = {}", sum(EVERYONE, 1)),
        format!("%r = {}", sum(PAIRS, 1)),
        format!(
            "%r = {}",
            sum("replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>", 1)
        ),
        format!("%r = {}", reduction("all_reduce", PAIRS, "subtract", [four; 2], 1)),
        format!("%0 = {}\n{counted}", sum(EVERYONE, 1)),
        spread(reduction(
            "reduce_scatter",
            &format!("{EVERYONE}, scatter_dimension = 0 : i64"),
            "add",
            [four, one],
            1,
        )),
        halves(plain("all_gather", &format!("{PAIRS}, all_gather_dim = 0 : i64"), [four, eight])),
        format!(
            "%r = {}",
            plain(
                "all_to_all",
                &format!(
                    "{EVERYONE}, split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64"
                ),
                [four; 2]
            )
        ),
        format!("%r = {}", plain("collective_broadcast", PAIRS, [four; 2])),
        format!(
            "%r = {}",
            plain(
                "collective_permute",
                "source_target_pairs = dense<[[0, 1], [1, 3], [3, 0]]> : tensor<3x2xi64>",
                [four; 2]
            )
        ),
    ];
    for body in bodies {
        let client = Client::new();
        let text = main(&body);
        let program = client.compile(&text);
        let arguments: Vec<_> = (0..REPLICAS).map(|device| vec![client.put(device)]).collect();
        let joint = launch_all(&client.0, &program, &arguments).unwrap();
        let joint: Vec<_> = joint.into_iter().map(|launched| first(launched).unwrap()).collect();
        assert_eq!(good(client.run(&vec![text; REPLICAS])), joint, "{body}");
    }
}

/// A loop of so many rounds, each with a sum over everyone.
fn rounds(count: usize) -> String {
    let sum = sum(EVERYONE, 7).replace("(%a)", "(%x)");
    main(&format!(
        "%c0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<{count}> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %q:2 = \"stablehlo.while\"(%c0, %a) ({{
    ^bb0(%i: tensor<i32>, %x: tensor<4xf32>):
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}, {{
    ^bb0(%i: tensor<i32>, %x: tensor<4xf32>):
      %j = stablehlo.add %i, %o : tensor<i32>
      %y = {sum}
      stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>
    }}) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
  %r = stablehlo.add %q#1, %q#1 : tensor<4xf32>"
    ))
}

#[test]
fn loops_meet_in_every_round_and_one_round_too_few_is_an_error() {
    let client = Client::new();
    for found in good(client.run(&vec![rounds(3); REPLICAS])) {
        assert_eq!(found, [192.0, 320.0, 448.0, 576.0]);
    }
    let mut texts = vec![rounds(3); REPLICAS];
    texts[1] = rounds(2);
    let outcomes = client.run(&texts);
    for (replica, outcome) in outcomes.into_iter().enumerate() {
        if replica == 1 {
            continue;
        }
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition);
        let text = error.to_string();
        assert!(text.contains("the replicas do not agree: TPU_0, TPU_2, TPU_3 waited at stablehlo.all_reduce of f32[4], by stablehlo.add, among [[0, 1, 2, 3]] (rank.py:7:1); TPU_1 had ended"), "{text}");
    }
}

#[test]
fn collectives_that_are_not_alike_are_an_error_with_both_names_and_lines() {
    let client = Client::new();
    let sum = |line| main(&format!("%r = {}", sum(EVERYONE, line)));
    let most = reduction("all_reduce", EVERYONE, "maximum", ["tensor<4xf32>"; 2], 9);
    let mut texts = vec![sum(3); REPLICAS];
    texts[3] = main(&format!("%r = {most}"));
    for text in client.failures(&texts) {
        assert!(text.contains("step, run 0: the replicas do not agree: "), "{text}");
        assert!(text.contains(" by stablehlo.add, among [[0, 1, 2, 3]] (rank.py:3:1)"), "{text}");
        let other = "stablehlo.all_reduce of f32[4], by stablehlo.maximum, among [[0, 1, 2, 3]] (rank.py:9:1)";
        assert!(text.contains(&format!("TPU_3 is at {other}")), "{text}");
    }
    // The next run begins anew.
    assert_eq!(good(client.run(&vec![sum(3); REPLICAS])).len(), REPLICAS);
}

#[test]
fn groups_that_wait_for_one_another_are_an_error() {
    let client = Client::new();
    let one = main(&format!("%r = {}", sum(EVERYONE, 1)));
    let other = main(&format!("%r = {}", sum(PAIRS, 2)));
    for text in client.failures(&[one.clone(), other.clone(), other, one]) {
        assert!(text.contains("the replicas do not agree: TPU_0, TPU_3 waited at "), "{text}");
        assert!(text.contains("(rank.py:1:1)") && text.contains("(rank.py:2:1)"), "{text}");
    }
}

#[test]
fn a_replica_that_does_not_come_ends_the_others_patience() {
    let client = Client::patient_for(Duration::from_millis(20));
    let text = main(&format!("%r = {}", sum(EVERYONE, 1)));
    let program = client.compile(&text);
    let error = first(client.call(&program, 2).unwrap()).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    let text = error.to_string();
    let wanted = "step, run 0: after 20ms TPU_0, TPU_1, TPU_3 had not arrived; TPU_2 waited at stablehlo.all_reduce of f32[4], by stablehlo.add, among [[0, 1, 2, 3]] (rank.py:1:1)";
    assert!(text.contains(wanted), "{text}");
    // Those who come late hear of it, and then a new run begins.
    for device in [0, 1, 3] {
        assert_eq!(first(client.call(&program, device).unwrap()), Err(error.clone()));
    }
    let client = Client::new();
    assert_eq!(good(client.run(&vec![main(&format!("%r = {}", sum(EVERYONE, 1))); 4])).len(), 4);
}

#[test]
fn a_replica_that_fails_ends_the_others_with_its_error() {
    let client = Client::new();
    let program = client.compile(&main(&format!("%r = {}", sum(EVERYONE, 1))));
    let waiting: Vec<Launched> = [0, 3].map(|device| client.call(&program, device).unwrap()).into();
    let refused = client.join(&program, 1, &[]).unwrap_err();
    assert_eq!(refused.to_string(), "step takes 1 arguments; 0 were given");
    let late = client.call(&program, 2).unwrap();
    for launched in waiting.into_iter().chain([late]) {
        let error: Error = first(launched).unwrap_err();
        assert!(error.to_string().ends_with("step takes 1 arguments; 0 were given"), "{error}");
    }
}
