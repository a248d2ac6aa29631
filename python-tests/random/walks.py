"""Random programs that walk: whole numbers alone, so that every backend has the same bits.

    python walks.py [SECONDS] [FIRST]

A program draws what it does next while JAX traces it, from the shapes that it has by then: numbers
of a walk are the program. It nests: batches, derivatives, scans, loops, branches, calls, programs
per device with collectives between them, whose bodies are walks too. All values are small whole
numbers (halves and quarters in derivatives), so sums in any order are exact, and what XLA's CPU
backend gives on eight devices is what the plugin has to give, bit by bit.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpu_emu
from steps import ONE, TWO, TYPES, Array, Draw, fit, number, put, real, tame

# What the programs are run with, where nothing else is said.
COMMON = {
    "JAX_PLATFORMS": "tpu,cpu",
    "TPU_EMU_NUMERICS": "ieee",
    "TPU_EMU_HISTORY": "0",
    "TPU_EMU_STACKS": "off",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
    " --xla_llvm_disable_expensive_passes=true",
}
MESHES = [((8,), ("a",)), ((2, 4), ("a", "b")), ((4, 2), ("a", "b")), ((2, 2, 2), ("a", "b", "c"))]


# What has walks inside.
def inner(draw: Draw, depth: int) -> Callable[..., Array]:
    """A function of arrays that is a walk of its own, the same whenever it is traced."""
    seed = draw.random()
    return lambda *x: walk(Draw(seed), list(x), depth - 1)


def batched(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    if not x.ndim or not x.shape[0]:
        return x
    axis = draw.randrange(x.ndim)
    if not x.shape[axis]:
        return x
    return tame(jax.vmap(inner(draw, depth), in_axes=(axis, None), out_axes=0)(x, y))


def derived(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    x = (real(x) if x.dtype.kind == "c" else x).astype(jnp.float32)
    run = inner(draw, depth)

    def total(x: Array) -> Array:
        GRAD.append(True)
        try:
            out = run(x, y)
        finally:
            GRAD.pop()
        return jnp.sum(real(number(out)).astype(jnp.float32)) if out.size else jnp.sum(x) * 0

    how = draw.randrange(3)
    if how == 0:
        return tame(jax.grad(total)(x))
    if how == 1:
        return tame(jax.jvp(total, (x,), (jnp.ones_like(x),))[1])
    return tame(jax.grad(jax.checkpoint(total))(x))


def scanned(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    run = inner(draw, depth)
    if not y.ndim or not y.shape[0]:
        return lax.fori_loop(0, draw.randrange(4), lambda _, c: fit(Draw(1), run(c, y), c), x)

    def body(carry: Array, each: Array) -> tuple[Array, Array]:
        out = run(carry, each)
        return fit(Draw(2), out, carry), out

    last, all_of = lax.scan(body, x, y[:5], reverse=draw.random() < 0.3)
    return tame(last) if draw.random() < 0.5 else tame(all_of)


def looped(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    run, end = inner(draw, depth), draw.randrange(5)

    def body(state: tuple[Any, Any]) -> tuple[Any, Any]:
        at, c = state
        return at + 1, fit(Draw(3), run(c, y), c)

    if GRAD:
        return lax.fori_loop(0, end, lambda at, c: body((at, c))[1], x)
    return lax.while_loop(lambda state: state[0] < end, body, (0, x))[1]


def branched(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    runs = [inner(draw, depth), inner(draw, depth), lambda x, y: x]
    which = jnp.sum(real(number(y)).astype(jnp.int32)) % 3
    return lax.switch(
        which, [lambda x, y, run=run: fit(Draw(4), run(x, y), x) for run in runs], x, y
    )


def called(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    return jax.jit(inner(draw, depth))(x, y)


def collective(draw: Draw, names: tuple[str, ...], sizes: dict[str, int], x: Array) -> Array:
    """What devices give one another."""
    x = number(x)
    name = draw.choice(names)
    size = sizes[name]
    axes = draw.sample(names, draw.randrange(1, len(names) + 1))
    how = draw.randrange(8)
    if how == 0:
        return tame(lax.psum(x, tuple(axes)))
    if how == 1 and x.dtype.kind != "c":
        return lax.pmax(x, tuple(axes))
    if how == 2:
        return tame(lax.all_gather(x, name, tiled=bool(x.ndim) and draw.random() < 0.5))
    if how == 3:
        order = draw.sample(range(size), size)
        pairs = list(enumerate(order))[: draw.randrange(1, size + 1)]
        return lax.ppermute(x, name, pairs)
    if how == 4:
        return tame(x + lax.axis_index(name).astype(x.dtype))
    wide = jnp.resize(x, (size, 3)) if x.size else jnp.zeros((size, 3), x.dtype)
    if how == 5:
        return tame(lax.psum_scatter(wide, name, tiled=draw.random() < 0.5))
    if how == 6:
        return lax.all_to_all(wide, name, 0, draw.choice([0, 1]), tiled=draw.random() < 0.5)
    return lax.pmin(x, tuple(axes)) if x.dtype.kind != "c" else lax.psum(x, name)


MESH: list[Mesh] = []
# Derivatives that are open: there are no derivatives of `while` backwards.
GRAD: list[bool] = []


def spread(draw: Draw, depth: int, x: Array, y: Array) -> Array:
    """A walk on each of eight devices, with collectives."""
    mesh = MESH[0]
    names, sizes = mesh.axis_names, dict(mesh.shape)
    extent = int(np.prod(list(sizes.values())))

    def parts(z: Array) -> tuple[Array, Any]:
        z = (
            jnp.resize(z, (extent, *(z.shape[1:] or (2,))))
            if z.size
            else jnp.zeros((extent, 2), z.dtype)
        )
        taken = draw.sample(names, draw.randrange(len(names) + 1))
        if len(taken) > 1 and draw.random() < 0.5:
            return z, P(tuple(taken))
        if taken and draw.random() < 0.2 and z.shape[1] % sizes[taken[0]] == 0:
            return z, P(None, taken[0])
        return z, P(taken[0]) if taken else P()

    (x, x_spec), (y, y_spec) = parts(x), parts(y)
    seed = draw.random()

    def body(x: Array, y: Array) -> Array:
        own = Draw(seed)
        pool = [x, y]
        for _ in range(own.randrange(1, 4)):
            pool.append(collective(own, names, sizes, own.choice(pool)))
            pool.append(walk(own, pool[-3:], min(depth - 1, 1)))
        return pool[-1] if pool[-1].ndim else pool[-1][None]

    run = jax.shard_map(
        body, mesh=mesh, in_specs=(x_spec, y_spec), out_specs=P(tuple(names)), check_vma=False
    )
    return tame(run(x, y))


def constrained(draw: Draw, x: Array) -> Array:
    """A value that is split over the devices."""
    mesh = MESH[0]
    names = list(mesh.axis_names)
    draw.shuffle(names)
    spec = [
        names.pop() if names and extent % mesh.shape[names[-1]] == 0 and extent else None
        for extent in x.shape
    ]
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


NESTED = [batched, derived, derived, scanned, looped, branched, called]


def walk(draw: Draw, pool: list[Array], depth: int) -> Array:
    """Some steps from some values."""
    for _ in range(draw.randrange(2, 6)):
        x, y, z = (draw.choice(pool) for _ in range(3))
        if depth > 0 and draw.random() < 0.35:
            pool.append(draw.choice(NESTED)(draw, depth, x, y))
        else:
            ways = [
                *(partial(way, draw, x) for way in ONE),
                *(partial(way, draw, x, y) for way in TWO),
                partial(put, draw, x, y, z),
            ]
            pool.append(draw.choice(ways)())
    return pool[-1]


def program(seed: int) -> Callable[..., list[Array]]:
    def run(*x: Array) -> list[Array]:
        draw = Draw(seed)
        pool = list(x)
        sharded = seed % 3 == 0
        for _ in range(draw.randrange(2, 5)):
            if sharded and draw.random() < 0.6:
                pool.append(spread(draw, 2, draw.choice(pool), draw.choice(pool)))
            if sharded and draw.random() < 0.4:
                pool.append(constrained(draw, draw.choice(pool)))
            pool.append(walk(draw, pool[-4:], 2))
        return pool[len(x) :]

    return run


def operands(seed: int) -> list[np.ndarray]:
    draw, rng = Draw(seed + 1), np.random.default_rng(seed)
    found = []
    for _ in range(3):
        dims = [
            draw.choice([0, 1, 1, 2, 3, 4, 5, 8, 8, 16]) if draw.random() < 0.9 else 33
            for _ in range(draw.randrange(4))
        ]
        values = rng.integers(-4, 5, dims)
        found.append(
            np.asarray(values).astype(jnp.dtype(draw.choice(TYPES)))
            if draw.random() < 0.9
            else np.asarray(values, np.float32)
        )
    return found


def results(seed: int, platform: str) -> list[np.ndarray]:
    devices = jax.devices(platform)[:8]
    sizes, names = MESHES[seed % len(MESHES)]
    MESH[:] = [Mesh(np.array(devices).reshape(sizes), names)]
    placed: list[Any] = operands(seed)
    if seed % 3 == 0:
        draw = Draw(seed + 2)
        placed = [
            jax.device_put(
                x,
                NamedSharding(
                    MESH[0],
                    P(names[0])
                    if x.ndim and x.shape[0] and x.shape[0] % sizes[0] == 0 and draw.random() < 0.6
                    else P(),
                ),
            )
            for x in placed
        ]
    else:
        placed = [jax.device_put(x, devices[0]) for x in placed]
    run = jax.jit(program(seed))
    first = [np.asarray(x) for x in run(*placed)]
    if platform == "tpu":
        for _ in range(2):
            again = [np.asarray(x) for x in run(*placed)]
            if any(a.tobytes() != b.tobytes() for a, b in zip(first, again, strict=True)):
                raise AssertionError("another launch gives other bits")
    return first


def check(seed: int) -> str:
    """What is wrong with a program; nothing where all is well."""
    try:
        wanted = results(seed, "cpu")
    except Exception as error:
        return f"none: {type(error).__name__} {str(error).splitlines()[0][:200]}"
    print("tpu", flush=True)
    try:
        got = results(seed, "tpu")
    except Exception as error:
        return f"REFUSED: {type(error).__name__} {' '.join(str(error).split())[:1200]}"
    for at, (a, b) in enumerate(zip(got, wanted, strict=True)):
        same = (a == b) | ((a != a) & (b != b))
        if a.shape != b.shape or a.dtype != b.dtype or not np.all(same):
            where = np.argwhere(~same)[:1].tolist() if a.shape == b.shape else []
            shape = f"{a.dtype}{list(a.shape)}"
            values = f"{a[~same][:3].tolist()} for {b[~same][:3].tolist()}"
            return (
                f"DIFFERS: result {at} of {len(got)}, {shape}, {np.sum(~same)}, {where}: {values}"
            )
    return ""


def worker(seconds: float, first: int) -> None:
    """Programs of numbers from the first on; a line each, and one before."""
    jax.config.update("jax_enable_x64", True)
    until, seed = time.monotonic() + seconds, first
    while time.monotonic() < until:
        print(f"at {seed}", flush=True)
        print(check(seed) or "same", flush=True)
        seed += 1
        if seed % 20 == 0:
            jax.clear_caches()


def main() -> int:
    """Runs programs, in processes that are followed by others where they end; 1 for a finding."""
    seconds, first = float(sys.argv[1]), int(sys.argv[2])
    if "WALKS_WORKER" in os.environ:
        worker(seconds, first)
        return 0
    kept = {key: value for key, value in os.environ.items() if not key.startswith("XLA_")}
    environment = COMMON | kept | {"WALKS_WORKER": "1"}
    environment["TPU_LIBRARY_PATH"] = str(tpu_emu.library_path().resolve())
    until, seed, counts = time.monotonic() + seconds, first, Counter[str]()
    while (left := until - time.monotonic()) > 0:
        command = [sys.executable, "-W", "ignore", __file__, str(left), str(seed)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            ours = False
            for line in child.stdout or []:
                if line.startswith("at "):
                    seed = int(line[3:])
                ours = line == "tpu\n"
                if ours or line.startswith("at "):
                    continue
                counts[line.split(":")[0].strip()] += 1
                if not line.startswith(("same", "none")):
                    print(seed, line, end="", flush=True)
        if child.returncode:
            # XLA's compiler ends the process at some programs.
            counts["ended" if ours else "none"] += 1
            print(seed, f"ended with {child.returncode}", "here" if ours else "in XLA", flush=True)
        seed += 1
    print(f"up to {seed}: {dict(counts)}")
    return int(any(kind not in ("same", "none") for kind in counts))


if __name__ == "__main__":
    sys.exit(main())
