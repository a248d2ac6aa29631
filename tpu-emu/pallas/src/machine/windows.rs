//! Blocks of arrays: fetched before the points that read them, written back when their kernel has
//! left them.
use super::instance::Instance;
use super::memory::BufferId;
use super::peers::Role;
use super::records::Moved;
use super::view::View;
use super::{Failure, Machine};
use crate::form::{Argument, Array, Cell, Source, Window};
use std::collections::HashSet;
use tpu_base::tensor::DType;
use tpu_base::units::to_u64;
use tpu_mosaic::ir::LocationId;

/// A window of an instance.
#[derive(Debug)]
pub(super) struct WindowState {
    /// The array.
    pub(super) array: BufferId,
    /// Memory for a block.
    own: BufferId,
    /// Whether an operand and a result have one memory.
    pub(super) shared: bool,
    /// The block that is there.
    index: Option<Vec<i64>>,
    /// Whether the block is in the memory for it, or seen where it lies.
    copied: bool,
    /// Blocks of a result that were there.
    pub(super) visited: HashSet<Vec<i64>>,
}

impl WindowState {
    /// No block yet.
    pub(super) fn new(array: BufferId, own: BufferId, shared: bool) -> Self {
        Self { array, own, shared, index: None, copied: false, visited: HashSet::new() }
    }
}

/// The part of a block that is inside of its array.
pub(super) struct Inside {
    /// Where it begins in the array.
    pub(super) array: Vec<usize>,
    /// Where it begins in the block.
    block: Vec<usize>,
    /// Extents of the part.
    pub(super) dims: Vec<usize>,
}

impl Inside {
    /// Bytes of the part, packed.
    fn bytes(&self, dtype: DType) -> u64 {
        let of = dtype.element();
        let elements = self.dims.iter().fold(1, |count, &dim| count * to_u64(dim));
        (elements * u64::from(of.bits * of.parts)).div_ceil(8)
    }
}

pub(super) fn inside(window: &Window, index: &[i64]) -> Result<Inside, String> {
    let rank = window.bounds.len();
    let (mut array, mut block) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
    let mut dims = Vec::with_capacity(rank);
    let mut outside = false;
    for (axis, (&index, (&of, &bound))) in
        index.iter().zip(window.of.iter().zip(&window.bounds)).enumerate()
    {
        let (of, bound) = (signed(of), signed(bound));
        let first = match &window.low {
            Some(low) => index.saturating_sub(low.get(axis).copied().unwrap_or(0)),
            None => index.saturating_mul(bound),
        };
        let (from, to) = (first.clamp(0, of), first.saturating_add(bound).clamp(0, of));
        outside |= from >= to && bound > 0 && of > 0;
        array.push(usize::try_from(from).unwrap_or(0));
        block.push(usize::try_from((from - first).min(bound)).unwrap_or(0));
        dims.push(usize::try_from(to - from).unwrap_or(0));
    }
    if outside {
        let (bounds, of) = (&window.bounds, &window.of);
        return Err(format!("block {index:?} of {bounds:?} is outside of an array of {of:?}"));
    }
    Ok(Inside { array, block, dims })
}

fn signed(extent: usize) -> i64 {
    i64::try_from(extent).unwrap_or(i64::MAX)
}

