//! Random numbers without a state.
use super::{
    Cost, Cx, DeviceDependence, Entry, Kernel, LayoutRule, Lowered, Simplification, Site, extents,
};
use tpu_base::error::Result;
use tpu_base::tensor::element::{Float, Int, for_dtype};
use tpu_base::tensor::{DType, Shape};
use tpu_kernels::random::philox_wide;

/// Numbers from `[a, b)` where `rng_distribution` is `UNIFORM`, or around `a` with standard
/// deviation `b` where it is `NORMAL`: the same ones for the same seed of the launch.
///
/// Shapes: `a []`, `b []`, `shape [r]`; result of those extents.
/// Errors: `Constraint` C1, C2; `Unimplemented` for extents that nobody knows when the program
/// is compiled, and for other types than integers and floats.
/// Source: StableHLO specification, "rng", C1-C3.
pub(super) const OP: Entry = Entry {
    devices: DeviceDependence::Random,
    simplification: Simplification::Kept,
    layout: LayoutRule::Default,
    ..Entry::new("rng", infer, lower)
};

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [a, b, _] = site.exactly()?;
    if a.rank() != 0 || a != b {
        return Err(site.violates("C1", format!("bounds {a} and {b}")));
    }
    Ok(vec![site.shape(a.dtype, extents::result(site, 2)?)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let dtype = site.results[0].dtype;
    let float = |normal: bool| {
        if normal {
            for_dtype!(dtype, T: Float => normals::<T> as Draw)
        } else {
            for_dtype!(dtype, T: Float => uniforms::<T> as Draw)
        }
    };
    let draw = match site.attributes.text("rng_distribution") {
        Some("UNIFORM") => {
            float(false).or_else(|| for_dtype!(dtype, T: Int => integers::<T> as Draw))
        }
        Some("NORMAL") => match float(true) {
            None if dtype != DType::Pred => {
                return Err(site.violates("C2", format!("NORMAL of {}", dtype.name())));
            }
            draw => draw,
        },
        other => return Err(site.unimplemented(format!("distribution {other:?}"))),
    };
    let draw = draw.ok_or_else(|| site.unimplemented(format!("numbers of {}", dtype.name())))?;
    Ok(Lowered::Kernel(Box::new(Rng { draw })))
}

/// Fills the result with numbers for a key and the two bounds.
type Draw = fn(key: u64, a: &[u8], b: &[u8], result: &mut [u8]);

/// A number in `[0, 1)` from the upper 53 bits.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

fn uniforms<T: Float>(key: u64, a: &[u8], b: &[u8], result: &mut [u8]) {
    let result: &mut [T] = bytemuck::cast_slice_mut(result);
    let [low, high] = [a, b].map(|bound| bytemuck::pod_read_unaligned::<T>(bound));
    let (from, width) = (low.to_f64(), high.to_f64() - low.to_f64());
    philox_wide(key, 0, result.len(), |at, bits| {
        let value = T::from_f64(unit(bits).mul_add(width, from));
        // Rounding to the type may have reached the end, which is not part of the interval.
        result[at] = if value.less(high) { value } else { low };
    });
}

fn normals<T: Float>(key: u64, a: &[u8], b: &[u8], result: &mut [u8]) {
    let result: &mut [T] = bytemuck::cast_slice_mut(result);
    let [mean, deviation] = [a, b].map(|bound| bytemuck::pod_read_unaligned::<T>(bound).to_f64());
    let count = result.len();
    let mut radius = 0.0;
    philox_wide(key, 0, count.next_multiple_of(2), |at, bits| {
        // Two numbers make a point of the plane, and its coordinates are two results.
        if at % 2 == 0 {
            radius = (-2.0 * (1.0 - unit(bits)).ln()).sqrt();
            return;
        }
        let (sine, cosine) = (std::f64::consts::TAU * unit(bits)).sin_cos();
        result[at - 1] = T::from_f64((radius * cosine).mul_add(deviation, mean));
        if at < count {
            result[at] = T::from_f64((radius * sine).mul_add(deviation, mean));
        }
    });
}

fn integers<T: Int>(key: u64, a: &[u8], b: &[u8], result: &mut [u8]) {
    let result: &mut [T] = bytemuck::cast_slice_mut(result);
    let [low, high] = [a, b].map(|bound| bytemuck::pod_read_unaligned::<T>(bound).bits());
    let range = high.wrapping_sub(low);
    philox_wide(key, 0, result.len(), |at, bits| {
        let step = (u128::from(bits) * u128::from(range)) >> 64;
        result[at] = T::wrap(low.wrapping_add(step as u64));
    });
}

#[derive(Debug)]
struct Rng {
    draw: Draw,
}

impl Kernel for Rng {
    fn run(&self, cx: &mut Cx<'_>, operands: &[&[u8]], results: &mut [&mut [u8]]) -> Result<()> {
        (self.draw)(*cx.seed, operands[0], operands[1], results[0]);
        // The next draw of the launch has another key.
        *cx.seed = cx.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Ok(())
    }

    fn is_own(&self) -> bool {
        true
    }

    fn cost(&self) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::element::bf16;
    use tpu_stablehlo::ir::Attribute;

    fn case<T: bytemuck::NoUninit>(distribution: &'static str, dtype: DType, a: T, b: T) -> Case {
        Case::new("stablehlo.rng")
            .value(dtype, &[], &[a])
            .value(dtype, &[], &[b])
            .known(DType::S64, &[2], &[3_i64, 1001])
            .attribute("rng_distribution", Attribute::Word(distribution.into()))
    }

    #[test]
    fn uniform_numbers_fill_their_interval() {
        let values: Vec<f32> = case("UNIFORM", DType::F32, -1_f32, 3.0).eval(&OP);
        assert_eq!(values.len(), 3003);
        assert!(values.iter().all(|value| (-1.0..3.0).contains(value)));
        let mean = values.iter().sum::<f32>() / 3003.0;
        assert!((mean - 1.0).abs() < 0.1, "{mean}");
        assert_eq!(values, case("UNIFORM", DType::F32, -1_f32, 3.0).eval::<f32>(&OP));
        let coarse = case("UNIFORM", DType::Bf16, bf16::from_f32(1.0), bf16::from_f32(1.0079));
        assert!(coarse.eval::<bf16>(&OP).iter().all(|value| value.to_f32() < 1.0079));
    }

    #[test]
    fn integers_reach_both_ends() {
        let values: Vec<i8> = case("UNIFORM", DType::S8, -3_i8, 3).eval(&OP);
        let ends = (values.iter().min(), values.iter().max());
        assert_eq!(ends, (Some(&-3), Some(&2)));
        let wide: Vec<i64> = case("UNIFORM", DType::S64, i64::MIN, i64::MAX).eval(&OP);
        assert!(wide.iter().any(|&value| value < 0) && wide.iter().any(|&value| value > 0));
    }

    #[test]
    fn normal_numbers_have_their_mean_and_deviation() {
        let values: Vec<f64> = case("NORMAL", DType::F64, 5.0, 2.0).eval(&OP);
        let mean = values.iter().sum::<f64>() / 3003.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 3003.0;
        assert!((mean - 5.0).abs() < 0.2 && (variance - 4.0).abs() < 0.5, "{mean} {variance}");
        let integers = case("NORMAL", DType::S32, 0, 1).lower(&OP).unwrap_err();
        assert!(integers.to_string().contains("violates C2: NORMAL of s32"));
    }
}
