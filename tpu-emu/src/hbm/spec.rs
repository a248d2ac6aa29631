//! What an array is: element type, shape, layout and the two sizes. Interned.
use crate::hbm::layout::{self, Layout, TileRules};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use tpu_base::error::{Error, Result};
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_u64};

pub use crate::hbm::layout::MAX_RANK;

/// Whether an array may have this many axes.
///
/// # Errors
/// `BadArgument` for more than [`MAX_RANK`].
pub fn check_rank(rank: usize) -> Result<()> {
    if rank <= MAX_RANK {
        return Ok(());
    }
    Err(Error::bad(format!("{rank} dimensions; at most {MAX_RANK} are accepted")))
}

/// A client's shape as extents.
///
/// # Errors
/// `BadArgument` for a negative dimension.
pub fn extents(dtype: DType, dims: &[i64]) -> Result<Vec<u64>> {
    let extents: Option<Vec<u64>> = dims.iter().map(|&dim| u64::try_from(dim).ok()).collect();
    extents.ok_or_else(|| Error::bad(format!("negative dimension in {}{dims:?}", dtype.name())))
}

/// Element type, shape and layout of an array, and what follows from them.
#[derive(Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// Number of this description in the machine, from 0.
    pub number: u32,
    /// Element type.
    pub dtype: DType,
    /// Extents, major first.
    pub dims: Box<[u64]>,
    /// Order and tiles on the device.
    pub layout: Layout,
    /// Elements.
    pub elements: u64,
    /// Bytes of the elements themselves, sub-byte types packed.
    pub logical: Bytes,
    /// Bytes in HBM, padded to tiles.
    pub padded: Bytes,
}

impl ArraySpec {
    /// Bytes of the array in client memory, dense: sub-byte types one to a byte.
    pub fn host_size(&self) -> Bytes {
        Bytes(self.elements * to_u64(self.dtype.host_bytes()))
    }

    /// `f32[8,128]{1,0:T(8,128)}`.
    pub fn text(&self) -> String {
        let dims: Vec<String> = self.dims.iter().map(u64::to_string).collect();
        format!("{}[{}]{}", self.dtype.name(), dims.join(","), self.layout)
    }
}

/// A layout as a caller asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum LayoutRequest {
    /// The device's own choice.
    #[default]
    Default,
    /// An order of the axes; the device adds its tiles.
    Order(Vec<usize>),
    /// Order and tiles.
    Tiled(Layout),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SpecKey {
    dtype: DType,
    dims: Box<[u64]>,
    layout: LayoutRequest,
}

#[derive(Debug, Default)]
struct SpecTable {
    by_key: HashMap<SpecKey, Arc<ArraySpec>>,
    by_number: Vec<Arc<ArraySpec>>,
}

/// All descriptions seen by one machine.
#[derive(Debug)]
pub struct Specs {
    rules: TileRules,
    known: RwLock<SpecTable>,
}

impl Specs {
    /// None yet; layouts follow `rules`.
    pub fn new(rules: TileRules) -> Self {
        Self { rules, known: RwLock::default() }
    }

    /// The tile rules of the device.
    pub fn rules(&self) -> TileRules {
        self.rules
    }

    /// The description of an array.
    ///
    /// # Errors
    /// `BadArgument` for too many axes, a size past 2^63 bytes, or an impossible layout.
    pub fn intern(
        &self,
        dtype: DType,
        dims: &[u64],
        layout: LayoutRequest,
    ) -> Result<Arc<ArraySpec>> {
        let key = SpecKey { dtype, dims: dims.into(), layout };
        if let Some(spec) = self.known.read().by_key.get(&key) {
            return Ok(Arc::clone(spec));
        }
        let mut spec = self.describe(&key)?;
        let mut known = self.known.write();
        if let Some(spec) = known.by_key.get(&key) {
            return Ok(Arc::clone(spec));
        }
        let number = u32::try_from(known.by_number.len())
            .map_err(|_| Error::Host("more than 2^32 distinct array types".to_owned()))?;
        spec.number = number;
        let spec = Arc::new(spec);
        known.by_number.push(Arc::clone(&spec));
        known.by_key.insert(key, Arc::clone(&spec));
        Ok(spec)
    }

    /// The description with this number.
    pub fn get(&self, number: u32) -> Option<Arc<ArraySpec>> {
        self.known.read().by_number.get(number as usize).cloned()
    }

    fn describe(&self, key: &SpecKey) -> Result<ArraySpec> {
        let SpecKey { dtype, dims, layout } = key;
        check_rank(dims.len())?;
        let element = dtype.element();
        let layout = match layout {
            LayoutRequest::Default => layout::default_layout(self.rules, element, dims)?,
            LayoutRequest::Order(order) => {
                layout::explicit_layout(self.rules, element, dims, order)?
            }
            LayoutRequest::Tiled(tiled) => {
                layout::validate(tiled, dims)?;
                tiled.clone()
            }
        };
        let too_large = || Error::bad(format!("{}{dims:?} is past 2^63 bytes", dtype.name()));
        let elements = dims
            .iter()
            .try_fold(1_u64, |product, &dim| product.checked_mul(dim))
            .ok_or_else(too_large)?;
        let bits = u64::from(element.bits) * u64::from(element.parts);
        let logical = elements.checked_mul(bits).ok_or_else(too_large)?.div_ceil(8);
        elements
            .checked_mul(to_u64(dtype.host_bytes()))
            .filter(|&host| i64::try_from(host).is_ok())
            .ok_or_else(too_large)?;
        let padded = layout::padded_bytes(element, dims, &layout)?;
        let dims = dims.clone();
        let logical = Bytes(logical);
        Ok(ArraySpec { number: 0, dtype: *dtype, dims, layout, elements, logical, padded })
    }
}
