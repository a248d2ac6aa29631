"""Kernels of Pallas that run on several devices together, against the same in `jax.numpy`."""

import os
import sys
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
from test_pallas import HBM, VMEM, normal, same

from emulator import JAXLIB, output

COUNT = 8
SPEC = jax.sharding.PartitionSpec("x")
LOGICAL = pl.DeviceIdType.LOGICAL
MESH = pl.DeviceIdType.MESH


def on_each(function: Callable[..., Any], out: Any = SPEC, count: int = COUNT) -> Any:
    """The function on each of some devices, compiled."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:count]), ("x",))
    return jax.jit(
        jax.shard_map(function, mesh=mesh, in_specs=SPEC, out_specs=out, check_vma=False)
    )


def anywhere() -> pl.BlockSpec:
    return pl.BlockSpec(memory_space=HBM)


def sent(x: jax.Array, space: Any, receiver: Callable[[], Any]) -> jax.Array:
    """What each device of a mesh is sent, where each sends all that it has."""

    def kernel(x_ref, o_ref, sent, received):
        copy = pltpu.make_async_remote_copy(
            src_ref=x_ref,
            dst_ref=o_ref,
            send_sem=sent,
            recv_sem=received,
            device_id=receiver(),
            device_id_type=MESH,
        )
        copy.start()
        copy.wait()

    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=space)],
        out_specs=pl.BlockSpec(memory_space=space),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
    )(x)


def shift(x: jax.Array, space: Any) -> jax.Array:
    return sent(x, space, lambda: (lax.rem(lax.axis_index("x") + 1, lax.axis_size("x")),))


@pytest.mark.parametrize("space", [HBM, VMEM], ids=["hbm", "vmem"])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_each_device_sends_to_the_next(count, space):
    x = normal(8 * count, 128)
    made = on_each(lambda x: shift(x, space), count=count)(x)
    same(made, jnp.roll(x, 8, axis=0))


def test_a_kernel_that_sends_inside_of_a_loop():
    x = jnp.round(normal(8 * COUNT, 128) * 16)

    def several(x):
        return lax.fori_loop(0, 3, lambda _, x: shift(x, HBM) + 1, x)

    same(on_each(several)(x), jnp.roll(x + 3, 24, axis=0))


def all_gather_kernel(x_ref, o_ref, sent, received, copied):
    me, count = lax.axis_index("x"), lax.axis_size("x")
    right = lax.rem(me + 1, count)
    left = lax.rem(me - 1 + count, count)
    barrier = pltpu.get_barrier_semaphore()
    for neighbour in (left, right):
        pl.semaphore_signal(barrier, 1, device_id=(neighbour,), device_id_type=MESH)
    pl.semaphore_wait(barrier, 2)
    local = pltpu.make_async_copy(x_ref, o_ref.at[me], copied)
    local.start()
    local.wait()

    @pl.loop(0, count - 1)
    def _(step):
        slot = lax.rem(me - step + count, count)
        copy = pltpu.make_async_remote_copy(
            src_ref=o_ref.at[slot],
            dst_ref=o_ref.at[slot],
            send_sem=sent,
            recv_sem=received,
            device_id=(right,),
            device_id_type=MESH,
        )
        copy.start()
        copy.wait()


def all_gather(x: jax.Array) -> jax.Array:
    return pl.pallas_call(
        all_gather_kernel,
        in_specs=[anywhere()],
        out_specs=anywhere(),
        out_shape=jax.ShapeDtypeStruct((lax.axis_size("x"), *x.shape), x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA] * 3,
        compiler_params=pltpu.CompilerParams(collective_id=0),
    )(x)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_ring_gathers_what_all_have(count):
    x = normal(8 * count, 128)
    made = on_each(all_gather, count=count)(x)
    expected = jnp.tile(x.reshape(count, 8, 128), (count, 1, 1))
    same(made, expected)


def reduce_kernel(x_ref, o_ref, buffers, sent, received, free):
    me, count = lax.axis_index("x"), lax.axis_size("x")
    right, left = lax.rem(me + 1, count), lax.rem(me - 1 + count, count)
    o_ref[...] = x_ref[...]
    buffers[0] = x_ref[...]
    pl.semaphore_signal(free, 1, device_id=left, device_id_type=LOGICAL)

    @pl.loop(0, count - 1)
    def _(step):
        slot = lax.rem(step, 2)
        pl.semaphore_wait(free, 1)
        copy = pltpu.make_async_remote_copy(
            src_ref=buffers.at[slot],
            dst_ref=buffers.at[1 - slot],
            send_sem=sent.at[slot],
            recv_sem=received.at[1 - slot],
            device_id=right,
            device_id_type=LOGICAL,
        )
        copy.start()
        copy.wait()
        o_ref[...] += buffers[1 - slot]

        @pl.when(step < count - 2)
        def _():
            pl.semaphore_signal(free, 1, device_id=left, device_id_type=LOGICAL)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_ring_adds_what_all_have(count):
    x = jnp.round(normal(8 * count, 128) * 16)

    def all_reduce(x):
        return pl.pallas_call(
            reduce_kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_shapes=[
                VMEM((2, 8, 128), jnp.float32),
                pltpu.SemaphoreType.DMA((2,)),
                pltpu.SemaphoreType.DMA((2,)),
                pltpu.SemaphoreType.REGULAR,
            ],
        )(x)

    expected = jnp.tile(x.reshape(count, 8, 128).sum(0), (count, 1))
    same(on_each(all_reduce, count=count)(x), expected)


def test_a_kernel_on_rows_of_a_mesh_of_two_axes():
    x = normal(8 * COUNT, 128)
    devices = np.array(jax.devices()).reshape(2, 4)
    mesh = jax.sharding.Mesh(devices, ("row", "column"))
    spec = jax.sharding.PartitionSpec(("row", "column"))

    def receiver():
        row, column = lax.axis_index("row"), lax.axis_index("column")
        return {"row": row, "column": lax.rem(column + 1, 4)}

    def along_rows(x):
        return sent(x, HBM, receiver)

    made = jax.jit(
        jax.shard_map(along_rows, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    )(x)
    expected = jnp.roll(x.reshape(2, 4, 8, 128), 1, axis=1).reshape(8 * COUNT, 128)
    same(made, expected)


MANY = """
    import jax, jax.numpy as jnp, numpy as np
    from test_pallas_devices import HBM, on_each, shift

    count = len(jax.devices())
    x = jnp.arange(count * 8 * 128.0).reshape(count * 8, 128)
    made = on_each(lambda x: shift(x, HBM), count=count)(x)
    assert (np.asarray(made) == np.roll(np.asarray(x), 8, axis=0)).all()
    print(count)
