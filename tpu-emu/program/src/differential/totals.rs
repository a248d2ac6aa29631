//! Totals of what rows are reduced to: a few elements of each row of wide values.
use super::{plan_under, results};
use crate::compile::Passes;
use crate::passes::fuse::row_step::{RowFusion, StageKind};
use crate::plan::PlannedStep;
use std::sync::Arc;
use tpu_kernels::parallel::with_threads;
use tpu_kernels::simd::at_every_level;

/// The sum over all rows of what exponentials of `parts` times `columns` elements of each add up to,
/// and those exponentials.
fn loss(rows: usize, parts: usize, columns: usize) -> String {
    let all = format!("tensor<{rows}x{parts}x{columns}xf32>");
    let (some, total) = (format!("tensor<{rows}x{parts}xf32>"), format!("tensor<{parts}xf32>"));
    format!(
        "func.func public @main(%x: {all}) -> ({total}, {some}, {all}) {{
           %z = stablehlo.constant dense<0.0> : tensor<f32>
           %e = stablehlo.exponential %x : {all}
           %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : ({all}, tensor<f32>) -> {some}
           %l = stablehlo.log %s : {some}
           %t = stablehlo.reduce(%l init: %z) applies stablehlo.add across dimensions = [0] : ({some}, tensor<f32>) -> {total}
           %b = stablehlo.broadcast_in_dim %s, dims = [0, 1] : ({some}) -> {all}
           %q = stablehlo.divide %e, %b : {all}
           return %t, %l, %q : {total}, {some}, {all}
         }}"
    )
}

fn row_fusions(text: &str) -> Vec<Arc<RowFusion>> {
    let steps = plan_under(text, Passes::ALL).steps;
    let rows = steps.into_iter().filter_map(|step| match step.kind {
        PlannedStep::Rows { rows, .. } => Some(rows),
        _ => None,
    });
    rows.collect()
}

fn is_late(fusion: &RowFusion) -> bool {
    fusion.stages.iter().any(|stage| matches!(stage.kind, StageKind::LateTotal { .. }))
}

#[test]
fn totals_of_narrow_values_have_the_bits_of_one_reduction() {
    for parts in [1, 2, 17] {
        for (rows, columns) in [(1, 9), (2, 1), (33, 1), (40, 7), (400, 700), (65, 2100)] {
            let text = loss(rows, parts, columns / parts + 1);
            let wanted = results(&text, &[None], Passes::NONE);
            at_every_level(|level| {
                assert_eq!(results(&text, &[None], Passes::ALL), wanted, "{level:?}: {text}");
            });
            let shared = with_threads(3, || results(&text, &[None], Passes::ALL));
            assert_eq!(shared, wanted, "three threads: {text}");
        }
    }
}

#[test]
fn blocks_of_a_total_make_no_chunks_that_one_thread_has_to_itself() {
    for parts in [1, 2] {
        let [fusion] = &row_fusions(&loss(1024, parts, 1000))[..] else { panic!("{parts}") };
        assert!(is_late(fusion) && fusion.chunk_rows * 16 <= fusion.rows, "{fusion:?}");
    }
    // A small program, and a total of what is as wide as anything else.
    for text in [loss(40, 1, 100), loss(1024, 900, 1)] {
        assert!(row_fusions(&text).iter().all(|fusion| !is_late(fusion)), "{text}");
    }
}
