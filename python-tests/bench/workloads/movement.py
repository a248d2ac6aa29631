"""Data that moves: gathers, scatters, sorts, scans, concatenations, pads, transposes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.workload import Arrays, Workload


def sums_of_segments(x: jax.Array, segment: jax.Array) -> jax.Array:
    """A scatter with addition."""
    return jax.ops.segment_sum(x, segment, 1024)


def sorted_pairs(keys: jax.Array, values: jax.Array) -> tuple[jax.Array, ...]:
    """Values in the order of their keys."""
    return lax.sort((keys, values), num_keys=1)


def updated(x: jax.Array, piece: jax.Array, at: jax.Array) -> jax.Array:
    """A slice written at a place that is known at run time."""
    return lax.dynamic_update_slice(x, piece, (at,))


def pixels(a: Arrays) -> tuple[np.ndarray, ...]:
    """A picture of bytes."""
    return (a.integers(256, 1024, 1024, dtype=np.uint8),)


WORKLOADS = [
    Workload(
        "gather 8192 rows of 256 f32",
        lambda x, i: x[i],
        lambda a: (a.normal(32768, 256), a.integers(32768, 8192)),
        quick=True,
    ),
    Workload(
        "gather 100k of 1M f32",
        lambda x, i: x[i],
        lambda a: (a.normal(1 << 20), a.integers(1 << 20, 100_000)),
    ),
    Workload(
        "embedding 2048 rows of 512 bf16",
        lambda x, i: x[i],
        lambda a: (a.bf16(8192, 512), a.integers(8192, 8, 256)),
    ),
    Workload(
        "take along axis 1000x1000 f32",
        lambda x, i: jnp.take_along_axis(x, i, 1),
        lambda a: (a.normal(1000, 1000), a.integers(1000, 1000, 1000)),
    ),
    Workload(
        "segment sum 1M f32",
        sums_of_segments,
        lambda a: (a.normal(1 << 20), a.integers(1024, 1 << 20)),
        quick=True,
    ),
    Workload(
        "scatter 100k into 1M f32",
        lambda x, i, v: x.at[i].set(v),
        lambda a: (a.normal(1 << 20), a.integers(1 << 20, 100_000), a.normal(100_000)),
    ),
    Workload(
        "scatter-add 4096 rows of 64 f32",
        lambda x, i, v: x.at[i].add(v),
        lambda a: (a.normal(8192, 64), a.integers(8192, 4096), a.normal(4096, 64)),
    ),
    Workload("sort 8x128 f32", jnp.sort, lambda a: (a.normal(8, 128),)),
    Workload("sort 1M f32", jnp.sort, lambda a: (a.normal(1 << 20),), quick=True),
    Workload("sort 1000x1000 f32", jnp.sort, lambda a: (a.normal(1000, 1000),)),
    Workload("sort 100k bf16", jnp.sort, lambda a: (a.bf16(100_000),)),
    Workload(
        "sort pairs 100k s32",
        sorted_pairs,
        lambda a: (a.integers(1 << 20, 100_000), a.normal(100_000)),
    ),
    Workload("argsort 100k f32", jnp.argsort, lambda a: (a.normal(100_000),), quick=True),
    Workload(
        "top 10 of 64x10000 f32", lambda x: lax.top_k(x, 10), lambda a: (a.normal(64, 10_000),)
    ),
    Workload("cumsum 1M f32", jnp.cumsum, lambda a: (a.normal(1 << 20),), quick=True),
    Workload("cumsum 1M bf16", jnp.cumsum, lambda a: (a.bf16(1 << 20),)),
    Workload(
        "cumsum of columns 1000x1000 f32",
        lambda x: jnp.cumsum(x, 0),
        lambda a: (a.normal(1000, 1000),),
    ),
    Workload("cummax 100k f32", lambda x: lax.cummax(x, 0), lambda a: (a.normal(100_000),)),
    Workload(
        "concatenate 8 of 128k f32",
        lambda *parts: jnp.concatenate(parts),
        lambda a: tuple(a.normal(1 << 17) for _ in range(8)),
    ),
    Workload("pad 1000x1000 f32", lambda x: jnp.pad(x, 12), lambda a: (a.normal(1000, 1000),)),
    Workload("transpose 128x128 f32", lambda x: x.T, lambda a: (a.normal(128, 128),)),
    Workload(
        "transpose 2048x2048 f32", lambda x: x.T, lambda a: (a.normal(2048, 2048),), quick=True
    ),
    Workload(
        "transpose to channels first 8x64x64x64 bf16",
        lambda x: x.transpose(0, 3, 1, 2),
        lambda a: (a.bf16(8, 64, 64, 64),),
    ),
    Workload("roll 1M f32", lambda x: jnp.roll(x, 1000), lambda a: (a.normal(1 << 20),)),
    Workload(
        "dynamic update 1k of 1M f32",
        updated,
        lambda a: (a.normal(1 << 20), a.normal(1000), a.integers(1000)),
    ),
    Workload(
        "one-hot 4096x1000 f32",
        lambda i: jax.nn.one_hot(i, 1000),
        lambda a: (a.integers(1000, 4096),),
    ),
    Workload(
        "gather 1M of 64k f32",
        lambda x, i: x[i],
        lambda a: (a.normal(1 << 16), a.integers(1 << 16, 1 << 20)),
    ),
    Workload(
        "gather 1M of 64k bf16",
        lambda x, i: x[i],
        lambda a: (a.bf16(1 << 16), a.integers(1 << 16, 1 << 20)),
    ),
    Workload(
        "gather 100k rows of 4 f32",
        lambda x, i: x[i],
        lambda a: (a.normal(10_000, 4), a.integers(10_000, 100_000)),
    ),
    Workload(
        "take along axis 1000x1000 bf16",
        lambda x, i: jnp.take_along_axis(x, i, 1),
        lambda a: (a.bf16(1000, 1000), a.integers(1000, 1000, 1000)),
    ),
    Workload(
        "slices of every other 2048x1024 f32",
        lambda x: x[:, ::2] + x[:, 1::2],
        lambda a: (a.normal(2048, 1024),),
    ),
    Workload("reverse 1M f32", lambda x: x[::-1], lambda a: (a.normal(1 << 20),)),
    Workload("reverse of rows 1024x1024 u8", lambda x: x[:, ::-1], pixels),
    Workload("transpose 1024x1024 u8", lambda x: x.T, pixels),
    Workload(
        "repeat 1000x1000 f32", lambda x: jnp.repeat(x, 2, 1), lambda a: (a.normal(1000, 1000),)
    ),
    Workload("tile 100x1000 f32", lambda x: jnp.tile(x, (4, 3)), lambda a: (a.normal(100, 1000),)),
    Workload(
        "concatenate columns 1000 of 30 and 70 f32",
        lambda x, y: jnp.concatenate([x, y], 1),
        lambda a: (a.normal(1000, 30), a.normal(1000, 70)),
    ),
    Workload(
        "windows 3 of 100k f32",
        lambda x: x[:-2] + 2 * x[1:-1] + x[2:],
        lambda a: (a.normal(100_000),),
    ),
    Workload(
        "scatter rows 1024 of 128 bf16",
        lambda x, i, v: x.at[i].set(v),
        lambda a: (a.bf16(4096, 128), a.integers(4096, 1024), a.bf16(1024, 128)),
    ),
]
