"""Reads the records that the library writes: every allocation and free, each with its stack.

`docs/trace-format.md` describes the bytes. Nothing here needs the library or JAX.
"""

import enum
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

MAGIC = b"TPUEMUTR"
"""The first bytes of every trace."""

FORMAT_MAJOR = 1
"""The one major version of the format that this reader takes."""

_T = TypeVar("_T")


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
class Loss:
    """How a trace ended before its process did: its writer could not write any more.

    `records` counts the changes, custom calls and faults that are not in the trace. `error` is
    the system's number of the reason (as in the module `errno`); 0 where another program changed
    the file.
    """

    records: int
    error: int


@dataclass(frozen=True)
class Trace:
    """A trace in memory.

    `changes`, `dispatches` and `faults` stand as they were written. `loss` is None unless the
    writer could not write all of them; then they end before the process did. `complete` is False
    there, and where the last record is cut off, which is what a process leaves that is killed
    while it writes.
    """

    header: Header
    spaces: tuple[Space, ...]
    changes: tuple[Change, ...]
    usages: tuple[Usage, ...]
    complete: bool
    dispatches: tuple[Dispatch, ...] = ()
    faults: tuple[Fault, ...] = ()
    loss: Loss | None = None

    @cached_property
    def live(self) -> tuple[Change, ...]:
        """The allocations that were not freed, by space, in the order they were made.

        Where there is a `loss`, they are those that lived when the trace was cut off: which of
        them were freed later, the trace does not know. The order of a space is that of
        `sequence`: two threads may write in another.
        """
        taken: dict[tuple[int, int], Change] = {}
        for change in sorted(self.changes, key=_place):
            block = (change.space.number, change.address)
            if change.kind is Kind.ALLOCATE:
                taken[block] = change
            elif change.kind is Kind.FREE:
                taken.pop(block, None)
        return tuple(sorted(taken.values(), key=_place))


