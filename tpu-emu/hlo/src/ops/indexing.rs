//! Gather and scatter, top-k, random numbers.
use super::{FoundValues, applied, arity, called, needed, only, plain};
use crate::attributes::{flag, list, number, numbers, word};
use crate::body::{FunctionReader, Scope};
use tpu_proto::xla::{HloInstructionProto, RandomAlgorithm, RandomDistribution};
use tpu_stablehlo::ir::{Attributes, Element, Elements, TensorType};

pub(super) fn read<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    match &*one.opcode {
        "gather" => gather(body, scope, one),
        "scatter" => scatter(body, scope, one),
        "topk" => {
            arity(one, 1)?;
            if !one.largest {
                return Err("the smallest elements are not supported".into());
            }
            plain(body, scope, one, "chlo.top_k", list([("k", number(one.k))]))
        }
        "rng" => rng(body, scope, one),
        "rng-bit-generator" => {
            arity(one, 1)?;
            let algorithm = match one.rng_algorithm() {
                RandomAlgorithm::RngDefault => "DEFAULT",
                RandomAlgorithm::RngThreeFry => "THREE_FRY",
                RandomAlgorithm::RngPhilox => "PHILOX",
            };
            let attributes = list([("rng_algorithm", word(algorithm))]);
            plain(body, scope, one, "stablehlo.rng_bit_generator", attributes)
        }
        _ => Ok(None),
    }
}

fn gather<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    arity(one, 2)?;
    let dims = needed(one.gather_dimension_numbers.as_ref(), "dimension numbers")?;
    let attributes = list([
        ("offset_dims", numbers(&dims.offset_dims)),
        ("collapsed_slice_dims", numbers(&dims.collapsed_slice_dims)),
        ("operand_batching_dims", numbers(&dims.operand_batching_dims)),
        ("start_indices_batching_dims", numbers(&dims.start_indices_batching_dims)),
        ("start_index_map", numbers(&dims.start_index_map)),
        ("index_vector_dim", number(dims.index_vector_dim)),
        ("slice_sizes", numbers(&one.gather_slice_sizes)),
        ("indices_are_sorted", flag(one.indices_are_sorted)),
    ]);
    plain(body, scope, one, "stablehlo.gather", attributes)
}

fn scatter<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    let dims = needed(one.scatter_dimension_numbers.as_ref(), "dimension numbers")?;
    let attributes = list([
        ("update_window_dims", numbers(&dims.update_window_dims)),
        ("inserted_window_dims", numbers(&dims.inserted_window_dims)),
        ("input_batching_dims", numbers(&dims.input_batching_dims)),
        ("scatter_indices_batching_dims", numbers(&dims.scatter_indices_batching_dims)),
        ("scatter_dims_to_operand_dims", numbers(&dims.scatter_dims_to_operand_dims)),
        ("index_vector_dim", number(dims.index_vector_dim)),
        ("indices_are_sorted", flag(one.indices_are_sorted)),
        ("unique_indices", flag(one.unique_indices)),
    ]);
    let operands = scope.operands(one)?.len();
    if operands.is_multiple_of(2) {
        return Err(format!("{operands} operands, it takes an odd number").into());
    }
    let region = body.region_of(scope, called(one, 0)?, operands - 1)?;
    applied(body, scope, one, "stablehlo.scatter", attributes, vec![region])
}

fn rng<'a>(
    body: &mut FunctionReader<'_, 'a>,
    scope: &mut Scope<'a>,
    one: &'a HloInstructionProto,
) -> FoundValues {
    let [low, high] = scope.exactly(one)?;
    let distribution = match one.distribution() {
        RandomDistribution::RngUniform => "UNIFORM",
        RandomDistribution::RngNormal => "NORMAL",
        RandomDistribution::RngInvalid => return Err("it lacks its distribution".into()),
    };
    let of = only(one)?;
    let dims = of.tensor().map(|of| of.dims.clone()).unwrap_or_default();
    let rank = i64::try_from(dims.len()).map_err(|_| "too many dimensions")?;
    let same = dims.len() > 1 && dims.iter().all(|dim| *dim == dims[0]);
    let kept = if same { &dims[..1] } else { &dims[..] };
    let elements = Elements {
        of: TensorType::new(Element::S64, vec![rank]),
        data: kept.iter().flat_map(|dim| dim.to_le_bytes()).collect(),
        splat: same,
    };
    let extents = body.constant(scope, elements)?;
    let attributes: Attributes = list([("rng_distribution", word(distribution))]);
    let value = body.emit_one(scope, "stablehlo.rng", &[low, high, extents], of, attributes)?;
    Ok(Some(vec![value]))
}
