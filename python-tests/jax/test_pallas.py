"""Kernels of Pallas, written as users write them, against the same in `jax.numpy`."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from emulator import JAXLIB

if JAXLIB < (0, 8):
    pytest.skip("written with the names that Pallas has since JAX 0.8", allow_module_level=True)

HBM = pl.ANY
VMEM, SMEM = pltpu.VMEM, pltpu.SMEM


def normal(*shape: int, dtype: Any = jnp.float32, seed: int = 0) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32).astype(dtype)


def like(array: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def same(result: jax.Array, expected: jax.Array) -> None:
    """The same, bit for bit."""
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))


def near(result: jax.Array, expected: jax.Array, tolerance: float) -> None:
    left, right = np.asarray(result, np.float32), np.asarray(expected, np.float32)
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


# Elementwise.


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int32])
@pytest.mark.parametrize("shape", [(8, 128), (1, 128), (3, 5), (1, 1), (2, 8, 256), (1000,), (1,)])
def test_a_sum_without_a_grid_is_that_of_arrays(shape, dtype):
    x, y = (normal(*shape, seed=seed) * 100 for seed in (0, 1))
    x, y = x.astype(dtype), y.astype(dtype)
    same(pl.pallas_call(add_kernel, out_shape=like(x))(x, y), x + y)


@pytest.mark.parametrize("rows", [64, 60, 8, 1, 17])
def test_blocks_at_the_edge_are_cut_off(rows):
    x, y = normal(rows, 256), normal(rows, 256, seed=1)
    block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    add = pl.pallas_call(
        add_kernel,
        grid=(pl.cdiv(rows, 8), 2),
        in_specs=[block, block],
        out_specs=block,
        out_shape=like(x),
    )
    same(add(x, y), x + y)


FUNCTIONS = {
    "exp": jnp.exp,
    "log": lambda x: jnp.log(jnp.abs(x) + 0.5),
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "rsqrt": lambda x: lax.rsqrt(jnp.abs(x) + 0.1),
    "gelu": jax.nn.gelu,
    "floor": jnp.floor,
    "round": jnp.round,
    "sign": jnp.sign,
    "where": lambda x: jnp.where(x > 0.3, x * x, -x),
    "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "power": lambda x: jnp.abs(x) ** 1.7,
    "integer power": lambda x: x**5,
    "truncation": lambda x: (x * 10).astype(jnp.int32).astype(jnp.float32),
    "halves": lambda x: x.astype(jnp.bfloat16).astype(jnp.float32),
    "bits": lambda x: lax.bitcast_convert_type(
        lax.bitcast_convert_type(x, jnp.int32) & ~0xFFF, jnp.float32
    ),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_of_elements_have_the_bits_of_arrays(function):
    def kernel(x_ref, o_ref):
        o_ref[...] = function(x_ref[...])

    x = normal(16, 384)
    block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    call = pl.pallas_call(kernel, grid=(2, 3), in_specs=[block], out_specs=block, out_shape=like(x))
    same(call(x), jax.jit(function)(x))


# Reductions and normalization.

REDUCTIONS = {
    "sum": jnp.sum,
    "max": jnp.max,
    "min": jnp.min,
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reduce", REDUCTIONS.values(), ids=REDUCTIONS)
def test_reductions_are_those_of_arrays(reduce, axis):
    x = jnp.round(normal(24, 256) * 64)

    def kernel(x_ref, o_ref):
        o_ref[...] = reduce(x_ref[...], axis=axis, keepdims=True)

    expected = reduce(x, axis=axis, keepdims=True)
    same(pl.pallas_call(kernel, out_shape=like(expected))(x), expected)


def layer_norm_kernel(x_ref, gain_ref, bias_ref, o_ref):
    x = x_ref[...].astype(jnp.float32)
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    o_ref[...] = ((x - mean) * lax.rsqrt(variance + 1e-5) * gain_ref[...] + bias_ref[...]).astype(
        o_ref.dtype
    )


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_layer_norm_over_blocks_of_rows(dtype):
    x, gain, bias = normal(48, 512, dtype=dtype), normal(1, 512, seed=1), normal(1, 512, seed=2)
    rows = pl.BlockSpec((16, 512), lambda i: (i, 0))
    whole = pl.BlockSpec((1, 512), lambda i: (0, 0))
    call = pl.pallas_call(
        layer_norm_kernel,
        grid=(3,),
        in_specs=[rows, whole, whole],
        out_specs=rows,
        out_shape=like(x),
    )

    def expected(x):
        x = x.astype(jnp.float32)
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return ((x - mean) * lax.rsqrt(variance + 1e-5) * gain + bias).astype(dtype)

    near(call(x, gain, bias), expected(x), 1e-5 if dtype == jnp.float32 else 1e-2)


def test_a_softmax_of_rows():
    x = normal(16, 384) * 5

    def kernel(x_ref, o_ref):
        e = jnp.exp(x_ref[...] - jnp.max(x_ref[...], axis=1, keepdims=True))
        o_ref[...] = e / jnp.sum(e, axis=1, keepdims=True)

    near(pl.pallas_call(kernel, out_shape=like(x))(x), jax.nn.softmax(x), 1e-6)


# Products.


def matmul_kernel(x_ref, y_ref, o_ref, sum_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=sum_ref.dtype)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = sum_ref[...].astype(o_ref.dtype)


def matmul(x: jax.Array, y: jax.Array, block: tuple[int, int, int], sums: Any) -> jax.Array:
    (m, k), n = x.shape, y.shape[1]
    bm, bn, bk = block
    return pl.pallas_call(
        matmul_kernel,
        grid=(m // bm, n // bn, k // bk),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)),
            pl.BlockSpec((bk, bn), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype if sums == jnp.float32 else sums),
        scratch_shapes=[VMEM((bm, bn), sums)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")
        ),
    )(x, y)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_a_product_in_blocks(dtype):
    x, y = normal(256, 384, dtype=dtype), normal(384, 256, dtype=dtype, seed=1)
    near(matmul(x, y, (128, 128, 128), jnp.float32), x @ y, 1e-2 if dtype == jnp.bfloat16 else 1e-4)


def test_a_product_of_one_block_has_the_bits_of_the_product():
    x, y = normal(128, 256), normal(256, 128, seed=1)
    same(matmul(x, y, (128, 128, 256), jnp.float32), x @ y)


def test_a_product_of_integers_is_exact():
    x = jax.random.randint(jax.random.key(0), (128, 256), -128, 128).astype(jnp.int8)
    y = jax.random.randint(jax.random.key(1), (256, 128), -128, 128).astype(jnp.int8)
    expected = jnp.dot(x, y, preferred_element_type=jnp.int32)
    same(matmul(x, y, (64, 128, 128), jnp.int32), expected)


# Scalars, places that data tells, memory shared with operands.


def test_scalars_say_which_blocks_are_fetched():
    x = normal(8 * 8, 128)
    order = jnp.array([5, 0, 7, 7, 1, 2, 6, 3], jnp.int32)

    def kernel(order_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * order_ref[pl.program_id(0)].astype(jnp.float32)

    call = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(8,),
            in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)),
        ),
        out_shape=like(x),
    )
    expected = x.reshape(8, 8, 128)[order] * order[:, None, None].astype(jnp.float32)
    same(call(order, x), expected.reshape(64, 128))


def test_a_result_in_the_memory_of_an_operand_keeps_the_blocks_that_nobody_wrote():
    x = normal(32, 128)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    block = pl.BlockSpec((8, 128), lambda i: (2 * i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[block],
        out_specs=block,
        out_shape=like(x),
        input_output_aliases={0: 0},
    )
    expected = x.reshape(4, 8, 128).at[::2].add(1).reshape(32, 128)
    same(call(x), expected)


def test_the_grid_may_come_with_the_call():
    x = normal(64, 128)

    @jax.jit
    def doubled(count, x):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(count,),
            in_specs=[block],
            out_specs=block,
            out_shape=like(x),
            input_output_aliases={0: 0},
        )(x)

    for count in (0, 1, 5, 8):
        expected = x.at[: 8 * count].multiply(2)
        same(doubled(count, x), expected)


def test_slices_at_places_that_data_tells():
    x = normal(64, 256)
    starts = jnp.array([3, 40, 17, 0], jnp.int32)

    def kernel(starts_ref, x_ref, o_ref):
        def body(i, carry):
            rows = x_ref[pl.ds(starts_ref[i], 8), :]
            o_ref[pl.ds(pl.multiple_of(i * 8, 8), 8), :] = rows
            return carry + starts_ref[i]

        total = lax.fori_loop(0, 4, body, 0)
        o_ref[32:33, :] = jnp.full((1, 256), total.astype(jnp.float32))

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=SMEM), pl.BlockSpec(memory_space=VMEM)],
        out_shape=jax.ShapeDtypeStruct((33, 256), jnp.float32),
    )
    pieces = [x[start : start + 8] for start in starts.tolist()]
    same(call(starts, x), jnp.concatenate([*pieces, jnp.full((1, 256), 60.0)]))


def test_loops_and_branches_follow_scalars():
    x = normal(8, 128)

    def kernel(n_ref, x_ref, o_ref):
        def step(carry):
            count, value = carry
            return count // 2, lax.cond(count % 2 == 0, lambda: value * 0.5, lambda: value + 1)

        count, value = lax.while_loop(lambda carry: carry[0] > 0, step, (n_ref[0], x_ref[...]))
        o_ref[...] = value + count.astype(jnp.float32)

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=SMEM), pl.BlockSpec(memory_space=VMEM)],
        out_shape=like(x),
    )
    for number in (0, 1, 6, 1000):
        expected, left = x, number
        while left:
            expected, left = (expected * 0.5 if left % 2 == 0 else expected + 1), left // 2
        same(call(jnp.array([number], jnp.int32), x), expected)


# Copies and semaphores.


def test_a_copy_from_memory_to_memory():
    x = normal(40, 256)

    def kernel(x_ref, o_ref, done):
        copy = pltpu.make_async_copy(x_ref, o_ref, done)
        copy.start()
        copy.wait()

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=HBM)],
        out_specs=pl.BlockSpec(memory_space=HBM),
        out_shape=like(x),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )
    same(call(x), x)


def test_a_pipeline_of_copies_by_hand():
    x = normal(16 * 8, 256)

    def kernel(x_ref, o_ref, blocks, sums, arrived, left):
        def fetch(i, slot):
            return pltpu.make_async_copy(
                x_ref.at[pl.ds(i * 8, 8)], blocks.at[slot], arrived.at[slot]
            )

        def store(i, slot):
            return pltpu.make_async_copy(sums.at[slot], o_ref.at[pl.ds(i * 8, 8)], left.at[slot])

        fetch(0, 0).start()

        @pl.loop(0, 16)
        def _(i):
            slot = i % 2

            @pl.when(i + 1 < 16)
            def _():
                fetch(i + 1, 1 - slot).start()

            fetch(i, slot).wait()

            @pl.when(i >= 2)
            def _():
                store(i - 2, slot).wait()

            sums[slot] = blocks[slot] * 2 + 1
            store(i, slot).start()

        store(14, 0).wait()
        store(15, 1).wait()

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=HBM)],
        out_specs=pl.BlockSpec(memory_space=HBM),
        out_shape=like(x),
        scratch_shapes=[
            VMEM((2, 8, 256), jnp.float32),
            VMEM((2, 8, 256), jnp.float32),
            pltpu.SemaphoreType.DMA((2,)),
            pltpu.SemaphoreType.DMA((2,)),
        ],
    )
    same(call(x), x * 2 + 1)


def test_a_pipeline_inside_of_a_kernel():
    x, y = normal(256, 256), normal(256, 256, seed=1)

    def inner(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] * y_ref[...]

    def kernel(x_ref, y_ref, o_ref):
        block = pl.BlockSpec((64, 128), lambda i, j: (i, j))
        pltpu.emit_pipeline(inner, grid=(4, 2), in_specs=[block, block], out_specs=[block])(
            x_ref, y_ref, o_ref
        )

    anywhere = pl.BlockSpec(memory_space=HBM)
    call = pl.pallas_call(
        kernel, in_specs=[anywhere, anywhere], out_specs=anywhere, out_shape=like(x)
    )
    same(call(x, y), x * y)


def test_scratch_that_a_kernel_takes_for_a_while():
    x = normal(8, 128)

    def kernel(x_ref, o_ref):
        def scoped(scratch, done):
            copy = pltpu.make_async_copy(x_ref, scratch, done)
            copy.start()
            copy.wait()
            o_ref[...] = scratch[...] - 3

        pl.run_scoped(scoped, VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA)

    call = pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=HBM)], out_shape=like(x))
    same(call(x), x - 3)


# Random numbers.


def test_random_bits_follow_from_the_seed():
    def kernel(seed_ref, o_ref):
        pltpu.prng_seed(seed_ref[0])
        o_ref[...] = pltpu.prng_random_bits((256, 256))

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=SMEM)],
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.int32),
    )
    one, again, other = (np.asarray(call(jnp.array([seed], jnp.int32))) for seed in (7, 7, 8))
    assert (one == again).all()
    assert (one != other).mean() > 0.99
    ones = np.unpackbits(one.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 0.005


# Transformations.


def test_a_kernel_under_vmap_and_grad():
    x, y = normal(3, 8, 128), normal(3, 8, 128, seed=1)

    @jax.custom_vjp
    def product(x, y):
        def kernel(x_ref, y_ref, o_ref):
            o_ref[...] = x_ref[...] * y_ref[...]

        return pl.pallas_call(kernel, out_shape=like(x))(x, y)

    product.defvjp(
        lambda x, y: (product(x, y), (x, y)), lambda saved, g: (g * saved[1], g * saved[0])
    )
    same(jax.vmap(product)(x, y), x * y)
    left, right = jax.grad(lambda x, y: jax.vmap(product)(x, y).sum(), argnums=(0, 1))(x, y)
    same(left, y)
    same(right, x)


def test_a_kernel_inside_of_a_loop_and_a_scan():
    x = normal(8, 128)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 0.5 + 1

    half = pl.pallas_call(kernel, out_shape=like(x))
    result, all_ = jax.jit(lambda x: lax.scan(lambda x, _: (half(x), x), x, length=5))(x)
    expected = x
    for step in range(5):
        same(all_[step], expected)
        expected = expected * 0.5 + 1
    same(result, expected)


@functools.cache
def mesh() -> jax.sharding.Mesh:
    return jax.sharding.Mesh(np.array(jax.devices()), ("x",))


def test_a_kernel_on_each_device_of_a_shard_map():
    count = len(jax.devices())
    x = normal(8 * count, 128)
    block = pl.pallas_call(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * 2),
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )
    spec = jax.P("x")
    call = jax.jit(
        jax.shard_map(block, mesh=mesh(), in_specs=spec, out_specs=spec, check_vma=False)
    )
    same(call(x), x * 2)
