//! Loops of many kinds, each with the bits of its steps: some are machine code, some are not.
use crate::compile::Passes;
use crate::differential::{plan_of, results, run};
use crate::plan::{PlannedScalarLoop, PlannedStep, Step};
use std::sync::atomic::Ordering;
use tpu_kernels::jit::{ScalarLoop, is_here};
use tpu_kernels::simd::at_every_level;

/// The first loop of some steps, if there is one: what can be machine code of it.
pub(super) fn scalar_of(steps: &[Step]) -> Option<Option<&PlannedScalarLoop>> {
    steps.iter().find_map(|step| match &step.kind {
        PlannedStep::While { scalar, .. } => Some(scalar.as_deref()),
        _ => None,
    })
}

/// Whether a loop becomes machine code.
pub(super) fn compiles(scalar: Option<&PlannedScalarLoop>) -> bool {
    scalar.is_some_and(|scalar| ScalarLoop::new(&scalar.program.code).is_some())
}

/// A loop of `count` iterations over an i32 counter and what else `types` says.
pub(super) fn text(count: usize, types: &[&str], condition: &str, body: &str) -> String {
    let names = |prefix: &str| -> Vec<String> {
        (0..=types.len()).map(|at| format!("%{prefix}{at}")).collect()
    };
    let all: Vec<String> = std::iter::once("i32")
        .chain(types.iter().copied())
        .map(|of| format!("tensor<{of}>"))
        .collect();
    let typed = |prefix: &str| -> Vec<String> {
        names(prefix).iter().zip(&all).map(|(name, of)| format!("{name}: {of}")).collect()
    };
    let pairs: Vec<String> =
        names("b").iter().zip(names("a")).map(|(b, a)| format!("{b} = {a}")).collect();
    let outputs: Vec<String> = (0..all.len()).map(|at| format!("%w#{at}")).collect();
    let (list, pairs, outputs) = (all.join(", "), pairs.join(", "), outputs.join(", "));
    let parameters = typed("p").join(", ");
    let copies: Vec<String> = (1..all.len())
        .map(|at| format!("%a{at} = stablehlo.add %p{at}, %p{at} : {}\n", all[at]))
        .collect();
    format!(
        "func.func public @main({parameters}) -> ({list}) {{
        %a0 = stablehlo.constant dense<0> : tensor<i32>
        {}
        %w:{} = stablehlo.while({pairs}) : {list}
        cond {{
          %n = stablehlo.constant dense<{count}> : tensor<i32>
          %less = stablehlo.compare LT, %b0, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          {condition}
        }} do {{
          %one = stablehlo.constant dense<1> : tensor<i32>
          %next = stablehlo.add %b0, %one : tensor<i32>
          {body}
        }}
        func.return {outputs} : {list}
        }}\n",
        copies.concat(),
        all.len(),
    )
}

fn check(text: &str, whole: bool) {
    let plan = plan_of(text);
    at_every_level(|_| {
        if is_here() {
            assert_eq!(scalar_of(&plan.steps).map(compiles), Some(whole), "{text}");
        }
    });
    has_the_bits_of_its_steps(text);
}

fn has_the_bits_of_its_steps(text: &str) {
    let kept = [None; 8];
    let wanted = std::cell::OnceCell::new();
    at_every_level(|_| {
        for passes in [Passes::NONE, Passes::ALL] {
            let got = results(text, &kept, passes);
            assert_eq!(wanted.get_or_init(|| got.clone()), &got, "{passes:?}\n{text}");
        }
    });
}

pub(super) const GO: &str = "stablehlo.return %less : tensor<i1>";

#[test]
fn a_loop_of_scalars_is_one_piece_of_code() {
    let body = "%x = stablehlo.multiply %b1, %b2 : tensor<f32>
        %y = stablehlo.add %b2, %b1 : tensor<f32>
        stablehlo.return %next, %y, %b1 : tensor<i32>, tensor<f32>, tensor<f32>";
    for count in [0, 1, 31, 32, 33, 34, 100] {
        check(&text(count, &["f32", "f32"], GO, body), true);
    }
}

