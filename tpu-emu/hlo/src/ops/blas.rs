//! Contractions, convolutions, linear algebra, FFT, batch normalisation.
use super::{FoundValues, arity, needed, plain};
use crate::ReadError;
use crate::attributes::{flag, list, number, numbers, padding, word};
use crate::body::{FunctionReader, Scope};
use tpu_proto::xla::precision_config::{Algorithm, Precision};
use tpu_proto::xla::triangular_solve_options::Transpose;
use tpu_proto::xla::{
    DotDimensionNumbers, FftType, HloInstructionProto, PrecisionConfig, WindowDimension,
};
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Type};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    let (name, operands, attributes) = match &*one.opcode {
        "dot" => ("stablehlo.dot_general", 2, dot(one)?),
        "ragged-dot" => ("chlo.ragged_dot", 3, ragged_dot(one)?),
        "convolution" => ("stablehlo.convolution", 2, convolution(one)?),
        "cholesky" => {
            let options = needed(one.cholesky_options.as_ref(), "options")?;
            ("stablehlo.cholesky", 1, list([("lower", flag(options.lower))]))
        }
        "triangular-solve" => ("stablehlo.triangular_solve", 2, triangular_solve(one)?),
        "fft" => {
            let kind = match one.fft_type() {
                FftType::Fft => "FFT",
                FftType::Ifft => "IFFT",
                FftType::Rfft => "RFFT",
                FftType::Irfft => "IRFFT",
            };
            let attributes =
                list([("fft_type", word(kind)), ("fft_length", numbers(&one.fft_length))]);
            ("stablehlo.fft", 1, attributes)
        }
        "batch-norm-training" => ("stablehlo.batch_norm_training", 3, batch_norm(one)),
        "batch-norm-inference" => ("stablehlo.batch_norm_inference", 5, batch_norm(one)),
        "batch-norm-grad" => ("stablehlo.batch_norm_grad", 5, batch_norm(one)),
        _ => return Ok(None),
    };
    arity(one, operands)?;
    plain(body, scope, one, name, attributes)
}

fn batch_norm(one: &HloInstructionProto) -> Attributes {
    list([
        ("epsilon", Attribute::Float(one.epsilon.into(), Element::F32)),
        ("feature_index", number(one.feature_index)),
    ])
}

/// A precision for each of the two operands.
fn precision(config: Option<&PrecisionConfig>) -> Result<Attribute, ReadError> {
    let mut words: Vec<Attribute> = Vec::new();
    for precision in config.map(|config| &*config.operand_precision).unwrap_or_default() {
        words.push(word(match Precision::try_from(*precision) {
            Ok(Precision::Default) => "DEFAULT",
            Ok(Precision::High) => "HIGH",
            Ok(Precision::Highest) => "HIGHEST",
            Err(_) => return Err(format!("the precision {precision}").into()),
        }));
    }
    match words.len() {
        0 => Ok(Attribute::Array(vec![word("DEFAULT"); 2])),
        2 => Ok(Attribute::Array(words)),
        count => Err(format!("{count} precisions for 2 operands").into()),
    }
}

fn dimensions(dims: &DotDimensionNumbers) -> Attributes {
    list([
        ("lhs_batching_dimensions", numbers(&dims.lhs_batch_dimensions)),
        ("rhs_batching_dimensions", numbers(&dims.rhs_batch_dimensions)),
        ("lhs_contracting_dimensions", numbers(&dims.lhs_contracting_dimensions)),
        ("rhs_contracting_dimensions", numbers(&dims.rhs_contracting_dimensions)),
    ])
}

fn dot(one: &HloInstructionProto) -> Result<Attributes, ReadError> {
    let dims = needed(one.dot_dimension_numbers.as_ref(), "dimension numbers")?;
    let mut attributes = dimensions(dims);
    let config = one.precision_config.as_ref();
    attributes.set("precision_config", precision(config)?);
    if let Some(config) = config.filter(|config| config.algorithm != 0) {
        algorithm(config, &mut attributes)?;
    }
    attributes.sort();
    Ok(attributes)
}

