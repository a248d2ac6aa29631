"""Loops and branches."""

from functools import reduce

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


def filtered(xs: jax.Array) -> jax.Array:
    """A scan whose steps are single numbers."""

    def step(y: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = 0.9 * y + 0.1 * x
        return y, y

    return lax.scan(step, jnp.float32(0), xs)[1]


def lorenz(y: jax.Array) -> jax.Array:
    """Steps of Runge and Kutta through a system of three equations."""

    def slope(y: jax.Array) -> jax.Array:
        return jnp.stack(
            [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]
        )

    def step(_: int, y: jax.Array) -> jax.Array:
        a = slope(y)
        b = slope(y + 0.005 * a)
        c = slope(y + 0.005 * b)
        d = slope(y + 0.01 * c)
        return y + 0.01 / 6 * (a + 2 * b + 2 * c + d)

    return lax.fori_loop(0, 1000, step, y)


def edit_distance(a: jax.Array, b: jax.Array) -> jax.Array:
    """A table, row by row, number by number."""

    def row(above: jax.Array, letter: jax.Array) -> tuple[jax.Array, None]:
        def cell(left: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
            up, corner, other = at
            least = jnp.minimum(jnp.minimum(left, up) + 1, corner + (other != letter))
            return least, least

        first = above[0] + 1
        cells = lax.scan(cell, first, (above[1:], above[:-1], b))[1]
        return jnp.concatenate([first[None], cells]), None

    return lax.scan(row, jnp.arange(b.size + 1), a)[0]


def recurrence(start: jax.Array) -> jax.Array:
    """Elements that are put one by one."""
    return lax.fori_loop(
        2, start.size, lambda i, s: s.at[i].set(0.5 * (s[i - 1] + s[i - 2])), start
    )


def pendulum(s: jax.Array) -> jax.Array:
    """Small steps with a function of many instructions."""

    def step(s: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        s = jnp.array([s[0] + 0.01 * s[1], s[1] - 0.01 * jnp.sin(s[0])])
        return s, s

    return lax.scan(step, s, None, length=1000)[1]


def bisection(x: jax.Array) -> jax.Array:
    """A branch in each round."""

    def step(_: int, s: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = s
        middle = (low + high) / 2
        return lax.cond(middle**3 > x, lambda: (low, middle), lambda: (middle, high))

    return lax.fori_loop(0, 100, step, (jnp.float32(0), x))[0]


def heat(x: jax.Array) -> jax.Array:
    """Neighbours around a ring."""
    step = lambda _, x: x + 0.1 * (jnp.roll(x, 1) - 2 * x + jnp.roll(x, -1))  # noqa: E731
    return lax.fori_loop(0, 500, step, x)


def game_of_life(cells: jax.Array) -> jax.Array:
    """Neighbours in a plane."""

    def step(_: int, cells: jax.Array) -> jax.Array:
        shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b]
        around = reduce(jnp.add, [jnp.roll(cells, shift, (0, 1)) for shift in shifts])
        return ((around == 3) | ((cells == 1) & (around == 2))).astype(jnp.int32)

    return lax.fori_loop(0, 20, step, cells)


def collatz(n: jax.Array) -> jax.Array:
    """A loop that each of many elements leaves at another time."""

    def length(n: jax.Array) -> jax.Array:
        step = lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1)  # noqa: E731
        return lax.while_loop(lambda s: s[0] != 1, step, (n, jnp.int32(0)))[1]

    return jax.vmap(length)(n)


def clusters(x: jax.Array, centres: jax.Array) -> jax.Array:
    """Ten rounds of k-means."""

    def step(_: int, centres: jax.Array) -> jax.Array:
        nearest = jnp.argmin(((x[:, None] - centres[None]) ** 2).sum(-1), axis=1)
        count = centres.shape[0]
        sums = jax.ops.segment_sum(x, nearest, count)
        sizes = jax.ops.segment_sum(jnp.ones(x.shape[0]), nearest, count)
        return sums / (sizes[:, None] + 1e-6)

    return lax.fori_loop(0, 10, step, centres)


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
    Workload("filter 10000 f32", filtered, lambda a: (a.normal(10_000),), quick=True),
    Workload("lorenz 1000 f32", lorenz, lambda a: (a.normal(3),)),
    Workload("lorenz 1000x256 f32", lorenz, lambda a: (a.normal(3, 256),)),
    Workload(
        "edit distance 64x64 s32", edit_distance, lambda a: (a.integers(4, 64), a.integers(4, 64))
    ),
    Workload("recurrence 1000 f32", recurrence, lambda a: (a.normal(1000),)),
    Workload("pendulum 1000 f32", pendulum, lambda a: (a.normal(2),)),
    Workload("bisection 100 f32", bisection, lambda _: (np.float32(20),)),
    Workload("heat 500x1024 f32", heat, lambda a: (a.normal(1024),)),
    Workload("game of life 20x256x256 s32", game_of_life, lambda a: (a.integers(2, 256, 256),)),
    Workload("collatz 1000 s32", collatz, lambda _: (np.arange(1, 1001, dtype=np.int32),)),
    Workload("k-means 10000x8 f32", clusters, lambda a: (a.normal(10_000, 8), a.normal(16, 8))),
]
