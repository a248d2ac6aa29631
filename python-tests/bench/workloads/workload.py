"""What one workload is, and where its arguments come from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

Tree = Any


class Arrays:
    """Arguments by a seed, the same on every platform: numpy's, on no device yet."""

    def __init__(self, seed: int = 0) -> None:
        """Begin the stream of numbers that `seed` names."""
        self._random = np.random.default_rng(seed)

    def normal(self, *shape: int, dtype: Any = np.float32, scale: float = 1) -> np.ndarray:
        """Normally distributed values times `scale`."""
        values = self._random.standard_normal(shape, np.float32)
        if scale != 1:
            values *= np.float32(scale)
        return values if dtype == np.float32 else values.astype(dtype)

    def bf16(self, *shape: int, scale: float = 1) -> np.ndarray:
        """The same in bf16."""
        return self.normal(*shape, dtype=jnp.bfloat16, scale=scale)

    def integers(self, below: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
        """Integers from 0, smaller than `below`, uniform."""
        return self._random.integers(0, below, shape, dtype)

    def positive_definite(self, extent: int) -> np.ndarray:
        """A symmetric matrix with eigenvalues far from 0."""
        half = self.normal(extent, extent)
        return half @ half.T + np.float32(extent) * np.eye(extent, dtype=np.float32)

    def like(self, tree: Tree, scale: float) -> Tree:
        """Arrays with the shapes that the leaves of `tree` are, as tuples."""
        if isinstance(tree, dict):
            return {name: self.like(child, scale) for name, child in tree.items()}
        if isinstance(tree, list):
            return [self.like(child, scale) for child in tree]
        return self.normal(*tree, scale=scale)


Arguments = Callable[[Arrays], tuple[Tree, ...]]


@dataclass(frozen=True)
class Workload:
    """A program with its arguments.

    Attributes:
        name: says the program, the shape and the element type; unique among all.
        function: what is compiled.
        arguments: makes the arguments.
        quick: whether `--quick` runs it.
    """

    name: str
    function: Callable[..., Tree]
    arguments: Arguments
    quick: bool = False
