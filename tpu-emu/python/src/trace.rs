//! A trace as Python sees it: tables as tuples, events as columns, sums by origin.
use crate::column::{Column, Numbers};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::{PyResult, Python, pyclass, pymethods};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tpu_trace::{
    Argument, By, ChangeKind, Dispatch, FramePart, History, Holders, MomentName, SpaceHistory,
    live, origin, user_frame,
};

/// A trace, and what was made of it.
pub(crate) struct Loaded {
    trace: tpu_trace::Trace,
    /// 0 for an allocation, 1 for a free, 2 for a refusal.
    kinds: Vec<u8>,
    history: OnceLock<History>,
}

impl Loaded {
    fn history(&self) -> &History {
        self.history.get_or_init(|| History::new(&self.trace))
    }

    fn space(&self, space: usize) -> PyResult<&SpaceHistory> {
        let found = self.history().spaces.get(space);
        found.ok_or_else(|| PyIndexError::new_err(format!("the trace has no space {space}")))
    }
}

/// A trace that was read.
#[pyclass(frozen, module = "tpu_emu._native")]
pub(crate) struct Trace(Arc<Loaded>);

impl Trace {
    /// Python's view of a trace.
    pub(crate) fn new(trace: tpu_trace::Trace) -> Self {
        let kinds = trace.events.kinds().map(|(_, kind)| match kind {
            ChangeKind::Allocate => 0,
            ChangeKind::Free => 1,
            ChangeKind::Refused => 2,
        });
        Self(Arc::new(Loaded { kinds: kinds.collect(), trace, history: OnceLock::new() }))
    }
}

/// Function, file, line, module, and whether it is Python's.
type Frame<'a> = (&'a str, &'a str, u64, &'a str, bool);
/// Bytes in memory, bytes of the elements, number of blocks, and the place of the first of them.
type Row = (String, u64, u64, u64, u32);
/// Peak, after how many changes, bytes that live, bytes in all, blocks.
type Since = (u64, usize, u64, u64, u64);
/// Bytes in memory, bytes of the elements and number of all blocks, and rows by origin.
type Sums = (u64, u64, u64, Vec<Row>);
/// Element type, extents, address, bytes.
type Operand<'a> = (&'a str, &'a [u64], Option<u64>, u64);
/// Device, stage, run, target, program, line, operands, results.
type Site<'a> = (u64, u64, u64, &'a str, &'a str, &'a str, Vec<Operand<'a>>, Vec<Operand<'a>>);
/// Attributes, opaque text, stack, thread, time, entry, duration, scratch, error.
type Outcome<'a> =
    (&'a [(String, String)], &'a str, u32, u64, u64, &'a str, u64, &'a [(u64, u64)], &'a str);

fn frame(part: &FramePart) -> Frame<'_> {
    (&part.function, &part.file, part.line, &part.module, part.is_python)
}

fn operand(argument: &Argument) -> Operand<'_> {
    (&argument.dtype, &argument.shape, argument.address, argument.size)
}

fn site(call: &Dispatch) -> Site<'_> {
    let [operands, results] =
        [&call.operands, &call.results].map(|all| all.iter().map(operand).collect());
    let Dispatch { target, program, line, .. } = call;
    (call.device, call.stage, call.run, target, program, line, operands, results)
}

fn outcome(call: &Dispatch) -> Outcome<'_> {
    let Dispatch { attributes, opaque, stack, thread, time, entry, .. } = call;
    let Dispatch { duration, scratch, error, .. } = call;
    (attributes, opaque, *stack, *thread, *time, entry, *duration, scratch, error)
}

fn sums(held: Holders) -> Sums {
    let rows = held.rows.into_iter();
    let rows = rows
        .map(|row| (row.key, row.size.in_memory, row.size.logical, row.blocks, row.first))
        .collect();
    (held.total.in_memory, held.total.logical, held.blocks, rows)
}

fn by(name: &str) -> PyResult<By> {
    name.parse().map_err(PyValueError::new_err)
}

#[pymethods]
impl Trace {
    /// How many changes there are.
    fn __len__(&self) -> usize {
        self.0.trace.events.len()
    }

    /// Version of the library, of the format, process, nanoseconds since 1970 at time 0, topology.
    #[getter]
    fn header(&self) -> (&str, (u16, u16), u64, u64, &str) {
        let header = &self.0.trace.header;
        (&header.version, header.format, header.process, header.started, &header.topology)
    }

