"""Decompositions and solutions."""

import jax
import jax.numpy as jnp

from workloads.workload import Workload


def lower_solution(x: jax.Array, b: jax.Array) -> jax.Array:
    """A triangular system."""
    lower = jnp.tril(x) + 30 * jnp.eye(x.shape[0])
    return jax.scipy.linalg.solve_triangular(lower, b, lower=True)


def factors(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Both factors in one matrix, and the exchanges of rows."""
    return jax.scipy.linalg.lu_factor(x)


WORKLOADS = [
    Workload("cholesky 64 f32", jnp.linalg.cholesky, lambda a: (a.positive_definite(64),)),
    Workload(
        "cholesky 256 f32", jnp.linalg.cholesky, lambda a: (a.positive_definite(256),), quick=True
    ),
    Workload("svd 64 f32", jnp.linalg.svd, lambda a: (a.normal(64, 64),), quick=True),
    Workload("eigh 64 f32", lambda x: jnp.linalg.eigh(x + x.T), lambda a: (a.normal(64, 64),)),
    Workload("qr 128 f32", jnp.linalg.qr, lambda a: (a.normal(128, 128),)),
    Workload("solve 256 f32", jnp.linalg.solve, lambda a: (a.normal(256, 256), a.normal(256, 16))),
    Workload("cholesky 2000 f32", jnp.linalg.cholesky, lambda a: (a.positive_definite(2000),)),
    Workload("svd 256 f32", jnp.linalg.svd, lambda a: (a.normal(256, 256),)),
    Workload("eigh 500 f32", lambda x: jnp.linalg.eigh(x + x.T), lambda a: (a.normal(500, 500),)),
    Workload("qr 1000 f32", jnp.linalg.qr, lambda a: (a.normal(1000, 1000),)),
    Workload("lu 2000 f32", factors, lambda a: (a.normal(2000, 2000),)),
    Workload("qr 1000x8x8 f32", jnp.linalg.qr, lambda a: (a.normal(1000, 8, 8),)),
    Workload(
        "eigh 1000x8x8 f32",
        lambda x: jnp.linalg.eigh(x + x.mT),
        lambda a: (a.normal(1000, 8, 8),),
    ),
    Workload(
        "solve 1000x8x8 f32",
        jnp.linalg.solve,
        lambda a: (a.normal(1000, 8, 8), a.normal(1000, 8, 8)),
    ),
    Workload("inverse 128 f32", jnp.linalg.inv, lambda a: (a.normal(128, 128),)),
    Workload("determinants 100x8x8 f32", jnp.linalg.det, lambda a: (a.normal(100, 8, 8),)),
    Workload(
        "triangular solve 512 f32",
        lower_solution,
        lambda a: (a.normal(512, 512), a.normal(512, 128)),
    ),
]
