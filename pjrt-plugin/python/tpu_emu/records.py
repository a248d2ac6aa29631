"""What a trace is made of: spaces, changes with their stacks, custom calls, refused calls, sums."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


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
        """The id of the device whose HBM changed; None for other memory."""
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


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment that `tpu_emu.mark` named; `time_ns` counts from the start of the machine."""

    name: str
    time_ns: int
