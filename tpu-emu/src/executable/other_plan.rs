//! The memory of a program as another compiler plans it.
use super::compile::raw_bytes;
use super::{Executable, MemoryAnalysis};
use crate::hbm::spec::Specs;
use crate::trace::PlannedValue;
use std::fmt;
use std::sync::Arc;
use tpu_base::error::Result;
use tpu_base::units::{Bytes, to_usize};
use tpu_placement::fullest;

/// What another compiler plans for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPlan {
    /// What the compiler is called, as `libtpu 0.0.51`.
    pub compiler: Arc<str>,
    /// The sizes that it plans.
    pub memory: MemoryAnalysis,
    /// Temporaries that it plans, without their places in their block, which are not known.
    pub values: Arc<[PlannedValue]>,
    /// Positions in its program order; that of a value is less.
    pub positions: u64,
}

impl OtherPlan {
    /// The temporaries that live where they take most together.
    pub(super) fn held_at_most(&self) -> Vec<&PlannedValue> {
        let lives = self.values.iter().map(|value| (value.first, value.last, value.size));
        let Some(position) = fullest(lives) else { return Vec::new() };
        let lives = |value: &&PlannedValue| value.first <= position && position <= value.last;
        self.values.iter().filter(lives).collect()
    }
}

/// A compiler that is asked about a program while this one compiles it.
pub trait OtherCompiler: fmt::Debug {
    /// Waits for the other compiler's plan of the program with this name. `None` where it has no
    /// answer, so that the plan of this one stands. `here` is what this one has made of it.
    ///
    /// # Errors
    /// Its refusal of the program, in its own words.
    fn plan(&self, name: &str, here: Result<(), &str>) -> Result<Option<OtherPlan>>;
}

/// A plan that is known already.
impl OtherCompiler for OtherPlan {
    fn plan(&self, _: &str, _: Result<(), &str>) -> Result<Option<OtherPlan>> {
        Ok(Some(self.clone()))
    }
}

impl Executable {
    /// Lets the plan of another compiler stand for its own: a run is charged with its temporaries.
    ///
    /// # Errors
    /// `BadArgument` for temporaries of a size that no array has.
    pub(crate) fn stand_by(&mut self, other: OtherPlan, specs: &Specs) -> Result<()> {
        // The constants are among the other's temporaries, and a block of their own here.
        let pool = self.pool.as_ref().map_or(Bytes::ZERO, |pool| pool.padded);
        let charged = other.memory.temporaries.0.saturating_sub(pool.0);
        self.arena = raw_bytes(specs, to_usize(charged))?;
        self.memory = other.memory;
        self.other = Some(other);
        Ok(())
    }

    /// Whether its temporaries lie outside of the block that a run is charged with, which is too
    /// small for them: another compiler plans less, or a chip has some of them elsewhere.
    pub(crate) fn is_charged_apart(&self) -> bool {
        let charged = self.arena.as_ref().map_or(0, |arena| to_usize(arena.padded.0));
        (self.other.is_some() || self.in_core > Bytes::ZERO) && charged < self.plan.arena
    }
}
