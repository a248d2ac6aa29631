"""Short rows and small matrices, many at once or one after the other."""

import jax
import jax.numpy as jnp
from jax import lax

from workloads.workload import Workload


def rotations(angles: jax.Array) -> jax.Array:
    """Products of 2 by 2, one after the other."""

    def step(m: jax.Array, angle: jax.Array) -> tuple[jax.Array, None]:
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.array([[cos, -sin], [sin, cos]]) @ m, None

    return lax.scan(step, jnp.eye(2), angles)[0]


def small_function(parameters: jax.Array, x: jax.Array) -> jax.Array:
    """A function of a few numbers."""
    return jnp.tanh(x @ parameters[:3]) * parameters[3] + jnp.exp(-(x * x).sum())


def fibonacci(m: jax.Array, n: jax.Array) -> jax.Array:
    """Powers of a matrix of integers."""
    return lax.fori_loop(0, n, lambda _, p: p @ m, jnp.eye(2, dtype=jnp.int32))


def quaternions(a: jax.Array, b: jax.Array) -> jax.Array:
    """Products of many quaternions."""
    w, x, y, z = jnp.moveaxis(a, -1, 0)
    p, q, r, s = jnp.moveaxis(b, -1, 0)
    return jnp.stack(
        [
            w * p - x * q - y * r - z * s,
            w * q + x * p + y * s - z * r,
            w * r - x * s + y * p + z * q,
            w * s + x * r - y * q + z * p,
        ],
        -1,
    )


def normalised(x: jax.Array) -> jax.Array:
    """Short rows of length one."""
    return x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)


WORKLOADS = [
    Workload("cross 10000x3 f32", jnp.cross, lambda a: (a.normal(10_000, 3), a.normal(10_000, 3))),
    Workload("rotations 1000 of 2x2 f32", rotations, lambda a: (a.normal(1000),)),
    Workload(
        "matrix power 1000 of 2x2 s32",
        fibonacci,
        lambda a: (a.integers(3, 2, 2), a.integers(1) + 1000),
    ),
    Workload(
        "products 10000 of 3x3 f32",
        lambda x, y: x @ y,
        lambda a: (a.normal(10_000, 3, 3), a.normal(10_000, 3, 3)),
    ),
    Workload(
        "products 10000 of 4x4 by vectors f32",
        lambda x, y: jnp.einsum("nij,nj->ni", x, y),
        lambda a: (a.normal(10_000, 4, 4), a.normal(10_000, 4)),
    ),
    Workload("outer 1000x1000 f32", jnp.outer, lambda a: (a.normal(1000), a.normal(1000))),
    Workload(
        "outer of many 256x64x64 f32",
        lambda x, y: x[:, :, None] * y[:, None],
        lambda a: (a.normal(256, 64), a.normal(256, 64)),
    ),
    Workload(
        "gradients of a small function 4096x3 f32",
        jax.vmap(jax.grad(small_function), (None, 0)),
        lambda a: (a.normal(4), a.normal(4096, 3)),
        quick=True,
    ),
    Workload(
        "quaternions 10000 f32", quaternions, lambda a: (a.normal(10_000, 4), a.normal(10_000, 4))
    ),
    Workload("normalise 100000x3 f32", normalised, lambda a: (a.normal(100_000, 3),)),
    Workload("softmax 8192x10 f32", jax.nn.softmax, lambda a: (a.normal(8192, 10),)),
    Workload(
        "sum of short rows 100000x5 f32", lambda x: x.sum(-1), lambda a: (a.normal(100_000, 5),)
    ),
    Workload(
        "max of short rows 65536x16 f32", lambda x: x.max(-1), lambda a: (a.normal(65_536, 16),)
    ),
    Workload("transpose 100000x3 f32", lambda x: x.T, lambda a: (a.normal(100_000, 3),)),
    Workload(
        "stack of 3 100000 f32",
        lambda *x: jnp.stack(x, -1),
        lambda a: tuple(a.normal(100_000) for _ in range(3)),
    ),
    Workload(
        "pairs swapped 1M f32",
        lambda x: x.reshape(-1, 2)[:, ::-1].reshape(-1),
        lambda a: (a.normal(1 << 20),),
    ),
    Workload(
        "one-hot 8192x10 f32", lambda i: jax.nn.one_hot(i, 10), lambda a: (a.integers(10, 8192),)
    ),
    Workload(
        "one-hot 4096x256 bf16",
        lambda i: jax.nn.one_hot(i, 256, dtype=jnp.bfloat16),
        lambda a: (a.integers(256, 4096),),
    ),
]
