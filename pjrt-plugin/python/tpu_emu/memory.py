"""What the memories of this process's devices hold now, and how they are made."""

import os
from dataclasses import dataclass

from tpu_emu import native
from tpu_emu.devices import Device
from tpu_emu.library import is_loaded, snapshot
from tpu_emu.records import Change, Held
from tpu_emu.sizes import size

_LARGEST = 64 << 40
"""Bytes of the largest memory that a device can have."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a device's memory: a block, or a hole where `block` is None. Sizes in bytes."""

    address: int
    size: int
    block: Change | None


def live(by: str = "line", device: Device | None = None) -> Held:
    """What lives now in the memories of all devices, or of one, by its origin.

    `by` is `line`, `function`, `executable`, `label`, `array`, `stack`, `entry` or `space`.
    A device is its id, or what `jax.devices()` has. Sizes are bytes in the memory, with the padding
    to tiles and the heap's rounding: they add up to `bytes_in_use` of `memory_stats()`.

    Raises:
        RuntimeError: where this process has not loaded the library, or where it refuses.
        ValueError: for another `by`, and a device that is not there.
    """
    return snapshot().held("last", by, device)


def peak(device: Device | None = None) -> int:
    """The most bytes that were in use at once so far on a device; without one, on the fullest.

    Raises:
        RuntimeError: where this process has not loaded the library, or where it refuses.
        ValueError: for a device that is not there.
    """
    taken = snapshot()
    spaces = {taken.spaces[at].number for at in taken.device_spaces(device)}
    peaks = (usage.peak_bytes for usage in taken.usages if usage.space.number in spaces)
    return max(peaks, default=0)


def memory_map(device: Device = 0) -> tuple[Piece, ...]:
    """The blocks and holes of a device's memory, by address; the last is what was never reached.

    Raises:
        RuntimeError: where this process has not loaded the library, or where it refuses.
        ValueError: where there is no such device.
    """
    taken = snapshot()
    [place] = taken.device_spaces(device)
    space = taken.spaces[place]
    pieces: list[Piece] = []
    end = 0
    blocks = (change for change in taken.live if change.space == space)
    for change in sorted(blocks, key=lambda change: change.address):
        if change.address > end:
            pieces.append(Piece(end, change.address - end, None))
        pieces.append(Piece(change.address, change.size, change))
        end = change.address + change.size
    if end < space.capacity_bytes:
        pieces.append(Piece(end, space.capacity_bytes - end, None))
    return tuple(pieces)


def configure(*, topology: str | None = None, hbm: int | str | None = None) -> None:
    """Says which TPU is emulated, before JAX first needs a device.

    `topology` is as in `TPU_EMU_TOPOLOGY` (`v5p:2x2x1`), `hbm` the bytes of each device's memory,
    or a text such as `2 GiB`. What is left out stays as the environment says. Programs that this
    one starts inherit it.

    Raises:
        RuntimeError: where JAX has its devices already.
        ValueError: for what is no topology, and no size from 1 byte to 64 TiB.
    """
    if is_loaded():
        raise RuntimeError(
            "the emulated TPU is there already: call tpu_emu.configure before the first array, and"
            " before jax.devices()"
        )
    if topology is not None:
        native.module().check_topology(topology)
    if hbm is not None:
        size_bytes = size(hbm)
        if not 0 < size_bytes <= _LARGEST:
            raise ValueError(f"hbm={hbm!r}: the memory of a device has 1 byte to 64 TiB")
        os.environ["TPU_EMU_HBM_BYTES"] = str(size_bytes)
    if topology is not None:
        os.environ["TPU_EMU_TOPOLOGY"] = topology
