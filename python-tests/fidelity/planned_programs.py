"""Programs whose memory is planned twice: what a user would compile, by name."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Spec = jax.ShapeDtypeStruct
Place = Callable[[int, int, Any], NamedSharding]
"""How an array is cut: by its number, how many there are, and its shape."""
F32, BF16 = jnp.float32, jnp.bfloat16
M = 1 << 20
VOCABULARY = 32_000


@dataclasses.dataclass(frozen=True)
class Program:
    """What is compiled: arguments are described, and nothing is computed."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    donated: tuple[int, ...] = ()
    shardings: Callable[[Mesh], Place] | None = None
    """How its arrays lie on eight devices; without it, it runs on one."""


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """What a function makes of the leaves of trees of one shape."""
    return jax.tree_util.tree_map(function, *trees)


def _descend(parameters: Any, gradients: Any) -> Any:
    return mapped(lambda p, g: p - (1e-3 * g).astype(p.dtype), parameters, gradients)


def _normalized(x: jax.Array, scale: jax.Array) -> jax.Array:
    wide = x.astype(F32)
    mean = wide.mean(-1, keepdims=True)
    variance = ((wide - mean) ** 2).mean(-1, keepdims=True)
    return ((wide - mean) * lax.rsqrt(variance + 1e-6)).astype(x.dtype) * scale.astype(x.dtype)


