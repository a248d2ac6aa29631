"""Times test files of other projects on the plugin and on XLA's CPU backend.

    python suites.py jax TESTS [FILE…]
    python suites.py ecosystem SOURCES

TESTS is the folder `tests` of JAX's sources at the installed version; FILE is a name without `.py`.
SOURCES is the folder of the unpacked archives of `make ecosystem`. A process runs one file on one
platform; the platforms take turns.
"""

import json
import os
import resource
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import page
from figures import PLATFORMS, SuiteRow, SuiteRun, suite_table

JAX_FILES = (
    "lax_test",
    "lax_numpy_test",
    "nn_test",
    "random_lax_test",
    "lax_control_flow_test",
    "linalg_test",
    "api_test",
    "image_test",
)
PACKAGES = ("optax", "flax")
ECOSYSTEM = Path(__file__).resolve().parents[1] / "ecosystem" / "files.toml"
TIMEOUT_S = 3600
OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "durations"),
    *("-o", "addopts=", "-W", "ignore", "--tb=line"),
)


def environment(platform: str) -> dict[str, str]:
    """One device, a case of each test."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "XLA_", "TPU_"))
    }
    common = {
        **inherited,
        "JAX_NUM_GENERATED_CASES": "1",
        "JAX_SKIP_SLOW_TESTS": "true",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }
    if platform == "cpu":
        return {**common, "JAX_PLATFORMS": "cpu"}
    return {
        **common,
        "JAX_PLATFORMS": "tpu,cpu",
        "TPU_LIBRARY_PATH": str(Path(os.environ["TPU_EMU_LIBRARY"]).resolve()),
        "TPU_EMU_TOPOLOGY": "v5e:1x1",
    }


def run(name: str, platform: str, folder: Path, files: list[str]) -> SuiteRun:
    """Run the files in one process, with the packages beside the folder to import."""
    page.RUNS.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace(' ', '-')}-{platform}"
    report = page.RUNS / f"{stem}.xml"
    report.unlink(missing_ok=True)
    durations = page.RUNS / f"{stem}-durations.json"
    durations.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *OPTIONS, f"--junitxml={report}", *files]
    paths = [Path(__file__).parent, *(folder.parent.glob("*/") if name in PACKAGES else ())]
    inherited = os.environ.get("PYTHONPATH", "")
    variables = {
        **environment(platform),
        "BENCH_DURATIONS": str(durations),
        "PYTHONPATH": os.pathsep.join([*map(str, paths), inherited]),
    }
    start, before = time.monotonic(), children_s()
    with (page.RUNS / f"{stem}.log").open("w") as log:
        subprocess.run(
            command,
            cwd=folder,
            env=variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    return {
        "wall": time.monotonic() - start,
        "processor": children_s() - before,
        "passed": passed(report) if report.exists() else {},
        "durations": json.loads(durations.read_text()) if durations.exists() else {},
    }


def children_s() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def passed(report: Path) -> dict[str, float]:
    """Seconds of each test that has passed, of a JUnit report."""
    return {
        f"{case.get('classname')}::{case.get('name')}": float(case.get("time", "0"))
        for case in ET.parse(report).iter("testcase")  # noqa: S314 (pytest wrote it a moment ago)
        if not {child.tag for child in case} & {"failure", "error", "skipped"}
    }


def jobs(arguments: list[str]) -> dict[str, tuple[Path, list[str]]]:
    """Name → the folder to stand in, and files."""
    where = Path(arguments[1]).resolve()
    if arguments[0] == "jax":
        files = arguments[2:] or JAX_FILES
        return {f"jax {name}": (where.parent, [f"{where.name}/{name}.py"]) for name in files}
    lists = tomllib.loads(ECOSYSTEM.read_text())["full"]
    return {name: (next(where.glob(f"{name}-*/")), lists[name]) for name in PACKAGES}


def main() -> int:
    """Run, print, keep, write the page; 1 where a suite has not run."""
    if len(sys.argv) < 3 or sys.argv[1] not in ("jax", "ecosystem"):
        print(__doc__)
        return 2
    rows: list[SuiteRow] = []
    for name, (folder, files) in jobs(sys.argv[1:]).items():
        runs = {platform: run(name, platform, folder, files) for platform in PLATFORMS}
        rows.append({"name": name, "runs": runs})
        print(suite_table(rows[-1:]).splitlines()[-1], flush=True)
    print(suite_table(rows))
    kept: list[SuiteRow] = page.load("suites") or []
    names = {row["name"] for row in rows}
    page.save("suites", [row for row in kept if row["name"] not in names] + rows)
    page.write()
    return int(not all(one["passed"] for row in rows for one in row["runs"].values()))


if __name__ == "__main__":
    sys.exit(main())
