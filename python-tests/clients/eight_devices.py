"""Checks of eight devices and their memory: shardings, collectives, donation, limits, layouts."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental.layout import Format, Layout
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from against_cpu import Check, close, raised, values

CHECKS: list[Check] = []
ROWS = P("x")


def _check(check: Check) -> Check:
    CHECKS.append(check)
    return check


def _mesh(*shape: int) -> Mesh:
    names = ("x", "y", "z")[: len(shape)]
    return Mesh(np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape), names)


@_check
def eight_devices_and_what_they_say():
    devices = jax.devices()
    assert len(devices) == jax.device_count() == jax.local_device_count() == 8
    assert [device.id for device in devices] == list(range(8))
    assert {device.platform for device in devices} == {"tpu"}
    assert len({tuple(device.coords) for device in devices}) == 8
    assert jax.default_backend() == "tpu"


@_check
def arrays_divided_and_put_together_again():
    x = values(8, 12)
    mesh = _mesh(4, 2)
    for spec in (P("x", "y"), P("y"), P(None, "x"), P(("x", "y")), P()):
        array = jax.device_put(x, NamedSharding(mesh, spec))
        assert np.array_equal(array, x)
        for shard in array.addressable_shards:
            assert np.array_equal(shard.data, x[shard.index])
    made = jax.make_array_from_callback((8, 12), NamedSharding(mesh, P("y", "x")), lambda i: x[i])
    assert np.array_equal(made, x)
    assert np.array_equal(jax.device_put(made, NamedSharding(mesh, P("x"))), x)


@_check
def programs_divided_by_their_arguments():
    mesh = _mesh(4, 2)
    a = jax.device_put(values(8, 16), NamedSharding(mesh, P("x", "y")))
    b = jax.device_put(values(16, 4), NamedSharding(mesh, P("y")))
    product = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, P("x")))(a, b)
    assert product.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 2)
    close(product, values(8, 16) @ values(16, 4))

    @jax.jit
    def constrained(x):
        x = lax.with_sharding_constraint(jnp.sin(x), NamedSharding(mesh, P(None, "x")))
        return jnp.sort(x, 0).sum(1)

    close(constrained(a), np.sort(np.sin(values(8, 16)), 0).sum(1))


@_check
def gradients_of_a_net_over_a_mesh():
    mesh = _mesh(8)
    x, w = values(16, 6), values(6, 3)

    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    divided = jax.device_put(x, NamedSharding(mesh, P("x")))
    same = jax.device_put(w, NamedSharding(mesh, P()))
    close(jax.jit(jax.grad(loss))(same, divided), jax.grad(loss)(w, x))


@_check
def collectives_of_shard_map():
    x = values(8, 16)
    rows = x.reshape(8, 1, 16)

    def run(body, out=ROWS, **options):
        return jax.jit(
            jax.shard_map(body, mesh=_mesh(8), in_specs=P("x"), out_specs=out, **options)
        )(x)

    close(run(lambda x: lax.psum(x, "x"), P()), rows.sum(0))
    close(run(lambda x: lax.pmean(x, "x"), P()), rows.mean(0))
    close(run(lambda x: lax.pmax(x, "x"), P()), rows.max(0))
    close(run(lambda x: lax.pmin(x, "x"), P()), rows.min(0))
    close(run(lambda x: lax.all_gather(x, "x")[:, 0], check_vma=False, out=P()), x)
    scattered = run(lambda x: lax.psum_scatter(x[0], "x", tiled=True))
    close(scattered, x.sum(0))
    exchanged = run(lambda x: lax.all_to_all(x, "x", 1, 0, tiled=True))
    close(exchanged, x.reshape(8, 8, 2).swapaxes(0, 1).reshape(64, 2))
    ring = [(i, (i + 1) % 8) for i in range(8)]
    close(run(lambda x: lax.ppermute(x, "x", ring)), np.roll(x, 1, 0))
    close(run(lambda x: x * 0 + lax.axis_index("x")), np.arange(8.0)[:, None] + 0 * x)


@_check
def collectives_over_parts_of_a_mesh():
    x = values(4, 6)

    def body(x):
        return lax.psum(x, "x") + lax.pmax(x, "y") * lax.axis_size("y")

    got = jax.jit(
        jax.shard_map(body, mesh=_mesh(4, 2), in_specs=P("x", "y"), out_specs=P("x", "y"))
    )(x)
    parts = x.reshape(4, 2, 3)
    close(got, (x.sum(0) + 2 * parts.max(1, keepdims=True).repeat(2, 1).reshape(4, 6)))


@_check
def gradients_through_collectives():
    x = values(8, 4)

    def body(x):
        total = lax.psum(jnp.sin(x), "x")
        moved = lax.ppermute(x, "x", [(i, (i + 3) % 8) for i in range(8)])
        return jnp.sum(total * lax.all_gather(x, "x").mean() + moved * x, keepdims=True)[0]

    def loss(x):
        return jnp.sum(jax.shard_map(body, mesh=_mesh(8), in_specs=P("x"), out_specs=P("x"))(x))

    def plain(x):
        total = jnp.sin(x).sum(0)
        return 8 * jnp.sum(total) * x.mean() + jnp.sum(jnp.roll(x, 3, 0) * x)

    close(jax.jit(jax.grad(loss))(x), jax.grad(plain)(x), rtol=1e-3)


@_check
def pmap_and_its_collectives():
    x = values(8, 5)
    close(jax.pmap(lambda x: lax.psum(x, "i"), "i")(x), np.broadcast_to(x.sum(0), (8, 5)))
    close(jax.pmap(lambda x, y: x * y, in_axes=(0, None))(x, 3.0), 3 * x)
    slopes = jax.pmap(jax.grad(lambda x: jnp.sum(lax.pmean(x, "i") ** 2)), "i")(x)
    assert slopes.shape == (8, 5)


@_check
def donated_arguments_give_their_memory():
    device = jax.devices()[0]
    add = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jax.block_until_ready(jax.device_put(np.zeros((1024, 1024), np.float32), device))
    before = device.memory_stats()["bytes_in_use"]
    given = x
    for _ in range(5):
        x = add(x)
    jax.block_until_ready(x)
    assert given.is_deleted()
    assert device.memory_stats()["bytes_in_use"] == before
    assert np.asarray(x)[0, 0] == 5


@_check
def memory_is_counted_to_the_byte():
    device = jax.devices()[3]
    before = device.memory_stats()
    array = jax.block_until_ready(jax.device_put(np.zeros((8, 129), np.float32), device))
    during = device.memory_stats()
    assert during["bytes_in_use"] - before["bytes_in_use"] == 8192
    assert during["num_allocs"] == before["num_allocs"] + 1
    array.delete()
    assert device.memory_stats()["bytes_in_use"] == before["bytes_in_use"]
    assert during["bytes_limit"] > 2**33


@_check
def a_device_that_is_full_says_so_and_goes_on():
    limit = jax.devices()[0].memory_stats()["bytes_limit"]
    words = raised(jax.jit(lambda: jnp.zeros(limit // 2, jnp.float32)))
    assert "RESOURCE_EXHAUSTED" in words, words
    assert jnp.sum(jnp.ones(10)) == 10


@_check
def memory_of_the_host():
    device = jax.devices()[0]
    host = SingleDeviceSharding(device, memory_kind="pinned_host")
    array = jax.device_put(values(16, 16), host)
    assert array.sharding.memory_kind == "pinned_host"
    assert np.array_equal(array, values(16, 16))
    back = jax.device_put(array, SingleDeviceSharding(device, memory_kind="device"))
    close(jax.jit(lambda x: x * 2)(back), 2 * values(16, 16))
    assert {memory.kind for memory in device.addressable_memories()} >= {"device", "pinned_host"}


@_check
def layouts_that_are_asked_for():
    sharding = SingleDeviceSharding(jax.devices()[0])
    wanted = Format(Layout(major_to_minor=(1, 0)), sharding)
    array = jax.device_put(values(8, 16), wanted)
    assert array.format.layout.major_to_minor == (1, 0)
    assert np.array_equal(array, values(8, 16))
    close(jax.jit(lambda x: x @ x.T, in_shardings=wanted)(array), values(8, 16) @ values(8, 16).T)
    free = jax.jit(lambda x: x.T, out_shardings=Format(Layout.AUTO))
    assert np.array_equal(free(array), values(8, 16).T)


@_check
def copies_between_devices():
    x = jax.device_put(values(33, 7), jax.devices()[1])
    for target in (jax.devices()[6], jax.devices("cpu")[0], jax.devices()[0]):
        x = jax.device_put(x, target)
        assert x.devices() == {target}
    assert np.array_equal(x, values(33, 7))


@_check
def explicit_axes_in_types():
    mesh = jax.make_mesh((4, 2), ("x", "y"), (jax.sharding.AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh):
        a = jax.device_put(values(8, 4), P("x", "y"))
        b = jax.device_put(values(4, 6), P("y", None))
        product = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x")))(a, b)
        assert jax.typeof(product).sharding.spec == P("x", None)
        close(product, values(8, 4) @ values(4, 6))
