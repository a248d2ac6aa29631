"""The list that checks put themselves into, and values held against XLA's CPU backend."""

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

Check = Callable[[], None]


def same(program: Callable[..., Any], *arguments: Any, rtol: float = 2e-4) -> Any:
    """The results of a program on the emulated TPU, which are the CPU backend's."""
    here = jax.jit(program)(*jax.device_put(arguments, jax.devices()[0]))
    there = jax.jit(program)(*jax.device_put(arguments, jax.devices("cpu")[0]))

    def agree(mine: jax.Array, theirs: jax.Array) -> None:
        assert mine.dtype == theirs.dtype, (mine.dtype, theirs.dtype)
        assert mine.devices() == {jax.devices()[0]}
        wide = np.complex128 if np.iscomplexobj(mine) else np.float64
        close(np.asarray(mine).astype(wide), np.asarray(theirs).astype(wide), rtol)

    jax.tree.map(agree, here, there)
    return here


def close(mine: Any, theirs: Any, rtol: float = 2e-4) -> None:
    """Two arrays agree to a part of the values and of the greatest of them."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * max(scale, 1e-30))


def values(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of a normal distribution, in 32 bits."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def raised(function: Callable[..., Any], *arguments: Any) -> str:
    """What a call raises, which it must."""
    try:
        jax.block_until_ready(function(*arguments))
    except Exception as error:  # noqa: BLE001 - what it is, the caller looks at.
        # Tokens of what failed would tell of it once more when the process ends.
        with contextlib.suppress(jax.errors.JaxRuntimeError):
            jax.effects_barrier()
        return str(error)
    raise AssertionError("nothing was raised")
