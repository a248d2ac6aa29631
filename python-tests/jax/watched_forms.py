"""Kernels in the forms that libraries write, each with a mistake and without."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from watched_kernels import BLOCK, DMA, REGULAR, SMEM, VMEM, anywhere, example, tell

ROW = pl.BlockSpec((8, 128), lambda i: (i, 0))


# emit_pipeline


def piped(inner: Callable[..., None], in_spec: Any, out_spec: Any, **more: Any) -> jax.Array:
    def kernel(x_ref, o_ref):
        pltpu.emit_pipeline(inner, grid=(4,), in_specs=[in_spec], out_specs=[out_spec])(
            x_ref, o_ref
        )

    call = pl.pallas_call(
        kernel, in_specs=[anywhere()], out_specs=anywhere(), out_shape=BLOCK, **more
    )
    return call(example())


def a_block_of_a_pipeline_behind_the_end(wrong):
    def inner(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def kernel(x_ref, o_ref):
        spec = pl.BlockSpec((8, 128), lambda i: (i + wrong, 0))  # here
        run = pltpu.emit_pipeline(inner, grid=(4,), in_specs=[spec], out_specs=[ROW])
        run(x_ref, o_ref)

    call = pl.pallas_call(kernel, in_specs=[anywhere()], out_specs=anywhere(), out_shape=BLOCK)
    return call(example())


def a_pipeline_that_reads_its_result(wrong):
    def inner(x_ref, o_ref):
        if wrong:
            o_ref[...] += x_ref[...]  # here
        else:
            o_ref[...] = x_ref[...]

    return piped(inner, ROW, ROW)


def a_sum_of_a_pipeline_that_begins_with_nothing(wrong):
    def inner(x_ref, o_ref, total):
        if not wrong:

            @pl.when(pl.program_id(0) == 0)
            def _():
                total[...] = jnp.zeros_like(total)

        total[...] += x_ref[...]  # here
        o_ref[...] = total[...]

    def kernel(x_ref, o_ref, total):
        pltpu.emit_pipeline(
            functools.partial(inner, total=total), grid=(4,), in_specs=[ROW], out_specs=[ROW]
        )(x_ref, o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=BLOCK,
        scratch_shapes=[VMEM((8, 128), jnp.float32)],
    )
    return call(example())


def a_pipeline_over_a_buffer_that_is_still_filled(wrong):
    def inner(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def kernel(x_ref, o_ref, buffer, done):
        copy = pltpu.make_async_copy(x_ref, buffer, done)
        copy.start()  # here
        if not wrong:
            copy.wait()
        pltpu.emit_pipeline(inner, grid=(4,), in_specs=[ROW], out_specs=[ROW])(buffer, o_ref)
        if wrong:
            copy.wait()

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=BLOCK,
        scratch_shapes=[VMEM((32, 128), jnp.float32), DMA],
    )
    return call(example())


def a_pipeline_with_a_block_too_few(wrong):
    def inner(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def kernel(count_ref, x_ref, o_ref):
        # Where data say how many blocks there are, those behind them count for nothing.
        grid = (3 if wrong else count_ref[0],)
        run = pltpu.emit_pipeline(inner, grid=grid, in_specs=[ROW], out_specs=[ROW])
        run(x_ref, o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=SMEM), anywhere()],
        out_specs=anywhere(),
        out_shape=BLOCK,
    )
    return call(jnp.full(1, 3, jnp.int32), example())  # here


# run_scoped


def memory_of_a_scope_that_nobody_has_written(wrong):
    def kernel(x_ref, o_ref):
        def scoped(part):
            if not wrong:
                part[...] = x_ref[...]
            o_ref[...] = part[...]  # here

        pl.run_scoped(scoped, VMEM((32, 128), jnp.float32))

    return pl.pallas_call(kernel, out_shape=BLOCK)(example())


def memory_of_a_scope_that_was_left(wrong):
    def kernel(x_ref, o_ref):
        def first(part):
            part[...] = x_ref[...]

        def second(part):
            if not wrong:
                part[...] = x_ref[...]
            o_ref[...] = part[...]  # here

        pl.run_scoped(first, VMEM((32, 128), jnp.float32))
        pl.run_scoped(second, VMEM((32, 128), jnp.float32))

    return pl.pallas_call(kernel, out_shape=BLOCK)(example())


def a_semaphore_of_a_scope_signalled_once_too_often(wrong):
    def kernel(x_ref, o_ref):
        def scoped(ready):
            @pl.loop(0, 4 if wrong else 3)
            def _(_):
                pl.semaphore_signal(ready, 1)  # here

            pl.semaphore_wait(ready, 3)
            o_ref[...] = x_ref[...]

        pl.run_scoped(scoped, REGULAR)

    return pl.pallas_call(kernel, out_shape=BLOCK)(example())


def too_much_vmem_in_a_scope(wrong):
    def kernel(x_ref, o_ref):
        def scoped(part):
            part[0] = x_ref[...]
            o_ref[...] = part[0]

        pl.run_scoped(scoped, VMEM((4096 if wrong else 4, 32, 128), jnp.float32))

    return pl.pallas_call(kernel, out_shape=BLOCK)(example())  # here


def a_copy_out_of_a_scope_that_is_written_meanwhile(wrong):
    def kernel(x_ref, o_ref):
        def scoped(part, done):
            part[...] = x_ref[...]
            copy = pltpu.make_async_copy(part, o_ref, done)
            copy.start()  # here
            if not wrong:
                copy.wait()
            part[...] = jnp.zeros_like(part)
            if wrong:
                copy.wait()

        pl.run_scoped(scoped, VMEM((32, 128), jnp.float32), DMA)

    call = pl.pallas_call(kernel, out_specs=anywhere(), out_shape=BLOCK)
    return call(example())


# Grids and prefetched scalars


def prefetched(kernel: Callable[..., None], index: Any, scalars: Any, **more: Any) -> jax.Array:
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), index)],
        out_specs=pl.BlockSpec((8, 128), lambda i, _: (i, 0)),
        **more,
    )
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=BLOCK)(scalars, example())


def a_prefetched_block_behind_the_end(wrong):
    def kernel(_, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    scalars = jnp.array([3, 2, 1, 4 if wrong else 0], jnp.int32)
    return prefetched(kernel, lambda i, of: (of[i], 0), scalars)  # here


def a_prefetched_scalar_behind_the_end(wrong):
    def kernel(_, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    scalars = jnp.array([3, 2, 1, 0], jnp.int32)
    return prefetched(kernel, lambda i, of: (of[i + wrong], 0), scalars)  # here


def a_scalar_read_behind_the_end(wrong):
    def kernel(of, x_ref, o_ref):
        at = pl.program_id(0) + wrong
        o_ref[...] = x_ref[...] + of[at].astype(jnp.float32)  # here

    return prefetched(kernel, lambda i, _: (i, 0), jnp.arange(4, dtype=jnp.int32))


def rows_at_a_prefetched_place_behind_the_end(wrong):
    def kernel(of, x_ref, o_ref):
        first = of[pl.program_id(0)]
        o_ref[...] = x_ref[pl.ds(first, 8), :]  # here

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[pl.BlockSpec((32, 128), lambda *_: (0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, _: (i, 0)),
    )
    scalars = jnp.array([24, 16, 8, 25 if wrong else 0], jnp.int32)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=BLOCK)(scalars, example())


def a_copy_of_rows_at_a_prefetched_place_behind_the_end(wrong):
    def kernel(of, x_ref, o_ref, buffer, done):
        first = of[pl.program_id(0)]
        copy = pltpu.make_async_copy(x_ref.at[pl.ds(first, 8)], buffer, done)
        copy.start()  # here
        copy.wait()
        o_ref[...] = buffer[...]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[anywhere()],
        out_specs=pl.BlockSpec((8, 128), lambda i, _: (i, 0)),
        scratch_shapes=[VMEM((8, 128), jnp.float32), DMA],
    )
    scalars = jnp.array([24, 16, 8, 32 if wrong else 0], jnp.int32)
    return pl.pallas_call(kernel, grid_spec=spec, out_shape=BLOCK)(scalars, example())


def a_sum_over_a_grid_that_is_never_begun(wrong):
    def kernel(x_ref, o_ref, total):
        @pl.when(pl.program_id(0) == (1 if wrong else 0))
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x_ref[...]  # here
        o_ref[...] = total[...]

    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[ROW],
        out_specs=ROW,
        out_shape=BLOCK,
        scratch_shapes=[VMEM((8, 128), jnp.float32)],
    )
    return call(example())


def two_buffers_of_which_the_wrong_one_is_read(wrong):
    def kernel(x_ref, o_ref, buffers, done):
        def copy(at):
            slot = lax.rem(at, 2)
            rows = pl.ds(at * 8, 8)
            return pltpu.make_async_copy(x_ref.at[rows], buffers.at[slot], done.at[slot])

        copy(0).start()

        @pl.loop(0, 4)
        def _(at):
            @pl.when(at < 3)
            def _():
                copy(at + 1).start()  # here

            copy(at).wait()
            slot = lax.rem(at + wrong, 2)
            o_ref[pl.ds(at * 8, 8), :] = buffers[slot]

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_shape=BLOCK,
        scratch_shapes=[VMEM((2, 8, 128), jnp.float32), DMA((2,))],
    )
    return call(example())


def a_wait_for_the_other_buffers_copy(wrong):
    def kernel(x_ref, o_ref, buffers, done):
        @pl.loop(0, 4)
        def _(at):
            slot = lax.rem(at, 2)
            rows = pl.ds(at * 8, 8)
            copy = pltpu.make_async_copy(x_ref.at[rows], buffers.at[slot], done.at[slot])
            copy.start()
            other = lax.rem(at + wrong, 2)
            pltpu.make_async_copy(x_ref.at[rows], buffers.at[slot], done.at[other]).wait()  # here
            o_ref[rows, :] = buffers[slot]

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_shape=BLOCK,
        scratch_shapes=[VMEM((2, 8, 128), jnp.float32), DMA((2,))],
    )
    return call(example())


def a_scalar_that_no_point_has_set(wrong):
    def kernel(x_ref, o_ref, count):
        if not wrong:

            @pl.when(pl.program_id(0) == 0)
            def _():
                count[0] = 0

        count[0] = count[0] + 1  # here
        o_ref[...] = x_ref[...] + count[0].astype(jnp.float32)

    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[ROW],
        out_specs=ROW,
        out_shape=BLOCK,
        scratch_shapes=[SMEM((1,), jnp.int32)],
    )
    return call(example())


# core_map and kernels of a mesh


def a_copy_of_a_core_map_that_nobody_waits_for(wrong):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    @jax.jit
    def run(x):
        def body(refs):
            x_ref, o_ref = refs

            @pl.core_map(mesh=mesh)
            def _():
                def scoped(done):
                    copy = pltpu.make_async_copy(x_ref, o_ref, done)
                    copy.start()  # here
                    if not wrong:
                        copy.wait()

                pl.run_scoped(scoped, DMA)

        return pl.run_state(body)((x, jnp.zeros_like(x)))[1]

    return run(example())


def a_load_of_a_core_map_behind_the_end(wrong):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    def kernel(x_ref, o_ref, buffer):
        @pl.loop(0, 4)
        def _(at):
            pltpu.sync_copy(x_ref.at[pl.ds((at + wrong) * 8, 8)], buffer)  # here
            pltpu.sync_copy(buffer, o_ref.at[pl.ds(at * 8, 8)])

    run = pl.kernel(kernel, out_type=BLOCK, mesh=mesh, scratch_types=[VMEM((8, 128), jnp.float32)])
    return jax.jit(run)(example())


KERNELS_OF_FORMS = [
    (a_block_of_a_pipeline_behind_the_end, "32"),
    (a_pipeline_that_reads_its_result, "nobody has written"),
    (a_sum_of_a_pipeline_that_begins_with_nothing, "nobody has written"),
    (a_pipeline_over_a_buffer_that_is_still_filled, "race"),
    (a_pipeline_with_a_block_too_few, "nobody writes element [24, 0] of [32, 128]"),
    (memory_of_a_scope_that_nobody_has_written, "nobody has written"),
    (memory_of_a_scope_that_was_left, "nobody has written"),
    (a_semaphore_of_a_scope_signalled_once_too_often, "has 1 when"),
    (too_much_vmem_in_a_scope, "Ran out of memory"),
    (a_copy_out_of_a_scope_that_is_written_meanwhile, "race"),
    (a_prefetched_block_behind_the_end, "outside"),
    (a_prefetched_scalar_behind_the_end, "4"),
    (a_scalar_read_behind_the_end, "4"),
    (rows_at_a_prefetched_place_behind_the_end, "32"),
    (a_copy_of_rows_at_a_prefetched_place_behind_the_end, "32"),
    (a_sum_over_a_grid_that_is_never_begun, "nobody has written"),
    (two_buffers_of_which_the_wrong_one_is_read, "race"),
    (a_wait_for_the_other_buffers_copy, "deadlock"),
    (a_scalar_that_no_point_has_set, "nobody has written"),
    (a_copy_of_a_core_map_that_nobody_waits_for, "has 16384 when"),
    (a_load_of_a_core_map_behind_the_end, "32"),
]


if __name__ == "__main__":
    tell(KERNELS_OF_FORMS)
