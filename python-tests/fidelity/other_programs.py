"""Programs that the planner was not made with, to see where its plan is far from libtpu's."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from planned_programs import BF16, F32, M, Program, Spec

Loss = Callable[..., jax.Array]
Tree = Any
S8, S32, U32 = jnp.int8, jnp.int32, jnp.uint32


def _plain(function: Callable[..., Any], *arguments: Any) -> Program:
    return Program(function, arguments)


def trained(loss: Loss, parameters: Tree, *data: Any) -> Program:
    """A step of gradient descent whose parameters are given up for the new ones."""

    def step(parameters: Tree, *data: Any) -> tuple[Tree, jax.Array]:
        value, slopes = jax.value_and_grad(loss)(parameters, *data)
        new = jax.tree_util.tree_map(
            lambda p, s: (p - 1e-3 * s).astype(p.dtype), parameters, slopes
        )
        return new, value

    return Program(step, (parameters, *data), (0,))


def _trained_by_adam(loss: Loss, parameters: Tree, *data: Any) -> Program:
    def step(state: tuple[Tree, Tree, Tree], *data: Any) -> tuple[Tree, Tree, Tree]:
        parameters, mean, square = state
        slopes = jax.grad(loss)(parameters, *data)
        mapped = jax.tree_util.tree_map
        mean = mapped(lambda m, s: 0.9 * m + 0.1 * s, mean, slopes)
        square = mapped(lambda v, s: 0.99 * v + 0.01 * s * s, square, slopes)
        new = mapped(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), parameters, mean, square)
        return new, mean, square

    return Program(step, ((parameters,) * 3, *data), (0,))


def _mean_square(x: jax.Array) -> jax.Array:
    return (x.astype(F32) ** 2).mean()


def _feed_forward(
    function: Callable[[jax.Array], jax.Array],
    dtype: Any = F32,
    sizes: tuple[int, int, int] = (16384, 1024, 4),
    train: Callable[..., Program] = trained,
) -> Program:
    """Layers of `function`, with residuals; the sizes are batch, width and depth."""
    batch, width, depth = sizes

    def loss(layers: Tree, x: jax.Array) -> jax.Array:
        for up, down in layers:
            x = x + function(x @ up) @ down
        return _mean_square(x)

    layer = (Spec((width, 4 * width), dtype), Spec((4 * width, width), dtype))
    return train(loss, [layer] * depth, Spec((batch, width), dtype))


def _gated(dtype: Any) -> Program:
    def loss(layers: Tree, x: jax.Array) -> jax.Array:
        for gate, up, down in layers:
            scale = lax.rsqrt((x.astype(F32) ** 2).mean(-1, keepdims=True) + 1e-6)
            h = x * scale.astype(x.dtype)
            x = x + (jax.nn.silu(h @ gate) * (h @ up)) @ down
        return _mean_square(x)

    into, out = Spec((1024, 2816), dtype), Spec((2816, 1024), dtype)
    return trained(loss, [(into, into, out)] * 4, Spec((16384, 1024), dtype))


def _turned(x: jax.Array, cosine: jax.Array, sine: jax.Array) -> jax.Array:
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)


def _rotary(
    dtype: Any, sizes: tuple[int, int, int, int] = (8, 1024, 1024, 2), keys: int = 16
) -> Program:
    """Attention whose queries and keys are turned by their places, 16 heads of `keys` keys.

    The sizes are batch, length, width and depth.
    """
    batch, length, width, depth = sizes
    heads, each = 16, width // 16

    def loss(layers: Tree, x: jax.Array) -> jax.Array:
        places = jnp.arange(length)[:, None]
        angles = places / (10000 ** (jnp.arange(each // 2) / (each // 2)))
        cosine = jnp.cos(angles).astype(dtype)[None, :, None]
        sine = jnp.sin(angles).astype(dtype)[None, :, None]
        for q, k, v, o, up, down in layers:
            query = _turned((x @ q).reshape(batch, length, heads, each), cosine, sine)
            key = (x @ k).reshape(batch, length, keys, each)
            key = _turned(jnp.repeat(key, heads // keys, 2), cosine, sine)
            value = jnp.repeat((x @ v).reshape(batch, length, keys, each), heads // keys, 2)
            scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(each).astype(dtype)
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
            weights = jax.nn.softmax(scores.astype(F32), -1).astype(dtype)
            x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, value).reshape(x.shape) @ o
            x = x + jax.nn.gelu(x @ up) @ down
        return _mean_square(x)

    square, thin = Spec((width, width), dtype), Spec((width, keys * each), dtype)
    wide = (Spec((width, 4 * width), dtype), Spec((4 * width, width), dtype))
    layers = [(square, thin, thin, square, *wide)] * depth
    return trained(loss, layers, Spec((batch, length, width), dtype))


def _convolved(x: jax.Array, w: jax.Array, stride: int = 1) -> jax.Array:
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=numbers)


def _normalized(x: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
    mean = x.mean((0, 1, 2))
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean((0, 1, 2)) + 1e-5) * scale + shift


def _residual(dtype: Any) -> Program:
    def loss(blocks: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        for w, scale, shift, v, scale2, shift2 in blocks:
            h = jax.nn.relu(_normalized(_convolved(x, w), scale, shift))
            x = jax.nn.relu(x + _normalized(_convolved(h, v), scale2, shift2))
        return ((x.mean((1, 2)).sum(-1) - y) ** 2).mean()

    one = (Spec((3, 3, 128, 128), dtype), Spec((128,), dtype), Spec((128,), dtype))
    images = Spec((64, 56, 56, 128), dtype)
    return trained(loss, [(*one, *one)] * 4, images, Spec((64,), dtype))


def _u_net(dtype: Any) -> Program:
    def loss(weights: Tree, x: jax.Array) -> jax.Array:
        w1, w2, w3, w4, w5 = weights
        a = jax.nn.silu(_convolved(x, w1))
        c = jax.nn.silu(_convolved(jax.nn.silu(_convolved(a, w2, 2)), w3))
        up = jax.image.resize(c, (*a.shape[:3], c.shape[3]), "nearest")
        out = jax.nn.silu(_convolved(jnp.concatenate([up, a], -1), w4))
        return _mean_square(_convolved(out, w5) - x)

    features = [(4, 64), (64, 128), (128, 128), (192, 64), (64, 4)]
    weights = [Spec((3, 3, a, b), dtype) for a, b in features]
    return trained(loss, weights, Spec((32, 128, 128, 4), dtype))


def _recurrent(gates: int) -> Program:
    """A GRU of three gates or an LSTM of four, 512 wide, over 256 steps."""
    width, batch, steps = 512, 256, 256

    def gru(h: jax.Array, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        (ar, az, an), (br, bz, bn) = jnp.split(a, 3, -1), jnp.split(b, 3, -1)
        z = jax.nn.sigmoid(az + bz)
        new = (1 - z) * jnp.tanh(an + jax.nn.sigmoid(ar + br) * bn) + z * h
        return new, new

    def lstm(memory: jax.Array, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        i, f, g, o = jnp.split(a + b, 4, -1)
        memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
        return memory, jax.nn.sigmoid(o) * jnp.tanh(memory)

    cell = gru if gates == 3 else lstm

    def loss(weights: Tree, x: jax.Array) -> jax.Array:
        into, again = weights

        def step(carried: Tree, given: jax.Array) -> tuple[Tree, jax.Array]:
            memory, h = carried
            memory, h = cell(memory, given @ into, h @ again)
            return (memory, h), h

        zeros = jnp.zeros((batch, width), F32)
        return _mean_square(lax.scan(step, (zeros, zeros), x)[1])

    weights = (Spec((width, gates * width), F32),) * 2
    return trained(loss, weights, Spec((steps, batch, width), F32))


def _contrastive(weights: Tree, a: jax.Array, b: jax.Array) -> jax.Array:
    x, y = a @ weights[0], b @ weights[1]
    x /= jnp.linalg.norm(x, axis=-1, keepdims=True)
    y /= jnp.linalg.norm(y, axis=-1, keepdims=True)
    logits = x @ y.T * 10.0
    own = jnp.arange(logits.shape[0])
    return -(jax.nn.log_softmax(logits)[own, own] + jax.nn.log_softmax(logits.T)[own, own]).mean()


def _laplacian(weights: Tree, points: jax.Array) -> jax.Array:
    def net(x: jax.Array) -> jax.Array:
        for w in weights[:-1]:
            x = jnp.tanh(x @ w)
        return (x @ weights[-1])[0]

    return (jax.vmap(lambda x: jnp.trace(jax.hessian(net)(x)))(points) ** 2).mean()


def _experts(weights: Tree, x: jax.Array) -> jax.Array:
    router, up, down = weights
    best, which = lax.top_k(jax.nn.softmax((x @ router).astype(F32)), 2)
    gates = (jax.nn.one_hot(which, router.shape[1]) * best[..., None]).sum(1).astype(x.dtype)
    h = jax.nn.gelu(jnp.einsum("nd,edf->enf", x, up))
    return _mean_square(jnp.einsum("enf,efd,ne->nd", h, down, gates))


def _recommended(weights: Tree, rows: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    tables, first, second, last = weights
    taken = [table[rows[:, number]] for number, table in enumerate(tables)]
    z = jnp.stack([*taken, jax.nn.relu(x @ first)], 1)
    pairs = jnp.einsum("bic,bjc->bij", z, z).reshape(z.shape[0], -1)
    return ((jax.nn.relu(pairs @ second) @ last - y) ** 2).mean()


def _autoencoder(weights: Tree, noise: jax.Array, x: jax.Array) -> jax.Array:
    into, mean, spread, out, last = weights
    h = jax.nn.relu(x @ into)
    m, v = h @ mean, h @ spread
    seen = jax.nn.relu((m + jnp.exp(0.5 * v) * noise) @ out) @ last
    return ((seen - x) ** 2).mean() + (jnp.exp(v) + m * m - v).mean()


def _normal_layers(layers: Tree, x: jax.Array) -> jax.Array:
    for w, scale, shift in layers:
        h = x @ w
        mean = h.mean(-1, keepdims=True)
        variance = ((h - mean) ** 2).mean(-1, keepdims=True)
        x = jax.nn.relu((h - mean) * lax.rsqrt(variance + 1e-5) * scale + shift)
    return _mean_square(x)


def _bagged(weights: Tree, rows: jax.Array, y: jax.Array) -> jax.Array:
    return ((weights[0][rows].mean(1) @ weights[1] - y) ** 2).mean()


def _dropped(weights: Tree, key: jax.Array, x: jax.Array) -> jax.Array:
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, (x.shape[0], 4096))
    return _mean_square(jnp.where(keep, jax.nn.relu(x @ weights[0]), 0) @ weights[1])


def _patches(weight: jax.Array, x: jax.Array) -> jax.Array:
    pieces = x.reshape(64, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5)
    return _mean_square(pieces.reshape(64, 196, 768) @ weight)


def _waves(layers: Tree, x: jax.Array) -> jax.Array:
    for w in layers:
        x = jnp.sin(x @ w)
        x = jnp.exp(-x * x) * x + 1
    return (x * x).sum()


def _spec(*dims: int, dtype: Any = F32) -> Spec:
    return Spec(dims, dtype)


OTHER_MODELS: dict[str, Callable[[], Program]] = {
    "feed-forward 4x1024 f32 gelu": lambda: _feed_forward(jax.nn.gelu),
    "feed-forward 4x1024 f32 softplus": lambda: _feed_forward(jax.nn.softplus),
    "feed-forward 4x1024 f32 leaky relu": lambda: _feed_forward(jax.nn.leaky_relu),
    "feed-forward 4x1024 bf16 silu": lambda: _feed_forward(jax.nn.silu, BF16, (32768, 1024, 4)),
    "feed-forward 4x1024 bf16 relu": lambda: _feed_forward(jax.nn.relu, BF16, (32768, 1024, 4)),
    "feed-forward 6x2048 f32 adam": lambda: _feed_forward(
        jax.nn.gelu, F32, (4096, 2048, 6), _trained_by_adam
    ),
    "gated 4x1024 f32": lambda: _gated(F32),
    "gated 4x1024 bf16": lambda: _gated(BF16),
    "layer norm 6x1024 f32": lambda: trained(
        _normal_layers, [(_spec(1024, 1024), _spec(1024), _spec(1024))] * 6, _spec(32768, 1024)
    ),
    "waves 8x1024 f32": lambda: trained(_waves, [_spec(1024, 1024)] * 8, _spec(65536, 1024)),
    "residual 4x128 f32": lambda: _residual(F32),
    "residual 4x128 bf16": lambda: _residual(BF16),
    "u-net f32": lambda: _u_net(F32),
    "u-net bf16": lambda: _u_net(BF16),
    "rotary 2x1024 f32": lambda: _rotary(F32),
    "rotary 2x1024 bf16": lambda: _rotary(BF16),
    "rotary 2x1024 bf16, keys of 4 heads": lambda: _rotary(BF16, keys=4),
    "rotary 1x2048 of 2048 bf16": lambda: _rotary(BF16, (4, 2048, 2048, 1)),
    "gru 512 of 256": lambda: _recurrent(3),
    "lstm 512 of 256": lambda: _recurrent(4),
    "contrastive 16384": lambda: trained(
        _contrastive, [_spec(512, 512)] * 2, *[_spec(16384, 512)] * 2
    ),
    "laplacian 4x256": lambda: trained(
        _laplacian,
        [_spec(3, 256), _spec(256, 256), _spec(256, 256), _spec(256, 1)],
        _spec(65536, 3),
    ),
    "experts 8x1024 bf16": lambda: trained(
        _experts,
        (
            _spec(1024, 8, dtype=BF16),
            _spec(8, 1024, 2048, dtype=BF16),
            _spec(8, 2048, 1024, dtype=BF16),
        ),
        _spec(16384, 1024, dtype=BF16),
    ),
    "bag of embeddings": lambda: trained(
        _bagged,
        [_spec(M, 128), _spec(128, 1)],
        _spec(65536, 32, dtype=S32),
        _spec(65536, 1),
    ),
    "recommender of 8 tables": lambda: trained(
        _recommended,
        [[_spec(200_000, 64)] * 8, _spec(16, 64), _spec(81, 512), _spec(512, 1)],
        _spec(65536, 8, dtype=S32),
        _spec(65536, 16),
        _spec(65536, 1),
    ),
    "dropout 1024 f32": lambda: trained(
        _dropped, (_spec(1024, 4096), _spec(4096, 1024)), _spec(2, dtype=U32), _spec(32768, 1024)
    ),
    "autoencoder 3072 f32": lambda: trained(
        _autoencoder,
        (
            _spec(3072, 2048),
            _spec(2048, 256),
            _spec(2048, 256),
            _spec(256, 2048),
            _spec(2048, 3072),
        ),
        _spec(32768, 256),
        _spec(32768, 3072),
    ),
    "patches of images": lambda: trained(_patches, _spec(768, 1024), _spec(64, 224, 224, 3)),
}


def _nearest(x: jax.Array, centres: jax.Array) -> jax.Array:
    apart = (x**2).sum(1)[:, None] - 2 * x @ centres.T + (centres**2).sum(1)
    return jax.ops.segment_sum(x, jnp.argmin(apart, 1), centres.shape[0])


def _composed(a: jax.Array, b: jax.Array) -> jax.Array:
    def combine(p: Tree, q: Tree) -> Tree:
        return p[0] * q[0], q[0] * p[1] + q[1]

    return lax.associative_scan(combine, (a, b), axis=1)[1]


def _heat(u: jax.Array) -> jax.Array:
    def step(_: int, u: jax.Array) -> jax.Array:
        around = [jnp.roll(u, by, axis) for axis in (0, 1) for by in (1, -1)]
        return u + 0.1 * (sum(around) - 4 * u)

    return lax.fori_loop(0, 100, step, u)


def _filtered(x: jax.Array, kernel: jax.Array) -> jax.Array:
    transformed = functools.partial(jnp.fft.rfft, n=16384)
    return jnp.fft.irfft(transformed(x) * transformed(kernel), n=16384)[:, :8192]


OTHER_PIECES: dict[str, Callable[[], Program]] = {
    "k-means 256K of 1024": lambda: _plain(_nearest, _spec(M // 4, 128), _spec(1024, 128)),
    "pairwise distances 16384": lambda: _plain(
        lambda x, y: jnp.argmin(((x[:, None] - y[None]) ** 2).sum(-1), 1), *[_spec(16384, 64)] * 2
    ),
    "gram matrix 4096, solved": lambda: _plain(
        lambda x, y: jnp.linalg.solve(
            jnp.exp(-((x[:, None] - x[None]) ** 2).sum(-1)) + jnp.eye(4096), y
        ),
        _spec(4096, 8),
        _spec(4096, 16),
    ),
    "associative scan": lambda: _plain(_composed, *[_spec(64, 16384, 16)] * 2),
    "convolution by fft": lambda: _plain(_filtered, _spec(2048, 8192), _spec(8192)),
    "median of rows": lambda: _plain(lambda x: jnp.median(x, axis=1), _spec(8192, 4096)),
    "quantiles of columns": lambda: _plain(
        lambda x: jnp.quantile(x, jnp.array([0.1, 0.5, 0.9]), axis=0), _spec(4096, 8192)
    ),
    "unique of 16M": lambda: _plain(
        lambda x: jnp.unique(x, size=1024, return_counts=True), _spec(16 * M, dtype=S32)
    ),
    "histogram of 16M": lambda: _plain(lambda x: jnp.histogram(x, bins=256)[0], _spec(16 * M)),
    "one-hot product": lambda: _plain(
        lambda i, w: jax.nn.one_hot(i, 32000) @ w, _spec(8192, dtype=S32), _spec(32000, 512)
    ),
    "blurred images": lambda: _plain(_convolved, _spec(64, 512, 512, 3), _spec(9, 9, 3, 3)),
    "images twice as large": lambda: _plain(
        lambda x: jax.image.resize(x, (64, 512, 512, 3), "bilinear"), _spec(64, 256, 256, 3)
    ),
    "heat 8192": lambda: Program(_heat, (_spec(8192, 8192),), (0,)),
    "cholesky of 512": lambda: _plain(jnp.linalg.cholesky, _spec(512, 256, 256)),
    "covariance of columns": lambda: _plain(lambda x: jnp.cov(x.T), _spec(M // 4, 256)),
    "packed bits": lambda: _plain(lambda x: jnp.packbits(x > 0, axis=1), _spec(16384, 16384)),
    "product of s8": lambda: _plain(
        lambda x, y: lax.dot(x, y, preferred_element_type=S32), *[_spec(8192, 8192, dtype=S8)] * 2
    ),
    "sums of what is turned": lambda: _plain(
        lambda x: jnp.sin(jnp.swapaxes(x, 1, 2)).reshape(256, -1).sum(1), _spec(256, 512, 512)
    ),
    "pairs, padded": lambda: _plain(
        lambda x, y: jnp.pad(jnp.stack([x, y], -1), ((0, 0), (1, 1), (0, 0))),
        *[_spec(4096, 4096)] * 2,
    ),
    "features to the front": lambda: _plain(
        lambda x: jnp.transpose(x, (0, 3, 1, 4, 2)).reshape(64, 3136, -1) * 2,
        _spec(64, 56, 56, 8, 32),
    ),
    "space to depth": lambda: _plain(
        lambda x: (
            x.reshape(64, 112, 2, 112, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(64, 112, 112, 12)
        ),
        _spec(64, 224, 224, 3),
    ),
}
