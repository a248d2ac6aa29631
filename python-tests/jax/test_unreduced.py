"""Arrays of which each device has a summand: `PartitionSpec(unreduced={...})`."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

from emulator import JAXLIB

if JAXLIB < (0, 9):
    pytest.skip("JAX has no unreduced arrays yet", allow_module_level=True)

P = PartitionSpec
AxisType: Any = jax.sharding.AxisType


@pytest.fixture
def mesh() -> Any:
    shape, names = (2, 4), ("x", "y")
    made = jax.make_mesh(shape, names, axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(made):
        yield made


def parts(array: jax.Array) -> list[np.ndarray]:
    return [np.asarray(shard.data) for shard in array.addressable_shards]


def product(mesh: Any) -> tuple[jax.Array, np.ndarray, np.ndarray]:
    left = np.arange(32.0).reshape(4, 8)
    right = np.arange(16.0).reshape(8, 2)
    a, b = jax.device_put(left, P("x", "y")), jax.device_put(right, P("y", None))

    @jax.jit
    def f(a: Any, b: Any) -> Any:
        return jnp.einsum("ab,bc->ac", a, b, out_sharding=P("x", None, unreduced={"y"}))

    out = f(a, b)
    assert out.sharding == NamedSharding(mesh, P("x", None, unreduced={"y"}))
    return out, left, right


def test_a_product_is_left_in_parts(mesh: Any) -> None:
    out, left, right = product(mesh)
    wanted = [
        left[x * 2 : x * 2 + 2, y * 2 : y * 2 + 2] @ right[y * 2 : y * 2 + 2]
        for x in range(2)
        for y in range(4)
    ]
    np.testing.assert_array_equal(np.stack(parts(out)), np.stack(wanted))
    np.testing.assert_array_equal(jax.reshard(out, P("x", None)), left @ right)


def test_summands_are_added_as_they_are(mesh: Any) -> None:
    out, left, right = product(mesh)
    twice = jax.jit(lambda x: x + x)(out)
    assert twice.sharding == out.sharding
    np.testing.assert_array_equal(np.stack(parts(twice)), 2 * np.stack(parts(out)))
    np.testing.assert_array_equal(jax.reshard(twice, P(None, None)), 2 * (left @ right))


def test_code_per_device_gives_and_takes_summands(mesh: Any) -> None:
    del mesh
    array = jax.device_put(np.arange(8.0), P("y"))
    give = jax.shard_map(
        lambda x: jax.lax.pcast(x, "y", to="unreduced"), out_specs=P(None, unreduced={"y"})
    )
    out = jax.jit(give)(array)
    assert out.shape == (2,)
    assert [part.tolist() for part in parts(out)] == [[0, 1], [2, 3], [4, 5], [6, 7]] * 2

    def add(x: Any) -> Any:
        return jax.lax.psum(x, "y")

    take = jax.shard_map(add, in_specs=P(None, unreduced={"y"}), out_specs=P())
    assert jax.jit(take)(out).tolist() == [12.0, 16.0]
    back = jax.shard_map(
        lambda x: x, in_specs=P(None, unreduced={"y"}), out_specs=P("y"), check_vma=False
    )
    np.testing.assert_array_equal(jax.jit(back)(out), np.arange(8.0))


def test_what_is_split_becomes_a_summand_in_its_place(mesh: Any) -> None:
    del mesh
    array = np.arange(1.0, 9.0)
    place = lambda at, size: np.where(np.arange(8) // size == at, array, 0.0)  # noqa: E731
    out = jax.jit(lambda x: x, out_shardings=P(None, unreduced={"y"}))(
        jax.device_put(array, P("y"))
    )
    np.testing.assert_array_equal(parts(out), [place(at, 2) for at in range(4)] * 2)
    # Along the axis that did not split it, the first device has it.
    out = jax.reshard(jax.device_put(array, P("y")), P(None, unreduced={"x", "y"}))
    wanted = [place(at, 2) for at in range(4)]
    np.testing.assert_array_equal(parts(out), wanted + [np.zeros(8)] * 4)
    # An axis before it goes on splitting it.
    out = jax.reshard(jax.device_put(array, P(("x", "y"))), P("x", unreduced={"y"}))
    halves = [place(at, 1)[at // 4 * 4 :][:4] for at in range(8)]
    np.testing.assert_array_equal(parts(out), halves)
    np.testing.assert_array_equal(jax.reshard(out, P(None)), array)


@pytest.mark.parametrize("spec", [P("y"), P("x"), P(("x", "y")), P(None)])
def test_scattered_elements_are_summed_up_by_the_device_that_has_them(mesh: Any, spec: Any) -> None:
    del mesh
    places = np.array([0, 0, 1, 1, 1, 2, 2, 3])
    added, onto = np.arange(8), np.arange(10, 14)

    @jax.jit
    def f(onto: Any, places: Any, added: Any) -> Any:
        return jnp.asarray(onto).at[places].add(added, out_sharding=P(None, unreduced={"y"}))

    made = f(onto, jax.device_put(places, spec), jax.device_put(added, spec))
    wanted = onto + np.bincount(places, added, 4)
    summands = np.stack(parts(made))
    np.testing.assert_array_equal(summands[:4].sum(0), wanted)
    np.testing.assert_array_equal(summands[4:].sum(0), wanted)
    np.testing.assert_array_equal(jax.reshard(made, P(None)), wanted)
    if spec == P("y"):
        assert summands[3].tolist() == [0, 0, 6, 7]


@pytest.mark.parametrize("spec", [P("x"), P("y"), P(None), P(("x", "y"))])
def test_what_is_whole_goes_there_and_back(mesh: Any, spec: Any) -> None:
    del mesh
    array = jax.device_put(np.arange(8), spec)
    out = jax.reshard(array, P(None, unreduced={"x", "y"}))
    assert np.stack(parts(out)).sum(0).tolist() == list(range(8))
    np.testing.assert_array_equal(jax.reshard(out, spec), np.arange(8))


def test_a_loop_gathers_summands(mesh: Any) -> None:
    del mesh
    rows = jax.device_put(np.arange(24.0).reshape(3, 8), P(None, "y"))

    @jax.jit
    def f(rows: Any) -> Any:
        start = jax.reshard(jnp.zeros(()), P(unreduced={"y"}))

        def step(total: Any, row: Any) -> Any:
            return total + jnp.einsum("i->", row, out_sharding=P(unreduced={"y"})), None

        total, _ = jax.lax.scan(step, start, rows)
        return total, jax.reshard(total, P())

    total, whole = f(rows)
    columns = np.arange(24.0).reshape(3, 4, 2).sum((0, 2))
    assert [float(part) for part in parts(total)] == [*columns, *columns]
    assert float(whole) == 276.0
