//! Contractions, convolutions, linear algebra, FFT, batch normalisation.
use super::{FoundInstruction, maybe, number, numbers, plain, window, word};
use crate::write::WriteResult;
use crate::write::computation::Computation;
use tpu_proto::xla::precision_config::{Algorithm, Precision};
use tpu_proto::xla::triangular_solve_options::Transpose;
use tpu_proto::xla::{
    CholeskyOptions, ConvolutionDimensionNumbers, DotDimensionNumbers, FftType, PrecisionConfig,
    TriangularSolveOptions,
};
use tpu_stablehlo::ir::{Attribute, Attributes, Element, Operation, Type};

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    let attributes = &operation.attributes;
    Ok(Some(match &*operation.name {
        "stablehlo.dot_general" => {
            let id = plain(into, operation, "dot")?;
            into.last().dot_dimension_numbers = Some(DotDimensionNumbers {
                lhs_contracting_dimensions: maybe(attributes, "lhs_contracting_dimensions"),
                rhs_contracting_dimensions: maybe(attributes, "rhs_contracting_dimensions"),
                lhs_batch_dimensions: maybe(attributes, "lhs_batching_dimensions"),
                rhs_batch_dimensions: maybe(attributes, "rhs_batching_dimensions"),
            });
            into.last().precision_config = Some(precision(attributes)?);
            id
        }
        "stablehlo.convolution" => convolution(into, operation)?,
        "stablehlo.cholesky" => {
            let id = plain(into, operation, "cholesky")?;
            into.last().cholesky_options =
                Some(CholeskyOptions { lower: attributes.flag("lower") });
            id
        }
        "stablehlo.triangular_solve" => {
            let id = plain(into, operation, "triangular-solve")?;
            let transpose = match word(attributes, "transpose_a")? {
                "TRANSPOSE" => Transpose::Transpose,
                "ADJOINT" => Transpose::Adjoint,
                _ => Transpose::NoTranspose,
            };
            into.last().triangular_solve_options = Some(TriangularSolveOptions {
                left_side: attributes.flag("left_side"),
                lower: attributes.flag("lower"),
                unit_diagonal: attributes.flag("unit_diagonal"),
                transpose_a: transpose.into(),
            });
            id
        }
        "stablehlo.fft" => {
            let id = plain(into, operation, "fft")?;
            let kind = match word(attributes, "fft_type")? {
                "FFT" => FftType::Fft,
                "IFFT" => FftType::Ifft,
                "RFFT" => FftType::Rfft,
                "IRFFT" => FftType::Irfft,
                other => return Err(format!("the fft_type {other}").into()),
            };
            into.last().fft_type = kind.into();
            into.last().fft_length = numbers(attributes, "fft_length")?;
            id
        }
        "stablehlo.batch_norm_training" => batch_norm(into, operation, "batch-norm-training")?,
        "stablehlo.batch_norm_inference" => batch_norm(into, operation, "batch-norm-inference")?,
        "stablehlo.batch_norm_grad" => batch_norm(into, operation, "batch-norm-grad")?,
        _ => return Ok(None),
    }))
}

fn batch_norm(
    into: &mut Computation<'_, '_>,
    operation: &Operation,
    opcode: &str,
) -> WriteResult<i64> {
    let id = plain(into, operation, opcode)?;
    let Some(Attribute::Float(epsilon, _)) = operation.attributes.get("epsilon") else {
        return Err("it lacks its epsilon".into());
    };
    #[expect(clippy::cast_possible_truncation, reason = "the attribute is of f32")]
    let epsilon = *epsilon as f32;
    into.last().epsilon = epsilon;
    into.last().feature_index = number(&operation.attributes, "feature_index")?;
    Ok(id)
}

/// The precision of both operands, and the algorithm if one is asked for.
fn precision(attributes: &Attributes) -> WriteResult<PrecisionConfig> {
    let words = match attributes.get("precision_config") {
        Some(Attribute::Array(words)) => words.as_slice(),
        _ => &[],
    };
    let mut operand_precision = vec![Precision::Default.into(); 2];
    for (at, word) in operand_precision.iter_mut().zip(words) {
        *at = match word.as_str() {
            Some("HIGH") => Precision::High.into(),
            Some("HIGHEST") => Precision::Highest.into(),
            _ => Precision::Default.into(),
        };
    }
    let algorithm = if attributes.get("accumulation_type").is_some() {
        algorithm(attributes)?
    } else {
        Algorithm::AlgUnset
    };
    Ok(PrecisionConfig { operand_precision, algorithm: algorithm.into() })
}