"""


def test_256_devices_run_one_kernel():
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {"TPU_EMU_TOPOLOGY": "v5e:16x16", "PYTHONPATH": path}
    assert output(MANY, environment) == "256\n"


CORES = """
    import functools
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    vmem = pltpu.VMEM((8, 128), jnp.int32)

    @jax.jit
    @functools.partial(
        pl.kernel,
        out_type=jax.ShapeDtypeStruct((2, 8, 128), jnp.int32),
        mesh=pltpu.create_tensorcore_mesh("core"),
        scratch_types=[vmem, vmem, pltpu.SemaphoreType.REGULAR, *[pltpu.SemaphoreType.DMA] * 2],
    )
    def swapped(x_ref, o_ref, mine, theirs, ready, sent, received):
        core = jax.lax.axis_index("core")
        pltpu.sync_copy(x_ref.at[core], mine)
        mine[...] = mine[...] + core
        pl.semaphore_signal(ready, 1, device_id={"core": 1 - core})
        pl.semaphore_wait(ready, 1)
        copy = pltpu.make_async_remote_copy(
            mine, theirs, sent, received, device_id={"core": 1 - core}
        )
        copy.start()
        copy.wait()
        pltpu.sync_copy(theirs, o_ref.at[core])

    x = np.arange(2 * 8 * 128, dtype=np.int32).reshape(2, 8, 128)
    made = np.asarray(swapped(x))
    assert (made == (x + np.arange(2)[:, None, None])[::-1]).all()
    print(jax.devices()[0].num_cores)
