"""`tpu-emu top`: what lives in a process that runs."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from schema import misfits
from test_run import COMMAND, LEAK, run, script, started

WAITS = """
print("ready", flush=True)
sys.stdin.readline() if "line" in sys.argv else __import__("signal").pause()
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int, int]]:
    """A program that holds something and waits: `tpu-emu run` of it, its peak and bytes in use."""
    script(tmp_path, WAITS)
    process = started("run", "--trace", "run.trace", "train.py", folder=tmp_path)
    assert process.stdout is not None
    peak, in_use, *_ = process.stdout.readline().split()
    assert process.stdout.readline() == "ready\n"
    yield process, int(peak), int(in_use)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def test_what_lives_has_the_bytes_of_memory_stats(running, tmp_path):
    process, peak, in_use = running
    code, out, err = run("top", str(process.pid), "--json", folder=tmp_path)
    assert (code, err) == (0, "")
    picture = json.loads(out)
    assert misfits("top", picture) == []
    [device] = [space for space in picture["spaces"] if space["space"] == "TPU_0"]
    assert (device["in_use"], device["peak"]) == (in_use, peak)
    assert picture["is_running"] is True
    assert sum(row["size"]["in_memory"] for row in picture["rows"]) == sum(
        space["in_use"] for space in picture["spaces"] if space["space"].startswith("TPU")
    )
    # By the process that has it open, by the file, and by the number of the program itself.
    [file] = tmp_path.glob("run.trace.*")
    for asked in (file.name, str(picture["process"])):
        code, out, _ = run("top", asked, "--once", "--by", "line", folder=tmp_path)
        assert code == 0
        assert LEAK in out
        assert out.splitlines()[0].startswith(f"tpu-emu top  process {picture['process']}")


def test_a_frame_is_drawn_on_a_terminal_until_a_key(running, tmp_path):
    process, _, _ = running
    line = f"stty rows 40 cols 120; {COMMAND} top {process.pid} --every 0.2"
    watch = subprocess.Popen(
        ["/usr/bin/script", "-qfec", line, "/dev/null"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"TERM": "xterm"},
        cwd=tmp_path,
    )
    out, _ = watch.communicate(b"bq", timeout=60)
    assert watch.returncode == 0
    assert b"by line" in out
    assert b"tpu-emu top" in out
    # The screen of before is back.
    assert b"\x1b[?1049l" in out


def test_nothing_to_follow_is_a_sentence(tmp_path):
    wrong = {
        "4194305": "tpu-emu: there is no process 4194305",
        str(os.getpid()): f"tpu-emu: process {os.getpid()} writes no trace: start it by",
        "absent.trace": "tpu-emu: absent.trace: No such file",
        ".": "tpu-emu: .: a folder",
    }
    for asked, words in wrong.items():
        code, out, err = run("top", asked, "--once", folder=tmp_path)
        assert (code, out, err[: len(words)]) == (1, "", words)
    (tmp_path / "foreign").write_bytes(b"something else altogether")
    code, _, err = run("top", "foreign", folder=tmp_path)
    assert (code, err) == (1, "tpu-emu: foreign: no trace: it does not begin with TPUEMUTR\n")
    (tmp_path / "young").write_bytes(b"TPUEMUTR")
    code, _, err = run("top", "young", folder=tmp_path)
    assert (code, err) == (1, "tpu-emu: young: the trace has not begun yet\n")
