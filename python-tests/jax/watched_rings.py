"""Kernels on a ring of eight devices, each with a mistake and without."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from watched_kernels import DMA, LOGICAL, SPEC, VMEM, anywhere, tell

RING = 8
PART = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def on_ring(function: Callable[..., Any]) -> jax.Array:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:RING]), ("x",))
    run = jax.shard_map(function, mesh=mesh, in_specs=SPEC, out_specs=SPEC, check_vma=False)
    return jax.jit(run)(jnp.arange(RING * 8.0 * 128).reshape(RING * 8, 128))


def neighbours() -> tuple[jax.Array, jax.Array]:
    me = lax.axis_index("x")
    return lax.rem(me + RING - 1, RING), lax.rem(me + 1, RING)


def ring(kernel: Callable[..., None], *scratch: Any) -> jax.Array:
    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=jax.ShapeDtypeStruct((RING * 8, 128), jnp.float32),
        scratch_shapes=list(scratch),
    )
    return on_ring(call)


def a_ring_without_the_barrier_at_its_start(wrong):
    def kernel(x_ref, o_ref, buffer, sent, received):
        left, right = neighbours()
        buffer[...] = jnp.zeros_like(buffer)  # here
        if not wrong:
            barrier = pltpu.get_barrier_semaphore()
            pl.semaphore_signal(barrier, 1, device_id=left, device_id_type=LOGICAL)
            pl.semaphore_wait(barrier, 1)
        copy = pltpu.make_async_remote_copy(
            x_ref, buffer, sent, received, device_id=right, device_id_type=LOGICAL
        )
        copy.start()
        copy.wait()
        pltpu.sync_copy(buffer, o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=PART,
        scratch_shapes=[VMEM((8, 128), jnp.float32), DMA, DMA],
        compiler_params=pltpu.CompilerParams(collective_id=None if wrong else 0),
    )
    return on_ring(call)


def a_ring_that_sends_what_has_not_come(wrong):
    def kernel(x_ref, o_ref, sent, received):
        right = neighbours()[1]
        me = lax.axis_index("x")
        pltpu.sync_copy(x_ref, o_ref.at[pl.ds(me * 8, 8)])
        copies = []
        for step in range(RING - 1):
            rows = pl.ds(lax.rem(me + RING - step, RING) * 8, 8)
            copy = pltpu.make_async_remote_copy(
                o_ref.at[rows],
                o_ref.at[rows],
                sent.at[step],
                received.at[step],
                device_id=right,
                device_id_type=LOGICAL,
            )
            copy.start()  # here
            copies.append(copy)
            copy.wait_send()
            if not wrong:
                copy.wait_recv()
        if wrong:
            for copy in copies:
                copy.wait_recv()

    return ring(kernel, DMA((RING - 1,)), DMA((RING - 1,)))


def a_ring_of_one_step_too_many(wrong):
    def kernel(x_ref, o_ref, sent, received):
        right = neighbours()[1]
        me = lax.axis_index("x")
        pltpu.sync_copy(x_ref, o_ref.at[pl.ds(me * 8, 8)])
        for step in range(RING - 1 + wrong):
            rows = pl.ds(lax.rem(me + RING - step, RING) * 8, 8)
            copy = pltpu.make_async_remote_copy(
                o_ref.at[rows],
                o_ref.at[rows],
                sent.at[step],
                received.at[step],
                device_id=right,
                device_id_type=LOGICAL,
            )
            copy.start()  # here
            copy.wait()

    return ring(kernel, DMA((RING - 1,)), DMA((RING - 1,)))


def a_ring_whose_last_device_does_not_send(wrong):
    def kernel(x_ref, o_ref, sent, received):
        right = neighbours()[1]
        me = lax.axis_index("x")
        copy = pltpu.make_async_remote_copy(
            x_ref, o_ref, sent, received, device_id=right, device_id_type=LOGICAL
        )

        @pl.when(jnp.logical_or(me < RING - 1, not wrong))
        def _():
            copy.start()
            copy.wait_send()

        copy.wait_recv()  # here

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=PART,
        scratch_shapes=[DMA, DMA],
    )
    return on_ring(call)


def a_ring_that_sends_to_a_device_that_is_not_there(wrong):
    def kernel(x_ref, o_ref, sent, received):
        me = lax.axis_index("x")
        right = me + 1 if wrong else lax.rem(me + 1, RING)
        copy = pltpu.make_async_remote_copy(
            x_ref, o_ref, sent, received, device_id=right, device_id_type=LOGICAL
        )
        copy.start()  # here
        copy.wait()

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=PART,
        scratch_shapes=[DMA, DMA],
    )
    return on_ring(call)


def a_barrier_signalled_once_too_often(wrong):
    def kernel(x_ref, o_ref):
        left, right = neighbours()
        barrier = pltpu.get_barrier_semaphore()
        pl.semaphore_signal(barrier, 1, device_id=left, device_id_type=LOGICAL)
        pl.semaphore_signal(barrier, 1 + wrong, device_id=right, device_id_type=LOGICAL)  # here
        pl.semaphore_wait(barrier, 2)
        pltpu.sync_copy(x_ref, o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=PART,
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )
    return on_ring(call)


def a_barrier_that_waits_for_one_too_many(wrong):
    def kernel(x_ref, o_ref):
        left, right = neighbours()
        barrier = pltpu.get_barrier_semaphore()
        for other in (left, right):
            pl.semaphore_signal(barrier, 1, device_id=other, device_id_type=LOGICAL)
        pl.semaphore_wait(barrier, 2 + wrong)  # here
        pltpu.sync_copy(x_ref, o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=PART,
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )
    return on_ring(call)


def a_buffer_that_both_neighbours_write(wrong):
    def kernel(x_ref, o_ref, buffers, sent, received):
        left, right = neighbours()
        copies = []
        for at, other in enumerate((left, right)):
            copy = pltpu.make_async_remote_copy(
                x_ref,
                buffers.at[0 if wrong else at],
                sent.at[at],
                received.at[at],
                device_id=other,
                device_id_type=LOGICAL,
            )
            copy.start()  # here
            copies.append(copy)
        for copy in copies:
            copy.wait()
        pltpu.sync_copy(buffers.at[0], o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=PART,
        scratch_shapes=[VMEM((2, 8, 128), jnp.float32), DMA((2,)), DMA((2,))],
    )
    return on_ring(call)


KERNELS_OF_RINGS = [
    (a_ring_without_the_barrier_at_its_start, "race"),
    (a_ring_that_sends_what_has_not_come, "race"),
    (a_ring_of_one_step_too_many, "7"),
    (a_ring_whose_last_device_does_not_send, "deadlock"),
    (a_ring_that_sends_to_a_device_that_is_not_there, "device 8"),
    (a_barrier_signalled_once_too_often, "1"),
    (a_barrier_that_waits_for_one_too_many, "deadlock"),
    (a_buffer_that_both_neighbours_write, "race"),
]


if __name__ == "__main__":
    tell(KERNELS_OF_RINGS)
