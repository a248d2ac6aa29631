"""Operations that work element by element."""

from functools import partial

import numpy as np
from jax import lax

from drawn import TYPES, Case, Dice

UNARY = {
    name: getattr(lax, name)
    for name in [
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "bessel_i0e",
        "bessel_i1e",
        "bitwise_not",
        "cbrt",
        "ceil",
        "clz",
        "conj",
        "cos",
        "cosh",
        "digamma",
        "erf",
        "erf_inv",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "imag",
        "is_finite",
        "lgamma",
        "log",
        "log1p",
        "logistic",
        "neg",
        "population_count",
        "real",
        "rsqrt",
        "sign",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "tan",
        "tanh",
    ]
    if hasattr(lax, name)
}
UNARY["round_even"] = lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
UNARY["round_away"] = lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)
UNARY["pow3"] = lambda x: lax.integer_pow(x, 3)
UNARY["pow-2"] = lambda x: lax.integer_pow(x, -2)
UNARY["pow0"] = lambda x: lax.integer_pow(x, 0)
BINARY = {
    name: getattr(lax, name)
    for name in [
        "add",
        "sub",
        "mul",
        "div",
        "rem",
        "max",
        "min",
        "pow",
        "atan2",
        "nextafter",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "shift_left",
        "shift_right_logical",
        "shift_right_arithmetic",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "igamma",
        "igammac",
        "random_gamma_grad",
        "zeta",
        "polygamma",
        "complex",
        "mulhi",
    ]
    if hasattr(lax, name)
}
EXACT = {
    "abs",
    "bitwise_not",
    "ceil",
    "clz",
    "conj",
    "floor",
    "imag",
    "is_finite",
    "neg",
    "population_count",
    "real",
    "sign",
    "round_even",
    "round_away",
    "add",
    "sub",
    "mul",
    "div",
    "rem",
    "max",
    "min",
    "nextafter",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "shift_left",
    "shift_right_logical",
    "shift_right_arithmetic",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "complex",
    "mulhi",
}
OPEN = {"igamma", "igammac", "random_gamma_grad", "zeta", "polygamma", "lgamma", "digamma"}


def units(name: str, dice: Dice) -> float:
    if dice.kind == "c":
        return 64
    if name in EXACT:
        return 1 if name == "div" else 0
    return 2000 if name in OPEN else 16


def unary(name: str, dice: Dice) -> Case:
    return Case(name, UNARY[name], [dice.like()], units(name, dice))


def binary(name: str, dice: Dice) -> Case:
    dims = dice.shape()
    special = dice.chance(0.3)
    x, y = (dice.array(dims, special=special) for _ in range(2))
    if "shift" in name:
        y = np.clip(np.abs(y.astype(np.int64)), 0, 100).astype(y.dtype)
    if dice.kind in "iu" and name in ("div", "rem"):
        y[y == 0] = 1
    return Case(name, BINARY[name], [x, y], units(name, dice))


def clamp(dice: Dice) -> Case:
    dims = dice.shape()
    bounds = () if dice.chance(0.5) else dims
    special = dice.chance(0.3)
    return Case(
        "clamp",
        lax.clamp,
        [
            dice.array(bounds, special=special),
            dice.array(dims, special=special),
            dice.array(bounds),
        ],
    )


def select(dice: Dice) -> Case:
    dims = dice.shape()
    cases = dice.pick([2, 2, 1, 3, 5])
    at = () if dice.chance(0.3) else dims
    which = (
        dice.array(at, "bool")
        if cases == 2 and dice.chance(0.7)
        else dice.rng.integers(0, cases, at).astype(np.int32)
    )
    if cases == 2 and which.dtype != bool:
        cases = 3
    if cases == 1 and which.dtype == bool:
        which = which.astype(np.int32) * 0
    return Case(
        "select_n", lax.select_n, [which, *(dice.array(dims, special=True) for _ in range(cases))]
    )


def convert(to: str, dice: Dice) -> Case:
    x = dice.like(special=0.6)
    return Case(
        f"convert to {to}", lambda x: lax.convert_element_type(x, to), [x], 0, differentiable=False
    )


def bitcast(to: str, dice: Dice) -> Case:
    dims = dice.shape(most=4)
    if dice.chance(0.7):
        dims = (*dims, dice.pick([1, 2, 4, 8]))
    return Case(
        f"bitcast to {to}",
        lambda x: lax.bitcast_convert_type(x, to),
        [dice.array(dims)],
        0,
        differentiable=False,
    )


def reduce_precision(dice: Dice) -> Case:
    exponent, mantissa = dice.pick([1, 2, 3, 4, 5, 8, 11]), dice.pick([0, 1, 2, 3, 7, 10, 23, 52])
    return Case(
        f"reduce_precision {exponent} {mantissa}",
        lambda x: lax.reduce_precision(x, exponent, mantissa),
        [dice.like(special=0.5)],
    )


FAMILY = {
    **{f"unary {name}": (partial(unary, name)) for name in UNARY},
    **{f"binary {name}": (partial(binary, name)) for name in BINARY},
    **{f"convert {to}": (partial(convert, to)) for to in TYPES},
    **{f"bitcast {to}": (partial(bitcast, to)) for to in TYPES},
    "clamp": clamp,
    "select": select,
    "reduce_precision": reduce_precision,
}
