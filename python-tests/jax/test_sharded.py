"""Programs over all eight devices: shardings, shard_map, pmap, and what each device is charged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from emulator import JAXLIB

if JAXLIB >= (0, 6):
    shard_map: Callable[..., Any] = jax.shard_map
else:
    from jax.experimental.shard_map import shard_map

P = PartitionSpec
X = np.arange(64, dtype=np.float32).reshape(8, 8)


@pytest.fixture
def grid() -> Mesh:
    """Four by two devices."""
    return Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))


@pytest.fixture
def line() -> Mesh:
    """Eight devices in a row."""
    return Mesh(np.array(jax.devices()), ("i",))


def mapped(line: Mesh, body: Callable[..., Any], takes: Any, gives: Any) -> Callable[..., Any]:
    """A function that runs once on every device of the row."""
    return jax.jit(shard_map(body, mesh=line, in_specs=takes, out_specs=gives))


def test_a_program_over_tiles_gives_what_it_gives_over_the_whole(grid: Mesh):
    x = jax.device_put(X, NamedSharding(grid, P("x", "y")))
    product = jax.jit(lambda x: jnp.sin(x) @ x.T)(x)
    np.testing.assert_allclose(product, np.sin(X) @ X.T, rtol=2e-2, atol=2)
    assert product.addressable_shards[0].data.shape == (2, 8)
    total, mean = jax.jit(lambda x: (x.sum(), x.mean(0)))(x)
    assert total == X.sum()
    np.testing.assert_allclose(mean, X.mean(0))


def test_results_are_where_the_caller_wants_them(grid: Mesh):
    x = jax.device_put(X, NamedSharding(grid, P("x", "y")))
    wanted = NamedSharding(grid, P("y"))
    result = jax.jit(lambda x: x + 1, out_shardings=wanted)(x)
    assert result.sharding.is_equivalent_to(wanted, 2)
    for shard in result.addressable_shards:
        np.testing.assert_array_equal(shard.data, (X + 1)[shard.index])
    inside = jax.jit(lambda x: lax.with_sharding_constraint(x * 2, wanted) + 1)(x)
    np.testing.assert_array_equal(inside, X * 2 + 1)


def test_the_shardings_of_a_program_are_told(grid: Mesh):
    x = jax.device_put(X, NamedSharding(grid, P("x")))
    compiled = jax.jit(lambda x: (x * 2, x.sum())).lower(x).compile()
    ((taken,), _) = compiled.input_shardings
    assert taken.is_equivalent_to(NamedSharding(grid, P("x")), 2)
    doubled, total = compiled.output_shardings
    assert doubled.is_equivalent_to(NamedSharding(grid, P("x")), 2)
    assert total.is_fully_replicated


def test_sums_and_gathers_are_over_all_devices(line: Mesh):
    total = mapped(line, lambda a: lax.psum(a, "i"), P("i"), P())(X)
    np.testing.assert_array_equal(total, X.sum(0, keepdims=True))
    largest = mapped(line, lambda a: lax.pmax(a, "i"), P("i"), P())(X)
    np.testing.assert_array_equal(largest, X[7:])
    gathered = mapped(line, lambda a: lax.all_gather(a, "i", tiled=True) + a, P("i"), P("i"))(X)
    expected = np.concatenate([X + row for row in X])
    np.testing.assert_array_equal(gathered, expected)


def test_values_move_between_devices(line: Mesh):
    ring = [(device, (device + 1) % 8) for device in range(8)]
    moved = mapped(line, lambda a: lax.ppermute(a, "i", ring), P("i"), P("i"))(X)
    np.testing.assert_array_equal(moved, np.roll(X, 1, 0))
    some = mapped(line, lambda a: lax.ppermute(a, "i", [(0, 3)]), P("i"), P("i"))(X)
    np.testing.assert_array_equal(some, np.where(np.arange(8)[:, None] == 3, X[0], 0))

    def exchange(a: jax.Array) -> jax.Array:
        return lax.all_to_all(a, "i", 1, 0, tiled=True)

    np.testing.assert_array_equal(mapped(line, exchange, P("i"), P(None, "i"))(X), X)

    def scatter(a: jax.Array) -> jax.Array:
        return lax.psum_scatter(a[0], "i", tiled=True)

    np.testing.assert_array_equal(mapped(line, scatter, P("i"), P("i"))(X), X.sum(0))


def test_a_device_knows_its_number(line: Mesh):
    numbered = mapped(line, lambda a: a + lax.axis_index("i"), P("i"), P("i"))(X)
    np.testing.assert_array_equal(numbered, X + np.arange(8)[:, None])


def test_loops_and_branches_with_collectives(line: Mesh):
    def rounds(a: jax.Array) -> jax.Array:
        return lax.fori_loop(0, 3, lambda _, v: v * 0 + lax.psum(v, "i") / 8 + 1, a)

    found = mapped(line, rounds, P("i"), P("i"))(X)
    np.testing.assert_allclose(found, np.tile(X.mean(0) + 3, (8, 1)))

    def branch(a: jax.Array) -> jax.Array:
        positive = lax.psum(a.sum(), "i") > 0
        return lax.cond(positive, lambda v: v * 0 + lax.psum(v, "i"), lambda v: -v, a)

    found = mapped(line, branch, P("i"), P("i"))(X)
    np.testing.assert_array_equal(found, np.tile(X.sum(0), (8, 1)))


def test_gradients_go_through(line: Mesh):
    loss = mapped(line, lambda a: lax.psum((a**2).sum(), "i"), P("i"), P())
    np.testing.assert_allclose(jax.grad(loss)(X), 2 * X)


@pytest.mark.skipif(JAXLIB < (0, 6), reason="shard_map has no axis_names before")
def test_some_axes_of_the_mesh_may_be_left_to_the_compiler(grid: Mesh):
    def body(a: jax.Array) -> jax.Array:
        return lax.psum(a, "x") + lax.axis_index("x") * 0

    x = jax.device_put(X, NamedSharding(grid, P("x", "y")))
    partly = jax.jit(
        shard_map(body, mesh=grid, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    )
    expected = np.tile(X.reshape(4, 2, 8).sum(0), (4, 1))
    np.testing.assert_array_equal(partly(x), expected)


def test_pmap_runs_on_every_device():
    def body(a: jax.Array) -> jax.Array:
        return a - lax.pmean(a, "i") + lax.axis_index("i")

    found = jax.pmap(body, axis_name="i")(X)
    np.testing.assert_allclose(found, X - X.mean(0) + np.arange(8)[:, None], rtol=1e-6)


def test_every_device_is_charged_for_its_own_part(line: Mesh):
    devices = jax.devices()
    split = NamedSharding(line, P("i"))
    x = jax.block_until_ready(jax.device_put(np.zeros((8, 4096), np.float32), split))
    program = jax.jit(lambda x: x + 1, out_shardings=split)
    compiled = program.lower(x).compile()
    memory = compiled.memory_analysis()
    assert memory is not None
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 4096 * 4
    before = [device.memory_stats()["bytes_in_use"] for device in devices]
    result = jax.block_until_ready(compiled(x))
    after = [device.memory_stats()["bytes_in_use"] for device in devices]
    assert [now - then for now, then in zip(after, before, strict=True)] == [4096 * 4] * 8
    assert result.addressable_shards[0].data.shape == (1, 4096)


def test_donated_parts_are_gone_on_every_device(line: Mesh):
    split = NamedSharding(line, P("i"))
    x = jax.device_put(X, split)
    addresses = [shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards]
    result = jax.jit(lambda x: x + 1, donate_argnums=0, out_shardings=split)(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(result, X + 1)
    now = [shard.data.unsafe_buffer_pointer() for shard in result.addressable_shards]
    assert now == addresses


def test_other_parts_than_the_program_wants_are_an_error(line: Mesh):
    compiled = jax.jit(lambda x: x + 1).lower(jax.device_put(X, NamedSharding(line, P("i"))))
    with pytest.raises(ValueError, match="sharding"):
        compiled.compile()(jax.device_put(X, NamedSharding(line, P(None, "i"))))


def test_an_optimizer_updates_split_and_whole_arrays_with_the_bits_of_one_device(grid: Mesh):
    random = np.random.default_rng(0)
    specs = {"a": P("x"), "b": P(None, "y"), "c": P("x", "y"), "d": P(), "e": P(("x", "y"))}
    dims = {"a": (64, 33), "b": (31, 64), "c": (64, 64), "d": (77,), "e": (64, 8)}

    def drawn() -> dict[str, Any]:
        return {key: random.standard_normal(of).astype("float32") for key, of in dims.items()}

    def step(weights: Any, means: Any, squares: Any, count: Any, slopes: Any) -> Any:
        count = count + 1
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, slopes)
        squares = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, squares, slopes)

        def moved(w: Any, m: Any, v: Any) -> Any:
            scale = jnp.sqrt(v / (1 - 0.99**count)) + 1e-8
            return w - 1e-3 * m / (1 - 0.9**count) / scale

        return jax.tree.map(moved, weights, means, squares), means, squares, count

    given = (drawn(), drawn(), drawn(), np.float32(3), drawn())
    alone = jax.jit(step)(*given)
    placed = {key: NamedSharding(grid, spec) for key, spec in specs.items()}
    number = NamedSharding(grid, P())
    arguments = jax.device_put(given, (placed, placed, placed, number, placed))
    jitted = jax.jit(step, donate_argnums=(0, 1, 2), out_shardings=(placed, placed, placed, number))
    made = jitted(*arguments)
    for one, other in zip(jax.tree.leaves(made), jax.tree.leaves(alone), strict=True):
        for shard in one.addressable_shards:
            np.testing.assert_array_equal(shard.data, np.asarray(other)[shard.index])


@pytest.mark.parametrize("form", ["jit", "shard_map"])
def test_donated_shards_are_updated_where_they_lie(line: Mesh, form: str):
    def peak_mib() -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        [told] = [line for line in lines if line.startswith("VmHWM:")]
        return int(told.split()[1]) / 1024

    def function(x: Any) -> Any:
        return x * 1.5 + 0.5

    x = jax.device_put(np.ones(16 << 20, np.float32), NamedSharding(line, P("i")))
    mapped_function = shard_map(function, mesh=line, in_specs=P("i"), out_specs=P("i"))
    step = jax.jit(function if form == "jit" else mapped_function, donate_argnums=0)
    x = step(x)
    x.block_until_ready()
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mib()
    for _ in range(3):
        x = step(x)
    x.block_until_ready()
    # The whole array has 64 MiB.
    assert peak_mib() - before < 8
    assert x[0] == ((2 * 1.5 + 0.5) * 1.5 + 0.5) * 1.5 + 0.5
