"""What a piece of a program did to the memories of its devices."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from tpu_emu.library import loaded, take_trace
from tpu_emu.trace import Held, Trace, held


class Recording:
    """What happened in the memories of the devices while a recording was under way.

    Only what was taken in the recording counts: blocks that lived before it are no part of any
    number, and giving them back is none either. Sizes are bytes in the memory, with the padding to
    tiles and the heap's rounding. `device` picks one device by its id; without it, `peak` and
    `live` are those of the fullest device and the other numbers are sums.
    """

    def __init__(self) -> None:
        """A recording that has not begun."""
        self._trace: Trace | None = None
        self._number = 0
        self._started_ns = 0

    @property
    def trace(self) -> Trace:
        """All that was recorded, with the blocks that lived before as its first allocations.

        Raises:
            RuntimeError: while the recording is under way.
        """
        if self._trace is None:
            raise RuntimeError("the recording has not ended: read it behind its with block")
        return self._trace

    @cached_property
    def _sums(self) -> dict[int, tuple[int, int, int, int, int]]:
        """Peak, where it was, live, allocated and number of blocks, by the place of a space."""
        read = self.trace.native
        return {
            space: read.since(space, first, last) for space, first, last in self._between(None)
        }

    def _between(self, device: int | None) -> list[tuple[int, int, int]]:
        """Of each device's memory its place, and between which counts of changes this was."""
        read = self.trace.native
        return [
            (space, read.changes_until_ns(space, self._started_ns), len(read.order(space)))
            for space in self.trace.device_spaces(device)
        ]

    def _of(self, device: int | None) -> list[tuple[int, int, int, int, int]]:
        return [self._sums[space] for space in self.trace.device_spaces(device)]

    def peak(self, device: int | None = None) -> int:
        """The most bytes that lived at once, of what was taken here."""
        return max((peak for peak, *_ in self._of(device)), default=0)

    def live(self, device: int | None = None) -> int:
        """Bytes that were taken here and lived at the end."""
        return max((live for _, _, live, _, _ in self._of(device)), default=0)

    def allocated(self, device: int | None = None) -> int:
        """Bytes that were taken here, freed or not, summed up."""
        return sum(taken for _, _, _, taken, _ in self._of(device))

    def allocations(self, device: int | None = None) -> int:
        """How many blocks were taken here."""
        return sum(blocks for *_, blocks in self._of(device))

    def fullest(self) -> int | None:
        """The device with the highest peak; None where nothing was taken."""
        devices = {
            self.trace.spaces[space].device: sums[0] for space, sums in self._sums.items()
        }
        best = max(devices, key=lambda device: devices[device], default=None)
        return best if best is not None and devices[best] else None

    def peak_by(self, by: str = "line", device: int | None = None) -> Held:
        """What lived at the peak, of what was taken here, by its origin.

        Without a device, that of the fullest. `by` is `line`, `function`, `executable`, `label`,
        `array`, `stack`, `entry` or `space`.
        """
        device = self.fullest() if device is None else device
        if device is None:
            return held((0, 0, 0, []))
        between = [(space, first, self._sums[space][1]) for space, first, _ in self._between(device)]
        return held(self.trace.native.taken(between, by, only_kept=True))

    def live_by(self, by: str = "line", device: int | None = None) -> Held:
        """What was taken here and lived at the end, by its origin; without a device, on all."""
        return held(self.trace.native.taken(self._between(device), by, only_kept=True))

    def allocated_by(self, by: str = "line", device: int | None = None) -> Held:
        """What was taken here, freed or not, by its origin; without a device, on all."""
        return held(self.trace.native.taken(self._between(device), by, only_kept=False))

    def start(self) -> None:
        """Begins it."""
        library = loaded(3)
        number, time = ctypes.c_uint64(), ctypes.c_uint64()
        code = library.tpu_emu_record_start(ctypes.byref(number), ctypes.byref(time))
        if code != 0:
            raise RuntimeError(f"tpu_emu_record_start failed with status code {code}")
        self._number, self._started_ns = number.value, time.value

    def stop(self) -> None:
        """Ends it; a second time it does nothing."""
        if self._number:
            number, self._number = self._number, 0
            self._trace = take_trace("tpu_emu_record_stop", ctypes.c_uint64(number))


@contextmanager
def record() -> Iterator[Recording]:
    """Records what a block of code does to the memories of the devices.

        with tpu_emu.record() as r:
            step(state, batch)
        print(r.peak(), r.peak_by("line"))

    Every change is kept in the memory of the process, 72 bytes each, until the block ends; the
    numbers can be read behind it. Recordings may lie in one another. What runs in the background
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
