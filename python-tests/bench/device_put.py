"""What recorded stacks cost in a real `jax.device_put`, and what a record takes in memory.

Runs itself in fresh processes, one for each kind of stack, alternating, and compares medians.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 5
MODES = ("off", "native", "python", "full")
LIVE = 100_000


def measure() -> None:
    """Print the numbers of this process as JSON: microseconds, and bytes for a live array."""
    import time

    import jax
    import numpy as np

    device = jax.devices()[0]
    array = np.ones((4,), np.float32)

    def deep(levels: int, run: object) -> float:
        return run() if levels == 0 else deep(levels - 1, run)  # type: ignore[operator]

    def put_and_delete() -> float:
        best = float("inf")
        for _ in range(10):
            start = time.perf_counter()
            for _ in range(1000):
                jax.device_put(array, device).delete()
            best = min(best, time.perf_counter() - start)
        return best * 1e3

    def resident() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    micros = deep(20, put_and_delete)
    before = resident()
    arrays = [jax.device_put(array, device) for _ in range(LIVE)]
    # The array itself takes one 512-byte piece of emulated HBM.
    each = (resident() - before) / len(arrays) - 512
    print(json.dumps({"us": micros, "bytes": each}))


def main() -> None:
    """Alternate over the modes and print medians and ratios."""
    library = os.environ["TPU_EMU_LIBRARY"]
    results: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    for _ in range(ROUNDS):
        for mode in MODES:
            env = dict(
                os.environ,
                TPU_LIBRARY_PATH=library,
                JAX_PLATFORMS="tpu",
                TPU_EMU_STACKS=mode,
                TPU_EMU_HISTORY="0",
            )
            command = [sys.executable, __file__, "measure"]
            done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
            results[mode].append(json.loads(done.stdout))
    middle = {
        mode: {key: statistics.median(row[key] for row in rows) for key in ("us", "bytes")}
        for mode, rows in results.items()
    }
    floor = middle["off"]
    print(f"device_put and delete of f32[4], 20 calls deep, median of {ROUNDS} processes")
    print(f"{'stacks':8} {'us':>8} {'ratio':>7} {'us/capture':>11} {'bytes/live array':>17}")
    for mode, row in middle.items():
        # Two captures a round: one of the allocation, one of the free.
        capture = (row["us"] - floor["us"]) / 2
        ratio = row["us"] / floor["us"]
        print(f"{mode:8} {row['us']:8.2f} {ratio:7.3f} {capture:11.2f} {row['bytes']:17.0f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        main()
