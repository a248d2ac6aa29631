"""Says how the results of some programs are split that do not say it themselves.

Run on eight devices of any platform, it prints, for each program, the places in the whole of what
the devices have of each result, as one line of JSON.
"""

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

P = PartitionSpec
WHOLE = P()
MESH = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("d", "m"))


def array(*extents: int, split: PartitionSpec = WHOLE, dtype: Any = jnp.float32) -> Any:
    """An array of which the shape and the sharding are known."""
    return jax.ShapeDtypeStruct(extents, dtype, sharding=NamedSharding(MESH, split))


def step(weights: Any, x: Any, y: Any) -> Any:
    """Weights after a step of descent: layers in a scan, and one behind them."""

    def loss(weights: Any) -> Any:
        last, _ = lax.scan(lambda c, w: (jnp.tanh(c @ w), c), x, weights["layers"])
        return ((last @ weights["last"] - y) ** 2).mean()

    gradient = jax.grad(loss)(weights)
    return jax.tree_util.tree_map(lambda w, g: w - 0.1 * g, weights, gradient)


def remat(weight: Any, x: Any) -> Any:
    """The gradient of what is made again."""
    twice = jax.checkpoint(lambda w: jnp.sin(jnp.sin(x @ w) @ w))
    return jax.grad(lambda w: twice(w).sum())(weight)


def attention(x: Any, q: Any, k: Any, v: Any, o: Any) -> Any:
    """Attention of four heads."""

    def heads(w: Any) -> Any:
        return (x @ w).reshape(8, 16, 4, 8)

    scores = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", heads(q), heads(k)))
    return jnp.einsum("bhts,bshd->bthd", scores, heads(v)).reshape(8, 16, 32) @ o


def constrained(x: Any, w: Any) -> Any:
    """What is stated of a value that two operations read."""
    y = lax.with_sharding_constraint(x * 2, NamedSharding(MESH, P(None, "m")))
    return y @ w, y.sum(0)


def mean_and_variance(x: Any, scale: Any) -> Any:
    """A layer norm."""
    apart = x - x.mean(-1, keepdims=True)
    return apart / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale


