//! What is made again, and what is not.
use crate::compile::Passes;
use crate::differential::{graph_of, graph_under, results};
use crate::graph::{Node, NodeKind, ValueId};
use crate::plan::check::planned;
use crate::tuning::{ALWAYS_SHRUNK_BYTES, MIN_SHRUNK_BYTES, SHRUNK_NODES};
use tpu_base::tensor::DType;
use tpu_ops::Numerics;

/// Bytes of a matrix of the programs below.
const MATRIX: usize = 64 * 64 * 4;

pub(crate) const DOT: &str = "contracting_dims = [1] x [0] : \
    (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>";

/// Bytes of the arena, with and without values that are made again; both give the same bits.
fn arenas(text: &str, parameters: usize) -> [usize; 2] {
    let kept = vec![None; parameters];
    let wanted = results(text, &kept, Passes::NONE);
    [Passes::EAGER, Passes { shrunk_from: usize::MAX, ..Passes::ALL }].map(|passes| {
        assert_eq!(results(text, &kept, passes), wanted);
        let mut graph = graph_of(text, passes);
        planned(&mut graph, &kept, passes).arena
    })
}

/// A program that reads a function of a product early and late, and the product late.
pub(crate) fn late_reader() -> String {
    format!(
        "func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {{
        %h = stablehlo.dot_general %x, %x, {DOT}
        %g = stablehlo.tanh %h : tensor<64x64xf32>
        %a = stablehlo.dot_general %g, %x, {DOT}
        %b = stablehlo.dot_general %a, %a, {DOT}
        %c = stablehlo.dot_general %b, %a, {DOT}
        %d = stablehlo.multiply %c, %g : tensor<64x64xf32>
        %e = stablehlo.add %d, %h : tensor<64x64xf32>
        return %e : tensor<64x64xf32>
      }}"
    )
}

#[test]
fn a_function_of_what_is_kept_is_not_kept_beside_it() {
    let text = late_reader();
    let [again, kept] = arenas(&text, 1);
    assert!(again + MATRIX <= kept, "{again} and {kept}");
}

