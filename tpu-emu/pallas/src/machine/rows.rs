//! Copies of rows at computed places: gathers and scatters beside kernels.
use super::copies::Signalled;
use super::instance::Instance;
use super::memory::Place;
use super::pieces::run_alone;
use super::semaphores::Semaphore;
use super::view::View;
use super::{Failure, Machine};
use crate::form::{Indirect, Offsets};
use crate::piece::Piece;
use std::sync::Arc;
use tpu_base::tensor::DType;
use tpu_kernels::aligned::Aligned;
use tpu_mosaic::ir::LocationId;

/// The rows of a copy.
#[derive(Debug)]
pub(super) struct Rows {
    /// For each row of the one side, that of the other, if it is copied.
    of: Vec<Option<usize>>,
    /// Whether rows of the source are selected.
    gathers: bool,
    /// The sum of two rows, where they are added.
    pub(super) add: Option<Arc<Piece>>,
}

/// What each row of a copy is copied from, and to.
pub(super) fn row_pairs(
    source: &View,
    target: &View,
    rows: &Rows,
) -> Result<Vec<(View, View)>, String> {
    let (selected, whole) = if rows.gathers { (source, target) } else { (target, source) };
    let mut dims = vec![rows.of.len()];
    dims.extend(selected.axes.iter().skip(1).map(|axis| axis.extent));
    let whole = whole.clone().with_dims(&dims)?;
    dims[0] = 1;
    let mut first = vec![0; dims.len()];
    let mut row = |of: &View, at: usize| {
        first[0] = i64::try_from(at).unwrap_or(i64::MAX);
        of.slice(&first, &dims, None)
    };
    let mut pairs = Vec::with_capacity(rows.of.len());
    for (at, &other) in rows.of.iter().enumerate() {
        let Some(other) = other else { continue };
        let (there, here) = (row(selected, other)?, row(&whole, at)?);
        pairs.push(if rows.gathers { (there, here) } else { (here, there) });
    }
    Ok(pairs)
}

impl Machine<'_> {
    /// Begins a copy of rows.
    pub(super) fn enqueue_rows(
        &mut self,
        instance: &Instance,
        number: usize,
        copy: &Indirect,
        place: LocationId,
    ) -> Result<(), Failure> {
        let fails = |what: String| Failure { what, place };
        let view = |id| instance.view(id).map_err(fails).cloned();
        let (source, target) = (view(copy.source)?, view(copy.target)?);
        let offsets = match &copy.offsets {
            Offsets::Slot(slot, of) => integers(instance.slot(*slot).bytes(), of.dtype),
            Offsets::View(id) => {
                let view = view(*id)?;
                self.touched(instance, &view, place, false)?;
                let mut bytes = Aligned::zeros(view.bytes());
                view.read(&self.bank, Place::of_mut(bytes.bytes_mut()));
                integers(bytes.bytes(), view.dtype)
            }
        };
        let (selected, whole) = if copy.gathers { (&source, &target) } else { (&target, &source) };
        let rows = selected.axes.first().map_or(0, |axis| axis.extent);
        let filter = copy.filter.map(|filter| instance.int(filter));
        let mut of = Vec::with_capacity(offsets.len());
        for &offset in &offsets {
            of.push(if Some(offset) == filter {
                None
            } else {
                let inside = usize::try_from(offset).ok().filter(|&offset| offset < rows);
                let outside = || {
                    let side = if copy.gathers { "source" } else { "target" };
                    format!("out of bounds: row {offset} of the {rows} of the {side} of a copy")
                };
                Some(inside.ok_or_else(outside).map_err(fails)?)
            });
        }
        let (inner, row): (usize, usize) = (
            selected.axes.iter().skip(1).map(|axis| axis.extent).product(),
            whole.elements().checked_div(offsets.len()).unwrap_or(0),
        );
        if inner != row || source.dtype != target.dtype {
            let (from, to, count) = (source.dims(), target.dims(), offsets.len());
            return Err(fails(format!("a copy of {count} rows of {from:?} to {to:?}")));
        }
        let semaphore = view(copy.semaphore)?;
        let amount = self.amount(&semaphore, whole);
        let done = Some((Semaphore::of(&semaphore).map_err(fails)?, amount));
        let signals = Signalled { done, ..Signalled::default() };
        let rows = Rows { of, gathers: copy.gathers, add: copy.add.clone() };
        self.begin_copy((source, target, Some(rows)), signals, (instance, number), place)
    }

    /// Does a copy of rows, the first one first.
    pub(super) fn copy_rows(
        &self,
        source: &View,
        target: &View,
        rows: &Rows,
    ) -> Result<(), String> {
        for (from, to) in row_pairs(source, target, rows)? {
            let Some(sum) = &rows.add else {
                to.copy_from(&self.bank, &from);
                continue;
            };
            let mut three: [Aligned; 3] = std::array::from_fn(|_| Aligned::zeros(to.bytes()));
            let [a, b, made] = three.each_mut().map(|bytes| Place::of_mut(bytes.bytes_mut()));
            to.read(&self.bank, a);
            from.read(&self.bank, b);
            run_alone(sum, &[a, b], &[made])?;
            to.write(&self.bank, made);
        }
        Ok(())
    }
}

/// Elements as integers.
fn integers(bytes: &[u8], dtype: DType) -> Vec<i64> {
    let size = dtype.host_bytes();
    let of = dtype.element();
    let one = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(bytes);
        super::scalar::wrap(of.bits * of.parts, i64::from_le_bytes(wide))
    };
    bytes.chunks_exact(size).map(one).collect()
}