def read(source: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Trace:
    """Reads a trace from bytes, or from the file at a path.

    Record kinds of later minor versions are skipped.

    Raises:
        TraceError: for bytes that are no trace, for another major version and for damage.
        OSError: for a file that cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _Reader(bytes(source)).trace()
    return _Reader(Path(source).read_bytes()).trace()


def _place(change: Change) -> tuple[int, int]:
    return change.space.number, change.sequence


class _Fields:
    """The fields of one record, or of the beginning of a trace."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self.data = data
        self.at = start
        self.end = end

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        left = self.end - self.at
        if size > left:
            raise TraceError(f"{size} bytes wanted and {left} left", self.at)
        self.at += size
        return self.data[self.at - size : self.at]

    def fixed(self, size: int) -> int:
        """A number of `size` bytes, lowest first."""
        return int.from_bytes(self.take(size), "little")

    def number(self) -> int:
        """Seven bits a byte, lowest first, the top bit set on all but the last."""
        start, value = self.at, 0
        for shift in range(0, 70, 7):
            [byte] = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    break
                return value
        raise TraceError("a number past 64 bits", start)

    def text(self) -> str:
        """Length and UTF-8."""
        size, start = self.number(), self.at
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as why:
            raise TraceError(f"a text that is not UTF-8 ({why.reason})", start) from None

    def known(self, defined: Mapping[int, _T], what: str) -> _T:
        """What the next number was defined as."""
        start, number = self.at, self.number()
        try:
            return defined[number]
        except KeyError:
            raise TraceError(f"{what} {number} is used before it is defined", start) from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.start: Header | None = None
        self.spaces: dict[int, Space] = {}
        self.specs: dict[int, ArraySpec] = {}
        self.frames: dict[int, tuple[Frame, ...]] = {}
        self.nodes: dict[int, tuple[int, int]] = {}
        self.stacks: dict[int, tuple[Frame, ...]] = {0: ()}
        self.labels: dict[int, str] = {0: ""}
        self.changes: list[Change] = []
        self.usages: list[Usage] = []
        self.dispatches: list[Dispatch] = []
        self.faults: list[Fault] = []
        self.loss: Loss | None = None
        self.kinds: dict[int, Callable[[_Fields], None]] = {
            2: self.space,
            3: self.spec,
            4: self.frame,
            5: self.stack_node,
            6: lambda fields: self.change(Kind.ALLOCATE, fields),
            7: lambda fields: self.change(Kind.FREE, fields),
            8: lambda fields: self.change(Kind.OUT_OF_MEMORY, fields),
            9: self.usage,
            10: self.label,
            11: self.dispatch,
            12: self.fault,
            13: self.lost,
        }

    def trace(self) -> Trace:
        data = self.data
        if not data:
            raise TraceError("no trace: it is empty", 0)
        head = _Fields(data, 0, len(data))
        if head.take(len(MAGIC)) != MAGIC:
            raise TraceError("no trace: it does not begin with TPUEMUTR", 0)
        version = (head.fixed(2), head.fixed(2))
        if version[0] != FORMAT_MAJOR:
            major = f"format version {version[0]}.{version[1]}; this reader takes {FORMAT_MAJOR}.x"
            raise TraceError(major, len(MAGIC))
        header = self.header(head, version)
        at, complete = head.at, True
        while at < len(data):
            fields = self.record(at)
            if fields is None:
                complete = False
                break
            read_kind = self.kinds.get(data[at])
            if read_kind is not None:
                read_kind(fields)
            at = fields.end
        changes, usages = tuple(self.changes), tuple(self.usages)
        spaces, dispatches = tuple(self.spaces.values()), tuple(self.dispatches)
        faults, complete = tuple(self.faults), complete and self.loss is None
        return Trace(header, spaces, changes, usages, complete, dispatches, faults, self.loss)

    def record(self, at: int) -> _Fields | None:
        """The payload of the record at `at`; None where the input ends inside it."""
        start = at + 5
        size = int.from_bytes(self.data[at + 1 : start], "little")
        if start + size > len(self.data):
            return None
        return _Fields(self.data, start, start + size)

    def header(self, head: _Fields, version: tuple[int, int]) -> Header:
        start, kind = head.at, head.fixed(1)
        if kind != 1:
            raise TraceError(f"a trace begins with a record of kind 1, not {kind}", start)
        size = head.fixed(4)
        fields = _Fields(self.data, head.at, head.at + size)
        head.take(size)
        process, started_ns = fields.number(), fields.number()
        return Header(fields.text(), version, process, started_ns, fields.text())

    def space(self, fields: _Fields) -> None:
        number, device = fields.number(), fields.number()
        owner, kind, capacity = fields.text(), fields.text(), fields.number()
        self.spaces[number] = Space(number, device - 1 if device else None, owner, kind, capacity)

    def spec(self, fields: _Fields) -> None:
        number, dtype = fields.number(), fields.text()
        shape = tuple(fields.number() for _ in range(fields.number()))
        self.specs[number] = ArraySpec(
            dtype, shape, fields.text(), fields.number(), fields.number()
        )

    def frame(self, fields: _Fields) -> None:
        number = fields.number()
        parts: list[Frame] = []
        for _ in range(fields.number()):
            flags = fields.number()
            function, file, line, module = (
                fields.text(),
                fields.text(),
                fields.number(),
                fields.text(),
            )
            parts.append(Frame(function, file, line, module, bool(flags & 1)))
        self.frames[number] = tuple(parts)

    def stack_node(self, fields: _Fields) -> None:
        start, node = fields.at, fields.number()
        caller_at, caller, frame = fields.at, fields.number(), fields.number()
        if node == 0 or node in self.nodes:
            raise TraceError(f"stack {node} is defined twice", start)
        if caller != 0 and caller not in self.nodes:
            raise TraceError(f"stack {caller} is used before it is defined", caller_at)
        if frame not in self.frames:
            raise TraceError(f"frame {frame} is used before it is defined", caller_at)
        self.nodes[node] = (caller, frame)

    def change(self, kind: Kind, fields: _Fields) -> None:
        space, sequence = fields.known(self.spaces, "space"), fields.number()
        address, size = fields.number(), fields.number()
        spec, stack = fields.known(self.specs, "spec"), self.stack(fields)
        thread, time_ns, entry = fields.number(), fields.number(), fields.text()
        # Traces of version 1.0 have no labels.
        label = fields.known(self.labels, "label") if fields.at < fields.end else ""
        self.changes.append(
            Change(kind, space, sequence, address, size, spec, stack, thread, time_ns, entry, label)
        )

    def dispatch(self, fields: _Fields) -> None:
        device, at, stage, run = fields.number(), fields.at, fields.number(), fields.number()
        try:
            known_stage = Stage(stage)
        except ValueError:
            raise TraceError(f"a stage with the number {stage}", at) from None
        target, program, line = fields.text(), fields.text(), fields.text()
        operands, results = self.arguments(fields), self.arguments(fields)
        attributes = {fields.text(): fields.text() for _ in range(fields.number())}
        opaque, stack = fields.text(), self.stack(fields)
        thread, time_ns, entry = fields.number(), fields.number(), fields.text()
        duration_ns = fields.number()
        scratch = tuple((fields.number(), fields.number()) for _ in range(fields.number()))
        self.dispatches.append(
            Dispatch(
                device,
                known_stage,
                run,
                target,
                program,
                line,
                operands,
                results,
                attributes,
                opaque,
                stack,
                thread,
                time_ns,
                entry,
                duration_ns,
                scratch,
                error=fields.text() or None,
            )
        )

    def fault(self, fields: _Fields) -> None:
        message, stack = fields.text(), self.stack(fields)
        thread, time_ns, entry = fields.number(), fields.number(), fields.text()
        self.faults.append(Fault(message, stack, thread, time_ns, entry))

    def lost(self, fields: _Fields) -> None:
        loss = Loss(fields.number(), fields.number())
        # Every file has the record, and none that is whole has a number in it.
        self.loss = loss if loss.records else None

    def arguments(self, fields: _Fields) -> tuple[Argument, ...]:
        def argument() -> Argument:
            dtype = fields.text()
            shape = tuple(fields.number() for _ in range(fields.number()))
            address, size = fields.number(), fields.number()
            return Argument(dtype, shape, address - 1 if address else None, size)

        return tuple(argument() for _ in range(fields.number()))

    def label(self, fields: _Fields) -> None:
        number = fields.number()
        self.labels[number] = fields.text()

    def stack(self, fields: _Fields) -> tuple[Frame, ...]:
        start, number = fields.at, fields.number()
        if number not in self.stacks:
            if number not in self.nodes:
                raise TraceError(f"stack {number} is used before it is defined", start)
            self.stacks[number] = self.walk(number)
        return self.stacks[number]

    def walk(self, node: int) -> tuple[Frame, ...]:
        """The frames of a stack, innermost first.

        A caller is always defined before the stack that it calls, so the walk ends.
        """
        parts: list[Frame] = []
        while node != 0:
            node, frame = self.nodes[node]
            parts.extend(self.frames[frame])
        return tuple(parts)

    def usage(self, fields: _Fields) -> None:
        space = fields.known(self.spaces, "space")
        in_use, peak, allocations, hole = (fields.number() for _ in range(4))
        self.usages.append(Usage(space, in_use, peak, allocations, hole))
