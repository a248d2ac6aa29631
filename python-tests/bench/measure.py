"""What one process measures of one workload on one platform."""

import os
import resource
import time
from itertools import pairwise
from pathlib import Path
from typing import cast

import jax
import jax.numpy as jnp
from figures import Sample
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jaxlib import _jax
from pjrt import Client
from workloads import Arrays, Workload
from workloads.workload import Tree

# Of steady state: batches, and how long one is.
BATCHES = 4
BATCH_S = 0.06
# Calls before the peak of memory is read: each is waited for, so that results do not pile up.
CALLS_TO_PEAK = 3
DIRECT_COMPILES = 5


def measure(workload: Workload, platform: str, library: Path, held: dict[str, str]) -> Sample:
    """Run the workload in this process, which has started no device yet.

    Args:
        workload: what is measured.
        platform: where it runs.
        library: the plugin.
        held: variables for this process, which hold it to vectors of a width.
    """
    os.environ.update(held)
    jax.config.update("jax_platforms", platform)
    arguments = jax.block_until_ready(jax.device_put(workload.arguments(Arrays())))
    warm_up()
    ticks = [time.perf_counter()]
    lowered = jax.jit(workload.function).lower(*arguments)
    ticks.append(time.perf_counter())
    program = lowered.compile()
    ticks.append(time.perf_counter())
    jax.block_until_ready(program(*arguments))
    ticks.append(time.perf_counter())
    once = min(batch(program, arguments, 1) for _ in range(CALLS_TO_PEAK))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = max(1, min(2000, int(BATCH_S / once)))
    steady = min(batch(program, arguments, calls) for _ in range(BATCHES))
    lower, compiled, first = (b - a for a, b in pairwise(ticks))
    own = direct_compile(lowered, library) if platform == "tpu" else compiled
    return {
        "lower": lower * 1e3,
        "compile": compiled * 1e3,
        "plugin": own * 1e3,
        "first": first * 1e3,
        "steady": steady * 1e3,
        "peak": peak / 1024,
    }


def direct_compile(lowered: jax.stages.Lowered, library: Path) -> float:
    """Seconds that the plugin itself takes to compile, the least of several."""
    client = Client(library)
    code, options = bytecode(lowered), _jax.CompileOptions().SerializeAsString()
    return min(client.compile_seconds(code, options) for _ in range(DIRECT_COMPILES))


def bytecode(lowered: jax.stages.Lowered) -> bytes:
    """The program in the form in which jaxlib sends it."""
    module = cast(ir.Module, lowered.compiler_ir("stablehlo"))
    version = stablehlo.get_current_version()
    return bytes(stablehlo.serialize_portable_artifact(module, version, allow_other_dialects=True))


def batch(program: jax.stages.Compiled, arguments: tuple[Tree, ...], calls: int) -> float:
    """Seconds a call, of calls that are not waited for but the last."""
    start = time.perf_counter()
    for _ in range(calls):
        result = program(*arguments)
    jax.block_until_ready(result)
    return (time.perf_counter() - start) / calls


def warm_up() -> None:
    """What JAX does once a process, for a program that is none of the measured."""
    x = jax.device_put(jnp.ones((3, 5)))
    program = jax.jit(lambda x: jnp.cos(x) @ x.T).lower(x).compile()
    for _ in range(3):
        jax.block_until_ready(program(x))


def describe() -> dict[str, str]:
    """What the numbers depend on besides the code."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "unknown",
    )
    return {
        "processor": model,
        "cores": str(len(os.sched_getaffinity(0))),
        "jax": jax.__version__,
    }
