"""Checks of one device: transformations, control flow, numbers and their types."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from against_cpu import Check, same, values

CHECKS: list[Check] = []


def _check(check: Check) -> Check:
    CHECKS.append(check)
    return check


def _net(parameters, x):
    for weights, bias in parameters[:-1]:
        x = jnp.tanh(x @ weights + bias)
    weights, bias = parameters[-1]
    return x @ weights + bias


def _parameters(*widths):
    return [
        (values(a, b, seed=a) / np.sqrt(a), values(b, seed=b))
        for a, b in itertools.pairwise(widths)
    ]


@_check
def gradients_of_a_net():
    def loss(parameters, x, y):
        return jnp.mean((_net(parameters, x) - y) ** 2)

    same(jax.value_and_grad(loss), _parameters(5, 16, 16, 2), values(32, 5), values(32, 2, seed=1))


@_check
def derivatives_forwards_backwards_and_of_second_order():
    def function(x):
        return jnp.sum(jnp.sin(x) * jnp.exp(-(x**2)))

    x = values(6)
    same(jax.hessian(function), x)
    same(jax.jacfwd(jax.grad(function)), x)
    same(lambda x: jax.jvp(function, (x,), (jnp.ones_like(x),)), x)
    same(lambda x: jax.linearize(function, x)[1](x), x)


@_check
def nested_vmap():
    same(jax.vmap(jax.vmap(jnp.outer, (0, None)), (None, 0)), values(3, 4), values(5, 6))
    same(jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))), values(3, 7), np.array([0, 3, 9]))


@_check
def rules_of_derivatives_by_hand_and_checkpoints():
    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.5, 0.5),))

    @jax.custom_jvp
    def softplus(x):
        return jnp.logaddexp(x, 0.0)

    softplus.defjvps(lambda t, _, x: t * jax.nn.sigmoid(x))
    same(jax.grad(lambda x: jnp.sum(clipped(x) ** 3)), values(8))
    same(jax.grad(lambda x: jnp.sum(softplus(x) ** 2)), values(8))
    same(jax.grad(lambda x: jnp.sum(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x))), values(8))


@_check
def loops_and_branches():
    same(lambda x: lax.fori_loop(0, 10, lambda i, x: x * 0.9 + i, x), values(4))
    same(lambda x: lax.while_loop(lambda x: jnp.sum(x) < 100, lambda x: x * 1.5 + 1, x), values(4))
    same(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), np.int32(1), values(4))
    same(lambda x: lax.cond(x[0] > 0, lambda: x + 1, lambda: x - 1), values(4))
    same(lambda x: lax.map(jnp.cumsum, x), values(5, 6))
    same(lambda x: lax.associative_scan(jnp.maximum, x), values(33))


@_check
def scans_and_their_gradients():
    def last(weights, x):
        def step(state, row):
            state = jnp.tanh(state @ weights + row)
            return state, jnp.sum(state)

        state, sums = lax.scan(step, jnp.zeros(4), x)
        return jnp.sum(state) + jnp.sum(sums**2)

    same(jax.value_and_grad(last, (0, 1)), values(4, 4), values(20, 4))


@_check
def random_numbers_are_those_of_every_backend():
    def draws(seed):
        keys = jax.random.split(jax.random.key(seed), 9)
        return (
            jax.random.bits(keys[0], (7,)),
            jax.random.uniform(keys[1], (3, 5)),
            jax.random.normal(keys[2], (100,)),
            jax.random.permutation(keys[3], 50),
            jax.random.categorical(keys[4], jnp.arange(6.0), shape=(40,)),
            jax.random.gamma(keys[5], 2.5, (10,)),
            jax.random.choice(keys[6], 20, (5,), replace=False),
            jax.random.truncated_normal(keys[7], -1.0, 1.0, (10,)),
            jax.random.dirichlet(keys[8], jnp.ones(4), (3,)),
        )

    same(draws, 42)
    generator = jax.random.key(7, impl="rbg")
    first, second = (jax.random.normal(generator, (8,)) for _ in range(2))
    assert np.array_equal(first, second)


@_check
def linear_algebra():
    a, b = values(6, 6), values(6, 3)
    positive = (a @ a.T + 6 * np.eye(6)).astype(np.float32)
    same(jnp.linalg.solve, a, b, rtol=2e-3)
    same(jnp.linalg.cholesky, positive)
    same(lambda x: abs(jnp.linalg.qr(x)[1]), a, rtol=1e-3)
    same(jnp.linalg.eigvalsh, positive, rtol=1e-3)
    same(lambda x: jnp.linalg.svd(x, compute_uv=False), a, rtol=1e-3)
    same(lambda x: (jnp.linalg.det(x), jnp.linalg.inv(x)), positive, rtol=2e-3)
    same(jax.scipy.linalg.expm, a / 4, rtol=1e-3)
    same(jax.grad(lambda x: jnp.linalg.slogdet(x)[1]), positive, rtol=2e-3)


@_check
def transforms_of_fourier():
    same(lambda x: (jnp.fft.fft(x), jnp.fft.rfft2(x), jnp.fft.irfft(x)), values(6, 10))


@_check
def convolutions_pooling_and_their_gradients():
    def pooled(x, kernel):
        x = lax.conv_general_dilated(
            x, kernel, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.sum(x**2)

    same(jax.value_and_grad(pooled, (0, 1)), values(2, 9, 8, 3), values(3, 3, 3, 4), rtol=1e-3)


@_check
def sorts_and_searches():
    x = values(4, 33)
    same(lambda x: (jnp.sort(x), jnp.argsort(x, descending=True), lax.top_k(x, 5)), x)
    same(lambda x: jnp.unique(jnp.round(x), size=12, fill_value=0), x)
    same(lambda x: jnp.searchsorted(jnp.sort(x[0]), x[1]), x)
    same(lambda x: (jnp.median(x, 1), jnp.percentile(x, 30), jnp.histogram(x, 7)[0]), x)


@_check
def indices_read_and_written():
    x, rows = values(7, 5), np.array([6, 0, 0, 3])
    same(
        lambda x, i: (x[i], x[i, 1:3], x[::-2, ::3], jnp.take_along_axis(x, jnp.argsort(x, 0), 0)),
        x,
        rows,
    )
    same(lambda x, i: (x.at[i].add(1.0), x.at[i].max(0.5), x.at[2, i].set(9.0)), x, rows)
    same(jax.grad(lambda x: jnp.sum(x[rows] ** 2)), x)
    same(lambda x, i: jax.ops.segment_sum(x[:4], i, 7), x, rows)


@_check
def products_of_all_kinds():
    same(lambda a, b: jnp.einsum("bij,bkj->bik", a, b), values(2, 3, 4), values(2, 5, 4))
    same(lambda a, b: jnp.einsum("ij,kl,jk->il", a, b, b), values(3, 4), values(4, 4))
    same(jnp.matmul, np.arange(12, dtype=np.int8).reshape(3, 4), np.ones((4, 2), np.int8))
    same(lambda a: jnp.tensordot(a, a, 2), values(5, 5))


@_check
def attention_with_a_mask():
    def attention(q, k, v):
        scores = jnp.einsum("qhd,khd->hqk", q, k) / 4
        mask = jnp.tril(jnp.ones(scores.shape[1:], bool))
        scores = jnp.where(mask, scores, -jnp.inf)
        return jnp.sum(jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v) ** 2)

    q, k, v = (values(10, 2, 16, seed=seed) for seed in range(3))
    same(jax.value_and_grad(attention, (0, 1, 2)), q, k, v)


@_check
def small_types():
    x = np.arange(-8, 8).astype(np.float32)
    for name in ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "int8"):
        dtype = jnp.dtype(name)
        same(lambda x, dtype=dtype: (x.astype(dtype), x.astype(dtype).astype(jnp.float32)), x)
        array = jax.device_put(np.abs(x[:7]).astype(dtype))
        assert np.array_equal(np.asarray(array), np.abs(x[:7]).astype(dtype))
    same(lambda x: jnp.sum(x.astype(jnp.bfloat16) ** 2), x)
    same(lambda x: (x > 0) & ~(x > 3) | (x < -5), x)


@_check
def types_of_64_bits():
    with jax.enable_x64(True):
        x = np.random.default_rng(0).standard_normal((5, 5))
        same(lambda x: (jnp.linalg.inv(x), jnp.sum(x), x.astype(jnp.int64) << 40), x, rtol=1e-8)
        same(lambda x: jnp.exp(1j * x), x, rtol=1e-12)


@_check
def complex_numbers():
    z = (values(4, 4) + 1j * values(4, 4, seed=1)).astype(np.complex64)
    same(lambda z: (z @ z, jnp.abs(z), jnp.angle(z), jnp.sqrt(z), z.conj().T, jnp.exp(z)), z)
    same(jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2)), values(8))


@_check
def arrays_without_elements_and_of_one():
    empty = np.zeros((4, 0, 3), np.float32)
    same(lambda x: (x.transpose(2, 0, 1), jnp.sum(x, 1), x.reshape(0, 12), x + 1), empty)
    same(lambda x: (x @ jnp.ones((3, 2)), jnp.concatenate([x, x], 1)), empty)
    same(lambda x: (jnp.sum(x, 0), jnp.prod(x), jnp.cumsum(x, 0), jnp.sort(x)), values(1, 1, 1))


@_check
def infinities_and_what_is_no_number():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0], np.float32)
    same(lambda x: (jnp.isnan(x), jnp.nan_to_num(x), jnp.nanmax(x), jnp.sign(x), 1 / x), x)
    same(lambda x: (jnp.isfinite(x) * x, (x > 0) * x, jnp.max(x), jnp.argmin(x)), x)


@_check
def special_functions():
    x = np.abs(values(50)) + 0.1
    special = jax.scipy.special
    same(
        lambda x: (special.erf(x), special.gammaln(x), special.digamma(x), special.ndtri(x / 9)), x
    )
    same(lambda x: (special.gammainc(x, 1.5), special.betainc(x, 2.0, 0.3), special.i0e(x)), x)


@_check
def statistics_and_cumulations():
    x = values(6, 20)
    same(lambda x: (jnp.cov(x), jnp.corrcoef(x), jnp.var(x, 1), jnp.std(x)), x)
    same(lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), jnp.diff(x)), x)
    same(lambda x: jax.scipy.stats.norm.logpdf(x, 0.5, 2.0), x)


@_check
def a_training_with_adam():
    x, rate = values(64, 5), 1e-2
    y = np.sin(x.sum(1, keepdims=True))

    def loss(parameters):
        return jnp.mean((_net(parameters, x) - y) ** 2)

    def step(state, i):
        parameters, first, second = state
        value, slopes = jax.value_and_grad(loss)(parameters)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slopes)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, slopes)
        parameters = jax.tree.map(
            lambda p, m, v: (
                p - rate * m / (1 - 0.9 ** (i + 1)) / (jnp.sqrt(v / (1 - 0.99 ** (i + 1))) + 1e-8)
            ),
            parameters,
            first,
            second,
        )
        return (parameters, first, second), value

    def train(parameters):
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return lax.scan(step, (parameters, zeros, zeros), jnp.arange(100))[1]

    losses = same(train, _parameters(5, 32, 1), rtol=2e-3)
    assert losses[-1] < losses[0] / 4
