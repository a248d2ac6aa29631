"""Measures the workloads on the plugin and on XLA's CPU backend.

    python run.py [--quick] [--rounds N] [--vectors NAME] [WORD…]

A process measures one workload on one platform; the platforms take turns. With words, only the
workloads whose family or name contains one of them run. `--vectors` holds both platforms to vectors
of the name. Only a run of all workloads by the machine's own vectors is kept for
docs/performance.md; it is followed by a round by narrower ones.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import page
from apart import FailedError, apart
from blocks import WorkloadRun, beyond_line
from figures import PLATFORMS, VECTORS, Ratios, Row, summary_table, vectors_table, workload_table
from measure import describe, measure
from workloads import FAMILIES, Workload


def chosen(words: list[str], *, quick: bool) -> list[tuple[str, Workload]]:
    """The workloads to run, each with its family."""
    return [
        (family, workload)
        for family, workloads in FAMILIES.items()
        for workload in workloads
        if (workload.quick or not quick)
        and (not words or any(word in f"{family}/{workload.name}" for word in words))
    ]


def one_round(
    workloads: list[tuple[str, Workload]], rows: dict[str, Row], library: Path, vectors: str | None
) -> None:
    """Measure each workload once on each platform and add the samples to its row."""
    held = VECTORS[vectors] if vectors else {}
    for at, (family, workload) in enumerate(workloads):
        print(f"\r{at + 1:4}/{len(workloads)} {workload.name:60}", end="", file=sys.stderr)
        row = rows.setdefault(
            workload.name,
            {"family": family, "name": workload.name, "samples": {name: [] for name in PLATFORMS}},
        )
        for platform in PLATFORMS:
            try:
                sample = apart(measure, workload, platform, library, held)
            except FailedError as failure:
                row["error"] = f"{platform}: {str(failure).strip().splitlines()[-1]}"
                continue
            row["samples"][platform].append(sample)
    print(file=sys.stderr)


def main() -> int:
    """Measure, print, keep, and write the page; 1 where a workload has failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vectors", choices=VECTORS)
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    library = Path(os.environ["TPU_EMU_LIBRARY"]).resolve()
    os.environ["TPU_LIBRARY_PATH"] = str(library)
    workloads = chosen(options.words, quick=options.quick)
    if not workloads:
        parser.error(f"no workload has one of {options.words} in its name")
    rows: dict[str, Row] = {}
    start = time.monotonic()
    for _ in range(options.rounds):
        one_round(workloads, rows, library, options.vectors)
    kept = not (options.words or options.quick or options.vectors)
    narrower: dict[str, dict[str, Row]] = {vectors: {} for vectors in VECTORS if kept}
    for vectors, found in narrower.items():
        one_round(workloads, found, library, vectors)
    run: WorkloadRun = {
        "machine": describe(),
        "rounds": options.rounds,
        "minutes": (time.monotonic() - start) / 60,
        "rows": list(rows.values()),
        "vectors": {vectors: list(found.values()) for vectors, found in narrower.items()},
    }
    print(f"ours / the CPU backend's (ratio), median of {options.rounds} processes")
    print(workload_table(run["rows"]))
    ratios = Ratios(run["rows"])
    if ratios.pairs:
        print(summary_table(ratios))
        print(beyond_line(ratios))
    if kept:
        print(vectors_table(run["rows"], run["vectors"]))
        page.save("workloads", run)
        page.write()
    return int(any("error" in row for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
