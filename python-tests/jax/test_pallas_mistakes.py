"""Kernels of Pallas with a mistake each, which is told, and the same without it."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from test_pallas import SMEM, VMEM, normal
from test_pallas_devices import LOGICAL, anywhere, on_each

BLOCK = jax.ShapeDtypeStruct((32, 128), jnp.float32)
DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR


def operand() -> jax.Array:
    return normal(32, 128)


def on_two(function: Callable[..., Any]) -> jax.Array:
    return on_each(function, count=2)(normal(64, 128))


# Each takes whether it makes its mistake, and has the line that must be named marked.


def a_semaphore_signalled_once_too_often(wrong):
    def kernel(x_ref, o_ref, ready):
        pl.semaphore_signal(ready, 2 if wrong else 1)  # here
        pl.semaphore_wait(ready, 1)
        o_ref[...] = x_ref[...]

    return pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=[REGULAR])(operand())


def a_copy_that_nobody_waits_for(wrong):
    def kernel(x_ref, o_ref, done):
        copy = pltpu.make_async_copy(x_ref, o_ref, done)
        copy.start()  # here
        if not wrong:
            copy.wait()

    return pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=BLOCK,
        scratch_shapes=[DMA],
    )(operand())


def a_copy_that_nobody_waits_for_in_a_scope(wrong):
    def kernel(x_ref, o_ref):
        def scoped(part, done):
            copy = pltpu.make_async_copy(x_ref, part, done)
            copy.start()  # here
            if not wrong:
                copy.wait()
            o_ref[...] = part[...]

        pl.run_scoped(scoped, VMEM((32, 128), jnp.float32), DMA)

    return pl.pallas_call(kernel, in_specs=[anywhere()], out_shape=BLOCK)(operand())


def a_wait_that_nobody_ends(wrong):
    def kernel(x_ref, o_ref, ready):
        pl.semaphore_signal(ready, 1)
        pl.semaphore_wait(ready, 2 if wrong else 1)  # here
        o_ref[...] = x_ref[...]

    return pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=[REGULAR])(operand())


def a_wait_for_a_device_that_does_not_signal(wrong):
    def kernel(x_ref, o_ref, ready):
        me = lax.axis_index("x")

        @pl.when(jnp.logical_or(me == 0, not wrong))
        def _():
            pl.semaphore_signal(ready, 1, device_id=1 - me, device_id_type=LOGICAL)

        pl.semaphore_wait(ready, 1)  # here
        o_ref[...] = x_ref[...]

    return on_two(pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=[REGULAR]))


def a_signal_to_a_device_that_is_not_there(wrong):
    def kernel(x_ref, o_ref, ready):
        me = lax.axis_index("x")
        other = 2 - me if wrong else 1 - me
        pl.semaphore_signal(ready, 1, device_id=other, device_id_type=LOGICAL)  # here
        pl.semaphore_wait(ready, 1)
        o_ref[...] = x_ref[...]

    return on_two(pl.pallas_call(kernel, out_shape=BLOCK, scratch_shapes=[REGULAR]))


def a_load_behind_the_end(wrong):
    def kernel(x_ref, o_ref):
        @pl.loop(0, 4)
        def _(i):
            first = (i + wrong) * 8
            o_ref[pl.ds(i * 8, 8), :] = x_ref[pl.ds(first, 8), :]  # here

    return pl.pallas_call(kernel, out_shape=BLOCK)(operand())


def a_store_behind_the_end(wrong):
    def kernel(x_ref, o_ref):
        @pl.loop(0, 4)
        def _(i):
            rows = x_ref[pl.ds(i * 8, 8), :]
            o_ref[pl.ds((i + wrong) * 8, 8), :] = rows  # here

    return pl.pallas_call(kernel, out_shape=BLOCK)(operand())


def a_scalar_behind_the_end(wrong):
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = y_ref[...] + x_ref[3 + wrong]  # here

    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=SMEM), pl.BlockSpec(memory_space=VMEM)],
        out_shape=BLOCK,
    )(jnp.arange(4.0), operand())


def a_copy_of_rows_behind_the_end(wrong):
    def kernel(x_ref, o_ref):
        @pl.loop(0, 4)
        def _(i):
            rows = pl.ds((i + wrong) * 8, 8)
            pltpu.sync_copy(x_ref.at[rows], o_ref.at[pl.ds(i * 8, 8)])  # here

    return pl.pallas_call(
        kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=BLOCK,
    )(operand())


def a_block_behind_the_end(wrong):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i + wrong, 0))],  # here
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=BLOCK,
    )
    return call(operand())


def a_block_of_a_result_that_is_visited_again(wrong):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    call = pl.pallas_call(
        kernel,
        grid=(2, 4),
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (j, i))],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (j, i * (not wrong))),  # here
        out_shape=jax.ShapeDtypeStruct((32, 256), jnp.float32),
    )
    return call(normal(32, 256))


def too_much_vmem(wrong):
    def kernel(x_ref, o_ref, scratch):
        scratch[0] = x_ref[...]
        o_ref[...] = scratch[0]

    count = 4096 if wrong else 4
    call = pl.pallas_call(
        kernel, out_shape=BLOCK, scratch_shapes=[VMEM((count, 32, 128), jnp.float32)]
    )
    return call(operand())  # here


MISTAKES = [
    (a_semaphore_signalled_once_too_often, "has 1 when its kernel ends"),
    (a_copy_that_nobody_waits_for, "has 16384 when its kernel ends"),
    (a_copy_that_nobody_waits_for_in_a_scope, "has 16384 when its kernel ends"),
    (a_wait_that_nobody_ends, "deadlock"),
    (a_wait_for_a_device_that_does_not_signal, "deadlock"),
    (a_signal_to_a_device_that_is_not_there, "device 2"),
    (a_load_behind_the_end, "32"),
    (a_store_behind_the_end, "32"),
    (a_scalar_behind_the_end, "4"),
    (a_copy_of_rows_behind_the_end, "32"),
    (a_block_behind_the_end, "outside"),
    (a_block_of_a_result_that_is_visited_again, "visited again"),
    (too_much_vmem, "Ran out of memory in memory space vmem"),
]
NAMES = [function.__name__ for function, _ in MISTAKES]


def marked(function: Callable[..., Any]) -> str:
    """File and line of the mark."""
    lines, first = inspect.getsourcelines(function)
    [at] = [at for at, line in enumerate(lines) if line.rstrip().endswith("# here")]
    return f"{Path(__file__).name}:{first + at}"


@pytest.mark.parametrize(("function", "said"), MISTAKES, ids=NAMES)
def test_a_mistake_is_told_with_its_line_first(function, said):
    with pytest.raises(Exception, match=said) as raised:
        np.asarray(function(wrong=True))
    first = str(raised.value).split("\n")[0]
    assert marked(function) in first, str(raised.value)


@pytest.mark.parametrize("function", [function for function, _ in MISTAKES], ids=NAMES)
def test_the_same_kernel_without_the_mistake_runs(function):
    assert np.isfinite(np.asarray(function(wrong=False))).all()


def test_the_device_goes_on_after_a_mistake():
    with pytest.raises(Exception, match="deadlock"):
        np.asarray(a_wait_that_nobody_ends(wrong=True))
    assert np.isfinite(np.asarray(a_wait_that_nobody_ends(wrong=False))).all()
    assert jax.jit(lambda x: x + 1)(1) == 2
