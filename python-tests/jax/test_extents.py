"""Extents of 0 and 1 in every place, with every type: what NumPy gives."""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

TYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128", "int4", "uint4",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz",
]  # fmt: skip
Function = Callable[[Any], Any]
PLACES = [
    dims
    for rank in (1, 2, 3)
    for dims in itertools.product((0, 1, 3), repeat=rank)
    if rank < 3 or 0 in dims
]


@pytest.fixture(autouse=True)
def _wide():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def same(got: jax.Array, wanted: np.ndarray) -> None:
    """Fails where values or the shape differ."""
    np.testing.assert_array_equal(np.asarray(got), wanted)


def test_views_over_views_of_nothing_are_nothing():
    x = np.arange(60.0, dtype=np.float32).reshape(4, 3, 5)
    views = [
        lambda x: x[1:, :0, 1:].transpose(2, 0, 1),
        lambda x: x[1:, 3:].swapaxes(0, 2),
        lambda x: x[:, :, 5:].transpose(1, 2, 0)[::-1].reshape(3, 0, 2, 2),
        lambda x: x[4:][:, ::-1].transpose(2, 1, 0)[1:3].swapaxes(0, 1),
    ]
    for view in views:
        same(jax.jit(view)(x), view(x))
        same(jax.jit(lambda x, view=view: view(x + 1) * 2)(x), view(x))
    parts = jax.jit(lambda x: [of.swapaxes(0, 2) + 1 for of in jnp.split(x, [0, 2, 2], axis=1)])(x)
    for got, wanted in zip(parts, np.split(x, [0, 2, 2], axis=1), strict=True):
        same(got, wanted.swapaxes(0, 2) + 1)


@pytest.mark.parametrize("name", TYPES)
def test_a_reduction_over_one_element_is_the_element(name: str):
    dtype = jnp.dtype(name)
    cases = [((1, 5), [0]), ((5, 1), [1]), ((1,), [0]), ((3, 1, 2), [1]), ((1, 1, 1), [0, 2])]
    for dims, axes in cases:
        x = np.arange(np.prod(dims)).reshape(dims).astype(np.int8) % 2
        x = x.astype(dtype)
        kept = x.reshape([dim for at, dim in enumerate(dims) if at not in axes])
        folds = [(lax.add, 0), (lax.mul, 1), (lax.max, 0), (lax.min, 1)]
        if name == "bool":
            folds = [(lax.bitwise_or, 0), (lax.bitwise_and, 1), (lax.bitwise_xor, 0)]
        for fold, init in folds[:2] if dtype.kind == "c" else folds:
            first = np.asarray(init).astype(dtype)
            got = jax.jit(
                lambda x, fold=fold, first=first, axes=axes: lax.reduce(x, first, fold, axes)
            )(x)
            same(got, kept)


def along(axis: int, extent: int) -> list[Function]:
    """What reduces an axis: of nothing there is no largest."""

    def total(x: Any) -> Any:
        return x.sum(axis)

    def largest(x: Any) -> Any:
        return x.argmax(axis)

    return [total, largest] if extent else [total]


@pytest.mark.parametrize("dims", PLACES, ids=str)
def test_operations_take_extents_of_nothing_and_of_one_in_every_place(dims: tuple[int, ...]):
    x = (np.arange(np.prod(dims)).reshape(dims) * 7 % 5).astype(np.float32)
    both: list[tuple[Function, Function | None]] = [
        (lambda x: x.T + 1, lambda x: x.T + 1),
        (lambda x: jnp.flip(x).T.reshape(-1), lambda x: np.flip(x).T.reshape(-1)),
        (lambda x: jnp.concatenate([x, x[:1], x[:0]]), lambda x: np.concatenate([x, x[:1], x[:0]])),
        (lambda x: jnp.pad(x, 1).sum(-1), lambda x: np.pad(x, 1).sum(-1)),
        (lambda x: jnp.broadcast_to(x, (2, *x.shape))[1:], lambda x: x[None]),
        (lambda x: jnp.sort(x, axis=0).T, lambda x: np.sort(x, axis=0).T),
        (lambda x: jnp.cumsum(x, axis=-1), lambda x: np.cumsum(x, axis=-1)),
        (lambda x: jnp.tensordot(x, x.T, 1), lambda x: np.tensordot(x, x.T, 1)),
        (lambda x: x.at[jnp.array([0, 0])].add(1), None),
        (lambda x: lax.fori_loop(0, 3, lambda _, x: jnp.flip(x) + 1, x), lambda x: np.flip(x) + 3),
        (lambda x: jnp.where(x > 2, x, -x)[..., ::-1], lambda x: np.where(x > 2, x, -x)[..., ::-1]),
    ]  # fmt: skip
    for axis in range(len(dims)):
        both += [(method, method) for method in along(axis, dims[axis])]
    for ours, wanted in both:
        got = jax.jit(ours)(x)
        if wanted is not None:
            same(got, wanted(x))
