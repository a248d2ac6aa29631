"""The memory of an array: where it is, how large, and who took it."""

import ctypes
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from tpu_emu.library import loaded, snapshot
from tpu_emu.records import ArraySpec, Frame, Space
from tpu_emu.trace import Trace


@dataclass(frozen=True, slots=True)
class Allocation:
    """The block of memory in which an array, or its part on one device, lies.

    `device` is the id of the device, None for the host's memory, of which `space` tells more.
    `address` is that of the block in `space`, as in traces. `size` are the bytes of the block,
    `padded_bytes` those of the array with the padding to tiles, `logical_bytes` those of its
    elements alone. `line` is the user's line that took the block (`train.py:41 step`), `executable`
    the program that did (`jit_step`, or `no program`), `label` what for (`result 0 of jit_step`,
    empty for what no program took), `entry` the API function. `stack` has the innermost frame
    first; `time_ns` counts from the start of the machine.
    """

    device: int | None
    space: Space
    address: int
    size: int
    padded_bytes: int
    logical_bytes: int
    spec: ArraySpec
    line: str
    executable: str
    label: str
    entry: str
    time_ns: int
    thread: int
    stack: tuple[Frame, ...] = field(repr=False)

    def __str__(self) -> str:
        """`f32[8,128]{1,0:T(8,128)} on TPU_0 device at 0x400, 4,096 B, by train.py:41 step`."""
        place = f"{self.spec} on {self.space} at {self.address:#x}"
        return f"{place}, {self.size:,} B, by {self.line}"


def allocation_of(array: Any) -> Allocation | list[Allocation]:  # noqa: ANN401 (JAX is not needed)
    """The block of an array of JAX; for an array over several devices the list of its blocks.

    Raises:
        TypeError: for what is no array of JAX, such as one of NumPy, and for a tracer.
        ValueError: for an array that was deleted or donated, that has no elements, or that lies in
            no emulated memory.
        RuntimeError: where this process has not loaded the library, or where it refuses.
    """
    found = allocations_of(array)
    return found[0] if len(found) == 1 else found


def allocations_of(array: Any) -> list[Allocation]:  # noqa: ANN401 (JAX is not needed)
    """The blocks of an array of JAX, one for each device of this process on which it lies.

    Raises:
        TypeError: for what is no array of JAX, such as one of NumPy, and for a tracer.
        ValueError: for an array that was deleted or donated, that has no elements, or that lies in
            no emulated memory.
        RuntimeError: where this process has not loaded the library, or where it refuses.
    """
    pointers = _pointers(array)
    # They are asked for first: they are there once the array is.
    places = [_address_of(pointer) for pointer in pointers]
    blocks = _Blocks(snapshot())
    return [blocks.at(*place) for place in places]


def blocks_of(array: Any) -> set[tuple[int, int]]:  # noqa: ANN401 (JAX is not needed)
    """Where the parts of an array are: numbers of spaces, and addresses; none for no such array."""
    try:
        return {_address_of(pointer) for pointer in _pointers(array)}
    except (TypeError, ValueError):
        return set()


class _Blocks:
    """What lives, by its address."""

    def __init__(self, taken: Trace) -> None:
        self.taken = taken
        native = taken.native
        addresses = memoryview(native.column("address"))
        self.by_space = {}
        for at, space in enumerate(taken.spaces):
            places = list(memoryview(native.live(at, native.changes_until(at, "last"))))
            self.by_space[space.number] = ([addresses[place] for place in places], places)

    def at(self, space: int, address: int) -> Allocation:
        """The block that the address is in."""
        addresses, places = self.by_space.get(space, ([], []))
        before = bisect_right(addresses, address) - 1
        if before < 0:
            raise ValueError(f"no block lives at {address:#x} of memory space {space}")
        taken, native, place = self.taken, self.taken.native, places[before]

        def number(name: str) -> int:
            return int(memoryview(native.column(name))[place])

        size = number("size")
        if address >= addresses[before] + max(size, 1):
            raise ValueError(f"no block lives at {address:#x} of memory space {space}")
        found, spec = taken.spaces[number("space")], taken.specs[number("spec")]
        return Allocation(
            device=found.device,
            space=found,
            address=addresses[before],
            size=size,
            padded_bytes=spec.padded_bytes,
            logical_bytes=spec.logical_bytes,
            spec=spec,
            line=native.origin(place, "line"),
            executable=native.origin(place, "executable"),
            label=taken.labels[number("label")],
            entry=taken.entries[number("entry")],
            time_ns=number("time_ns"),
            thread=number("thread"),
            stack=taken.stack(number("stack")),
        )


def _pointers(array: Any) -> list[int]:  # noqa: ANN401 (JAX is not needed)
    """Where the parts of an array are in this process."""
    jax = sys.modules.get("jax")
    kind = f"{type(array).__module__}.{type(array).__qualname__}"
    if jax is None or not isinstance(array, jax.Array):
        raise TypeError(f"a {kind} is no array of JAX, and lies in no emulated memory")
    if isinstance(array, jax.core.Tracer):
        raise TypeError(
            f"a {kind} stands for an array while a function is traced and has no memory: ask for"
            " what the function returns"
        )
    if array.is_deleted():
        raise ValueError("the array was deleted or donated, and its memory given back")
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
        array = jax.random.key_data(array)
    shards = [shard.data for shard in array.addressable_shards]
    if any(shard.size == 0 for shard in shards):
        raise ValueError(f"an array of shape {tuple(array.shape)} has no elements and no memory")
    for device in array.devices():
        if device.platform != "tpu":
            raise ValueError(f"the array lies on {device}, which is no emulated TPU")
    return [shard.unsafe_buffer_pointer() for shard in shards]


def _address_of(pointer: int) -> tuple[int, int]:
    """The memory space of a pointer, and the address there."""
    space, address = ctypes.c_uint32(), ctypes.c_uint64()
    code = loaded(4).tpu_emu_address_of(
        ctypes.c_void_p(pointer), ctypes.byref(space), ctypes.byref(address)
    )
    if code != 0:
        raise ValueError(f"the array lies at {pointer:#x}, which is in no emulated memory")
    return space.value, address.value
