"""Numbers of `jax.random`."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from workloads.workload import Arrays, Tree, Workload


def key(_: Arrays) -> tuple[np.ndarray]:
    """A Threefry key."""
    return (np.array([0, 42], np.uint32),)


def draws(
    draw: Callable[..., jax.Array], *shape: int, **options: Tree
) -> Callable[[jax.Array], jax.Array]:
    """Of the shape, by the key."""
    return lambda key: draw(key, shape=shape, **options)


def dropout(key: jax.Array, x: jax.Array) -> jax.Array:
    """Every tenth value is 0."""
    return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


WORKLOADS = [
    Workload("bits 8x128 u32", draws(jax.random.bits, 8, 128), key),
    Workload("uniform 1M f32", draws(jax.random.uniform, 1 << 20), key),
    Workload("normal 8x128 f32", draws(jax.random.normal, 8, 128), key),
    Workload("normal 1M f32", draws(jax.random.normal, 1 << 20), key, quick=True),
    Workload("normal 1M bf16", draws(jax.random.normal, 1 << 20, dtype=jnp.bfloat16), key),
    Workload("integers 100k s32", draws(jax.random.randint, 100_000, minval=0, maxval=1000), key),
    Workload("permutation 100k", lambda key: jax.random.permutation(key, 100_000), key),
    Workload(
        "categorical 128x1000 f32",
        jax.random.categorical,
        lambda a: (*key(a), a.normal(128, 1000)),
    ),
    Workload("dropout 1M f32", dropout, lambda a: (*key(a), a.normal(1 << 20))),
    Workload("split into 1000", lambda key: jax.random.split(key, 1000), key),
]
