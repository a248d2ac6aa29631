//! What a chip has in its memory that a plan does not have, as it is charged and told.
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_base::units::{Bytes, to_usize};
use tpu_stablehlo::ir::LocationId;

/// What is less is in the memory of the core, and in the noise.
pub(super) const MIN_BYTES: u64 = 1 << 20;

/// How what a chip lays anew stands to the temporaries of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    /// It is there when they are not.
    Alone,
    /// It lies beside them at this position: their padding, or what is not stored here.
    Beside(u64),
}

/// A value that a chip lays anew, or the padding of several, or what only a chip stores.
#[derive(Debug, Clone)]
pub(crate) struct LaidAnew {
    /// What it takes, padded, with the others that are there at the same time; what is taken beside
    /// other temporaries, as by an array like this.
    pub(crate) bytes: Bytes,
    /// How many others are there at the same time.
    pub(crate) others: usize,
    /// How it stands to other temporaries.
    pub(crate) place: Charged,
    /// The type of an element.
    pub(crate) dtype: DType,
    /// The extents.
    pub(crate) dims: Vec<u64>,
    /// The layout that it has.
    pub(crate) layout: Arc<str>,
    /// The operation that asks for it.
    pub(crate) name: Arc<str>,
    /// Where that was written.
    pub(crate) location: LocationId,
}

/// What a device is charged with for the temporaries of a plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct Charge {
    /// What it has that the plan does not have.
    pub(crate) laid_anew: Option<LaidAnew>,
    /// Bytes of all these that lie in the memory of the core, and take no HBM.
    pub(crate) in_core: Bytes,
}

impl Charge {
    /// What is charged for so many bytes of temporaries.
    pub(super) fn of(&self, temporaries: usize) -> usize {
        let all = self.laid_anew.as_ref().map_or(temporaries, |of| of.charge(temporaries));
        all.saturating_sub(to_usize(self.in_core.0))
    }
}

impl LaidAnew {
    /// What is charged of a device for it and for so many bytes of temporaries.
    pub(super) fn charge(&self, temporaries: usize) -> usize {
        let own = to_usize(self.bytes.0);
        match self.place {
            Charged::Alone => own.max(temporaries),
            Charged::Beside(_) => own.saturating_add(temporaries),
        }
    }
}
