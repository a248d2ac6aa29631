//! Arrays whose contents nobody chose.
use super::super::{Entry, Lowered, Site};
use tpu_base::error::Result;
use tpu_base::tensor::Shape;

/// `jax.lax.empty` and the buffers of linear values: the same zeros in every run.
///
/// Shapes: result as declared.
/// Source: JAX's lowerings of these targets.
pub(super) const TARGETS: &[Entry] = &[row("AllocateBuffer"), row("CreateBuffer")];

const fn row(mnemonic: &'static str) -> Entry {
    Entry::target(mnemonic, infer, lower)
}

fn infer(site: &Site<'_>) -> Result<Vec<Shape>> {
    let [] = site.exactly()?;
    Ok(vec![site.declared(0)?])
}

fn lower(site: &Site<'_>) -> Result<Lowered> {
    let zero = [0; 16];
    let width = site.results[0].dtype.host_bytes();
    Ok(Lowered::Splat(zero[..width].into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Case;
    use tpu_base::tensor::DType;

    #[test]
    fn new_buffers_are_zero() {
        let case = Case::new("AllocateBuffer").declares(DType::F32, &[3]);
        assert_eq!(case.eval::<f32>(&TARGETS[0]), [0.0; 3]);
    }
}
