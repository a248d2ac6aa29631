"""Networks besides those of `models`, forwards or as steps of descent."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.models import attention, cross_entropy, descend
from workloads.reductions import layer_norm
from workloads.workload import Arrays, Tree, Workload

CHANNELS = ("NHWC", "HWIO", "NHWC")


def gated_cell(parameters: Tree, h: jax.Array, x: jax.Array) -> jax.Array:
    """A gated recurrent unit."""
    into, held = x @ parameters["x"], h @ parameters["h"]
    update, reset, new = jnp.split(into, 3, -1)
    held_update, held_reset, held_new = jnp.split(held, 3, -1)
    z = jax.nn.sigmoid(update + held_update)
    n = jnp.tanh(new + jax.nn.sigmoid(reset + held_reset) * held_new)
    return (1 - z) * n + z * h


def two_layers(parameters: Tree, xs: jax.Array) -> jax.Array:
    """Two layers of gated recurrent units over a sequence."""

    def step(state: Tree, x: jax.Array) -> tuple[Tree, None]:
        first = gated_cell(parameters[0], state[0], x)
        return (first, gated_cell(parameters[1], state[1], first)), None

    zeros = jnp.zeros((xs.shape[1], parameters[0]["h"].shape[0]))
    return lax.scan(step, (zeros, zeros), xs)[0][1]


def gru_loss(parameters: Tree, xs: jax.Array, y: jax.Array) -> jax.Array:
    """Squared error of the last state."""
    return ((two_layers(parameters, xs) - y) ** 2).mean()


def gru_layers(a: Arrays) -> Tree:
    """Parameters of two layers of 64."""
    return a.like([{"x": (32, 192), "h": (64, 192)}, {"x": (64, 192), "h": (64, 192)}], 0.1)


def convolved(x: jax.Array, kernel: jax.Array, stride: int = 1) -> jax.Array:
    """A convolution with channels last."""
    return lax.conv_general_dilated(x, kernel, (stride,) * 2, "SAME", dimension_numbers=CHANNELS)


def grouped_norm(x: jax.Array, groups: int = 8) -> jax.Array:
    """Groups of channels with mean 0 and variance 1."""
    parts = x.reshape(*x.shape[:-1], groups, -1)
    mean = parts.mean((1, 2, 4), keepdims=True)
    variance = parts.var((1, 2, 4), keepdims=True)
    return ((parts - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)


def u_net(parameters: Tree, x: jax.Array) -> jax.Array:
    """Down by a stride, up by repetition, with the upper level beside it."""
    upper = jax.nn.silu(grouped_norm(convolved(x, parameters["in"])))
    lower = jax.nn.silu(grouped_norm(convolved(upper, parameters["down"], 2)))
    lower = lower + convolved(lower, parameters["middle"])
    raised = jnp.repeat(jnp.repeat(lower, 2, 1), 2, 2)
    return convolved(jnp.concatenate([upper, raised], -1), parameters["out"])


U_NET = {
    "in": (3, 3, 4, 32),
    "down": (3, 3, 32, 64),
    "middle": (3, 3, 64, 64),
    "out": (3, 3, 96, 4),
}


def denoising(parameters: Tree, x: jax.Array, noise: jax.Array, t: jax.Array) -> jax.Array:
    """The error of the noise that a U-Net finds at times of a cosine schedule."""
    kept = jnp.cos(t * (np.pi / 2))[:, None, None, None]
    noisy = kept * x + jnp.sqrt(1 - kept * kept) * noise
    return ((u_net(parameters, noisy) - noise) ** 2).mean()


def sampled(parameters: Tree, x: jax.Array) -> jax.Array:
    """Four steps back from noise."""

    def step(i: int, x: jax.Array) -> jax.Array:
        kept = jnp.cos((4 - i) * 0.3)
        return (x - 0.1 * u_net(parameters, x)) / kept.astype(x.dtype)

    return lax.fori_loop(0, 4, step, x)


def experts(parameters: Tree, x: jax.Array) -> jax.Array:
    """Each token goes through the two of eight experts that its gate has chosen."""
    weights, chosen = lax.top_k(jax.nn.softmax(x @ parameters["gate"]), 2)
    routes = (jax.nn.one_hot(chosen, 8) * weights[..., None]).sum(1)
    hidden = jax.nn.gelu(jnp.einsum("td,edh->eth", x, parameters["up"]))
    return jnp.einsum("te,eth,ehd->td", routes, hidden, parameters["down"])


def experts_loss(parameters: Tree, x: jax.Array) -> jax.Array:
    """Squares of what the experts say."""
    return (experts(parameters, x) ** 2).mean()


EXPERTS = {"gate": (64, 8), "up": (8, 64, 128), "down": (8, 128, 64)}


def perceiver(parameters: Tree, inputs: jax.Array) -> jax.Array:
    """A few latents look at many inputs, then twice at one another."""
    batch = inputs.shape[0]
    latents = jnp.broadcast_to(parameters["latents"], (batch, *parameters["latents"].shape))
    key, value = jnp.split(layer_norm(inputs) @ parameters["inputs"], 2, -1)
    heads = lambda x: x.reshape(batch, x.shape[1], 4, -1)  # noqa: E731
    query = layer_norm(latents) @ parameters["query"]
    latents = latents + attention(heads(query), heads(key), heads(value)).reshape(latents.shape)
    for block in parameters["blocks"]:
        parts = jnp.split(layer_norm(latents) @ block["qkv"], 3, -1)
        latents = latents + attention(*map(heads, parts)).reshape(latents.shape)
        latents = latents + jax.nn.gelu(layer_norm(latents) @ block["up"]) @ block["down"]
    return latents.mean(1) @ parameters["classes"]


def perceiver_loss(parameters: Tree, inputs: jax.Array, labels: jax.Array) -> jax.Array:
    """Cross entropy over ten classes."""
    return cross_entropy(perceiver(parameters, inputs), labels)


def perceiver_parameters(a: Arrays) -> Tree:
    """32 latents of 64."""
    block = {"qkv": (64, 192), "up": (64, 256), "down": (256, 64)}
    shapes = {
        "latents": (32, 64),
        "inputs": (32, 128),
        "query": (64, 64),
        "blocks": [block, block],
        "classes": (64, 10),
    }
    return a.like(shapes, 0.1)


def messages(parameters: Tree, nodes: jax.Array, ends: jax.Array) -> jax.Array:
    """Three rounds of sums over the neighbours in a graph."""
    for own, others in parameters:
        sums = jax.ops.segment_sum(nodes[ends[0]], ends[1], nodes.shape[0])
        nodes = jax.nn.relu(nodes @ own + sums @ others)
    return nodes


def quantised(x: jax.Array, weight: jax.Array, scale: jax.Array) -> jax.Array:
    """A dense layer of bytes: rounded, multiplied in integers, scaled back."""
    step = jnp.abs(x).max(-1, keepdims=True) / 127
    narrow = jnp.round(x / step).astype(jnp.int8)
    sums = lax.dot(narrow, weight, preferred_element_type=jnp.int32)
    return sums.astype(jnp.float32) * step * scale


def rotated(x: jax.Array) -> jax.Array:
    """Rotary positions: pairs of a head's elements turn with their place."""
    length, half = x.shape[1], x.shape[-1] // 2
    angles = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None].astype(x.dtype), jnp.sin(angles)[:, None].astype(x.dtype)
    low, high = x[..., :half], x[..., half:]
    return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1)