#[test]
fn variables_change_at_once_and_types_mix() {
    let body = "%h = stablehlo.convert %b1 : (tensor<f32>) -> tensor<bf16>
        %p = stablehlo.compare GT, %b1, %b2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %s = stablehlo.select %p, %b1, %b2 : tensor<i1>, tensor<f32>
        %t = stablehlo.select %p, %b2, %b1 : tensor<i1>, tensor<f32>
        %u = stablehlo.convert %h : (tensor<bf16>) -> tensor<f32>
        %v = stablehlo.subtract %t, %u : tensor<f32>
        stablehlo.return %next, %s, %v : tensor<i32>, tensor<f32>, tensor<f32>";
    check(&text(100, &["f32", "f32"], GO, body), true);
    let body = "stablehlo.return %next, %b2, %b3, %b1 :
        tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>";
    check(&text(100, &["f32", "f32", "f32"], GO, body), true);
}

#[test]
fn what_the_condition_computes_may_end_the_loop_and_be_used_in_the_body() {
    let condition = "%limit = stablehlo.constant dense<1.0e9> : tensor<f32>
        %small = stablehlo.compare LT, %b1, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %both = stablehlo.and %less, %small : tensor<i1>
        stablehlo.return %both : tensor<i1>";
    let body = "%x = stablehlo.add %b1, %b1 : tensor<f32>
        stablehlo.return %next, %x : tensor<i32>, tensor<f32>";
    check(&text(1000, &["f32"], condition, body), true);
}

#[test]
fn operations_without_instructions_are_called() {
    let body = "%x = stablehlo.cosine %b1 : tensor<f32>
        %y = stablehlo.remainder %next, %b2 : tensor<i32>
        %z = stablehlo.add %y, %next : tensor<i32>
        %u = stablehlo.power %x, %b3 : tensor<f32>
        %v = stablehlo.abs %u : tensor<f32>
        stablehlo.return %next, %x, %z, %v :
        tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>";
    for count in [31, 33, 200] {
        check(&text(count, &["f32", "i32", "f32"], GO, body), true);
    }
}

#[test]
fn operations_on_several_elements_are_called_together() {
    let of = "tensor<8xf32>";
    let body = format!(
        "%x = stablehlo.cosine %b1 : {of}
        %y = stablehlo.add %x, %b1 : {of}
        %z = stablehlo.tanh %y : {of}
        %u = stablehlo.power %z, %x : {of}
        %s = stablehlo.cosine %b3 : tensor<f32>
        %h = stablehlo.logistic %b2 : tensor<3xbf16>
        %m = stablehlo.remainder %b4, %c : tensor<2xi64>
        stablehlo.return %next, %u, %h, %s, %m :
        tensor<i32>, {of}, tensor<3xbf16>, tensor<f32>, tensor<2xi64>"
    );
    let body = format!("%c = stablehlo.constant dense<[3, 5]> : tensor<2xi64>\n{body}");
    for count in [31, 33, 200] {
        let types = ["8xf32", "3xbf16", "f32", "2xi64"];
        check(&text(count, &types, GO, &body), true);
    }
}

#[test]
fn reductions_of_a_few_elements_are_operations_one_after_the_other() {
    let reduced = |name: &str, at: usize, from: &str, to: &str| {
        format!(
            "stablehlo.reduce(%x init: %b2) applies stablehlo.{name} across dimensions = [{at}] :
            (tensor<{from}xf32>, tensor<f32>) -> tensor<{to}>"
        )
    };
    // Rows, columns, all, one, and those of which sums are made apart.
    for (from, at, to, whole) in [
        ("3x5", 1, "3xf32", true),
        ("3x5", 0, "5xf32", true),
        ("32", 0, "f32", true),
        ("1x32", 1, "1xf32", true),
        ("32x1", 0, "1xf32", true),
        ("2x3x4", 1, "2x4xf32", true),
        ("33", 0, "f32", false),
    ] {
        for name in ["add", "multiply", "maximum", "minimum"] {
            let body = format!(
                "%h = stablehlo.constant dense<0.5> : tensor<{from}xf32>
                %i = stablehlo.iota dim = 0 : tensor<{from}xf32>
                %s = stablehlo.broadcast_in_dim %b2, dims = [] : (tensor<f32>) -> tensor<{from}xf32>
                %c = stablehlo.cosine %i : tensor<{from}xf32>
                %m = stablehlo.multiply %s, %c : tensor<{from}xf32>
                %x = stablehlo.add %m, %h : tensor<{from}xf32>
                %y = {}
                %n = stablehlo.tanh %b2 : tensor<f32>
                stablehlo.return %next, %y, %n : tensor<i32>, tensor<{to}>, tensor<f32>",
                reduced(name, at, from, to)
            );
            check(&text(40, &[to, "f32"], GO, &body), whole);
        }
    }
}

