"""Kernels that are to be watched, each with a mistake and without: a program that runs all."""

import inspect
import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

VMEM, SMEM = pltpu.VMEM, pltpu.SMEM
DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR
LOGICAL = pl.DeviceIdType.LOGICAL
BLOCK = jax.ShapeDtypeStruct((32, 128), jnp.float32)
SPEC = jax.sharding.PartitionSpec("x")


def example() -> jax.Array:
    return jnp.arange(32.0 * 128).reshape(32, 128)


def anywhere() -> pl.BlockSpec:
    return pl.BlockSpec(memory_space=pl.ANY)


def on_two(function: Callable[..., Any]) -> jax.Array:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    run = jax.shard_map(function, mesh=mesh, in_specs=SPEC, out_specs=SPEC, check_vma=False)
    return jax.jit(run)(jnp.arange(64.0 * 128).reshape(64, 128))


# Each takes whether it makes its mistake, and has the line marked that is told first.


def a_buffer_that_is_read_before_the_copy_has_come(wrong):
    def kernel(x_ref, o_ref, scratch, done):
        copy = pltpu.make_async_copy(x_ref, scratch, done)
        copy.start()  # here
        if not wrong:
            copy.wait()
        o_ref[...] = scratch[...]
        if wrong:
            copy.wait()

    return pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_shape=BLOCK,
        scratch_shapes=[VMEM((32, 128), jnp.float32), DMA],
    )(example())


def a_sum_that_begins_with_nothing(wrong):
    def kernel(x_ref, o_ref, scratch):
        if not wrong:

            @pl.when(pl.program_id(0) == 0)
            def _():
                scratch[...] = jnp.zeros_like(scratch)

        scratch[...] += x_ref[...]  # here
        o_ref[...] = scratch[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[block],
        out_specs=block,
        out_shape=BLOCK,
        scratch_shapes=[VMEM((8, 128), jnp.float32)],
    )(example())


def rows_behind_those_that_were_written(wrong):
    def kernel(x_ref, o_ref, scratch):
        scratch[0:20, :] = x_ref[0:20, :]
        value = scratch[...]  # here
        if not wrong:
            rows = lax.broadcasted_iota(jnp.int32, (32, 128), 0)
            value = jnp.where(rows < 20, value, 0.0)
        o_ref[...] = value

    return pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=[VMEM((32, 128), jnp.float32)])(
        example()
    )


def an_integer_that_nobody_has_set(wrong):
    def kernel(x_ref, o_ref, count):
        if not wrong:
            count[0] = 0
        count[0] = count[0] + 1  # here
        o_ref[...] = x_ref[...] * count[0].astype(jnp.float32)

    return pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=[SMEM((4,), jnp.int32)])(
        example()
    )


def a_result_that_is_read_before_it_is_written(wrong):
    def kernel(x_ref, o_ref):
        if not wrong:
            o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[...] = o_ref[...] + x_ref[...]  # here

    return pl.pallas_call(kernel, out_shape=BLOCK)(example())


def a_result_that_nobody_writes(wrong):
    def kernel(x_ref, o_ref, last_ref):
        o_ref[...] = x_ref[...]
        if not wrong:
            last_ref[...] = x_ref[...]

    return pl.pallas_call(kernel, out_shape=[BLOCK, BLOCK])(example())[1]  # here


def a_copy_that_was_forgotten(wrong):
    def kernel(x_ref, o_ref):
        if not wrong:
            pltpu.sync_copy(x_ref, o_ref)

    call = pl.pallas_call(kernel, in_specs=[anywhere()], out_specs=anywhere(), out_shape=BLOCK)
    return call(example())  # here


def a_grid_that_is_too_short(wrong):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    return pl.pallas_call(  # here
        kernel,
        grid=(3 if wrong else 4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=BLOCK,
    )(example())


def a_block_that_no_condition_writes(wrong):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) > (0 if wrong else -1))
        def _():
            o_ref[...] = x_ref[...]

    return pl.pallas_call(  # here
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=BLOCK,
    )(example())


def a_buffer_that_the_other_device_may_still_write(wrong):
    def kernel(x_ref, o_ref, buffer, sent, received, ready):
        me = lax.axis_index("x")
        buffer[...] = jnp.zeros_like(buffer)  # here
        if not wrong:
            pl.semaphore_signal(ready, 1, device_id=1 - me, device_id_type=LOGICAL)
            pl.semaphore_wait(ready, 1)
        copy = pltpu.make_async_remote_copy(
            x_ref, buffer, sent, received, device_id=1 - me, device_id_type=LOGICAL
        )
        copy.start()
        copy.wait()
        o_ref[...] = buffer[...]

    scratch = [VMEM((32, 128), jnp.float32), DMA, DMA, REGULAR]
    return on_two(pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=scratch))


def a_buffer_that_is_used_again_before_it_was_sent(wrong):
    def kernel(x_ref, o_ref, buffer, sent, received):
        me = lax.axis_index("x")
        buffer[...] = x_ref[...]
        copy = pltpu.make_async_remote_copy(
            buffer, o_ref, sent, received, device_id=1 - me, device_id_type=LOGICAL
        )
        copy.start()  # here
        if not wrong:
            copy.wait_send()
        buffer[...] = jnp.zeros_like(buffer)
        if wrong:
            copy.wait_send()
        copy.wait_recv()

    scratch = [VMEM((32, 128), jnp.float32), DMA, DMA]
    return on_two(pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=scratch))


KERNELS = [
    (a_buffer_that_is_read_before_the_copy_has_come, "race"),
    (a_sum_that_begins_with_nothing, "nobody has written"),
    (rows_behind_those_that_were_written, "nobody has written"),
    (an_integer_that_nobody_has_set, "nobody has written"),
    (a_result_that_is_read_before_it_is_written, "nobody has written"),
    (a_result_that_nobody_writes, "nobody writes result 1"),
    (a_copy_that_was_forgotten, "nobody writes result 0"),
    (a_grid_that_is_too_short, "no point of the grid has block [3, 0]"),
    (a_block_that_no_condition_writes, "has block [0, 0] of [8, 128] writes to it"),
    (a_buffer_that_the_other_device_may_still_write, "race"),
    (a_buffer_that_is_used_again_before_it_was_sent, "race"),
]


def marked(function: Callable[..., Any]) -> int:
    """The line of the mark."""
    lines, first = inspect.getsourcelines(function)
    [at] = [at for at, line in enumerate(lines) if line.rstrip().endswith("# here")]
    return first + at


def told(function: Callable[..., Any], *, wrong: bool) -> str:
    """The first line of what is said of a kernel; nothing where it runs."""
    try:
        np.asarray(function(wrong))
    except jax.errors.JaxRuntimeError as error:
        return str(error).split("\n")[0]
    return ""


def tell(kernels: list[tuple[Callable[..., Any], str]]) -> None:
    """Prints what is said of each with its mistake and without."""
    print(json.dumps({f.__name__: [told(f, wrong=True), told(f, wrong=False)] for f, _ in kernels}))


if __name__ == "__main__":
    tell(KERNELS)
