"""Cost of a typed custom call with two small buffers, on the plugin and on XLA's CPU backend.

The same handler serves both. Runs itself in fresh processes, alternating between the two, and
compares medians. A program without the call is measured beside it.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "jax"))

ROUNDS = 5
PLATFORMS = ("tpu", "cpu")
LAUNCHES = 2000
# Calls in one program: the difference to one call is what a call costs inside of a launch.
MANY = 100


def measure(library: str) -> None:
    """Print the numbers of this process as JSON: µs a launch, µs a call."""
    import jax  # noqa: PLC0415 (the process that compares does not load JAX)
    import jax.numpy as jnp  # noqa: PLC0415

    platform = jax.default_backend()
    handler = jax.ffi.pycapsule(ctypes.CDLL(library).copy_any)
    jax.ffi.register_ffi_target("copy_any", handler, platform=platform)
    argument = jnp.ones((8,), jnp.float32)
    copy = jax.ffi.ffi_call("copy_any", jax.ShapeDtypeStruct((8,), jnp.float32))

    def many(x: jax.Array) -> jax.Array:
        for _ in range(MANY):
            x = copy(x)
        return x

    rows = {}
    for name, function in {"x + 1": lambda x: x + 1, "call": copy, "many": many}.items():
        program = jax.jit(function)
        jax.block_until_ready(program(argument))
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(LAUNCHES):
                result = program(argument)
            jax.block_until_ready(result)
            best = min(best, (time.perf_counter() - start) / LAUNCHES * 1e6)
        rows[name] = best
    rows["a call within"] = (rows.pop("many") - rows["call"]) / (MANY - 1)
    print(json.dumps(rows))


def main() -> None:
    """Alternate over the platforms and print medians."""
    import handlers  # noqa: PLC0415 (compiles the examples; it loads JAX, and starts no device)

    emulator = os.environ["TPU_EMU_LIBRARY"]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in PLATFORMS}
    for _ in range(ROUNDS):
        for platform in PLATFORMS:
            env = dict(os.environ, TPU_LIBRARY_PATH=emulator, JAX_PLATFORMS=platform)
            command = [sys.executable, __file__, "measure", str(handlers.path())]
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
            found[platform].append(json.loads(done.stdout))
    print(f"us (best mean of {LAUNCHES} launches), median of {ROUNDS} processes")
    print(f"{'program':14}" + "".join(f"{name:>10}" for name in (*PLATFORMS, "ratio")))
    for name in found["tpu"][0]:
        tpu, cpu = (statistics.median(row[name] for row in found[it]) for it in PLATFORMS)
        print(f"{name:14}{tpu:10.2f}{cpu:10.2f}{tpu / cpu:10.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    else:
        main()