#[test]
fn the_places_of_the_largest_of_a_few_elements_are_operations_too() {
    for (from, at, to, whole) in [
        ("3x5", 1, "3", true),
        ("3x5", 0, "5", true),
        ("1x4", 1, "1", true),
        ("2x3x4", 1, "2x4", true),
        ("3x11", 1, "3", false),
    ] {
        let body = format!(
            "%k = stablehlo.iota dim = {at} : tensor<{from}xi32>
            %f = stablehlo.convert %k : (tensor<{from}xi32>) -> tensor<{from}xf32>
            %s = stablehlo.broadcast_in_dim %b2, dims = [] : (tensor<f32>) -> tensor<{from}xf32>
            %m = stablehlo.multiply %s, %f : tensor<{from}xf32>
            %y = stablehlo.cosine %m : tensor<{from}xf32>
            %x = stablehlo.round_nearest_afz %y : tensor<{from}xf32>
            %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
            %none = stablehlo.constant dense<0> : tensor<i32>
            %r:2 = stablehlo.reduce(%x init: %low), (%k init: %none) across dimensions = [{at}] :
                (tensor<{from}xf32>, tensor<{from}xi32>, tensor<f32>, tensor<i32>)
                -> (tensor<{to}xf32>, tensor<{to}xi32>)
            reducer(%u: tensor<f32>, %v: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {{
                %gt = stablehlo.compare GT, %u, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
                %eq = stablehlo.compare EQ, %u, %v, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
                %lt = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                %tie = stablehlo.and %eq, %lt : tensor<i1>
                %first = stablehlo.or %gt, %tie : tensor<i1>
                %w = stablehlo.select %gt, %u, %v : tensor<i1>, tensor<f32>
                %h = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
                stablehlo.return %w, %h : tensor<f32>, tensor<i32>
            }}
            %n = stablehlo.tanh %b2 : tensor<f32>
            stablehlo.return %next, %r#1, %n : tensor<i32>, tensor<{to}xi32>, tensor<f32>"
        );
        check(&text(40, &[&format!("{to}xi32"), "f32"], GO, &body), whole);
    }
}

#[test]
fn arrays_of_a_few_elements_become_as_many_values() {
    let body = "%x = stablehlo.slice %b1 [1:4] : (tensor<4xf32>) -> tensor<3xf32>
        %y = stablehlo.slice %b1 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
        %z = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3xf32>, tensor<1xf32>) -> tensor<4xf32>
        %i = stablehlo.iota dim = 0 : tensor<4xf32>
        %a = stablehlo.add %z, %i : tensor<4xf32>
        %b = stablehlo.broadcast_in_dim %b2, dims = [] : (tensor<f32>) -> tensor<4xf32>
        %c = stablehlo.subtract %a, %b : tensor<4xf32>
        %d = stablehlo.reshape %y : (tensor<1xf32>) -> tensor<f32>
        %p = stablehlo.pad %x, %b2, low = [1], high = [0], interior = [0] :
            (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
        %e = stablehlo.maximum %p, %c : tensor<4xf32>
        stablehlo.return %next, %e, %d : tensor<i32>, tensor<4xf32>, tensor<f32>";
    for count in [33, 77] {
        check(&text(count, &["4xf32", "f32"], GO, body), true);
    }
    // More variables than there are registers.
    for (of, whole) in [("32xf32", true), ("33xf32", false)] {
        let body = format!(
            "%x = stablehlo.reverse %b1, dims = [0] : tensor<{of}>
            %y = stablehlo.add %x, %b1 : tensor<{of}>
            stablehlo.return %next, %y : tensor<i32>, tensor<{of}>"
        );
        check(&text(50, &[of], GO, &body), whole);
    }
    // An element is wider than what a register has.
    let body = "%i = stablehlo.iota dim = 0 : tensor<4xcomplex<f64>>
        %x = stablehlo.add %b1, %i : tensor<4xcomplex<f64>>
        stablehlo.return %next, %x : tensor<i32>, tensor<4xcomplex<f64>>";
    check(&text(50, &["4xcomplex<f64>"], GO, body), false);
}

#[test]
fn tiny_products_are_multiplications_and_additions() {
    let products = |element: &str, [matrix, vector]: [&str; 2], precision: &str| {
        let [matrix, vector] = [matrix, vector].map(|dims| format!("tensor<{dims}x{element}>"));
        // Of floats, what the next iteration begins with stays small.
        let bounded = if element == "f32" { "cosine" } else { "negate" };
        format!(
            "%t = stablehlo.dot_general %b1, %b2, contracting_dims = [1] x [0]{precision} :
                ({matrix}, {matrix}) -> {matrix}
            %s = stablehlo.dot_general %t, %b2, contracting_dims = [0] x [1]{precision} :
                ({matrix}, {matrix}) -> {matrix}
            %v = stablehlo.dot_general %t, %b3, contracting_dims = [1] x [0]{precision} :
                ({matrix}, {vector}) -> {vector}
            %u = stablehlo.{bounded} %s : {matrix}
            %w = stablehlo.{bounded} %v : {vector}
            stablehlo.return %next, %u, %b2, %w : tensor<i32>, {matrix}, {matrix}, {vector}"
        )
    };
    for precision in ["", ", precision = [DEFAULT, DEFAULT]", ", precision = [HIGHEST, HIGHEST]"] {
        for (element, sizes) in
            [("f32", ["2x2", "2"]), ("i32", ["3x3", "3"]), ("f32", ["4x4", "4"])]
        {
            let [matrix, vector] = sizes;
            let body = products(element, sizes, precision);
            let types = [matrix, matrix, vector].map(|dims| format!("{dims}x{element}"));
            let text = text(60, &types.each_ref().map(String::as_str), GO, &body);
            if matrix == "2x2" && precision.is_empty() {
                check(&text, true);
            } else {
                has_the_bits_of_its_steps(&text);
            }
        }
    }
}

#[test]
fn elements_are_read_and_written_where_the_loop_says() {
    // The place runs past both ends.
    let body = "%seven = stablehlo.constant dense<7> : tensor<i32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %from = stablehlo.subtract %b0, %seven : tensor<i32>
        %x = stablehlo.dynamic_slice %b2, %from, %zero, sizes = [1, 3] :
            (tensor<30x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
        %y = stablehlo.reshape %x : (tensor<1x3xf32>) -> tensor<3xf32>
        %z = stablehlo.add %y, %b1 : tensor<3xf32>
        %u = stablehlo.reshape %z : (tensor<3xf32>) -> tensor<1x3xf32>
        %v = stablehlo.dynamic_update_slice %b2, %u, %b0, %zero :
            (tensor<30x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<30x3xf32>
        stablehlo.return %next, %z, %v : tensor<i32>, tensor<3xf32>, tensor<30x3xf32>";
    check(&text(50, &["3xf32", "30x3xf32"], GO, body), true);
    let body = "%f = stablehlo.convert %b0 : (tensor<i32>) -> tensor<i64>
        %x = stablehlo.dynamic_slice %b1, %f, sizes = [1] :
            (tensor<40xbf16>, tensor<i64>) -> tensor<1xbf16>
        %a = stablehlo.add %x, %x : tensor<1xbf16>
        %y = stablehlo.reshape %x : (tensor<1xbf16>) -> tensor<bf16>
        %z = stablehlo.add %y, %b2 : tensor<bf16>
        %u = stablehlo.dynamic_update_slice %b1, %a, %b0 :
            (tensor<40xbf16>, tensor<1xbf16>, tensor<i32>) -> tensor<40xbf16>
        stablehlo.return %next, %u, %z : tensor<i32>, tensor<40xbf16>, tensor<bf16>";
    check(&text(60, &["40xbf16", "bf16"], GO, body), true);
}

#[test]
fn an_element_put_outside_is_skipped() {
    let body = "%seven = stablehlo.constant dense<7> : tensor<i32>
        %at = stablehlo.subtract %b0, %seven : tensor<i32>
        %i = stablehlo.reshape %at : (tensor<i32>) -> tensor<1xi32>
        %x = \"stablehlo.scatter\"(%b1, %i, %b2) ({
        ^bb0(%old: tensor<f32>, %new: tensor<f32>):
          stablehlo.return %new : tensor<f32>
        }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>} :
            (tensor<30xf32>, tensor<1xi32>, tensor<f32>) -> tensor<30xf32>
        %y = stablehlo.add %b2, %b2 : tensor<f32>
        stablehlo.return %next, %x, %y : tensor<i32>, tensor<30xf32>, tensor<f32>";
    check(&text(50, &["30xf32", "f32"], GO, body), true);
}

#[test]
fn updates_at_computed_places_join_what_is_there() {
    for name in ["add", "multiply", "maximum", "minimum"] {
        for (of, bits) in [("f32", "bf16"), ("i32", "i8")] {
            let body = format!(
                "%seven = stablehlo.constant dense<7> : tensor<i32>
                %eight = stablehlo.constant dense<-3> : tensor<i32>
                %m = stablehlo.multiply %b0, %seven : tensor<i32>
                %k = stablehlo.add %m, %eight : tensor<i32>
                %i = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
                %x = \"stablehlo.scatter\"(%b1, %i, %b2) ({{
                ^bb0(%old: tensor<{of}>, %new: tensor<{of}>):
                  %r = stablehlo.{name} %old, %new : tensor<{of}>
                  stablehlo.return %r : tensor<{of}>
                }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}} :
                    (tensor<300x{of}>, tensor<1xi32>, tensor<{of}>) -> tensor<300x{of}>
                %j = stablehlo.remainder %k, %eight : tensor<i32>
                %l = stablehlo.abs %j : tensor<i32>
                %n0 = stablehlo.reshape %l : (tensor<i32>) -> tensor<1xi32>
                %p = stablehlo.concatenate %i, %n0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
                %w = \"stablehlo.scatter\"(%b3, %p, %b4) ({{
                ^bb0(%old2: tensor<{bits}>, %new2: tensor<{bits}>):
                  %r2 = stablehlo.{name} %old2, %new2 : tensor<{bits}>
                  stablehlo.return %r2 : tensor<{bits}>
                }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1]>}} :
                    (tensor<40x5x{bits}>, tensor<2xi32>, tensor<3x{bits}>) -> tensor<40x5x{bits}>
                stablehlo.return %next, %x, %b2, %w, %b4 : tensor<i32>, tensor<300x{of}>, tensor<{of}>, tensor<40x5x{bits}>, tensor<3x{bits}>"
            );
            let types =
                [format!("300x{of}"), of.into(), format!("40x5x{bits}"), format!("3x{bits}")];
            let types: Vec<&str> = types.iter().map(String::as_str).collect();
            check(&text(60, &types, GO, &body), true);
        }
    }
}

