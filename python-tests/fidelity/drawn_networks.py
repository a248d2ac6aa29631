"""Networks drawn at random, to see how far the planner carries: training and decoding."""

import dataclasses
import functools
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from planned_programs import BF16, F32, Place, Program, Spec, mapped

Tree = Any
Loss = Callable[..., jax.Array]
ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "gelu": jax.nn.gelu,
    "exact gelu": functools.partial(jax.nn.gelu, approximate=False),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "tanh": jnp.tanh,
    "squared relu": lambda x: jnp.square(jax.nn.relu(x)),
}
NORMS = ("layer", "rms", "none")
OPTIMIZERS = ("sgd", "momentum", "adam", "adamw", "gradient")
OFTEN_PLAIN = ("none", "none", "none", "all", "dots")


@dataclasses.dataclass(frozen=True)
class Types:
    """What parameters are kept in, and what is computed in."""

    kept: Any
    computed: Any


def _types(draw: random.Random) -> Types:
    return draw.choice([Types(F32, F32), Types(BF16, BF16), Types(F32, BF16)])


def _normed(x: jax.Array, scale: jax.Array, how: str) -> jax.Array:
    wide = x.astype(F32)
    if how == "none":
        return x
    if how == "layer":
        wide -= wide.mean(-1, keepdims=True)
    normal = wide * lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-6)
    return (normal * scale).astype(x.dtype)


