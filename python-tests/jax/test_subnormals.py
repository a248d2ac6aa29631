"""Floats too small to be normal: zeros to arithmetic, as on the chip, or numbers on request."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emulator
from emulator import output

SINGLE = np.array([1e-40, -1e-40, 1e-45, 1.5e-38, -0.0], np.float32)
DOUBLE = np.array([1e-310, -1e-310, 5e-324, 3e-308, -0.0], np.float64)
SMALL = {"float32": SINGLE, "float64": DOUBLE, "bfloat16": SINGLE}
NUMBERS = [0, 0, 0, 1, 0]


def bits(values):
    values = np.atleast_1d(np.asarray(values))
    return values.view(f"u{values.itemsize}").tolist()


def flushed(values):
    values = np.asarray(values)
    return np.where(np.array(NUMBERS) == 1, values, np.copysign(np.zeros_like(values), values))


@pytest.fixture(params=sorted(SMALL))
def x(request):
    with emulator.wide_types():
        yield jnp.asarray(np.asarray(SMALL[request.param], jnp.dtype(request.param)))


def test_what_computes_takes_them_for_zeros(x):
    one = jnp.ones_like(x)
    programs = {
        "product": lambda x, one: x * one,
        "quotient": lambda x, one: x / one,
        "maximum": lambda x, one: jnp.maximum(x, -one),
        "minimum": lambda x, one: jnp.minimum(x, one),
        "clamp": lambda x, one: jax.lax.clamp(-one, x, one),
        "remainder": lambda x, one: jax.lax.rem(x, one),
        "in a loop": lambda x, one: jax.lax.fori_loop(0, 40, lambda _, y: y * one, x),
    }
    for name, program in programs.items():
        assert bits(jax.jit(program)(x, one)) == bits(flushed(x)), name
    for name, program in {
        "above": lambda x, one: (x > one - one).astype(x.dtype),
        "not zero": lambda x, one: (x != one - one).astype(x.dtype),
        "ceiling": lambda x, one: jnp.ceil(x) + 0,
        "size of the sign": lambda x, one: jnp.abs(jnp.sign(x)),
    }.items():
        wanted = [0, 0, 0, 1, 0]
        assert np.asarray(jax.jit(program)(x, one), np.float64).tolist() == wanted, name


def test_what_moves_or_turns_bits_keeps_them(x):
    for program in (
        lambda x: x,
        lambda x: -(-x),
        lambda x: jnp.concatenate([x, x])[5:],
        lambda x: jnp.where(x == x, x, 1),
        lambda x: jax.lax.optimization_barrier(x),
    ):
        assert bits(jax.jit(program)(x)) == bits(x)
    size = {2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[x.dtype.itemsize]
    turned = jax.jit(lambda x: jax.lax.bitcast_convert_type(x, size))(x)
    assert np.asarray(turned).tolist() == bits(x)
    assert bits(jnp.abs(x)[:3]) == bits(abs(np.asarray(x))[:3])
    assert bits(jax.jit(lambda: np.asarray(x))()) == bits(x)


def test_results_that_are_too_small_are_zeros():
    with emulator.wide_types():
        for dtype in SMALL:
            tiny = jnp.finfo(dtype).tiny.astype(dtype)
            half = jax.jit(lambda a, b: a * b)(tiny, jnp.asarray(-0.5, dtype))
            assert bits(half) == bits(np.asarray(-0.0, jnp.dtype(dtype))), dtype
        narrowed = jax.jit(lambda x: x.astype(np.float32))(np.array([1e-40, -1e-40]))
        assert bits(narrowed) == [0, 1 << 31]
        widened = jax.jit(lambda x: x.astype(np.float64))(SINGLE)
        assert np.asarray(widened).tolist() == [0, 0, 0, float(SINGLE[3]), 0]
    low = np.array([-87, -88, -90, -103], np.float32)
    assert [float(e) > 0 for e in jnp.exp(low)] == [True, False, False, False]
    assert float(jnp.sum(np.full(5, 1e-39, np.float32))) == 0
    assert float(jnp.dot(SINGLE[:1], np.full(1, 1e4, np.float32))) == 0


def test_shorter_floats_keep_theirs():
    half = np.array([1e-7, -6e-8, 6.2e-5], np.float16)
    one = np.ones_like(half)
    assert bits(jax.jit(lambda x, one: x * one)(half, one)) == bits(half)
    wide = jax.jit(lambda x: x.astype(np.float32))(half)
    assert np.asarray(wide).tolist() == half.astype(np.float32).tolist()
    assert bits(jax.jit(lambda x: x.astype(np.float16))(wide)) == bits(half)
    square = np.diag(half)
    product = jax.jit(lambda a, b: jnp.matmul(a, b, precision="highest"))
    assert (
        np.asarray(product(square, np.eye(3, dtype=np.float16))).diagonal().tolist()
        == half.tolist()
    )


def test_a_sort_takes_them_for_zeros_and_keeps_their_order():
    wanted = [SINGLE[i] for i in (0, 1, 2, 4, 3)]
    assert bits(jnp.sort(SINGLE)) == bits(np.array(wanted))
    assert jnp.argsort(SINGLE).tolist() == [0, 1, 2, 4, 3]


def test_known_numbers_are_computed_as_unknown_ones():
    found = jax.jit(lambda: jax.lax.mul(jnp.asarray(SINGLE), np.ones(5, np.float32)))()
    assert bits(found) == bits(flushed(SINGLE))


def test_many_pieces_on_many_threads_do_as_one():
    x = np.tile(SINGLE, 100_000)
    program = "jax.jit(lambda x: jnp.maximum(x * 1.5, -1) + jnp.sum(x[:7]) * 0)"
    script = f"""
    import jax, jax.numpy as jnp, numpy as np, zlib
    x = np.tile(np.array({SINGLE.tolist()}, np.float32), 100_000)
    step = {program}
    for _ in range(4):
        found = np.asarray(step(x))
    print(zlib.crc32(found.tobytes()), int((found == 0).sum()))
    """
    told = {output(script, {"TPU_EMU_THREADS": str(threads)}) for threads in (1, 2, 3, 8)}
    assert len(told) == 1
    assert told.pop().split()[1] == str(4 * len(x) // 5)


def test_the_client_has_its_own_mode_back():
    program = """
    import jax, numpy as np
    tiny, half = np.float32(1.2e-38), np.float32(0.5)

    def seen(x):
        return np.bool_(np.asarray(x) * half != 0)

    np.asarray(jax.jit(lambda x: x * 2)(np.float32(1)))
    shape = jax.ShapeDtypeStruct((), np.bool_)
    told = jax.jit(lambda x: (jax.pure_callback(seen, shape, x), x * half))(tiny)
    print(tiny * half != 0, *map(np.asarray, told))
    """
    assert output(program, {"JAX_PLATFORMS": "tpu,cpu"}) == "True True 0.0\n"


def test_the_environment_asks_for_numbers():
    program = """
    import jax, numpy as np
    x = np.array([1e-40, -1e-40], np.float32)
    print(np.asarray(jax.jit(lambda x: x * 2)(x)).view(np.uint32).tolist())
    """
    twice = (np.array([1e-40, -1e-40], np.float32) * 2).view(np.uint32).tolist()
    assert output(program, {"TPU_EMU_NUMERICS": "ieee"}) == f"{twice}\n"
    assert output(program, {"TPU_EMU_NUMERICS": "tpu"}) == f"{[0, 1 << 31]}\n"
