"""Launch and compile times of small programs, on the plugin and on XLA's CPU backend.

Runs itself in fresh processes, alternating between the two, and compares medians.
"""

import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 3
PLATFORMS = ("tpu", "cpu")


def measure() -> None:
    """Print the numbers of this process as JSON: µs a launch, ms a compilation."""
    import jax  # noqa: PLC0415 (the process that compares does not load JAX)
    import jax.numpy as jnp  # noqa: PLC0415
    from jax import lax  # noqa: PLC0415

    small, square = jnp.ones((8, 128)), jnp.ones((128, 128))
    programs = {
        "x + 1": (lambda x: x + 1, small),
        "softmax": (jax.nn.softmax, small),
        "matmul": (lambda x: x @ x, square),
        "scan of 10": (lambda x: lax.scan(lambda s, _: (s * 2, None), x, length=10)[0], small),
        "sort": (jnp.sort, small),
        "normal": (lambda x: jax.random.normal(jax.random.PRNGKey(0), x.shape) + x, small),
        "grad of tanh": (jax.grad(lambda x: jnp.tanh(x @ x).sum()), square),
        "cholesky": (lambda x: jnp.linalg.cholesky(x @ x.T + 200 * jnp.eye(128)), square),
    }
    rows: dict[str, tuple[float, float]] = {}
    for name, (function, argument) in programs.items():
        lowered = jax.jit(function).lower(argument)
        start = time.perf_counter()
        program = lowered.compile()
        compiled_ms = (time.perf_counter() - start) * 1e3
        jitted = jax.jit(function)
        jax.block_until_ready((program(argument), jitted(argument)))
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(100):
                result = jitted(argument)
            jax.block_until_ready(result)
            best = min(best, (time.perf_counter() - start) * 1e4)
        rows[name] = (best, compiled_ms)
    print(json.dumps(rows))


def main() -> None:
    """Alternate over the platforms and print medians."""
    library = os.environ["TPU_EMU_LIBRARY"]
    found: dict[str, list[dict[str, tuple[float, float]]]] = {name: [] for name in PLATFORMS}
    for _ in range(ROUNDS):
        for platform in PLATFORMS:
            env = dict(os.environ, TPU_LIBRARY_PATH=library, JAX_PLATFORMS=platform)
            command = [sys.executable, __file__, "measure"]
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
            found[platform].append(json.loads(done.stdout))
    print(f"one launch (best mean of 100) and one compilation, median of {ROUNDS} processes")
    columns = [f"{platform} {unit}" for unit in ("us", "ms") for platform in PLATFORMS]
    print(f"{'program':14}" + "".join(f"{column:>10}" for column in columns))
    for name in found["tpu"][0]:
        values = [
            statistics.median(row[name][which] for row in found[platform])
            for which in (0, 1)
            for platform in PLATFORMS
        ]
        print(f"{name:14}" + "".join(f"{value:10.1f}" for value in values))


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        main()
