//! The error function, its complement and its inverse, of single precision.
use super::exp::bounded_single;
use super::log::log_single;
use super::polynomial::{between, polynomial};

/// `erf(x) / x` by `x²` for `|x| ≤ 4`, to 2^-36 of it: the numerator.
const ERF_UP: [f64; 8] = [
    1.128_379_167_087_106_8,
    0.200_209_516_783_171_73,
    0.058_096_431_969_517_776,
    0.004_955_636_581_880_305_5,
    0.000_512_577_020_103_355_7,
    2.173_867_172_711_228_2e-5,
    7.520_620_824_144_796e-7,
    3.006_001_497_521_690_6e-9,
];

/// The denominator.
const ERF_DOWN: [f64; 8] = [
    1.0,
    0.510_764_397_442_104_2,
    0.121_741_424_912_129_79,
    0.017_705_365_621_278_415,
    0.001_713_354_721_669_994_6,
    0.000_111_354_291_492_209_17,
    4.510_547_972_296_297e-6,
    7.328_620_301_669_253e-8,
];

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

/// `erf⁻¹(x) / x` by `-ln (1 - x²)` below 16.7, to 2^-31 of it: the numerator.
const ERF_INV_UP: [f64; 7] = [
    0.886_226_925_722_903,
    0.287_558_085_443_259_56,
    0.053_700_121_541_472_884,
    0.006_703_393_944_287_105,
    0.000_514_947_737_023_205_4,
    1.586_320_289_823_718_3e-5,
    -5.840_761_062_724_583e-7,
];

/// The denominator.
const ERF_INV_DOWN: [f64; 7] = [
    1.0,
    0.062_675_176_004_485_01,
    0.031_153_677_360_032_946,
    0.001_226_178_407_013_779,
    0.000_163_549_180_163_672_45,
    -2.298_098_389_882_701_6e-6,
    -3.459_404_298_721_495e-8,
];

/// The error function.
#[inline(always)]
pub(super) fn erf_single(x: f64) -> f64 {
    let x = between(x, -4.0, 4.0);
    let square = x * x;
    x * polynomial(square, &ERF_UP) / polynomial(square, &ERF_DOWN)
}

/// `1 - erf(x)`.
#[inline(always)]
pub(super) fn erfc_single(x: f64) -> f64 {
    let a = between(x.abs(), 0.0, 10.6);
    let value = bounded_single(-a * a) * polynomial(a, &ERFC_UP) / polynomial(a, &ERFC_DOWN);
    if x < 0.0 { 2.0 - value } else { value }
}

/// The number whose error function is `x`; NaN past ±1.
#[inline(always)]
pub(super) fn erf_inv_single(x: f64) -> f64 {
    let size = -log_single((1.0 - x) * (1.0 + x));
    let value = x * polynomial(size, &ERF_INV_UP) / polynomial(size, &ERF_INV_DOWN);
    if x.abs() == 1.0 { f64::INFINITY.copysign(x) } else { value }
}
