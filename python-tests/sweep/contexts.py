"""What may stand around an operation: views, batches, derivatives, loops, branches."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from drawn import Case, Dice

NAMES = [
    "plain",
    "plain",
    "plain",
    "views",
    "used",
    "batch",
    "derivative",
    "tangent",
    "scan",
    "loop",
    "branch",
    "wide",
]


def inexact(of: Any) -> bool:
    return bool(jnp.issubdtype(of.dtype, jnp.inexact))


def views(case: Case) -> Case:
    """Operands that are read backwards and transposed."""
    operands = [np.ascontiguousarray(np.flip(x).T) for x in case.operands]

    def run(*x: Any) -> Any:
        return case.function(
            *(lax.rev(of.T, range(of.ndim)) if of.ndim else of for of in map(jnp.asarray, x))
        )

    return Case(case.label, run, operands, case.units)


def used(case: Case) -> Case:
    """Results that are used in several ways."""

    def run(*x: Any) -> Any:
        def ways(y: Any) -> Any:
            y = jnp.asarray(y)
            return (
                y,
                y.T,
                y.reshape(-1)[::2],
                y == y,
                jnp.where(y == y, y, jnp.zeros((), y.dtype)),
            )

        return jax.tree.map(ways, case.function(*x))

    return Case(case.label, run, case.operands, case.units)


def batch(case: Case, dice: Dice) -> Case:
    count = dice.pick([1, 2, 3, 0])
    mapped = [bool(dice.chance(0.6)) for _ in case.operands]
    if not any(mapped):
        mapped[0] = True
    axes = [
        dice.upto(np.ndim(x)) if of else None for x, of in zip(case.operands, mapped, strict=True)
    ]
    operands = [
        x
        if axis is None
        else np.ascontiguousarray(
            np.stack([np.roll(x, at) for at in range(count)], axis)
            if count
            else np.zeros((*np.shape(x)[:axis], 0, *np.shape(x)[axis:]), x.dtype)
        )
        for x, axis in zip(case.operands, axes, strict=True)
    ]
    return Case(
        f"{case.label} vmap {axes}", jax.vmap(case.function, in_axes=axes), operands, case.units
    )


def derivative(case: Case) -> Case:
    def run(*x: Any) -> Any:
        places = [at for at, of in enumerate(x) if inexact(of)]

        def of_them(*some: Any) -> Any:
            whole = list(x)
            for at, of in zip(places, some, strict=True):
                whole[at] = of
            return [y for y in jax.tree.leaves(case.function(*whole)) if inexact(y)]

        values, pull = jax.vjp(of_them, *(x[at] for at in places))
        return values, pull([jnp.ones_like(y) for y in values])

    return Case(
        case.label, run, case.operands, None if case.units is None else max(case.units * 10, 2000)
    )


def tangent(case: Case) -> Case:
    def run(*x: Any) -> Any:
        tangents = [
            jnp.ones_like(of) if inexact(of) else np.zeros(np.shape(of), jax.dtypes.float0)
            for of in x
        ]
        return [
            y
            for y in jax.tree.leaves(jax.jvp(case.function, x, tuple(tangents)))
            if y.dtype != jax.dtypes.float0
        ]

    return Case(
        case.label, run, case.operands, None if case.units is None else max(case.units * 10, 2000)
    )


def scan(case: Case, dice: Dice) -> Case:
    count = dice.pick([1, 2, 3, 0])
    operands = [
        np.stack([x, *[np.roll(x, at) for at in range(1, count)]])[:count] for x in case.operands
    ]

    def run(*x: Any) -> Any:
        return lax.scan(lambda carry, some: (carry + 1, case.function(*some)), 0, x)

    return Case(case.label, run, operands, case.units)


def loop(case: Case, dice: Dice) -> Case:
    count = dice.pick([0, 1, 2, 3])

    def run(*x: Any) -> Any:
        kinds = jax.eval_shape(case.function, *x)
        start = jax.tree.map(
            lambda of: (
                jnp.zeros(of.shape, of.dtype)
                if of.dtype != jnp.float8_e8m0fnu
                else jnp.ones(of.shape, of.dtype)
            ),
            kinds,
        )

        def step(at: Any, _: Any) -> Any:
            return case.function(
                *(jnp.where(at >= 0, of, jnp.ones((), of.dtype)) if np.ndim(of) else of for of in x)
            )

        return lax.fori_loop(0, count, step, start)

    return Case(case.label, run, case.operands, case.units)


def branch(case: Case, dice: Dice) -> Case:
    taken = dice.chance(0.8)

    def run(taken: Any, *x: Any) -> Any:
        def other(*x: Any) -> Any:
            return jax.tree.map(
                lambda of: jnp.ones(of.shape, of.dtype), jax.eval_shape(case.function, *x)
            )

        return lax.cond(taken, case.function, other, *x)

    return Case(case.label, run, [np.array(taken), *case.operands], case.units)


def wide(case: Case) -> Case:
    """Operands that are parts of larger arrays."""
    operands = [
        np.concatenate([x.reshape(-1), x.reshape(-1), x.reshape(-1)]) for x in case.operands
    ]
    shapes = [np.shape(x) for x in case.operands]

    def run(*x: Any) -> Any:
        return case.function(
            *(
                of[of.size // 3 : of.size // 3 * 2].reshape(dims)
                for of, dims in zip(x, shapes, strict=True)
            )
        )

    return Case(case.label, run, operands, case.units)


def within(name: str, case: Case, dice: Dice) -> Case:
    """The case as `name` has it."""
    if name in ("derivative", "tangent") and not (case.differentiable and dice.kind in "fc"):
        return case
    drawing: dict[str, Callable[[Case, Dice], Case]] = {
        "batch": batch,
        "scan": scan,
        "loop": loop,
        "branch": branch,
    }
    if name in drawing:
        return drawing[name](case, dice)
    plain: dict[str, Callable[[Case], Case]] = {
        "views": views,
        "used": used,
        "derivative": derivative,
        "tangent": tangent,
        "wide": wide,
    }
    return plain[name](case) if name in plain else case
