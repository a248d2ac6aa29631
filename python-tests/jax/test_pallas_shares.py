"""Kernels whose grid points are independent run on all threads, with the same bits."""

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from test_pallas import VMEM, like, near, normal, same

from emulator import output

SEMANTICS = ["parallel", "arbitrary"]


def independent(count: int, word: str = "parallel", rest: int = 0) -> Any:
    """Compiler parameters of a grid whose first dimensions are said to be independent."""
    words: tuple[Any, ...] = (word,) * count + ("arbitrary",) * rest
    return pltpu.CompilerParams(dimension_semantics=words)


def product(x: jax.Array, y: jax.Array, word: str, block: int = 128) -> jax.Array:
    def kernel(x_ref, y_ref, o_ref, sum_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = sum_ref[...]

    rows, columns, depth = x.shape[0], y.shape[1], x.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, block), pl.cdiv(columns, block), depth // block),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, _, k: (i, k)),
            pl.BlockSpec((block, block), lambda _, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, _: (i, j)),
        out_shape=jax.ShapeDtypeStruct((rows, columns), jnp.float32),
        scratch_shapes=[VMEM((block, block), jnp.float32)],
        compiler_params=independent(2, word, 1),
    )(x, y)


# Blocks at the edges are cut off.
@pytest.mark.parametrize("shape", [(512, 512), (1024, 640), (500, 300), (1000, 1)])
def test_a_product_whose_blocks_are_independent(shape):
    x, y = normal(shape[0], 512), normal(512, shape[1], seed=1)
    made = [product(x, y, word) for word in SEMANTICS]
    same(*made)
    near(made[0], x @ y, 0.1)


def test_the_number_of_threads_changes_no_bit():
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}; import hashlib; import numpy as np; "
        "from test_pallas import normal; from test_pallas_shares import product; "
        "made = product(normal(1024, 512), normal(512, 512, seed=1), 'parallel'); "
        "print(hashlib.sha256(np.asarray(made).tobytes()).hexdigest())"
    )
    one, three = (output(program, {"TPU_EMU_THREADS": str(threads)}) for threads in (1, 3))
    assert one == three


@pytest.mark.parametrize("word", SEMANTICS)
def test_what_scratch_carries_from_point_to_point_is_kept(word):
    # No chip has them beside each other: it has one core.
    def kernel(x_ref, o_ref, sum_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...]
        o_ref[...] = sum_ref[...]

    x = jnp.round(normal(64 * 128, 256) * 8)
    block = pl.BlockSpec((128, 256), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(64,),
        in_specs=[block],
        out_specs=block,
        out_shape=like(x),
        scratch_shapes=[VMEM((128, 256), jnp.float32)],
        compiler_params=independent(1, word),
    )
    for _ in range(2):
        same(call(x), jnp.cumsum(x.reshape(64, 128, 256), 0).reshape(x.shape))


@pytest.mark.parametrize("word", SEMANTICS)
def test_what_scratch_carries_in_a_part_of_it_is_kept(word):
    def kernel(x_ref, o_ref, last_ref):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            last_ref[...] = jnp.zeros_like(last_ref)

        o_ref[...] = x_ref[...] + last_ref[...]
        # One half is written anew at each point, the other one at each second.
        last_ref[:64, :] = x_ref[:64, :]

        @pl.when(lax.rem(i, 2) == 1)
        def _():
            last_ref[64:, :] = x_ref[64:, :]

    x = jnp.round(normal(64 * 128, 256) * 8)
    block = pl.BlockSpec((128, 256), lambda i: (i, 0))
    made = pl.pallas_call(
        kernel,
        grid=(64,),
        in_specs=[block],
        out_specs=block,
        out_shape=like(x),
        scratch_shapes=[VMEM((128, 256), jnp.float32)],
        compiler_params=independent(1, word),
    )(x)
    blocks = np.asarray(x).reshape(64, 128, 256)
    expected, last = np.empty_like(blocks), np.zeros_like(blocks[0])
    for i, one in enumerate(blocks):
        expected[i] = one + last
        last[:64] = one[:64]
        if i % 2:
            last[64:] = one[64:]
    np.testing.assert_array_equal(np.asarray(made).reshape(blocks.shape), expected)


@pytest.mark.parametrize("word", SEMANTICS)
def test_a_block_that_all_points_add_to_is_their_sum(word):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    x = jnp.round(normal(64 * 128, 256) * 8)
    made = pl.pallas_call(
        kernel,
        grid=(64,),
        in_specs=[pl.BlockSpec((128, 256), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((128, 256), lambda _: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((128, 256), x.dtype),
        compiler_params=independent(1, word),
    )(x)
    same(made, x.reshape(64, 128, 256).sum(0))


def test_counts_in_scalar_memory_are_kept():
    def kernel(x_ref, o_ref, count_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            count_ref[0] = 0

        count_ref[0] += 1
        o_ref[...] = x_ref[...] * count_ref[0].astype(jnp.float32)

    x = jnp.ones((64 * 128, 256))
    block = pl.BlockSpec((128, 256), lambda i: (i, 0))
    made = pl.pallas_call(
        kernel,
        grid=(64,),
        in_specs=[block],
        out_specs=block,
        out_shape=like(x),
        scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
        compiler_params=independent(1),
    )(x)
    same(made, jnp.repeat(jnp.arange(1.0, 65.0), 128)[:, None] * x)


def test_independent_points_take_blocks_that_scalars_name():
    def kernel(_, x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    x, order = normal(64 * 128, 256), jax.random.permutation(jax.random.key(1), 64)
    made = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(64,),
            in_specs=[pl.BlockSpec((128, 256), lambda i, order: (order[i], 0))],
            out_specs=pl.BlockSpec((128, 256), lambda i, order: (order[i], 0)),
        ),
        out_shape=like(x),
        compiler_params=independent(1),
    )(order.astype(jnp.int32), x)
    same(made, x * 2)


@pytest.mark.parametrize("word", SEMANTICS)
def test_a_mistake_in_an_independent_point_is_told(word):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    x = normal(64 * 128, 256)
    call = pl.pallas_call(
        kernel,
        grid=(64,),
        in_specs=[pl.BlockSpec((128, 256), lambda i: (i + 1, 0))],
        out_specs=pl.BlockSpec((128, 256), lambda i: (i, 0)),
        out_shape=like(x),
        compiler_params=independent(1, word),
    )
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"grid point \[63\]") as raised:
            np.asarray(call(x))
        assert Path(__file__).name in str(raised.value).split("\n")[0]