impl Machine<'_> {
    /// Writes blocks of results back and fetches blocks of operands, where their indices changed.
    pub(super) fn blocks(
        &mut self,
        instance: &mut Instance,
        place: LocationId,
    ) -> Result<(), Failure> {
        let program = self.program;
        let arguments = &program.entries[instance.entry].arguments;
        for results in [true, false] {
            for (number, argument) in arguments.iter().enumerate() {
                let Source::Window(window) = &argument.source else { continue };
                if matches!(window.array, Array::Result(_)) != results {
                    continue;
                }
                let index = instance.ints(&window.index);
                let Some(state) = &instance.windows[number] else { continue };
                if state.index.as_deref() == Some(&index[..]) {
                    continue;
                }
                let fails = |what: String| {
                    let kind = if results { "result" } else { "operand" };
                    let at = match window.array {
                        Array::Operand(at) | Array::Result(at) => at,
                    };
                    let known = window.place != LocationId::UNKNOWN;
                    let place = if known { window.place } else { place };
                    Failure { what: format!("{kind} {at}: {what}"), place }
                };
                let dtype = argument.cell.dtype();
                if results {
                    self.write_back((state, instance.device), window, dtype).map_err(fails)?;
                }
                if results {
                    self.share_visits(number, &index).map_err(fails)?;
                }
                let view =
                    self.fetch(instance, number, (window, &index), argument).map_err(fails)?;
                let view = view.with_dims(&argument.dims).map_err(fails)?;
                instance.set_view(argument.view, view);
            }
        }
        Ok(())
    }

    /// Writes the last blocks of all results back.
    pub(super) fn flush(&mut self, instance: &Instance, place: LocationId) -> Result<(), Failure> {
        let program = self.program;
        let arguments = &program.entries[instance.entry].arguments;
        for (argument, state) in arguments.iter().zip(&instance.windows) {
            let (Source::Window(window), Some(state)) = (&argument.source, state) else { continue };
            if matches!(window.array, Array::Result(_)) {
                self.write_back((state, instance.device), window, argument.cell.dtype())
                    .map_err(|what| Failure { what, place })?;
            }
        }
        Ok(())
    }

    fn write_back(
        &mut self,
        (state, device): (&WindowState, usize),
        window: &Window,
        dtype: DType,
    ) -> Result<(), String> {
        if self.records.is_some()
            && let Some(index) = state.index.as_deref()
        {
            let bytes = inside(window, index)?.bytes(dtype);
            self.records_moved(device, Moved::Blocks(window.array), bytes);
        }
        let Some(index) = state.index.as_deref().filter(|_| state.copied) else { return Ok(()) };
        let part = inside(window, index)?;
        let to = View::whole(state.array, dtype, &window.of).block(&part.array, &part.dims);
        let from = View::whole(state.own, dtype, &window.bounds).block(&part.block, &part.dims);
        to.copy_from(&self.bank, &from);
        if let Some(watch) = &mut self.watch {
            watch.moved(&self.bank, &from, &to);
        }
        Ok(())
    }

    /// The block of an index, as the kernel sees it.
    fn fetch(
        &mut self,
        instance: &mut Instance,
        number: usize,
        (window, index): (&Window, &[i64]),
        argument: &Argument,
    ) -> Result<View, String> {
        let (dtype, cell) = (argument.cell.dtype(), argument.cell);
        let part = inside(window, index)?;
        let Some(state) = &mut instance.windows[number] else {
            return Err("an argument without a window".to_owned());
        };
        let result = matches!(window.array, Array::Result(_));
        let array = View::whole(state.array, dtype, &window.of);
        let whole = part.dims == window.bounds;
        state.index = Some(index.to_vec());
        let again = result && !state.shared && !state.visited.insert(index.to_vec());
        if again && !window.revisits {
            return Err(format!(
                "block {index:?} is visited again after others: all points of the grid that have a \
                 block of a result follow one another"
            ));
        }
        let block = array.block(&part.array, &part.dims);
        let beside = whole && !state.shared && block.side_by_side(&self.bank).is_some();
        state.copied = if result { !beside } else { !whole || argument.written || state.shared };
        let view = if state.copied {
            View::whole(state.own, dtype, &window.bounds)
        } else {
            block.clone()
        };
        let fetched = !result || window.revisits;
        if fetched {
            let bytes = part.bytes(dtype);
            self.records_moved(instance.device, Moved::Blocks(window.array), bytes);
        }
        if fetched && !state.copied {
            return Ok(view);
        }
        let covered = argument.covered && !self.minds_what_is_unwritten();
        if (!fetched || !whole) && !covered {
            match cell {
                Cell::Element(dtype) => match view.side_by_side(&self.bank) {
                    Some(place) => {
                        let whose = (instance.number, Role::Argument(number));
                        self.unwritten(place, Cell::Element(dtype), whose);
                    }
                    None => return Err("a block that lies apart".to_owned()),
                },
                Cell::Semaphore(_) => {}
            }
        }
        if fetched {
            let to = View::whole(state.own, dtype, &window.bounds).block(&part.block, &part.dims);
            to.copy_from(&self.bank, &block);
            if let Some(watch) = &mut self.watch {
                watch.moved(&self.bank, &block, &to);
            }
        }
        Ok(view)
    }
}
