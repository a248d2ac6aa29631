//! Columns of arrays, computed with and put side by side again.
use super::{plan_under, results};
use crate::compile::Passes;
use crate::plan::{PlannedStep, Step};
use tpu_kernels::parallel::with_threads;
use tpu_kernels::simd::at_every_level;

/// Operations one by one.
const APART: Passes = Passes { loop_fusion: false, row_fusion: false, ..Passes::ALL };

/// Three columns of an array, converted from narrow elements to wide ones, summed and shifted.
fn grey(rows: usize, from: &str, to: &str) -> String {
    let (image, wide) = (format!("tensor<{rows}x3x{from}>"), format!("tensor<{rows}x3x{to}>"));
    let (column, sum) = (format!("tensor<{rows}x1x{to}>"), format!("tensor<{rows}x{to}>"));
    let mut body = format!("%w = stablehlo.convert %x : ({image}) -> {wide}\n");
    for at in 0..3 {
        body += &format!(
            "%s{at} = stablehlo.slice %w [0:{rows}, {at}:{}] : ({wide}) -> {column}
             %c{at} = stablehlo.reshape %s{at} : ({column}) -> {sum}\n",
            at + 1
        );
    }
    format!(
        "func.func public @main(%x: {image}) -> {sum} {{
           {body}
           %t = stablehlo.multiply %c0, %c1 : {sum}
           %r = stablehlo.add %t, %c2 : {sum}
           return %r : {sum}
         }}"
    )
}

/// The cross product of the rows of two arrays.
fn cross(rows: usize) -> String {
    let (all, one) = (format!("tensor<{rows}x3xf32>"), format!("tensor<{rows}xf32>"));
    let (column, row) = (format!("tensor<{rows}x1xf32>"), format!("tensor<1x{rows}xf32>"));
    let mut body = String::new();
    for (of, at) in ["a", "b"].into_iter().flat_map(|of| (0..3).map(move |at| (of, at))) {
        body += &format!(
            "%s{of}{at} = stablehlo.slice %{of} [0:{rows}, {at}:{}] : ({all}) -> {column}
             %{of}{at} = stablehlo.reshape %s{of}{at} : ({column}) -> {one}\n",
            at + 1
        );
    }
    for at in 0..3 {
        let [next, last] = [(at + 1) % 3, (at + 2) % 3];
        body += &format!(
            "%p{at} = stablehlo.multiply %a{next}, %b{last} : {one}
             %q{at} = stablehlo.multiply %a{last}, %b{next} : {one}
             %d{at} = stablehlo.subtract %p{at}, %q{at} : {one}\n"
        );
    }
    for at in 0..3 {
        body +=
            &format!("%r{at} = stablehlo.broadcast_in_dim %d{at}, dims = [1] : ({one}) -> {row}\n");
    }
    format!(
        "func.func public @main(%a: {all}, %b: {all}) -> {all} {{
           {body}
           %j = stablehlo.concatenate %r0, %r1, %r2, dim = 0 : ({row}, {row}, {row}) -> tensor<3x{rows}xf32>
           %t = stablehlo.transpose %j, dims = [1, 0] : (tensor<3x{rows}xf32>) -> {all}
           return %t : {all}
         }}"
    )
}

fn check(text: &str, parameters: usize) {
    let kept = vec![None; parameters];
    let wanted = results(text, &kept, Passes::NONE);
    at_every_level(|level| {
        assert_eq!(results(text, &kept, Passes::ALL), wanted, "{level:?}: {text}");
    });
    let shared = with_threads(3, || results(text, &kept, Passes::ALL));
    assert_eq!(shared, wanted, "three threads: {text}");
}

#[test]
fn columns_of_widened_elements_are_widened_by_themselves() {
    for (from, to) in [("ui8", "ui32"), ("i8", "i16"), ("i16", "f32"), ("bf16", "f32")] {
        for rows in [1, 2, 100, 255, 256, 3000, 40_000] {
            check(&grey(rows, from, to), 1);
        }
        let text = grey(3000, from, to);
        assert_eq!(plan_under(&text, Passes::ALL).steps.len(), 1, "{text}");
        assert!(plan_under(&text, APART).steps.len() > 1, "{text}");
    }
}

#[test]
fn loops_that_gather_the_same_columns_are_one_loop() {
    for rows in [1, 7, 300, 3000, 40_000] {
        check(&cross(rows), 2);
    }
    for rows in [300, 3000] {
        let steps = plan_under(&cross(rows), Passes { row_fusion: false, ..Passes::ALL }).steps;
        let fused = |step: &&Step| matches!(step.kind, PlannedStep::Fused(_));
        let loops = steps.iter().filter(fused).count();
        assert_eq!(loops, 1, "{rows}");
    }
}
