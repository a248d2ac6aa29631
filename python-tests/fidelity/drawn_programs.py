"""Programs drawn at random by a seed and a number, and the kinds that there are of them."""

import random
from collections.abc import Callable
from typing import Any

import drawn_networks
import jax
import jax.numpy as jnp
from jax import lax

from planned_programs import BF16, F32, M, Program, Spec

Draw = Callable[[random.Random], Program]


def _labelled(draw: random.Random, x: Spec) -> tuple[Callable[..., jax.Array], Spec]:
    """A loss of logits and their labels."""
    labels = Spec(x.shape[:-1], jnp.int32)
    smooth, cap = draw.choice([0.0, 0.1]), draw.choice([0.0, 30.0])
    focal, square = draw.random() < 0.2, draw.random() < 0.2
    hot = draw.random() < 0.3

    def loss(x: jax.Array, labels: jax.Array) -> jax.Array:
        wide = x.astype(F32)
        wide = cap * jnp.tanh(wide / cap) if cap else wide
        logs = jax.nn.log_softmax(wide, -1)
        if hot:
            one = -(jax.nn.one_hot(labels, x.shape[-1]) * logs).sum(-1)
        else:
            one = -jnp.take_along_axis(logs, labels[..., None], -1)[..., 0]
        one = (1 - smooth) * one - smooth * logs.mean(-1)
        one = (1 - jnp.exp(-one)) ** 2 * one if focal else one
        z = jax.nn.logsumexp(wide, -1)
        return (one + 1e-4 * z * z).mean() if square else one.mean()

    return loss, labels


def _paired(draw: random.Random, x: Spec) -> tuple[Callable[..., jax.Array], Spec]:
    """A loss of two arrays of one shape."""

    def kullback_leibler(x: jax.Array, y: jax.Array) -> jax.Array:
        wanted = jax.nn.softmax(y.astype(F32), -1)
        logs = jax.nn.log_softmax(x.astype(F32), -1)
        return (wanted * (jnp.log(wanted + 1e-9) - logs)).sum(-1).mean()

    def huber(x: jax.Array, y: jax.Array) -> jax.Array:
        apart = (x - y).astype(F32)
        return jnp.where(jnp.abs(apart) < 1, apart * apart / 2, jnp.abs(apart) - 0.5).mean()

    def cosine(x: jax.Array, y: jax.Array) -> jax.Array:
        length = lax.rsqrt((jnp.square(x).sum(-1) * jnp.square(y).sum(-1)).astype(F32) + 1e-9)
        return 1 - ((x * y).sum(-1).astype(F32) * length).mean()

    def binary(x: jax.Array, y: jax.Array) -> jax.Array:
        wide = x.astype(F32)
        return (jnp.maximum(wide, 0) - wide * y + jnp.log1p(jnp.exp(-jnp.abs(wide)))).mean()

    def hinge(x: jax.Array, y: jax.Array) -> jax.Array:
        return jax.nn.relu(1 - (x * jnp.sign(y)).astype(F32)).mean()

    return draw.choice([kullback_leibler, huber, cosine, binary, hinge]), x