#[test]
fn what_a_barrier_hands_on_is_kept_and_in_16_bits_if_products_alone_read_it() {
    // The function goes through a barrier, beside the product that it could be made of again.
    let barrier = "%g = stablehlo.optimization_barrier %t : tensor<64x64xf32>";
    let text = late_reader().replace("%g = stablehlo.tanh", "%t = stablehlo.tanh");
    let text = text.replace("%a = ", &format!("{barrier}\n%a = "));
    let [again, kept] = arenas(&text, 1);
    assert!(again >= kept, "{again} and {kept}");
    // Products alone read it, and those round.
    let rounded =
        text.replace("multiply %c, %g : tensor<64x64xf32>", &format!("dot_general %c, %g, {DOT}"));
    let handed_on = |text: &str| {
        let mut graph = graph_under(Numerics::Tpu, text, Passes::EAGER);
        planned(&mut graph, &[None], Passes::EAGER);
        let of = |value: &ValueId| graph.value(*value).shape.dtype;
        graph.handed_on.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!([handed_on(&text), handed_on(&rounded)], [[DType::F32], [DType::Bf16]]);
}

/// As [`late_reader`], of matrices of 64 MiB, beside a long chain of single numbers.
fn large_late_reader(chain: usize) -> String {
    let links = (0..chain).map(|link| {
        format!("%s{} = stablehlo.multiply %s{link}, %s{link} : tensor<f32>\n", link + 1)
    });
    late_reader()
        .replace("64x64", "4096x4096")
        .replace("%x: tensor<4096x4096xf32>)", "%x: tensor<4096x4096xf32>, %s0: tensor<f32>)")
        .replace("-> (tensor<4096x4096xf32>) {", "-> (tensor<4096x4096xf32>, tensor<f32>) {")
        .replace(
            "return %e : tensor<4096x4096xf32>",
            &format!(
                "{}return %e, %s{chain} : tensor<4096x4096xf32>, tensor<f32>",
                links.collect::<String>()
            ),
        )
}

#[test]
fn a_large_program_is_made_smaller_however_many_nodes_it_has() {
    let arena = |chain: usize, shrunk_from: usize| {
        let text = large_late_reader(chain);
        let mut graph = graph_of(&text, Passes { shrunk_from, ..Passes::ALL });
        planned(&mut graph, &[None; 2], Passes { shrunk_from, ..Passes::ALL }).arena
    };
    let kept = arena(1, usize::MAX);
    assert!(kept >= ALWAYS_SHRUNK_BYTES, "{kept}");
    let nodes = kept / (MIN_SHRUNK_BYTES / SHRUNK_NODES) + 1;
    for chain in [1, nodes] {
        let less = arena(chain, MIN_SHRUNK_BYTES);
        assert!(less + (64 << 20) <= kept, "{less} and {kept}");
    }
}

/// The gradient of gated layers. What makes it also sums rows, and is fuller by these than the
/// product before it.
fn gated_layers() -> String {
    let [wide, thin, flat] = ["64x64", "64x16", "16x64"].map(|of| format!("tensor<{of}xf32>"));
    let to_wide = format!("contracting_dims = [1] x [0] : ({thin}, {flat}) -> {wide}");
    let to_thin = format!("contracting_dims = [1] x [0] : ({wide}, {thin}) -> {thin}");
    let to_flat = format!("contracting_dims = [0] x [0] : ({thin}, {wide}) -> {flat}");
    let forth = |layer: usize| {
        format!(
            "%h{layer} = stablehlo.dot_general %c{layer}, %n, {to_wide}
             %a{layer} = stablehlo.multiply %h{layer}, %h{layer} : {wide}
             %b{layer} = stablehlo.multiply %a{layer}, %h{layer} : {wide}
             %i{layer} = stablehlo.add %b{layer}, %h{layer} : {wide}
             %t{layer} = stablehlo.tanh %i{layer} : {wide}
             %j{layer} = stablehlo.add %one, %t{layer} : {wide}
             %g{layer} = stablehlo.multiply %h{layer}, %j{layer} : {wide}
             %c{} = stablehlo.dot_general %g{layer}, %p, {to_thin}\n",
            layer + 1
        )
    };
    let back = |layer: usize| {
        let from = layer + 1;
        format!(
            "%w{layer} = stablehlo.dot_general %r{from}, %g{layer}, {to_flat}
             %d{layer} = stablehlo.dot_general %r{from}, %n, {to_wide}
             %u{layer} = stablehlo.multiply %d{layer}, %j{layer} : {wide}
             %m{layer} = stablehlo.multiply %h{layer}, %d{layer} : {wide}
             %s{layer} = stablehlo.multiply %t{layer}, %t{layer} : {wide}
             %o{layer} = stablehlo.subtract %one, %s{layer} : {wide}
             %v{layer} = stablehlo.multiply %m{layer}, %o{layer} : {wide}
             %y{layer} = stablehlo.multiply %v{layer}, %a{layer} : {wide}
             %x{layer} = stablehlo.add %u{layer}, %v{layer} : {wide}
             %e{layer} = stablehlo.add %x{layer}, %y{layer} : {wide}
             %q{layer} = stablehlo.reduce(%e{layer} init: %z) applies stablehlo.add across dimensions = [0] : ({wide}, tensor<f32>) -> tensor<64xf32>
             %f{layer} = stablehlo.dot_general %e{layer}, %p, {to_thin}
             %k{layer} = stablehlo.broadcast_in_dim %q{layer}, dims = [0] : (tensor<64xf32>) -> {thin}
             %r{layer} = stablehlo.add %f{layer}, %k{layer} : {thin}\n"
        )
    };
    format!(
        "func.func public @main(%c0: {thin}, %p: {thin}, %n: {flat}) -> ({thin}, {flat}, {flat}, {flat}) {{
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %one = stablehlo.constant dense<1.0> : {wide}
        {}%r3 = stablehlo.add %c3, %c0 : {thin}
        {}return %r0, %w0, %w1, %w2 : {thin}, {flat}, {flat}, {flat}
      }}",
        (0..3).map(forth).collect::<String>(),
        (0..3).rev().map(back).collect::<String>()
    )
}

#[test]
fn every_node_of_the_fullest_step_reads_what_is_made_again() {
    let (text, kept) = (gated_layers(), [None; 3]);
    let passes = Passes { shrunk_from: 0, ..Passes::ALL };
    assert_eq!(results(&text, &kept, passes), results(&text, &kept, Passes::NONE));
    let mut graph = graph_of(&text, passes);
    let arena = planned(&mut graph, &kept, passes).arena;
    // An array of each layer, and the gradient of the last.
    assert!(arena < 5 * MATRIX, "{arena}");
}

#[test]
fn products_are_made_once() {
    let text = format!(
        "func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {{
        %h = stablehlo.dot_general %x, %x, {DOT}
        %a = stablehlo.dot_general %h, %x, {DOT}
        %b = stablehlo.dot_general %a, %a, {DOT}
        %c = stablehlo.dot_general %b, %a, {DOT}
        %d = stablehlo.add %c, %h : tensor<64x64xf32>
        return %d : tensor<64x64xf32>
      }}"
    );
    let [again, kept] = arenas(&text, 1);
    assert_eq!(again, kept);
    let mut graph = graph_of(&text, Passes::EAGER);
    let plan = planned(&mut graph, &[None], Passes::EAGER);
    let products = plan.steps.iter().filter(|step| step.name.contains("dot_general"));
    assert_eq!(products.count(), 4);
}

