"""Chains of elementwise operations, in one loop over memory each where a compiler is good."""

import jax
import jax.numpy as jnp

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
]
