//! Random programs give the same bits with all passes, with none and without each of them, and
//! every plan reads what was written.
mod chains;
mod columns;
mod joined;
mod rounds;
mod spans;
mod totals;
mod wide;
mod writer;

use crate::compile::Passes;
use crate::graph::Graph;
use crate::import::load;
use crate::interpret::frame::Frame;
use crate::interpret::region::make_body;
use crate::interpret::step::Interpreter;
use crate::passes::scalar_loops::tests::FORI_LOOP;
use crate::passes::{absorbed_work, joined_pads, one_hot, parted, picked, rounded};
use crate::plan::check::planned;
use crate::plan::{Plan, Slot};
use crate::recompute::tests::late_reader;
use crate::sharding::groups::Devices;
use std::collections::BTreeMap;
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::aligned::Aligned;
use tpu_kernels::simd::at_every_level;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;
use wide::is_narrow;
use writer::{ProgramWriter, SHAPES, Value};

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// A program, and the results that take parameters over.
fn program(seed: u64, wide: bool) -> (String, Vec<Option<usize>>) {
    let mut writer = ProgramWriter { random: Random(seed), text: String::new(), count: 0, wide };
    let mut seen = Vec::new();
    for _ in 0..3 + writer.random.below(3) {
        if wide {
            seen.push(writer.parameter());
            continue;
        }
        let (name, dims) = (writer.name(), writer.random.pick(SHAPES).to_vec());
        seen.push(Value(name, writer.random.pick(&["f32", "i32"]), dims));
    }
    let parameters = seen.clone();
    for _ in 0..5 + writer.random.below(14) {
        writer.step(&mut seen, 0);
    }
    seen.retain(|value| !is_narrow(value.1));
    let results: Vec<Value> =
        (0..1 + writer.random.below(5)).map(|_| writer.random.pick(&seen)).collect();
    writer.finish("func.return", &results);
    let mut donated = vec![None; parameters.len()];
    let mut taken = vec![false; results.len()];
    for (parameter, to) in parameters.iter().zip(&mut donated) {
        let fits = |&at: &usize| {
            let result: &Value = &results[at];
            !taken[at] && result.1 == parameter.1 && result.2 == parameter.2
        };
        *to = (0..results.len()).find(fits);
        to.iter().for_each(|&at| taken[at] = true);
    }
    let list: Vec<String> = parameters.iter().map(|of| format!("{}: {}", of.0, of.of())).collect();
    let types: Vec<String> = results.iter().map(Value::of).collect();
    let (list, types) = (list.join(", "), types.join(", "));
    (format!("func.func public @main({list}) -> ({types}) {{\n{}}}\n", writer.text), donated)
}

/// The graph of a program.
pub(crate) fn graph_of(text: &str, passes: Passes) -> Graph {
    graph_under(Numerics::Ieee, text, passes)
}

/// A program as it is imported, computed in a way.
pub(crate) fn graph_under(numerics: Numerics, text: &str, passes: Passes) -> Graph {
    let module = tpu_stablehlo::text::parse(text).unwrap();
    let (registry, devices) = (Registry::default(), (Devices::ONE, &BTreeMap::new()));
    load(&module, numerics, &registry, make_body, devices, passes).unwrap().graph
}

/// The plan of a program.
pub(crate) fn plan_of(text: &str) -> Plan {
    plan_under(text, Passes::ALL)
}

/// The plan of a program, by some passes.
pub(crate) fn plan_under(text: &str, passes: Passes) -> Plan {
    let mut graph = graph_of(text, passes);
    let kept = vec![None; graph.main.parameters.len()];
    planned(&mut graph, &kept, passes)
}

