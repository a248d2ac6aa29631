"""Runs test files of other projects on the plugin, and on the CPU backend what does not pass there.

    python run.py LIST SOURCES RESULTS [PACKAGE…]

LIST is a table of `files.toml`, SOURCES the folder of the unpacked source archives.

A test must pass on the plugin, or end as on XLA's CPU backend, which runs no other test: most of
its time goes into compiling. `accepted.txt` lists the tests that may differ, each with the reason;
a listed test that no longer differs is a failure too, so that the list stays true.
"""

import os
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

import tpu_emu

HERE = Path(__file__).resolve().parent
# How each backend is asked for: one device, and exact products, for the tolerances of the tests
# are those of f32 and not of bf16 passes.
BACKENDS = {
    "cpu": {"JAX_PLATFORMS": "cpu"},
    "tpu": {
        "JAX_PLATFORMS": "tpu,cpu",
        "TPU_EMU_NUMERICS": "ieee",
        "TPU_EMU_TOPOLOGY": "v5e:1x1",
        "TPU_EMU_HISTORY": "0",
        "TPU_LIBRARY_PATH": str(tpu_emu.library_path().resolve()),
    },
}
TIMEOUT_S = 1800


def outcomes(report: Path) -> dict[str, str]:
    """Test name → passed, failed or skipped, of a JUnit report."""
    found = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 (pytest wrote it a moment ago)
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "passed"
        outcome = "skipped" if "skipped" in kinds else outcome
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return found


class Suite(NamedTuple):
    """Test files of a package, by their paths in its unpacked sources."""

    package: str
    source: Path
    files: list[str]
    results: Path


def run(backend: str, suite: Suite, left_out: list[str]) -> dict[str, str]:
    """Runs the files in one process; one that ends early leaves no outcomes."""
    package, source, files, results = suite
    report = results / f"{package}-{backend}.xml"
    report.unlink(missing_ok=True)
    names = results / f"{package}-{backend}-left-out.txt"
    names.write_text("".join(f"{test}\n" for test in left_out))
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "XLA_", "TPU_"))
    }
    paths = [*source.parent.glob("*/"), HERE, os.environ.get("PYTHONPATH", "")]
    environment = {
        **inherited,
        **BACKENDS[backend],
        "LEAVE_OUT": str(names),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    options = ["-q", "-p", "no:cacheprovider", "-p", "leave_out", "-o", "addopts=", "-W", "ignore"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *options,
        "--tb=short",
        "--durations=20",
        f"--junitxml={report}",
        *files,
    ]
    start = time.monotonic()
    with (results / f"{package}-{backend}.log").open("w") as log:
        subprocess.run(
            command,
            cwd=source,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    seconds = time.monotonic() - start
    found = outcomes(report) if report.exists() else {}
    counts = {kind: list(found.values()).count(kind) for kind in ("passed", "failed", "skipped")}
    told = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    print(f"{package} on {backend}: {told} in {seconds:.0f} s", flush=True)
    return found


def accepted() -> dict[str, str]:
    """Test → reason, of the lines `test  # reason` of the list."""
    rows = (HERE / "accepted.txt").read_text().splitlines()
    pairs = (row.split("  # ") for row in rows if row and not row.startswith("#"))
    return {test: reason.strip() for test, reason in pairs}


def main() -> int:
    """Compare every package; 0 where nothing differs that may not."""
    chosen, sources, results = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    results.mkdir(parents=True, exist_ok=True)
    lists = tomllib.loads((HERE / "files.toml").read_text())[chosen]
    may_differ = accepted()
    wrong = passed = 0
    for package in sys.argv[4:] or lists:
        [source] = sources.glob(f"{package}-*/")
        suite = Suite(package, source, lists[package], results)
        ours = run("tpu", suite, [])
        if not ours:
            print(f"{package}: no test ran; see {results}")
            wrong += 1
        done = sorted(test for test, outcome in ours.items() if outcome == "passed")
        passed += len(done)
        theirs = run("cpu", suite, done)
        for test in sorted({*theirs, *ours}):
            cpu, tpu = theirs.get(test, "absent"), ours.get(test, "absent")
            if (tpu not in (cpu, "passed")) != (test in may_differ):
                print(f"{test}: {cpu} on cpu, {tpu} on tpu {may_differ.get(test, '')}")
                wrong += 1
    print(f"{passed} passed, {wrong} failed")
    return 1 if wrong or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
