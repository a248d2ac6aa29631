"""`tpu-emu run`, `topologies` and `doctor`: real programs, from their start to their end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from schema import misfits

import tpu_emu

COMMAND = tpu_emu.library_path().resolve().parent / "tpu-emu"

PROGRAM = """
import os, subprocess, sys
import jax
import jax.numpy as jnp
import numpy as np

kept = []

@jax.jit
def step(w, x):
    return w - 0.01 * (x.T @ jnp.tanh(x @ w))

def leak(w):
    kept.append(jnp.ones((64, 256)) + w[0, 0])

w = jax.device_put(np.ones((256, 256), np.float32))
x = jax.device_put(np.ones((512, 256), np.float32))
for _ in range(10):
    w = step(w, x)
    leak(w)
jax.block_until_ready([w, kept])
stats = jax.devices()[0].memory_stats()
print(stats["peak_bytes_in_use"], stats["bytes_in_use"], *sys.argv[1:], flush=True)
"""

LEAK = f"train.py:{PROGRAM[: PROGRAM.index('kept.append')].count(chr(10)) + 1} leak"


def started(*arguments: str | Path, folder: Path, **extra: str) -> subprocess.Popen[str]:
    """The command, in a folder, with the Python of these tests."""
    environment = os.environ | {"VIRTUAL_ENV": sys.prefix} | extra
    return subprocess.Popen(
        [COMMAND, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments: str | Path, folder: Path, **extra: str) -> tuple[int, str, str]:
    """Runs it to its end: code, standard output, standard error."""
    process = started(*arguments, folder=folder, **extra)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def script(folder: Path, tail: str = "") -> Path:
    """The program with more behind it."""
    path = folder / "train.py"
    path.write_text(PROGRAM + tail)
    return path


def test_the_lines_at_the_end_have_the_bytes_of_memory_stats(tmp_path):
    script(tmp_path)
    code, out, err = run("run", "train.py", "--json", "s.json", "--steps", "3", folder=tmp_path)
    assert code == 0, err
    peak, in_use, *words = out.split()
    assert words == ["--steps", "3"]
    told = json.loads((tmp_path / "s.json").read_text())
    assert misfits("run", told) == []
    assert (told["code"], told["signal"], told["peak"]) == (0, None, int(peak))
    [process] = told["processes"]
    [device] = [space for space in process["spaces"] if space["space"] == "TPU_0"]
    assert device["end"]["size"]["in_memory"] == int(in_use)
    lines = err.splitlines()
    assert lines[0] == "tpu-emu: exit code 0"
    assert lines[1].startswith("peak ")
    assert any(LEAK in line for line in lines if not line.startswith("end"))
    assert any(line.startswith("temporaries jit_step 512 KiB") for line in lines)
    assert "\x1b" not in err
    assert len(lines) <= 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.json", "train.py"]


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("raise ValueError('on purpose')", 1),
        ("os._exit(5)", 5),
        ("os.kill(os.getpid(), 9)", 137),
        ("os.kill(os.getpid(), 15)", 143),
    ],
)
def test_however_a_program_ends_its_code_and_its_lines_are_there(tmp_path, tail, code):
    script(tmp_path, tail)
    found, out, err = run("run", "--json", "s.json", "train.py", folder=tmp_path)
    assert found == code
    _, in_use = out.split()
    told = json.loads((tmp_path / "s.json").read_text())
    assert misfits("run", told) == []
    [device] = [of for of in told["processes"][0]["spaces"] if of["space"] == "TPU_0"]
    assert device["end"]["size"]["in_memory"] == int(in_use)
    assert "held on all devices before the client's clean-up" in err


def test_an_interrupt_is_the_program_s(tmp_path):
    # Short sleeps: an interrupt just before a long one would be noticed at its end.
    waits = "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.1)\n"
    script(tmp_path, waits)
    # A shell that starts the tests in the background lets them, and what they start, hear none.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = started("run", "train.py", folder=tmp_path)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    while process.stdout.readline() != "ready\n":
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert LEAK in err
    assert process.returncode == 130


def test_each_process_has_a_trace_of_its_own(tmp_path):
    tail = """
if len(sys.argv) == 1:
    for number in (1, 2):
        subprocess.run([sys.executable, __file__, str(number)], check=True)
