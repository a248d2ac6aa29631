"""Measures kernels of Pallas beside the same in `jax.numpy`, and beside Pallas' own interpreters.

    python kernels.py [--calls N] [WORD…]

A process measures one kernel in one way: on the plugin, as arrays on the plugin, and by the two
interpreters of Pallas on the CPU backend. With words, only kernels whose name contains one run.
"""

import argparse
import functools
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from apart import FailedError, apart
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as flash
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_kernel,
    splash_attention_mask,
)

# Ways to run a kernel: on the plugin, as arrays there, and by Pallas' interpreters.
WAYS = ["kernel", "jnp", "interpret", "InterpretParams"]
# Seconds after which a way is given up.
TIMEOUT_S = 120.0

# A kernel and the same with arrays, both compiled, and what they take.
Pair = tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]


def normal(*shape: int, dtype: Any = jnp.float32, seed: int = 0) -> jax.Array:
    """Normal numbers."""
    return jax.random.normal(jax.random.key(seed), shape, jnp.float32).astype(dtype)


def matmul(size: int, block: int, dtype: Any) -> Pair:
    """A product in blocks with a sum in scratch."""

    def kernel(x_ref: Any, y_ref: Any, o_ref: Any, sum_ref: Any) -> None:
        @pl.when(pl.program_id(2) == 0)
        def _() -> None:
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _() -> None:
            o_ref[...] = sum_ref[...].astype(o_ref.dtype)

    count = size // block
    call = pl.pallas_call(
        kernel,
        grid=(count, count, count),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, _, k: (i, k)),
            pl.BlockSpec((block, block), lambda _, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, _: (i, j)),
        out_shape=jax.ShapeDtypeStruct((size, size), dtype),
        scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary")
        ),
    )
    arguments = (normal(size, size, dtype=dtype), normal(size, size, dtype=dtype, seed=1))
    return call, jnp.matmul, arguments


def attention(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool) -> jax.Array:
    """Attention with arrays, over axes batch, head, position, feature."""
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def flash_attention() -> Pair:
    """Flash attention of 2x8x1024x64."""
    arguments = tuple(normal(2, 8, 1024, 64, seed=seed) for seed in range(3))
    call = functools.partial(flash.flash_attention, sm_scale=64**-0.5)
    return call, functools.partial(attention, causal=False), arguments