"""


@pytest.mark.skipif(JAXLIB < (0, 10), reason="pl.kernel took out_shape and scratch_shapes before")
@pytest.mark.parametrize("checks", ["bounds", "uninit,races"])
def test_cores_of_a_device_copy_to_each_other(checks):
    environment = {"TPU_EMU_TOPOLOGY": "v5p:2x2x1", "TPU_EMU_PALLAS_CHECK": checks}
    assert output(CORES, environment) == "2\n"


KEPT = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    n = 4
    mesh = pltpu.create_tensorcore_mesh("core")
    on_cores = pl.core_map(mesh=mesh)

    def kept(each, as_one):
        kept_ref = pl.empty_ref_like(pltpu.SMEM((1, n), jnp.int32))
        ready = pl.empty_ref_like(pltpu.SemaphoreType.REGULAR(()))

        @on_cores
        def _():
            core = jax.lax.axis_index("core")
            for i in range(n):
                kept_ref[0, i] = i + core * each
            pl.semaphore_signal(ready, core + 1)

        if as_one:
            return kept_ref[...]
        out_ref = pl.empty_ref_like(pltpu.HBM((2, 1, n), jnp.int32))

        @on_cores
        def _():
            core = jax.lax.axis_index("core")
            pl.semaphore_wait(ready, core + 1)
            pltpu.sync_copy(kept_ref, out_ref.at[core])

        return out_ref[...]

    made = np.asarray(jax.jit(kept, static_argnums=(0, 1))(10, False))
    assert (made[:, 0] == np.arange(n) + 10 * np.arange(2)[:, None]).all(), made
    made = np.asarray(jax.jit(kept, static_argnums=(0, 1))(0, True))
    assert (made == np.arange(n)).all(), made
    try:
        np.asarray(jax.jit(kept, static_argnums=(0, 1))(10, True))
    except jax.errors.JaxRuntimeError as error:
        print(str(error).splitlines()[0])
"""


@pytest.mark.skipif(JAXLIB < (0, 10), reason="kernels had other parameters")
@pytest.mark.parametrize("checks", ["bounds", "uninit,races"])
def test_each_core_keeps_an_array_of_its_own(checks):
    environment = {"TPU_EMU_TOPOLOGY": "v5p:2x2x1", "TPU_EMU_PALLAS_CHECK": checks}
    told = output(KEPT, environment)
    assert "in memory that each of 2 cores has for itself" in told
    assert "which core's is meant is not known" in told


SHARED_OUT = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def kernel(first_ref, o_ref, total):
        @pl.when(first_ref[0] == 1)
        def _():
            total[0] = 0
        first_ref[0] = 0
        total[0] = total[0] + pl.program_id(1) + 1
        o_ref[...] = jnp.full((8, 128), total[0], jnp.int32)

    made = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((48, 128), jnp.int32),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(2, 3),
            out_specs=pl.BlockSpec((8, 128), lambda core, i, _: (core * 3 + i, 0)),
            scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(jnp.ones((1,), jnp.int32))
    print(made[::8, 0].tolist())
"""


@pytest.mark.skipif(JAXLIB < (0, 8), reason="kernels had other parameters")
@pytest.mark.parametrize(
    ("topology", "made"),
    [("v5p:2x2x1", "[1, 3, 6, 1, 3, 6]\n"), ("v5e:1x1", "[1, 3, 6, 7, 9, 12]\n")],
    ids=["two cores", "one core"],
)
def test_points_of_two_cores_have_scalars_and_scratch_of_their_core(topology, made):
    assert output(SHARED_OUT, {"TPU_EMU_TOPOLOGY": topology}) == made
