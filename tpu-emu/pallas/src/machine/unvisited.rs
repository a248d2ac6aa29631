//! Results that nobody writes: blocks that no point of a grid has, blocks that are left as they
//! were, whole arrays.
//!
//! On a chip they have what was in memory before. Here they have numbers that show, and where
//! kernels are watched for memory that nobody has written, they are told.
use super::instance::Instance;
use super::memory::{BufferId, Place, poison};
use super::view::View;
use super::windows::inside;
use super::{Failure, Machine};
use crate::course::is_fixed;
use crate::form::{Argument, Array, Cell, Extent, Source, Window};
use std::collections::{BTreeMap, HashSet};
use std::mem;
use tpu_base::tensor::DType;
use tpu_mosaic::ir::LocationId;

/// The blocks of a result that kernels of one device had.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// The argument that shows them, by entry and number.
    argument: (usize, usize),
    blocks: HashSet<Vec<i64>>,
}

/// The blocks of an array that are not among some.
fn others(window: &Window, visited: &HashSet<Vec<i64>>) -> Vec<Vec<i64>> {
    let each = window.of.iter().zip(&window.bounds);
    let counts: Vec<usize> = each.map(|(&of, &bound)| of.div_ceil(bound.max(1))).collect();
    let all = counts.iter().fold(1_usize, |all, &count| all.saturating_mul(count));
    if visited.len() >= all {
        return Vec::new();
    }
    let mut others = Vec::new();
    let mut index = vec![0_i64; counts.len()];
    for _ in 0..all {
        if !visited.contains(&index) {
            others.push(index.clone());
        }
        for (at, &count) in index.iter_mut().zip(&counts).rev() {
            *at += 1;
            if usize::try_from(*at).is_ok_and(|at| at < count) {
                break;
            }
            *at = 0;
        }
    }
    others
}

/// A block of an array; nothing where it is outside.
fn block(window: &Window, dtype: DType, index: &[i64]) -> Option<View> {
    let part = inside(window, index).ok()?;
    Some(View::whole(BufferId(0), dtype, &window.of).block(&part.array, &part.dims))
}

/// Fills blocks of a result that no point of the grid has with numbers that show.
pub(crate) fn fill_others(
    window: &Window,
    dtype: DType,
    place: Place,
    visited: &HashSet<Vec<i64>>,
) {
    for index in others(window, visited) {
        let runs = block(window, dtype, &index).map(|block| block.runs()).unwrap_or_default();
        runs.into_iter().for_each(|(start, bytes)| poison(place.part(start, bytes), dtype));
    }
}

/// Whether blocks of a result may be left out of a grid, so that they are to be filled at its end.
pub(crate) fn has_others(window: &Window) -> bool {
    matches!(window.array, Array::Result(_)) && window.low.is_none() && !window.revisits
}