ROWS, BOTH, TURNED = P("d"), P("d", "m"), P("m", "d")
WIDE = array(16, 32, split=BOTH)
PLACES = array(16, 8, split=ROWS, dtype=jnp.int32)
LAYERS = array(4, 32, 32, split=P(None, "d", "m"))

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a product of rows": (lambda x, w: x @ w, (array(16, 32, split=ROWS), array(32, 64))),
    "a product of which both sides have an axis": (
        lambda x, w: x @ w,
        (array(16, 32, split=ROWS), array(32, 64, split=P(None, "d"))),
    ),
    "a product of matrices in tiles": (
        lambda x, w: x @ w,
        (WIDE, array(32, 64, split=TURNED)),
    ),
    "a sum of rows and columns": (
        lambda x, y: x + y,
        (array(16, 32, split=ROWS), array(16, 32, split=P(None, "d"))),
    ),
    "a sum of tiles and rows": (lambda x, y: x * 2 + y, (array(16, 32, split=P("m")), WIDE)),
    "a table of words": (lambda t, i: t[i], (array(64, 32, split=ROWS), PLACES)),
    "a table of words in tiles": (lambda t, i: t[i], (array(64, 32, split=TURNED), PLACES)),
    "words and their logits": (lambda t, i: t[i] @ t.T, (array(64, 32, split=TURNED), PLACES)),
    "softmax": (jax.nn.softmax, (WIDE,)),
    "a sum over rows": (lambda x: x.sum(0), (WIDE,)),
    "a sum and what is added to it": (
        lambda x, y: x.sum(1) + y,
        (WIDE, array(16, split=P("m"))),
    ),
    "heads": (lambda x: x.reshape(16, 4, 8), (WIDE,)),
    "one axis of two": (lambda x: x.reshape(16 * 32), (WIDE,)),
    "turned": (lambda x: x.T, (WIDE,)),
    "turned and multiplied": (
        lambda x, y: x.T @ y + y,
        (array(16, 16, split=BOTH), array(16, 16, split=TURNED)),
    ),
    "copies": (lambda x: jnp.broadcast_to(x[:, None], (16, 8, 32)), (WIDE,)),
    "an outer product": (
        lambda x, y: x[:, None] * y[None, :],
        (array(16, split=ROWS), array(32, split=ROWS)),
    ),
    "constants of two readers": (
        lambda x: (jnp.zeros((16, 32)) + x, jnp.zeros((16, 32))),
        (WIDE,),
    ),
    "a mask": (
        lambda x: jnp.where(jnp.tril(jnp.ones((16, 16), bool)), x, 0),
        (array(16, 16, split=BOTH),),
    ),
    "a choice": (
        lambda c, x, y: jnp.where(c > 0, x, y),
        (
            array(16, 32, split=ROWS),
            array(16, 32, split=P("m")),
            array(16, 32, split=P(None, "d")),
        ),
    ),
    "a piece": (lambda x: x[2:10, ::2], (WIDE,)),
    "a piece from a place": (
        lambda x, i: lax.dynamic_slice(x, (i, 0), (4, 32)),
        (WIDE, array(dtype=jnp.int32)),
    ),
    "padded so that devices have no equal parts": (lambda x: jnp.pad(x, ((0, 0), (1, 1))), (WIDE,)),
    "end to end": (lambda x, y: jnp.concatenate([x, y]), (WIDE, array(16, 32, split=P("m")))),
    "cumulative sums": (lambda x: jnp.cumsum(x, 0), (WIDE,)),
    "sorted columns": (lambda x: jnp.sort(x, 0), (WIDE,)),
    "places of the largest": (lambda x: jnp.argmax(x, 1), (WIDE,)),
    "images": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        (array(8, 16, 16, 8, split=ROWS), array(3, 3, 8, 16, split=P(None, None, None, "m"))),
    ),
    "a layer norm": (mean_and_variance, (array(16, 32, split=ROWS), array(32, split=P("m")))),
    "attention": (
        attention,
        (
            array(8, 16, 32, split=ROWS),
            *[array(32, 32, split=P(None, "m"))] * 3,
            array(32, 32, split=P("m")),
        ),
    ),
    "a scan": (
        lambda w, x: lax.scan(lambda c, a: (jnp.tanh(c @ a), c), x, w),
        (LAYERS, array(16, 32, split=ROWS)),
    ),
    "a loop around a weight": (
        lambda x, w: lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) @ w, x),
        (array(16, 32, split=P("m")), array(32, 32, split=ROWS)),
    ),
    "two arrays that change places": (
        lambda x, y: lax.while_loop(lambda c: c[0][0, 0] < 3, lambda c: (c[1], c[0] + 1), (x, y)),
        (array(16, 16, split=ROWS), array(16, 16, split=P(None, "m"))),
    ),
    "branches": (
        lambda x, y: lax.cond(x[0, 0] > 0, lambda x, _: x * 2, lambda _, y: y.T, x, y),
        (array(16, 16, split=ROWS), array(16, 16, split=BOTH)),
    ),
    "a constraint": (constrained, (array(16, 32, split=ROWS), array(32, 16))),
    "a step with split weights": (
        step,
        (
            {
                "layers": array(4, 32, 32, split=P(None, "d")),
                "last": array(32, 16, split=ROWS),
            },
            array(16, 32, split=ROWS),
            array(16, 16, split=ROWS),
        ),
    ),
    "a step with weights in tiles": (
        step,
        (
            {"layers": LAYERS, "last": array(32, 16, split=TURNED)},
            array(16, 32, split=ROWS),
            array(16, 16, split=ROWS),
        ),
    ),
    "a gradient of what is made again": (
        remat,
        (array(32, 32, split=BOTH), array(16, 32, split=ROWS)),
    ),
}


def places(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Where in the whole lies what each device has, for each result."""
    compiled = jax.jit(function).lower(*arguments).compile()
    results = jax.tree_util.tree_leaves(jax.eval_shape(function, *arguments))
    found = []
    for sharding, result in zip(
        jax.tree_util.tree_leaves(compiled.output_shardings), results, strict=True
    ):
        parts = sharding.devices_indices_map(result.shape).items()
        by_number = sorted(parts, key=lambda part: part[0].id)
        found.append([[part.start or 0 for part in index] for _, index in by_number])
    return found


if __name__ == "__main__":
    print(json.dumps({name: places(*program) for name, program in PROGRAMS.items()}))
