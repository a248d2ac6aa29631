"""Arrays that are declared the same on all devices and are not: each device has its own copy."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from emulator import JAXLIB

if JAXLIB >= (0, 7):
    shard_map: Callable[..., Any] = jax.shard_map
else:
    from jax.experimental.shard_map import shard_map

P = PartitionSpec
BOTH = P(("x", "y"))
X = np.arange(8, dtype=np.float32)
ROW = X // 2


@pytest.fixture
def grid() -> Mesh:
    """Four by two devices."""
    return Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))


def unchecked(grid: Mesh, body: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
    """A function that runs on every device, whose results nobody checks."""
    unchecked = {"check_vma" if JAXLIB >= (0, 7) else "check_rep": False}
    return shard_map(body, mesh=grid, in_specs=takes, out_specs=gives, **unchecked)


def held(array: jax.Array) -> np.ndarray:
    """What each device has, device by device."""
    shards = sorted(array.addressable_shards, key=lambda shard: shard.device.id)
    return np.stack([np.asarray(shard.data) for shard in shards])


@pytest.fixture
def own(grid: Mesh) -> jax.Array:
    """Twice the number of the device, declared the same everywhere."""
    return jax.jit(unchecked(grid, lambda a: a * 2, BOTH, P()))(X)


def test_every_device_has_its_own_and_a_host_gets_the_first(own: jax.Array):
    np.testing.assert_array_equal(held(own), X[:, None] * 2)
    np.testing.assert_array_equal(own, [0])
    assert own.is_fully_replicated


def test_what_differs_along_one_axis_is_split_along_the_other(grid: Mesh):
    made = jax.jit(unchecked(grid, lambda a: a * 2, BOTH, P("x")))(X)
    np.testing.assert_array_equal(held(made), X[:, None] * 2)
    np.testing.assert_array_equal(made, [0, 4, 8, 12])


def test_several_results_differ_or_do_not(grid: Mesh, own: jax.Array):
    def body(a: jax.Array, b: jax.Array) -> tuple[jax.Array, ...]:
        return a + b, lax.psum(a, "x"), a * b, lax.psum(b, ("x", "y")) / 8

    made = unchecked(grid, body, (P(), BOTH), (BOTH, P(), P("y"), P()))
    found = [held(of)[:, 0] for of in jax.jit(made)(own, X)]
    np.testing.assert_array_equal(found[0], 3 * X)
    np.testing.assert_array_equal(found[1], [24, 32] * 4)
    np.testing.assert_array_equal(found[2], 2 * X * X)
    np.testing.assert_array_equal(found[3], [3.5] * 8)


def test_each_device_goes_on_with_its_own(grid: Mesh, own: jax.Array):
    np.testing.assert_array_equal(held(jax.jit(lambda a: a + 1)(own))[:, 0], 2 * X + 1)
    split = NamedSharding(grid, P("x"))
    part = jax.jit(lambda a: a + jnp.arange(4, dtype=np.float32), out_shardings=split)(own)
    np.testing.assert_array_equal(held(part)[:, 0], 2 * X + ROW)
    again = jax.jit(unchecked(grid, lambda a, b: a * b, (P(), BOTH), P()))(own, X)
    np.testing.assert_array_equal(held(again)[:, 0], 2 * X * X)


def test_donated_copies_become_the_results(own: jax.Array):
    wanted = 3 * held(own)
    tripled = jax.jit(lambda a: a * 3, donate_argnums=0)(own)
    np.testing.assert_array_equal(held(tripled), wanted)
    assert own.is_deleted()


def test_control_flow_over_whole_arrays_carries_copies(grid: Mesh):
    @jax.jit
    def program(x: jax.Array) -> tuple[jax.Array, ...]:
        first = unchecked(grid, lambda a: a * 2, BOTH, P())(x)
        add = unchecked(grid, lambda a, b: a + b + lax.psum(a, "y"), (BOTH, P()), P())
        looped = lax.fori_loop(0, 2, lambda _, carried: add(x, carried), jnp.zeros(1))
        either = lax.cond(x[0] < 1, lambda: first + looped, lambda: first - looped)
        return first.sum(), looped, either

    first, looped, either = (held(of).reshape(8) for of in program(X))
    pair = 4 * ROW + 1
    np.testing.assert_array_equal(first, 2 * X)
    np.testing.assert_array_equal(looped, 2 * (X + pair))
    np.testing.assert_array_equal(either, 2 * X + 2 * (X + pair))


def test_arrays_that_the_host_made_of_differing_parts(grid: Mesh):
    whole = NamedSharding(grid, P())
    parts = [
        jax.device_put(np.full(1, value), of) for value, of in zip(X, jax.devices(), strict=True)
    ]
    array = jax.make_array_from_single_device_arrays((1,), whole, parts)
    tenfold = jax.jit(lambda a: a * 10)
    np.testing.assert_array_equal(held(tenfold(array))[:, 0], 10 * X)
    moved = jax.device_put(array, jax.devices()[3])
    assert moved.item() in X
    # The same program, once more with what is the same everywhere.
    np.testing.assert_array_equal(held(tenfold(jax.device_put(np.ones(1), whole))), [[10]] * 8)


@pytest.mark.parametrize("name", ["int4", "bool", "bfloat16", "complex64"])
def test_copies_of_every_width(grid: Mesh, name: str):
    made = jax.jit(unchecked(grid, lambda a: jnp.concatenate([a] * 3).astype(name), BOTH, P()))(X)
    wanted = np.repeat(X[:, None], 3, axis=1).astype(jnp.dtype(name))
    np.testing.assert_array_equal(held(made), wanted)


def test_pmap_without_an_axis_for_its_result():
    mapped = jax.pmap(
        lambda a, b: (a * 2, a + b, lax.psum(a, "i")),
        axis_name="i",
        in_axes=(0, None),
        out_axes=(None, 0, None),
    )
    for other in (np.float32(1), jax.pmap(lambda a: a + 1, out_axes=None)(np.zeros(8, np.float32))):
        own, split, total = mapped(X, other)
        np.testing.assert_array_equal(held(own), 2 * X)
        np.testing.assert_array_equal(split, X + 1)
        np.testing.assert_array_equal(held(total), [28] * 8)
    if JAXLIB >= (0, 8):  # Before, the call fetches the argument and sends one copy to all.
        _, split, _ = mapped(X, own)
        np.testing.assert_array_equal(split, 3 * X)
