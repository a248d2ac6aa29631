//! The number of this device's partition.
use super::{DeviceDependence, Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};

/// The number that the program is expanded for; 0 outside of code that runs once per device.
///
/// Shapes: result `u32[]`.
/// Source: StableHLO specification, "partition_id".
pub const OP: Entry =
    Entry { devices: DeviceDependence::PartitionId, ..Entry::new("partition_id", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [] = site.exactly()?;
    Ok(vec![Shape::scalar(DType::U32)])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let number = u32::try_from(site.partition).unwrap_or(u32::MAX);
    Ok(Lowered::Constant(number.to_le_bytes().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    #[test]
    fn the_only_device_is_number_zero() {
        assert_eq!(Case::new("stablehlo.partition_id").eval::<u32>(&OP), [0]);
    }
}
