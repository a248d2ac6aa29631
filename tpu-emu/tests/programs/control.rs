//! Loops and branches.
use super::machine::{f32s, i32s, run};

/// A loop of `rounds` rounds over `carried`, whose body is `body` and returns `made`.
fn looped(types: &[&str], rounds: u32, body: &str, made: &str) -> String {
    let list = |form: &dyn Fn(usize, &str) -> String| {
        let items: Vec<String> = types.iter().enumerate().map(|(at, of)| form(at, of)).collect();
        items.join(", ")
    };
    let parameters = list(&|at, of| format!("%p{at}: {of}"));
    let carried = list(&|at, _| format!("%c{at} = %p{at}"));
    let types_only = list(&|_, of| of.to_owned());
    let results = list(&|at, _| format!("%r#{}", at + 1));
    let count = types.len() + 1;
    format!(
        "func.func public @main({parameters}) -> ({types_only}) {{
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %rounds = stablehlo.constant dense<{rounds}> : tensor<i32>
          %r:{count} = stablehlo.while(%i = %zero, {carried}) : tensor<i32>, {types_only}
          cond {{
            %p = stablehlo.compare LT, %i, %rounds : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          }} do {{
            %next = stablehlo.add %i, %one : tensor<i32>
            {body}
            stablehlo.return %next, {made} : tensor<i32>, {types_only}
          }}
          return {results} : {types_only}
        }}"
    )
}

const T: &str = "tensor<2xi32>";

#[test]
fn carried_values_that_change_places_do() {
    let (a, b) = (i32s(&[2], &[1, 2]), i32s(&[2], &[3, 4]));
    let text = looped(&[T, T], 3, "", "%c1, %c0");
    assert_eq!(run(&text, &[a.clone(), b.clone()]), [b.clone(), a.clone()]);
    let turned = looped(&[T, T, T], 2, "", "%c1, %c2, %c0");
    let c = i32s(&[2], &[5, 6]);
    assert_eq!(run(&turned, &[a.clone(), b.clone(), c.clone()]), [c, a, b]);
}

#[test]
fn carried_values_may_stay_or_come_twice_or_be_an_outer_one() {
    let (a, b) = (i32s(&[2], &[1, 2]), i32s(&[2], &[3, 4]));
    let body = format!("%s = stablehlo.add %c0, %c1 : {T}");
    let kept = looped(&[T, T], 3, &body, "%s, %c1");
    assert_eq!(run(&kept, &[a.clone(), b.clone()]), [i32s(&[2], &[10, 14]), b.clone()]);
    let twice = looped(&[T, T], 2, &body, "%s, %s");
    let eight = i32s(&[2], &[8, 12]);
    assert_eq!(run(&twice, &[a.clone(), b.clone()]), [eight.clone(), eight]);
    let outer = looped(&[T, T], 2, "", "%p1, %c0");
    assert_eq!(run(&outer, &[a.clone(), b.clone()]), [b.clone(), b.clone()]);
    let never = looped(&[T, T], 0, &body, "%s, %s");
    assert_eq!(run(&never, &[a.clone(), b.clone()]), [a, b]);
}

#[test]
fn a_body_may_give_a_constant() {
    let body = format!("%k = stablehlo.constant dense<9> : {T}");
    let text = looped(&[T, T], 2, &body, "%k, %c0");
    let results = run(&text, &[i32s(&[2], &[1, 2]), i32s(&[2], &[3, 4])]);
    assert_eq!(results, [i32s(&[2], &[9, 9]), i32s(&[2], &[9, 9])]);
}

#[test]
fn an_array_that_a_loop_updates_in_place_has_every_update() {
    let body = "
        %old = stablehlo.dynamic_slice %c0, %i, sizes = [1] : (tensor<5xf32>, tensor<i32>) -> tensor<1xf32>
        %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
        %v = stablehlo.reshape %f : (tensor<f32>) -> tensor<1xf32>
        %new = stablehlo.add %old, %v : tensor<1xf32>
        %u = stablehlo.dynamic_update_slice %c0, %new, %i : (tensor<5xf32>, tensor<1xf32>, tensor<i32>) -> tensor<5xf32>
        %s = stablehlo.add %c1, %c0 : tensor<5xf32>";
    let text = looped(&["tensor<5xf32>", "tensor<5xf32>"], 3, body, "%u, %s");
    let results = run(&text, &[f32s(&[5], &[10.0; 5]), f32s(&[5], &[0.0; 5])]);
    assert_eq!(results[0], f32s(&[5], &[10.0, 11.0, 12.0, 10.0, 10.0]));
    assert_eq!(results[1], f32s(&[5], &[30.0, 31.0, 30.0, 30.0, 30.0]));
}

#[test]
fn loops_in_loops_in_branches_count_right() {
    let body = format!(
        "%q = stablehlo.compare EQ, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
         %n:2 = \"stablehlo.if\"(%q) ({{
           %w:2 = stablehlo.while(%j = %i, %x = %c0) : tensor<i32>, {T}
           cond {{
             %p2 = stablehlo.compare LE, %j, %rounds : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %p2 : tensor<i1>
           }} do {{
             %j2 = stablehlo.add %j, %one : tensor<i32>
             %x2 = stablehlo.add %x, %c0 : {T}
             stablehlo.return %j2, %x2 : tensor<i32>, {T}
           }}
           stablehlo.return %w#1, %c1 : {T}, {T}
         }}, {{
           %d = stablehlo.add %c0, %c0 : {T}
           stablehlo.return %d, %c0 : {T}, {T}
         }}) : (tensor<i1>) -> ({T}, {T})"
    );
    let text = looped(&[T, T], 3, &body, "%n#0, %n#1");
    // Doubled to 2; then three more times added in rounds 1, 2, 3; doubled.
    let results = run(&text, &[i32s(&[2], &[1, 10]), i32s(&[2], &[0, 0])]);
    assert_eq!(results, [i32s(&[2], &[16, 160]), i32s(&[2], &[8, 80])]);
}

#[test]
fn a_case_out_of_range_is_the_last_one() {
    let text = r#"
        func.func public @main(%n: tensor<i32>, %x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
          %outer = stablehlo.add %x, %x : tensor<2xi32>
          %r:2 = "stablehlo.case"(%n) ({
            stablehlo.return %x, %x : tensor<2xi32>, tensor<2xi32>
          }, {
            %s = stablehlo.multiply %outer, %x : tensor<2xi32>
            stablehlo.return %s, %outer : tensor<2xi32>, tensor<2xi32>
          }, {
            %k = stablehlo.constant dense<5> : tensor<2xi32>
            stablehlo.return %outer, %k : tensor<2xi32>, tensor<2xi32>
          }) : (tensor<i32>) -> (tensor<2xi32>, tensor<2xi32>)
          return %r#0, %r#1 : tensor<2xi32>, tensor<2xi32>
        }"#;
    let [x, double] = [i32s(&[2], &[1, 2]), i32s(&[2], &[2, 4])];
    let last = [double.clone(), i32s(&[2], &[5, 5])];
    for (number, wanted) in [
        (0, [x.clone(), x.clone()]),
        (1, [i32s(&[2], &[2, 8]), double.clone()]),
        (2, last.clone()),
        (3, last.clone()),
        (-1, last.clone()),
        (i32::MIN, last),
    ] {
        assert_eq!(run(text, &[i32s(&[], &[number]), x.clone()]), wanted, "{number}");
    }
}