WORKLOADS = [
    Workload(
        "gru step 50x16x64 f32",
        descend(gru_loss),
        lambda a: (gru_layers(a), a.normal(50, 16, 32), a.normal(16, 64)),
    ),
    Workload("gru 200x1x64 f32", two_layers, lambda a: (gru_layers(a), a.normal(200, 1, 32))),
    Workload(
        "u-net block 4x32x32x4 f32", u_net, lambda a: (a.like(U_NET, 0.1), a.normal(4, 32, 32, 4))
    ),
    Workload(
        "diffusion step 4x32x32x4 f32",
        descend(denoising),
        lambda a: (
            a.like(U_NET, 0.1),
            a.normal(4, 32, 32, 4),
            a.normal(4, 32, 32, 4),
            abs(a.normal(4, scale=0.3)),
        ),
    ),
    Workload(
        "diffusion samples 2x32x32x4 f32",
        sampled,
        lambda a: (a.like(U_NET, 0.05), a.normal(2, 32, 32, 4)),
    ),
    Workload(
        "mixture of experts 512x64 f32",
        experts,
        lambda a: (a.like(EXPERTS, 0.1), a.normal(512, 64)),
        quick=True,
    ),
    Workload(
        "mixture of experts step 512x64 f32",
        descend(experts_loss),
        lambda a: (a.like(EXPERTS, 0.1), a.normal(512, 64)),
    ),
    Workload(
        "perceiver step 8x512x32 f32",
        descend(perceiver_loss),
        lambda a: (perceiver_parameters(a), a.normal(8, 512, 32), a.integers(10, 8)),
    ),
    Workload(
        "graph network 2048x32 f32",
        messages,
        lambda a: (
            [a.like([(32, 32), (32, 32)], 0.2) for _ in range(3)],
            a.normal(2048, 32),
            a.integers(2048, 2, 16384),
        ),
    ),
    Workload(
        "quantised layer 256x512x512 s8",
        quantised,
        lambda a: (
            a.normal(256, 512),
            a.integers(127, 512, 512, dtype="int8"),
            abs(a.normal(512)),
        ),
    ),
    Workload("rotary positions 4x256x8x64 f32", rotated, lambda a: (a.normal(4, 256, 8, 64),)),
    Workload("rotary positions 4x256x8x64 bf16", rotated, lambda a: (a.bf16(4, 256, 8, 64),)),
    Workload(
        "cross entropy 1024x1000 f32",
        cross_entropy,
        lambda a: (a.normal(1024, 1000), a.integers(1000, 1024)),
    ),
    Workload(
        "gradient of cross entropy 1024x1000 f32",
        jax.grad(cross_entropy),
        lambda a: (a.normal(1024, 1000), a.integers(1000, 1024)),
    ),
]
