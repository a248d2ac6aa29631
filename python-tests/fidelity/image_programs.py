"""Steps of training of image models, whose memory is planned twice."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from other_programs import trained

from planned_programs import BF16, F32, Program, Spec

Tree = Any
Norm = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
S32 = jnp.int32
CLASSES = 1000


def _convolved(x: jax.Array, weights: jax.Array, stride: int = 1) -> jax.Array:
    return lax.conv_general_dilated(
        x, weights, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _pooled(x: jax.Array, size: int = 2, padding: str = "VALID") -> jax.Array:
    """The largest of windows that are two apart."""
    window, strides = (1, size, size, 1), (1, 2, 2, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)


def _doubled(x: jax.Array) -> jax.Array:
    batch, height, width, features = x.shape
    return jax.image.resize(x, (batch, 2 * height, 2 * width, features), "nearest")


def _group_norm(groups: int) -> Norm:
    def norm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
        *outer, features = x.shape
        wide = x.astype(F32).reshape(*outer, groups, features // groups)
        mean = wide.mean((1, 2, 4), keepdims=True)
        variance = wide.var((1, 2, 4), keepdims=True)
        normal = (wide - mean) * lax.rsqrt(variance + 1e-5)
        return normal.reshape(x.shape).astype(x.dtype) * scale + shift

    return norm


def _batch_norm(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    wide = x.astype(F32)
    mean, variance = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
    return ((wide - mean) * lax.rsqrt(variance + 1e-5)).astype(x.dtype) * scale + shift


def _cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    wide = logits.astype(F32)
    chosen = jnp.take_along_axis(wide, labels[:, None], -1)[:, 0]
    return (jax.nn.logsumexp(wide, -1) - chosen).mean()


def _mean_square(x: jax.Array) -> jax.Array:
    return (x.astype(F32) ** 2).mean()


def _images(batch: int, side: int, dtype: Any) -> Spec:
    return Spec((batch, side, side, 3), dtype)


def _pyramid(dtype: Any, features: int, depth: int, batch: int, side: int) -> Program:
    """Layers of a convolution and a pool, each with twice the features of the one before."""
    widths = [3, *(features << layer for layer in range(depth))]
    layers = [Spec((3, 3, a, b), dtype) for a, b in itertools.pairwise(widths)]
    left = (side >> depth) ** 2 * widths[-1]

    def loss(parameters: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
        for weights in parameters["layers"]:
            x = _pooled(jax.nn.relu(_convolved(x, weights)))
        return _cross_entropy(x.reshape(batch, left) @ parameters["last"], labels)

    parameters = {"layers": layers, "last": Spec((left, 10), dtype)}
    return trained(loss, parameters, _images(batch, side, dtype), Spec((batch,), S32))


def _vgg(dtype: Any, batch: int) -> Program:
    """Pairs of convolutions with a pool behind each pair."""
    widths = [3, 64, 64, 128, 128, 256, 256, 512, 512]
    layers = [Spec((3, 3, a, b), dtype) for a, b in itertools.pairwise(widths)]

    def loss(parameters: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
        for at, weights in enumerate(parameters["layers"]):
            x = jax.nn.relu(_convolved(x, weights))
            x = _pooled(x) if at % 2 else x
        return _cross_entropy(x.mean((1, 2)) @ parameters["last"], labels)

    parameters = {"layers": layers, "last": Spec((512, CLASSES), dtype)}
    return trained(loss, parameters, _images(batch, 224, dtype), Spec((batch,), S32))


def _residual(dtype: Any, norm: Norm, batch: int) -> Program:
    def block(into: int, out: int) -> Tree:
        convolutions = {"a": (3, 3, into, out), "b": (3, 3, out, out), "by": (1, 1, into, out)}
        vectors = {"scale": (out,), "shift": (out,)}
        return {name: Spec(dims, dtype) for name, dims in (convolutions | vectors).items()}

    def loss(parameters: Tree, x: jax.Array, labels: jax.Array) -> jax.Array:
        x = _pooled(jax.nn.relu(_convolved(x, parameters["first"], 2)), 3, "SAME")
        for at, of in enumerate(parameters["blocks"]):
            stride = 2 if at else 1
            y = jax.nn.relu(norm(_convolved(x, of["a"], stride), of["scale"], of["shift"]))
            y = norm(_convolved(y, of["b"]), of["scale"], of["shift"])
            x = jax.nn.relu(y + _convolved(x, of["by"], stride))
        return _cross_entropy(x.mean((1, 2)) @ parameters["last"], labels)

    parameters = {
        "first": Spec((7, 7, 3, 64), dtype),
        "blocks": [block(64, 64), block(64, 128), block(128, 256)],
        "last": Spec((256, CLASSES), dtype),
    }
    return trained(loss, parameters, _images(batch, 224, dtype), Spec((batch,), S32))


def _u_net(dtype: Any, features: int = 64, batch: int = 8, side: int = 128) -> Program:
    """Two steps down and up again, with what was there before joined to it; groups of features."""
    widths = {"in": (3, 1), "down": (1, 2), "lowest": (2, 4), "up": (6, 2), "out": (3, 1)}

    def block(name: str) -> Tree:
        into, out = widths[name]
        into = into if name == "in" else into * features
        vector = Spec((out * features,), dtype)
        weights = Spec((3, 3, into, out * features), dtype)
        return {"weights": weights, "scale": vector, "shift": vector}

    norm = _group_norm(8)

    def run(x: jax.Array, of: Tree) -> jax.Array:
        return jax.nn.silu(norm(_convolved(x, of["weights"]), of["scale"], of["shift"]))

    def loss(of: Tree, x: jax.Array, wanted: jax.Array) -> jax.Array:
        first = run(x, of["in"])
        second = run(_pooled(first), of["down"])
        lowest = run(_pooled(second), of["lowest"])
        second = run(jnp.concatenate([_doubled(lowest), second], -1), of["up"])
        first = run(jnp.concatenate([_doubled(second), first], -1), of["out"])
        return _mean_square(_convolved(first, of["last"]) - wanted)

    parameters = {name: block(name) for name in widths}
    parameters["last"] = Spec((3, 3, features, 3), dtype)
    images = _images(batch, side, dtype)
    return trained(loss, parameters, images, images)


def _autoencoder(dtype: Any) -> Program:
    layers = [Spec((3, 3, a, b), dtype) for a, b in ((3, 32), (32, 64), (64, 32), (32, 3))]

    def loss(layers: Tree, x: jax.Array) -> jax.Array:
        a, b, c, d = layers
        y = jax.nn.relu(_convolved(jax.nn.relu(_convolved(x, a, 2)), b, 2))
        y = jax.nn.relu(_convolved(_doubled(y), c))
        return _mean_square(_convolved(_doubled(y), d) - x)

    return trained(loss, layers, _images(64, 128, dtype))


IMAGE_MODELS: dict[str, Callable[[], Program]] = {
    "convolution and pool 3x64 f32": functools.partial(_pyramid, F32, 64, 3, 64, 128),
    "convolution and pool 3x64 bf16": functools.partial(_pyramid, BF16, 64, 3, 64, 128),
    "convolution and pool 4x64 f32": functools.partial(_pyramid, F32, 64, 4, 32, 224),
    "convolution and pool 4x64 bf16": functools.partial(_pyramid, BF16, 64, 4, 32, 224),
    "vgg f32": functools.partial(_vgg, F32, 16),
    "vgg bf16": functools.partial(_vgg, BF16, 32),
    "residual, batch norm f32": functools.partial(_residual, F32, _batch_norm, 32),
    "residual, batch norm bf16": functools.partial(_residual, BF16, _batch_norm, 64),
    "residual, group norm bf16": functools.partial(_residual, BF16, _group_norm(32), 32),
    "u-net, group norm f32": functools.partial(_u_net, F32),
    "u-net, group norm bf16": functools.partial(_u_net, BF16),
    "autoencoder f32": functools.partial(_autoencoder, F32),
    "autoencoder bf16": functools.partial(_autoencoder, BF16),
}
"""Each of them with donation of its parameters."""