fn algorithm(config: &PrecisionConfig, into: &mut Attributes) -> Result<(), ReadError> {
    let (operands, sums, components, products, fast) = match config.algorithm() {
        Algorithm::AlgDotF16F16F16 => (Element::F16, Element::F16, 1, 1, false),
        Algorithm::AlgDotF16F16F32 => (Element::F16, Element::F32, 1, 1, false),
        Algorithm::AlgDotBf16Bf16Bf16 => (Element::Bf16, Element::Bf16, 1, 1, false),
        Algorithm::AlgDotBf16Bf16F32 => (Element::Bf16, Element::F32, 1, 1, false),
        Algorithm::AlgDotBf16Bf16F32X3 => (Element::Bf16, Element::F32, 1, 3, false),
        Algorithm::AlgDotBf16Bf16F32X6 => (Element::Bf16, Element::F32, 1, 6, false),
        Algorithm::AlgDotBf16Bf16F32X9 => (Element::Bf16, Element::F32, 1, 9, false),
        Algorithm::AlgDotTf32Tf32F32 => (Element::Tf32, Element::F32, 1, 1, false),
        Algorithm::AlgDotTf32Tf32F32X3 => (Element::Tf32, Element::F32, 1, 3, false),
        Algorithm::AlgDotF32F32F32 => (Element::F32, Element::F32, 1, 1, false),
        Algorithm::AlgDotF64F64F64 => (Element::F64, Element::F64, 1, 1, false),
        Algorithm::AlgDotAnyF8AnyF8F32 => (Element::F8E5M2, Element::F32, 1, 1, false),
        Algorithm::AlgDotAnyF8AnyF8F32FastAccum => (Element::F8E5M2, Element::F32, 1, 1, true),
        Algorithm::AlgUnset => return Err(format!("the algorithm {}", config.algorithm).into()),
    };
    let scalar = |of| Attribute::Type(Type::Scalar(of));
    into.set("lhs_precision_type", scalar(operands));
    into.set("rhs_precision_type", scalar(operands));
    into.set("accumulation_type", scalar(sums));
    into.set("lhs_component_count", number(components));
    into.set("rhs_component_count", number(components));
    into.set("num_primitive_operations", number(products));
    into.set("allow_imprecise_accumulation", flag(fast));
    Ok(())
}

fn ragged_dot(one: &HloInstructionProto) -> Result<Attributes, ReadError> {
    let ragged = needed(one.ragged_dot_dimension_numbers.as_ref(), "dimension numbers")?;
    let dims = needed(ragged.dot_dimension_numbers.as_ref(), "dimension numbers")?;
    let mut attributes = dimensions(dims);
    attributes.set("lhs_ragged_dimensions", numbers(&ragged.lhs_ragged_dimensions));
    attributes.set("rhs_group_dimensions", numbers(&ragged.rhs_group_dimensions));
    attributes.set("precision_config", precision(one.precision_config.as_ref())?);
    attributes.sort();
    Ok(attributes)
}

fn convolution(one: &HloInstructionProto) -> Result<Attributes, ReadError> {
    let window = one.window.clone().unwrap_or_default();
    let of = |of: fn(&WindowDimension) -> i64| {
        Attribute::Integers(window.dimensions.iter().map(of).collect())
    };
    let reversal = window.dimensions.iter().map(|dim| dim.window_reversal).collect();
    let dims = needed(one.convolution_dimension_numbers.as_ref(), "dimension numbers")?;
    Ok(list([
        ("batch_group_count", number(one.batch_group_count.max(1))),
        ("feature_group_count", number(one.feature_group_count.max(1))),
        ("input_batch_dimension", number(dims.input_batch_dimension)),
        ("input_feature_dimension", number(dims.input_feature_dimension)),
        ("input_spatial_dimensions", numbers(&dims.input_spatial_dimensions)),
        ("kernel_input_feature_dimension", number(dims.kernel_input_feature_dimension)),
        ("kernel_output_feature_dimension", number(dims.kernel_output_feature_dimension)),
        ("kernel_spatial_dimensions", numbers(&dims.kernel_spatial_dimensions)),
        ("lhs_dilation", of(|dim| dim.base_dilation)),
        ("output_batch_dimension", number(dims.output_batch_dimension)),
        ("output_feature_dimension", number(dims.output_feature_dimension)),
        ("output_spatial_dimensions", numbers(&dims.output_spatial_dimensions)),
        ("padding", padding(&window)),
        ("precision_config", precision(one.precision_config.as_ref())?),
        ("rhs_dilation", of(|dim| dim.window_dilation)),
        ("window_reversal", Attribute::Booleans(reversal)),
        ("window_strides", of(|dim| dim.stride)),
    ]))
}

fn triangular_solve(one: &HloInstructionProto) -> Result<Attributes, ReadError> {
    let options = needed(one.triangular_solve_options.as_ref(), "options")?;
    let transpose = match options.transpose_a() {
        Transpose::NoTranspose => "NO_TRANSPOSE",
        Transpose::Transpose => "TRANSPOSE",
        Transpose::Adjoint => "ADJOINT",
        Transpose::Invalid => return Err("it lacks its transposition".into()),
    };
    Ok(list([
        ("left_side", flag(options.left_side)),
        ("lower", flag(options.lower)),
        ("transpose_a", word(transpose)),
        ("unit_diagonal", flag(options.unit_diagonal)),
    ]))
}