"""
    script(tmp_path, tail)
    code, out, err = run("run", "--trace", "run.trace", "train.py", folder=tmp_path)
    assert code == 0, err
    assert len(out.splitlines()) == 3
    names = sorted(path.name for path in tmp_path.glob("run.trace*"))
    assert len(names) == 3
    assert names[0] == "run.trace"
    assert err.count("\nprocess ") == 2
    peaks = []
    for name in names:
        _, summary, _ = run("summary", "--json", name, folder=tmp_path)
        [device] = [of for of in json.loads(summary)["spaces"] if of["device"] == 0]
        peaks.append(device["peak"]["size"]["in_memory"])
    assert sorted(peaks) == sorted(int(line.split()[0]) for line in out.splitlines())


def test_a_program_without_the_tpu_is_told_so(tmp_path):
    (tmp_path / "plain.py").write_text("print('hello')")
    code, out, err = run("run", "plain.py", folder=tmp_path)
    assert (code, out) == (0, "hello\n")
    assert "No process used the emulated TPU: it ran nothing on JAX" in err
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    code, _, err = run("run", "--python", str(python), "plain.py", folder=tmp_path)
    assert code == 1
    assert f"{python} has no JAX (`{python} -m pip install jax` brings it)" in err
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && printf 0.4.20\nexit 0\n')
    code, _, err = run("run", "--python", str(python), "plain.py", folder=tmp_path)
    assert code == 0
    assert f"jax 0.4.20 of {python} is too old for it" in err


def test_a_report_is_written_however_the_program_ends(tmp_path):
    script(tmp_path, "raise SystemExit(3)")
    code, _, err = run("run", "train.py", "--report", "r.html", folder=tmp_path)
    assert (code, "\nreport      r.html\n" in err) == (3, True), err
    page = (tmp_path / "r.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    code, _, err = run("run", "train.py", "--report", "absent/r.html", folder=tmp_path)
    assert (code, "absent/r.html: No such file" in err) == (1, True), err


def test_any_command_and_modules_are_run(tmp_path):
    script(tmp_path)
    command = ["sh", "-c", 'echo "$TPU_EMU_HBM_BYTES $JAX_PLATFORMS"; exit 7', "--hbm", "1"]
    code, out, _ = run("run", "--hbm", "1GiB", "--", *command, folder=tmp_path)
    assert (code, out) == (7, "1073741824 tpu\n")
    code, out, err = run("run", "-m", "train", "-q", "--", "--hbm", folder=tmp_path)
    assert (code, out.split()[2:]) == (0, ["-q", "--hbm"]), err


def test_a_peak_over_the_limit_has_a_code_of_its_own(tmp_path):
    script(tmp_path)
    assert run("run", "--limit", "1GiB", "train.py", folder=tmp_path)[0] == 0
    code, _, err = run("run", "--limit", "1MiB", "train.py", folder=tmp_path)
    assert (code, "is over the limit of 1048576" in err) == (3, True)
    script(tmp_path, "raise SystemExit(9)")
    assert run("run", "--limit", "1MiB", "train.py", folder=tmp_path)[0] == 9


def test_what_cannot_begin_is_a_sentence_and_a_code(tmp_path):
    script(tmp_path)
    wrong = [
        (1, "tpu-emu: absent/x: No such file", ["--trace", "absent/x", "train.py"]),
        (1, "tpu-emu: .: no regular file", ["--trace", ".", "train.py"]),
        (1, "tpu-emu: absent/r.html: No such file", ["--report", "absent/r.html", "train.py"]),
        (1, "tpu-emu: .: is a directory", ["--json", ".", "train.py"]),
        (1, "tpu-emu: absent: No such file", ["--", "absent"]),
        (2, "'--hbm <SIZE>': bytes from 1 to 64TiB", ["--hbm", "much", "train.py"]),
        (2, "Invalid TPU external name: TPU v99", ["--topology", "v99:2x2", "train.py"]),
        (2, "unexpected argument '--wrong'", ["--wrong", "train.py"]),
        (2, "Usage: tpu-emu run [OPTIONS] SCRIPT", []),
    ]
    for expected, words, arguments in wrong:
        code, out, err = run("run", *arguments, folder=tmp_path)
        assert (code, out) == (expected, ""), err
        assert words in err
    code, _, err = run("run", "train.py", folder=tmp_path, TPU_EMU_LIBRARY="/absent.so")
    assert (code, err) == (1, "tpu-emu: TPU_EMU_LIBRARY=/absent.so is no file\n")
    code, _, err = run("run", "train.py", folder=tmp_path, TPU_EMU_EDITOR="ed")
    assert (code, '"ed" is neither a URL with {path} nor one of vscode' in err) == (1, True)


def test_topologies_are_those_that_programs_get(tmp_path):
    code, out, _ = run("topologies", "--json", folder=tmp_path)
    rows = json.loads(out)
    assert misfits("topologies", rows) == []
    assert code == 0
    (tmp_path / "kind.py").write_text(
        "import jax\n"
        "device = jax.devices()[0]\n"
        "limit = device.memory_stats()['bytes_limit']\n"
        "print(len(jax.devices()), limit, device.device_kind)\n"
    )
    for row in rows[::3]:
        code, out, err = run("run", "--topology", row["topology"], "kind.py", folder=tmp_path)
        assert code == 0, err
        assert out.split(maxsplit=2) == [str(row["devices"]), str(row["hbm"]), row["kind"] + "\n"]
    code, out, _ = run("topologies", "v5p:4x4x8", folder=tmp_path)
    assert (code, "processes  32 in 1 slice" in out) == (0, True)
    assert run("topologies", "v5p:3", folder=tmp_path)[0] == 2


def test_the_doctor_tries_a_program_and_names_what_mends(tmp_path):
    code, out, err = run("doctor", "--json", folder=tmp_path)
    assert misfits("doctor", json.loads(out)) == []
    findings = {finding["about"]: finding for finding in json.loads(out)}
    assert (code, err) == (0, ""), out
    assert findings["trial"]["state"] == "good"
    assert "TPU v5 lite" in findings["trial"]["found"]
    code, out, _ = run("doctor", "--python", "/absent", folder=tmp_path)
    assert code == 1
    assert "wrong  Python       /absent: No such file" in out
    assert "→ name another one: tpu-emu doctor --python PROGRAM" in out
    code, out, _ = run("doctor", folder=tmp_path, TPU_EMU_HBM_BYTES="much")
    assert (code, "TPU_EMU_HBM_BYTES=much: bytes from 1 to 64TiB" in out) == (1, True), out
