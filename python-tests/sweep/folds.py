"""Reductions, cumulative ones, windows, and what picks by windows."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from drawn import Case, Dice

FOLDS = {
    "sum": (lax.add, 0),
    "prod": (lax.mul, 1),
    "max": (lax.max, None),
    "min": (lax.min, None),
    "and": (lax.bitwise_and, -1),
    "or": (lax.bitwise_or, 0),
    "xor": (lax.bitwise_xor, 0),
}


def neutral(name: str, dtype: str) -> np.ndarray:
    """What changes no maximum, or no minimum."""
    of = jnp.dtype(dtype)
    least = name == "max"
    if dtype == "bool":
        return np.array(not least)
    if dtype[0] in "iu":
        integers = jnp.iinfo(of)
        return np.array(int(integers.min if least else integers.max)).astype(of)
    if dtype[0] == "c":
        return np.array(complex(-np.inf, -np.inf) if least else complex(np.inf, np.inf), of)
    if dtype == "float8_e8m0fnu":
        return np.array(2.0 ** (-127 if least else 127)).astype(of)
    end = np.array(-np.inf if least else np.inf).astype(of)
    if np.isinf(end.astype(np.float64)):
        return end
    return np.array(float(jnp.finfo(of).min if least else jnp.finfo(of).max)).astype(of)


def first(name: str, dice: Dice) -> np.ndarray:
    of = jnp.dtype(dice.dtype)
    if name in ("max", "min"):
        return neutral(name, dice.dtype)
    init = FOLDS[name][1]
    if dice.kind == "b":
        return np.array(bool(init), of)
    if init == -1:
        return np.array(-1, np.int64).astype(of)
    return np.array(init).astype(of)


def units(name: str, dice: Dice) -> float:
    return 0 if name not in ("sum", "prod") or dice.kind in "biu" else 200


def reduce(name: str, dice: Dice) -> Case:
    dims = dice.shape(least=1)
    axes = dice.split(len(dims))
    fold, init = FOLDS[name][0], first(name, dice)
    special = dice.chance(0.3) and name not in ("sum", "prod")
    return Case(
        f"reduce {name} {axes}",
        lambda x: lax.reduce(x, init, fold, axes),
        [dice.array(dims, special=special)],
        units(name, dice),
    )


def generic(dice: Dice) -> Case:
    """Bodies that no operation has; all associative."""
    dims = dice.shape(least=1)
    axes = dice.split(len(dims))
    of = jnp.dtype(dice.dtype)
    which = dice.pick(["last", "absmax", "maxmin", "argmax", "sums", "mixed"])
    x = dice.array(dims)
    zero = np.zeros((), of) if dice.dtype != "float8_e8m0fnu" else np.ones((), of)
    place = np.arange(x.size, dtype=np.int32).reshape(dims)

    if which == "last":
        return Case(
            f"reduce last {axes}",
            lambda x: lax.reduce(x, neutral("max", dice.dtype), lambda a, b: lax.max(b, a), axes),
            [x],
        )
    if which == "absmax":
        return Case(
            f"reduce absmax {axes}",
            lambda x: lax.reduce(
                x,
                zero,
                lambda a, b: lax.select(abs(a) >= abs(b), a, b) if dice.kind not in "bu" else a | b,
                axes,
            ),
            [x],
            None,
        )
    if which == "maxmin":
        return Case(
            f"reduce maxmin {axes}",
            lambda x, y: lax.reduce(
                (x, y),
                (neutral("max", dice.dtype), neutral("min", dice.dtype)),
                lambda a, b: (lax.max(a[0], b[0]), lax.min(a[1], b[1])),
                axes,
            ),
            [x, dice.array(dims)],
        )
    if which == "argmax":

        def larger(a, b):
            best = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
            return jnp.where(best, a[0], b[0]), jnp.where(best, a[1], b[1])

        return Case(
            f"reduce argmax {axes}",
            lambda x, y: lax.reduce(
                (x, y), (neutral("max", dice.dtype), np.int32(9999)), larger, axes
            ),
            [x, place],
        )
    if which == "sums":
        y = dice.array(dims, dice.pick(["float32", "int32", "int8", "float16", "float64"]))
        return Case(
            f"reduce sums {axes}",
            lambda x, y: lax.reduce(
                (x, y),
                (np.zeros((), of), np.zeros((), y.dtype)),
                lambda a, b: (a[0] + b[0], a[1] + b[1]),
                axes,
            ),
            [x, y],
            200,
        )
    return Case(
        f"reduce mixed {axes}",
        lambda x, y: lax.reduce(
            (x, y),
            (neutral("max", dice.dtype), np.int32(0)),
            lambda a, b: (lax.max(a[0], b[0]), a[1] + b[1]),
            axes,
        ),
        [x, place],
    )


def arg(name: str, dice: Dice) -> Case:
    dims = dice.shape(least=1)
    axis = dice.upto(len(dims) - 1)
    to = dice.pick(["int32", "int32", "int8", "int64", "uint32", "uint8", "int16"])
    special = dice.chance(0.4)
    return Case(
        f"{name} {axis} {to}",
        lambda x: getattr(lax, name)(x, axis, jnp.dtype(to)),
        [dice.array(dims, special=special)],
    )


def cumulative(name: str, dice: Dice) -> Case:
    dims = dice.shape(least=1)
    axis, reverse = dice.upto(len(dims) - 1), dice.chance(0.4)
    special = dice.chance(0.3) and name in ("cummax", "cummin")
    units = 0 if dice.kind in "biu" or name in ("cummax", "cummin") else 400
    return Case(
        f"{name} {axis} {reverse}",
        lambda x: getattr(lax, name)(x, axis=axis, reverse=reverse),
        [dice.array(dims, special=special)],
        units,
    )


def window_of(dice: Dice, dims: tuple[int, ...]) -> dict:
    rank = len(dims)
    window = tuple(dice.pick([1, 1, 2, 2, 3, 4]) for _ in dims)
    strides = tuple(dice.pick([1, 1, 1, 2, 3]) for _ in dims)
    padding = dice.pick(["VALID", "SAME", None, None])
    if padding is None:
        low = -1 if dice.chance(0.15) else 0
        padding = tuple(
            (int(dice.rng.integers(low, 4)), int(dice.rng.integers(low, 4))) for _ in dims
        )
    base = tuple(dice.pick([1, 1, 1, 2, 3]) for _ in dims) if dice.chance(0.4) else (1,) * rank
    inner = tuple(dice.pick([1, 1, 2, 3]) for _ in dims) if dice.chance(0.4) else (1,) * rank
    return {
        "window_dimensions": window,
        "window_strides": strides,
        "padding": padding,
        "base_dilation": base,
        "window_dilation": inner,
    }


def windows(name: str, dice: Dice) -> Case:
    dims = dice.shape(most=5, size=800)
    options = window_of(dice, dims)
    fold, init = FOLDS[name][0], first(name, dice)
    special = dice.chance(0.2) and name not in ("sum", "prod")
    return Case(
        f"reduce_window {name} {options}",
        lambda x: lax.reduce_window(x, init, fold, *options.values()),
        [dice.array(dims, special=special)],
        units(name, dice),
    )


def windows_two(dice: Dice) -> Case:
    dims = dice.shape(most=4, size=500)
    options = window_of(dice, dims)
    return Case(
        f"reduce_window two {options}",
        lambda x, y: lax.reduce_window(
            (x, y),
            (neutral("max", dice.dtype), np.int32(0)),
            lambda a, b: (lax.max(a[0], b[0]), a[1] + b[1]),
            *options.values(),
        ),
        [dice.array(dims), dice.array(dims, "int32")],
    )


def pooled(name: str, dice: Dice) -> Case:
    """Gradients of pools: select and scatter, sums over dilated windows."""
    dims = dice.shape(least=1, most=5, size=500)
    options = window_of(dice, dims)
    if not isinstance(options["padding"], str):
        options["padding"] = tuple((max(a, 0), max(b, 0)) for a, b in options["padding"])
    of = jnp.dtype(dice.dtype)
    if name == "sum":

        def run(x):
            return lax.reduce_window(x, np.zeros((), of), lax.add, *options.values())
    else:
        options["base_dilation"] = options["window_dilation"] = (1,) * len(dims)
        low = -np.inf if name == "max" else np.inf

        def run(x):
            return lax.reduce_window(x, np.array(low, of), getattr(lax, name), *options.values())

    def back(x):
        value, pull = jax.vjp(run, x)
        return value, pull(
            jnp.ones(value.shape, of)
            + lax.iota(of, value.size).reshape(value.shape) % jnp.array(3, of)
        )[0]

    # Ties are broken alike by none: distinct numbers.
    x = (
        (dice.rng.permutation(int(np.prod(dims))) % (200 if of.itemsize < 4 else 10**6))
        .reshape(dims)
        .astype(of)
    )
    tied = int(np.prod(dims)) > 200 and of.itemsize < 4
    return Case(
        f"pool {name} {options}",
        back,
        [x],
        None if tied and name != "sum" else 400,
        differentiable=False,
    )


def many(name: str, dice: Dice) -> Case:
    """Reductions of jnp over several axes, kept or not, with a mask."""
    dims = dice.shape()
    axes = dice.pick([None, tuple(dice.split(len(dims)))])
    keep, masked = (
        dice.chance(0.5),
        dice.chance(0.4) and name in ("sum", "prod", "max", "min", "mean", "any", "all", "nansum"),
    )
    where = dice.array(dims, "bool")

    def run(x):
        options = {"axis": axes, "keepdims": keep}
        if masked:
            options["where"] = where
            if name in ("max", "min"):
                options["initial"] = 0
        return getattr(jnp, name)(x, **options)

    inexact = name in (
        "sum",
        "prod",
        "mean",
        "var",
        "std",
        "nansum",
        "nanmean",
        "nanprod",
        "nanvar",
        "ptp",
        "median",
    )
    special = dice.chance(0.3) and not inexact
    return Case(
        f"jnp.{name} {axes} {keep} {masked}",
        run,
        [dice.array(dims, special=special)],
        800 if inexact else 0,
    )


FAMILY = {
    **{f"reduce {name}": (partial(reduce, name)) for name in FOLDS},
    "reduce generic": generic,
    "reduce generic 2": generic,
    **{name: (partial(arg, name)) for name in ("argmax", "argmin")},
    **{
        name: (partial(cumulative, name))
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    },
    **{f"window {name}": (partial(windows, name)) for name in FOLDS},
    "window two": windows_two,
    **{f"pool {name}": (partial(pooled, name)) for name in ("sum", "max", "min")},
    **{
        f"jnp {name}": (partial(many, name))
        for name in (
            [
                "sum",
                "prod",
                "max",
                "min",
                "any",
                "all",
                "mean",
                "var",
                "std",
                "nansum",
                "nanprod",
                "nanmax",
                "nanmin",
                "nanmean",
                "nanvar",
                "ptp",
                "median",
                "count_nonzero",
            ]
        )
    },
}
