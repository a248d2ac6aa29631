"""Types and values that random programs are made of."""

import random

import jax.numpy as jnp
import ml_dtypes
import numpy as np

FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int32", "int32", "int64", "int8", "int16", "uint8", "uint16", "uint32", "uint64")
# What a JAX lacks is left out.
EIGHTS = tuple(
    name
    for name in (
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3fn",
        "float8_e4m3b11fnuz",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
    )
    if hasattr(jnp, name)
)
SMALL = tuple(name for name in ("int4", "uint4", "int2", "uint2") if hasattr(jnp, name))
EVERY = (
    *FLOATS,
    *FLOATS,
    *INTEGERS,
    *INTEGERS,
    "float32",
    "float32",
    "bool",
    "bool",
    *COMPLEX,
    *COMPLEX,
    *EIGHTS,
    *SMALL,
)

EXTENTS = (0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8)
LARGE = (9, 16, 33, 64, 130)


def of(name: str) -> np.dtype:
    """The NumPy type of a name."""
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def kind(name: str) -> str:
    """`f` for floats, `c`, `b`, and `i` for integers with and without a sign."""
    if name == "bool":
        return "b"
    if name.startswith("complex"):
        return "c"
    return "i" if name.startswith(("int", "uint")) else "f"


# The most elements of a value.
MOST_ELEMENTS = 40_000


def pick_shape(rng: random.Random, ranks: tuple[int, ...] = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6)):
    """Extents of an array, zeros and ones anywhere, not many elements."""
    rank = rng.choice(ranks)
    few = rng.random() < 0.75
    dims = [rng.choice(EXTENTS if few or rank > 3 else LARGE + EXTENTS) for _ in range(rank)]
    if rng.random() < 0.6:
        dims = [dim or 2 for dim in dims]
    while np.prod(dims) > 20_000:
        dims[dims.index(max(dims))] //= 2
    return tuple(dims)


def integer_range(name: str) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    bits = int("".join(letter for letter in name if letter.isdigit()))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def make(seed: int, shape: tuple[int, ...], name: str) -> np.ndarray:
    """An argument: numbers near one, small whole ones, and sometimes what is special."""
    rng = np.random.default_rng(seed)
    form = kind(name)
    if form == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if form == "i":
        least, greatest = integer_range(name)
        small = rng.integers(max(least, -9), min(greatest, 9), shape, endpoint=True)
        wide = (
            rng.integers(least, greatest, shape, dtype=of(name), endpoint=True)
            if (greatest > 127)
            else rng.integers(least, greatest, shape, endpoint=True)
        )
        return np.where(rng.random(shape) < 0.8, small, wide).astype(of(name))
    if form == "c":
        part = "float32" if name == "complex64" else "float64"
        return (make(seed, shape, part) + 1j * make(seed + 1, shape, part)).astype(name)
    whole = rng.integers(-4, 4, shape, endpoint=True).astype(np.float64)
    found = np.where(rng.random(shape) < 0.4, whole, rng.normal(size=shape))
    if rng.random() < 0.15:
        special = rng.choice([np.inf, -np.inf, np.nan, -0.0, 1e4, 1e-3], shape)
        found = np.where(rng.random(shape) < 0.2, special, found)
    with np.errstate(all="ignore"):
        return found.astype(of(name))
