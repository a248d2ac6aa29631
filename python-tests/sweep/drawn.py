"""Arrays, shapes and cases that are drawn by chance."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

Array = np.ndarray
Function = Callable[..., Any]
Dims = tuple[int, ...]

SIGNED = ["int2", "int4", "int8", "int16", "int32", "int64"]
UNSIGNED = ["uint2", "uint4", "uint8", "uint16", "uint32", "uint64"]
SMALL = [
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
]  # fmt: skip
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
TYPES = ["bool", *SIGNED, *UNSIGNED, *SMALL, *FLOATS, *COMPLEX]
EXTENTS = [0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 7, 8]
LONG = [9, 16, 17, 31, 33, 64, 127, 129, 130, 255, 257, 1000]


@dataclass
class Case:
    """A program, its operands, and how far its results may be from another backend's.

    `units` are units in the last place of the largest element, 0 where all is exact, None where
    values are left open and only shapes and refusals count.
    """

    label: str
    function: Function
    operands: list[Array]
    units: float | None = 0
    differentiable: bool = True
    notes: dict[str, Any] = field(default_factory=dict)


class Dice:
    """What is drawn for one case."""

    def __init__(self, seed: int, label: str, dtype: str) -> None:
        """For a round, an operation and a type: always the same."""
        self.rng = np.random.default_rng([seed, zlib.crc32(f"{label} {dtype}".encode())])
        self.dtype = dtype

    @property
    def kind(self) -> str:
        """`b`, `i`, `u`, `f` or `c`."""
        if self.dtype == "bool":
            return "b"
        return self.dtype[0] if self.dtype[0] in "iuc" else "f"

    def chance(self, part: float) -> bool:
        """Whether something that is so likely happens."""
        return bool(self.rng.random() < part)

    def pick(self, of: Sequence[Any]) -> Any:
        """One of them."""
        return of[int(self.rng.integers(len(of)))]

    def upto(self, end: int) -> int:
        """From 0 to `end`, both in."""
        return int(self.rng.integers(end + 1))

    def extent(self, *, empty: bool = True) -> int:
        """An extent; seldom a long one."""
        of = LONG if self.chance(0.08) else EXTENTS
        return max(int(self.pick(of)), 0 if empty else 1)

    def shape(self, least: int = 0, most: int = 6, size: int = 2500) -> Dims:
        """Extents of `least` to `most` axes, at most `size` elements."""
        rank = self.pick(
            [rank for rank in (0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6) if least <= rank <= most]
        )
        while True:
            dims = tuple(self.extent() for _ in range(rank))
            if 0 in dims and not self.chance(0.5):
                continue
            if np.prod(dims) <= size:
                return dims

    def array(self, dims: Dims, dtype: str | None = None, *, special: bool = False) -> Array:
        """Small numbers with ties; with `special`, also those at the ends."""
        name = dtype or self.dtype
        of = np.dtype(jnp.dtype(name))
        if name == "bool":
            return self.rng.integers(0, 2, dims).astype(bool)
        if name[0] in "iu":
            return self.integers(dims, of, special=special)
        if name[0] == "c":
            part = "float32" if name == "complex64" else "float64"
            return (self.array(dims, part) + 1j * self.array(dims, part)).astype(of)
        return self.floats(dims, of, special=special)

    def integers(self, dims: Dims, of: np.dtype, *, special: bool) -> Array:
        """Integers of up to 64 bits."""
        ends = jnp.iinfo(of)
        least, most = int(ends.min), int(ends.max)
        flat = self.rng.integers(max(least, -9), min(most, 9) + 1, int(np.prod(dims)))
        wide = flat.astype(np.int64 if least else np.uint64)
        for at in range(0, wide.size if special else 0, 3):
            wide[at] = self.pick([least, most, 0, 1, most - 1])
        return wide.astype(of).reshape(dims)

    def floats(self, dims: Dims, of: np.dtype, *, special: bool) -> Array:
        """Quarters; in float8_e8m0fnu, powers of 2."""
        count = int(np.prod(dims))
        flat: Array = self.rng.integers(-16, 17, count) / 4.0
        ends = jnp.finfo(of)
        places = [np.inf, -np.inf, np.nan, -0.0, 0.0, float(ends.max), float(ends.min), 1.0, 0.5]
        if of.name == "float8_e8m0fnu":
            flat = 2.0 ** self.rng.integers(-3, 4, count)
            places = [np.nan, 1.0, 2.0**100, 2.0**-100]
        elif of.name == "float4_e2m1fn":
            places = [6.0, -6.0, -0.0, 0.0]
        for at in range(0, count if special else 0, 2):
            flat[at] = self.pick(places)
        return flat.astype(of).reshape(dims)

    def like(self, special: float = 0.3, **bounds: int) -> Array:
        """An array of any shape."""
        return self.array(self.shape(**bounds), special=self.chance(special))

    def indices(self, dims: Dims, extent: int, dtype: str | None = None) -> Array:
        """Places along an axis, some outside of it."""
        name = dtype or self.pick(
            ["int32", "int32", "int32", "int64", "int8", "uint8", "uint32", "int16", "uint16"]
        )
        low = -extent - 2 if name[0] == "i" else 0
        return np.clip(self.rng.integers(low, extent + 3, dims), -120, 1000).astype(name)

    def split(self, rank: int) -> list[int]:
        """Some of the axes, in order."""
        return [axis for axis in range(rank) if self.chance(0.5)]
