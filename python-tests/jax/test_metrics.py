"""TPU_EMU_METRICS serves how full and busy the devices are, and tpu-emu tpu-info shows it."""

import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from schema import faults
from test_command import command

import tpu_emu
from emulator import run

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "tpu-info.json"

PROGRAM = """
    import sys
    import jax
    import numpy as np

    kept = jax.device_put(np.ones((1024, 1024), np.float32), jax.devices()[1])
    print("ready", flush=True)
    sys.stdin.read()
"""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def table(port: int, *words: str) -> bytes:
    done = command("tpu-info", "--port", str(port), *words)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize(
    ("topology", "devices"), [("v5e:2x2", 4), ("v3:2x2", 8), ("tpu7x:2x2x1", 8)]
)
def test_the_table_and_its_json_have_each_device_with_its_bytes(topology, devices):
    port = free_port()
    environment = os.environ | {
        "TPU_LIBRARY_PATH": str(tpu_emu.library_path()),
        "JAX_PLATFORMS": "tpu",
        "TPU_EMU_METRICS": str(port),
        "TPU_EMU_TOPOLOGY": topology,
    }
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        told = json.loads(table(port, "--json"))
        text = table(port, "--own")
        process.communicate("")
    schema = json.loads(SCHEMA.read_text())
    assert faults(told, schema, schema) == []
    assert told["process"] == process.pid
    assert [device["in_use"] for device in told["devices"]] == [0, 4 << 20, *[0] * (devices - 2)]
    assert all(0 <= device["duty"] <= 100 for device in told["devices"])
    assert text.count(b"GiB / ") == devices
    assert json.loads(table(port, "--json"))["process"] is None


@pytest.mark.parametrize("port", ["0", "x", "65536", ""])
def test_a_port_that_is_none_is_told_and_the_program_goes_on(port):
    done = run("import jax; print(len(jax.devices()))", {"TPU_EMU_METRICS": port})
    assert done.stdout.strip() == "8", done
    assert f"TPU_EMU_METRICS={port}: no metrics are served" in done.stderr


def test_a_port_of_another_process_is_told_and_the_program_goes_on():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run("import jax; print(len(jax.devices()))", {"TPU_EMU_METRICS": port})
    assert done.stdout.strip() == "8", done
    assert "another process has the port" in done.stderr
