"""What each device does for itself inside of `shard_map`, as `test_code_per_device` runs it."""

import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import Mesh, PartitionSpec

JAXLIB = tuple(map(int, jaxlib.version.__version__.split(".")[:3]))

if JAXLIB >= (0, 6):
    shard_map: Callable[..., Any] = jax.shard_map
    UNCHECKED: dict[str, Any] = {"check_vma": False}
else:
    from jax.experimental.shard_map import shard_map

    UNCHECKED = {"check_rep": False}

P = PartitionSpec
DEVICES = 8
LINE = Mesh(np.array(jax.devices()[:DEVICES]), ("x",))
PLANE = Mesh(np.array(jax.devices()[:DEVICES]).reshape(2, 4), ("a", "b"))


def mapped(body: Callable[..., Any], mesh: Mesh = LINE, axis: str = "x", **named: Any) -> Any:
    spec = P(axis)
    split = shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec, **UNCHECKED, **named)
    return jax.jit(split)


def called(host: Callable[..., Any], x: Any) -> Any:
    return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def parts(x: Any) -> np.ndarray:
    return np.asarray(x, np.float64).reshape(DEVICES, -1)


def check_each_device_makes_its_own_call():
    seen: list[np.ndarray] = []

    def host(x: np.ndarray) -> np.ndarray:
        seen.append(np.array(x))
        return x * 2 + 1

    x = jnp.arange(3.0 * DEVICES)
    made = mapped(lambda a: jnp.sin(called(host, a + 1)) + lax.psum(a, "x"))(x)
    np.testing.assert_allclose(
        parts(made), np.sin(parts(x) * 2 + 3) + parts(x).sum(0), rtol=1e-5, atol=1e-5
    )
    order = sorted(seen, key=lambda one: float(one[0]))
    np.testing.assert_array_equal(parts(np.array(order)), parts(x) + 1)


def check_effects_happen_on_every_device_also_where_all_have_the_same():
    own: list[tuple[int, float]] = []
    alike: list[float] = []

    def body(a: Any) -> Any:
        jax.debug.callback(lambda i, v: own.append((int(i), float(v))), lax.axis_index("x"), a[0])
        jax.debug.callback(lambda v: alike.append(float(v)), lax.psum(a, "x")[0])
        return a

    jax.block_until_ready(mapped(body)(jnp.arange(1.0 * DEVICES)))
    jax.effects_barrier()
    assert sorted(own) == [(device, float(device)) for device in range(DEVICES)]
    assert alike == [28.0] * DEVICES


def check_calls_inside_of_loops_and_branches():
    def body(a: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            carry = called(lambda v: v + 1, carry)
            return carry + lax.pmean(carry, "x"), None

        carry, _ = lax.scan(step, a, None, length=3)
        times = lax.axis_index("x") % 3
        carry = lax.fori_loop(0, times, lambda _, v: called(lambda w: w * 2, v), carry)
        even = lax.axis_index("x") % 2 == 0
        return lax.cond(even, lambda v: called(lambda w: w * 10, v), lambda v: v - 1, carry)

    x = jnp.arange(3.0 * DEVICES)
    wanted = parts(x)
    for _ in range(3):
        wanted = wanted + 1
        wanted = wanted + wanted.mean(0)
    number = np.arange(DEVICES)[:, None]
    wanted = wanted * 2.0 ** (number % 3)
    wanted = np.where(number % 2 == 0, wanted * 10, wanted - 1)
    np.testing.assert_allclose(parts(mapped(body)(x)), wanted, rtol=1e-5)


def check_parts_of_any_size_reach_the_host():
    sizes = [(0, np.float32), (1, np.uint8), (3, np.int16), (5, np.bool_), (16, np.float32)]
    for extent, dtype in sizes:
        x: np.ndarray = (np.arange(DEVICES * extent) % 5).astype(dtype)
        np.testing.assert_array_equal(mapped(lambda a: called(np.copy, a))(x), x)


def check_draws_without_a_state_differ_between_devices():
    def body(a: Any) -> Any:
        return lax.rng_uniform(jnp.float32(0), jnp.float32(1), a.shape)

    drawn = np.asarray(mapped(body)(jnp.zeros(4 * DEVICES)))
    assert len(np.unique(drawn)) > 3 * DEVICES


def check_a_kernel_on_each_device():
    def double(source: Any, target: Any) -> None:
        target[...] = source[...] * 2 + 1

    def body(a: Any) -> Any:
        made = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(a.shape, a.dtype))(a + 1)
        return made + lax.psum(a, "x")

    x = jnp.arange(DEVICES * 8 * 128.0).reshape(-1, 128)
    np.testing.assert_allclose(
        parts(mapped(body)(x)), parts(x) * 2 + 3 + parts(x).sum(0), rtol=1e-6
    )


def check_code_per_device_inside_of_such_code():
    seen: list[int] = []

    def inner(v: Any) -> Any:
        v = called(lambda w: w + 1, v)
        return jnp.sin(v) + lax.psum(v, "b") * 2 + lax.axis_index("b")

    def outer(v: Any) -> Any:
        jax.debug.callback(lambda i: seen.append(int(i)), lax.axis_index("a"))

        def step(carry: Any, _: Any) -> Any:
            nested = jax.shard_map(
                inner, in_specs=P("b"), out_specs=P("b"), axis_names={"b"}, **UNCHECKED
            )
            carry = nested(carry) + lax.psum(carry, "a")
            return carry + lax.axis_index("a"), None

        return lax.scan(step, v, None, length=3)[0]

    x = jnp.arange(64.0) / 50
    made = mapped(outer, PLANE, "a", axis_names={"a"})(x)
    jax.effects_barrier()
    wanted = np.asarray(x, np.float64).reshape(2, 4, 8)
    for _ in range(3):
        nested = wanted + 1
        nested = np.sin(nested) + 2 * nested.sum(1, keepdims=True) + np.arange(4)[:, None]
        wanted = nested + wanted.sum(0) + np.arange(2)[:, None, None]
    np.testing.assert_allclose(np.asarray(made), wanted.reshape(-1), rtol=1e-4)
    assert sorted(set(seen)) == [0, 1]


globals()[sys.argv[1]]()
print("checked")