#[test]
fn both_branches_of_a_choice_are_computed() {
    let body =
        "%p = stablehlo.compare GT, %b1, %b2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %x:2 = \"stablehlo.if\"(%p) ({
          %u = stablehlo.subtract %b1, %b2 : tensor<f32>
          stablehlo.return %u, %b2 : tensor<f32>, tensor<f32>
        }, {
          %v = stablehlo.add %b1, %b1 : tensor<f32>
          stablehlo.return %b2, %v : tensor<f32>, tensor<f32>
        }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
        %i = stablehlo.remainder %b0, %b3 : tensor<i32>
        %y = \"stablehlo.case\"(%i) ({
          stablehlo.return %x#0 : tensor<f32>
        }, {
          %w = stablehlo.sqrt %x#1 : tensor<f32>
          stablehlo.return %w : tensor<f32>
        }) : (tensor<i32>) -> tensor<f32>
        stablehlo.return %next, %x#0, %y, %b3 :
        tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>";
    check(&text(90, &["f32", "f32", "i32"], GO, body), true);
}

#[test]
fn a_short_loop_that_runs_again_and_again_goes_on_where_it_was() {
    // From some run on, the inner loop is code; the outer one stays steps.
    let body = "%zero = stablehlo.constant dense<0> : tensor<i32>
        %five = stablehlo.constant dense<5> : tensor<i32>
        %w:2 = stablehlo.while(%i = %zero, %x = %b1) : tensor<i32>, tensor<f32>
        cond {
          %go = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %go : tensor<i1>
        } do {
          %j = stablehlo.add %i, %one : tensor<i32>
          %y = stablehlo.sine %x : tensor<f32>
          %z = stablehlo.add %y, %x : tensor<f32>
          stablehlo.return %j, %z : tensor<i32>, tensor<f32>
        }
        stablehlo.return %next, %w#1 : tensor<i32>, tensor<f32>";
    for count in [6, 7, 8, 40] {
        check(&text(count, &["f32"], GO, body), false);
    }
}

