"""The command `tpu-emu` over traces of real programs: its bytes are the ledger's."""

import json
import os
import pickle
import subprocess
from pathlib import Path

import pytest

import tpu_emu
from emulator import run

PROGRAM = """
    import os
    import jax
    import jax.numpy as jnp
    import numpy as np

    kept = []

    @jax.jit
    def step(w, x):
        h = jnp.tanh(x @ w)
        return w - 0.01 * (x.T @ h)

    def leak(w):
        kept.append(jnp.ones((64, 256)) + w[0, 0])

    def train():
        w = jax.device_put(np.ones((256, 256), np.float32))
        x = jax.device_put(np.ones((512, 256), np.float32))
        for _ in range(10):
            w = step(w, x)
            leak(w)
        return w

    w = jax.block_until_ready(train())
    jax.block_until_ready(kept)
    stats = jax.devices()[0].memory_stats()
    print(stats["bytes_in_use"], stats["peak_bytes_in_use"], flush=True)
"""


def command(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """The command that was built with the library."""
    program = tpu_emu.library_path().resolve().parent / "tpu-emu"
    assert program.is_file(), f"{program}: cargo build makes it"
    return subprocess.run([program, *arguments], capture_output=True, check=False, timeout=60)


def printed(*arguments: str | Path) -> dict:
    """What the command prints for programs."""
    done = command(*arguments, "--json", "--top", "1000000")
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """A trace of a program that leaks: its file, the bytes in use at its end and at its peak."""
    path = tmp_path_factory.mktemp("command") / "run.trace"
    done = run(PROGRAM, {"TPU_EMU_TRACE": str(path)})
    assert done.returncode == 0, done.stderr
    in_use, peak = map(int, done.stdout.split())
    return path, in_use, peak


def test_the_summary_has_the_bytes_of_memory_stats(traced):
    path, in_use, peak = traced
    summary = printed("summary", path)
    [device] = [space for space in summary["spaces"] if space["space"] == "TPU_0"]
    assert device["peak"]["size"]["in_memory"] == peak
    assert device["end"]["size"]["in_memory"] == in_use
    for point in (device["peak"], device["end"]):
        assert sum(row["size"]["in_memory"] for row in point["rows"]) == point["size"]["in_memory"]
        assert sum(row["blocks"] for row in point["rows"]) == point["blocks"]
    assert device["padding"] == peak - device["peak"]["size"]["logical"]
    assert summary["cut"] == []
    assert summary["changes"] == len(tpu_emu.read(path).changes)
    assert device["temporaries"][0]["key"].startswith("temporaries of jit_step: largest ")


def test_the_planted_leak_stands_first(traced):
    path, in_use, _ = traced
    leaks = printed("leaks", path)
    assert leaks["total"]["in_memory"] == in_use
    [first, *_] = leaks["rows"]
    assert first["key"].endswith(" leak")
    assert (first["blocks"], first["size"]["in_memory"]) == (10, 10 * 64 * 256 * 4)
    assert printed("leaks", path, "--to", "last")["rows"] == []


@pytest.mark.parametrize("by", ["line", "function", "executable", "label", "array", "stack"])
def test_every_way_to_sum_up_has_the_same_sum(traced, by):
    path, in_use, _ = traced
    leaks = printed("leaks", path, "--by", by)
    assert sum(row["size"]["in_memory"] for row in leaks["rows"]) == in_use


def test_the_sums_of_exports_and_of_the_tree_are_those_of_the_ledger(traced):
    path, in_use, _ = traced
    for frames in ("python", "mixed", "full"):
        text = command("export", path, "--format", "collapsed", "--at", "end", "--frames", frames)
        lines = text.stdout.decode().splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in lines) == in_use
        scope = command("export", path, "--format", "speedscope", "--at", "end", "--frames", frames)
        [profile] = json.loads(scope.stdout)["profiles"]
        assert sum(profile["weights"]) == profile["endValue"] == in_use
    tree = command("tree", path, "--at", "end", "--least", "0").stdout.decode()
    assert tree.splitlines()[0].endswith(" at the end, before the client's clean-up")
    assert " leak\n" in tree


