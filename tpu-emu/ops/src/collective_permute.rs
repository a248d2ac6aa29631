//! Values from device to device.
use super::{CollectiveKind, DeviceDependence, Entry, Lowered, Site};
use tpu_base::error::{Error, Result};
use tpu_base::tensor::Shape;
use tpu_stablehlo::ir::Attribute;

/// The operand of the device that sends to this one; zeros if nobody does.
///
/// Shapes: result as the operand.
/// Errors: `Constraint` C1 to C3; `Unimplemented` for several devices.
/// Source: StableHLO specification, "collective_permute", C1-C5.
pub const OP: Entry = Entry {
    devices: DeviceDependence::Collective(CollectiveKind::CollectivePermute),
    ..Entry::new("collective_permute", infer, lower)
};

/// Whether device 0 sends to itself.
fn stays(site: &Site<'_>) -> Result<bool> {
    let Attribute::Elements(pairs) = site.attribute("source_target_pairs")? else {
        return Err(Error::bad(format!("{}: pairs are no dense array", site.name)));
    };
    let numbers = pairs.integers().unwrap_or_default();
    if numbers.is_empty() {
        return Ok(false);
    }
    if pairs.of.dims.len() != 2 || pairs.of.dims[1] != 2 {
        return Err(site.violates("C1", format!("pairs of shape {:?}", pairs.of.dims)));
    }
    match numbers[..] {
        [0, 0] => Ok(true),
        _ if numbers.iter().all(|&number| number == 0) => {
            Err(site.violates("C2", format!("pairs {numbers:?}")))
        }
        _ => Err(site.unimplemented(format!("pairs {numbers:?} take several devices"))),
    }
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [operand] = site.exactly()?;
    stays(site)?;
    Ok(vec![operand.clone()])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    if stays(site)? {
        return Ok(Lowered::View);
    }
    let zero = [0; 16];
    Ok(Lowered::Splat(zero[..site.results[0].dtype.host_bytes()].into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, bytes};
    use tpu_base::tensor::DType;
    use tpu_stablehlo::ir::{Element, Elements, TensorType};

    fn case(dims: &[i64], pairs: &[i64]) -> Case {
        let of = TensorType::new(Element::S64, dims.to_vec());
        let pairs = Elements { of, data: bytes(pairs).into(), splat: false };
        Case::new("stablehlo.collective_permute")
            .value(DType::U8, &[2], &[1_u8, 2])
            .attribute("source_target_pairs", Attribute::Elements(pairs))
    }

    #[test]
    fn a_value_stays_or_becomes_zero() {
        assert_eq!(case(&[1, 2], &[0, 0]).eval::<u8>(&OP), [1, 2]);
        assert_eq!(case(&[0, 2], &[]).eval::<u8>(&OP), [0, 0]);
    }

    #[test]
    fn other_pairs_are_refused() {
        assert!(case(&[2], &[0, 0]).shapes(&OP).contains("violates C1"));
        assert!(case(&[2, 2], &[0, 0, 0, 0]).shapes(&OP).contains("violates C2"));
        assert!(case(&[1, 2], &[0, 1]).shapes(&OP).contains("take several devices"));
    }
}
