"""The tpu-info of PyPI shows the emulated chips; `make test-tpu-info` installs it."""

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tpu_emu

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "target" / "venv" / "tpu-info" / "bin" / "python"
# The only port that it asks at.
PORT = 8431

PROGRAM = """
import sys
import jax
import numpy as np

kept = jax.device_put(np.zeros(1 << 28, np.uint8), jax.devices()[1])
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _ready() -> None:
    """Without the program, or with its port in other hands, there is nothing to see."""
    if not PYTHON.exists():
        pytest.skip("tpu-info is not installed: make test-tpu-info")
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", PORT))
        except OSError:
            pytest.skip(f"another program has the port {PORT}")


@contextlib.contextmanager
def program(topology: str) -> Iterator[int]:
    """A program with 256 MiB on its second device."""
    environment = os.environ | {
        "TPU_LIBRARY_PATH": str(tpu_emu.library_path().resolve()),
        "TPU_EMU_METRICS": str(PORT),
        "TPU_EMU_TOPOLOGY": topology,
    }
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid


def shown(*words: str) -> list[list[str]]:
    """What tpu-info prints, by the cells of its tables."""
    command = tpu_emu.library_path().resolve().parent / "tpu-emu"
    done = subprocess.run(
        [command, "tpu-info", "--python", PYTHON, "--", *words],
        env=os.environ | {"COLUMNS": "160", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if "cannot be shown the chips here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done
    rows = [line.strip().strip("|") for line in done.stdout.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.split("|")] for row in rows if not set(row) <= set("|-")]


def sizes(rows: list[list[str]]) -> dict[str, str]:
    """The bytes in use that rows tell, by device."""
    found = {}
    for row in rows:
        if len(row) > 1 and (size := re.fullmatch(r"(\d+\.\d\d) GiB / \d+\.\d\d GiB", row[1])):
            found[row[0]] = size[1]
    return found


@pytest.mark.parametrize(
    ("topology", "kind", "chips", "devices"),
    [("v3:2x2", "TPU v3 chip", 4, 8), ("tpu7x:2x2x1", "TPU7x chip", 4, 8)],
)
def test_its_table_has_the_chips_their_program_and_their_memory(topology, kind, chips, devices):
    with program(topology) as process:
        rows = shown()
        on_bus = [row for row in rows if row[0].startswith("/dev/")]
        assert [row[1:] for row in on_bus] == [[kind, str(devices // chips), str(process)]] * chips
        used = ["0.25" if at == 1 else "0.00" for at in range(devices)]
        assert sizes(rows) == {str(at): size for at, size in enumerate(used)}


def test_a_metric_that_is_asked_for_by_name_has_a_row_a_device():
    with program("v5e:2x4"):
        assert sizes(shown("--metric", "hbm_usage")) == {
            str(at): "0.25" if at == 1 else "0.00" for at in range(8)
        }
        shares = [row[1] for row in shown("--metric", "duty_cycle_percent") if row[0].isdigit()]
        assert len(shares) == 8
        assert all(re.fullmatch(r"\d+\.\d\d%", share) for share in shares)