/// `jax.lax.fori_loop(0, 10_000, lambda i, x: x * 1.5 + i, x)` as JAX 0.11 lowers it.
pub(crate) const FORI_LOOP: &str = "func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<f32>
    cond {
      %c_1 = stablehlo.constant dense<10000> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1:2 = func.call @None(%iterArg, %iterArg_0) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
      stablehlo.return %1#0, %1#1 : tensor<i32>, tensor<f32>
    }
    return %0#1 : tensor<f32>
  }
  func.func private @None(%arg0: tensor<i32>, %arg1: tensor<f32>) -> (tensor<i32>, tensor<f32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %cst = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %1 = stablehlo.multiply %arg1, %cst : tensor<f32>
    %2 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
    %3 = stablehlo.add %1, %2 : tensor<f32>
    return %0, %3 : tensor<i32>, tensor<f32>
  }";

#[test]
fn a_loop_of_jax_with_10000_iterations_runs_all_but_the_first_as_machine_code() {
    let plan = plan_of(FORI_LOOP);
    run(&plan, &[1_f32.to_le_bytes().to_vec()], &[4], &[None]);
    let scalar = scalar_of(&plan.steps).unwrap().expect("a scalar loop");
    if is_here() {
        assert!(matches!(scalar.code.get(), Some(Some(_))), "there is machine code");
        assert_eq!(scalar.iterations.load(Ordering::Relaxed), 32, "iterations step by step");
    }
    let without = Passes { scalar_loops: false, ..Passes::ALL };
    let wanted = results(FORI_LOOP, &[None], without);
    assert_eq!(results(FORI_LOOP, &[None], Passes::ALL), wanted);
}

