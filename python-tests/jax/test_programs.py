"""Programs of users: what they compute is what NumPy and XLA's CPU backend compute."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

RANDOM = np.random.default_rng(5)


def close(got: jax.Array, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
    """Fails where values, the shape or the type differ."""
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=tolerance, atol=tolerance)


def test_arithmetic_compiles_and_runs():
    x = RANDOM.standard_normal((5, 7), np.float32)
    close(jax.jit(lambda x: x * 2 + 1)(x), x * 2 + 1)
    close(jax.jit(lambda x: jnp.exp(-(x**2)).sum(axis=0))(x), np.exp(-(x**2)).sum(axis=0))


def test_each_operator_of_an_array_is_a_program():
    x = jnp.arange(6).reshape(2, 3)
    assert ((x + 1) * x).tolist() == [[0, 2, 6], [12, 20, 30]]
    assert x.T[1].tolist() == [1, 4]
    assert (x > 2).any()
    assert int(x.sum()) == 15


def test_the_gradient_of_a_loss_is_the_one_on_paper():
    def loss(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean((x @ w - y) ** 2)

    x, w, y = (RANDOM.standard_normal(shape, np.float32) for shape in [(16, 3), (3,), (16,)])
    with jax.default_matmul_precision("highest"):
        gradient = jax.jit(jax.grad(loss))(w, x, y)
    close(gradient, 2 / 16 * x.T @ (x @ w - y))


def test_a_second_derivative_is_a_hessian():
    def quartic(x: jax.Array) -> jax.Array:
        return jnp.sum(x**4) + x[0] * x[1]

    got = jax.hessian(quartic)(jnp.array([1.0, 2.0]))
    assert got.tolist() == [[12, 1], [1, 48]]


def test_vmap_maps_over_an_axis():
    x = RANDOM.standard_normal((4, 3), np.float32)
    close(jax.jit(jax.vmap(jnp.outer))(x, x), np.einsum("bi,bj->bij", x, x))


def test_a_scan_carries_and_collects():
    carried, collected = jax.jit(
        lambda x: lax.scan(lambda sum_, x: (sum_ + x, sum_ * x), jnp.float32(0), x)
    )(jnp.arange(5.0))
    assert carried == 10
    assert collected.tolist() == [0, 0, 2, 9, 24]


def test_a_while_loop_runs_as_often_as_its_argument_says():
    def collatz(start: jax.Array) -> jax.Array:
        def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            number, steps = state
            return jnp.where(number % 2 == 0, number // 2, 3 * number + 1), steps + 1

        return lax.while_loop(lambda state: state[0] != 1, step, (start, jnp.int32(0)))[1]

    assert [int(jax.jit(collatz)(n)) for n in (1, 6, 27)] == [0, 8, 111]


def test_a_condition_and_a_switch_take_one_branch():
    choose = jax.jit(lambda n, x: lax.switch(n, [jnp.sin, jnp.cos, jnp.negative], x))
    assert [round(float(choose(n, 1.0)), 4) for n in (0, 1, 2, 9)] == [0.8415, 0.5403, -1, -1]
    absolute = jax.jit(lambda x: lax.cond(x < 0, lambda x: -x, lambda x: x, x))
    assert [int(absolute(n)) for n in (-3, 4)] == [3, 4]


def test_sorting_and_the_greatest_are_those_of_numpy():
    x = RANDOM.permutation(1000).astype(np.float32).reshape(10, 100)
    close(jax.jit(jnp.sort)(x), np.sort(x))
    assert np.array_equal(jnp.argsort(x, axis=0), np.argsort(x, axis=0))
    assert np.array_equal(jax.jit(jnp.argmax, static_argnums=1)(x, 1), x.argmax(1))
    values, places = jax.jit(lambda x: lax.top_k(x, 5))(x)
    assert np.array_equal(values, -np.sort(-x)[:, :5])
    assert np.array_equal(np.take_along_axis(x, np.asarray(places), 1), values)


def test_rows_are_gathered_and_scattered():
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    rows = np.array([3, 0, 3])
    assert np.array_equal(jax.jit(lambda x, rows: x[rows])(x, rows), x[rows])
    wanted = x.copy()
    np.add.at(wanted, rows, 1)
    assert np.array_equal(jax.jit(lambda x, rows: x.at[rows].add(1.0))(x, rows), wanted)
    got = jax.jit(lambda x: lax.dynamic_update_slice(x, jnp.zeros((2, 2)), (9, 1)))(x)
    wanted = x.copy()
    wanted[3:, 1:3] = 0
    assert np.array_equal(got, wanted)


def test_sums_of_segments_and_running_sums_are_exact_in_integers():
    values, segments = np.arange(10), np.arange(10) % 3
    got = jax.ops.segment_sum(values, segments, num_segments=3)
    assert got.tolist() == [18, 12, 15]
    assert jnp.cumsum(values).tolist() == np.cumsum(values).tolist()
    assert lax.associative_scan(jnp.maximum, jnp.array([1, 5, 2, 7, 3])).tolist() == [1, 5, 5, 7, 7]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_convolution_is_the_sum_of_shifted_products(padding):
    image = RANDOM.standard_normal((2, 9, 8, 3), np.float32)
    filters = RANDOM.standard_normal((3, 3, 3, 4), np.float32)
    got = jax.jit(
        lambda image, filters: lax.conv_general_dilated(
            image,
            filters,
            (1, 1),
            padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            precision="highest",
        )
    )(image, filters)
    wide = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0))) if padding == "SAME" else image
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), axis=(1, 2))
    close(got, np.einsum("bijcyx,yxcf->bijf", windows, filters), 1e-4)


@pytest.mark.parametrize("length", [8, 15, 128])
def test_fourier_transforms_are_those_of_numpy(length):
    x = RANDOM.standard_normal((3, length), np.float32)
    close(jax.jit(jnp.fft.fft)(x), np.fft.fft(x).astype(np.complex64), 1e-4)
    spectrum = jax.jit(jnp.fft.rfft)(x)
    close(spectrum, np.fft.rfft(x).astype(np.complex64), 1e-4)
    close(jax.jit(jnp.fft.irfft, static_argnums=1)(spectrum, length), x, 1e-4)


@pytest.fixture
def matrix() -> np.ndarray:
    """Symmetric and positive."""
    root = RANDOM.standard_normal((6, 6), np.float32)
    return root @ root.T + 6 * np.eye(6, dtype=np.float32)


@pytest.fixture(autouse=True)
def exact_products():
    """The tests of values ask for f32 products; what DEFAULT means is told elsewhere."""
    with jax.default_matmul_precision("highest"):
        yield


def test_factors_of_a_matrix_multiply_to_it(matrix):
    lower = jnp.linalg.cholesky(matrix)
    close(lower @ lower.T, matrix, 1e-4)
    q, r = jnp.linalg.qr(matrix)
    close(q @ r, matrix, 1e-4)
    close(q.T @ q, np.eye(6, dtype=np.float32), 1e-4)
    u, s, vt = jnp.linalg.svd(matrix)
    close((u * s) @ vt, matrix, 1e-3)
    values, vectors = jnp.linalg.eigh(matrix)
    close(matrix @ vectors, np.asarray(vectors * values), 1e-3)
    permutation, lower, upper = jax.scipy.linalg.lu(matrix)
    close(permutation @ lower @ upper, matrix, 1e-4)


def test_systems_and_inverses_are_solved(matrix):
    right = RANDOM.standard_normal((6, 2), np.float32)
    close(matrix @ jnp.linalg.solve(matrix, right), right, 1e-4)
    close(jnp.linalg.inv(matrix) @ matrix, np.eye(6, dtype=np.float32), 1e-4)
    close(jnp.linalg.det(matrix), np.linalg.det(matrix), 1e3)


def test_a_program_gives_the_same_bits_each_time():
    x = RANDOM.standard_normal((257, 129), np.float32)
    program = jax.jit(lambda x: (jnp.tanh(x @ x.T).sum(), jnp.fft.fft(x), jnp.exp(x).mean(0)))
    first, second = program(x), program(x)
    jax.clear_caches()
    third = jax.jit(lambda x: (jnp.tanh(x @ x.T).sum(), jnp.fft.fft(x), jnp.exp(x).mean(0)))(x)
    for one, two, three in zip(first, second, third, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes() == np.asarray(three).tobytes()


def test_a_product_without_sums_may_have_more_axes_on_one_side():
    few, many = np.array([3, 5], np.int32), np.arange(12, dtype=np.int32).reshape(2, 2, 3)
    for left, right in [(few, many), (many, few)]:
        got = jax.jit(lambda a, b: jax.lax.dot_general(a, b, (((), ()), ((0,), (0,)))))(left, right)
        assert np.asarray(got).tolist() == (few[:, None, None] * many).tolist()
