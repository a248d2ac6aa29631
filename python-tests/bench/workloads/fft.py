"""Fourier transforms."""

import jax.numpy as jnp

from workloads.workload import Workload

WORKLOADS = [
    Workload("fft 8x128", jnp.fft.fft, lambda a: (a.normal(8, 128),)),
    Workload("fft2 1024x1024", jnp.fft.fft2, lambda a: (a.normal(1024, 1024),), quick=True),
    Workload("rfft 256x1000", jnp.fft.rfft, lambda a: (a.normal(256, 1000),)),
    Workload(
        "filter by rfft 100k",
        lambda x, h: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(h), x.shape[0]),
        lambda a: (a.normal(100_000), a.normal(100_000)),
    ),
]