    /// Number, device, owner, kind and capacity of each memory space.
    #[getter]
    fn spaces(&self) -> Vec<(u64, Option<u64>, &str, &str, u64)> {
        let spaces = self.0.trace.spaces.iter();
        spaces
            .map(|space| (space.number, space.device, &*space.owner, &*space.kind, space.capacity))
            .collect()
    }

    /// Element type, extents, layout, bytes of the elements and bytes with padding of array types.
    #[getter]
    fn specs(&self) -> Vec<(&str, &[u64], &str, u64, u64)> {
        let specs = self.0.trace.specs.iter();
        specs
            .map(|spec| (&*spec.dtype, &*spec.shape, &*spec.layout, spec.logical, spec.padded))
            .collect()
    }

    /// What programs took blocks for; the first is empty.
    #[getter]
    fn labels(&self) -> &[String] {
        &self.0.trace.labels
    }

    /// API functions; the first is empty.
    #[getter]
    fn entries(&self) -> &[String] {
        &self.0.trace.entries
    }

    /// Place of the space, bytes in use, peak, allocations and largest hole; of a snapshot alone.
    #[getter]
    fn usages(&self) -> Vec<(u32, u64, u64, u64, u64)> {
        let usages = self.0.trace.usages.iter();
        usages
            .map(|usage| {
                (usage.space, usage.in_use, usage.peak, usage.allocations, usage.largest_hole)
            })
            .collect()
    }

    /// Custom calls: what was called, and how it went.
    #[getter]
    fn dispatches(&self) -> Vec<(Site<'_>, Outcome<'_>)> {
        self.0.trace.dispatches.iter().map(|call| (site(call), outcome(call))).collect()
    }

    /// Message, stack, thread, time and entry of each refused call.
    #[getter]
    fn faults(&self) -> Vec<(&str, u32, u64, u64, &str)> {
        let faults = self.0.trace.faults.iter();
        faults
            .map(|fault| (&*fault.message, fault.stack, fault.thread, fault.time, &*fault.entry))
            .collect()
    }

    /// How many records are missing at the end, and the system's number of the reason.
    #[getter]
    fn loss(&self) -> Option<(u64, u64)> {
        self.0.trace.loss.map(|loss| (loss.records, loss.error))
    }

    /// Whether the last record is cut off.
    #[getter]
    fn is_cut(&self) -> bool {
        self.0.trace.is_cut
    }

    /// Between which bytes of the file it is not what was written.
    #[getter]
    fn damaged(&self) -> Option<(u64, u64)> {
        self.0.trace.damaged
    }

