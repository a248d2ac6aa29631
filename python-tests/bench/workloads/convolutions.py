"""Convolutions, forward and both gradients."""

from collections.abc import Callable

import jax
from jax import lax

from workloads.workload import Workload


def convolution(
    strides: tuple[int, ...] = (1, 1), groups: int = 1
) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """A convolution of images, channels last."""

    def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(
            x,
            kernel,
            strides,
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    return convolve


def along_a_line(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution of sequences."""
    return lax.conv_general_dilated(
        x, kernel, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")
    )


def gradients(x: jax.Array, kernel: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Of the sum of squares, with respect to both."""
    convolve = convolution()
    return jax.grad(lambda x, k: (convolve(x, k) ** 2).sum(), (0, 1))(x, kernel)


WORKLOADS = [
    Workload(
        "conv 3x3 1x8x8x8 f32",
        convolution(),
        lambda a: (a.normal(1, 8, 8, 8), a.normal(3, 3, 8, 8)),
    ),
    Workload(
        "conv 3x3 8x64x64x32 f32",
        convolution(),
        lambda a: (a.normal(8, 64, 64, 32), a.normal(3, 3, 32, 64)),
        quick=True,
    ),
    Workload(
        "conv 3x3 8x64x64x32 bf16",
        convolution(),
        lambda a: (a.bf16(8, 64, 64, 32), a.bf16(3, 3, 32, 64)),
    ),
    Workload(
        "conv 1x1 8x32x32x128 f32",
        convolution(),
        lambda a: (a.normal(8, 32, 32, 128), a.normal(1, 1, 128, 128)),
    ),
    Workload(
        "conv 7x7 stride 2 4x112x112x3 f32",
        convolution((2, 2)),
        lambda a: (a.normal(4, 112, 112, 3), a.normal(7, 7, 3, 32)),
    ),
    Workload(
        "depthwise conv 3x3 8x32x32x64 f32",
        convolution(groups=64),
        lambda a: (a.normal(8, 32, 32, 64), a.normal(3, 3, 1, 64)),
    ),
    Workload(
        "conv of sequences 16x512x64 f32",
        along_a_line,
        lambda a: (a.normal(16, 512, 64), a.normal(5, 64, 64)),
    ),
    Workload(
        "conv gradients 4x32x32x16 f32",
        gradients,
        lambda a: (a.normal(4, 32, 32, 16), a.normal(3, 3, 16, 32)),
    ),
]
