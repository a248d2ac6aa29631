//! Products of matrices: those of the machine.
use super::{Known, Row, Site};
use crate::lower::code::{Refused, attributes, integers, is_integer, signed};
use tpu_mosaic::ir::{Attribute, ContractPrecision, DotDimensions, Op};
use tpu_stablehlo::ir::{Attribute as Stable, Value};

pub(super) fn row(op: Op) -> Option<Row> {
    (op == Op::TpuMatmul).then_some(product as Row)
}

/// Which dimensions of a product are what, where the kernel says no more than which sides are
/// transposed.
fn plain(site: &Site<'_>) -> DotDimensions {
    let of = |flag| i64::from(site.operation.flag(flag));
    let (left, right) = (of("transpose_lhs"), of("transpose_rhs"));
    DotDimensions {
        lhs_contracting: vec![1 - left],
        rhs_contracting: vec![right],
        lhs_free: vec![left],
        rhs_free: vec![1 - right],
        output: vec![(0, left), (1, 1 - right)],
        lhs_batch: Vec::new(),
        rhs_batch: Vec::new(),
    }
}

fn product(site: &mut Site<'_>) -> Refused<Value> {
    let (lhs, rhs, acc) = (site.operand(0)?, site.operand(1)?, site.operand(2)?);
    let of = match site.operation.attributes.get("dimension_numbers") {
        Some(Attribute::DotDimensions(of)) => of.clone(),
        _ => plain(site),
    };
    // The result has the dimensions of both sides, then those of the left alone, then the rest.
    let sides = [(0, &of.lhs_batch), (0, &of.lhs_free), (1, &of.rhs_free)];
    let order: Vec<(i64, i64)> =
        sides.iter().flat_map(|(side, axes)| axes.iter().map(move |&axis| (*side, axis))).collect();
    let ranks = [site.code.dims(lhs).len(), site.code.dims(rhs).len()];
    if !of.output.is_empty() && of.output != order {
        return site.refused(format!("output order {:?}", of.output));
    }
    let all = [
        (0, &of.lhs_batch),
        (0, &of.lhs_contracting),
        (1, &of.rhs_batch),
        (1, &of.rhs_contracting),
    ];
    for (side, axes) in all {
        if axes.iter().any(|&axis| !(0..signed(ranks[side])).contains(&axis)) {
            return site.refused(format!("{of:?} of {ranks:?}"));
        }
    }
    let (left, right) = (site.code.element(lhs), site.code.element(rhs));
    let vector = ranks.contains(&1);
    let precision = match site.operation.attributes.get("precision") {
        Some(Attribute::ContractPrecision(ContractPrecision::Fp32)) => "HIGHEST",
        Some(Attribute::ContractPrecision(ContractPrecision::Bf16x3)) => "HIGH",
        // What is no product of matrices does not go to the matrix unit.
        _ if vector => "HIGHEST",
        _ => "DEFAULT",
    };
    let word = || Stable::Word(precision.into());
    let list = |of: &[i64]| integers(of.iter().copied());
    let named = attributes([
        ("lhs_batching_dimensions", list(&of.lhs_batch)),
        ("lhs_contracting_dimensions", list(&of.lhs_contracting)),
        ("precision_config", Stable::Array(vec![word(), word()])),
        ("rhs_batching_dimensions", list(&of.rhs_batch)),
        ("rhs_contracting_dimensions", list(&of.rhs_contracting)),
    ]);
    let (element, dims) = (site.element, site.dims.clone());
    if site.code.dims(acc) != dims || is_integer(left) != is_integer(right) {
        return site.refused(format!("{left:?} by {right:?} as {element:?}"));
    }
    let made = site.code.emit("stablehlo.dot_general", &[lhs, rhs], named, element, &dims);
    if matches!(site.known.get(2), Some(Known::Splat(0))) {
        return Ok(made);
    }
    Ok(site.code.map("stablehlo.add", &[acc, made]))
}
