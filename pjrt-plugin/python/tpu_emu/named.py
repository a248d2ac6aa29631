"""Traces with the names of Python that keep the arrays in them."""

import os
import sys
from pathlib import Path
from typing import Any

from tpu_emu.allocations import blocks_of
from tpu_emu.holders import paths_to
from tpu_emu.library import take_bytes

_NAME = 22
"""The kind of a record that names a block (docs/trace-format.md)."""


def save_snapshot(file: str | os.PathLike[str], *, names: bool = True) -> None:
    """Writes what lives now to a file, which `tpu-emu report` and the other commands read.

    With `names`, it says of each array of JAX which names of Python keep it, as `holders` finds
    them: the report, `summary` and `leaks` show them beside the lines.

    Raises:
        RuntimeError: where this process has not loaded the library, or where the library
            refuses, for example in the child of a fork.
        OSError: for a file that cannot be written.
    """
    taken = take_bytes("tpu_emu_snapshot")
    Path(file).write_bytes(with_names(taken) if names else taken)


def with_names(trace: bytes) -> bytes:
    """A trace that ends now, with what keeps the arrays of JAX that live."""
    jax = sys.modules.get("jax")
    if jax is None:
        return trace
    arrays = [array for array in jax.live_arrays() if not array.is_deleted()]
    records = [
        _record(space, address, path or f"nothing that Python names ({why})")
        for array, (path, why) in zip(arrays, paths_to(arrays), strict=True)
        for space, address in sorted(_blocks_of(array))
    ]
    return b"".join([trace, *records])


def _blocks_of(array: Any) -> set[tuple[int, int]]:  # noqa: ANN401 (JAX is not needed)
    try:
        return blocks_of(array)
    except Exception:  # noqa: BLE001 (an array whose program failed raises anything)
        return set()


def _record(space: int, address: int, path: str) -> bytes:
    text = path.encode(errors="replace")
    payload = b"".join([_number(space), _number(address), _number(len(text)), text])
    return bytes([_NAME]) + len(payload).to_bytes(4, "little") + payload


def _number(value: int) -> bytes:
    """Seven bits a byte, lowest first, the top bit set on all but the last."""
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
