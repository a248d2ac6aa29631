"""Collectives over meshes of one to three axes, beside NumPy: whose values meet, in what order."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from emulator import JAXLIB

if JAXLIB >= (0, 6):
    shard_map: Callable[..., Any] = jax.shard_map
    UNCHECKED = {"check_vma": False}
else:
    from jax.experimental.shard_map import shard_map

    UNCHECKED = {"check_rep": False}

P = PartitionSpec
MESHES: dict[str, dict[str, int]] = {
    "a line": {"i": 8},
    "two axes": {"a": 2, "b": 4},
    "three axes": {"a": 2, "b": 2, "c": 2},
    "axes of one": {"a": 1, "b": 8, "c": 1},
}
SHUFFLED = [5, 2, 7, 0, 3, 6, 1, 4]


def choices() -> list[Any]:
    """Every mesh with every choice of its axes in every order."""
    return [
        pytest.param(name, names, id=f"{name}, {' '.join(names)}")
        for name, axes in MESHES.items()
        for count in range(1, len(axes) + 1)
        for names in itertools.permutations(axes, count)
    ]


def in_groups(parts: np.ndarray, axes: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """The parts of `[mesh..., part...]` as `[rest of the mesh..., member, part...]`."""
    places = [axes.index(name) for name in names]
    rest = [place for place in range(len(axes)) if place not in places]
    order = [*rest, *places, *range(len(axes), parts.ndim)]
    moved = parts.transpose(order)
    kept = moved.shape[: len(rest)]
    return moved.reshape(*kept, -1, *parts.shape[len(axes) :])


def of_groups(grouped: np.ndarray, mesh: dict[str, int], names: Sequence[str]) -> np.ndarray:
    """Back from `in_groups` to `[device, part...]`."""
    axes = list(mesh)
    rest = [name for name in axes if name not in names]
    order = [*rest, *names]
    part = grouped.shape[len(rest) + 1 :]
    spread = grouped.reshape(*(mesh[name] for name in order), *part)
    back = [order.index(name) for name in axes] + list(range(len(axes), spread.ndim))
    return spread.transpose(back).reshape(-1, *part)


@pytest.mark.parametrize("devices", [list(range(8)), SHUFFLED], ids=["in order", "shuffled"])
@pytest.mark.parametrize(("name", "names"), choices())
def test_values_meet_as_the_mesh_says(name: str, names: tuple[str, ...], devices: list[int]):
    axes = MESHES[name]
    all_devices = np.array([jax.devices()[device] for device in devices])
    mesh = Mesh(all_devices.reshape(tuple(axes.values())), tuple(axes))
    members = int(np.prod([axes[one] for one in names]))

    def body(x: Any) -> Any:
        return (
            lax.psum(x, names),
            lax.pmax(x, names),
            lax.pmean(x, names),
            lax.all_gather(x, names, tiled=True),
            lax.psum_scatter(x, names, tiled=True),
            lax.all_to_all(x, names, 0, 0, tiled=True),
        )

    spec = P(tuple(axes))
    run = jax.jit(shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec, **UNCHECKED))
    parts = np.arange(8 * 8 * 3, dtype=np.float32).reshape(*axes.values(), 8, 3) % 37
    found = run(parts.reshape(64, 3))

    grouped = in_groups(parts, list(axes), names)
    member_axis = grouped.ndim - 3
    summed = grouped.sum(member_axis, keepdims=True)
    gathered = grouped.reshape(*grouped.shape[:member_axis], 1, members * 8, 3)
    pieces = grouped.reshape(*grouped.shape[:member_axis], members, members, 8 // members, 3)
    exchanged = pieces.swapaxes(member_axis, member_axis + 1)

    def everyone(one: np.ndarray) -> np.ndarray:
        return np.repeat(one, members, axis=member_axis)

    expected = [
        everyone(summed),
        everyone(grouped.max(member_axis, keepdims=True)),
        everyone(summed / members),
        everyone(gathered),
        summed.reshape(*grouped.shape[:member_axis], members, 8 // members, 3),
        exchanged.reshape(grouped.shape),
    ]
    for got, wanted in zip(found, expected, strict=True):
        devices_of = of_groups(wanted, axes, names)
        np.testing.assert_allclose(got, devices_of.reshape(-1, 3), rtol=1e-6)


def test_gradients_go_through_collectives_of_some_axes():
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    x = np.arange(32, dtype=np.float32).reshape(8, 4) / 8

    def loss(x: Any) -> Any:
        total = lax.psum(jnp.sum(x**2), ("b", "a"))
        gathered = lax.all_gather(x, "b", tiled=True)
        return total + lax.psum(jnp.sum(gathered**3), ("a", "b")) / 4

    whole = shard_map(loss, mesh=mesh, in_specs=P("a", "b"), out_specs=P(), **UNCHECKED)
    found = jax.jit(jax.grad(lambda x: whole(x).sum()))(x)
    np.testing.assert_allclose(found, 2 * x + 3 * x**2, rtol=1e-5)


@pytest.mark.skipif(JAXLIB < (0, 7), reason="a manual computation inside of another came later")
def test_a_manual_computation_inside_of_another_has_its_own_axes():
    mesh = jax.make_mesh((2, 4), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)

    def inner(x: Any) -> Any:
        return lax.psum(x, "b")

    def outer(x: Any) -> Any:
        return lax.psum(
            shard_map(inner, in_specs=P(None, "b"), out_specs=P(), axis_names={"b"})(x), "a"
        )

    with jax.set_mesh(mesh):
        run = jax.jit(shard_map(outer, in_specs=P("a"), out_specs=P(), axis_names={"a"}))
        found = run(x)
    np.testing.assert_allclose(found, x.reshape(2, 4, 4, 2).sum((0, 2)))


def test_the_text_of_a_program_with_collectives_can_be_read():
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    run = jax.jit(
        shard_map(lambda x: lax.psum(x, "b"), mesh=mesh, in_specs=P("a", "b"), out_specs=P("a"))
    )
    text = run.lower(np.ones((8, 8), np.float32)).compile().as_text() or ""
    assert "all-reduce" in text
    assert "{0,1,2,3},{4,5,6,7}" in text


def test_an_exported_program_with_collectives_runs():
    for package in ("absl", "flatbuffers"):
        pytest.importorskip(package, reason="an exported program is written by it")
    from jax import export  # noqa: PLC0415 (older ones cannot be imported without these packages)

    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b"))
    sharding = jax.sharding.NamedSharding(mesh, P("a", "b"))
    run = jax.jit(
        shard_map(lambda x: lax.psum(x, "b"), mesh=mesh, in_specs=P("a", "b"), out_specs=P("a")),
        in_shardings=sharding,
    )
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    exported = export.export(run)(jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding))
    again = export.deserialize(exported.serialize())
    found = jax.jit(again.call)(jax.device_put(x, sharding))
    np.testing.assert_allclose(found, x.reshape(8, 4, 2).sum(1))


@pytest.mark.skipif(JAXLIB < (0, 5), reason="`jax.ffi` came later")
def test_what_is_scheduled_before_what_changes_no_value():
    # What `jax.experimental.control_deps` of JAX 0.11.0 calls; XLA's scheduler reads it.
    before = jax.ffi.ffi_call("control_dep", (), has_side_effect=True)

    def body(x):
        total, greatest = lax.psum(x, "i"), lax.pmax(x, "i")
        before(greatest, total)
        before(total, x)
        return total + greatest

    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    mapped = shard_map(
        body,
        mesh=Mesh(np.array(jax.devices()), ("i",)),
        in_specs=P("i"),
        out_specs=P(),
        **UNCHECKED,
    )
    np.testing.assert_array_equal(jax.jit(mapped)(x), x.sum(0, keepdims=True) + x[-1:])
