//! The dialect `math`, and functions of `tpu`: the very ones of StableHLO, spelled as JAX spells
//! what StableHLO has not.
use super::{Row, Site};
use crate::lower::code::Refused;
use tpu_mosaic::ir::{Element, Op};
use tpu_stablehlo::ir::Value;

pub(super) fn row(op: Op) -> Option<Row> {
    Some(match op {
        Op::MathExp => |site| map(site, "stablehlo.exponential"),
        Op::MathExp2 => |site| power_of_two(site),
        Op::MathExpm1 => |site| map(site, "stablehlo.exponential_minus_one"),
        Op::MathLog => |site| map(site, "stablehlo.log"),
        Op::MathLog1p => |site| map(site, "stablehlo.log_plus_one"),
        Op::MathLog2 => |site| logarithm_of_two(site),
        Op::MathTanh => |site| map(site, "stablehlo.tanh"),
        Op::MathSin => |site| map(site, "stablehlo.sine"),
        Op::MathCos => |site| map(site, "stablehlo.cosine"),
        Op::MathTan => |site| map(site, "stablehlo.tan"),
        Op::MathSqrt => |site| map(site, "stablehlo.sqrt"),
        Op::MathRsqrt => |site| map(site, "stablehlo.rsqrt"),
        Op::MathAbsf | Op::MathAbsi => |site| map(site, "stablehlo.abs"),
        Op::MathCeil => |site| map(site, "stablehlo.ceil"),
        Op::MathFloor => |site| map(site, "stablehlo.floor"),
        Op::MathRound => |site| map(site, "stablehlo.round_nearest_afz"),
        Op::MathRoundeven => |site| map(site, "stablehlo.round_nearest_even"),
        Op::MathErf => |site| map(site, "chlo.erf"),
        Op::MathCtpop => |site| map(site, "stablehlo.popcnt"),
        Op::MathCtlz => |site| map(site, "stablehlo.count_leading_zeros"),
        Op::MathPowf => |site| map(site, "stablehlo.power"),
        Op::MathAtan2 => |site| map(site, "stablehlo.atan2"),
        Op::TpuLogistic => |site| map(site, "stablehlo.logistic"),
        Op::TpuReciprocal => |site| {
            let value = site.operand(0)?;
            let (element, dims) = (site.element, site.dims.clone());
            let one = site.code.float(element, &dims, 1.0);
            Ok(site.code.map("stablehlo.divide", &[one, value]))
        },
        _ => return None,
    })
}

fn map(site: &mut Site<'_>, name: &'static str) -> Refused<Value> {
    let operands = site.operands.clone();
    if operands.is_empty() {
        return site.refused("no operand");
    }
    Ok(site.code.map(name, &operands))
}

/// The natural logarithm of two in a type, rounded as JAX rounds it.
fn log_of_two(site: &mut Site<'_>) -> Value {
    let (element, dims) = (site.element, site.dims.clone());
    match element {
        Element::F64 => site.code.splat(element, &dims, &std::f64::consts::LN_2.to_le_bytes()),
        _ => site.code.float(element, &dims, std::f32::consts::LN_2),
    }
}

/// Not the exponential of a product, as JAX spells it outside of kernels: rounded to bf16 that is 5 %
/// off, and a chip has an instruction for powers of two.
fn power_of_two(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let (element, dims) = (site.element, site.dims.clone());
    let two = site.code.float(element, &dims, 2.0);
    Ok(site.code.map("stablehlo.power", &[two, value]))
}

fn logarithm_of_two(site: &mut Site<'_>) -> Refused<Value> {
    let value = site.operand(0)?;
    let divisor = log_of_two(site);
    let natural = site.code.map("stablehlo.log", &[value]);
    Ok(site.code.map("stablehlo.divide", &[natural, divisor]))
}
