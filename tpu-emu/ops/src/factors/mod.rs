//! Which axes of an operation's operands and results belong together, so that it can be done piece
//! by piece: a factor is a number that its axes have in common, as the letters of an einsum.
mod axes;
mod indexed;
mod product;
mod reach;
mod reshape;

pub(crate) use axes::{
    broadcast, constant, counting, elementwise, forwarded, last_rows, permuted, reduced, rows,
    sorted,
};
pub(crate) use indexed::{dynamic_slice, dynamic_update, gathered, scattered};
pub(crate) use product::{contracted, convolved};
pub use reach::{Bounds, Past, Reach};
pub(crate) use reach::{joined, padded, reversed, sliced, windowed, windows_scattered};
pub(crate) use reshape::reshaped;

use tpu_stablehlo::ir::Attributes;

/// An operation as those see it who look for its factors: extents are known and not negative.
#[derive(Debug)]
pub struct FactorSite<'a> {
    /// Properties and discardable attributes.
    pub attributes: &'a Attributes,
    /// Extents of each operand.
    pub operands: Vec<&'a [i64]>,
    /// Extents of each result.
    pub results: Vec<&'a [i64]>,
    /// Whether the code inside the operation adds two elements and does nothing else.
    pub adds: bool,
}

impl FactorSite<'_> {
    /// A list of axes; empty where there is none.
    fn list(&self, name: &str) -> Vec<usize> {
        let listed = self.attributes.integers(name).unwrap_or_default();
        listed.into_iter().filter_map(|axis| usize::try_from(axis).ok()).collect()
    }

    /// One axis, which must be among `rank`.
    fn axis(&self, name: &str, rank: usize) -> Option<usize> {
        let axis = self.attributes.integer(name)?;
        usize::try_from(axis).ok().filter(|&axis| axis < rank)
    }
}

/// What a factor is to its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorKind {
    /// Pieces of the operands give the piece of the results.
    Kept,
    /// Pieces of the operands give summands of the results.
    Summed,
    /// Results like to be split as the operands are, and a piece needs more than a piece.
    Moved,
}

/// A number that axes have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factor {
    /// The number.
    pub size: i64,
    /// What it is to the operation.
    pub kind: FactorKind,
    /// Whether all pieces have to have the same length.
    pub even: bool,
}

/// What changes in the operation's attributes when it works on pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// Nothing.
    Same,
    /// `limit_indices` of axes that are taken whole end where the piece ends.
    Limits,
    /// `slice_sizes` of axes that are taken whole are those of the piece.
    Sizes,
    /// Operands lie side by side along this axis: each fills a part of the piece.
    Joined(usize),
    /// Pieces change places with those at the other end, along the axes `dimensions`.
    Mirrored,
    /// The result counts on from the place of the piece.
    Counting,
    /// The element of `value` repeats less often.
    Elements,
}

/// An axis of the first operand along which indices say which element is meant, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookedUp {
    /// The factor of the axis. A piece has elements for some indices and none for the others.
    pub factor: usize,
    /// The axis.
    pub axis: usize,
    /// Which number of each index it is.
    pub component: usize,
}

/// The factors of an operation.
#[derive(Debug, Clone)]
pub struct Factors {
    /// All of them.
    pub factors: Vec<Factor>,
    /// Those of each axis of each operand, major first. An axis without one is always whole.
    pub operands: Vec<Vec<Vec<usize>>>,
    /// Those of each axis of each result.
    pub results: Vec<Vec<Vec<usize>>>,
    /// What becomes of the attributes.
    pub local: Local,
    /// The operand that is added to the sum: it counts once, however many summands there are.
    pub added: Option<usize>,
    /// Axes of the first operand in which the second one looks elements up.
    pub looked_up: Vec<LookedUp>,
    /// Axes of operands of which a piece needs what lies next to it in other pieces.
    pub reaches: Vec<Reach>,
    /// What changes no sum: pieces of different lengths are filled up with it where they are summed.
    pub neutral: Option<Past>,
}

/// The factors of an operation; `None` for one that needs all of its operands.
pub type FactorsOf = fn(&FactorSite<'_>) -> Option<Factors>;

impl Factors {
    /// None yet.
    fn new(site: &FactorSite<'_>) -> Self {
        let none = |all: &[&[i64]]| all.iter().map(|dims| vec![Vec::new(); dims.len()]).collect();
        Self {
            factors: Vec::new(),
            operands: none(&site.operands),
            results: none(&site.results),
            local: Local::Same,
            added: None,
            looked_up: Vec::new(),
            reaches: Vec::new(),
            neutral: None,
        }
    }

    /// A new factor.
    fn add(&mut self, size: i64, kind: FactorKind) -> usize {
        self.factors.push(Factor { size, kind, even: false });
        self.factors.len() - 1
    }

    /// A factor that an axis of an operand and one of a result have in common.
    fn shared(
        &mut self,
        (size, kind): (i64, FactorKind),
        (operand, from): (usize, usize),
        (result, to): (usize, usize),
    ) -> Option<()> {
        let factor = self.add(size, kind);
        self.operands.get_mut(operand)?.get_mut(from)?.push(factor);
        self.results.get_mut(result)?.get_mut(to)?.push(factor);
        Some(())
    }
}

impl Factors {
    /// Takes the first operand whole along the axes in which elements are looked up.
    pub fn without_lookups(&mut self) {
        for LookedUp { factor, axis, .. } in std::mem::take(&mut self.looked_up) {
            let arrays = self.operands.iter_mut().chain(&mut self.results);
            arrays.filter_map(|array| array.get_mut(axis)).for_each(|axis| {
                axis.retain(|&other| other != factor);
            });
        }
    }
}

/// The operation needs all of its operands.
pub(crate) fn whole(_: &FactorSite<'_>) -> Option<Factors> {
    None
}
