"""Reductions, alone and with what stands before and behind them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.workload import Workload


def layer_norm(x: jax.Array) -> jax.Array:
    """Rows with mean 0 and variance 1."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def columns(x: jax.Array) -> jax.Array:
    """Softmax of columns."""
    return jax.nn.softmax(x, axis=0)


def argmin(x: jax.Array) -> jax.Array:
    """Where each column is least."""
    return jnp.argmin(x, 0)


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Rows whose squares have mean 1, summed in f32, as language models have it."""
    wide = x.astype(jnp.float32)
    wide = wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)
    return wide.astype(x.dtype) * scale


def batch_norm(x: jax.Array) -> jax.Array:
    """Channels with mean 0 and variance 1."""
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5)


def largest_of_windows(x: jax.Array) -> jax.Array:
    """Windows of 2 by 2."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def sum_of_windows(x: jax.Array) -> jax.Array:
    """Windows of 7 by 7 that overlap."""
    return lax.reduce_window(x, 0.0, lax.add, (1, 7, 7, 1), (1, 1, 1, 1), "SAME")


WORKLOADS = [
    Workload("softmax 8x128 f32", jax.nn.softmax, lambda a: (a.normal(8, 128),)),
    Workload("softmax 512x4096 f32", jax.nn.softmax, lambda a: (a.normal(512, 4096),), quick=True),
    Workload("softmax 512x4096 bf16", jax.nn.softmax, lambda a: (a.bf16(512, 4096),)),
    Workload("layer norm 128x768 f32", layer_norm, lambda a: (a.normal(128, 768),)),
    Workload("layer norm 512x4096 f32", layer_norm, lambda a: (a.normal(512, 4096),), quick=True),
    Workload("layer norm 512x4096 bf16", layer_norm, lambda a: (a.bf16(512, 4096),)),
    Workload("sum 1M f32", jnp.sum, lambda a: (a.normal(1 << 20),)),
    Workload("sum 8M f32", jnp.sum, lambda a: (a.normal(1 << 23),)),
    Workload("sum 1M bf16", jnp.sum, lambda a: (a.bf16(1 << 20),)),
    Workload("sum of columns 1024x1024 f32", lambda x: x.sum(0), lambda a: (a.normal(1024, 1024),)),
    Workload(
        "sum of the middle 64x256x64 f32", lambda x: x.sum(1), lambda a: (a.normal(64, 256, 64),)
    ),
    Workload("variance 1M f32", jnp.var, lambda a: (a.normal(1 << 20),)),
    Workload(
        "argmax 1000x1000 f32", lambda x: jnp.argmax(x, -1), lambda a: (a.normal(1000, 1000),)
    ),
    Workload(
        "logsumexp 128x1000 f32",
        lambda x: jax.nn.logsumexp(x, axis=-1),
        lambda a: (a.normal(128, 1000),),
    ),
    Workload("any 100k bool", lambda x: (x > 9).any(), lambda a: (a.normal(100_000),)),
    Workload("max pool 8x64x64x32 f32", largest_of_windows, lambda a: (a.normal(8, 64, 64, 32),)),
    Workload("sum pool 7x7 4x56x56x16 f32", sum_of_windows, lambda a: (a.normal(4, 56, 56, 16),)),
    Workload("softmax 64x512 f32", jax.nn.softmax, lambda a: (a.normal(64, 512),)),
    Workload("softmax 4096x4096 f32", jax.nn.softmax, lambda a: (a.normal(4096, 4096),)),
    Workload("softmax of columns 1024x512 f32", columns, lambda a: (a.normal(1024, 512),)),
    Workload("layer norm 8192x1024 f32", layer_norm, lambda a: (a.normal(8192, 1024),)),
    Workload(
        "rms norm 512x2048 bf16", rms_norm, lambda a: (a.bf16(512, 2048), a.bf16(2048)), quick=True
    ),
    Workload("batch norm 64x32x32x32 f32", batch_norm, lambda a: (a.normal(64, 32, 32, 32),)),
    Workload("sum 64k f32", jnp.sum, lambda a: (a.normal(1 << 16),)),
    Workload("sum 64k bf16", jnp.sum, lambda a: (a.bf16(1 << 16),)),
    Workload("sum 16M bf16", jnp.sum, lambda a: (a.bf16(1 << 24),)),
    Workload("sum 1M f16", jnp.sum, lambda a: (a.normal(1 << 20, dtype=np.float16),)),
    Workload("max 1M bf16", jnp.max, lambda a: (a.bf16(1 << 20),)),
    Workload("max of rows 1024x1024 f32", lambda x: x.max(1), lambda a: (a.normal(1024, 1024),)),
    Workload("sum of rows 1024x1024 bf16", lambda x: x.sum(1), lambda a: (a.bf16(1024, 1024),)),
    Workload("sum of columns 1024x1024 bf16", lambda x: x.sum(0), lambda a: (a.bf16(1024, 1024),)),
    Workload(
        "max of the middle 32x128x256 f32", lambda x: x.max(1), lambda a: (a.normal(32, 128, 256),)
    ),
    Workload(
        "mean of pictures 16x32x32x64 f32",
        lambda x: x.mean((1, 2)),
        lambda a: (a.normal(16, 32, 32, 64),),
    ),
    Workload(
        "sum of the outer and inner 64x256x64 f32",
        lambda x: x.sum((0, 2)),
        lambda a: (a.normal(64, 256, 64),),
    ),
    Workload("dot of vectors 1M f32", jnp.vdot, lambda a: (a.normal(1 << 20), a.normal(1 << 20))),
    Workload("argmin of columns 1000x100 f32", argmin, lambda a: (a.normal(1000, 100),)),
]
