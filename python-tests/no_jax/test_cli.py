"""`python -m tpu_emu FILE`, and the text of a change."""

import subprocess
import sys

import pytest

from tpu_emu import Frame, change_text, frame_text, read

SECOND = """\
allocate f32[8,129]{1,0:T(8,128)} on TPU_0 device at 0x2000
  4128 bytes of data, 8192 bytes in memory
  PJRT_Client_BufferFromHostBuffer, thread 77, 12.345678 s
    #0   tpu_emu::hbm::heap::allocate at heap.rs:99 [libpjrt_x.so]
    #1   put at put.rs:48 [libpjrt_x.so]
    #2   PJRT_Client_BufferFromHostBuffer [libpjrt_x.so]
    #3   train.py:41 train"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tpu_emu", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_change_reads_as_what_where_who_and_the_stack(small):
    [change] = read(bytes(small.data)).live
    assert change_text(change) == SECOND


def test_a_refusal_has_no_address(writer):
    writer.start()
    writer.definitions()
    writer.change(8, 0, 0)
    [change] = read(bytes(writer.data)).changes
    first = change_text(change).splitlines()[0]
    assert first == "out of memory f32[8,129]{1,0:T(8,128)} on TPU_0 device"


def test_a_frame_says_what_is_known_of_it():
    assert frame_text(Frame("f", "a.py", 3, "python", python=True)) == "a.py:3 f"
    assert frame_text(Frame("f", "<string>", 0, "", python=True)) == "<string> f"
    assert frame_text(Frame("f()", "", 0, "/usr/lib/libx.so", python=False)) == "f() [libx.so]"
    assert frame_text(Frame("f()", "a.cc", 0, "", python=False)) == "f() at a.cc"


def test_the_command_prints_the_changes_and_what_lives(small, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(small.data)
    done = run(str(path))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "tpu-emu 0.1.0, process 4711, v5e:2x4"
    heads = [line.split(" f32")[0] for line in lines if line.startswith(("allocate", "free"))]
    assert heads == ["allocate", "free", "allocate"]
    assert lines[-1] == "1 live allocations, 8192 bytes"


def test_the_command_prints_only_what_lives_if_asked(small, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(small.data)
    assert run("--live", str(path)).stdout == SECOND + "\n"


def test_the_command_says_that_a_trace_is_cut_off(small, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(small.data[:-1])
    done = run(str(path))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [
        "0 live allocations, 0 bytes",
        (
            "The last record is cut off: the process ended while it wrote,"
            " or the file is damaged there."
        ),
    ]


@pytest.mark.parametrize("error", [0, 1 << 31, (1 << 64) - 1])
def test_the_command_does_not_say_that_what_a_cut_trace_ends_with_lives(small, tmp_path, error):
    small.put(13, 1, error)
    path = tmp_path / "trace"
    path.write_bytes(small.data)
    [why, those, *_] = run("--live", str(path)).stdout.splitlines()
    assert why.startswith(
        "The trace was cut off by an error of its writer, and 1 record is missing"
    )
    assert why.endswith("another program changed the file")
    assert those.startswith("These allocations lived where the trace ends")
    assert "live allocations" not in run(str(path)).stdout


def test_the_command_refuses_other_files_with_their_name(tmp_path):
    path = tmp_path / "other"
    path.write_text("something else")
    done = run(str(path))
    assert (done.returncode, done.stdout) == (1, "")
    why = "no trace: it does not begin with TPUEMUTR, at byte 0"
    assert done.stderr == f"{path}: {why}\n"


def test_the_command_names_a_missing_file(tmp_path):
    done = run(str(tmp_path / "nothing"))
    assert done.returncode == 1
    assert "No such file" in done.stderr


def test_the_command_ends_quietly_where_its_reader_has_enough(small, tmp_path):
    for sequence in range(4, 2000):
        small.change(6, sequence, sequence * 8192)
    path = tmp_path / "trace"
    path.write_bytes(small.data)
    command = [sys.executable, "-m", "tpu_emu", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=60) == 0
