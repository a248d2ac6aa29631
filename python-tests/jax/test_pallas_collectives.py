"""Products over several devices whose copies run beside them, against collectives of XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from test_pallas import VMEM, near, normal
from test_pallas_devices import LOGICAL, anywhere

COUNT = 8
PART = jax.sharding.PartitionSpec
DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR
# At default precision operands of products are rounded to bf16.
TOLERANCE = {jnp.float32: 2e-2, jnp.bfloat16: 6e-2}


def neighbours() -> tuple[jax.Array, jax.Array, jax.Array]:
    """The device, and those on its left and right."""
    me = lax.axis_index("x")
    return me, lax.rem(me + COUNT - 1, COUNT), lax.rem(me + 1, COUNT)


def meet(left: jax.Array, right: jax.Array) -> None:
    barrier = pltpu.get_barrier_semaphore()
    for other in (left, right):
        pl.semaphore_signal(barrier, 1, device_id=other, device_id_type=LOGICAL)
    pl.semaphore_wait(barrier, 2)


def dot(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.dot(x, y, preferred_element_type=jnp.float32)


def gather_and_multiply(x: jax.Array, w: jax.Array) -> jax.Array:
    """All rows times the own columns: rows go around while those at hand are multiplied."""
    rows, depth = x.shape

    def kernel(x_ref, w_ref, o_ref, buffers, sent, received, free, here):
        me, left, right = neighbours()
        meet(left, right)
        pltpu.async_copy(x_ref, buffers.at[0], here).wait()
        pl.semaphore_signal(free, 1, device_id=left, device_id_type=LOGICAL)

        @pl.loop(0, COUNT)
        def _(step):
            current = lax.rem(step, 2)
            copy = pltpu.make_async_remote_copy(
                buffers.at[current],
                buffers.at[1 - current],
                sent.at[current],
                received.at[1 - current],
                device_id=right,
                device_id_type=LOGICAL,
            )

            @pl.when(step < COUNT - 1)
            def _():
                pl.semaphore_wait(free, 1)
                copy.start()

            source = lax.rem(me - step + COUNT, COUNT)
            made = dot(buffers[current], w_ref[...])
            o_ref[pl.ds(source * rows, rows), :] = made.astype(o_ref.dtype)

            @pl.when(step < COUNT - 1)
            def _():
                copy.wait()

            @pl.when(step < COUNT - 2)
            def _():
                pl.semaphore_signal(free, 1, device_id=left, device_id_type=LOGICAL)

    return pl.pallas_call(
        kernel,
        in_specs=[anywhere(), pl.BlockSpec(memory_space=VMEM)],
        out_specs=pl.BlockSpec(memory_space=VMEM),
        out_shape=jax.ShapeDtypeStruct((rows * COUNT, w.shape[1]), x.dtype),
        scratch_shapes=[VMEM((2, rows, depth), x.dtype), DMA((2,)), DMA((2,)), REGULAR, DMA],
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )(x, w)


def multiply_and_scatter(x: jax.Array, w: jax.Array) -> jax.Array:
    """The own rows of a sum over devices: sums go around while the next part is multiplied."""
    rows, columns = x.shape[0] // COUNT, w.shape[1]

    def kernel(x_ref, w_ref, o_ref, total, buffer, sent, received, free):
        me, left, right = neighbours()
        meet(left, right)

        def part(of):
            return dot(x_ref[pl.ds(of * rows, rows), :], w_ref[...])

        total[...] = part(left)
        pl.semaphore_signal(free, 1, device_id=left, device_id_type=LOGICAL)

        @pl.loop(0, COUNT - 1)
        def _(step):
            pl.semaphore_wait(free, 1)
            copy = pltpu.make_async_remote_copy(
                total, buffer, sent, received, device_id=right, device_id_type=LOGICAL
            )
            copy.start()
            own = part(lax.rem(me - step - 2 + 2 * COUNT, COUNT))
            copy.wait()
            total[...] = buffer[...] + own

            @pl.when(step < COUNT - 2)
            def _():
                pl.semaphore_signal(free, 1, device_id=left, device_id_type=LOGICAL)

        o_ref[...] = total[...].astype(o_ref.dtype)

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        scratch_shapes=[VMEM((rows, columns), jnp.float32)] * 2 + [DMA, DMA, REGULAR],
        compiler_params=pltpu.CompilerParams(collective_id=1),
    )(x, w)


def with_gradient(forward, backward):
    """A function with the gradient that a kernel of its own computes."""
    function = jax.custom_vjp(forward)
    function.defvjp(lambda x, w: (forward(x, w), (x, w)), backward)
    return function


# The gradient of the one is the other, as that of a gathering is a scattered sum.
gathered = with_gradient(
    gather_and_multiply,
    lambda kept, given: (
        multiply_and_scatter(given, kept[1].T),
        dot(lax.all_gather(kept[0], "x", tiled=True).T, given).astype(kept[1].dtype),
    ),
)
scattered = with_gradient(
    multiply_and_scatter,
    lambda kept, given: (
        gather_and_multiply(given, kept[1].T),
        dot(kept[0].T, lax.all_gather(given, "x", tiled=True)).astype(kept[1].dtype),
    ),
)


def plainly_gathered(x, w):
    return dot(lax.all_gather(x, "x", tiled=True), w).astype(x.dtype)


def plainly_scattered(x, w):
    return lax.psum_scatter(dot(x, w), "x", tiled=True).astype(x.dtype)


CASES = {
    "gathered": (gathered, plainly_gathered, PART("x"), PART(None, "x"), PART(None, "x")),
    "scattered": (scattered, plainly_scattered, PART(None, "x"), PART("x"), PART("x")),
}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["f32", "bf16"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_collective_product_and_its_gradient(case, dtype):
    kernel, plain, rows, columns, out = case
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:COUNT]), ("x",))
    x, w = normal(256, 1024, dtype=dtype), normal(1024, 1024, dtype=dtype, seed=1) / 32
    w = w.astype(dtype)
    weights = normal(256, 1024, seed=2)

    def run(function, x, w):
        return jax.shard_map(
            function, mesh=mesh, in_specs=(rows, columns), out_specs=out, check_vma=False
        )(x, w)

    def total(function):
        return lambda x, w: jnp.sum(run(function, x, w).astype(jnp.float32) * weights)

    near(jax.jit(lambda x, w: run(kernel, x, w))(x, w), run(plain, x, w), TOLERANCE[dtype])
    made, expected = (
        jax.jit(jax.grad(total(function), argnums=(0, 1)))(x, w) for function in (kernel, plain)
    )
    for one, other in zip(made, expected, strict=True):
        largest = float(jnp.max(jnp.abs(other.astype(jnp.float32))))
        near(one / largest, other / largest, TOLERANCE[dtype])