#[test]
fn bodies_of_loops_make_values_again() {
    let text = format!(
        "func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {{
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<64x64xf32>
        cond {{
          %three = stablehlo.constant dense<3> : tensor<i32>
          %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        }} do {{
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %i, %one : tensor<i32>
          %h = stablehlo.dot_general %v, %x, {DOT}
          %g = stablehlo.tanh %h : tensor<64x64xf32>
          %k = stablehlo.dot_general %g, %x, {DOT}
          %l = stablehlo.tanh %k : tensor<64x64xf32>
          %a = stablehlo.dot_general %l, %x, {DOT}
          %b = stablehlo.dot_general %a, %a, {DOT}
          %c = stablehlo.dot_general %b, %a, {DOT}
          %d = stablehlo.multiply %c, %g : tensor<64x64xf32>
          %m = stablehlo.multiply %d, %l : tensor<64x64xf32>
          %n = stablehlo.add %m, %k : tensor<64x64xf32>
          %e = stablehlo.add %n, %h : tensor<64x64xf32>
          stablehlo.return %next, %e : tensor<i32>, tensor<64x64xf32>
        }}
        return %r#1 : tensor<64x64xf32>
      }}"
    );
    let [again, kept] = arenas(&text, 1);
    assert!(again + MATRIX <= kept, "{again} and {kept}");
}

#[test]
fn where_a_layer_was_rectified_is_asked_of_what_it_became() {
    let bounds =
        [("maximum", "GT", "%h, %z"), ("maximum", "LT", "%z, %h"), ("minimum", "LT", "%h, %z")];
    for (clamp, direction, operands) in bounds {
        let text = format!(
            "func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {{
            %z = stablehlo.constant dense<1.0> : tensor<64x64xf32>
            %h = stablehlo.dot_general %x, %x, {DOT}
            %g = stablehlo.{clamp} %h, %z : tensor<64x64xf32>
            %a = stablehlo.dot_general %g, %x, {DOT}
            %b = stablehlo.dot_general %a, %a, {DOT}
            %c = stablehlo.dot_general %b, %g, {DOT}
            %p = stablehlo.compare {direction}, {operands} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
            %d = stablehlo.select %p, %c, %z : tensor<64x64xi1>, tensor<64x64xf32>
            return %d : tensor<64x64xf32>
          }}"
        );
        let [asked, kept] = arenas(&text, 1);
        assert!(asked + MATRIX / 4 <= kept, "{asked} and {kept}: {text}");
    }
    // Another bound, and another side.
    for (clamp, direction, bound) in [("maximum", "GT", "1.25"), ("maximum", "LT", "1.5")] {
        let text = format!(
            "func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {{
            %z = stablehlo.constant dense<1.5> : tensor<64x64xf32>
            %y = stablehlo.constant dense<{bound}> : tensor<64x64xf32>
            %g = stablehlo.{clamp} %x, %z : tensor<64x64xf32>
            %p = stablehlo.compare {direction}, %x, %y : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
            %d = stablehlo.select %p, %g, %x : tensor<64x64xi1>, tensor<64x64xf32>
            return %d : tensor<64x64xf32>
          }}"
        );
        assert_eq!(results(&text, &[None], Passes::ALWAYS), results(&text, &[None], Passes::NONE));
    }
}

/// Layers that are gated by a function of their second half, and read once more the other way.
fn layers_gated_by_halves() -> String {
    let [wide, half, square] = ["64x128", "64x64", "64x64"].map(|of| format!("tensor<{of}xf32>"));
    let forth = |layer: usize| {
        format!(
            "%h{layer} = stablehlo.dot_general %c{layer}, %w, contracting_dims = [1] x [0] : ({half}, {wide}) -> {wide}
             %a{layer} = stablehlo.slice %h{layer} [0:64, 0:64] : ({wide}) -> {half}
             %b{layer} = stablehlo.slice %h{layer} [0:64, 64:128] : ({wide}) -> {half}
             %t{layer} = stablehlo.logistic %b{layer} : {half}
             %g{layer} = stablehlo.multiply %a{layer}, %t{layer} : {half}
             %c{} = stablehlo.dot_general %g{layer}, %p, {DOT}\n",
            layer + 1
        )
    };
    let back = |layer: usize| {
        format!(
            "%d{layer} = stablehlo.dot_general %r{}, %p, {DOT}
             %m{layer} = stablehlo.multiply %d{layer}, %t{layer} : {half}
             %o{layer} = stablehlo.subtract %one, %t{layer} : {half}
             %u{layer} = stablehlo.multiply %m{layer}, %o{layer} : {half}
             %v{layer} = stablehlo.multiply %u{layer}, %a{layer} : {half}
             %e{layer} = stablehlo.add %m{layer}, %v{layer} : {half}
             %r{layer} = stablehlo.dot_general %e{layer}, %p, {DOT}\n",
            layer + 1
        )
    };
    format!(
        "func.func public @main(%c0: {half}, %w: {wide}, %p: {square}) -> {half} {{
        %one = stablehlo.constant dense<1.0> : {half}
        {}%r4 = stablehlo.add %c4, %c0 : {half}
        {}return %r0 : {half}
      }}",
        (0..4).map(forth).collect::<String>(),
        (0..4).rev().map(back).collect::<String>()
    )
}

