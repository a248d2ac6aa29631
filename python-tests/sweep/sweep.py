"""Operations by element types and extents, on the plugin and on XLA's CPU backend.

    python sweep.py [SECONDS] [FIRST] [PART,PART…]

A round has every operation with every element type that is common and a third of the others, in
shapes with extents of 0, 1 and odd ones, alone or within something: a batch, a derivative, a loop,
a branch, views. The cases of a number are the same always, and `judge.py FIRST END` runs them by
themselves (`SHOW=1` prints the program, `SHOW=2` its operands too); parts are of families' names.

What differs, what only the plugin refuses, a process that ends and one that does not answer are
findings, except those of `known.py`. Every line of theirs is in target/sweep.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import known
import tpu_emu

HERE = Path(__file__).resolve().parent
# Cases that one process runs, and how long one may take.
BATCH = 600
PATIENCE = 200.0
COMMON = {
    "JAX_PLATFORMS": "tpu,cpu",
    "TPU_EMU_TOPOLOGY": "v5e:1x1",
    "TPU_EMU_HISTORY": "0",
    "TPU_EMU_STACKS": "off",
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
}
Said = dict[str, Any]


def spoken(child: subprocess.Popen[str], until: float) -> Iterator[Said]:
    """What a process says, line by line, and at last how it ended."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in child.stdout or []:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while time.monotonic() < until:
        try:
            line = lines.get(timeout=min(PATIENCE, max(until - time.monotonic(), 0.1)))
        except queue.Empty:
            if time.monotonic() >= until:
                break
            child.kill()
            yield {"is": "hang"}
            return
        if line is None:
            code = child.wait()
            if code:
                yield {"is": f"end with code {code}"}
            return
        if line.startswith("{"):
            yield json.loads(line)
    child.kill()


def batch(first: int, parts: str, until: float) -> Iterator[Said]:
    """The findings of some numbers, and of those that end the process."""
    next_one, stop = first, first + BATCH
    while next_one < stop and time.monotonic() < until:
        about: Said = {}
        command = [sys.executable, str(HERE / "judge.py"), str(next_one), str(stop), parts]
        environment = {"TPU_EMU_NUMERICS": "ieee", **os.environ, **COMMON}
        environment["TPU_LIBRARY_PATH"] = str(tpu_emu.library_path())
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            next_one = stop
            for said in spoken(child, until):
                if "begun" in said or "at" in said:
                    about |= said.get("begun", {"stage": said.get("at")})
                elif "number" in said:
                    yield said
                else:
                    next_one = about.get("number", stop) + 1
                    own = about.get("stage") == "cpu"
                    yield {**about, **({"is": "the CPU backend ended"} if own else said)}


def main() -> int:
    """Runs cases until the time is over; 1 where something is found."""
    arguments = dict(enumerate(sys.argv[1:]))
    until = time.monotonic() + float(arguments.get(0, "600"))
    number = int(arguments.get(1, "0"))
    parts = arguments.get(2, "")
    counts: Counter[str] = Counter()
    folder = HERE.parents[1] / "target" / "sweep"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{number}.jsonl").open("w") as file:
        while time.monotonic() < until:
            for said in batch(number, parts, until):
                kind = "known" if known.reason(said) else said["is"]
                counts[kind] += 1
                if kind not in ("same", "past", "known"):
                    file.write(json.dumps(said) + "\n")
                if kind not in ("same", "past", "known", *known.QUIET):
                    print(json.dumps(said), flush=True)
            number += BATCH
    del counts["past"]
    print(f"up to {number}: {dict(counts)}; of which are findings: {found(counts)}")
    return int(found(counts) > 0)


def found(counts: Counter[str]) -> int:
    """How many of them somebody has to look at."""
    return sum(of for kind, of in counts.items() if kind not in ("same", "known", *known.QUIET))


if __name__ == "__main__":
    sys.exit(main())
