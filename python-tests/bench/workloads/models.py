"""Training steps of small models, and the parts that models are made of."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.reductions import layer_norm
from workloads.workload import Arrays, Tree, Workload

WIDTH, HEADS, LENGTH, BATCH, WORDS = 256, 4, 128, 8, 512


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Softmax attention of several heads."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1]).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)


def attended(a: Arrays, dtype: Tree) -> tuple[np.ndarray, ...]:
    """Queries, keys and values."""
    return tuple(a.normal(4, 256, 8, 64, dtype=dtype) for _ in range(3))


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean over all."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)
    return -chosen.mean()


def descend(loss: Callable[..., jax.Array]) -> Callable[..., tuple[jax.Array, Tree]]:
    """A step of gradient descent."""

    def step(parameters: Tree, *data: jax.Array) -> tuple[jax.Array, Tree]:
        value, gradient = jax.value_and_grad(loss)(parameters, *data)
        return value, jax.tree.map(
            lambda p, g: p - (0.01 * g).astype(p.dtype), parameters, gradient
        )

    return step


def transformer(a: Arrays) -> Tree:
    """Parameters of two blocks."""
    block = {
        "qkv": (WIDTH, 3 * WIDTH),
        "out": (WIDTH, WIDTH),
        "up": (WIDTH, 4 * WIDTH),
        "down": (4 * WIDTH, WIDTH),
    }
    return a.like({"words": (WORDS, WIDTH), "blocks": [block, block]}, 0.02)


def language_loss(parameters: Tree, words: jax.Array) -> jax.Array:
    """A causal language model with weights tied."""
    batch, length = words.shape
    x = parameters["words"][words]
    seen = jnp.tril(jnp.ones((length, length), bool))
    for block in parameters["blocks"]:
        heads = (layer_norm(x) @ block["qkv"]).reshape(batch, length, HEADS, 3 * WIDTH // HEADS)
        q, k, v = jnp.split(heads, 3, -1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
        weights = jax.nn.softmax(jnp.where(seen, scores, -1e9))
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, WIDTH)
        x = x + mixed @ block["out"]
        x = x + jax.nn.gelu(layer_norm(x) @ block["up"]) @ block["down"]
    return cross_entropy(layer_norm(x) @ parameters["words"].T, words)


def narrowed(tree: Tree) -> Tree:
    """All leaves in bf16."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), tree)


def sentences(a: Arrays) -> np.ndarray:
    """A batch of words."""
    return a.integers(WORDS, BATCH, LENGTH)


def perceptron_state(a: Arrays) -> Tree:
    """Weights, both moments of Adam, the step."""
    weights = a.like([(32, 64), (64, 64), (64, 1)], 0.1)
    zeros = [np.zeros_like(weight) for weight in weights]
    return weights, zeros, zeros, np.int32(0)


def perceptron(weights: Tree, x: jax.Array) -> jax.Array:
    """Layers with relu between."""
    for weight in weights[:-1]:
        x = jax.nn.relu(x @ weight)
    return x @ weights[-1]


def adam(state: Tree, x: jax.Array, y: jax.Array) -> tuple[Tree, jax.Array]:
    """A step of Adam for the perceptron."""
    weights, first, second, step = state
    loss, gradient = jax.value_and_grad(lambda w: ((perceptron(w, x) - y) ** 2).mean())(weights)
    step = step + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
    scale, floor = 1 - 0.9**step, 1 - 0.999**step
    weights = jax.tree.map(
        lambda w, m, v: w - 1e-3 * (m / scale) / (jnp.sqrt(v / floor) + 1e-8),
        weights,
        first,
        second,
    )
    return (weights, first, second, step), loss


def image_loss(parameters: Tree, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Two convolutions with pools, then a classifier."""
    x = images
    for kernel in parameters[:2]:
        x = lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = lax.reduce_window(
            jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
    return cross_entropy(x.mean((1, 2)) @ parameters[2], labels)


def image_batch(a: Arrays) -> tuple[Tree, ...]:
    """Kernels, images, labels."""
    kernels = a.like([(3, 3, 3, 32), (3, 3, 32, 64), (64, 10)], 0.1)
    return kernels, a.normal(16, 32, 32, 3), a.integers(10, 16)


def gated(parameters: Tree, xs: jax.Array) -> jax.Array:
    """The last state of a long short-term memory."""

    def step(state: Tree, x: jax.Array) -> tuple[Tree, None]:
        h, c = state
        into, forget, new, out = jnp.split(x @ parameters["x"] + h @ parameters["h"], 4, -1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(into) * jnp.tanh(new)
        return (jax.nn.sigmoid(out) * jnp.tanh(c), c), None

    zeros = jnp.zeros((xs.shape[1], parameters["h"].shape[0]))
    (h, _), _ = lax.scan(step, (zeros, zeros), xs)
    return h


def gated_loss(parameters: Tree, xs: jax.Array, y: jax.Array) -> jax.Array:
    """Squared error."""
    return ((gated(parameters, xs) - y) ** 2).mean()


def residual(parameters: Tree, x: jax.Array) -> jax.Array:
    """A block of two normalised convolutions and a sum."""
    y = x
    for kernel in parameters:
        y = lax.conv_general_dilated(
            y, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
        y = jax.nn.relu((y - mean) * lax.rsqrt(variance + 1e-5))
    return x + y


WORKLOADS = [
    Workload("attention 4x256x8x64 f32", attention, lambda a: attended(a, np.float32), quick=True),
    Workload("attention 4x256x8x64 bf16", attention, lambda a: attended(a, jnp.bfloat16)),
    Workload(
        "transformer step 2x256 f32",
        descend(language_loss),
        lambda a: (transformer(a), sentences(a)),
        quick=True,
    ),
    Workload(
        "transformer step 2x256 bf16",
        descend(language_loss),
        lambda a: (narrowed(transformer(a)), sentences(a)),
    ),
    Workload(
        "mlp with Adam 64x32 f32",
        adam,
        lambda a: (perceptron_state(a), a.normal(64, 32), a.normal(64, 1)),
        quick=True,
    ),
    Workload("conv net step 16x32x32x3 f32", descend(image_loss), image_batch, quick=True),
    Workload(
        "residual block 8x32x32x64 f32",
        residual,
        lambda a: (a.like([(3, 3, 64, 64)] * 2, 0.05), a.normal(8, 32, 32, 64)),
    ),
    Workload(
        "lstm step 100x16x64 f32",
        descend(gated_loss),
        lambda a: (
            a.like({"x": (32, 256), "h": (64, 256)}, 0.1),
            a.normal(100, 16, 32),
            a.normal(16, 64),
        ),
    ),
]