def test_a_snapshot_for_pytorch_holds_what_lives_and_the_changes_that_led_there(traced):
    path, in_use, peak = traced
    for moment, size in (("end", in_use), ("peak", peak)):
        done = command("export", path, "--format", "pytorch", "--at", moment)
        snapshot = pickle.loads(done.stdout)
        assert done.stdout[:2] == b"\x80\x04"
        [segment] = snapshot["segments"]
        held = [block for block in segment["blocks"] if block["state"] == "active_allocated"]
        assert sum(block["size"] for block in held) == segment["allocated_size"] == size
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        at = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == at
            at += block["size"]
        [changes] = snapshot["device_traces"]
        sign = {"alloc": 1, "free_requested": 0, "free_completed": -1}
        assert sum(sign[change["action"]] * change["size"] for change in changes) == size
    done = command("export", path, "--format", "pytorch", "--last", "7")
    assert b"changes are left out" in done.stderr
    [changes] = pickle.loads(done.stdout)["device_traces"]
    assert sum(change["action"] != "free_completed" for change in changes) == 7


def test_a_form_refuses_what_it_has_no_place_for(traced):
    path, _, _ = traced
    wrong = [("collapsed", "--last", "7"), ("pprof", "--from", "1s"), ("perfetto", "--at", "peak")]
    for form, option, value in wrong:
        done = command("export", path, "--format", form, option, value)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"--at picks what lives at a moment" in done.stderr or b"which --at" in done.stderr


def test_a_trace_differs_from_itself_in_nothing(traced):
    path, _, peak = traced
    diff = printed("diff", path, path)
    assert (diff["rows"], diff["total"]["change"]) == ([], 0)
    assert diff["total"]["before"] == diff["total"]["after"]
    assert diff["total"]["before"][0] == peak


def test_a_program_that_dies_leaves_what_it_held(tmp_path):
    path = tmp_path / "run.trace"
    died = run(PROGRAM + "\n    os.kill(os.getpid(), 9)\n", {"TPU_EMU_TRACE": str(path)})
    assert died.returncode == -9
    in_use = int(died.stdout.split()[0])
    for moment in ("end", "last"):
        assert printed("leaks", path, "--to", moment)["total"]["in_memory"] == in_use
    # Behind the records of a process that was killed are zeros.
    records = path.read_bytes().rstrip(b"\0")
    path.write_bytes(records[:-3])
    cut = printed("summary", path)["cut"]
    assert cut == [
        "the last record is cut off: the process ended while it wrote, or the file is damaged there"
    ]
    text = command("summary", path).stdout.decode()
    assert f"Careful: {cut[0]}." in text


def test_what_is_no_moment_of_a_trace_is_a_sentence_and_a_status(traced):
    path, *_ = traced
    for name in ("dawn", "refusal", "mark:peak"):
        done = command("leaks", path, "--from", name)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode().startswith(f'tpu-emu: {path}: "{name}" is no moment'), done
    assert command("leaks", path, "--from", "").returncode == 2


def test_leaks_before_a_moment_that_comes_first_are_a_sentence_and_a_status(traced):
    path, *_ = traced
    done = command("leaks", path, "--from", "end", "--to", "0s")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"which is before it" in done.stderr
    assert command("leaks", path, "--from", "0s", "--to", "0s").returncode == 0


def test_what_is_no_trace_is_a_sentence_and_a_status(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "foreign").write_bytes(os.urandom(4096))
    wrong = {
        tmp_path / "empty": "no trace: it is empty",
        tmp_path / "foreign": "no trace: it does not begin with TPUEMUTR",
        tmp_path / "absent": "No such file or directory (os error 2)",
        tmp_path: "a folder",
    }
    for path, why in wrong.items():
        done = command("summary", path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.decode() == f"tpu-emu: {path}: {why}\n"
    for usage in (["summary"], ["summary", "a", "--by", "mood"]):
        done = command(*usage)
        assert (done.returncode, done.stdout) == (2, b"")
