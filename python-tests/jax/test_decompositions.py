"""Decompositions multiply to the matrix, with orthonormal bases, whatever the matrix is like."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from emulator import wide_types

RANDOM = np.random.default_rng(3)
KINDS = ["any", "clustered", "singular", "zero", "graded", "identity"]
ALL = [
    (n, dtype)
    for n in (1, 2, 3, 100)
    for dtype in (np.float32, np.float64, np.complex64, np.complex128)
]
# 500 rows are several blocks; one type of them is enough for the time that they take.
CASES = [(n, dtype, kind) for n, dtype in ALL for kind in (KINDS if n < 4 else KINDS[:4])]
CASES += [(500, np.float64, kind) for kind in ("clustered", "singular")]
cases = pytest.mark.parametrize(("n", "dtype", "kind"), CASES)


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    """All types, and products that are not rounded."""
    with wide_types(), jax.default_matmul_precision("highest"):
        yield


def numbers(n: int, dtype: type) -> np.ndarray:
    """A square matrix of random numbers."""
    parts = RANDOM.standard_normal((2, n, n))
    return parts[0] + 1j * parts[1] if np.issubdtype(dtype, np.complexfloating) else parts[0]


def matrix(n: int, dtype: type, kind: str, *, hermitian: bool = False) -> np.ndarray:
    """A matrix whose singular values, or eigenvalues, are of a kind."""
    k = np.arange(n)
    values = {
        "clustered": 1 + 1e-10 * k,
        "singular": np.where(k < n // 2, 0.0, 1.0 + k),
        "zero": np.zeros(n),
        "graded": 10.0 ** (-12 * k / n),
        "identity": np.ones(n),
    }
    if kind == "any":
        whole = numbers(n, dtype)
    elif kind in ("zero", "identity"):
        whole = np.diag(values[kind])
    else:
        left, right = (np.linalg.qr(numbers(n, dtype))[0] for _ in range(2))
        whole = (left * values[kind]) @ (left.conj().T if hermitian else right)
    return ((whole + whole.conj().T) / 2 if hermitian else whole).astype(dtype)


def double(x: jax.Array | np.ndarray) -> np.ndarray:
    """The same numbers in double precision."""
    return np.asarray(x).astype(np.result_type(np.asarray(x).dtype, np.float64))


def small(error: np.ndarray, of: np.ndarray, dtype: type) -> None:
    """Fails where an error is more than what rounding leaves of a matrix."""
    size = max(10, *of.shape)
    bound = 2 * size * np.finfo(dtype).eps * np.linalg.norm(double(of))
    # Written so that NaN fails.
    assert np.linalg.norm(error) <= bound


def orthonormal(q: np.ndarray, dtype: type) -> None:
    one = np.eye(q.shape[1])
    small(q.conj().T @ q - one, one, dtype)


@cases
def test_qr_and_products_of_reflectors(n, dtype, kind):
    whole = matrix(n, dtype, kind)
    for a in (whole, whole[:, : n // 2 + 1], whole[: n // 2 + 1]):
        q, r = map(double, jnp.linalg.qr(a))
        small(q @ r - a, a, dtype)
        orthonormal(q, dtype)
        assert not np.tril(r, -1).any()
    # The first of the reflectors alone make a basis, too.
    stored, taus = jnp.linalg.qr(whole, mode="raw")
    product = lax.linalg.householder_product(stored.mT, taus[: n // 2])
    orthonormal(double(product), dtype)


@cases
def test_eigenvalues_of_hermitian_matrices(n, dtype, kind):
    a = matrix(n, dtype, kind, hermitian=True)
    vectors, values = map(double, lax.linalg.eigh(jnp.asarray(a)))
    small(a @ vectors - vectors * values, a, dtype)
    orthonormal(vectors, dtype)
    assert (np.diff(values.real) >= 0).all()
    small(values - np.linalg.eigvalsh(double(a)), a, dtype)


@cases
def test_singular_values(n, dtype, kind):
    a = matrix(n, dtype, kind)
    u, values, v = map(double, jnp.linalg.svd(a))
    small((u * values) @ v - a, a, dtype)
    orthonormal(u, dtype)
    orthonormal(v.conj().T, dtype)
    assert (np.diff(values) <= 0).all()
    assert (values >= 0).all()
    small(values - np.linalg.svd(double(a), compute_uv=False), a, dtype)


@cases
def test_cholesky(n, dtype, kind):
    root = double(matrix(n, dtype, kind))
    a = (root @ root.conj().T + 1e-2 * n * np.eye(n)).astype(dtype)
    lower = double(jnp.linalg.cholesky(a))
    small(lower @ lower.conj().T - a, a, dtype)
    assert not np.triu(lower, 1).any()
    # The last pivot alone has no root; a matrix of zeros has none at all.
    a[-1, -1] = -1
    for none in (a, np.zeros_like(a)):
        assert np.isnan(np.tril(jnp.linalg.cholesky(none))[np.tril_indices(n)]).all()


@cases
def test_lu(n, dtype, kind):
    whole = matrix(n, dtype, kind)
    for a in (whole, whole[:, : n // 2 + 1], whole[: n // 2 + 1]):
        both, _, permutation = lax.linalg.lu(a)
        rank = min(a.shape)
        lower = np.tril(double(both)[:, :rank], -1) + np.eye(a.shape[0], rank)
        upper = np.triu(double(both)[:rank])
        assert sorted(np.asarray(permutation)) == list(range(a.shape[0]))
        # A pivot is the largest by |re| + |im|, as in LAPACK and in JAX's own.
        most = np.sqrt(2) if np.issubdtype(dtype, np.complexfloating) else 1
        assert np.abs(lower).max() < most + 1e-6
        small(lower @ upper - a[np.asarray(permutation)], np.abs(lower) @ np.abs(upper), dtype)


@pytest.mark.parametrize(("n", "dtype"), [*ALL, (500, np.float64)])
@pytest.mark.parametrize("power", [0, 30, -30])
def test_triangular_systems(n, dtype, power):
    # Squares of the large and the small numbers are no numbers of single precision.
    full = ((numbers(n, dtype) / n + 2 * np.eye(n)) * 10.0**power).astype(dtype)
    right = numbers(n, dtype)[:, : n // 3 + 1].astype(dtype)
    for lower in (True, False):
        triangle = double(np.tril(full) if lower else np.triu(full))
        for conjugated in (False, True):
            options = {"lower": lower, "transpose_a": conjugated, "conjugate_a": conjugated}
            a = triangle.conj().T if conjugated else triangle
            x = double(lax.linalg.triangular_solve(full, right, left_side=True, **options))
            small(a @ x - right, np.linalg.norm(a) * x, dtype)
            x = double(lax.linalg.triangular_solve(full, right.T, left_side=False, **options))
            small(x @ a - right.T, np.linalg.norm(a) * x, dtype)


@pytest.mark.parametrize("power", [30, -30])
def test_large_and_small_complex_matrices(power):
    a = (numbers(20, np.complex64) * 10.0**power).astype(np.complex64)
    q, r = map(double, jnp.linalg.qr(a))
    small(q @ r - a, a, np.complex64)
    orthonormal(q, np.complex64)
    both, _, permutation = lax.linalg.lu(a)
    lower, upper = np.tril(double(both), -1) + np.eye(20), np.triu(double(both))
    small(lower @ upper - a[np.asarray(permutation)], np.abs(lower) @ np.abs(upper), np.complex64)
