//! The complement of the error function, of single precision.
use super::exp::bounded_single;
use super::polynomial::{between, polynomial};

/// `erfc(x) e^(x²)` for `x` from 0 to 10.6, to 2^-45 of it: the numerator.
const ERFC_UP: [f64; 8] = [
    0.999_999_999_999_985_2,
    1.787_321_008_535_833_3,
    1.578_654_070_756_138_5,
    0.861_155_807_082_936_8,
    0.309_664_318_182_829_36,
    0.073_212_780_317_88,
    0.010_589_458_865_154_663,
    0.000_733_463_954_905_633_8,
];

/// The denominator.
const ERFC_DOWN: [f64; 9] = [
    1.0,
    2.915_700_175_628_238_4,
    3.868_669_406_541_759,
    3.063_034_370_720_880_3,
    1.590_602_651_820_930_4,
    0.558_249_587_399_835_3,
    0.130_416_330_652_115_08,
    0.018_769_325_850_445_16,
    0.001_300_031_030_338_633_6,
];

/// `1 - erf(x)`.
#[inline(always)]
pub(super) fn erfc_single(x: f64) -> f64 {
    let a = between(x.abs(), 0.0, 10.6);
    let value = bounded_single(-a * a) * polynomial(a, &ERFC_UP) / polynomial(a, &ERFC_DOWN);
    if x < 0.0 { 2.0 - value } else { value }
}
