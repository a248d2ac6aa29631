"""Products with masks: what XLA's compiler makes choices of, and what it leaves as products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import emulator

INF, NAN = np.inf, np.nan
MASK = np.array([True, False, True, False, False])
X = np.array([INF, INF, NAN, NAN, -5.0], np.float32)
CHOSEN = np.array([INF, 0, NAN, 0, 0], np.float32)
MULTIPLIED = np.array([INF, NAN, NAN, NAN, -0.0], np.float32)


def same(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_array_equal(found, expected)
    if not np.iscomplexobj(found):
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(found)[zeros], np.signbit(expected)[zeros])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("jitted", [True, False], ids=["jit", "eager"])
def test_a_false_mask_gives_zero_whatever_it_hides(dtype, jitted):
    with emulator.wide_types():
        x = jnp.asarray(X.astype(dtype))
        run = jax.jit if jitted else lambda function: function
        for product in (lambda m, x: m * x, lambda m, x: x * m):
            same(run(product)(MASK, x), CHOSEN.astype(dtype))


def test_a_false_mask_gives_zero_wherever_the_product_stands():
    x, mask = jnp.asarray(X), jnp.asarray(MASK)
    compared = jnp.where(mask, 1, -1).astype(np.float32)
    programs = {
        "comparison": lambda m, x, c: (c > 0) * x,
        "both": lambda m, x, c: (m & (c > 0)) * x,
        "later used": lambda m, x, c: (x * m.astype(x.dtype), m.astype(x.dtype))[0],
        "converted before": lambda m, x, c: jax.jit(lambda m: m.astype(np.float32))(m) * x,
        "fused": lambda m, x, c: jnp.exp(jnp.log(jnp.abs(c))) * 0 + m * x,
        "loop": lambda m, x, c: jax.lax.fori_loop(0, 3, lambda _, x: m * x, x),
        "scan": lambda m, x, c: jax.lax.scan(lambda s, mx: (s, mx[0] * mx[1]), 0, (m, x))[1],
        "branch": lambda m, x, c: jax.lax.cond(c[0] > 0, lambda: m * x, lambda: x),
        "constant": lambda m, x, c: m * X,
        "einsum": lambda m, x, c: jnp.einsum("i,i->i", m.astype(np.float32), x),
    }
    for name, program in programs.items():
        found = np.asarray(jax.jit(program)(mask, x, compared))
        np.testing.assert_array_equal(found, CHOSEN, err_msg=name)


def test_many_lanes_are_chosen_as_few_are():
    mask, x = np.tile(MASK, 40_000), np.tile(X, 40_000)
    step = jax.jit(lambda m, x: jnp.sqrt(m * x + 1))
    for _ in range(3):
        found = np.asarray(step(mask, x))
    np.testing.assert_array_equal(found, np.tile(np.sqrt(CHOSEN + 1), 40_000))


def test_regions_choose_too():
    def product(a, b):
        return jax.lax.convert_element_type(a > b, np.float32) * b

    reduced = jax.jit(lambda x: jax.lax.reduce(x, np.float32(1), product, (0,)))
    assert float(reduced(np.array([INF, INF], np.float32))) == 0


def test_shards_choose_too():
    mesh = jax.make_mesh((8,), ("a",))
    spec = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
    mask, x = (jax.device_put(np.tile(part, 8), spec) for part in (MASK, X))
    same(jax.jit(lambda m, x: m * x)(mask, x), np.tile(CHOSEN, 8))


def test_what_stands_between_mask_and_product_leaves_the_product():
    single = np.float32
    programs = {
        "another type": lambda m, x: m.astype(np.int8).astype(single) * x,
        "barrier": lambda m, x: jax.lax.optimization_barrier(m.astype(single)) * x,
        "factor": lambda m, x: 2 * m.astype(single) * x / 2,
        "choice of numbers": lambda m, x: jnp.where(m, single(1), single(0)) * x,
        "argument of a loop": lambda m, x: jax.lax.scan(
            lambda s, mx: (s, mx[0] * mx[1]), 0, (m.astype(single), x)
        )[1],
        "known mask": lambda m, x: MASK * x,
    }
    for name, program in programs.items():
        found = np.asarray(jax.jit(program)(MASK, X))
        np.testing.assert_array_equal(found, MULTIPLIED, err_msg=name)
    rows = np.stack([X, X])
    same(jax.jit(lambda m, x: m * x)(MASK, rows), np.stack([MULTIPLIED] * 2))
    short = jax.jit(lambda m, x: m * x)(MASK, X.astype(jnp.bfloat16))
    np.testing.assert_array_equal(np.asarray(short, np.float32), MULTIPLIED)
