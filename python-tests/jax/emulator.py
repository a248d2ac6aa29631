"""What the tests with JAX share: the plugin, programs of their own, and versions."""

import contextlib
from collections.abc import Iterator

import jax
import jaxlib.version

import tpu_emu
from processes import output, run

__all__ = ["JAXLIB", "LIBRARY", "output", "run", "wide_types"]

# Fails with the places that were searched where there is no plugin to test.
LIBRARY = tpu_emu.library_path().resolve()

JAXLIB: tuple[int, ...] = tuple(map(int, jaxlib.version.__version__.split(".")[:3]))


@contextlib.contextmanager
def wide_types() -> Iterator[None]:
    """Types of 64 bits, in every version of JAX."""
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", False)
