"""Trains a small GPT on text and prints the loss of each step.

    python train_gpt.py [STEPS]              the losses on the backend that JAX chooses
    python train_gpt.py --compare [STEPS]    the greatest difference from XLA's CPU backend

The comparison asks for exact products: TPU_EMU_NUMERICS=ieee.
"""

import json
import os
import subprocess
import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 2, 32, 2, 32, 8
LEARNING_RATE = 3e-3
TEXT = "".join(f"{n} times {m} is {n * m}. " for n in range(1, 13) for m in range(1, 13))
LETTERS = sorted(set(TEXT))
Tree = Any


def init(key: jax.Array) -> Tree:
    """Weights; each layer's have a leading axis of layers, for the scan."""

    def normal(key: jax.Array, *shape: int) -> jax.Array:
        return jax.random.normal(key, shape) * 0.02

    keys = iter(jax.random.split(key, 8))
    return {
        "letters": normal(next(keys), len(LETTERS), WIDTH),
        "places": normal(next(keys), CONTEXT, WIDTH),
        "layers": {
            "attend": normal(next(keys), LAYERS, WIDTH, 3 * WIDTH),
            "project": normal(next(keys), LAYERS, WIDTH, WIDTH),
            "widen": normal(next(keys), LAYERS, WIDTH, 4 * WIDTH),
            "narrow": normal(next(keys), LAYERS, 4 * WIDTH, WIDTH),
            "scales": jnp.ones((LAYERS, 2, WIDTH)),
        },
    }


def normalize(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Each position's vector with mean 0 and variance 1, times a scale."""
    x -= x.mean(-1, keepdims=True)
    return scale * x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attention(x: jax.Array, layer: Tree) -> jax.Array:
    """Causal attention of all heads over one text."""
    q, k, v = jnp.split((x @ layer["attend"]).reshape(len(x), HEADS, -1), 3, axis=-1)
    scores = jnp.einsum("qhd,khd->hqk", q, k) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tri(len(x), dtype=bool), scores, -1e9)
    mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v)
    return mixed.reshape(x.shape) @ layer["project"]


def logits(weights: Tree, text: jax.Array) -> jax.Array:
    """The next letter's, at each position of one text."""

    def block(x: jax.Array, layer: Tree) -> tuple[jax.Array, None]:
        x += attention(normalize(x, layer["scales"][0]), layer)
        wide = jax.nn.gelu(normalize(x, layer["scales"][1]) @ layer["widen"])
        return x + wide @ layer["narrow"], None

    x = weights["letters"][text] + weights["places"]
    x, _ = lax.scan(block, x, weights["layers"])
    return normalize(x, jnp.ones(WIDTH)) @ weights["letters"].T


def loss(weights: Tree, texts: jax.Array) -> jax.Array:
    """Mean surprise by the next letter."""
    told = jax.nn.log_softmax(jax.vmap(partial(logits, weights))(texts[:, :-1]))
    return -jnp.take_along_axis(told, texts[:, 1:, None], axis=-1).mean()


@partial(jax.jit, donate_argnums=0)
def step(state: Tree, data: jax.Array) -> tuple[Tree, jax.Array]:
    """Adam's next state and the loss before it."""
    weights, means, squares, count, key = state
    key, chosen = jax.random.split(key)
    starts = jax.random.randint(chosen, (BATCH,), 0, len(data) - CONTEXT)
    texts = jax.vmap(lambda start: lax.dynamic_slice(data, (start,), (CONTEXT + 1,)))(starts)
    value, slopes = jax.value_and_grad(loss)(weights, texts)
    count += 1
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, slopes)
    squares = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, squares, slopes)
    rate = LEARNING_RATE * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
    weights = jax.tree.map(
        lambda w, m, s: w - rate * m / (jnp.sqrt(s) + 1e-6), weights, means, squares
    )
    return (weights, means, squares, count, key), value


def train(steps: int) -> list[float]:
    """The loss of each step."""
    data = jnp.array([LETTERS.index(letter) for letter in TEXT])
    weights = init(jax.random.PRNGKey(0))
    zeros = partial(jax.tree.map, jnp.zeros_like)
    state = (weights, zeros(weights), zeros(weights), jnp.float32(0), jax.random.PRNGKey(1))
    losses = []
    for _ in range(steps):
        state, value = step(state, data)
        losses.append(value)
    return [float(value) for value in losses]


def losses_on(platform: str, steps: int) -> list[float]:
    """The losses of a fresh process on a backend."""
    environment = {**os.environ, "JAX_PLATFORMS": platform, "TPU_EMU_NUMERICS": "ieee"}
    command = [sys.executable, __file__, str(steps)]
    done = subprocess.run(  # noqa: S603 (this file)
        command, env=environment, check=True, capture_output=True, text=True
    )
    return [float(value) for value in json.loads(done.stdout)]


def main() -> None:
    """Print the losses, or how far two backends are apart."""
    compare, numbers = "--compare" in sys.argv, [int(one) for one in sys.argv[1:] if one.isdigit()]
    steps = numbers[0] if numbers else 300
    if not compare:
        print(json.dumps(train(steps)))
        return
    tpu, cpu = losses_on("tpu", steps), losses_on("cpu", steps)
    apart = [abs(one - two) for one, two in zip(tpu, cpu, strict=True)]
    worst = apart.index(max(apart))
    print(f"{steps} steps: loss {tpu[0]:.6f} to {tpu[-1]:.6f} here, {cpu[-1]:.6f} on the CPU")
    print(f"greatest difference {apart[worst]:.3g}, at step {worst}")


if __name__ == "__main__":
    main()
