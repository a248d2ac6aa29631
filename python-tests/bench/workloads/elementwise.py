"""Chains of elementwise operations, in one loop over memory each where a compiler is good."""

import jax
import jax.numpy as jnp
import numpy as np

from workloads.workload import Workload


def cheap(x: jax.Array) -> jax.Array:
    """No transcendental function: as fast as memory."""
    return jnp.maximum(x * 2 + 1, 0) * x - x / (1 + jnp.abs(x))


def costly(x: jax.Array) -> jax.Array:
    """Three transcendental functions an element."""
    return jnp.tanh(x * 2 + 1) * jnp.exp(-x * x) + jnp.sin(x) / (1 + jnp.abs(x))


def mixed_integers(x: jax.Array) -> jax.Array:
    """Rounds of shifts and exclusive ors."""
    for left, right in ((13, 17), (5, 11), (7, 3)):
        x = x ^ (x << left)
        x = x ^ (x >> right)
    return x * 1103515245 + 12345


def selected(x: jax.Array, y: jax.Array) -> jax.Array:
    """Comparisons and selections."""
    return jnp.where((x > y) & (x < 2), x - y, jnp.where(y > 0, y, -x))


def pixels(x: jax.Array) -> jax.Array:
    """Bytes to normalised values."""
    return (x.astype(jnp.float32) / 255 - 0.5) / 0.25


WORKLOADS = [
    Workload("cheap chain 8x128 f32", cheap, lambda a: (a.normal(8, 128),)),
    Workload("cheap chain 100k f32", cheap, lambda a: (a.normal(100_000),)),
    Workload("cheap chain 1M f32", cheap, lambda a: (a.normal(1 << 20),), quick=True),
    Workload("cheap chain 8M f32", cheap, lambda a: (a.normal(1 << 23),)),
    Workload("cheap chain 1M bf16", cheap, lambda a: (a.bf16(1 << 20),)),
    Workload("costly chain 8x128 f32", costly, lambda a: (a.normal(8, 128),)),
    Workload("costly chain 1M f32", costly, lambda a: (a.normal(1 << 20),), quick=True),
    Workload("costly chain 1M bf16", costly, lambda a: (a.bf16(1 << 20),)),
    Workload("gelu 1M f32", jax.nn.gelu, lambda a: (a.normal(1 << 20),)),
    Workload("exp 4M f32", jnp.exp, lambda a: (a.normal(1 << 22),)),
    Workload(
        "power 100k f32",
        lambda x, y: jnp.power(jnp.abs(x), y),
        lambda a: (a.normal(100_000), a.normal(100_000)),
    ),
    Workload(
        "integer chain 1M u32",
        mixed_integers,
        lambda a: (a.integers(1 << 30, 1 << 20).astype("uint32"),),
    ),
    Workload("select 1M f32", selected, lambda a: (a.normal(1 << 20), a.normal(1 << 20))),
    Workload(
        "bytes to f32 8x224x224x3",
        pixels,
        lambda a: (a.integers(256, 8, 224, 224, 3).astype("uint8"),),
    ),
    Workload(
        "row broadcast 1024x1024 f32",
        lambda x, row: x * row + row,
        lambda a: (a.normal(1024, 1024), a.normal(1024)),
    ),
    Workload("gelu 32k f32", jax.nn.gelu, lambda a: (a.normal(1 << 15),)),
    Workload("gelu 8M f32", jax.nn.gelu, lambda a: (a.normal(1 << 23),)),
    Workload("exp 32k f32", jnp.exp, lambda a: (a.normal(1 << 15),)),
    Workload("add 32k bf16", jnp.add, lambda a: (a.bf16(1 << 15), a.bf16(1 << 15))),
    Workload("add 16M bf16", jnp.add, lambda a: (a.bf16(1 << 24), a.bf16(1 << 24))),
    Workload("cheap chain 1M f16", cheap, lambda a: (a.normal(1 << 20, dtype=np.float16),)),
    Workload(
        "row broadcast 4096x256 f32",
        lambda x, row: x * row + row,
        lambda a: (a.normal(4096, 256), a.normal(256)),
    ),
    Workload(
        "column broadcast 4096x256 f32",
        lambda x, column: x * column[:, None] + column[:, None],
        lambda a: (a.normal(4096, 256), a.normal(4096)),
    ),
    Workload(
        "channel broadcast 8x64x32x32 bf16",
        lambda x, c: x * c[:, None, None] + c[:, None, None],
        lambda a: (a.bf16(8, 64, 32, 32), a.bf16(64)),
    ),
    Workload(
        "polynomial 1M f32",
        lambda x: jnp.polyval(jnp.arange(1.0, 9.0), x),
        lambda a: (a.normal(1 << 20),),
    ),
    Workload(
        "causal mask 8x256x256 f32",
        lambda x: jnp.where(jnp.tril(jnp.ones((256, 256), bool)), x, -1e9),
        lambda a: (a.normal(8, 256, 256),),
    ),
]
