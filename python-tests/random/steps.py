"""Steps of a walk: values out of values, all of them small whole numbers."""

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Array = jax.Array
Draw = random.Random
TYPES = [
    "float32",
    "float32",
    "float32",
    "int32",
    "int32",
    "int8",
    "uint8",
    "bool",
    "float64",
    "int64",
    "bfloat16",
    "float16",
    "complex64",
]
# The most elements of a value.
MOST = 3000


def tame(x: Any) -> Array:
    """A value of few elements, each a small number."""
    x = jnp.asarray(x)
    if x.size > MOST:
        x = x.reshape(-1)[:: x.size // MOST + 1]
    if x.ndim > 5:
        x = x.reshape(x.shape[0], -1)
    if x.dtype == bool or x.dtype.itemsize == 1:
        return x
    if x.dtype.kind == "c":
        return lax.complex(tame(x.real), tame(x.imag))
    return jnp.remainder(x, jnp.array(11, x.dtype)) - jnp.array(5, x.dtype)


def number(x: Array) -> Array:
    """The same without booleans."""
    return x.astype(jnp.int32) if x.dtype == bool else x


def real(x: Array) -> Array:
    return x.real if x.dtype.kind == "c" else x


def fit(draw: Draw, x: Array, like: Array) -> Array:
    """Elements of `x` in the shape and type of `like`."""
    x = (real(x) if like.dtype.kind != "c" else x).astype(like.dtype)
    if x.shape == like.shape:
        return x
    if draw.random() < 0.4:
        return jnp.resize(x, like.shape) if x.size else jnp.zeros(like.shape, like.dtype)
    while x.ndim > like.ndim:
        x = x[0] if x.shape[0] else jnp.zeros(x.shape[1:], x.dtype)
    x = x.reshape((1,) * (like.ndim - x.ndim) + x.shape)
    cut = tuple(slice(0, 1) if draw.random() < 0.2 else slice(0, most) for most in like.shape)
    x = x[cut]
    pads = [
        (0, 0) if have in (1, most) else (draw.randrange(most - have + 1), 0)
        for have, most in zip(x.shape, like.shape, strict=True)
    ]
    pads = [
        (low, 0 if (have == 1 and not low) else most - have - low)
        for (low, _), have, most in zip(pads, x.shape, like.shape, strict=True)
    ]
    if any(low < 0 or high < 0 for low, high in pads):
        return jnp.zeros(like.shape, like.dtype)
    return jnp.broadcast_to(jnp.pad(x, pads) if pads else x, like.shape)


# What makes one value out of one.
def view(draw: Draw, x: Array) -> Array:
    for _ in range(draw.randrange(1, 4)):
        how = draw.randrange(8)
        axis = draw.randrange(x.ndim) if x.ndim else 0
        if how == 0 or not x.ndim:
            x = x.T
        elif how == 1:
            x = jnp.flip(x, axis)
        elif how == 2:
            x = jnp.moveaxis(x, axis, draw.randrange(x.ndim))
        elif how == 3:
            extent = x.shape[axis]
            low = draw.randrange(extent + 1)
            x = lax.slice_in_dim(
                x,
                low,
                draw.randrange(low, extent + 1) if draw.random() < 0.4 else extent,
                draw.choice([1, 1, 2, 3]),
                axis,
            )
        elif how == 4:
            x = x.reshape(-1) if draw.random() < 0.5 else x[..., None]
        elif how == 5:
            x = jnp.roll(x, draw.randrange(-3, 4), axis)
        elif how == 6:
            factors = [f for f in (1, 2, 3, 5, 7) if x.size % f == 0]
            f = draw.choice(factors)
            x = x.reshape(f, -1) if x.size else x.T
        elif x.ndim:
            x = jnp.pad(x, [(draw.randrange(2), draw.randrange(2)) for _ in x.shape])
    return x


def halves(x: Array) -> Array:
    """Halves, exactly."""
    return x.astype(x.dtype if x.dtype.kind == "c" else jnp.float32) / 2


def unary(draw: Draw, x: Array) -> Array:
    x = number(x)
    ways: list[Callable[[Array], Any]] = [
        lambda x: x + 1,
        lambda x: -x,
        lambda x: x * x,
        lambda x: x * 3,
        lambda x: x == 2,
        lambda x: x - jnp.array(2, x.dtype),
        halves,
    ]
    if x.dtype.kind != "c":
        ways += [
            jnp.abs,
            jnp.sign,
            lambda x: jnp.where(x > 0, x, 0),
            lambda x: jnp.clip(x, 0, 2),
            lambda x: x > 1,
            lambda x: jnp.maximum(x, 1),
            lambda x: x // 2,
            lambda x: x % 3,
        ]
    return tame(draw.choice(ways)(x))


def convert(draw: Draw, x: Array) -> Array:
    return (
        tame(real(x)).astype(draw.choice(TYPES))
        if x.dtype.kind == "c"
        else x.astype(draw.choice(TYPES))
    )


def reduce(draw: Draw, x: Array) -> Array:
    x = number(x)
    axis = draw.choice([None, *range(x.ndim)])
    keep = draw.random() < 0.5
    extent = x.size if axis is None else x.shape[axis]
    ways: list[Callable[..., Any]] = [
        jnp.sum,
        lambda x, **k: jnp.any(x > 0 if x.dtype.kind != "c" else x == 1, **k),
        lambda x, **k: jnp.all(x == x, **k),
    ]
    if extent and x.dtype.kind != "c":
        ways += [jnp.max, jnp.min, jnp.argmax, jnp.argmin]
    return tame(draw.choice(ways)(x, axis=axis, keepdims=keep))


def along(draw: Draw, x: Array) -> Array:
    """What goes along an axis: sums so far, sorts, windows."""
    x = number(x)
    if not x.ndim:
        return x
    axis = draw.randrange(x.ndim)
    ways: list[Callable[[Array], Any]] = [
        lambda x: jnp.cumsum(x, axis),
        lambda x: lax.cumsum(x, axis, reverse=True),
    ]
    if x.dtype.kind != "c":
        ways += [
            lambda x: jnp.sort(x, axis),
            lambda x: jnp.argsort(x, axis),
            lambda x: lax.cummax(x, axis),
            lambda x: jnp.diff(x, axis=axis),
        ]
        if x.shape[-1]:
            ways.append(
                lambda x: lax.top_k(x, draw.randrange(1, x.shape[-1] + 1))[draw.randrange(2)]
            )
        size, step = draw.randrange(1, 4), draw.randrange(1, 3)
        window = [size if at == axis else 1 for at in range(x.ndim)]
        steps = [step if at == axis else 1 for at in range(x.ndim)]
        zero = np.zeros((), x.dtype)
        ways.append(
            lambda x: lax.reduce_window(
                x, zero, lax.add, window, steps, draw.choice(["SAME", "VALID"])
            )
        )
        low = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
        ways.append(
            lambda x: lax.reduce_window(x, np.array(low, x.dtype), lax.max, window, steps, "VALID")
        )
    return tame(draw.choice(ways)(x))


# What makes one value out of two or three.
def binary(draw: Draw, x: Array, y: Array) -> Array:
    x = number(x)
    y = fit(draw, y, x)
    ways: list[Callable[[Array, Array], Any]] = [
        jnp.add,
        jnp.subtract,
        jnp.multiply,
        lambda x, y: x == y,
    ]
    if x.dtype.kind != "c":
        ways += [
            jnp.maximum,
            jnp.minimum,
            lambda x, y: x < y,
            lambda x, y: jnp.where(x > y, x, y * 2),
            lambda x, y: lax.select(y > 0, x, y),
        ]
    if x.dtype.kind in "iu":
        ways += [
            jnp.bitwise_and,
            jnp.bitwise_or,
            jnp.bitwise_xor,
            lambda x, y: x // jnp.where(y == 0, jnp.ones((), y.dtype), y),
        ]
    return tame(draw.choice(ways)(x, y))


def join(draw: Draw, x: Array, y: Array) -> Array:
    if not x.ndim:
        return jnp.stack([x, fit(draw, y, x)])
    axis = draw.randrange(x.ndim)
    return (
        tame(jnp.concatenate([x, fit(draw, y, x), x], axis))
        if draw.random() < 0.6
        else tame(jnp.stack([x, fit(draw, y, x)], axis))
    )


def product(draw: Draw, x: Array, y: Array) -> Array:
    x, y = number(x), number(y)
    if not x.ndim:
        return tame(x * y.astype(x.dtype)) if y.dtype.kind != "c" else x
    y = (real(y) if x.dtype.kind != "c" else y).astype(x.dtype)
    k = x.shape[-1]
    y = jnp.resize(y, (k, 3)) if y.size else jnp.zeros((k, 3), x.dtype)
    if x.dtype in (jnp.bfloat16, jnp.float16):
        return tame(jnp.matmul(x, y, preferred_element_type=jnp.float32))
    how = draw.randrange(3)
    if how == 0:
        return tame(x @ y)
    if how == 1:
        return tame(jnp.tensordot(y, x, ([0], [x.ndim - 1])))
    return tame(jnp.einsum("...k,kj->j...", x, y))


def take(draw: Draw, x: Array, y: Array) -> Array:
    if not x.ndim or not x.shape[0]:
        return x
    at = real(number(y)).astype(jnp.int32).reshape(-1)[:9]
    mode = draw.choice(["clip", "fill"])
    return (
        tame(x.at[at].get(mode=mode, fill_value=1))
        if draw.random() < 0.6
        else tame(jnp.take(x, at % max(x.shape[-1], 1), axis=-1) if x.shape[-1] else x)
    )


def put(draw: Draw, x: Array, y: Array, z: Array) -> Array:
    x = number(x)
    if not x.ndim:
        return x
    at = real(number(y)).astype(jnp.int32).reshape(-1)[:7]
    value = fit(
        draw,
        z,
        jax.eval_shape(lambda x: x[at], x)
        if x.shape[0]
        else jnp.zeros((at.shape[0], *x.shape[1:]), x.dtype),
    )
    where = x.at[at]
    if not x.shape[0]:
        return x
    if draw.random() < 0.5 or x.dtype.kind == "c":
        return tame(where.add(value, mode=draw.choice(["drop", "clip"])))
    return tame(draw.choice([where.max, where.min])(value))


ONE = [view, view, view, unary, unary, convert, reduce, along]
TWO = [binary, binary, join, product, take]
