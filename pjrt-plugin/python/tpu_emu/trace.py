"""What the library records: every allocation and free, each with its stack.

The module `native` reads the bytes (`docs/trace-format.md`) and sums them up; here are the names
and types that people use. Nothing here needs the library or JAX.
"""

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from tpu_emu import native
from tpu_emu.devices import Device, device_id
from tpu_emu.records import (
    Argument,
    ArraySpec,
    Change,
    Dispatch,
    Fault,
    Frame,
    Header,
    Held,
    Kind,
    Loss,
    Mark,
    Origin,
    Space,
    Stage,
    Usage,
)

if TYPE_CHECKING:
    from tpu_emu import _native


class TraceError(ValueError):
    """Bytes that are no trace, or a damaged one.

    `offset` is the byte of the input at which reading stopped.
    """

    def __init__(self, message: str, offset: int) -> None:
        """Joins the message and the offset into one text."""
        super().__init__(f"{message}, at byte {offset}")
        self.offset = offset


COLUMNS = (
    "kind",
    "space",
    "sequence",
    "address",
    "size",
    "spec",
    "stack",
    "thread",
    "time_ns",
    "entry",
    "label",
)
"""The fields of all changes that `Trace.column` has."""

_KINDS = (Kind.ALLOCATE, Kind.FREE, Kind.OUT_OF_MEMORY)


