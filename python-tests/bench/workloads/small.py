"""Small programs, where the launch is what counts."""

import jax
import jax.numpy as jnp
import numpy as np

from workloads.workload import Workload


def twenty(x: jax.Array) -> list[jax.Array]:
    """Many results."""
    return [x + i for i in range(20)]


def total(*xs: jax.Array) -> jax.Array:
    """Many arguments."""
    return sum(xs[1:], xs[0])


WORKLOADS = [
    Workload("x+1 8x128 f32", lambda x: x + 1, lambda a: (a.normal(8, 128),), quick=True),
    Workload("x+1 8x128 bf16", lambda x: x + 1, lambda a: (a.bf16(8, 128),)),
    Workload("x+1 scalar s32", lambda x: x + 1, lambda _: (np.int32(1),)),
    Workload("20 results 8x128 f32", twenty, lambda a: (a.normal(8, 128),), quick=True),
    Workload("50 arguments 8 f32", total, lambda a: tuple(a.normal(8) for _ in range(50))),
    Workload(
        "gradient of tanh 128 f32",
        jax.grad(lambda x: jnp.tanh(x @ x).sum()),
        lambda a: (a.normal(128, 128),),
    ),
    Workload(
        "distance 3 f32",
        lambda x, y: jnp.sqrt(((x - y) ** 2).sum()),
        lambda a: (a.normal(3), a.normal(3)),
    ),
]