/// Bytes of a parameter: numbers near one, and none that is no number.
fn numbers(random: &mut Random, dtype: DType, bytes: usize) -> Vec<u8> {
    let mut input = Vec::with_capacity(bytes + 8);
    while input.len() < bytes {
        // Small integers are small floats or tiny ones; both are good enough.
        let bits = match dtype {
            DType::F64 | DType::C128 => 0x3ff0_0000_0000_0000 + (random.below(1 << 10) << 42),
            DType::F16 => 0x3c00 + (random.below(1 << 10)),
            DType::Bf16 => 0x3f80 + random.below(1 << 7),
            DType::Pred => random.below(2),
            _ if dtype.element().bits < 8 => random.below(2),
            _ if dtype.host_bytes() == 1 => random.below(0x40),
            _ => 0x3f80_0000 + (random.below(1 << 10) << 12),
        };
        let width = if dtype == DType::C64 { 4 } else { dtype.host_bytes().min(8) };
        input.extend(&bits.to_le_bytes()[..width]);
    }
    input.truncate(bytes);
    input
}

/// The bits of a program's results.
pub(crate) fn results(text: &str, donated: &[Option<usize>], passes: Passes) -> Vec<Vec<u8>> {
    results_under(Numerics::Ieee, text, donated, passes)
}

/// The bits of a program's results in this arithmetic.
pub(crate) fn results_under(
    numerics: Numerics,
    text: &str,
    donated: &[Option<usize>],
    passes: Passes,
) -> Vec<Vec<u8>> {
    let _mode = numerics.subnormals().enter();
    let mut graph = graph_under(numerics, text, passes);
    let bytes =
        |values: &[_]| values.iter().map(|&value| graph.bytes(value)).collect::<Vec<usize>>();
    let results = bytes(&graph.main.results);
    let parameters = graph.main.parameters.iter().map(|&value| graph.value(value).shape.clone());
    let parameters: Vec<Shape> = parameters.collect();
    let plan = planned(&mut graph, donated, passes);
    let mut random = Random(7);
    let inputs: Vec<Vec<u8>> = parameters
        .into_iter()
        .map(|shape| numbers(&mut random, shape.dtype, shape.bytes()))
        .collect();
    run(&plan, &inputs, &results, donated)
}

/// Runs a plan; gives the bits of its results, which have so many bytes.
pub(crate) fn run(
    plan: &Plan,
    inputs: &[Vec<u8>],
    results: &[usize],
    donated: &[Option<usize>],
) -> Vec<Vec<u8>> {
    // Nobody may count on zeros.
    let junk = |bytes: usize| Aligned::of(&vec![0xa5; bytes]);
    let mut outputs: Vec<Aligned> = results.iter().map(|&bytes| junk(bytes)).collect();
    let mut memories = vec![junk(plan.arena), Aligned::of(&plan.pool)];
    for (input, donated) in inputs.iter().zip(donated) {
        match *donated {
            Some(result) => {
                outputs[result] = Aligned::of(input);
                memories.push(Aligned::zeros(0));
            }
            None => memories.push(Aligned::of(input)),
        }
    }
    memories.extend(outputs);
    let frame = Frame::new(memories).with_windows(plan.windows);
    Interpreter::alone(&frame).plan(plan).unwrap();
    let slots =
        (plan.results()..).zip(results).map(|(base, &bytes)| Slot { base, offset: 0, bytes });
    slots.map(|slot| frame.bytes(slot).to_vec()).collect()
}

/// Runs a program in all ways, with vectors of every width.
fn compare(seed: u64, wide: bool) {
    let (text, donated) = program(seed, wide);
    let outcome = std::panic::catch_unwind(|| {
        let kept = vec![None; donated.len()];
        let wanted = results(&text, &kept, Passes::NONE);
        for passes in Passes::ALL_BUT_ONE {
            assert_eq!(results(&text, &donated, passes), wanted, "donated, {passes:?}");
        }
        assert_eq!(results(&text, &donated, Passes::ALL), wanted, "donated");
        assert_eq!(results(&text, &donated, Passes::ALWAYS), wanted, "donated, made again");
        assert_eq!(results(&text, &kept, Passes::ALWAYS), wanted, "made again");
        at_every_level(|level| {
            assert_eq!(results(&text, &kept, Passes::ALL), wanted, "{level:?}");
        });
    });
    assert!(outcome.is_ok(), "seed {seed}, wide {wide}, donated {donated:?}:\n{text}");
}