def _block(x: jax.Array, weights: dict[str, jax.Array], heads: int) -> jax.Array:
    batch, length, width = x.shape
    cast = {name: one.astype(x.dtype) for name, one in weights.items()}
    h = _normalized(x, cast["scale1"])

    def split(y: jax.Array) -> jax.Array:
        return y.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    q, k, v = (split(h @ cast[name]) for name in ("q", "k", "v"))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k).astype(F32) / (width // heads) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    attention = jax.nn.softmax(scores, -1).astype(x.dtype)
    out = jnp.einsum("bhqk,bhkd->bhqd", attention, v).transpose(0, 2, 1, 3)
    x += out.reshape(batch, length, width) @ cast["o"]
    h = _normalized(x, cast["scale2"])
    return x + jax.nn.gelu(h @ cast["up"]) @ cast["down"]


def _weights(width: int, *stack: int) -> dict[str, Spec]:
    square = {name: Spec((*stack, width, width), F32) for name in "qkvo"}
    scales = {name: Spec((*stack, width), F32) for name in ("scale1", "scale2")}
    up, down = Spec((*stack, width, 4 * width), F32), Spec((*stack, 4 * width, width), F32)
    return {**square, **scales, "up": up, "down": down}


def transformer(  # noqa: PLR0913, PLR0917 (its sizes)
    layers: int,
    width: int,
    batch: int,
    length: int,
    dtype: Any,
    how: str = "",
    shardings: Callable[[Mesh], Place] | None = None,
) -> Program:
    """A step of training, or with `forward` the logits; `remat`, `scan` and `adam` as they say."""
    words = how.split()
    scans = "scan" in words
    blocks: Any = _weights(width, layers) if scans else [_weights(width) for _ in range(layers)]
    parameters: dict[str, Any] = {"embedding": Spec((VOCABULARY, width), F32), "blocks": blocks}
    parameters["scale"] = Spec((width,), F32)
    tokens = Spec((batch, length + 1), jnp.int32)
    block: Callable[..., Any] = functools.partial(_block, heads=width // 64)
    if "remat" in words:
        block = jax.checkpoint(block)

    def logits(p: Any, ids: jax.Array) -> jax.Array:
        x = p["embedding"].astype(dtype)[ids]
        if scans:
            x, _ = lax.scan(lambda x, w: (block(x, w), None), x, p["blocks"])
        else:
            for weights in p["blocks"]:
                x = block(x, weights)
        x = _normalized(x, p["scale"])
        return (x @ p["embedding"].astype(dtype).T).astype(F32)

    def loss(p: Any, ids: jax.Array) -> jax.Array:
        logs = jax.nn.log_softmax(logits(p, ids[:, :-1]))
        return -jnp.take_along_axis(logs, ids[:, 1:, None], -1).mean()

    def step(p: Any, ids: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(p, ids)
        return _descend(p, gradients), value

    def adam(p: Any, m: Any, v: Any, ids: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(p, ids)
        m = mapped(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
        v = mapped(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
        change = mapped(lambda m, v: 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v)
        return mapped(lambda p, c: p - c, p, change), m, v, value

    if "forward" in words:
        return Program(lambda p, ids: logits(p, ids[:, :-1]), (parameters, tokens), (), shardings)
    if "adam" in words:
        return Program(adam, (parameters, parameters, parameters, tokens), (0, 1, 2), shardings)
    return Program(step, (parameters, tokens), (0,), shardings)


def mlp(
    width: int,
    batch: int,
    dtype: Any,
    layers: int = 2,
    shardings: Callable[[Mesh], Place] | None = None,
) -> Program:
    """A step of training."""

    def loss(weights: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        for index, one in enumerate(weights):
            x = x @ one if index == 0 else jax.nn.relu(x) @ one
        return ((x - y).astype(F32) ** 2).mean()

    def step(weights: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        return _descend(weights, gradients), value

    weights = [Spec((width, width), dtype) for _ in range(layers)]
    data = Spec((batch, width), dtype)
    return Program(step, (weights, data, data), (0,), shardings)


def conv(layers: int, channels: int, dtype: Any, batch: int = 32, side: int = 64) -> Program:
    """A step of training of convolutions with windows of three by three."""
    numbers = ("NHWC", "HWIO", "NHWC")

    def loss(weights: Any, x: jax.Array) -> jax.Array:
        for one in weights:
            x = lax.conv_general_dilated(x, one, (1, 1), "SAME", dimension_numbers=numbers)
            x = jax.nn.relu(x)
        return (x.astype(F32) ** 2).mean()

    def step(weights: Any, x: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return _descend(weights, gradients), value

    weights = [Spec((3, 3, channels, channels), dtype) for _ in range(layers)]
    return Program(step, (weights, Spec((batch, side, side, channels), dtype)), (0,))


def decode(layers: int, width: int, dtype: Any, length: int = 2048, batch: int = 8) -> Program:
    """One token with a cache of keys and values, which is donated."""
    heads = width // 128
    names = {"q": (width, width), "k": (width, width), "v": (width, width), "o": (width, width)}
    names |= {"up": (width, 4 * width), "down": (4 * width, width)}
    weights = [{name: Spec(dims, dtype) for name, dims in names.items()} for _ in range(layers)]
    pair = Spec((batch, length, heads, 128), dtype)

    def step(weights: Any, cache: Any, x: jax.Array, place: jax.Array) -> Any:
        after = []
        for w, before in zip(weights, cache, strict=True):
            q = (x @ w["q"]).reshape(batch, heads, 128)
            new = [(x @ w[name]).reshape(batch, 1, heads, 128) for name in "kv"]
            keys, values = (
                lax.dynamic_update_slice(old, one, (0, place, 0, 0))
                for old, one in zip(before, new, strict=True)
            )
            scores = jnp.einsum("bhd,blhd->bhl", q, keys).astype(F32) / 128**0.5
            scores = jnp.where(jnp.arange(length) <= place, scores, -1e30)
            attention = jax.nn.softmax(scores, -1).astype(x.dtype)
            out = jnp.einsum("bhl,blhd->bhd", attention, values).reshape(batch, width)
            x += out @ w["o"]
            x += jax.nn.gelu(x @ w["up"]) @ w["down"]
            after.append((keys, values))
        return x, after

    cache = [(pair, pair) for _ in range(layers)]
    return Program(step, (weights, cache, Spec((batch, width), dtype), Spec((), jnp.int32)), (1,))


def _plain(function: Callable[..., Any], *arguments: Spec) -> Program:
    return Program(function, arguments)


def _chain(x: jax.Array) -> jax.Array:
    for index in range(64):
        x += index
    return x


def _data_parallel(count: int) -> Callable[[Mesh], Place]:
    """Parameters on all devices, the last `count` arguments cut along their first axis."""

    def shardings(mesh: Mesh) -> Place:
        whole = NamedSharding(mesh, PartitionSpec())
        cut = NamedSharding(mesh, PartitionSpec("devices"))
        return lambda index, of, _spec: cut if index >= of - count else whole

    return shardings


def _fully_sharded(mesh: Mesh) -> Place:
    """Every array cut along its first axis that eight divides."""

    def sharding(_index: int, _of: int, spec: Spec) -> NamedSharding:
        axes = [axis for axis, extent in enumerate(spec.shape) if extent % 8 == 0]
        cut = ["devices" if axes[:1] == [axis] else None for axis in range(len(spec.shape))]
        return NamedSharding(mesh, PartitionSpec(*cut))

    return sharding


def _narrow(x: jax.Array) -> jax.Array:
    return x.reshape(-1, 2).sum(0)


def _top(x: jax.Array) -> Any:
    return lax.top_k(x, 64)


def _normal(key: jax.Array) -> jax.Array:
    return jax.random.normal(jax.random.wrap_key_data(key), (64 * M,))


def _cross_entropy(x: jax.Array, labels: jax.Array) -> jax.Array:
    logs = jax.nn.log_softmax(x.astype(F32))
    return -jnp.take_along_axis(logs, labels[:, None], -1).mean()


_logits = Spec((8192, VOCABULARY), F32)
_logits16 = Spec((8192, VOCABULARY), BF16)
_labels = Spec((8192,), jnp.int32)

MODELS: dict[str, Callable[[], Program]] = {
    "transformer 4x1024 f32": lambda: transformer(4, 1024, 8, 1024, F32),
    "transformer 4x1024 bf16": lambda: transformer(4, 1024, 8, 1024, BF16),
    "transformer 4x1024 bf16 remat": lambda: transformer(4, 1024, 8, 1024, BF16, "remat"),
    "transformer 8x512 bf16 scan": lambda: transformer(8, 512, 16, 512, BF16, "scan"),
    "transformer 8x512 bf16 scan remat": lambda: transformer(8, 512, 16, 512, BF16, "scan remat"),
    "transformer 4x512 bf16 adam": lambda: transformer(4, 512, 8, 512, BF16, "adam"),
    "transformer 4x1024 bf16 forward": lambda: transformer(4, 1024, 8, 1024, BF16, "forward"),
    "transformer 2x512 f32": lambda: transformer(2, 512, 8, 512, F32),
    "transformer 2x512 f32 scan": lambda: transformer(2, 512, 8, 512, F32, "scan"),
    "transformer 6x768 bf16 adam remat": lambda: transformer(6, 768, 8, 512, BF16, "adam remat"),
    "transformer 6x768 f32 forward": lambda: transformer(6, 768, 8, 512, F32, "forward"),
    "transformer 2x512 bf16, data over 8": lambda: transformer(
        2, 512, 32, 512, BF16, "", _data_parallel(1)
    ),
    "transformer 4x512 f32 adam, sharded over 8": lambda: transformer(
        4, 512, 16, 512, F32, "adam", _fully_sharded
    ),
    "mlp 4096 f32": lambda: mlp(4096, 8192, F32),
    "mlp 4096 bf16": lambda: mlp(4096, 8192, BF16),
    "mlp 6x2048 f32": lambda: mlp(2048, 4096, F32, 6),
    "mlp 6x2048 bf16": lambda: mlp(2048, 4096, BF16, 6),
    "mlp 2048 f32, data over 8": lambda: mlp(2048, 16384, F32, 3, _data_parallel(2)),
    "mlp 4096 bf16, sharded over 8": lambda: mlp(4096, 8192, BF16, 3, _fully_sharded),
    "conv 8x128 f32": lambda: conv(8, 128, F32),
    "conv 8x128 bf16": lambda: conv(8, 128, BF16),
    "conv 4x64 f32": lambda: conv(4, 64, F32, 16, 96),
    "conv 4x256 bf16": lambda: conv(4, 256, BF16, 16, 32),
    "decode 16x2048 bf16": lambda: decode(16, 2048, BF16),
    "decode 8x1024 f32": lambda: decode(8, 1024, F32),
    "decode 4x2048 bf16 of 8192": lambda: decode(4, 2048, BF16, 8192, 4),
}

PIECES: dict[str, Callable[[], Program]] = {
    "chain of 64 adds 64M": lambda: _plain(_chain, Spec((64 * M,), F32)),
    "softmax 8192x32000": lambda: _plain(lambda x: jax.nn.softmax(x, -1), _logits),
    "gradient of logsumexp 8192x32000": lambda: _plain(
        jax.grad(lambda x: jax.nn.logsumexp(x, -1).sum()), _logits
    ),
    "cross entropy 8192x32000 f32": lambda: _plain(
        jax.value_and_grad(_cross_entropy), _logits, _labels
    ),
    "cross entropy 8192x32000 bf16": lambda: _plain(
        jax.value_and_grad(_cross_entropy), _logits16, _labels
    ),
    "matmul chain 4096": lambda: _plain(
        lambda a, b, c: (a @ b) @ c + a, *[Spec((4096, 4096), F32)] * 3
    ),
    "sort 16M": lambda: _plain(jnp.sort, Spec((16 * M,), F32)),
    "argsort 4M": lambda: _plain(jnp.argsort, Spec((4 * M,), F32)),
    "sort 4096x4096": lambda: _plain(lambda x: jnp.sort(x, -1), Spec((4096, 4096), F32)),
    "top 64 of 4096x32000": lambda: _plain(_top, Spec((4096, VOCABULARY), F32)),
    "cumsum 16M": lambda: _plain(jnp.cumsum, Spec((16 * M,), F32)),
    "cumsum 4096x4096": lambda: _plain(lambda x: jnp.cumsum(x, 0), Spec((4096, 4096), F32)),
    "normal 64M": lambda: _plain(_normal, Spec((2,), jnp.uint32)),
    "transpose 8192": lambda: _plain(lambda x: x.T @ x.T + x, Spec((8192, 8192), F32)),
    "transpose of 4 axes": lambda: _plain(
        lambda x: x.transpose(0, 2, 1, 3) * 2, Spec((16, 1024, 16, 64), F32)
    ),
    "gather 1M of 64": lambda: _plain(
        lambda t, i: t[i].sum(), Spec((100_000, 64), F32), Spec((M,), jnp.int32)
    ),
    "gather 1M rows of 128": lambda: _plain(
        lambda t, i: t[i], Spec((100_000, 128), F32), Spec((M,), jnp.int32)
    ),
    "narrow 64Mx2": lambda: _plain(_narrow, Spec((16 * M,), F32)),
    "narrow 4Mx2 turned": lambda: _plain(
        lambda x: x.reshape(-1, 2)[:, ::-1] * 2, Spec((8 * M,), F32)
    ),
    "sum of columns 16384x4096": lambda: _plain(lambda x: x.sum(0), Spec((16384, 4096), F32)),
    "fft 4096x4096": lambda: _plain(lambda x: jnp.fft.fft(x).real, Spec((1024, 4096), F32)),
    "concatenated thirds": lambda: _plain(
        lambda a, b: jnp.concatenate([a, b * 2, a], 0), *[Spec((4096, 4096), F32)] * 2
    ),
}