#[test]
fn an_old_version_of_an_array_that_is_updated_in_place_is_not_read() {
    let body = "%one_element = stablehlo.reshape %b2 : (tensor<f32>) -> tensor<1xf32>
        %u = stablehlo.dynamic_update_slice %b1, %one_element, %b0 :
            (tensor<30xf32>, tensor<1xf32>, tensor<i32>) -> tensor<30xf32>
        %x = stablehlo.dynamic_slice SOURCE, %b0, sizes = [1] :
            (tensor<30xf32>, tensor<i32>) -> tensor<1xf32>
        %y = stablehlo.reshape %x : (tensor<1xf32>) -> tensor<f32>
        %z = stablehlo.add %y, %b2 : tensor<f32>
        stablehlo.return %next, %u, %z : tensor<i32>, tensor<30xf32>, tensor<f32>";
    check(&text(50, &["30xf32", "f32"], GO, &body.replace("SOURCE", "%u")), true);
    check(&text(50, &["30xf32", "f32"], GO, &body.replace("SOURCE", "%b1")), false);
    // Nor is the old version carried on, which the next iteration would miss.
    let stays = body.replace("SOURCE", "%u").replace("%next, %u,", "%next, %b1,");
    check(&text(50, &["30xf32", "f32"], GO, &stays), false);
}
