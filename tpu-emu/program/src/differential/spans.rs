//! Loops that run span by span: operands that stay the same for a while, or lie side by side for a
//! while, beside elements of their own.
use super::results;
use crate::compile::Passes;
use tpu_kernels::parallel::with_threads;
use tpu_kernels::simd::at_every_level;

/// A sum of elements, of an array for each set of axes that are not all, and of the indices.
fn program([a, b, c]: [usize; 3], element: &str) -> String {
    let full = format!("tensor<{a}x{b}x{c}x{element}>");
    let dims = [a, b, c];
    let sets: [&[usize]; 6] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]];
    let (mut parameters, mut body) = (format!("%x: {full}"), String::new());
    let mut sum = "%x".to_owned();
    let mut add = |body: &mut String, name: String| {
        let next = format!("%s{}", name.trim_start_matches('%'));
        body.push_str(&format!("{next} = stablehlo.add {sum}, {name} : {full}\n"));
        sum = next;
    };
    for (index, axes) in sets.iter().enumerate() {
        let extents: Vec<String> = axes.iter().map(|&axis| dims[axis].to_string()).collect();
        let from = format!("tensor<{}x{element}>", extents.join("x"));
        parameters.push_str(&format!(", %p{index}: {from}"));
        body.push_str(&format!(
            "%b{index} = stablehlo.broadcast_in_dim %p{index}, dims = {axes:?} : ({from}) -> {full}\n"
        ));
        add(&mut body, format!("%b{index}"));
    }
    for axis in 0..3 {
        body.push_str(&format!("%i{axis} = stablehlo.iota dim = {axis} : {full}\n"));
        add(&mut body, format!("%i{axis}"));
    }
    format!("func.func public @main({parameters}) -> ({full}) {{\n{body}return {sum} : {full}\n}}")
}

#[test]
fn rows_columns_and_counts_beside_elements_give_the_bits_of_plain_programs() {
    let all = [
        [40, 3, 300],
        [7, 5, 1100],
        [33, 9, 128],
        [2, 2, 9000],
        [3, 1, 200],
        [1, 70, 513],
        [9, 80, 70],
    ];
    for (dims, element) in all.into_iter().zip(["f32", "bf16", "s32", "f32", "f64", "ui8", "f32"]) {
        let text = program(dims, element.replace("s32", "i32").as_str());
        let kept = [None; 7];
        let wanted = results(&text, &kept, Passes::NONE);
        at_every_level(|level| {
            assert_eq!(results(&text, &kept, Passes::ALL), wanted, "{dims:?}, {level:?}");
        });
        let shared = with_threads(3, || results(&text, &kept, Passes::ALL));
        assert_eq!(shared, wanted, "{dims:?}, three threads");
    }
}
