"""Bytes and bits: image-like byte work, hashes, tricks with bits."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from workloads.workload import Workload


def grey(image: jax.Array) -> jax.Array:
    """Bytes of three colours to bytes of one, in integers."""
    wide = image.astype(jnp.uint32)
    sums = 77 * wide[..., 0] + 150 * wide[..., 1] + 29 * wide[..., 2]
    return (sums >> 8).astype(jnp.uint8)


def colours(luma: jax.Array, chroma: jax.Array) -> jax.Array:
    """YCbCr as decoders have it, half the chroma each way, to RGB bytes."""
    full = jnp.repeat(jnp.repeat(chroma, 2, 0), 2, 1).astype(jnp.float32) - 128
    y, blue, red = luma.astype(jnp.float32), full[..., 0], full[..., 1]
    rgb = [y + 1.402 * red, y - 0.344136 * blue - 0.714136 * red, y + 1.772 * blue]
    return jnp.clip(jnp.round(jnp.stack(rgb, -1)), 0, 255).astype(jnp.uint8)


def blended(a: jax.Array, b: jax.Array, weight: jax.Array) -> jax.Array:
    """Two images of bytes, mixed by a mask of bytes in 16 bits."""
    w = weight.astype(jnp.uint16)
    mixed = a.astype(jnp.uint16) * w + b.astype(jnp.uint16) * (255 - w) + 128
    return (mixed >> 8).astype(jnp.uint8)


def saturated(a: jax.Array, b: jax.Array) -> jax.Array:
    """A sum of bytes that stops at the largest."""
    return jnp.where(a > 255 - b, 255, a + b).astype(jnp.uint8)


def looked_up(image: jax.Array, table: jax.Array) -> jax.Array:
    """Each byte through a table."""
    return table[image]


def histogram(image: jax.Array) -> jax.Array:
    """How often each byte occurs."""
    return jnp.zeros(256, jnp.int32).at[image.reshape(-1)].add(1)


def blocks(coefficients: jax.Array, weights: jax.Array, basis: jax.Array) -> jax.Array:
    """Blocks of 8 by 8 through an inverse cosine transform, to bytes of an image."""
    scaled = coefficients.astype(jnp.float32) * weights
    turned = jnp.einsum("ux,hwuv,vy->hxwy", basis, scaled, basis)
    height, _, width, _ = turned.shape
    return jnp.clip(turned + 128, 0, 255).astype(jnp.uint8).reshape(8 * height, 8 * width)


def murmur(keys: jax.Array) -> jax.Array:
    """The last rounds of a hash of 32 bits."""
    keys = (keys ^ (keys >> 16)) * jnp.uint32(0x85EBCA6B)
    keys = (keys ^ (keys >> 13)) * jnp.uint32(0xC2B2AE35)
    return keys ^ (keys >> 16)


def fnv(text: jax.Array) -> jax.Array:
    """A hash of each row, byte by byte."""
    step = lambda h, byte: ((h ^ byte) * jnp.uint32(16777619), None)  # noqa: E731
    start = jnp.full(text.shape[0], 2166136261, jnp.uint32)
    return lax.scan(step, start, text.T.astype(jnp.uint32))[0]


def crc(text: jax.Array, table: jax.Array) -> jax.Array:
    """A check sum by a table, one number after the other."""
    step = lambda i, c: table[(c ^ text[i]) & 255] ^ (c >> 8)  # noqa: E731
    return lax.fori_loop(0, text.size, step, jnp.uint32(0xFFFFFFFF))


def bits(x: jax.Array) -> jax.Array:
    """Ones counted, zeros counted, the lowest bit."""
    return lax.population_count(x) + lax.clz(x) + (x & (~x + 1))


def reversed_bits(x: jax.Array) -> jax.Array:
    """The bits of each number in the other order."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        x = ((x >> shift) & jnp.uint32(mask)) | ((x & jnp.uint32(mask)) << shift)
    return (x >> 16) | (x << 16)


def morton(x: jax.Array, y: jax.Array) -> jax.Array:
    """Two numbers of 16 bits interleaved."""

    def spread(v: jax.Array) -> jax.Array:
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            v = (v | (v << shift)) & jnp.uint32(mask)
        return v

    return spread(x) | (spread(y) << 1)


def packed(flags: jax.Array) -> jax.Array:
    """Eight flags a byte."""
    return jnp.packbits(flags)


def unpacked(x: jax.Array) -> jax.Array:
    """Bytes of two numbers of four bits each, as floats."""
    low, high = (x & 15).astype(jnp.int8) - 8, (x >> 4).astype(jnp.int8) - 8
    return jnp.stack([low, high], -1).reshape(x.shape[0], -1).astype(jnp.float32) * 0.1


