//! The number of this device's replica.
use super::{DeviceDependence, Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::{DType, Shape};

/// 0: there is one device.
///
/// Shapes: result `u32[]`.
/// Source: StableHLO specification, "replica_id".
pub const OP: Entry =
    Entry { devices: DeviceDependence::ReplicaId, ..Entry::new("replica_id", infer, lower) };

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [] = site.exactly()?;
    Ok(vec![Shape::scalar(DType::U32)])
}

fn lower(_: &Site<'_>) -> Result<Lowered> {
    Ok(Lowered::Constant([0; 4].into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;

    #[test]
    fn the_only_device_is_number_zero() {
        assert_eq!(Case::new("stablehlo.replica_id").eval::<u32>(&OP), [0]);
    }
}
