"""Kernels over arrays whose extents are no multiples of their blocks."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from emulator import JAXLIB

if JAXLIB < (0, 8):
    pytest.skip("written with the names that Pallas has since JAX 0.8", allow_module_level=True)

ANYWHERE = pl.BlockSpec(memory_space=pl.ANY)


def counted(*shape: int, dtype: Any) -> jax.Array:
    elements = int(np.prod(shape))
    return (jnp.arange(elements, dtype=jnp.int32) % 100).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int8])
@pytest.mark.parametrize(("rows", "columns"), [(33, 129), (64, 300), (100, 128), (1, 1), (65, 513)])
def test_a_pipeline_ends_in_the_tile_behind_its_array(rows: int, columns: int, dtype: Any) -> None:
    x = counted(rows, columns, dtype=dtype)
    block = pl.BlockSpec((32, 128), lambda i, j: (i, j))

    def kernel(x_ref: Any, o_ref: Any) -> None:
        def inner(x_ref: Any, o_ref: Any) -> None:
            o_ref[...] = (x_ref[...].astype(jnp.float32) + 1).astype(dtype)

        grid = (pl.cdiv(rows, 32), pl.cdiv(columns, 128))
        pltpu.emit_pipeline(inner, grid=grid, in_specs=[block], out_specs=[block])(x_ref, o_ref)

    call = pl.pallas_call(
        kernel,
        in_specs=[ANYWHERE],
        out_specs=ANYWHERE,
        out_shape=jax.ShapeDtypeStruct(x.shape, dtype),
    )
    np.testing.assert_array_equal(
        np.asarray(call(x), np.float32), np.asarray(x, np.float32) + 1, strict=True
    )


def test_a_copy_that_leads_behind_the_tile_is_an_error() -> None:
    x = counted(8, 130, dtype=jnp.float32)

    def kernel(x_ref: Any, o_ref: Any, scratch: Any, start: Any) -> None:
        def scoped(done: Any) -> None:
            part = x_ref.at[:, pl.ds(start[0], 128)]
            pltpu.make_async_copy(part, scratch, done).start()
            pltpu.make_async_copy(part, scratch, done).wait()
            o_ref[...] = scratch[...]

        start[0] = 256
        pl.run_scoped(scoped, pltpu.SemaphoreType.DMA)

    call = pl.pallas_call(
        kernel,
        in_specs=[ANYWHERE],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SMEM((1,), jnp.int32)],
    )
    with pytest.raises(Exception, match=r"(?s)test_pallas_edges\.py.*out of bounds"):
        jax.block_until_ready(call(x))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz"])
def test_numbers_rounded_by_chance_are_one_of_their_neighbours_with_their_sign(name: str) -> None:
    target = jnp.dtype(name)
    x = jnp.concatenate([jnp.linspace(-0.003, 0.003, 1022), jnp.array([0.0, -0.0])])
    x = x.astype(jnp.float32).reshape(8, 128)
    bits = jax.random.bits(jax.random.key(0), (8, 128), jnp.uint32)

    def kernel(x_ref: Any, bits_ref: Any, o_ref: Any) -> None:
        o_ref[...] = pltpu.stochastic_round(x_ref[...], bits_ref[...], target_dtype=target)

    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, target))
    made = np.asarray(call(x, bits))
    wanted = np.asarray(x)
    nearest = wanted.astype(target)
    ends = [np.nextafter(nearest, target.type(to)).astype(np.float32) for to in (1, -1)]
    step = np.maximum(*(np.abs(end - nearest.astype(np.float32)) for end in ends))
    assert (np.abs(made.astype(np.float32) - wanted) <= step).all()
    if name != "float8_e4m3b11fnuz":
        np.testing.assert_array_equal(np.signbit(made), np.signbit(wanted))


def reads_before_it_writes(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] += x_ref[...]


def writes_a_part(x_ref: Any, o_ref: Any) -> None:
    o_ref[0:4] = x_ref[0:4]


def writes_where_it_counts(x_ref: Any, o_ref: Any) -> None:
    @pl.when(jnp.max(x_ref[...]) > 8 * 256)
    def _() -> None:
        o_ref[...] = x_ref[...]


def reads_a_part_and_writes_all(x_ref: Any, o_ref: Any) -> None:
    before = o_ref[0:4]
    o_ref[...] = x_ref[...]
    o_ref[4:8] = before


def writes_all(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...]


# Elements of two blocks that each of them leaves without a number.
WRITTEN_IN_PART = [
    (reads_before_it_writes, [True] * 16),
    (writes_a_part, [False] * 4 + [True] * 4 + [False] * 4 + [True] * 4),
    (writes_where_it_counts, [True] * 8 + [False] * 8),
    (reads_a_part_and_writes_all, [False] * 4 + [True] * 4 + [False] * 4 + [True] * 4),
    (writes_all, [False] * 16),
]


@pytest.mark.parametrize("columns", [128, 256])
@pytest.mark.parametrize(("kernel", "left"), WRITTEN_IN_PART)
def test_what_a_kernel_has_not_written_is_no_number(
    kernel: Any, left: list[bool], columns: int
) -> None:
    x = jnp.arange(16 * 256, dtype=jnp.float32).reshape(16, 256) + 1
    block = pl.BlockSpec((8, columns), lambda i, j: (i, j))
    made = pl.pallas_call(
        kernel,
        grid=(2, 256 // columns),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )
    had = np.asarray(jax.jit(made)(x) * 1)
    np.testing.assert_array_equal(np.isnan(had), np.repeat(np.array(left)[:, None], 256, 1))
    there = ~np.isnan(had)
    if kernel is not reads_before_it_writes:
        np.testing.assert_array_equal(had[there], np.asarray(x)[there])
    whole = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 256), x.dtype))
    had = np.asarray(jax.jit(whole)(x[:8]) * 1)
    np.testing.assert_array_equal(np.isnan(had), np.repeat(np.array(left[:8])[:, None], 256, 1))


def exported(function: Any, dims: str, count: int) -> Any:
    core = pytest.importorskip("jax._src.pallas.core")
    if not hasattr(core, "pallas_export_experimental"):
        pytest.skip("this JAX has no pallas_export_experimental")
    given = jax.ShapeDtypeStruct(jax.export.symbolic_shape(dims), jnp.float32)
    with core.pallas_export_experimental(dynamic_shapes=True):
        return jax.export.export(jax.jit(function), platforms=["tpu"])(*[given] * count)


def in_blocks(x: jax.Array, y: jax.Array) -> jax.Array:
    def kernel(x_ref: Any, y_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2 + y_ref[...]

    block = pl.BlockSpec((128, 128), lambda i, j: (i, j))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(x.shape[0], 128), pl.cdiv(x.shape[1], 128)),
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, y)


@pytest.mark.skipif(JAXLIB < (0, 10), reason="an assertion of JAX 0.8 ends this export")
@pytest.mark.parametrize("batch", [[], [3]])
def test_an_export_with_symbolic_shapes_runs_for_any_shapes(batch: list[int]) -> None:
    call = exported(*((jax.vmap(in_blocks), "b, m, n") if batch else (in_blocks, "m, n")), 2)
    for shape in [(128, 128), (300, 129), (1, 1), (7, 256)]:
        x = counted(*batch, *shape, dtype=jnp.float32)
        np.testing.assert_array_equal(np.asarray(call.call(x, x + 1)), np.asarray(x * 3 + 1))


@pytest.mark.parametrize("semantics", ["arbitrary", "parallel"])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int32, jnp.int8])
def test_blocks_that_no_point_of_the_grid_has_have_numbers_that_show(
    dtype: Any, semantics: Literal["arbitrary", "parallel"]
) -> None:
    rows, columns, blocks = 256, 1024, 8
    x = jnp.zeros((rows * blocks, columns), dtype)
    made = pl.pallas_call(
        writes_all,
        grid=(blocks - 2,),
        in_specs=[pl.BlockSpec((rows, columns), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((rows, columns), lambda i: (i + i // 3, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=(semantics,)),
    )
    had = np.asarray(jax.jit(made)(x).astype(jnp.float32)).reshape(blocks, rows, columns)
    shows = np.nan if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).max
    for block in range(blocks):
        wanted = np.float32(shows if block in (3, 7) else 0)
        np.testing.assert_array_equal(had[block], np.full((rows, columns), wanted))


def test_a_grid_without_points_leaves_numbers_that_show() -> None:
    made = pl.pallas_call(
        writes_all,
        grid=(0,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
    )
    assert np.isnan(np.asarray(jax.jit(made)(jnp.zeros((16, 128))))).all()


@pytest.mark.skipif(JAXLIB < (0, 10), reason="JAX spelled powers of two as exponentials before")
@pytest.mark.parametrize(("dtype", "bound"), [(jnp.float32, 2**-23), (jnp.bfloat16, 2**-8)])
def test_powers_of_two_are_rounded_once(dtype: Any, bound: float) -> None:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = jnp.exp2(x_ref[...])

    x = jnp.linspace(-12, 12, 8 * 128).astype(dtype).reshape(8, 128)
    made = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, dtype))(x)
    wanted = 2.0 ** np.asarray(x, np.float64)
    assert np.abs(np.asarray(made, np.float64) / wanted - 1).max() <= bound
    # Outside of kernels, jnp.exp2 is the exponential of a product, which is rounded as well.
    np.testing.assert_array_equal(made, jnp.power(2, x))