def splash_attention() -> Pair:
    """Causal splash attention of 8x1024x128."""
    q, k, v = (normal(8, 1024, 128, seed=seed) for seed in range(3))
    mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((1024, 1024))] * 8)
    call = splash_attention_kernel.make_splash_mha(mask, head_shards=1, q_seq_shards=1)

    def plain(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return attention(q[None], k[None], v[None], causal=True)[0]

    return lambda q, k, v: call(q * 128**-0.5, k, v), plain, (q, k, v)


def paged() -> Pair:
    """A step of decoding over pages."""
    batch, heads, groups, feature, page, pages = 8, 8, 4, 128, 16, 32
    q = normal(batch, heads, feature) * feature**-0.5
    k, v = (normal(groups, batch * pages, page, feature, seed=seed) for seed in (1, 2))
    lengths = jnp.arange(1, batch + 1, dtype=jnp.int32) * (page * pages // batch)
    table = jax.random.permutation(jax.random.key(3), batch * pages)
    table = table.reshape(batch, pages).astype(jnp.int32)

    def plain(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        rows = (groups, batch, page * pages, feature)
        k, v = k[:, table].reshape(rows), v[:, table].reshape(rows)
        scores = jnp.einsum("bgad,gbtd->bgat", q.reshape(batch, groups, -1, feature), k)
        seen = jnp.arange(page * pages) < lengths[:, None, None, None]
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
        return jnp.einsum("bgat,gbtd->bgad", weights, v).reshape(q.shape)

    def call(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return paged_attention(q, k, v, lengths, table, pages_per_compute_block=8)

    return call, plain, (q, k, v)


def layer_norm() -> Pair:
    """A layer norm of 4096x1024 in blocks of rows."""

    def plain(x: jax.Array, gain: jax.Array) -> jax.Array:
        mean = x.mean(-1, keepdims=True)
        variance = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * gain

    def kernel(x_ref: Any, gain_ref: Any, o_ref: Any) -> None:
        o_ref[...] = plain(x_ref[...], gain_ref[...])

    rows = pl.BlockSpec((256, 1024), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(16,),
        in_specs=[rows, pl.BlockSpec((1, 1024), lambda _: (0, 0))],
        out_specs=rows,
        out_shape=jax.ShapeDtypeStruct((4096, 1024), jnp.float32),
    )
    return call, plain, (normal(4096, 1024), normal(1, 1024, seed=1))


def pipelined_copy() -> Pair:
    """A copy of 16 MiB by two buffers and copies beside the kernel."""
    blocks, rows = 32, 128

    def kernel(x_ref: Any, o_ref: Any, buffers: Any, arrived: Any, left: Any) -> None:
        def part(ref: Any, i: Any) -> Any:
            return ref.at[pl.ds(i * rows, rows)]

        def fetch(i: Any, slot: Any) -> Any:
            return pltpu.make_async_copy(part(x_ref, i), buffers.at[slot], arrived.at[slot])

        def store(i: Any, slot: Any) -> Any:
            return pltpu.make_async_copy(buffers.at[slot], part(o_ref, i), left.at[slot])

        fetch(0, 0).start()

        @pl.loop(0, blocks)
        def _(i: Any) -> None:
            slot = lax.rem(i, 2)
            fetch(i, slot).wait()
            store(i, slot).start()

            @pl.when(i + 1 < blocks)
            def _() -> None:
                @pl.when(i >= 1)
                def _() -> None:
                    store(i - 1, 1 - slot).wait()

                fetch(i + 1, 1 - slot).start()

        store(blocks - 2, (blocks - 2) % 2).wait()
        store(blocks - 1, (blocks - 1) % 2).wait()

    x = normal(blocks * rows, 1024)
    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[
            pltpu.VMEM((2, rows, 1024), jnp.float32),
            pltpu.SemaphoreType.DMA((2,)),
            pltpu.SemaphoreType.DMA((2,)),
        ],
    )
    return call, jnp.copy, (x,)


def ring() -> Pair:
    """A ring over 8 devices that gathers 256x512 of each."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:8]), ("x",))
    spec = jax.sharding.PartitionSpec("x")

    def kernel(x_ref: Any, o_ref: Any, sent: Any, received: Any, copied: Any) -> None:
        me = lax.axis_index("x")
        local = pltpu.make_async_copy(x_ref, o_ref.at[me], copied)
        local.start()
        local.wait()

        @pl.loop(0, 7)
        def _(step: Any) -> None:
            slot = lax.rem(me - step + 8, 8)
            copy = pltpu.make_async_remote_copy(
                src_ref=o_ref.at[slot],
                dst_ref=o_ref.at[slot],
                send_sem=sent,
                recv_sem=received,
                device_id=(lax.rem(me + 1, 8),),
                device_id_type=pl.DeviceIdType.MESH,
            )
            copy.start()
            copy.wait()

    x = jax.device_put(normal(8 * 256, 512), jax.sharding.NamedSharding(mesh, spec))

    def gather(x: jax.Array) -> jax.Array:
        return pl.pallas_call(
            kernel,
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec(memory_space=pl.ANY),
            out_shape=jax.ShapeDtypeStruct((8, *x.shape), x.dtype),
            scratch_shapes=[pltpu.SemaphoreType.DMA] * 3,
        )(x)

    def on_each(function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)

    return on_each(gather), on_each(lambda x: lax.all_gather(x, "x")), (x,)


KERNELS: dict[str, Callable[[], Pair]] = {
    "matmul 512, f32": lambda: matmul(512, 128, jnp.float32),
    "matmul 512, bf16": lambda: matmul(512, 128, jnp.bfloat16),
    "matmul 2048, f32": lambda: matmul(2048, 512, jnp.float32),
    "matmul 2048, bf16": lambda: matmul(2048, 512, jnp.bfloat16),
    "flash attention": flash_attention,
    "splash attention": splash_attention,
    "paged attention": paged,
    "layer norm": layer_norm,
    "pipelined copy": pipelined_copy,
    "ring over 8 devices": ring,
}


def measured(name: str, way: str, calls: int) -> float:
    """Milliseconds of a call, the least of several, in a process that has started no device."""
    if way in {"interpret", "InterpretParams"}:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", 8)
        how = True if way == "interpret" else pltpu.InterpretParams()
        plain_call = pl.pallas_call
        pl.pallas_call = functools.partial(plain_call, interpret=how)
    else:
        jax.config.update("jax_platforms", "tpu,cpu")
    kernel, plain, arguments = KERNELS[name]()
    program = jax.jit(plain if way == "jnp" else kernel).lower(*arguments).compile()
    jax.block_until_ready(program(*arguments))
    least = math.inf
    for _ in range(calls):
        start = time.perf_counter()
        jax.block_until_ready(program(*arguments))
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def main() -> int:
    """Measure and print; 1 where a kernel has failed on the plugin."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    os.environ["TPU_LIBRARY_PATH"] = str(Path(os.environ["TPU_EMU_LIBRARY"]).resolve())
    print("| kernel | ms | ÷ jnp | ÷ interpret | ÷ InterpretParams |\n|---|---|---|---|---|")
    failed = False
    for name in KERNELS:
        if options.words and not any(word in name for word in options.words):
            continue
        found: dict[str, float] = {}
        for way in WAYS:
            try:
                found[way] = apart(measured, name, way, options.calls, timeout_s=TIMEOUT_S)
            except FailedError as failure:
                print(f"{name}, {way}: {str(failure).splitlines()[-1]}", file=sys.stderr)
        if "kernel" not in found:
            failed = True
            continue
        cells = [f"{found['kernel'] / found[way]:.3g}" if way in found else "-" for way in WAYS[1:]]
        print(f"| {name} | {found['kernel']:.3g} | {' | '.join(cells)} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
