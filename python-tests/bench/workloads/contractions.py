"""Matrix products: square, skinny, batched, transposed, narrow types, with what follows fused."""

import jax
import jax.numpy as jnp
from jax import lax

from workloads.workload import Arguments, Workload


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Matrix product at the default precision."""
    return a @ b


def precise(a: jax.Array, b: jax.Array) -> jax.Array:
    """Matrix product in full f32."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def dense(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """A layer: product, bias, relu."""
    return jax.nn.relu(x @ w + b)


def bytes_product(a: jax.Array, b: jax.Array) -> jax.Array:
    """Bytes with sums of 32 bits."""
    return lax.dot(a, b, preferred_element_type=jnp.int32)


def squares(extent: int) -> Arguments:
    """Two square matrices of f32."""
    return lambda a: (a.normal(extent, extent), a.normal(extent, extent))


def bf16_squares(extent: int) -> Arguments:
    """Two square matrices of bf16."""
    return lambda a: (a.bf16(extent, extent), a.bf16(extent, extent))


WORKLOADS = [
    Workload("matmul 8x128x128 f32", product, lambda a: (a.normal(8, 128), a.normal(128, 128))),
    Workload("matmul 128 f32", product, squares(128), quick=True),
    Workload("matmul 512 f32", product, squares(512)),
    Workload("matmul 1024 f32", product, squares(1024), quick=True),
    Workload("matmul 512 f32 highest", precise, squares(512)),
    Workload("matmul 128 bf16", product, bf16_squares(128)),
    Workload("matmul 1024 bf16", product, bf16_squares(1024), quick=True),
    Workload("matmul 2048 bf16", product, bf16_squares(2048)),
    Workload("transposed matmul 512 f32", lambda a, b: a.T @ b, squares(512)),
    Workload(
        "vector matmul 1024 f32", product, lambda a: (a.normal(1, 1024), a.normal(1024, 1024))
    ),
    Workload(
        "skinny matmul 8192x64x64 f32", product, lambda a: (a.normal(8192, 64), a.normal(64, 64))
    ),
    Workload(
        "batched matmul 16x128 f32",
        product,
        lambda a: (a.normal(16, 128, 128), a.normal(16, 128, 128)),
    ),
    Workload(
        "dense layer 256x1024x1024 bf16",
        dense,
        lambda a: (a.bf16(256, 1024), a.bf16(1024, 1024), a.bf16(1024)),
    ),
    Workload(
        "matmul 512 s8",
        bytes_product,
        lambda a: (
            a.integers(127, 512, 512, dtype="int8"),
            a.integers(127, 512, 512, dtype="int8"),
        ),
    ),
    Workload(
        "matmul 256 c64",
        lambda a, b: lax.complex(a, b) @ lax.complex(b, a),
        squares(256),
    ),
    Workload("matmul 32 f32", product, squares(32)),
    Workload("matmul 64 f32", product, squares(64)),
    Workload("matmul 256 f32", product, squares(256)),
    Workload("matmul 100 f32", product, squares(100)),
    Workload("matmul 1x128x128 f32", product, lambda a: (a.normal(1, 128), a.normal(128, 128))),
    Workload("matmul 16x512x512 f32", product, lambda a: (a.normal(16, 512), a.normal(512, 512))),
    Workload("matmul 16x512x512 bf16", product, lambda a: (a.bf16(16, 512), a.bf16(512, 512))),
    Workload("matmul vector 2048 f32", product, lambda a: (a.normal(2048, 2048), a.normal(2048))),
    Workload(
        "matmul 1024x64x1024 f32", product, lambda a: (a.normal(1024, 64), a.normal(64, 1024))
    ),
    Workload("matmul 64x4096x64 f32", product, lambda a: (a.normal(64, 4096), a.normal(4096, 64))),
    Workload(
        "batched matmul 256x16 f32",
        product,
        lambda a: (a.normal(256, 16, 16), a.normal(256, 16, 16)),
    ),
    Workload(
        "einsum bhqd,bhkd->bhqk 8x8x64x32 f32",
        lambda q, k: jnp.einsum("bhqd,bhkd->bhqk", q, k),
        lambda a: (a.normal(8, 8, 64, 32), a.normal(8, 8, 64, 32)),
    ),
]
