"""Random JAX programs on the plugin, compared with themselves and with XLA's CPU backend.

    python search.py [SECONDS] [FIRST] [COUNT]

Each program is run line by line and as a whole: in all, several times over, with its arguments
given away, by other numbers of threads, by vectors of other widths with and without machine code.
All of it gives the same bits. What a line gives is also compared with XLA's CPU backend, within
the bound that `operations.py` states for it. A failure prints the program, which runs by itself.

Without arguments it is what `make test` runs: programs of fixed numbers. With SECONDS it goes on
for so long from the program FIRST on, which is otherwise of the day.
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import tpu_emu

HERE = Path(__file__).resolve().parent
# Programs that one process runs.
BATCH = 40
# What `make test` runs: two batches.
FIXED = 2
COMMON = {
    "JAX_PLATFORMS": "tpu,cpu",
    "TPU_EMU_TOPOLOGY": "v5e:1x1",
    "TPU_EMU_HISTORY": "0",
    "TPU_EMU_STACKS": "off",
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
}
# What each process is like. Programs of the same numerics have the same results in all.
Way = tuple[str, str, dict[str, str]]
WAYS: tuple[Way, ...] = (
    ("ieee", "all", {"TPU_EMU_THREADS": "2"}),
    ("ieee", "all", {"TPU_EMU_THREADS": "1", "TPU_EMU_SIMD": "avx2"}),
    ("ieee", "results", {"TPU_EMU_THREADS": "8"}),
    ("ieee", "all", {"TPU_EMU_THREADS": "3", "TPU_EMU_SIMD": "portable"}),
    ("ieee", "results", {"TPU_EMU_THREADS": "1", "TPU_EMU_SIMD": "portable"}),
    ("tpu", "results", {"TPU_EMU_THREADS": "2"}),
    ("tpu", "results", {"TPU_EMU_THREADS": "3"}),
)


@dataclass
class Found:
    """What a process says of its programs."""

    way: str
    digests: dict[int, str] = field(default_factory=dict)
    problems: dict[int, list[str]] = field(default_factory=dict)
    # The programs of which a process died.
    died: dict[int, str] = field(default_factory=dict)


def run(way: Way, first: int, count: int, seconds: float) -> Found:
    """One process."""
    numerics, mode, more = way
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "XLA_", "TPU_"))
    }
    library = {"TPU_LIBRARY_PATH": str(tpu_emu.library_path().resolve())}
    environment = kept | COMMON | library | {"TPU_EMU_NUMERICS": numerics} | more
    found = Found(f"{numerics} {mode} {more}")
    end, after = time.monotonic() + seconds, first + count
    # A process that dies is followed by one that begins behind the program it died of.
    while first < after and time.monotonic() < end:
        numbers = [str(first), str(after - first), str(end - time.monotonic())]
        command = [sys.executable, str(HERE / "worker.py"), *numbers, mode]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        begun = first
        for line in ended.stdout.splitlines():
            told = json.loads(line)
            begun = told.get("begin", begun)
            if "seed" in told:
                found.digests[told["seed"]] = told["digest"]
                if told["problems"]:
                    found.problems[told["seed"]] = told["problems"]
        if not ended.returncode:
            break
        tail = ended.stderr.strip()[-600:]
        found.died[begun] = f"ended with {ended.returncode}: {tail}"
        first = begun + 1
    return found


def batch(first: int, count: int, seconds: float) -> dict[int, list[str]]:
    """What is wrong with some programs."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        all_found = list(pool.map(lambda way: run(way, first, count, seconds), WAYS))
    problems: dict[int, list[str]] = {}
    for way, found in zip(WAYS, all_found, strict=True):
        # Sums of products of floats depend on the vectors in their last bits.
        same = (way[0], way[2].get("TPU_EMU_SIMD"))
        models = zip(WAYS, all_found, strict=True)
        model = next(of for like, of in models if (like[0], like[2].get("TPU_EMU_SIMD")) == same)
        for seed, told in found.problems.items():
            # What XLA refuses as well is refused in all ways; without XLA's word, nobody knows.
            if found is not all_found[0] and not all_found[0].digests.get(seed):
                continue
            problems.setdefault(seed, []).extend(f"[{found.way}] {problem}" for problem in told)
        for seed, end in found.died.items():
            problems.setdefault(seed, []).append(f"[{found.way}] {end}")
        for seed, digest in found.digests.items():
            wanted = model.digests.get(seed, digest)
            if digest and wanted and digest != wanted:
                other = f"[{found.way}] other results than [{model.way}]"
                problems.setdefault(seed, []).append(other)
    return problems


def text_of(seed: int) -> str:
    """The program of a number, made by a process that has JAX."""
    code = (
        "import jax; jax.config.update('jax_enable_x64', True)\n"
        f"import generate; print(generate.generate({seed}).text())"
    )
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, check=False
    ).stdout


def main() -> int:
    """Runs programs and prints those that fail."""
    numbers = [float(argument) for argument in sys.argv[1:]]
    seconds = numbers[0] if numbers else 0.0
    first = int(numbers[1]) if len(numbers) > 1 else (int(time.time()) // 86_400 * 100_000)
    first = first if numbers else 0
    end, failed, done = time.monotonic() + seconds, 0, 0
    most = int(numbers[2]) if len(numbers) > 2 else None
    while True:
        count = BATCH if most is None else min(BATCH, most - done)
        left = end - time.monotonic() if numbers and most is None else 3600.0
        problems = batch(first + done, count, max(left, 1.0))
        for seed, told in sorted(problems.items()):
            print(f"program {seed} failed:", *told, text_of(seed), sep="\n", flush=True)
        done, failed = done + count, failed + len(problems)
        over = time.monotonic() > end if numbers else done >= FIXED * BATCH
        if over if most is None else done >= most:
            break
    print(f"{failed} of {done} random programs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
