"""`jax.custom_partitioning`: functions of the client's that split a call over devices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from emulator import JAXLIB

P = PartitionSpec
RULES = JAXLIB >= (0, 6)


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))


def product(seen: list[Any]) -> Any:
    """A product whose sum is split over `y`."""

    @custom_partitioning
    def f(a: Any, b: Any) -> Any:
        return a @ b

    def partition(mesh: Any, arguments: Any, result: Any) -> Any:
        shardings = tuple(one.sharding for one in arguments)

        def lower(a: Any, b: Any) -> Any:
            seen.append((a.shape, b.shape))
            return jax.lax.psum(a @ b, "y")

        wanted = (NamedSharding(mesh, P("x", "y")), NamedSharding(mesh, P("y", None)))
        assert len(shardings) == 2
        return mesh, lower, NamedSharding(mesh, P("x", None)), wanted

    def infer(mesh: Any, arguments: Any, result: Any) -> Any:
        del arguments, result
        return NamedSharding(mesh, P("x", None))

    rule = {"sharding_rule": "i j, j k -> i k"} if RULES else {}
    f.def_partition(partition, infer_sharding_from_operands=infer, **rule)
    return f


def arrays(mesh: Any) -> tuple[Any, Any, np.ndarray]:
    left, right = np.arange(128.0).reshape(8, 16), np.arange(64.0).reshape(16, 4)
    a = jax.device_put(left, NamedSharding(mesh, P("x", "y")))
    b = jax.device_put(right, NamedSharding(mesh, P("y", None)))
    return a, b, left @ right


def test_a_device_computes_with_its_parts() -> None:
    seen: list[Any] = []
    here = mesh()
    a, b, wanted = arrays(here)
    with here:
        out = jax.jit(product(seen))(a, b)
    assert seen == [((2, 8), (8, 4))]
    np.testing.assert_array_equal(out, wanted)
    assert out.sharding.shard_shape(out.shape) == (2, 4)


def test_it_stands_in_loops_and_between_other_operations() -> None:
    seen: list[Any] = []
    here = mesh()
    a, b, wanted = arrays(here)
    code = product(seen)

    def step(total: Any, factor: Any) -> Any:
        return total + code(a * factor, b), None

    with here:
        out = jax.jit(lambda: jax.lax.scan(step, jnp.zeros((8, 4)), jnp.arange(3.0))[0])()
    np.testing.assert_array_equal(out, 3 * wanted)


def test_a_device_runs_any_code() -> None:
    @custom_partitioning
    def f(a: Any) -> Any:
        return a, a.sum()

    def code(a: Any) -> Any:
        sums = jax.lax.fori_loop(0, 3, lambda at, b: b + jnp.cumsum(b, axis=1) * at, a)
        best, at = jax.lax.top_k(jnp.sort(sums, axis=1), 2)
        taken = jnp.take_along_axis(sums, at, axis=1) + jax.scipy.special.erf(best)
        return jnp.concatenate([sums @ jnp.ones((8, 6)), taken], axis=1)

    def lower(a: Any) -> Any:
        a = code(a) + jax.lax.axis_index("x")
        return a, jax.lax.psum(a.sum(), "x")

    def partition(mesh: Any, arguments: Any, result: Any) -> Any:
        rows = NamedSharding(mesh, P("x", None))
        return mesh, lower, (rows, NamedSharding(mesh, P())), (rows,)

    def infer(mesh: Any, arguments: Any, result: Any) -> Any:
        return NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P())

    rule = {"sharding_rule": "i j -> i j,"} if RULES else {}
    f.def_partition(partition, infer_sharding_from_operands=infer, **rule)
    here = mesh()
    array = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    with here:
        out, total = jax.jit(f)(jax.device_put(array, NamedSharding(here, P("x", None))))
    wanted = np.concatenate(
        [np.asarray(jax.jit(code)(array[at : at + 2])) + at // 2 for at in range(0, 8, 2)]
    )
    np.testing.assert_allclose(out, wanted, rtol=1e-5)
    np.testing.assert_allclose(total, wanted.sum(), rtol=1e-4)


def test_errors_of_the_client_are_errors_of_the_compilation() -> None:
    @custom_partitioning
    def f(a: Any) -> Any:
        return a

    def partition(mesh: Any, arguments: Any, result: Any) -> Any:
        raise KeyError("no way to split this")

    rule = {"sharding_rule": "i j -> i j"} if RULES else {}
    f.def_partition(
        partition, infer_sharding_from_operands=lambda _, args, out: args[0].sharding, **rule
    )
    here = mesh()
    a, _, _ = arrays(here)
    with here, pytest.raises(Exception, match="no way to split this"):
        jax.jit(f)(a)
    # The next compilation does not see it.
    np.testing.assert_array_equal(jax.jit(jnp.negative)(a), -np.asarray(a))
