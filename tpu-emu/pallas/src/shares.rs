//! Kernels whose grid points are independent run on all threads, a share of the grid on each.
//!
//! A kernel says of dimensions that their points are independent (`parallel`), and what it says is
//! checked while it runs ([`crate::machine::shares`]): where it is not so, or where anything fails,
//! the kernel runs once more as a whole, and always from then on.
use crate::form::{Array, Cell, Cores, Entry, Program, Source, Step};
use crate::kernel::PallasKernel;
use crate::machine::memory::Place;
use crate::machine::shares::{Claims, Share};
use crate::machine::unvisited::fill_others;
use crate::machine::watch::{Checks, Fill};
use crate::machine::{Failure, Machine};
use std::sync::atomic::Ordering;
use tpu_kernels::parallel;
use tpu_mosaic::ir::CoreType;

/// The most shares of a grid.
const MOST: usize = 32;
/// Bytes of blocks that a share has at least.
const LEAST_BYTES: usize = 256 << 10;
/// How many times as many bytes of blocks a share moves as it takes memory, at least.
const TIMES: usize = 4;

/// Whether points of a kernel's grid may run beside each other, if they are independent.
pub(crate) fn has_shares(program: &Program, aliases: &[Option<usize>]) -> bool {
    let [entry] = &*program.entries else { return false };
    let alone = |step: &Step| {
        !matches!(step, Step::Sync(_) | Step::Log(_) | Step::Seed(_) | Step::Random { .. })
    };
    entry.independent > 0
        && entry.core == CoreType::TensorCore
        && entry.cores == Cores::default()
        && program.bounds_checks
        && aliases.iter().all(Option::is_none)
        && program.steps.iter().all(alone)
        && entry.arguments.iter().all(|argument| match &argument.source {
            Source::Scratch => true,
            Source::Whole(Array::Operand(_)) | Source::Copy(Array::Operand(_)) => !argument.written,
            Source::Whole(Array::Result(_)) | Source::Copy(Array::Result(_)) => false,
            Source::Window(window) => match window.array {
                Array::Operand(_) => !argument.written,
                Array::Result(_) => window.low.is_none() && !window.revisits,
            },
        })
}

/// How many points the independent dimensions have, and how many shares they make. That depends on
/// the work alone, not on the number of threads.
fn shares(entry: &Entry, bounds: &[i64]) -> Option<(usize, usize)> {
    let count = |bounds: &[i64]| {
        let extent = |&bound: &i64| usize::try_from(bound).ok();
        bounds.iter().try_fold(1_usize, |count, bound| count.checked_mul(extent(bound)?))
    };
    let points = count(bounds.get(..entry.independent)?)?;
    let all = count(bounds)?;
    let (mut blocks, mut scratch) = (0_usize, 0_usize);
    for argument in &entry.arguments {
        let Cell::Element(dtype) = argument.cell else { continue };
        let bytes = argument.dims.iter().product::<usize>() * dtype.host_bytes();
        match argument.source {
            Source::Window(_) => blocks = blocks.saturating_add(bytes),
            Source::Scratch => scratch = scratch.saturating_add(bytes),
            Source::Whole(_) | Source::Copy(_) => {}
        }
    }
    let least = LEAST_BYTES.max(blocks.saturating_add(scratch).saturating_mul(TIMES));
    let shares = points.min(MOST).min(blocks.saturating_mul(all) / least);
    (shares > 1).then_some((points, shares))
}

impl PallasKernel {
    /// Runs a kernel's shares on all threads; `None` where it is to run as a whole.
    ///
    /// # Errors
    /// The user has interrupted it.
    pub(crate) fn run_shares(
        &self,
        device: Option<usize>,
        operands: &[&[u8]],
        results: &[Place],
    ) -> Option<Result<(), Failure>> {
        let may = self.has_shares.load(Ordering::Relaxed)
            && parallel::threads() > 1
            && self.settings.checks == Checks::default();
        let entry = self.program.entries.first().filter(|_| may)?;
        let how = || (self.settings.order, Checks::default(), Fill::Usual);
        let arrays = || self.arrays(device, operands, results);
        let machine = || Machine::new(&self.program, arrays(), &self.outside, how());
        let (points, count) = shares(entry, &machine().bounds(0, entry).ok()?)?;
        let claims = Claims::default();
        let run = |number: usize| {
            if claims.has_failed() {
                return Ok(());
            }
            let mut machine = machine();
            let of = points * number / count..points * (number + 1) / count;
            machine.take_share(Share::new(number, of, &claims));
            machine.run().map_err(|failure| {
                claims.fail();
                machine.is_interrupted().then_some(failure)
            })
        };
        // Enough shares leave nothing to do beside them.
        let done = match count < parallel::threads() {
            true => parallel::map(count, run),
            false => parallel::map(count, |number| parallel::alone(|| run(number))),
        };
        if let Some(Err(Some(interrupted))) =
            done.into_iter().find(|done| matches!(done, Err(Some(_))))
        {
            return Some(Err(interrupted));
        }
        if claims.has_failed() {
            self.has_shares.store(false, Ordering::Relaxed);
            return None;
        }
        let mut visited = claims.visited();
        for (number, argument) in entry.arguments.iter().enumerate() {
            let (Source::Window(window), Cell::Element(dtype)) = (&argument.source, argument.cell)
            else {
                continue;
            };
            let Array::Result(at) = window.array else { continue };
            let visited = visited.remove(&number).unwrap_or_default();
            let each = results.chunks(self.aliases.len().max(1));
            each.for_each(|results| fill_others(window, dtype, results[at], &visited));
        }
        Some(Ok(()))
    }
}
