"""What a piece of a program did to the memories of its devices."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tpu_emu.devices import Device
from tpu_emu.library import check, loaded, take_bytes
from tpu_emu.records import Held
from tpu_emu.trace import Trace, held, read


@dataclass(frozen=True, slots=True)
class _Sums:
    """A device's memory: its place, between which counts of changes, and what was taken there."""

    space: int
    device: int | None
    first: int
    last: int
    peak: int
    peak_at: int
    live: int
    taken: int
    blocks: int


class _View:
    """A recording as far as it had come."""

    def __init__(self, data: bytes, started_ns: int) -> None:
        """Reads it."""
        self.trace = read(data)
        native = self.trace.native
        self.sums = []
        for space in self.trace.device_spaces(None):
            first = native.changes_until_ns(space, started_ns)
            last = len(native.order(space))
            device = self.trace.spaces[space].device
            sums = native.since(space, first, last)
            self.sums.append(_Sums(space, device, first, last, *sums))

    def of(self, device: Device | None) -> list[_Sums]:
        """Those of all devices, or of one."""
        spaces = self.trace.device_spaces(device)
        return [sums for sums in self.sums if sums.space in spaces]

    def between(self, device: Device | None) -> list[tuple[int, int, int]]:
        """Places of memories, and between which counts of their changes this was."""
        return [(sums.space, sums.first, sums.last) for sums in self.of(device)]


class Recording:
    """What happened in the memories of the devices while a recording was under way.

    Only what was taken in the recording counts: blocks that lived before it are no part of any
    number, and giving them back is none either. Sizes are bytes in the memory, with the padding to
    tiles and the heap's rounding. `device` picks one device, by its id or as `jax.devices()` has
    it; without it, `peak` and `live` are those of the fullest and the other numbers are sums.

    Every question raises ValueError for a device that is not there and for another `by`, and
    RuntimeError where the recording has not begun.
    """

    def __init__(self) -> None:
        """A recording that has not begun."""
        self._data: bytes | None = None
        self._ended: _View | None = None
        self._number = 0
        self._started_ns = 0

    def __repr__(self) -> str:
        """`<recording: peak 3,145,728 B, live 1,048,576 B, 12 blocks of 9,437,184 B>`."""
        if not self._number and self._data is None:
            return "<recording that has not begun>"
        blocks = f"{self.allocations()} blocks of {self.allocated():,} B"
        return f"<recording: peak {self.peak():,} B, live {self.live():,} B, {blocks}>"

    @property
    def data(self) -> bytes:
        """The trace as bytes, as `tpu_emu.read` and the command take it; so far, while it goes on.

        The blocks that lived before are its first allocations.

        Raises:
            RuntimeError: where the recording has not begun.
        """
        if self._data is not None:
            return self._data
        if not self._number:
            raise RuntimeError("the recording has not begun")
        return take_bytes("tpu_emu_record_read", ctypes.c_uint64(self._number))

    @property
    def trace(self) -> Trace:
        """All that was recorded, or what there is so far."""
        return self._view().trace

    @property
    def devices(self) -> tuple[int, ...]:
        """The ids of the devices."""
        return tuple(sums.device for sums in self._view().sums if sums.device is not None)

    def peak(self, device: Device | None = None) -> int:
        """The most bytes that lived at once, of what was taken here."""
        return max((sums.peak for sums in self._view().of(device)), default=0)

    def live(self, device: Device | None = None) -> int:
        """Bytes that were taken here and lived at the end."""
        return max((sums.live for sums in self._view().of(device)), default=0)

    def allocated(self, device: Device | None = None) -> int:
        """Bytes that were taken here, freed or not, summed up."""
        return sum(sums.taken for sums in self._view().of(device))

    def allocations(self, device: Device | None = None) -> int:
        """How many blocks were taken here."""
        return sum(sums.blocks for sums in self._view().of(device))

    def peak_by(self, by: str = "line", device: Device | None = None) -> Held:
        """What lived at the peak, of what was taken here, by its origin.

        Without a device, that of the fullest. `by` is `line`, `function`, `executable`, `label`,
        `array`, `stack`, `entry` or `space`.
        """
        view = self._view()
        fullest = max(view.of(device), key=lambda sums: sums.peak, default=None)
        between = [(fullest.space, fullest.first, fullest.peak_at)] if fullest else []
        return held(view.trace.native.taken(between, by, True))

    def live_by(self, by: str = "line", device: Device | None = None) -> Held:
        """What was taken here and lived at the end, by its origin; without a device, on all."""
        view = self._view()
        return held(view.trace.native.taken(view.between(device), by, True))

    def allocated_by(self, by: str = "line", device: Device | None = None) -> Held:
        """What was taken here, freed or not, by its origin; without a device, on all."""
        view = self._view()
        return held(view.trace.native.taken(view.between(device), by, False))

    def before_by(self, by: str = "line", device: Device | None = None) -> Held:
        """What lived when the recording began, and counts in no other number."""
        view = self._view()
        return held(view.trace.native.held([(at.space, at.first) for at in view.of(device)], by))

    def live_places(self) -> set[tuple[int, int]]:
        """Of what was taken here and lived at the end the numbers of the space, and addresses."""
        view = self._view()
        found = set()
        for sums in view.sums:
            number = view.trace.spaces[sums.space].number
            addresses = view.trace.column("address")
            order = memoryview(view.trace.native.order(sums.space))
            new = set(order[sums.first : sums.last])
            kept = memoryview(view.trace.native.live(sums.space, sums.last))
            found |= {(number, addresses[place]) for place in kept if place in new}
        return found

    def _view(self) -> "_View":
        if self._data is None:
            return _View(self.data, self._started_ns)
        if self._ended is None:
            self._ended = _View(self._data, self._started_ns)
        return self._ended

    def start(self) -> None:
        """Begins it; a recording begins once.

        Raises:
            RuntimeError: where it has begun, and where the library is not loaded or refuses.
        """
        if self._number or self._data is not None:
            raise RuntimeError("the recording has begun before: tpu_emu.record() makes another")
        library = loaded(3)
        number, time = ctypes.c_uint64(), ctypes.c_uint64()
        code = library.tpu_emu_record_start(ctypes.byref(number), ctypes.byref(time))
        check("tpu_emu_record_start", code)
        self._number, self._started_ns = number.value, time.value

    def stop(self) -> None:
        """Ends it; a second time it does nothing."""
        if self._number:
            number, self._number = self._number, 0
            self._data = take_bytes("tpu_emu_record_stop", ctypes.c_uint64(number))


@contextmanager
def record() -> Iterator[Recording]:
    """Records what a block of code does to the memories of the devices.

        with tpu_emu.record() as r:
            step(state, batch)
        print(r.peak(), r.peak_by("line"))

    Every change is kept in the memory of the process, 64 bytes each, until the block ends. The
    numbers can be read behind it, and inside, where each question reads what there is so far.
    Recordings may lie in one another. What runs in the background
    when the block ends belongs to it as far as it has come: `jax.block_until_ready` waits.

    Raises:
        RuntimeError: where the library is not loaded yet, is older than this package, or refuses,
            for example in the child of a fork.
    """
    recording = Recording()
    recording.start()
    try:
        yield recording
    finally:
        recording.stop()
