"""Loops and branches."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.workload import Workload


def count(n: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A scalar loop."""
    start = (jnp.int32(0), jnp.float32(0))
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.0001 + 0.5), start)


def recurrent(xs: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A recurrent network over a sequence."""

    def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        h = jnp.tanh(h @ w + x)
        return h, h

    return lax.scan(step, jnp.zeros(xs.shape[1:]), xs)


def decayed_sums(xs: jax.Array) -> jax.Array:
    """A scan whose steps are vectors."""
    return lax.scan(lambda s, x: (0.9 * s + x, s), jnp.zeros(xs.shape[1:]), xs)[1]


def chosen(which: jax.Array, x: jax.Array) -> jax.Array:
    """One of three branches."""
    return lax.switch(which, [jnp.sin, lambda x: x * 2, lambda x: -x], x)


def power_iteration(a: jax.Array, x: jax.Array) -> jax.Array:
    """A product and a norm, over and over."""

    def step(_: int, x: jax.Array) -> jax.Array:
        y = a @ x
        return y / jnp.sqrt((y * y).sum())

    return lax.fori_loop(0, 100, step, x)


WORKLOADS = [
    Workload("while 10000", count, lambda _: (np.int32(10_000),), quick=True),
    Workload(
        "rnn 1000x16x64 f32",
        recurrent,
        lambda a: (a.normal(1000, 16, 64), a.normal(64, 64, scale=0.1)),
        quick=True,
    ),
    Workload("scan 1000x128 f32", decayed_sums, lambda a: (a.normal(1000, 128),)),
    Workload("scan 100x100k f32", decayed_sums, lambda a: (a.normal(100, 100_000),)),
    Workload("switch 8x128 f32", chosen, lambda a: (np.int32(1), a.normal(8, 128))),
    Workload(
        "power iteration 100x256 f32",
        power_iteration,
        lambda a: (a.normal(256, 256), a.normal(256)),
    ),
    Workload(
        "map over 64 of 128x128 f32",
        lambda x: lax.map(lambda m: jnp.tanh(m).sum(0), x),
        lambda a: (a.normal(64, 128, 128),),
    ),
]