def quantised(x: jax.Array) -> jax.Array:
    """Floats to signed bytes and back."""
    return jnp.clip(jnp.round(x * 16), -128, 127).astype(jnp.int8).astype(jnp.float32) / 16


def filtered(image: jax.Array) -> jax.Array:
    """The median of three neighbours in rows and then in columns."""

    def median(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
        return jnp.maximum(jnp.minimum(a, b), jnp.minimum(jnp.maximum(a, b), c))

    rows = median(image[:, :-2], image[:, 1:-1], image[:, 2:])
    return median(rows[:-2], rows[1:-1], rows[2:])


def divided(x: jax.Array, y: jax.Array) -> jax.Array:
    """Quotients and remainders as Python has them."""
    return x // y + x % y


TABLE = np.arange(256, dtype=np.uint32) * np.uint32(2654435761)
IMAGE = (8, 224, 224)

WORKLOADS = [
    Workload("grey 8x224x224x3 u8", grey, lambda a: (a.integers(256, *IMAGE, 3, dtype=np.uint8),)),
    Workload(
        "colours 512x512 u8",
        colours,
        lambda a: (
            a.integers(256, 512, 512, dtype=np.uint8),
            a.integers(256, 256, 256, 2, dtype=np.uint8),
        ),
    ),
    Workload(
        "blend 1M u8",
        blended,
        lambda a: tuple(a.integers(256, 1 << 20, dtype=np.uint8) for _ in range(3)),
    ),
    Workload(
        "saturated sum 1M u8",
        saturated,
        lambda a: tuple(a.integers(256, 1 << 20, dtype=np.uint8) for _ in range(2)),
    ),
    Workload(
        "table of bytes 1M u8",
        looked_up,
        lambda a: (
            a.integers(256, 1 << 20, dtype=np.uint8),
            a.integers(256, 256, dtype=np.uint8),
        ),
    ),
    Workload("histogram 1M u8", histogram, lambda a: (a.integers(256, 1 << 20, dtype=np.uint8),)),
    Workload(
        "sum 1M u8",
        lambda x: x.astype(jnp.int32).sum(),
        lambda a: (a.integers(256, 1 << 20, dtype=np.uint8),),
    ),
    Workload(
        "blocks of 8x8 64x64 s16",
        blocks,
        lambda a: (a.integers(64, 64, 64, 8, 8, dtype=np.int16), a.normal(8, 8), a.normal(8, 8)),
    ),
    Workload("murmur 1M u32", murmur, lambda a: (a.integers(1 << 31, 1 << 20).astype(np.uint32),)),
    Workload("fnv 4096x64 u8", fnv, lambda a: (a.integers(256, 4096, 64, dtype=np.uint8),)),
    Workload("crc 10000 u8", crc, lambda a: (a.integers(256, 10_000, dtype=np.uint8), TABLE)),
    Workload("bits 1M u32", bits, lambda a: (a.integers(1 << 31, 1 << 20).astype(np.uint32),)),
    Workload(
        "reversed bits 1M u32",
        reversed_bits,
        lambda a: (a.integers(1 << 31, 1 << 20).astype(np.uint32),),
    ),
    Workload(
        "morton 1M u32",
        morton,
        lambda a: tuple(a.integers(1 << 16, 1 << 20).astype(np.uint32) for _ in range(2)),
    ),
    Workload("pack bits 1M", packed, lambda a: (a.integers(2, 1 << 20).astype(bool),)),
    Workload(
        "unpack nibbles 1024x512 u8",
        unpacked,
        lambda a: (a.integers(256, 1024, 512, dtype=np.uint8),),
    ),
    Workload("round to bytes 1M f32", quantised, lambda a: (a.normal(1 << 20, scale=4),)),
    Workload(
        "median of neighbours 1024x1024 u8",
        filtered,
        lambda a: (a.integers(256, 1024, 1024, dtype=np.uint8),),
    ),
    Workload(
        "division 1M s32",
        divided,
        lambda a: (a.integers(1 << 30, 1 << 20), a.integers(1000, 1 << 20) + 1),
    ),
    Workload(
        "add 1M s8",
        lambda x, y: x + y * 3,
        lambda a: (
            a.integers(127, 1 << 20, dtype=np.int8),
            a.integers(127, 1 << 20, dtype=np.int8),
        ),
    ),
    Workload(
        "max of rows 1024x1024 u8",
        lambda x: x.max(-1),
        lambda a: (a.integers(256, 1024, 1024, dtype=np.uint8),),
    ),
]
