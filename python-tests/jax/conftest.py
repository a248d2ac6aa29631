"""Each file of tests begins with an empty device: what JAX has cached for others is dropped."""

import gc

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def _empty_device() -> None:
    jax.clear_caches()
    gc.collect()