class Trace:
    """A trace in memory.

    `changes`, `dispatches` and `faults` stand as they were written; they are made when they are
    asked for, `column` has the fields of millions of changes at once. `loss` is None unless the
    writer could not write all of them; then they end before the process did. `complete` is False
    there, and where the last record is cut off, which is what a process leaves that is killed
    while it writes. `damaged` is None, or the first bytes between which the file is not what was
    written: what it says may be wrong, and `complete` is False.
    """

    def __init__(self, read: "_native.Trace") -> None:
        """Wraps what the module has read."""
        self.native = read
        version, form, process, started_ns, topology = read.header
        self.header = Header(version, form, process, started_ns, topology)
        self.spaces = tuple(Space(*space) for space in read.spaces)
        self.usages = tuple(Usage(self.spaces[at], *rest) for at, *rest in read.usages)
        self.loss = Loss(*read.loss) if read.loss else None
        self.damaged = read.damaged
        self.complete = self.loss is None and not read.is_cut and read.damaged is None
        self._stacks: dict[int, tuple[Frame, ...]] = {}

    def __eq__(self, other: object) -> bool:
        """Whether both say the same."""
        return isinstance(other, Trace) and self._all == other._all

    def __hash__(self) -> int:
        """A number for tables."""
        return hash(self.header)

    def __repr__(self) -> str:
        """Which process, and how much of it."""
        return f"<trace of process {self.header.process}, {len(self.native)} changes>"

    @property
    def _all(self) -> tuple[object, ...]:
        return (
            *(self.header, self.spaces, self.usages, self.loss, self.complete),
            *(self.changes, self.dispatches, self.faults),
        )

    def column(self, name: str) -> memoryview:
        """One field of all changes, in the order in which they were written, without a copy.

        The names are those in `COLUMNS`. `kind` is 0 for an allocation, 1 for a free, 2 for a
        refusal; `space`, `spec`, `entry` and `label` are places in `spaces`, `specs`, `entries`
        and `labels`, `stack` is a number for `stack`. NumPy takes it by `numpy.asarray(column)`.

        Raises:
            KeyError: for another name.
        """
        return memoryview(self.native.column(name))

    @cached_property
    def specs(self) -> tuple[ArraySpec, ...]:
        """The array types of the trace."""
        return tuple(
            ArraySpec(dtype, tuple(shape), layout, logical, padded)
            for dtype, shape, layout, logical, padded in self.native.specs
        )

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What programs took blocks for; the first is empty."""
        return tuple(self.native.labels)

    @cached_property
    def entries(self) -> tuple[str, ...]:
        """API functions; the first is empty."""
        return tuple(self.native.entries)

    def stack(self, number: int) -> tuple[Frame, ...]:
        """The frames of a stack, innermost first."""
        found = self._stacks.get(number)
        if found is None:
            found = tuple(Frame(*part) for part in self.native.frames(number))
            self._stacks[number] = found
        return found

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """All changes, in the order in which they were written."""
        return self._changes(range(len(self.native)))

    @cached_property
    def live(self) -> tuple[Change, ...]:
        """The allocations that were not freed, by space, in the order they were made.

        Where there is a `loss`, they are those that lived when the trace was cut off: which of
        them were freed later, the trace does not know. The order of a space is that of
        `sequence`: two threads may write in another.
        """
        places: list[int] = []
        for at in range(len(self.spaces)):
            last = self.native.changes_until(at, "last")
            places.extend(memoryview(self.native.live(at, last)))
        return tuple(sorted(self._changes(places), key=_place))

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        """The moments that have names, in the order in which they were named."""
        return tuple(Mark(*mark) for mark in self.native.marks)

    def held(self, at: str = "peak", by: str = "line", device: Device | None = None) -> Held:
        """What lived in the memories of the devices, or of one, at a moment.

        `at` is `peak` (of each device its own), `end` (before the client gives up what it holds
        because its process ends), `last`, the name of a mark, or a time since the start such as
        `12.5s`. `by` is `line`, `function`, `executable`, `label`, `array`, `stack`, `entry` or
        `space`.

        Raises:
            ValueError: for another moment, another `by`, or a device that is not there.
        """
        read = self.native
        spaces = self.device_spaces(device)
        return held(read.held([(space, read.changes_until(space, at)) for space in spaces], by))

    def leaks(self, since: str = "0s", until: str = "end", by: str = "line") -> Held:
        """What was taken in the memories of devices after a moment and lives at a later one.

        Both moments and `by` are those of `held`.

        Raises:
            ValueError: for another moment or another `by`.
        """
        read = self.native
        between = [
            (space, read.changes_until(space, since), read.changes_until(space, until))
            for space in self.device_spaces(None)
        ]
        return held(read.taken(between, by, only_kept=True))

    def peak_bytes(self, device: Device | None = None) -> int:
        """The most bytes in use at once on a device; without one, on the fullest.

        Raises:
            ValueError: for a device that is not there.
        """
        peaks = [0]
        for space in self.device_spaces(device):
            count = self.native.changes_until(space, "peak")
            peaks.append(memoryview(self.native.in_use(space))[count - 1] if count else 0)
        return max(peaks)

    @cached_property
    def dispatches(self) -> tuple[Dispatch, ...]:
        """Stages of custom calls, in the order in which they were written."""
        return tuple(self._dispatch(site, outcome) for site, outcome in self.native.dispatches)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """Refused calls, in the order in which they were written."""
        return tuple(
            Fault(message, self.stack(stack), thread, time_ns, entry)
            for message, stack, thread, time_ns, entry in self.native.faults
        )

    def device_spaces(self, device: Device | None) -> list[int]:
        """Places of the memories of all devices, or of one.

        Raises:
            ValueError: for a device that is not there.
        """
        places = {
            space.device: at for at, space in enumerate(self.spaces) if space.device is not None
        }
        if device is None:
            return list(places.values())
        number = device_id(device)
        if number not in places:
            there = f"{min(places)} to {max(places)}" if places else "none"
            raise ValueError(
                f"there is no device {number} in {self.header.topology}, its devices are {there}"
            )
        return [places[number]]

    def _changes(self, places: Iterable[int]) -> tuple[Change, ...]:
        columns = [memoryview(self.native.column(name)) for name in COLUMNS]
        changes = []
        for at in places:
            kind, space, sequence, address, size, spec, stack, thread, time_ns, entry, label = (
                column[at] for column in columns
            )
            changes.append(
                Change(
                    _KINDS[kind],
                    self.spaces[space],
                    sequence,
                    address,
                    size,
                    self.specs[spec],
                    self.stack(stack),
                    thread,
                    time_ns,
                    self.entries[entry],
                    self.labels[label],
                )
            )
        return tuple(changes)

    def _dispatch(self, site: "_native.Site", outcome: "_native.Outcome") -> Dispatch:
        device, stage, run, target, program, line, operands, results = site
        attributes, opaque, stack, thread, time_ns, entry, duration_ns, scratch, error = outcome
        return Dispatch(
            device,
            Stage(stage),
            run,
            target,
            program,
            line,
            tuple(_argument(*operand) for operand in operands),
            tuple(_argument(*result) for result in results),
            dict(attributes),
            opaque,
            self.stack(stack),
            thread,
            time_ns,
            entry,
            duration_ns,
            tuple(scratch),
            error or None,
        )


def read(source: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Trace:
    """Reads a trace from bytes, or from the file at a path; a million changes take a second.

    Record kinds of later minor versions are skipped.

    Raises:
        TraceError: for bytes that are no trace, for another major version and for damage.
        OSError: for a file that cannot be read.
    """
    module = native.module()
    try:
        if isinstance(source, (bytes, bytearray, memoryview)):
            return Trace(module.read_bytes(bytes(source)))
        return Trace(module.read_file(source))
    except module.DamagedError as why:
        message, offset = why.args
    raise TraceError(message, offset)


def held(sums: "_native.Sums") -> Held:
    """Sums as the module gives them, with names."""
    size, logical_bytes, blocks, rows = sums
    return Held(size, logical_bytes, blocks, tuple(Origin(*row[:4]) for row in rows))


def _argument(dtype: str, shape: list[int], address: int | None, size: int) -> Argument:
    return Argument(dtype, tuple(shape), address, size)


def _place(change: Change) -> tuple[int, int]:
    return change.space.number, change.sequence
