"""Kernels on the two TensorCores of a v5p, each with a mistake and without."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from watched_kernels import BLOCK, DMA, REGULAR, SMEM, VMEM, example, tell

HALF = VMEM((16, 128), jnp.float32)


def on_cores(kernel: Callable[..., None], *scratch: Any) -> jax.Array:
    mesh = pltpu.create_tensorcore_mesh("core")
    run = pl.kernel(kernel, out_type=BLOCK, mesh=mesh, scratch_types=list(scratch))
    made: jax.Array = jax.jit(run)(example())
    return made


def rows_that_both_cores_write(wrong):
    def kernel(x_ref, o_ref, buffer):
        core = lax.axis_index("core")
        pltpu.sync_copy(x_ref.at[pl.ds(core * 16, 16)], buffer)
        pltpu.sync_copy(buffer, o_ref.at[pl.ds(0 if wrong else core * 16, 16)])  # here

    return on_cores(kernel, HALF)


def a_buffer_that_the_other_core_may_still_read(wrong):
    def kernel(x_ref, o_ref, buffers, ready, copied):
        mine, theirs = buffers.at[0], buffers.at[1]
        core = lax.axis_index("core")
        rows = pl.ds(core * 16, 16)
        pltpu.sync_copy(x_ref.at[rows], mine)
        theirs[...] = jnp.zeros((16, 128), jnp.float32)  # here
        if not wrong:
            pl.semaphore_signal(ready, 1, device_id={"core": 1 - core})
            pl.semaphore_wait(ready, 1)
        copy = pltpu.make_async_remote_copy(
            mine, theirs, copied.at[0], copied.at[1], device_id={"core": 1 - core}
        )
        copy.start()
        copy.wait()
        pltpu.sync_copy(theirs, o_ref.at[rows])

    return on_cores(kernel, VMEM((2, 16, 128), jnp.float32), REGULAR, DMA((2,)))


def a_core_that_waits_for_itself(wrong):
    def kernel(x_ref, o_ref, buffer, ready):
        core = lax.axis_index("core")
        rows = pl.ds(core * 16, 16)
        pltpu.sync_copy(x_ref.at[rows], buffer)

        @pl.when(jnp.logical_or(core == 0, not wrong))
        def _():
            pl.semaphore_signal(ready, 1, device_id={"core": 1 - core})

        pl.semaphore_wait(ready, 1)  # here
        pltpu.sync_copy(buffer, o_ref.at[rows])

    return on_cores(kernel, HALF, REGULAR)


def a_core_that_is_signalled_once_too_often(wrong):
    def kernel(x_ref, o_ref, buffer, ready):
        core = lax.axis_index("core")
        rows = pl.ds(core * 16, 16)
        pltpu.sync_copy(x_ref.at[rows], buffer)
        pl.semaphore_signal(ready, 1 + wrong, device_id={"core": 1 - core})  # here
        pl.semaphore_wait(ready, 1)
        pltpu.sync_copy(buffer, o_ref.at[rows])

    return on_cores(kernel, HALF, REGULAR)


def a_sum_that_one_core_does_not_begin(wrong):
    def kernel(x_ref, o_ref, total):
        core, at = pl.program_id(0), pl.program_id(1)

        @pl.when(jnp.logical_and(at == 0, jnp.logical_or(core == 0, not wrong)))
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x_ref[...]  # here
        o_ref[...] = total[...]

    row = pl.BlockSpec((8, 128), lambda core, at: (core * 2 + at, 0))
    call = pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[row],
        out_specs=row,
        out_shape=BLOCK,
        scratch_shapes=[VMEM((8, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )
    return call(example())


def a_scalar_that_the_other_core_has_set(wrong):
    def kernel(x_ref, o_ref, buffer, count):
        core = lax.axis_index("core")

        @pl.when(jnp.logical_or(core == 0, not wrong))
        def _():
            count[0] = 1

        pltpu.sync_copy(x_ref.at[pl.ds(core * 16, 16)], buffer)
        buffer[...] = buffer[...] + count[0].astype(jnp.float32)  # here
        pltpu.sync_copy(buffer, o_ref.at[pl.ds(core * 16, 16)])

    return on_cores(kernel, HALF, SMEM((1,), jnp.int32))


KERNELS_OF_CORES = [
    (rows_that_both_cores_write, "race"),
    (a_buffer_that_the_other_core_may_still_read, "race"),
    (a_core_that_waits_for_itself, "deadlock"),
    (a_core_that_is_signalled_once_too_often, "has 1 when"),
    (a_sum_that_one_core_does_not_begin, "nobody has written"),
    (a_scalar_that_the_other_core_has_set, "nobody has written"),
]


if __name__ == "__main__":
    tell(KERNELS_OF_CORES)
