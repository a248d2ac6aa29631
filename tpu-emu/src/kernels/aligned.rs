//! Memory for elements of any type.
use crate::error::{Error, Result};

/// Bytes aligned to 64, as kernels want them.
#[derive(Debug, Clone, Default)]
pub struct Aligned {
    units: Vec<Unit>,
    length: usize,
}

#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Unit([u8; 64]);

impl Aligned {
    /// So many zeros.
    pub fn zeros(length: usize) -> Self {
        Self { units: vec![Unit([0; 64]); length.div_ceil(64)], length }
    }

    /// So many zeros, which cost memory only where they are touched.
    ///
    /// # Errors
    /// `Host` where the system has no room.
    pub fn try_zeros(length: usize) -> Result<Self> {
        let refused = |()| Error::Host(format!("no room for {length} bytes beside the devices"));
        let units = bytemuck::allocation::try_zeroed_vec(length.div_ceil(64)).map_err(refused)?;
        Ok(Self { units, length })
    }

    /// A copy of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeros(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.units)[..self.length]
    }

    /// The bytes, to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.units)[..self.length]
    }
}
