"""Kernels of subcores that are to be watched, each with a mistake and without."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas import tpu_sc as plsc
from watched_kernels import tell

VMEM, SHARED, SMEM = pltpu.VMEM, pltpu.VMEM_SHARED, pltpu.SMEM
LANES, SUBCORES = 8, 16
ROWS = jax.ShapeDtypeStruct((SUBCORES, LANES), jnp.int32)


def example() -> jax.Array:
    return jnp.arange(SUBCORES * LANES, dtype=jnp.int32).reshape(SUBCORES, LANES)


def on_subcores(kernel: Callable[..., None], **scratch: Any) -> Callable[..., jax.Array]:
    mesh = plsc.VectorSubcoreMesh(core_axis_name="core", subcore_axis_name="subcore", num_cores=1)
    run: Callable[..., jax.Array] = pl.kernel(
        out_type=ROWS,
        mesh=mesh,
        scratch_types=scratch,
        compiler_params=pltpu.CompilerParams(needs_layout_passes=False, use_tc_tiling_on_sc=False),
    )(kernel)
    return jax.jit(run)


def a_neighbours_row_of_shared_memory(wrong):
    def kernel(x_ref, o_ref, *, shared, own):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[me], shared.at[me])
        if not wrong:
            plsc.subcore_barrier()
        pltpu.sync_copy(shared.at[(me + 1) % SUBCORES], own)  # here
        pltpu.sync_copy(own, o_ref.at[me])

    run = on_subcores(
        kernel, shared=SHARED((SUBCORES, LANES), jnp.int32), own=VMEM((LANES,), jnp.int32)
    )
    return run(example())


def a_row_that_a_neighbour_still_reads(wrong):
    def kernel(x_ref, o_ref, *, shared, own):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[me], shared.at[me])
        plsc.subcore_barrier()
        pltpu.sync_copy(shared.at[(me + 1) % SUBCORES], own)
        if not wrong:
            plsc.subcore_barrier()
        pltpu.sync_copy(own, shared.at[me])  # here
        pltpu.sync_copy(shared.at[me], o_ref.at[me])

    run = on_subcores(
        kernel, shared=SHARED((SUBCORES, LANES), jnp.int32), own=VMEM((LANES,), jnp.int32)
    )
    return run(example())


def a_copy_of_rows_that_nobody_waits_for(wrong):
    def kernel(x_ref, o_ref, *, places, rows, done):
        me = lax.axis_index("subcore")
        places[...] = lax.broadcast(me, (LANES,))
        copy = pltpu.async_copy(x_ref.at[places], rows, done)  # here
        if not wrong:
            copy.wait()
        pltpu.sync_copy(rows.at[0], o_ref.at[me])
        if wrong:
            copy.wait()

    scratch = {
        "places": VMEM((LANES,), jnp.int32),
        "rows": VMEM((LANES, LANES), jnp.int32),
        "done": pltpu.SemaphoreType.DMA,
    }
    return on_subcores(kernel, **scratch)(example())


def sums_into_shared_rows(wrong):
    def kernel(x_ref, o_ref, *, shared, own, places):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[pl.ds(0, LANES)], own)
        places[...] = lax.iota(jnp.int32, LANES)

        @pl.when(me == 0)
        def _():
            pltpu.sync_copy(own, shared)

        plsc.subcore_barrier()
        # Sums are made at once; what is only written is written by all.
        pltpu.sync_copy(own, shared.at[places], add=not wrong)  # here
        plsc.subcore_barrier()
        pltpu.sync_copy(shared.at[me % LANES], o_ref.at[me])

    scratch = {
        "shared": SHARED((LANES, LANES), jnp.int32),
        "own": VMEM((LANES, LANES), jnp.int32),
        "places": VMEM((LANES,), jnp.int32),
    }
    return on_subcores(kernel, **scratch)(example())


def a_count_of_the_neighbours(wrong):
    def kernel(_, o_ref, *, count, own):
        me = lax.axis_index("subcore")
        count[0] = me
        plsc.subcore_barrier()
        plsc.fetch_and_add(count.at[0], 10, subcore_id=(me + 1) % SUBCORES)
        if not wrong:
            plsc.subcore_barrier()
        own[...] = lax.broadcast(count[0], (LANES,))  # here
        pltpu.sync_copy(own, o_ref.at[me])

    run = on_subcores(kernel, count=SMEM((1,), jnp.int32), own=VMEM((LANES,), jnp.int32))
    return run(example())


def memory_of_a_subcore_that_nobody_has_written(wrong):
    def kernel(x_ref, o_ref, *, own):
        me = lax.axis_index("subcore")
        if not wrong:
            pltpu.sync_copy(x_ref.at[me], own)
        own[...] = own[...] + 1  # here
        pltpu.sync_copy(own, o_ref.at[me])

    return on_subcores(kernel, own=VMEM((LANES,), jnp.int32))(example())


def a_barrier_that_one_subcore_does_not_come_to(wrong):
    def kernel(x_ref, o_ref, *, own):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[me], own)

        @pl.when(jnp.logical_or(me < SUBCORES - 1, not wrong))
        def _():
            plsc.subcore_barrier()  # here

        pltpu.sync_copy(own, o_ref.at[me])

    return on_subcores(kernel, own=VMEM((LANES,), jnp.int32))(example())


def a_row_of_a_subcore_that_is_not_there(wrong):
    def kernel(x_ref, o_ref, *, own):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[me + wrong], own)  # here
        pltpu.sync_copy(own, o_ref.at[me])

    return on_subcores(kernel, own=VMEM((LANES,), jnp.int32))(example())


def rows_at_places_behind_the_end(wrong):
    def kernel(x_ref, o_ref, *, places, rows):
        me = lax.axis_index("subcore")
        places[...] = jnp.arange(LANES, dtype=jnp.int32) + (SUBCORES - LANES + wrong)
        pltpu.sync_copy(x_ref.at[places], rows)  # here
        pltpu.sync_copy(rows.at[0], o_ref.at[me])

    scratch = {"places": VMEM((LANES,), jnp.int32), "rows": VMEM((LANES, LANES), jnp.int32)}
    return on_subcores(kernel, **scratch)(example())


def a_row_that_two_subcores_write(wrong):
    def kernel(x_ref, o_ref, *, own):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[me], own)
        if wrong:
            pltpu.sync_copy(own, o_ref.at[(me + 1) % SUBCORES])
        pltpu.sync_copy(own, o_ref.at[me])  # here

    return on_subcores(kernel, own=VMEM((LANES,), jnp.int32))(example())


def a_copy_of_a_subcore_that_nobody_waits_for(wrong):
    def kernel(x_ref, o_ref, *, own, done):
        me = lax.axis_index("subcore")
        pltpu.sync_copy(x_ref.at[me], own)
        copy = pltpu.make_async_copy(own, o_ref.at[me], done)
        copy.start()  # here
        if not wrong:
            copy.wait()

    scratch = {"own": VMEM((LANES,), jnp.int32), "done": pltpu.SemaphoreType.DMA}
    return on_subcores(kernel, **scratch)(example())


KERNELS_OF_SUBCORES = [
    (a_neighbours_row_of_shared_memory, "race"),
    (a_row_that_a_neighbour_still_reads, "race"),
    (a_copy_of_rows_that_nobody_waits_for, "race"),
    (sums_into_shared_rows, "race"),
    (a_count_of_the_neighbours, "race"),
    (memory_of_a_subcore_that_nobody_has_written, "nobody has written"),
    (a_barrier_that_one_subcore_does_not_come_to, "deadlock"),
    (a_row_of_a_subcore_that_is_not_there, "16"),
    (rows_at_places_behind_the_end, "16"),
    (a_row_that_two_subcores_write, "race"),
    (a_copy_of_a_subcore_that_nobody_waits_for, "has 32 when"),
]

if __name__ == "__main__":
    tell(KERNELS_OF_SUBCORES)