/// The programs of a test: so many from the first on, or as many as `TPU_EMU_TEST_PROGRAMS` says,
/// from `TPU_EMU_TEST_SEED` on.
#[expect(clippy::disallowed_methods, reason = "how long to run is for the one who tests to say")]
pub(crate) fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = number("TPU_EMU_TEST_SEED").unwrap_or(0);
    first..first + number("TPU_EMU_TEST_PROGRAMS").unwrap_or(count)
}

#[test]
fn fused_and_joined_programs_give_the_bits_of_plain_ones() {
    seeds(100).for_each(|seed| compare(seed, false));
}

#[test]
fn every_pass_makes_another_plan_of_some_program() {
    let plan = |text: &str, donated: &[Option<usize>], passes| {
        let mut graph = graph_under(Numerics::Tpu, text, passes);
        format!("{:?}", planned(&mut graph, donated, passes))
    };
    let mut programs: Vec<_> = (0..40).map(|seed| program(seed, true)).collect();
    programs.extend((0..4).map(|seed| program(seed, false)));
    programs.push((FORI_LOOP.to_owned(), vec![None]));
    programs.push((late_reader(), vec![None]));
    let absorbed = absorbed_work::tests::programs();
    programs.extend(absorbed.into_iter().map(|(text, _)| (text, vec![None; 2])));
    let others = one_hot::tests::programs().into_iter().chain(picked::tests::programs());
    programs.extend(others.map(|text| (text, vec![None; 3])));
    let [slices, ..] = joined_pads::tests::programs();
    programs.push((slices, vec![None; 2]));
    let [of_products, ..] = rounded::tests::programs(512);
    programs.push((of_products, vec![None]));
    programs.push((parted::tests::large(), vec![None; 3]));
    for passes in Passes::ALL_BUT_ONE.into_iter().chain([Passes::ALWAYS]) {
        let differs = |(text, donated): &(String, Vec<_>)| {
            plan(text, donated, passes) != plan(text, donated, Passes::ALL)
        };
        assert!(programs.iter().any(differs), "{passes:?}");
    }
    for (text, donated) in &programs {
        let [one, other] = [(); 2].map(|()| plan(text, donated, Passes::ALL));
        assert_eq!(one, other, "{text}");
    }
}

#[test]
fn programs_of_every_type_and_extent_give_the_bits_of_plain_ones() {
    seeds(120).for_each(|seed| compare(seed, true));
}

#[test]
fn a_composed_view_in_a_wrong_order_is_found() {
    tpu_kernels::movement::strided_view::fault::plant(true);
    let found = (0..250).find(|&seed| std::panic::catch_unwind(|| compare(seed, true)).is_err());
    tpu_kernels::movement::strided_view::fault::plant(false);
    compare(found.expect("a program notices views of views that are turned"), true);
}

#[test]
fn subnormal_numbers_that_are_known_at_compile_time_are_those_of_a_run() {
    let text = "func.func public @main() -> (tensor<1000xf32>) {
        %a = stablehlo.constant dense<1.0e-40> : tensor<1000xf32>
        %b = stablehlo.constant dense<1.0> : tensor<1000xf32>
        %r = stablehlo.multiply %a, %b : tensor<1000xf32>
        return %r : tensor<1000xf32>
      }";
    let kept = 1.0e-40_f32.to_bits();
    for (numerics, wanted) in [(Numerics::Tpu, 0), (Numerics::Ieee, kept)] {
        for passes in Passes::ALL_BUT_ONE.into_iter().chain([Passes::NONE, Passes::ALL]) {
            let mut graph = graph_under(numerics, text, passes);
            let plan = planned(&mut graph, &[], passes);
            let _mode = numerics.subnormals().enter();
            let found = run(&plan, &[], &[4000], &[]);
            assert_eq!(found[0], wanted.to_le_bytes().repeat(1000), "{numerics:?}, {passes:?}");
        }
    }
}
