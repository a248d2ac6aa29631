"""Writes what was measured into docs/performance.md, between markers.

    python page.py

The runs are files under target/bench; a block whose run is absent stays as it is.
"""

import json
import re
from pathlib import Path
from typing import Any

from blocks import aims_block, growth_block, slices_block, suites_block, workloads_block

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
RUNS = ROOT / "target" / "bench"


def save(name: str, run: Any) -> None:
    """Keep a run for this page and later ones."""
    RUNS.mkdir(parents=True, exist_ok=True)
    (RUNS / f"{name}.json").write_text(json.dumps(run, indent=1) + "\n")


def load(name: str) -> Any:
    """The last run of the name, or None."""
    file = RUNS / f"{name}.json"
    return json.loads(file.read_text()) if file.exists() else None


def write() -> None:
    """Write the blocks of all runs that there are, and the aims."""
    workloads, suites, growth = load("workloads"), load("suites"), load("growth")
    slices = load("slices")
    text = PAGE.read_text()
    if workloads:
        text = between(text, "workloads", workloads_block(workloads))
    if slices:
        text = between(text, "slices", slices_block(slices))
    if suites:
        text = between(text, "suites", suites_block(suites))
    if growth:
        text = between(text, "growth", growth_block(growth))
    PAGE.write_text(between(text, "aims", aims_block(workloads, suites, growth, slices)))


def between(text: str, name: str, block: str) -> str:
    """The text with the block between the markers of the name.

    Raises:
        ValueError: the text has not both markers.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no {begin} … {end}")
    return pattern.sub(lambda found: f"{found[1]}\n{block}\n\n{found[2]}", text)


if __name__ == "__main__":
    write()