def _trained(
    draw: random.Random, loss: Loss, parameters: Tree, *data: Any, shardings: Any = None
) -> Program:
    """A step by an optimizer, in one piece or summed over pieces of the batch."""
    optimizer = draw.choice(OPTIMIZERS)
    pieces = draw.choice([1, 1, 1, 2, 4])
    donated = draw.random() < 0.8
    gradient = jax.value_and_grad(loss)

    def slopes(parameters: Tree, *data: Any) -> tuple[jax.Array, Tree]:
        if pieces == 1:
            return gradient(parameters, *data)

        def add(sums: Tree, piece: Tree) -> tuple[Tree, None]:
            return mapped(jnp.add, sums, gradient(parameters, *piece)), None

        cut = mapped(lambda a: a.reshape(pieces, a.shape[0] // pieces, *a.shape[1:]), data)
        zeros = mapped(jnp.zeros_like, parameters)
        return lax.scan(add, (jnp.zeros((), F32), zeros), cut)[0]

    def step(state: tuple[Tree, ...], *data: Any) -> Any:
        parameters, *moments = state
        value, change = slopes(parameters, *data)
        if optimizer == "gradient":
            return change, value
        if optimizer == "momentum":
            moments = [mapped(lambda m, g: 0.9 * m + g, moments[0], change)]
            change = moments[0]
        if optimizer.startswith("adam"):
            mean = mapped(lambda m, g: 0.9 * m + 0.1 * g.astype(m.dtype), moments[0], change)
            square = mapped(
                lambda v, g: 0.99 * v + 0.01 * jnp.square(g.astype(v.dtype)), moments[1], change
            )
            moments = [mean, square]
            change = mapped(lambda m, v: m / (jnp.sqrt(v) + 1e-8), mean, square)
        if optimizer == "adamw":
            change = mapped(lambda c, p: c + 1e-2 * p.astype(c.dtype), change, parameters)
        after = mapped(lambda p, c: p - 1e-3 * c.astype(p.dtype), parameters, change)
        return (after, *moments), value

    wide = mapped(lambda p: Spec(p.shape, F32), parameters)
    count = {"momentum": 1, "adam": 2, "adamw": 2}.get(optimizer, 0)
    state = (parameters, *([wide] * count))
    return Program(step, (state, *data), (0,) if donated else (), shardings)


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    logs = jax.nn.log_softmax(logits.astype(F32), -1)
    return -jnp.take_along_axis(logs, labels[..., None], -1).mean()


def _checkpointed(block: Callable[..., Any], how: str) -> Callable[..., Any]:
    if how == "none":
        return block
    kept = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if how == "dots" else None
    return jax.checkpoint(block, policy=kept)


def _turned(x: jax.Array) -> jax.Array:
    """Rotary embedding of (batch, length, heads, features)."""
    length, half = x.shape[1], x.shape[-1] // 2
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(half) / half)
    cosine, sine = (f(angles)[:, None].astype(np.float32) for f in (np.cos, np.sin))
    a, b = jnp.split(x.astype(F32), 2, -1)
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class Attention:
    """How a layer attends."""

    heads: int
    keys: int
    rotary: bool
    causal: bool
    by_name: bool

    def of(self, h: jax.Array, w: dict[str, jax.Array]) -> jax.Array:
        """Attention over (batch, length, width), before the product that joins heads."""
        batch, length, _ = h.shape
        q = (h @ w["q"]).reshape(batch, length, self.heads, -1)
        k = (h @ w["k"]).reshape(batch, length, self.keys, -1)
        v = (h @ w["v"]).reshape(batch, length, self.keys, -1)
        if self.rotary:
            q, k = _turned(q), _turned(k)
        if self.by_name:
            out = jax.nn.dot_product_attention(q, k, v, is_causal=self.causal)
            return out.reshape(batch, length, -1)
        k, v = (jnp.repeat(one, self.heads // self.keys, 2) for one in (k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(F32) / np.sqrt(q.shape[-1])
        if self.causal:
            scores = jnp.where(np.tri(length, dtype=bool), scores, -1e30)
        weights = jax.nn.softmax(scores, -1).astype(h.dtype)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, -1)


def _attention(draw: random.Random, width: int) -> Attention:
    heads = width // draw.choice([64, 64, 128])
    keys = draw.choice([heads, heads, max(heads // 4, 1), 1])
    while heads % keys:
        keys -= 1
    return Attention(heads, keys, *(draw.random() < share for share in (0.4, 0.7, 0.4)))


def _block_weights(kept: Any, width: int, of: Attention, *, gated: bool, stack: int) -> Tree:
    outer = (stack,) if stack else ()
    thin = width // of.heads * of.keys
    dims: dict[str, tuple[int, ...]] = {
        "q": (width, width),
        "k": (width, thin),
        "v": (width, thin),
        "o": (width, width),
    }
    dims |= {"up": (width, 4 * width), "down": (4 * width, width)}
    dims |= {"gate": (width, 4 * width)} if gated else {}
    dims |= {"first": (width,), "second": (width,)}
    return {name: Spec((*outer, *one), kept) for name, one in dims.items()}


def transformer(
    draw: random.Random, shardings: Callable[[Mesh], Place] | None = None, batches: int = 1
) -> Program:
    """A step of training of a transformer over tokens."""
    types = _types(draw)
    layers, width = draw.choice([2, 3, 4, 6, 8]), draw.choice([512, 768, 1024, 1536])
    length = draw.choice([512, 1024, 2048])
    batch = batches * draw.choice([4, 8])
    vocabulary = draw.choice([2_000, 8_192, 32_000, 50_257])
    norm, activation = draw.choice(NORMS), ACTIVATIONS[draw.choice(list(ACTIVATIONS))]
    attends, gated = _attention(draw, width), draw.random() < 0.3
    scans, tied = draw.random() < 0.35, draw.random() < 0.5
    remat = draw.choice(OFTEN_PLAIN)

    def block(x: jax.Array, w: Tree) -> jax.Array:
        w = mapped(lambda one: one.astype(types.computed), w)
        x += attends.of(_normed(x, w["first"], norm), w) @ w["o"]
        h = _normed(x, w["second"], norm)
        up = activation(h @ w["gate"]) * (h @ w["up"]) if gated else activation(h @ w["up"])
        return x + up @ w["down"]

    run = _checkpointed(block, remat)

    def loss(p: Tree, ids: jax.Array) -> jax.Array:
        x = p["table"].astype(types.computed)[ids[:, :-1]]
        if scans:
            x, _ = lax.scan(lambda x, w: (run(x, w), None), x, p["blocks"])
        else:
            for w in p["blocks"]:
                x = run(x, w)
        x = _normed(x, p["scale"], norm)
        head = p["table"].T if tied else p["head"]
        return _cross_entropy(x @ head.astype(types.computed), ids[:, 1:])

    weights = functools.partial(_block_weights, types.kept, width, attends, gated=gated)
    blocks = weights(stack=layers) if scans else [weights(stack=0) for _ in range(layers)]
    parameters = {"table": Spec((vocabulary, width), types.kept), "blocks": blocks}
    parameters["scale"] = Spec((width,), types.kept)
    if not tied:
        parameters["head"] = Spec((width, vocabulary), types.kept)
    ids = Spec((batch, length + 1), jnp.int32)
    return _trained(draw, loss, parameters, ids, shardings=shardings)


def perceptron(
    draw: random.Random, shardings: Callable[[Mesh], Place] | None = None, batches: int = 1
) -> Program:
    """A step of training of layers of products."""
    types = _types(draw)
    layers, width = draw.choice([2, 3, 4, 6, 8]), draw.choice([1024, 2048, 3072, 4096])
    batch = batches * draw.choice([4096, 8192, 16384])
    into, out = draw.choice([width, 784, 3072]), draw.choice([width, 10, 1000])
    norm, activation = draw.choice(NORMS), ACTIVATIONS[draw.choice(list(ACTIVATIONS))]
    residual, biased = draw.random() < 0.4, draw.random() < 0.5
    remat = draw.choice(OFTEN_PLAIN)
    classes = draw.random() < 0.5

    def block(x: jax.Array, w: Tree) -> jax.Array:
        w = mapped(lambda one: one.astype(types.computed), w)
        y = _normed(x, w["scale"], norm) @ w["weights"]
        y = activation(y + w["bias"] if biased else y)
        return x + y if residual and x.shape == y.shape else y

    run = _checkpointed(block, remat)

    def loss(p: Tree, x: jax.Array, wanted: jax.Array) -> jax.Array:
        for w in p["layers"]:
            x = run(x, w)
        x = x @ p["last"].astype(types.computed)
        if classes:
            return _cross_entropy(x, wanted)
        return jnp.square((x - wanted).astype(F32)).mean()

    def layer(before: int) -> Tree:
        dims = {"scale": (before,), "weights": (before, width), "bias": (width,)}
        return {name: Spec(one, types.kept) for name, one in dims.items()}

    parameters: Tree = {"layers": [layer(width if at else into) for at in range(layers)]}
    parameters["last"] = Spec((width, out), types.kept)
    wanted = Spec((batch,), jnp.int32) if classes else Spec((batch, out), types.computed)
    data = (Spec((batch, into), types.computed), wanted)
    return _trained(draw, loss, parameters, *data, shardings=shardings)


def _image_norm(x: jax.Array, scale: jax.Array, how: str) -> jax.Array:
    if how == "none":
        return x
    wide = x.astype(F32)
    axes = {"batch": (0, 1, 2), "layer": (3,), "group": (1, 2, 4)}[how]
    if how == "group":
        wide = wide.reshape(*x.shape[:3], 8, -1)
    mean, variance = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    normal = ((wide - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)
    return (normal * scale).astype(x.dtype)


def convolutional(draw: random.Random) -> Program:
    """A step of training of a network of convolutions over images."""
    types = _types(draw)
    first, stages, each = draw.choice([32, 64, 128]), draw.choice([1, 2, 3]), draw.choice([1, 2, 3])
    batch, side = draw.choice([16, 32, 64]), draw.choice([56, 64, 112, 128])
    norm = draw.choice(["none", "batch", "group", "layer"])
    activation = ACTIVATIONS[draw.choice(["relu", "relu", "silu", "gelu"])]
    residual, pool = draw.random() < 0.5, draw.choice(["max", "average", "stride"])
    grouped = draw.random() < 0.2
    remat = draw.choice(OFTEN_PLAIN)
    numbers = ("NHWC", "HWIO", "NHWC")

    def block(x: jax.Array, w: Tree, *, stride: int) -> jax.Array:
        w = mapped(lambda one: one.astype(types.computed), w)
        groups = x.shape[-1] if w["weights"].shape[2] == 1 else 1
        y = lax.conv_general_dilated(
            x,
            w["weights"],
            (stride, stride),
            "SAME",
            dimension_numbers=numbers,
            feature_group_count=groups,
        )
        y = activation(_image_norm(y, w["scale"], norm))
        return x + y if residual and x.shape == y.shape else y

    def pooled(x: jax.Array) -> jax.Array:
        window = (1, 2, 2, 1)
        if pool == "max":
            return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
        return lax.reduce_window(x, 0.0, lax.add, window, window, "VALID") / 4

    def loss(p: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
        for at, stage in enumerate(p["stages"]):
            for index, w in enumerate(stage):
                stride = 2 if pool == "stride" and at and not index else 1
                x = _checkpointed(functools.partial(block, stride=stride), remat)(x, w)
            if pool != "stride":
                x = pooled(x)
        return _cross_entropy(x.mean((1, 2)) @ p["last"].astype(x.dtype), labels)

    def layer(into: int, out: int) -> Tree:
        inner = 1 if grouped and into == out else into
        return {"weights": Spec((3, 3, inner, out), types.kept), "scale": Spec((out,), types.kept)}

    widths = [first << at for at in range(stages)]
    parameters: Tree = {"stages": [], "last": Spec((widths[-1], 1000), types.kept)}
    before = 3
    for wide in widths:
        parameters["stages"].append([layer(wide if at else before, wide) for at in range(each)])
        before = wide
    images = Spec((batch, side, side, 3), types.computed)
    return _trained(draw, loss, parameters, images, Spec((batch,), jnp.int32))


def decoder(draw: random.Random) -> Program:
    """One token for each sequence, by layers that keep keys and values."""
    types = _types(draw)
    layers, width = draw.choice([4, 8, 16]), draw.choice([1024, 2048])
    length, batch = draw.choice([1024, 2048, 4096]), draw.choice([4, 8, 16])
    heads = width // 128
    keys = draw.choice([heads, heads // 4, 1])
    vocabulary, scans = draw.choice([0, 32_000]), draw.random() < 0.4
    greedy = draw.random() < 0.5

    def block(x: jax.Array, w: Tree, cache: Tree, place: jax.Array) -> tuple[jax.Array, Tree]:
        w = mapped(lambda one: one.astype(types.computed), w)
        h = _normed(x, w["first"], "rms")
        q = (h @ w["q"]).reshape(batch, keys, heads // keys, 128)
        new = {name: (h @ w[name]).reshape(batch, 1, keys, 128) for name in "kv"}
        cache = {
            name: lax.dynamic_update_slice(cache[name], new[name], (0, place, 0, 0))
            for name in "kv"
        }
        scores = jnp.einsum("bkgd,blkd->bkgl", q, cache["k"]).astype(F32) / 128**0.5
        scores = jnp.where(jnp.arange(length) <= place, scores, -1e30)
        weights = jax.nn.softmax(scores, -1).astype(x.dtype)
        x += jnp.einsum("bkgl,blkd->bkgd", weights, cache["v"]).reshape(batch, width) @ w["o"]
        h = _normed(x, w["second"], "rms")
        return x + jax.nn.silu(h @ w["up"]) @ w["down"], cache

    def step(p: Tree, cache: Tree, x: jax.Array, place: jax.Array) -> Any:
        if scans:
            x, cache = lax.scan(lambda x, of: block(x, *of, place), x, (p["blocks"], cache))
        else:
            after = []
            for w, one in zip(p["blocks"], cache, strict=True):
                x, new = block(x, w, one, place)
                after.append(new)
            cache = after
        if not vocabulary:
            return x, cache
        logits = (x @ p["head"].astype(x.dtype)).astype(F32)
        return jnp.argmax(logits, -1) if greedy else lax.top_k(logits, 40), cache

    attends = Attention(heads, keys, rotary=False, causal=False, by_name=False)
    weights = functools.partial(_block_weights, types.kept, width, attends, gated=False)
    pair = {name: Spec((batch, length, keys, 128), types.computed) for name in "kv"}
    if scans:
        blocks = weights(stack=layers)
        cache = mapped(lambda one: Spec((layers, *one.shape), one.dtype), pair)
    else:
        blocks, cache = [weights(stack=0) for _ in range(layers)], [pair] * layers
    parameters = {"blocks": blocks}
    if vocabulary:
        parameters["head"] = Spec((width, vocabulary), types.kept)
    data = (Spec((batch, width), types.computed), Spec((), jnp.int32))
    return Program(step, (parameters, cache, *data), (1,))


def _over_eight(mesh: Mesh, *, rows: int, cut: bool, data: int) -> Place:
    """Data over the rows of a grid of devices, parameters whole or over its columns.

    The last arrays, `data` of them, are the data; a grid of one column has parameters over all.
    """
    grid = Mesh(mesh.devices.reshape(rows, -1), ("data", "model"))
    over = ("data", "model") if rows == 8 else "model"
    size = 8 if rows == 8 else 8 // rows

    def place(index: int, of: int, spec: Spec) -> NamedSharding:
        if index >= of - data:
            return NamedSharding(grid, PartitionSpec("data"))
        axes = [at for at in range(len(spec.shape)) if spec.shape[at] % size == 0]
        names = [over if cut and axes[-1:] == [at] else None for at in range(len(spec.shape))]
        return NamedSharding(grid, PartitionSpec(*names))

    return place


def sharded(draw: random.Random) -> Program:
    """A step of training over eight devices: whole parameters, cut ones, or cut over two axes."""
    rows, cut = draw.choice([(8, False), (8, True), (4, True), (2, True)])
    kind, data = draw.choice([(transformer, 1), (transformer, 1), (perceptron, 2)])
    return kind(draw, functools.partial(_over_eight, rows=rows, cut=cut, data=data), rows)
