"""Results of another kind than the operands, and types that few operations are given."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


def product(x: np.ndarray, y: np.ndarray, wanted: str) -> np.ndarray:
    return np.asarray(jax.jit(lambda x, y: lax.dot(x, y, preferred_element_type=wanted))(x, y))


def test_a_sum_of_products_becomes_a_number_of_another_kind():
    x, y = np.array([1.5, 2.25], np.float32), np.array([1.5, 1.0], np.float32)
    assert product(x, y, "int32") == 4
    assert product(-x, y, "uint8") == 0
    assert product(x * 0, y, "bool") == 0
    half = np.array([300.0, 0.0], np.float16)
    assert product(half, half, "int32") == 2**31 - 1
    z = np.array([1 + 2j, 3], np.complex64)
    assert product(z, z, "float32") == 6


def test_sums_that_xla_rounds_in_its_own_ways_are_refused_as_integers():
    small = np.array([3, 1]).astype(jnp.float8_e4m3fn)
    with pytest.raises(Exception, match="f8e4m3fn by f8e4m3fn as s32"):
        product(small, small, "int32")
    assert product(small, small, "float32") == 10


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"])
def test_the_largest_of_small_floats_are_found_approximately_too(name: str):
    x = np.array([3, -1, 2, 5, 4]).astype(jnp.dtype(name))
    values, places = jax.jit(lambda x: lax.approx_max_k(x, 2))(x)
    assert np.asarray(values).astype(np.float32).tolist() == [5, 4]
    assert np.asarray(places).tolist() == [3, 4]
    values, places = jax.jit(lambda x: lax.approx_min_k(x, 2))(x)
    assert np.asarray(values).astype(np.float32).tolist() == [-1, 2]
    assert np.asarray(places).tolist() == [1, 2]


def test_complex_numbers_are_clamped():
    x = np.array([0 + 9j, 1 + 6j, 3], np.complex64)
    got = jax.jit(lax.clamp)(np.complex64(1 + 5j), x, np.complex64(2 + 2j))
    assert np.asarray(got).tolist() == [1 + 5j, 1 + 6j, 2 + 2j]