fn algorithm(attributes: &Attributes) -> WriteResult<Algorithm> {
    let element = |name: &str| match attributes.get(name) {
        Some(Attribute::Type(Type::Scalar(element))) => Ok(*element),
        _ => Err(format!("it lacks its {name}")),
    };
    let (operands, sums) = (element("lhs_precision_type")?, element("accumulation_type")?);
    let products = attributes.integer("num_primitive_operations").unwrap_or(1);
    Ok(match (operands, sums, products) {
        (Element::F16, Element::F16, 1) => Algorithm::AlgDotF16F16F16,
        (Element::F16, Element::F32, 1) => Algorithm::AlgDotF16F16F32,
        (Element::Bf16, Element::Bf16, 1) => Algorithm::AlgDotBf16Bf16Bf16,
        (Element::Bf16, Element::F32, 1) => Algorithm::AlgDotBf16Bf16F32,
        (Element::Bf16, Element::F32, 3) => Algorithm::AlgDotBf16Bf16F32X3,
        (Element::Bf16, Element::F32, 6) => Algorithm::AlgDotBf16Bf16F32X6,
        (Element::Bf16, Element::F32, 9) => Algorithm::AlgDotBf16Bf16F32X9,
        (Element::Tf32, Element::F32, 1) => Algorithm::AlgDotTf32Tf32F32,
        (Element::Tf32, Element::F32, 3) => Algorithm::AlgDotTf32Tf32F32X3,
        (Element::F32, Element::F32, 1) => Algorithm::AlgDotF32F32F32,
        (Element::F64, Element::F64, 1) => Algorithm::AlgDotF64F64F64,
        (Element::F8E5M2, Element::F32, 1) if attributes.flag("allow_imprecise_accumulation") => {
            Algorithm::AlgDotAnyF8AnyF8F32FastAccum
        }
        (Element::F8E5M2, Element::F32, 1) => Algorithm::AlgDotAnyF8AnyF8F32,
        other => return Err(format!("the algorithm {other:?}").into()),
    })
}

fn convolution(into: &mut Computation<'_, '_>, operation: &Operation) -> WriteResult<i64> {
    let attributes = &operation.attributes;
    let id = plain(into, operation, "convolution")?;
    let kernel = operation.operands.get(1).ok_or("it takes two operands")?;
    let kernel = into.type_shape(*kernel)?.dimensions;
    let spatial = numbers(attributes, "kernel_spatial_dimensions")?;
    let size = |axis: &i64| usize::try_from(*axis).ok().and_then(|at| kernel.get(at)).copied();
    let sizes = spatial.iter().map(size).collect::<Option<Vec<_>>>().ok_or("its kernel's axes")?;
    let names = ["window_strides", "padding", "lhs_dilation", "rhs_dilation"];
    let window = window(attributes, &sizes, names);
    let one = |name| number(attributes, name);
    let dims = ConvolutionDimensionNumbers {
        kernel_input_feature_dimension: one("kernel_input_feature_dimension")?,
        kernel_output_feature_dimension: one("kernel_output_feature_dimension")?,
        kernel_spatial_dimensions: spatial,
        input_batch_dimension: one("input_batch_dimension")?,
        input_feature_dimension: one("input_feature_dimension")?,
        output_batch_dimension: one("output_batch_dimension")?,
        output_feature_dimension: one("output_feature_dimension")?,
        input_spatial_dimensions: maybe(attributes, "input_spatial_dimensions"),
        output_spatial_dimensions: maybe(attributes, "output_spatial_dimensions"),
    };
    let precision = precision(attributes)?;
    let last = into.last();
    last.window = Some(window);
    last.convolution_dimension_numbers = Some(dims);
    last.feature_group_count = attributes.integer("feature_group_count").unwrap_or(1);
    last.batch_group_count = attributes.integer("batch_group_count").unwrap_or(1);
    last.precision_config = Some(precision);
    Ok(id)
}