    /// The frames of the stack at a place, innermost first.
    fn frames(&self, stack: u32) -> Vec<Frame<'_>> {
        self.0.trace.stacks.frames(stack).map(frame).collect()
    }

    /// The innermost frame of the user's Python of the stack at a place.
    fn user_frame(&self, stack: u32) -> Option<Frame<'_>> {
        user_frame(&self.0.trace.stacks, stack).map(frame)
    }

    /// What stands for the block of a change where blocks are summed up.
    fn origin(&self, change: u32, by_what: &str) -> PyResult<String> {
        let by = by(by_what)?;
        if change as usize >= self.0.trace.events.len() {
            return Err(PyIndexError::new_err(format!("the trace has no change {change}")));
        }
        Ok(origin(&self.0.trace, change, by))
    }

    /// One field of all changes, in the order in which they were written.
    fn column(&self, name: &str) -> PyResult<Column> {
        let loaded = Arc::clone(&self.0);
        Ok(Column::new(match name {
            "kind" => Numbers::Bytes(loaded, |of| &of.kinds),
            "space" => Numbers::Shorts(loaded, |of| of.trace.events.spaces()),
            "sequence" => Numbers::Longs(loaded, |of| of.trace.events.sequences()),
            "address" => Numbers::Longs(loaded, |of| of.trace.events.addresses()),
            "size" => Numbers::Longs(loaded, |of| of.trace.events.sizes()),
            "spec" => Numbers::Shorts(loaded, |of| of.trace.events.specs()),
            "stack" => Numbers::Shorts(loaded, |of| of.trace.events.stacks()),
            "thread" => Numbers::Shorts(loaded, |of| of.trace.events.threads()),
            "time_ns" => Numbers::Longs(loaded, |of| of.trace.events.times()),
            "entry" => Numbers::Shorts(loaded, |of| of.trace.events.entries()),
            "label" => Numbers::Shorts(loaded, |of| of.trace.events.labels()),
            _ => return Err(PyKeyError::new_err(name.to_owned())),
        }))
    }

    /// Places of a space's changes, in the order in which its heap made them.
    fn order(&self, space: usize) -> PyResult<Column> {
        Ok(Column::new(Numbers::Places(self.0.space(space)?.order.clone())))
    }

    /// Bytes in use after each change of a space.
    fn in_use(&self, space: usize) -> PyResult<Column> {
        Ok(Column::new(Numbers::Sums(self.0.space(space)?.in_use.clone())))
    }

    /// Nanoseconds of each change of a space, rising.
    fn times(&self, space: usize) -> PyResult<Column> {
        Ok(Column::new(Numbers::Sums(self.0.space(space)?.times.clone())))
    }

    /// How many changes of a space are missing, by the gaps in their numbers.
    fn missing(&self, space: usize) -> PyResult<u64> {
        Ok(self.0.space(space)?.missing)
    }

    /// How many changes of a space were made until `peak`, `end`, `last`, a mark, `refusal` or a
    /// time such as `12.5s`.
    fn changes_until(&self, space: usize, moment: &str) -> PyResult<usize> {
        let refusals = self.0.history().refusals.len();
        let name = moment.parse::<MomentName>();
        let found = name.and_then(|name| name.resolve(&self.0.trace, refusals));
        let moment = found.map_err(|why| PyValueError::new_err(why.to_string()))?;
        Ok(moment.changes(self.0.space(space)?))
    }

    /// Name and nanoseconds of each mark.
    #[getter]
    fn marks(&self) -> Vec<(&str, u64)> {
        self.0.trace.marks.iter().map(|mark| (&*mark.name, mark.time)).collect()
    }

    /// How many changes of a space were made until a time in nanoseconds.
    fn changes_until_ns(&self, space: usize, time: u64) -> PyResult<usize> {
        Ok(self.0.space(space)?.changes_until(time))
    }

    /// Places of the allocations of a space that live after so many changes, by address.
    fn live(&self, space: usize, changes: usize) -> PyResult<Column> {
        let places = live(&self.0.trace, self.0.space(space)?, changes);
        Ok(Column::new(Numbers::Places(places)))
    }

    /// Of what was taken in a space between two counts of changes: the most bytes at once, after
    /// how many changes that was, bytes that live at the second, bytes in all, number of blocks.
    fn since(&self, space: usize, first: usize, last: usize) -> PyResult<Since> {
        let order = &self.0.space(space)?.order;
        let last = last.min(order.len());
        let mut new: HashMap<u64, u64> = HashMap::new();
        let mut sums = (0_u64, first, 0_u64, 0_u64, 0_u64);
        for (at, &place) in order.iter().enumerate().take(last).skip(first) {
            let event = self.0.trace.events.at(place);
            let (peak, peak_at, live, all, blocks) = &mut sums;
            if event.kind == ChangeKind::Allocate {
                *live += event.size;
                *all += event.size;
                *blocks += 1;
                if let Some(stale) = new.insert(event.address, event.size) {
                    *live -= stale;
                }
            } else {
                // Blocks that were there before are none of it.
                *live -= new.remove(&event.address).unwrap_or(0);
            }
            if *live > *peak {
                (*peak, *peak_at) = (*live, at + 1);
            }
        }
        Ok(sums)
    }

    /// What lives in spaces after so many changes of each, by origin.
    fn held(&self, py: Python<'_>, at: Vec<(usize, usize)>, by_what: &str) -> PyResult<Sums> {
        let by = by(by_what)?;
        let mut places = Vec::new();
        for (space, changes) in at {
            places.extend(live(&self.0.trace, self.0.space(space)?, changes));
        }
        Ok(py.detach(|| sums(Holders::of(&self.0.trace, places, by))))
    }

    /// What was taken in spaces between two counts of changes, by origin: all of it, or only what
    /// lives at the second.
    fn taken(
        &self,
        py: Python<'_>,
        between: Vec<(usize, usize, usize)>,
        by_what: &str,
        only_kept: bool,
    ) -> PyResult<Sums> {
        let by = by(by_what)?;
        let mut places = Vec::new();
        for (space, first, last) in between {
            let space = self.0.space(space)?;
            let last = last.min(space.order.len());
            let since = &space.order[first.min(last)..last];
            let allocations = since
                .iter()
                .filter(|&&place| self.0.kinds.get(place as usize).is_some_and(|&kind| kind == 0));
            if only_kept {
                let mut new: Vec<u32> = allocations.copied().collect();
                new.sort_unstable();
                let kept = live(&self.0.trace, space, last);
                places.extend(kept.into_iter().filter(|place| new.binary_search(place).is_ok()));
            } else {
                places.extend(allocations);
            }
        }
        Ok(py.detach(|| sums(Holders::of(&self.0.trace, places, by))))
    }
}
