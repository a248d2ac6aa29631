"""What the library records: every allocation and free, each with its stack.

The module `native` reads the bytes (`docs/trace-format.md`) and sums them up; here are the names
and types that people use. Nothing here needs the library or JAX.
"""

import enum
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tpu_emu import native

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


class Kind(enum.Enum):
    """What happened to a block of memory."""

    ALLOCATE = "allocate"
    FREE = "free"
    OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stack.

    `file` and `module` are empty and `line` is 0 where unknown. `module` is the path of the
    library or program with the code; for a Python frame (`python`) it is not a path.
    """

    function: str
    file: str
    line: int
    module: str
    python: bool


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What lies in a block: element type (`f32`), extents, layout in XLA's text form.

    `logical_bytes` are those of the elements, sub-byte types packed; `padded_bytes` add the
    padding to the device's tiles.
    """

    dtype: str
    shape: tuple[int, ...]
    layout: str
    logical_bytes: int
    padded_bytes: int

    def __str__(self) -> str:
        """`f32[8,128]{1,0:T(8,128)}`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]{self.layout}"


@dataclass(frozen=True, slots=True)
class Space:
    """A memory space: the HBM of one device, or one kind of host memory (`device` is None).

    `owner` is `TPU_0` or `host`; `kind` is `device`, `pinned_host` or `unpinned_host`.
    """

    number: int
    device: int | None
    owner: str
    kind: str
    capacity_bytes: int

    def __str__(self) -> str:
        """`TPU_0 device`."""
        return f"{self.owner} {self.kind}"


@dataclass(frozen=True, slots=True)
class Usage:
    """How full a space is, in bytes; `allocations` counts the freed ones too."""

    space: Space
    in_use_bytes: int
    peak_bytes: int
    allocations: int
    largest_hole_bytes: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change in memory, and who made it.

    `sequence` orders the changes of a space, from 1; it and `address` mean nothing where the
    memory was out. `size` is in bytes. `stack` has the innermost frame first. `thread` is the
    operating system's number, `time_ns` counts from the start of the machine, and `entry` is
    the API function, empty outside of one. `label` says what a program took the block for, as
    `result 0 of jit_f: stablehlo.add at train.py:12`; it is empty for other blocks.
    """

    kind: Kind
    space: Space
    sequence: int
    address: int
    size: int
    spec: ArraySpec
    stack: tuple[Frame, ...]
    thread: int
    time_ns: int
    entry: str
    label: str = ""

    @property
    def device(self) -> int | None:
        """The id of the device whose HBM changed; None for host memory."""
        return self.space.device


class Stage(enum.Enum):
    """When a custom call's handler was called."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


@dataclass(frozen=True, slots=True)
class Argument:
    """An operand or a result of a custom call: element type (`f32`), extents, size in bytes.

    `address` is that in the device's memory; None for no bytes, for memory elsewhere, and where
    a handler was called without memory.
    """

    dtype: str
    shape: tuple[int, ...]
    address: int | None
    size: int

    def __str__(self) -> str:
        """`f32[8,128]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One stage of a custom call that has ended.

    `run` numbers the launches; it is 0 for the stage `INSTANTIATE`. `program` is the name of the
    program and `line` where the call was written, empty where unknown. `attributes` are MLIR text
    by name; `opaque` is what an untyped call has instead. `scratch` are the blocks of memory
    (address, bytes) that the handler took. `error` is None for success. `stack`, `thread`,
    `time_ns` and `entry` are those of a `Change`, and `duration_ns` is the time from the
    call to its end.
    """

    device: int
    stage: Stage
    run: int
    target: str
    program: str
    line: str
    operands: tuple[Argument, ...]
    results: tuple[Argument, ...]
    attributes: Mapping[str, str]
    opaque: str
    stack: tuple[Frame, ...]
    thread: int
    time_ns: int
    entry: str
    duration_ns: int
    scratch: tuple[tuple[int, int], ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A call that was refused because of what its client gave.

    `message` says what was wrong; `stack`, `thread`, `time_ns` and `entry` are those of a
    `Change`.
    """

    message: str
    stack: tuple[Frame, ...]
    thread: int
    time_ns: int
    entry: str


@dataclass(frozen=True, slots=True)
class Header:
    """The process that wrote the trace.

    `version` is that of the library, `format` that of the records (major, minor), `topology` as
    `TPU_EMU_TOPOLOGY` takes it; `started_ns` is the time since 1970 at which `time_ns` is 0.
    """

    version: str
    format: tuple[int, int]
    process: int
    started_ns: int
    topology: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Blocks that have the same origin.

    `key` says what they have in common, for example `train.py:12 step`; `size` are their bytes in
    memory, with the padding to tiles and the heap's rounding, `logical_bytes` those of their
    elements.
    """

    key: str
    size: int
    logical_bytes: int
    blocks: int

    @property
    def padding_bytes(self) -> int:
        """What is neither."""
        return max(self.size - self.logical_bytes, 0)


@dataclass(frozen=True, slots=True)
class Held:
    """Blocks by origin, those first that take most; the sums are over all origins."""

    size: int
    logical_bytes: int
    blocks: int
    origins: tuple[Origin, ...]

    def __str__(self) -> str:
        """A line for each origin."""
        total = f"{self.size:>16,} B in {self.blocks} blocks"
        rows = (f"{row.size:>16,} B  {row.blocks:>6} x  {row.key}" for row in self.origins)
        return "\n".join([total, *rows])


@dataclass(frozen=True, slots=True)
class Loss:
    """How a trace ended before its process did: its writer could not write any more.

    `records` counts the changes, custom calls and faults that are not in the trace. `error` is
    the system's number of the reason (as in the module `errno`); 0 where another program changed
    the file.
    """

    records: int
    error: int


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
    while it writes.
    """

    def __init__(self, read: "_native.Trace") -> None:
        """Wraps what the module has read."""
        self.native = read
        version, form, process, started_ns, topology = read.header
        self.header = Header(version, form, process, started_ns, topology)
        self.spaces = tuple(Space(*space) for space in read.spaces)
        self.usages = tuple(Usage(self.spaces[at], *rest) for at, *rest in read.usages)
        self.loss = Loss(*read.loss) if read.loss else None
        self.complete = self.loss is None and not read.is_cut
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

    def held(self, at: str = "peak", by: str = "line", device: int | None = None) -> Held:
        """What lived in the memories of the devices, or of one, at a moment.

        `at` is `peak` (of each device its own), `end` (before the client gives up what it holds
        because its process ends), `last`, or a time since the start such as `12.5s`. `by` is
        `line`, `function`, `executable`, `label`, `array`, `stack`, `entry` or `space`.

        Raises:
            ValueError: for another moment or another `by`.
        """
        read = self.native
        spaces = self.device_spaces(device)
        return held(read.held([(space, read.changes_until(space, at)) for space in spaces], by))

    def leaks(self, since: str = "0s", until: str = "end", by: str = "line") -> Held:
        """What was taken in the memories of devices after a moment and lives at a later one."""
        read = self.native
        between = [
            (space, read.changes_until(space, since), read.changes_until(space, until))
            for space in self.device_spaces(None)
        ]
        return held(read.taken(between, by, only_kept=True))

    def peak_bytes(self, device: int | None = None) -> int:
        """The most bytes in use at once on a device; without one, on the fullest."""
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

    def device_spaces(self, device: int | None) -> list[int]:
        """Places of the memories of all devices, or of one."""
        return [
            at
            for at, space in enumerate(self.spaces)
            if (space.device is not None if device is None else space.device == device)
        ]

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
