"""How time grows with the data and with the program, on the plugin and on XLA's CPU backend.

    python growth.py [WORD…]

With words, only the programs whose name contains one of them run, and nothing is kept.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import page
from apart import FailedError, apart
from figures import PLATFORMS, GrowthRow, GrowthRun, growth_table
from measure import batch, direct_compile, warm_up
from workloads.elementwise import cheap
from workloads.workload import Arguments, Arrays, Tree

ELEMENTS = (10**4, 10**5, 10**6, 10**7, 10**8)
OPERATIONS = (100, 1000, 10_000)
# A size that would take longer than this, by the one before it, is left out, and all after it.
PATIENCE_S = 20
CALLS = 5


@dataclass(frozen=True)
class Grower:
    """A program for each number of elements, or of operations."""

    name: str
    function: Callable[[int], Callable[..., Tree]]
    arguments: Callable[[int], Arguments]


def same(function: Callable[..., Tree]) -> Callable[[int], Callable[..., Tree]]:
    """One program for all sizes."""
    return lambda _: function


def line(n: int) -> Arguments:
    """As many elements."""
    return lambda a: (a.normal(n),)


def chain(n: int) -> Callable[[jax.Array], jax.Array]:
    """Operations that each need the one before, with constants of their own."""

    def run(x: jax.Array) -> jax.Array:
        for at in range(n // 2):
            x = (x + (at + 0.5)) if at % 3 else jnp.sin(x)
            x = x * (1 + 1 / (at + 2))
        return x

    return run


def products(n: int) -> Callable[[jax.Array], jax.Array]:
    """Matrix products and additions in turns: nothing to fuse but a pair."""

    def run(x: jax.Array) -> jax.Array:
        w = x
        for at in range(n // 2):
            x = x @ w + (at + 0.5)
        return x

    return run


def functions(n: int) -> Callable[[jax.Array], jax.Array]:
    """A function of its own for every ten operations, each called twice."""

    def one(at: int) -> Callable[[jax.Array], jax.Array]:
        def run(x: jax.Array) -> jax.Array:
            for step in range(5):
                x = jnp.maximum(x, at + step) * 0.5
            return x

        run.__name__ = f"function_{at}"
        return jax.jit(run)

    def run(x: jax.Array) -> jax.Array:
        for at in range(n // 20):
            called = one(at)
            x = called(called(x))
        return x

    return run


def results(n: int) -> Callable[[jax.Array], list[jax.Array]]:
    """As many results."""
    return lambda x: [x + at for at in range(n)]


def sums(n: int) -> Callable[[jax.Array], jax.Array]:
    """Results that are all alive until the end, then joined."""

    def run(x: jax.Array) -> jax.Array:
        return jnp.stack([(x * (at + 1)).sum() for at in range(n // 3)])

    return run


def loops(n: int) -> Callable[[jax.Array], jax.Array]:
    """A loop for every ten operations."""

    def run(x: jax.Array) -> jax.Array:
        for at in range(n // 10):
            x = jax.lax.fori_loop(0, 2, lambda i, x, at=at: jnp.sin(x) + (i + at), x)
        return x

    return run


DATA = (
    Grower("elementwise", same(cheap), line),
    Grower("sum", same(jnp.sum), line),
    Grower("softmax of rows of 1000", same(lambda x: jax.nn.softmax(x.reshape(-1, 1000))), line),
    Grower("cumsum", same(jnp.cumsum), line),
    Grower("sort", same(jnp.sort), line),
    Grower("gather", same(lambda x, i: x[i]), lambda n: lambda a: (a.normal(n), a.integers(n, n))),
    Grower("transpose", same(lambda x: x.reshape(100, -1).T), line),
    Grower(
        "uniform",
        lambda n: lambda key: jax.random.uniform(key, (n,)),
        lambda _: lambda a: (a.integers(9, 2).astype("uint32"),),
    ),
)
PROGRAMS = tuple(
    Grower(name, function, lambda _: lambda a: (a.normal(8, 8),))
    for name, function in (
        ("elementwise chain", chain),
        ("products", products),
        ("functions", functions),
        ("results", results),
        ("sums", sums),
        ("loops", loops),
    )
)


def calls(grower: Grower, size: int, platform: str) -> dict[str, float]:
    """Seconds of the best of several calls, after one that does not count."""
    jax.config.update("jax_platforms", platform)
    arguments = jax.device_put(grower.arguments(size)(Arrays()))
    warm_up()
    program = jax.jit(grower.function(size)).lower(*arguments).compile()
    jax.block_until_ready(program(*arguments))
    return {platform: min(batch(program, arguments, 1) for _ in range(CALLS))}


def compiles(grower: Grower, size: int, platform: str) -> dict[str, float]:
    """Seconds that JAX waits for, and of the plugin's own part of them."""
    jax.config.update("jax_platforms", platform)
    arguments = jax.device_put(grower.arguments(size)(Arrays()))
    warm_up()
    lowered = jax.jit(grower.function(size)).lower(*arguments)
    start = time.perf_counter()
    lowered.compile()
    found = {platform: time.perf_counter() - start}
    if platform == "tpu":
        found["plugin"] = direct_compile(lowered, Path(os.environ["TPU_LIBRARY_PATH"]))
    return found


def grow(
    growers: tuple[Grower, ...],
    sizes: tuple[int, ...],
    measured: Callable[[Grower, int, str], dict[str, float]],
) -> list[GrowthRow]:
    """Seconds of each size on each platform, until they are too many."""
    rows: list[GrowthRow] = []
    for grower in growers:
        row: GrowthRow = {"name": grower.name, "seconds": {}}
        for platform in PLATFORMS:
            expected = 0.0
            for before, size in pairwise((sizes[0], *sizes)):
                if expected * size / before > PATIENCE_S:
                    break
                try:
                    found = apart(measured, grower, size, platform, timeout_s=10 * PATIENCE_S)
                except FailedError as failure:
                    print(f"{grower.name}, {size} on {platform}: {failure}", file=sys.stderr)
                    break
                expected = max(found.values())
                for series, seconds in found.items():
                    row["seconds"].setdefault(series, {})[str(size)] = seconds
        rows.append(row)
        print(growth_table(rows[-1:], "each", 1e9), flush=True)
    return rows


def main() -> int:
    """Measure, print, keep, and write the page."""
    words = sys.argv[1:]
    os.environ["TPU_LIBRARY_PATH"] = str(Path(os.environ["TPU_EMU_LIBRARY"]).resolve())

    def wanted(growers: tuple[Grower, ...]) -> tuple[Grower, ...]:
        return tuple(
            grower for grower in growers if not words or any(word in grower.name for word in words)
        )

    data, programs = wanted(DATA), wanted(PROGRAMS)
    run: GrowthRun = {
        "data": grow(data, ELEMENTS, calls),
        "programs": grow(programs, OPERATIONS, compiles),
    }
    if not words:
        page.save("growth", run)
        page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
