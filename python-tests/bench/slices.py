"""The training step of a transformer on many devices, on the plugin and on XLA's CPU backend.

    python slices.py [--rounds N] [--forms FORM,…] [--devices N,…]

The step is data and model parallel, once in `jit` with shardings and once in `shard_map`. A process
measures one form on one number of devices on one platform; the platforms take turns. Processor time
counts, not the clock: the CPU backend has a thread for each device. The losses of every run are
held to those of one device. Only a run of all is kept for docs/performance.md.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import page
from apart import apart
from blocks import SliceRun
from figures import PLATFORMS, SliceRow, SliceSample, slice_table
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from measure import describe, warm_up

# Data by model.
MESHES = {1: (1, 1), 8: (4, 2), 64: (16, 4), 256: (32, 8)}
TOPOLOGIES = {1: "1x1", 8: "2x4", 64: "8x8", 256: "16x16"}
DEVICES = tuple(count for count in MESHES if count > 1)
FORMS = ("jit", "shard_map")
LAYERS, WIDTH, HEADS, HIDDEN, WORDS, LENGTH, BATCH = 2, 64, 8, 256, 128, 32, 256
# Steps that count, after one that does not.
STEPS = 4
# How far orders of summation and roundings of products may move a loss.
TOLERANCE = 2e-4
TIMEOUT_S = 600

Weights = dict[str, Any]
LAYER_SPECS = {
    "qkv": P(None, None, "model", None),
    "out": P("model", None, None),
    "up": P(None, "model"),
    "down": P("model", None),
}
SPECS: Weights = {"words": P(), "layers": [LAYER_SPECS] * LAYERS}
BATCH_SPEC = P("data", None)


def data() -> tuple[Weights, np.ndarray]:
    """The weights to begin with, and what is learned."""
    random = np.random.default_rng(0)

    def drawn(*dims: int) -> np.ndarray:
        return (random.standard_normal(dims) / dims[0] ** 0.5).astype("float32")

    def layer() -> dict[str, np.ndarray]:
        depth = WIDTH // HEADS
        return {
            "qkv": drawn(WIDTH, 3, HEADS, depth),
            "out": drawn(HEADS, depth, WIDTH),
            "up": drawn(WIDTH, HIDDEN),
            "down": drawn(HIDDEN, WIDTH),
        }

    weights = {"words": drawn(WORDS, WIDTH), "layers": [layer() for _ in range(LAYERS)]}
    return weights, random.integers(0, WORDS, (BATCH, LENGTH + 1)).astype("int32")


def normal(x: jax.Array) -> jax.Array:
    """Rows of one length."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def step_of(form: str, mesh: Mesh) -> Callable[[Weights, jax.Array], tuple[Weights, jax.Array]]:
    """The step: the next weights, and the loss of these."""

    def total(x: jax.Array, axis: str) -> jax.Array:
        return jax.lax.psum(x, axis) if form == "shard_map" else x

    def loss(weights: Weights, tokens: jax.Array) -> jax.Array:
        x = weights["words"][tokens[:, :-1]]
        mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
        for layer in weights["layers"]:
            q, k, v = jnp.moveaxis(jnp.einsum("bsd,dchk->bschk", normal(x), layer["qkv"]), 2, 0)
            scores = jnp.einsum("bshk,bthk->bhst", q, k) / q.shape[-1] ** 0.5
            scores = jax.nn.softmax(jnp.where(mask, scores, -1e9))
            mixed = jnp.einsum("bhst,bthk->bshk", scores, v)
            x = x + total(jnp.einsum("bshk,hkd->bsd", mixed, layer["out"]), "model")
            hidden = jax.nn.gelu(normal(x) @ layer["up"])
            x = x + total(hidden @ layer["down"], "model")
        logits = jax.nn.log_softmax(normal(x) @ weights["words"].T)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)
        return -total(jnp.sum(chosen), "data") / (BATCH * LENGTH)

    whole = loss
    if form == "shard_map":
        whole = jax.shard_map(loss, mesh=mesh, in_specs=(SPECS, BATCH_SPEC), out_specs=P())

    def step(weights: Weights, tokens: jax.Array) -> tuple[Weights, jax.Array]:
        value, slope = jax.value_and_grad(whole)(weights, tokens)
        return jax.tree.map(lambda w, s: w - 0.1 * s, weights, slope), value

    return step


def measure(form: str, devices: int, platform: str) -> SliceSample:
    """Compile and run the step in this process, which has started no device yet."""
    os.environ["TPU_EMU_TOPOLOGY"] = f"v5e:{TOPOLOGIES[devices]}"
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_platforms", platform)
    mesh = Mesh(np.array(jax.devices()).reshape(MESHES[devices]), ("data", "model"))
    placed = jax.tree.map(lambda spec: NamedSharding(mesh, spec), SPECS)
    weights, tokens = data()
    weights = jax.device_put(weights, placed)
    batch = jax.device_put(tokens, NamedSharding(mesh, BATCH_SPEC))
    warm_up()
    step = jax.jit(step_of(form, mesh), donate_argnums=0, out_shardings=(placed, None))
    lowered = step.lower(weights, batch)
    used = processor_s()
    program = lowered.compile()
    compiling = processor_s() - used
    weights, value = program(weights, batch)
    losses = [float(value)]
    used = processor_s()
    for _ in range(STEPS):
        weights, value = program(weights, batch)
        losses.append(float(value))
    jax.block_until_ready(weights)
    return {
        "compile": compiling * 1e3,
        "step": (processor_s() - used) / STEPS * 1e3,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "losses": losses,
    }


def processor_s() -> float:
    """Processor time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def off(row: SliceRow, alone: list[float]) -> float:
    """How far the losses are from those of one device, at most."""
    samples = [sample for of in row["samples"].values() for sample in of]
    return max(
        abs(one - other)
        for sample in samples
        for one, other in zip(sample["losses"], alone, strict=True)
    )


def main() -> int:
    """Measure, print, keep, and write the page; 1 where a loss is not that of one device."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--devices", default=",".join(map(str, DEVICES)))
    options = parser.parse_args()
    forms, counts = options.forms.split(","), [int(count) for count in options.devices.split(",")]
    if not set(forms) <= set(FORMS) or not set(counts) <= set(DEVICES):
        parser.error(f"forms are {', '.join(FORMS)}; devices are {', '.join(map(str, DEVICES))}")
    os.environ["TPU_LIBRARY_PATH"] = str(Path(os.environ["TPU_EMU_LIBRARY"]).resolve())
    start = time.monotonic()
    alone = apart(measure, "jit", 1, "tpu", timeout_s=TIMEOUT_S)["losses"]
    rows: list[SliceRow] = []
    for form in forms:
        for devices in counts:
            row: SliceRow = {"form": form, "devices": devices, "samples": {}}
            for _ in range(options.rounds):
                for platform in PLATFORMS:
                    sample = apart(measure, form, devices, platform, timeout_s=TIMEOUT_S)
                    row["samples"].setdefault(platform, []).append(sample)
            rows.append(row)
            print(slice_table(rows[-1:]), flush=True)
    distance = max(off(row, alone) for row in rows)
    run: SliceRun = {
        "machine": describe(),
        "rounds": options.rounds,
        "minutes": (time.monotonic() - start) / 60,
        "rows": rows,
        "off": distance,
    }
    print(f"losses are within {distance:.1e} of those of one device")
    if distance > TOLERANCE:
        print(f"more than {TOLERANCE}: nothing is kept", file=sys.stderr)
        return 1
    if forms == list(FORMS) and counts == list(DEVICES):
        page.save("slices", run)
        page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
