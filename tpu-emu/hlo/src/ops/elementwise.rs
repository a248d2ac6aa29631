//! Functions of each element.
use super::{FoundValues, arity, plain, types};
use crate::attributes::{list, number, word};
use crate::body::{FunctionReader, Scope};
use tpu_proto::xla::result_accuracy::{Mode, Specs};
use tpu_proto::xla::{HloInstructionProto, ResultAccuracy};
use tpu_stablehlo::ir::{Attribute, Attributes, Element};

/// Opcode, operation, number of operands.
const ROWS: &[(&str, &str, usize)] = &[
    ("abs", "stablehlo.abs", 1),
    ("acos", "chlo.acos", 1),
    ("acosh", "chlo.acosh", 1),
    ("add", "stablehlo.add", 2),
    ("and", "stablehlo.and", 2),
    ("asin", "chlo.asin", 1),
    ("asinh", "chlo.asinh", 1),
    ("atan2", "stablehlo.atan2", 2),
    ("atanh", "chlo.atanh", 1),
    ("bitcast-convert", "stablehlo.bitcast_convert", 1),
    ("cbrt", "stablehlo.cbrt", 1),
    ("ceil", "stablehlo.ceil", 1),
    ("clamp", "stablehlo.clamp", 3),
    ("complex", "stablehlo.complex", 2),
    ("convert", "stablehlo.convert", 1),
    ("cosh", "chlo.cosh", 1),
    ("cosine", "stablehlo.cosine", 1),
    ("count-leading-zeros", "stablehlo.count_leading_zeros", 1),
    ("divide", "stablehlo.divide", 2),
    ("erf", "chlo.erf", 1),
    ("exponential", "stablehlo.exponential", 1),
    ("exponential-minus-one", "stablehlo.exponential_minus_one", 1),
    ("floor", "stablehlo.floor", 1),
    ("imag", "stablehlo.imag", 1),
    ("is-finite", "stablehlo.is_finite", 1),
    ("log", "stablehlo.log", 1),
    ("log-plus-one", "stablehlo.log_plus_one", 1),
    ("logistic", "stablehlo.logistic", 1),
    ("maximum", "stablehlo.maximum", 2),
    ("minimum", "stablehlo.minimum", 2),
    ("multiply", "stablehlo.multiply", 2),
    ("negate", "stablehlo.negate", 1),
    ("not", "stablehlo.not", 1),
    ("or", "stablehlo.or", 2),
    ("popcnt", "stablehlo.popcnt", 1),
    ("power", "stablehlo.power", 2),
    ("real", "stablehlo.real", 1),
    ("remainder", "stablehlo.remainder", 2),
    ("round-nearest-afz", "stablehlo.round_nearest_afz", 1),
    ("round-nearest-even", "stablehlo.round_nearest_even", 1),
    ("rsqrt", "stablehlo.rsqrt", 1),
    ("select", "stablehlo.select", 3),
    ("shift-left", "stablehlo.shift_left", 2),
    ("shift-right-arithmetic", "stablehlo.shift_right_arithmetic", 2),
    ("shift-right-logical", "stablehlo.shift_right_logical", 2),
    ("sign", "stablehlo.sign", 1),
    ("sine", "stablehlo.sine", 1),
    ("sinh", "chlo.sinh", 1),
    ("sqrt", "stablehlo.sqrt", 1),
    ("subtract", "stablehlo.subtract", 2),
    ("tan", "stablehlo.tan", 1),
    ("tanh", "stablehlo.tanh", 1),
    ("xor", "stablehlo.xor", 2),
];

/// Whether an opcode is a function of each element without attributes of its own.
pub(crate) fn is_elementwise(opcode: &str) -> bool {
    ROWS.binary_search_by(|row| row.0.cmp(opcode)).is_ok()
}

/// The opcode of an operation that is such a function.
pub(crate) fn elementwise_opcode(operation: &str) -> Option<&'static str> {
    ROWS.iter().find(|row| row.1 == operation).map(|row| row.0)
}

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    if let Ok(row) = ROWS.binary_search_by(|row| row.0.cmp(&one.opcode)) {
        let (_, name, operands) = ROWS[row];
        arity(one, operands)?;
        let mut attributes = Attributes::default();
        if let Some(accuracy) = one.result_accuracy.as_ref().and_then(accuracy) {
            attributes.set("result_accuracy", accuracy);
        }
        return plain(body, scope, one, name, attributes);
    }
    match &*one.opcode {
        "compare" => compare(body, scope, one),
        "reduce-precision" => {
            arity(one, 1)?;
            let bits = |bits: i32| Attribute::Integer(bits.into(), Element::S32);
            let attributes = list([
                ("exponent_bits", bits(one.exponent_bits)),
                ("mantissa_bits", bits(one.mantissa_bits)),
            ]);
            plain(body, scope, one, "stablehlo.reduce_precision", attributes)
        }
        _ => Ok(None),
    }
}

fn compare<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    let [left, _] = scope.exactly(one)?;
    let direction = &*one.comparison_direction;
    if !["EQ", "NE", "GE", "GT", "LE", "LT"].contains(&direction) {
        return Err(format!("the direction '{direction}'").into());
    }
    let kind = match &*one.comparison_type {
        "" => match body.tensor(left)?.element {
            Element::S2
            | Element::S4
            | Element::S8
            | Element::S16
            | Element::S32
            | Element::S64 => "SIGNED",
            Element::Pred
            | Element::U2
            | Element::U4
            | Element::U8
            | Element::U16
            | Element::U32
            | Element::U64 => "UNSIGNED",
            _ => "FLOAT",
        },
        known @ ("FLOAT" | "TOTALORDER" | "SIGNED" | "UNSIGNED") => known,
        other => return Err(format!("the comparison type '{other}'").into()),
    };
    let attributes =
        list([("comparison_direction", word(direction)), ("compare_type", word(kind))]);
    let types = types(one)?;
    let operands = scope.operands(one)?;
    body.emit(scope, "stablehlo.compare", operands, types, attributes, Vec::new()).map(Some)
}

/// How exact a result has to be; nothing for the default.
fn accuracy(of: &ResultAccuracy) -> Option<Attribute> {
    let (atol, rtol, ulps, mode) = match of.specs.as_ref()? {
        Specs::Mode(mode) if *mode == i32::from(Mode::Highest) => (0.0, 0.0, 0, "HIGHEST"),
        Specs::Mode(_) => return None,
        Specs::Tolerance(of) => (of.atol, of.rtol, of.ulps, "TOLERANCE"),
    };
    Some(Attribute::Dictionary(Attributes(vec![
        ("atol".into(), Attribute::Float(atol, Element::F64)),
        ("rtol".into(), Attribute::Float(rtol, Element::F64)),
        ("ulps".into(), number(ulps)),
        ("mode".into(), word(mode)),
    ])))
}

#[cfg(test)]
mod tests {
    use super::ROWS;

    #[test]
    fn opcodes_are_in_order() {
        assert!(ROWS.is_sorted_by(|left, right| left.0 < right.0));
    }
}
