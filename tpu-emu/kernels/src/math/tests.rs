//! Every function against double precision, at every vector width.
use super::function_loops::{single, single2};
use super::*;
use crate::elementwise::program::LoopFn;
use crate::simd::at_every_level;
use bytemuck::{cast_slice, cast_slice_mut};

/// The loop of a function of single precision.
pub(super) type SingleLoop = LoopFn;

/// How far a result is from the exact value, in units in the last place.
fn error(result: f32, exact: f64) -> f64 {
    if result.is_nan() || exact.is_nan() {
        return if result.is_nan() == exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if result == rounded(exact) {
        let unit = unit(exact);
        let distance = (f64::from(result) - exact).abs() / unit;
        return if distance.is_finite() { distance.min(0.5) } else { 0.0 };
    }
    if result.is_infinite() || rounded(exact).is_infinite() {
        return f64::INFINITY;
    }
    (f64::from(result) - exact).abs() / unit(exact)
}

/// The distance of neighbours of single precision.
fn unit(x: f64) -> f64 {
    let exponent = (x.abs().to_bits() >> 52).clamp(1023 - 126, 1023 + 127);
    f64::from_bits((exponent - 23) << 52)
}

/// Bits between numbers that are tried.
const STEP: u32 = 50_021;

/// Numbers of the whole range: every exponent and sign with many mantissas.
fn samples() -> Vec<f32> {
    let mut all: Vec<f32> = (0..u32::MAX / STEP).map(|i| f32::from_bits(i * STEP)).collect();
    all.extend([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    all.extend([f32::MAX, f32::MIN, 1e-45, -1e-45, f32::MIN_POSITIVE, 88.72, -103.9, 9.01]);
    all
}

fn run(code: LoopFn, inputs: &[&[f32]]) -> Vec<f32> {
    let mut output = vec![0.0; inputs[0].len()];
    let inputs: Vec<&[u8]> = inputs.iter().map(|input| cast_slice(input)).collect();
    code([0; 2], &inputs, cast_slice_mut(&mut output));
    output
}

/// The function in double precision, by a library.
fn exact(name: &str, x: f64) -> f64 {
    match name {
        "Exponential" => x.exp(),
        "ExponentialMinusOne" => x.exp_m1(),
        "Log" => x.ln(),
        "LogPlusOne" => x.ln_1p(),
        "Logistic" => 1.0 / (1.0 + (-x).exp()),
        "Tanh" => x.tanh(),
        "Sinh" => x.sinh(),
        "Cosh" => x.cosh(),
        "Sine" => x.sin(),
        "Cosine" => x.cos(),
        "Tan" => x.tan(),
        "Asin" => x.asin(),
        "Acos" => x.acos(),
        "Atan" => x.atan(),
        "Asinh" => libm::asinh(x),
        "Acosh" => special::acosh(x),
        "Atanh" => libm::atanh(x),
        "Cbrt" => x.cbrt(),
        "Erf" => libm::erf(x),
        "Erfc" => libm::erfc(x),
        "ErfInv" => special::erf_inv(x),
        "Lgamma" => special::lgamma(x),
        "Digamma" => special::digamma(x),
        other => panic!("no function {other}"),
    }
}

/// Whether the functions are as close as they are said to be, for these numbers.
fn check_bounds(x: &[f32], chosen: impl Fn(&str) -> bool) {
    let mut wrong = Vec::new();
    for_all(|name, bound, code| {
        if !chosen(name) {
            return;
        }
        let results = run(code, &[x]);
        let (mut worst, mut at) = (0.0, 0.0);
        for (&x, &result) in x.iter().zip(&results) {
            let error = error(result, exact(name, x.into()));
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        if worst > bound {
            wrong.push(format!("{name}({at:e}) is off by {worst}, not {bound}"));
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn results_are_as_close_as_they_are_said_to_be() {
    check_bounds(&samples(), |_| true);
}

#[test]
fn results_are_close_next_to_roots() {
    let x: Vec<f32> = [1.0_f32, 2.0, 0.937_5, 1.0625, 1.9375, 2.0625, -2.457_024_8]
        .into_iter()
        .flat_map(|x| {
            (-3_000_i32..=3_000).map(move |step| {
                f32::from_bits(x.to_bits().wrapping_add_signed(step * step.abs() / 9))
            })
        })
        .collect();
    check_bounds(&x, |name| name != "Digamma");
}

/// Whether a function of single precision is computed in it.
fn is_short(name: &str) -> bool {
    const EXPONENTIAL: [&str; 4] = ["Exponential", "ExponentialMinusOne", "Logistic", "Tanh"];
    const OTHERS: [&str; 4] = ["Log", "LogPlusOne", "Erf", "ErfInv"];
    EXPONENTIAL.contains(&name) || OTHERS.contains(&name)
}

#[test]
fn results_are_close_where_the_pieces_of_a_function_meet() {
    // Odd multiples of half of ln 2, powers of √2, and the ends of the quotients, each with its
    // neighbours.
    let middles = (-300_i16..=260).step_by(2).map(|n| f32::from(n + 1) * 0.346_573_6);
    let powers = (-298_i32..=256).map(|n| 2.0_f64.powf(f64::from(n) / 2.0)).map(rounded);
    let ends = [3.643_88, 7.926_882, 16.635_5, 17.158, 20.0, 87.336, 88.722_8, 89.0, 103.97, 104.5];
    let x: Vec<f32> = middles
        .chain(powers)
        .chain(ends)
        .flat_map(|x| {
            (-300_i32..=300).map(move |step| f32::from_bits(x.to_bits().wrapping_add_signed(step)))
        })
        .flat_map(|x| [x, -x, x - 1.0])
        .collect();
    check_bounds(&x, is_short);
}

#[test]
fn short_results_are_as_close_as_they_are_said_to_be_for_more_numbers() {
    // Steps of 1 take all numbers, and a quarter of an hour with optimisation.
    let mut all = (0..=u32::MAX).step_by(4_001).map(f32::from_bits).peekable();
    while all.peek().is_some() {
        let x: Vec<f32> = all.by_ref().take(1 << 20).collect();
        check_bounds(&x, is_short);
    }
}

#[test]
fn functions_that_end_at_one_reach_it_and_do_not_pass_it() {
    let x: Vec<f32> = (0..1_u32 << 20).map(|i| f32::from_bits(0x4000_0000 + 40 * i)).collect();
    for code in [single::<Tanh>, single::<Erf>, single::<Logistic>] {
        let results = run(code, &[&x]);
        assert!(results.iter().all(|result| (0.0..=1.0).contains(result)));
        assert_eq!(run(code, &[&[8.0, 20.0, f32::MAX, f32::INFINITY]])[1..], [1.0; 3]);
    }
    assert_eq!(run(single::<Tanh>, &[&[-9.1, 9.1]]), [-1.0, 1.0]);
    assert_eq!(run(single::<Erf>, &[&[-4.0, 4.0]]), [-1.0, 1.0]);
}

#[test]
fn powers_and_angles_are_as_close_as_they_are_said_to_be() {
    let x = samples();
    // Pairs of any two numbers, and of those whose power is a number of its own.
    let mut pairs: Vec<(f32, f32)> =
        x.iter().copied().zip(x.iter().copied().rev().skip(x.len() / 3)).collect();
    pairs.extend(x.iter().filter(|x| **x > 0.0).zip(x.iter().rev()).map(|(&x, &y)| {
        let size = x.ln();
        (x, if y.abs() < 1.0 { y * 90.0 / size } else { 60.0 / y / size })
    }));
    let ends = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, -2.5, 1e-45, -1e-45];
    let ends = || ends.into_iter().chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX]);
    pairs.extend(ends().flat_map(|x| ends().map(move |y| (x, y))));
    let (x, y): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    let check = |code: LoopFn, bound: f64, exact: fn(f64, f64) -> f64| {
        let results = run(code, &[&x, &y]);
        for (&(x, y), &result) in pairs.iter().zip(&results) {
            let exact = exact(x.into(), y.into());
            let error = error(result, exact);
            assert!(error <= bound, "({x:e}, {y:e}): {result:e} for {exact:e}, {error}");
            assert!(result != 0.0 || result.is_sign_negative() == exact.is_sign_negative());
        }
    };
    check(single2::<Power>, Power::ULPS, f64::powf);
    check(single2::<Atan2>, Atan2::ULPS, f64::atan2);
    check(single2::<Remainder>, Remainder::ULPS, |x, y| x % y);
}

#[test]
fn zeros_keep_their_sign() {
    for_all(|name, _, code| {
        let results = run(code, &[&[-0.0, 0.0]]);
        for (result, x) in results.into_iter().zip([-0.0_f64, 0.0]) {
            let expected = rounded(exact(name, x));
            assert_eq!(result.to_bits(), expected.to_bits(), "{name}({x})");
        }
    });
}

#[test]
fn every_width_gives_the_same_bits() {
    let x: Vec<f32> = samples().into_iter().step_by(5).collect();
    let all = || {
        let mut bits = Vec::new();
        for_all(|_, _, code| {
            bits.extend(run(code, &[&x]).iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }));
        });
        bits
    };
    let expected = all();
    at_every_level(|level| assert!(all() == expected, "{level:?}"));
}

#[test]
fn double_precision_is_nearly_exact() {
    let x: Vec<f64> =
        (0..1 << 16).map(|i| f64::from_bits((i << 47) | (i * 0x9_e377_9b97))).collect();
    let check = |name: &str, code: fn(f64) -> f64, bound: f64| {
        for x in x.iter().flat_map(|&x| [x, -x]) {
            let (result, exact) = (code(x), exact(name, x));
            let same = result == exact || result.is_nan() && exact.is_nan();
            let unit = f64::from_bits(exact.abs().to_bits() + 1) - exact.abs();
            assert!(same || (result - exact).abs() <= bound * unit, "{name}({x:e}): {result:e}");
        }
    };
    check("Exponential", Exponential::double, 1.5);
    check("ExponentialMinusOne", ExponentialMinusOne::double, 2.0);
    check("Log", Log::double, 1.5);
    check("LogPlusOne", LogPlusOne::double, 2.0);
    check("Logistic", Logistic::double, 2.0);
    check("Tanh", Tanh::double, 3.0);
    let near = |f: fn(f64) -> f64, g: fn(f64) -> f64| {
        for x in x.iter().filter(|x| x.abs() <= trig::NEAR) {
            let (result, exact) = (f(*x), g(*x));
            let unit = f64::from_bits(exact.abs().to_bits() + 1) - exact.abs();
            assert!((result - exact).abs() <= 1.5 * unit, "{x:e}: {result:e}, not {exact:e}");
        }
    };
    near(trig::sin, f64::sin);
    near(trig::cos, f64::cos);
}

#[test]
fn one_number_alone_has_the_bits_that_it_has_among_others() {
    let numbers: Vec<f32> = samples().into_iter().step_by(97).collect();
    at_every_level(|level| {
        for_all(|name, _, code| {
            let together = run(code, &[&numbers]);
            for (&x, together) in numbers.iter().zip(together) {
                let alone = run(code, &[&[x]]);
                let same = alone[0].to_bits() == together.to_bits();
                assert!(same || alone[0].is_nan() && together.is_nan(), "{name} of {x}, {level:?}");
            }
        });
    });
}
