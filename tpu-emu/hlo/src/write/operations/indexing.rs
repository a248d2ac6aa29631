//! Gather and scatter, top-k, random numbers.
use super::{FoundInstruction, maybe, number, numbers, plain, word};
use crate::write::computation::Computation;
use crate::write::region;
use tpu_proto::xla::{
    GatherDimensionNumbers, RandomAlgorithm, RandomDistribution, ScatterDimensionNumbers,
};
use tpu_stablehlo::ir::Operation;

pub(super) fn write<'m>(
    into: &mut Computation<'_, 'm>,
    operation: &'m Operation,
) -> FoundInstruction {
    let attributes = &operation.attributes;
    Ok(Some(match &*operation.name {
        "stablehlo.gather" => {
            let id = plain(into, operation, "gather")?;
            let last = into.last();
            last.gather_dimension_numbers = Some(GatherDimensionNumbers {
                offset_dims: maybe(attributes, "offset_dims"),
                collapsed_slice_dims: maybe(attributes, "collapsed_slice_dims"),
                start_index_map: maybe(attributes, "start_index_map"),
                index_vector_dim: number(attributes, "index_vector_dim")?,
                operand_batching_dims: maybe(attributes, "operand_batching_dims"),
                start_indices_batching_dims: maybe(attributes, "start_indices_batching_dims"),
            });
            last.gather_slice_sizes = numbers(attributes, "slice_sizes")?;
            last.indices_are_sorted = attributes.flag("indices_are_sorted");
            id
        }
        "stablehlo.scatter" => {
            let called = region::applied(into, operation, 0)?;
            let id = plain(into, operation, "scatter")?;
            let last = into.last();
            last.called_computation_ids = vec![called];
            last.scatter_dimension_numbers = Some(ScatterDimensionNumbers {
                update_window_dims: maybe(attributes, "update_window_dims"),
                inserted_window_dims: maybe(attributes, "inserted_window_dims"),
                scatter_dims_to_operand_dims: maybe(attributes, "scatter_dims_to_operand_dims"),
                index_vector_dim: number(attributes, "index_vector_dim")?,
                input_batching_dims: maybe(attributes, "input_batching_dims"),
                scatter_indices_batching_dims: maybe(attributes, "scatter_indices_batching_dims"),
            });
            last.indices_are_sorted = attributes.flag("indices_are_sorted");
            last.unique_indices = attributes.flag("unique_indices");
            id
        }
        "stablehlo.rng_bit_generator" => {
            let id = plain(into, operation, "rng-bit-generator")?;
            let algorithm = match word(attributes, "rng_algorithm")? {
                "THREE_FRY" => RandomAlgorithm::RngThreeFry,
                "PHILOX" => RandomAlgorithm::RngPhilox,
                _ => RandomAlgorithm::RngDefault,
            };
            into.last().rng_algorithm = algorithm.into();
            id
        }
        "chlo.top_k" => {
            let id = plain(into, operation, "topk")?;
            into.last().k = number(attributes, "k")?;
            into.last().largest = true;
            id
        }
        "stablehlo.rng" => {
            // The result's shape says the extents.
            let bounds = into.values_of(operation.operands.get(..2).unwrap_or_default())?;
            let shape = into.result_shape(operation)?;
            let id = into.push("rng", shape, &bounds);
            let distribution = match word(attributes, "rng_distribution")? {
                "NORMAL" => RandomDistribution::RngNormal,
                _ => RandomDistribution::RngUniform,
            };
            into.last().distribution = distribution.into();
            id
        }
        _ => return Ok(None),
    }))
}
