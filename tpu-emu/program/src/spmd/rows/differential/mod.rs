//! Random code per device: run as one body over rows it gives the bits that it gives where it is
//! emitted once for each device.
mod programs;
mod writer;

use crate::compile::Passes;
use crate::differential::{Random, run, seeds};
use crate::graph::{Graph, NodeKind, Subgraph};
use crate::import::load;
use crate::interpret::region::make_body;
use crate::plan::check::planned;
use crate::sharding::groups::Devices;
use programs::program;
use std::collections::BTreeMap;
use tpu_base::tensor::Shape;
use tpu_ops::Numerics;
use tpu_ops::custom_call::Registry;

fn graph_of(text: &str, devices: Devices, passes: Passes) -> Graph {
    let module = tpu_stablehlo::text::parse(text).unwrap();
    let (registry, none) = (Registry::default(), BTreeMap::new());
    let loaded = load(&module, Numerics::Ieee, &registry, make_body, (devices, &none), passes);
    loaded.unwrap_or_else(|error| panic!("{error}")).graph
}

fn has_rows(block: &Subgraph) -> bool {
    block.nodes.iter().any(|node| matches!(node.work, NodeKind::Each(_)))
}

/// The bits of a program's results, and whether some of its code runs over rows.
fn results(text: &str, devices: Devices, passes: Passes) -> (Vec<Vec<u8>>, bool) {
    let mut graph = graph_of(text, devices, passes);
    let rows = has_rows(&graph.main);
    let shapes: Vec<Shape> =
        graph.main.parameters.iter().map(|&value| graph.value(value).shape.clone()).collect();
    let bytes: Vec<usize> = graph.main.results.iter().map(|&value| graph.bytes(value)).collect();
    let kept = vec![None; shapes.len()];
    let plan = planned(&mut graph, &kept, passes);
    let mut random = Random(11);
    let input = |shape: Shape| -> Vec<u8> {
        let mut number = || f32::from(i16::try_from(random.below(64)).unwrap() - 30) * 0.37;
        (0..shape.elements()).flat_map(|_| number().to_le_bytes()).collect()
    };
    let inputs: Vec<Vec<u8>> = shapes.into_iter().map(input).collect();
    (run(&plan, &inputs, &bytes, &kept), rows)
}

#[test]
fn one_body_over_rows_gives_the_bits_of_a_body_for_each_device() {
    let mut over_rows = 0;
    let all = seeds(200);
    let count = all.end - all.start;
    for seed in all {
        let (text, devices) = program(seed);
        let outcome = std::panic::catch_unwind(|| {
            let apart = Passes { one_body: false, ..Passes::ALL };
            let (wanted, none) = results(&text, devices, apart);
            assert!(!none, "rows where none were asked for");
            let (found, rows) = results(&text, devices, Passes::ALL);
            assert_eq!(found, wanted, "all passes");
            let alone = Passes { one_body: true, ..Passes::NONE };
            assert_eq!(results(&text, devices, alone).0, wanted, "no other pass");
            rows
        });
        match outcome {
            Ok(rows) => over_rows += u64::from(rows),
            Err(_) => panic!("seed {seed} on {devices:?}:\n{text}"),
        }
    }
    assert!(over_rows * 4 > count * 3, "{over_rows} of {count} programs ran over rows");
}