def loss(draw: random.Random) -> Program:
    """A loss, its gradient, or both, of logits or of pairs."""
    rows = draw.choice([4096, 8192, 16_384])
    columns = draw.choice([4096, 8192, 32_000, 50_257])
    shape = draw.choice([(rows, columns), (8, rows // 8, columns)])
    x = Spec(shape, draw.choice([F32, BF16]))
    function, other = draw.choice([_labelled, _paired])(draw, x)
    wrapped = draw.choice([jax.grad, jax.value_and_grad, lambda f: f])(function)
    return Program(wrapped, (x, other), draw.choice([(), (), (0,)]))


def sort(draw: random.Random) -> Program:
    """A sort, or what is found by one."""
    shape = draw.choice([(4 * M,), (16 * M,), (64 * M,), (8192, 4096), (256, 65_536)])
    dtype = draw.choice([F32, F32, BF16, jnp.int32])
    axis = draw.choice([-1, -1, 0])
    x = Spec(shape, dtype)
    kinds: list[tuple[Callable[..., Any], int]] = [
        (lambda x: jnp.sort(x, axis), 1),
        (lambda x: -jnp.sort(-x, axis), 1),
        (lambda x: jnp.argsort(x, axis), 1),
        (lambda x, y: lax.sort((x, y), dimension=len(shape) - 1, num_keys=1), 2),
        (lambda x, y: lax.sort((x, y), dimension=0, num_keys=2), 2),
        (lambda x: lax.top_k(x, 32), 1),
        (lambda x: jnp.median(x.astype(F32), axis), 1),
        (lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis), axis), 1),
        (lambda x: jnp.unique(x, size=1000), 1),
        (lambda x, y: jnp.searchsorted(jnp.sort(x.ravel()), y.ravel()), 2),
    ]
    function, count = draw.choice(kinds)
    return Program(function, (x,) * count)


def _moved(draw: random.Random, shape: tuple[int, ...]) -> tuple[Callable[..., Any], Any]:
    """A move of an array of a shape, and the shape behind it."""
    rank = len(shape)
    axis = draw.randrange(rank)
    kind = draw.choice(["turn", "join", "flip", "slice", "pad", "twice", "roll", "cut", "scale"])
    if kind == "turn":
        order = draw.sample(range(rank), rank)
        return lambda x: x.transpose(order), tuple(shape[at] for at in order)
    if kind == "join" and rank > 1:
        at = draw.randrange(rank - 1)
        after = (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :])
        return lambda x: x.reshape(after), after
    if kind == "cut" and shape[axis] % 8 == 0 and rank < 5:
        after = (*shape[:axis], shape[axis] // 8, 8, *shape[axis + 1 :])
        return lambda x: x.reshape(after), after
    if kind in {"flip", "roll"}:
        move = {"flip": lambda x: jnp.flip(x, axis), "roll": lambda x: jnp.roll(x, 3, axis)}
        return move[kind], shape
    resized = {"slice": (shape[axis] + 1) // 2, "pad": shape[axis] + 2, "twice": shape[axis] * 2}
    if kind not in resized:
        return lambda x: x * 2 + 1, shape
    after = (*shape[:axis], resized[kind], *shape[axis + 1 :])
    widths = [(1, 1) if at == axis else (0, 0) for at in range(rank)]
    return {
        "slice": lambda x: lax.slice_in_dim(x, 0, None, 2, axis),
        "pad": lambda x: jnp.pad(x, widths),
        "twice": lambda x: jnp.concatenate([x, -x], axis),
    }[kind], after


def layout(draw: random.Random) -> Program:
    """Up to four moves of an array, with arithmetic or a sum behind them."""
    shapes = [(4096, 8192), (65_536, 1024), (64, 512, 1024), (32, 1024, 16, 64)]
    start = shape = draw.choice(
        [*shapes, (M, 32), (256, 131_072), (64, 112, 112, 64), (5000, 9000)]
    )
    steps = []
    for _ in range(draw.randint(1, 4)):
        step, shape = _moved(draw, shape)
        steps.append(step)
    end = draw.choice(["as it is", "sum", "added"])
    axis = draw.randrange(len(shape))

    def function(x: jax.Array, *more: jax.Array) -> jax.Array:
        for step in steps:
            x = step(x)
        return {"sum": lambda: x.sum(axis), "added": lambda: x + more[0]}.get(end, lambda: x)()

    dtype = draw.choice([F32, F32, BF16])
    more = (Spec(shape, dtype),) if end == "added" else ()
    return Program(function, (Spec(start, dtype), *more))


KINDS: dict[str, Draw] = {
    "transformer": drawn_networks.transformer,
    "perceptron": drawn_networks.perceptron,
    "convolutional": drawn_networks.convolutional,
    "decoder": drawn_networks.decoder,
    "sharded": drawn_networks.sharded,
    "loss": loss,
    "sort": sort,
    "layout": layout,
}


def drawn(kind: str, seed: int, number: int) -> Program:
    """A program of a kind, which seed and number decide."""
    return KINDS[kind](random.Random(f"{kind} {seed} {number}"))  # noqa: S311 (no secret)
