"""A trace file is written through a mapping: what that must not change."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import tpu_emu
from emulator import run
from processes import TIMEOUT_S

PROGRAM = """
    import os
    import signal
    import sys
    import threading

    import jax
    import numpy as np

    def work(count):
        for number in range(count):
            jax.device_put(np.float32(number)).delete()

    path = os.environ["TPU_EMU_TRACE"]
"""
CUT = "another program changed it: it has "


def test_a_kill_amid_several_threads_leaves_whole_records_without_gaps(tmp_path):
    path = tmp_path / "trace"
    program = textwrap.dedent(PROGRAM) + textwrap.dedent("""
        work(10)
        for _ in range(4):
            threading.Thread(target=work, args=(10**9,), daemon=True).start()
        print("ready", flush=True)
        threading.Event().wait()
    """)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TPU_EMU_TRACE": str(path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        while path.stat().st_size <= 512 << 10:
            # The first pieces are full.
            assert child.poll() is None
            threading.Event().wait(0.05)
        child.kill()
        assert child.wait(timeout=TIMEOUT_S) == -signal.SIGKILL
    assert path.stat().st_size % 4096 == 0
    trace = tpu_emu.read(path)
    numbers = sorted(change.sequence for change in trace.changes)
    # A thread that was about to write its change was killed before its call returned.
    missing = set(range(1, numbers[-1] + 1)) - set(numbers)
    assert len(numbers) > 1000
    assert len(missing) <= 4


def test_an_orderly_end_cuts_the_file_behind_its_last_record(tmp_path):
    path = tmp_path / "trace"
    assert run(PROGRAM + "    work(10)\n", {"TPU_EMU_TRACE": str(path)}).returncode == 0
    assert tpu_emu.read(path).complete
    data, at = path.read_bytes(), 12
    while at < len(data):
        assert data[at]
        at += 5 + int.from_bytes(data[at + 1 : at + 5], "little")
    assert at == len(data)


@pytest.mark.parametrize("handler", ["none", "before", "after"])
def test_a_file_that_is_cut_in_front_of_what_is_written_raises_no_signal(tmp_path, handler):
    path = tmp_path / "trace"
    before = "import faulthandler; faulthandler.enable()" if handler == "before" else ""
    after = "import faulthandler; faulthandler.enable()" if handler == "after" else ""
    program = (
        PROGRAM
        + f"""
    {before}
    work(3000)
    {after}
    work(300)
    os.truncate(path, 100_000)
    work(3000)
    print("done")
    """
    )
    done = run(program, {"TPU_EMU_TRACE": str(path)})
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert CUT in done.stderr
    assert "Bus error" not in done.stderr
    trace = tpu_emu.read(path)
    assert trace.loss is not None
    assert trace.loss.records > 5000
    assert len(trace.changes) > 100


def test_bus_errors_of_others_go_to_the_handler_that_was_there(tmp_path):
    program = (
        PROGRAM
        + """
    import faulthandler
    import mmap
    faulthandler.enable()
    work(3)
    with open(path + ".other", "w+b") as other:
        other.truncate(4096)
        memory = mmap.mmap(other.fileno(), 4096)
        other.truncate(0)
        memory[0] = 1
    """
    )
    done = run(program, {"TPU_EMU_TRACE": str(tmp_path / "trace")})
    assert done.returncode == -signal.SIGBUS
    assert "Fatal Python error: Bus error" in done.stderr
    assert tpu_emu.read(tmp_path / "trace").complete


def test_the_child_of_a_fork_leaves_its_parents_file_alone(tmp_path):
    path = tmp_path / "trace"
    program = (
        PROGRAM
        + """
    import ctypes

    held = jax.device_put(np.float32(1))
    child = os.fork()
    if child == 0:
        try:
            held.delete()
            work(100)
        except Exception as why:
            print(type(why).__name__, flush=True)
        # The handlers of the end in C, and none of Python's.
        ctypes.CDLL(None).exit(0)
    assert os.waitpid(child, 0)[1] == 0
    work(10)
    os._exit(0)
    """
    )
    done = run(program, {"TPU_EMU_TRACE": str(path)})
    assert done.returncode == 0, done.stderr
    trace = tpu_emu.read(path)
    assert trace.complete
    numbers = [change.sequence for change in trace.changes]
    assert numbers == list(range(1, 22))


def places_of_the_first_sum(whole: bytes) -> tuple[int, int]:
    at = 12
    while whole[at] != 23:
        at += 5 + int.from_bytes(whole[at + 1 : at + 5], "little")
    return at, at + 5 + int.from_bytes(whole[at + 1 : at + 5], "little")


@pytest.mark.parametrize("ending", ["", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_changed_byte_of_a_trace_is_an_error_or_is_told(tmp_path, ending):
    path = tmp_path / "trace"
    run(f"{PROGRAM}\n    work(300)\n    {ending}", {"TPU_EMU_TRACE": str(path)})
    whole = path.read_bytes()
    trace = tpu_emu.read(path)
    assert trace.complete
    assert trace.damaged is None
    end = len(whole.rstrip(b"\0"))
    # Behind its last sum a process that was killed has up to 64 changes, with their names.
    summed = range(12, end - (1 << 13 if ending else 0), end // 150)
    places = [*summed, *range(*places_of_the_first_sum(whole))]
    ends = {"error": 0, "damaged": 0, "same": 0}
    for at in places:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x14]) + whole[at + 1 :])
        try:
            damaged = tpu_emu.read(path)
        except ValueError:
            ends["error"] += 1
            continue
        if damaged.complete:
            # What is written again in its place is not summed up: the counts of calls.
            assert damaged == trace, at
            ends["same"] += 1
            continue
        ends["damaged"] += 1
        if damaged.damaged is not None:
            assert damaged.damaged[0] <= at <= damaged.damaged[1]
    assert ends["damaged"] > ends["same"], ends
