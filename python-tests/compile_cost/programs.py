"""Programs whose compilation is counted: what users send, from one operation to a training step."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec as P

Spec = jax.ShapeDtypeStruct
WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 256, 4, 128, 8, 1000


@dataclasses.dataclass(frozen=True)
class Program:
    """What is compiled, and for how many devices."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    devices: int = 1


def _f32(*shape: int) -> Spec:
    return Spec(shape, jnp.float32)


def _normalized(x: jax.Array, scale: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-6) * scale


def _block(x: jax.Array, weights: dict[str, jax.Array]) -> jax.Array:
    batch, length, width = x.shape
    h = _normalized(x, weights["scale"])

    def split(y: jax.Array) -> jax.Array:
        return y.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    q, k, v = (split(h @ weights[name]) for name in "qkv")
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (width // HEADS) ** 0.5
    mask = jnp.tril(jnp.ones((length, length), bool))
    shares = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1)
    out = jnp.einsum("bhqk,bhkd->bhqd", shares, v).transpose(0, 2, 1, 3)
    x = x + out.reshape(batch, length, width) @ weights["o"]
    return x + jax.nn.gelu(_normalized(x, weights["scale"]) @ weights["up"]) @ weights["down"]


def _weights(layers: int) -> Any:
    square, scale = _f32(WIDTH, WIDTH), _f32(WIDTH)
    layer = {
        "q": square,
        "k": square,
        "v": square,
        "o": square,
        "scale": scale,
        "up": _f32(WIDTH, 4 * WIDTH),
        "down": _f32(4 * WIDTH, WIDTH),
    }
    return [_f32(VOCABULARY, WIDTH), [layer] * layers]


def _transformer(weights: Any, tokens: jax.Array) -> Any:
    def loss(weights: Any) -> jax.Array:
        table, layers = weights
        x = table[tokens]
        for layer in layers:
            x = _block(x, layer)
        logits = jax.nn.log_softmax(x @ table.T)
        return -jnp.take_along_axis(logits, tokens[..., None], -1).mean()

    value, gradients = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), value


def _elementwise(x: jax.Array) -> jax.Array:
    for number in range(40):
        x = jnp.sin(x) * 0.5 + number
    return x


def _convolutions(kernels: list[jax.Array], x: jax.Array) -> Any:
    def loss(kernels: list[jax.Array]) -> jax.Array:
        y = x
        for kernel in kernels:
            y = jax.nn.relu(lax.conv(y, kernel, (1, 1), "SAME"))
        return (y**2).mean()

    return jax.grad(loss)(kernels)


def _recurrent(w: jax.Array, xs: jax.Array) -> Any:
    def loss(w: jax.Array) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(h @ w + x)
            return h, h.sum()

        return lax.scan(step, jnp.zeros(xs.shape[1:]), xs)[1].sum()

    return jax.grad(loss)(w)


def _indices(x: jax.Array, at: jax.Array) -> Any:
    order = jnp.argsort(x, axis=-1)
    best, places = lax.top_k(x, 8)
    return x[at], x.at[at].add(1.0), jnp.take_along_axis(x, order, -1), best, places, x.cumsum(0)


def _manual(x: jax.Array) -> jax.Array:
    mesh = jax.sharding.Mesh(jax.devices()[:8], "d")

    def body(x: jax.Array) -> jax.Array:
        y = lax.psum(x.sum(), "d") + lax.ppermute(x, "d", [(i, (i + 1) % 8) for i in range(8)])
        return lax.all_gather(y, "d").sum(0)

    return jax.shard_map(body, mesh=mesh, in_specs=P("d"), out_specs=P("d"))(x)


def _kernel(x: jax.Array, y: jax.Array) -> jax.Array:
    def product(x: Any, y: Any, o: Any) -> None:
        o[...] = jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

    return pl.pallas_call(
        product,
        out_shape=Spec((512, 512), jnp.float32),
        grid=(4, 4),
        in_specs=[
            pl.BlockSpec((128, 512), lambda i, _: (i, 0)),
            pl.BlockSpec((512, 128), lambda _, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
    )(x, y)


TOKENS = Spec((BATCH, LENGTH), jnp.int32)
PROGRAMS = {
    "one addition": Program(lambda x: x + 1, (_f32(4),)),
    "120 elementwise operations": Program(_elementwise, (_f32(64, 1024),)),
    "transformer, 1 layer, training": Program(_transformer, (_weights(1), TOKENS)),
    "transformer, 6 layers, training": Program(_transformer, (_weights(6), TOKENS)),
    "convolutions, training": Program(
        _convolutions, ([_f32(16, 16, 3, 3)] * 4, _f32(4, 16, 32, 32))
    ),
    "recurrent network, training": Program(_recurrent, (_f32(64, 64), _f32(20, 8, 64))),
    "sorts and indices": Program(_indices, (_f32(64, 512), Spec((32,), jnp.int32))),
    "collectives in shard_map": Program(_manual, (_f32(64, 16),), 8),
    "a kernel of Pallas": Program(_kernel, (_f32(512, 512), _f32(512, 512))),
}