#[test]
fn a_function_of_a_slice_is_not_kept_beside_what_the_slice_is_cut_from() {
    let [again, kept] = arenas(&layers_gated_by_halves(), 3);
    assert!(again <= 4 * 2 * MATRIX + 3 * MATRIX, "{again} and {kept}");
}

#[test]
fn a_small_array_of_other_devices_is_gathered_for_each_reader() {
    let text = |rows: usize| {
        let [thin, flat] = [format!("tensor<64x{rows}xf32>"), format!("tensor<{rows}x64xf32>")];
        format!(
            "func.func public @main(%x: tensor<64x64xf32>, %y: {thin}) -> (tensor<64x64xf32>) {{
            %s = stablehlo.add %y, %y : {thin}
            %g = stablehlo.dot_general %s, %x, contracting_dims = [0] x [0] : ({thin}, tensor<64x64xf32>) -> {flat}
            %e = stablehlo.dot_general %s, %g, contracting_dims = [1] x [0] : ({thin}, {flat}) -> tensor<64x64xf32>
            %a = stablehlo.dot_general %e, %x, {DOT}
            %b = stablehlo.dot_general %a, %e, {DOT}
            %c = stablehlo.dot_general %b, %a, {DOT}
            %l = stablehlo.dot_general %y, %g, contracting_dims = [1] x [0] : ({thin}, {flat}) -> tensor<64x64xf32>
            %d = stablehlo.add %c, %l : tensor<64x64xf32>
            return %d : tensor<64x64xf32>
          }}"
        )
    };
    let made = |rows: usize, gathered: bool| {
        let mut graph = graph_of(&text(rows), Passes::EAGER);
        if gathered {
            let kernels = |node: &&mut Node| matches!(node.work, NodeKind::Kernel(_));
            let first = graph.main.nodes.iter_mut().find(kernels).unwrap();
            first.name = "exchange by all_gather".into();
        }
        let plan = planned(&mut graph, &[None; 2], Passes::EAGER);
        plan.steps.iter().filter(|step| step.name.contains("all_gather")).count()
    };
    assert_eq!(made(4, true), 2);
    assert_eq!(made(4, false), 0);
    assert_eq!(made(16, true), 1, "a large one");
}

/// A chain of products whose functions are read again in the other direction.
fn chain() -> String {
    let layer = |number: usize| {
        let from = number - 1;
        format!(
            "%h{number} = stablehlo.dot_general %t{from}, %x, {DOT}
             %t{number} = stablehlo.tanh %h{number} : tensor<64x64xf32>\n"
        )
    };
    let back = |number: usize| {
        let from = number + 1;
        format!("%b{number} = stablehlo.dot_general %b{from}, %t{number}, {DOT}\n")
    };
    format!(
        "func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {{
        %t0 = stablehlo.add %x, %x : tensor<64x64xf32>
        {}%b7 = stablehlo.add %t6, %x : tensor<64x64xf32>
        {}return %b1 : tensor<64x64xf32>
      }}",
        (1..=6).map(layer).collect::<String>(),
        (1..=6).rev().map(back).collect::<String>()
    )
}

#[test]
fn products_are_made_again_where_there_is_no_room_for_them_and_are_named_so() {
    let text = chain();
    let wanted = results(&text, &[None], Passes::NONE);
    let plan = |room: usize| {
        let passes = Passes { room, ..Passes::EAGER };
        assert_eq!(results(&text, &[None], passes), wanted);
        let mut graph = graph_of(&text, passes);
        let plan = planned(&mut graph, &[None], passes);
        let again = plan.steps.iter().filter(|step| step.name.contains(".remat")).count();
        (plan.arena + plan.pool.len(), again)
    };

    let (kept, none) = plan(usize::MAX);
    let (one_less, some) = plan(kept - MATRIX);
    let (least, more) = plan(0);

    assert_eq!(none, 0);
    assert!(one_less <= kept - MATRIX && some > 0, "{one_less} of {kept}, {some} again");
    assert!(least <= one_less && more >= some, "{least} of {kept}, {more} again");
}