impl Machine<'_> {
    /// Notes which blocks of results all kernels had, and fills the others.
    pub(super) fn leave_out(&mut self, instances: &mut [Instance]) {
        let program = self.program;
        let mut visits: BTreeMap<(usize, Array), Visits> = BTreeMap::new();
        for instance in instances {
            let arguments = &program.entries[instance.entry].arguments;
            for (number, (argument, state)) in
                arguments.iter().zip(&mut instance.windows).enumerate()
            {
                let (Source::Window(window), Some(state)) = (&argument.source, state) else {
                    continue;
                };
                if has_others(window) && !state.shared {
                    let of = visits.entry((instance.device, window.array)).or_default();
                    of.argument = (instance.entry, number);
                    let mut blocks = mem::take(&mut state.visited);
                    if of.blocks.is_empty() {
                        mem::swap(&mut of.blocks, &mut blocks);
                    }
                    of.blocks.extend(blocks);
                }
            }
        }
        for (&(device, array), of) in &visits {
            let argument = &program.entries[of.argument.0].arguments[of.argument.1];
            if let (Source::Window(window), Cell::Element(dtype)) =
                (&argument.source, argument.cell)
            {
                fill_others(window, dtype, self.place_of((device, 0), array), &of.blocks);
            }
        }
        self.visits = visits;
    }

    /// Fails where nobody has written a result, or a block of one that a kernel was given.
    ///
    /// # Errors
    /// The first one.
    pub(crate) fn are_written(&self) -> Result<(), Failure> {
        for device in 0..self.devices.len() {
            for result in 0..self.devices[device].results.len() {
                self.is_written(device, result)?;
            }
        }
        Ok(())
    }

    fn is_written(&self, device: usize, result: usize) -> Result<(), Failure> {
        let array = Array::Result(result);
        let on = match self.devices.len() {
            1 => String::new(),
            _ => format!(" on device {}", self.devices[device].device),
        };
        let parts = self.written(device, result);
        let is_empty = parts.iter().all(|(bytes, _)| *bytes == 0);
        if is_empty || self.is_shared(device, array) || !self.has_elements(array) {
            return Ok(());
        }
        let Some(of) = self.visits.get(&(device, array)) else {
            return match parts.iter().any(|(_, written)| *written) {
                true => self.is_complete((result, &on), &parts),
                false => Err(Failure {
                    what: format!("nobody writes result {result}{on}"),
                    place: LocationId::UNKNOWN,
                }),
            };
        };
        let entry = &self.program.entries[of.argument.0];
        let argument = &entry.arguments[of.argument.1];
        let (Source::Window(window), Cell::Element(dtype)) = (&argument.source, argument.cell)
        else {
            return Ok(());
        };
        let fails = |what| Err(Failure { what, place: window.place });
        // Where the data tell which blocks there are, a kernel may leave some out that count for
        // nothing.
        let is_fixed = entry.grid.iter().all(|extent| matches!(extent, Extent::Known(_)));
        if is_fixed && !window.follows_data {
            let others = others(window, &of.blocks);
            if let Some(first) = others.first() {
                return fails(format!(
                    "result {result}: no point of the grid has block {first:?} of {:?}, and \
                     nobody writes it{on}; {} of {} blocks are left out",
                    window.bounds,
                    others.len(),
                    others.len() + of.blocks.len(),
                ));
            }
        }
        let address = self.place_of((device, 0), array).address();
        let untouched = |index: &&Vec<i64>| {
            let runs = block(window, dtype, index).map(|block| block.runs()).unwrap_or_default();
            !runs.is_empty()
                && runs.iter().all(|&(start, bytes)| {
                    self.written_at(address + start, bytes).iter().all(|(_, written)| !written)
                })
        };
        match of.blocks.iter().filter(untouched).min() {
            None => Ok(()),
            Some(index) => fails(format!(
                "result {result}: no point of the grid that has block {index:?} of {:?} writes \
                 to it{on}",
                window.bounds
            )),
        }
    }

    /// Fails where a kernel leaves out elements of a result that it has whole, and no data decide
    /// which it writes.
    fn is_complete(
        &self,
        (result, on): (usize, &str),
        parts: &[(usize, bool)],
    ) -> Result<(), Failure> {
        let is = |argument: &&Argument| match argument.source {
            Source::Whole(of) => of == Array::Result(result),
            Source::Copy(_) | Source::Window(_) | Source::Scratch => false,
        };
        let mut arguments = self.program.entries.iter().flat_map(|entry| &entry.arguments);
        let Some(argument) = arguments.find(is) else { return Ok(()) };
        let bytes = |some: &[(usize, bool)]| some.iter().map(|(bytes, _)| bytes).sum::<usize>();
        let first = parts.iter().position(|(_, written)| !written).unwrap_or(parts.len());
        let left: usize = parts.iter().filter(|part| !part.1).map(|(bytes, _)| bytes).sum();
        if left == 0 || !is_fixed(self.program) {
            return Ok(());
        }
        let size = argument.cell.dtype().host_bytes();
        let mut index = vec![0; argument.dims.len()];
        let mut rest = bytes(&parts[..first]) / size;
        for (at, &extent) in index.iter_mut().zip(&argument.dims).rev() {
            (*at, rest) = (rest % extent, rest / extent);
        }
        let (dims, left, all) = (&argument.dims, left / size, bytes(parts) / size);
        let what = format!(
            "result {result}: nobody writes element {index:?} of {dims:?}{on}; {left} of {all} \
             elements are left out"
        );
        Err(Failure { what, place: LocationId::UNKNOWN })
    }

    /// Whether an array has elements, not semaphores.
    fn has_elements(&self, array: Array) -> bool {
        let of = self.program.entries.iter().flat_map(|entry| &entry.arguments);
        let mut of = of.filter(|argument| argument.source.array() == Some(array));
        of.all(|argument| matches!(argument.cell, Cell::Element(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_no_point_has_are_the_others() {
        let window = Window {
            array: Array::Result(0),
            of: vec![5, 4],
            bounds: vec![2, 4],
            index: Vec::new(),
            low: None,
            revisits: false,
            follows_data: false,
            place: LocationId::UNKNOWN,
        };
        let visited = |all: &[i64]| all.iter().map(|&at| vec![at, 0]).collect::<HashSet<_>>();
        assert_eq!(others(&window, &visited(&[0, 1, 2])), Vec::<Vec<i64>>::new());
        assert_eq!(others(&window, &visited(&[1])), [vec![0, 0], vec![2, 0]]);
        let mut bytes = vec![0_u8; 20];
        fill_others(&window, DType::U8, Place::of_mut(&mut bytes), &visited(&[1]));
        assert_eq!(
            bytes,
            [[0xff; 8], [0; 8]].concat().into_iter().chain([0xff; 4]).collect::<Vec<_>>()
        );
        let none = Window { of: vec![0, 4], ..window };
        assert_eq!(others(&none, &HashSet::new()), Vec::<Vec<i64>>::new());
    }
}
