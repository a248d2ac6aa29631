"""What the memories of this process's devices hold now, and how they are made."""

import os
from dataclasses import dataclass

from tpu_emu.library import is_loaded, snapshot
from tpu_emu.trace import Change, Held


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a device's memory: a block, or a hole where `block` is None. Sizes in bytes."""

    address: int
    size: int
    block: Change | None


def live(by: str = "line", device: int | None = None) -> Held:
    """What lives now in the memories of all devices, or of one, by its origin.

    `by` is `line`, `function`, `executable`, `label`, `array`, `stack`, `entry` or `space`.

    Raises:
        RuntimeError: where this process has not loaded the library, or where it refuses.
        ValueError: for another `by`.
    """
    return snapshot().held("last", by, device)


def peak(device: int | None = None) -> int:
    """The most bytes that were in use at once so far on a device; without one, on the fullest.

    Raises:
        RuntimeError: where this process has not loaded the library, or where it refuses.
    """
    usages = (usage for usage in snapshot().usages if usage.space.device is not None)
    peaks = (usage.peak_bytes for usage in usages if device in (None, usage.space.device))
    return max(peaks, default=0)


def memory_map(device: int) -> tuple[Piece, ...]:
    """The blocks and holes of a device's memory, by address; the last is what was never reached.

    Raises:
        RuntimeError: where this process has not loaded the library, or where it refuses.
        ValueError: where there is no such device.
    """
    taken = snapshot()
    spaces = [space for space in taken.spaces if space.device == device]
    if not spaces:
        raise ValueError(f"there is no device {device} in {taken.header.topology}")
    pieces: list[Piece] = []
    end = 0
    for change in sorted(taken.live, key=lambda change: change.address):
        if change.space != spaces[0]:
            continue
        if change.address > end:
            pieces.append(Piece(end, change.address - end, None))
        pieces.append(Piece(change.address, change.size, change))
        end = change.address + change.size
    if end < spaces[0].capacity_bytes:
        pieces.append(Piece(end, spaces[0].capacity_bytes - end, None))
    return tuple(pieces)


def configure(*, topology: str | None = None, hbm: int | str | None = None) -> None:
    """Says which TPU is emulated, before JAX first needs a device.

    `topology` is as in `TPU_EMU_TOPOLOGY` (`v5p:2x2x1`), `hbm` the bytes of each device's memory,
    or a text such as `2GiB`. What is left out stays as the environment says. Programs that this one
    starts inherit it.

    Raises:
        RuntimeError: where JAX has its devices already.
    """
    if is_loaded():
        raise RuntimeError(
            "the emulated TPU is there already: call tpu_emu.configure before the first array, and"
            " before jax.devices()"
        )
    if topology is not None:
        os.environ["TPU_EMU_TOPOLOGY"] = topology
    if hbm is not None:
        os.environ["TPU_EMU_HBM_BYTES"] = str(hbm).replace(" ", "")
