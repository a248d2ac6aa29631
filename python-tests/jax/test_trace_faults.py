"""`TPU_EMU_TRACE` where it cannot be written: a word, a count, and a program that goes on."""

import errno
import os
import shutil
import subprocess
import sys
import textwrap
import threading

import pytest

import tpu_emu
from emulator import run
from processes import TIMEOUT_S

PROGRAM = """
    import resource
    import os
    import signal
    import sys

    import jax
    import numpy as np

    def work(count):
        for number in range(count):
            held = jax.device_put(np.full((8, 128), number, np.float32))
            assert float(held[3, 4]) == number
        held.delete()

"""
ENDS = "ends here, and what follows is not in it: "


def check(path, done, error, why):
    """The program ended well, said once that the trace did not, and so does the trace."""
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    [line] = [line for line in done.stderr.splitlines() if "trace" in line]
    assert line == f"tpu-emu: the trace {path} {ENDS}{why}"
    trace = tpu_emu.read(path)
    assert trace.loss is not None
    assert (trace.loss.error, trace.complete) == (error, False)
    assert trace.loss.records > 0
    return trace


def test_a_limit_on_the_size_of_files_ends_the_trace_and_not_the_program(tmp_path):
    path = tmp_path / "trace"
    program = (
        PROGRAM
        + """
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (54321, resource.RLIM_INFINITY))
    work(200)
    print("done", flush=True)
    os._exit(0)
    """
    )
    done = run(program, {"TPU_EMU_TRACE": str(path)})
    trace = check(path, done, errno.EFBIG, "File too large (os error 27)")
    [whole] = [change for change in trace.changes if change.sequence == 1]
    assert whole.stack
    printed = run("from tpu_emu.cli import main; import sys; main(sys.argv[1:])", {}, str(path))
    assert f"and {trace.loss.records} records are missing at its end: File too" in printed.stdout
    assert "live allocations" not in printed.stdout


def test_all_that_was_lost_is_counted(tmp_path):
    program = (
        PROGRAM
        + """
    held = [jax.device_put(np.float32(1)) for _ in range(3)]
    size = os.path.getsize(os.environ["TPU_EMU_TRACE"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    # What the file has set aside takes some of these.
    held.extend([jax.device_put(np.float32(1)) for _ in range(6_000)])
    os._exit(0)
    """
    )
    path = tmp_path / "trace"
    environment = {"TPU_EMU_TRACE": str(path), "TPU_EMU_CALLS": "off"}
    assert run(program, environment).returncode == 0
    trace = tpu_emu.read(path)
    written = [change for change in trace.changes if change.kind is tpu_emu.Kind.ALLOCATE]
    assert trace.loss is not None
    assert (len(written) + trace.loss.records, trace.loss.error) == (6_003, errno.EFBIG)
    assert trace.loss.records > 100


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no program unshare")
def test_a_full_disk_ends_the_trace_and_not_the_program(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size=128k tmpfs {disk}"
    unshare = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if subprocess.run([*unshare, mount], check=False, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    path = disk / "trace"
    program = textwrap.dedent(PROGRAM + '\n    work(400)\n    print("done")')
    after = f"{mount} && {sys.executable} -c '{program}' && cp {path} {tmp_path}/kept"
    done = subprocess.run(
        [*unshare, after],
        env={**os.environ, "TPU_EMU_TRACE": str(path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    path = tmp_path / "kept"
    done.stderr = done.stderr.replace(str(disk / "trace"), str(path))
    trace = check(path, done, errno.ENOSPC, "No space left on device (os error 28)")
    assert len(trace.changes) > 5


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("os.remove(path)", "another program deleted it"),
        ("os.replace(path + '.new', path)", "another program deleted it"),
        ("os.truncate(path, 20)", "another program changed it: it has "),
        ("os.truncate(path, os.path.getsize(path) - 3)", "another program changed it: it has "),
    ],
)
def test_a_file_that_others_take_away_ends_the_trace_and_not_the_program(tmp_path, action, why):
    path = tmp_path / "trace"
    program = (
        PROGRAM
        + f"""
    path = os.environ["TPU_EMU_TRACE"]
    open(path + ".new", "w").close()
    work(2)
    {action}
    work(20)
    print("done")
    """
    )
    done = run(program, {"TPU_EMU_TRACE": str(path)})
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    lines = [line for line in done.stderr.splitlines() if "trace" in line]
    assert lines[0].startswith(f"tpu-emu: the trace {path} {ENDS}{why}")
    if "deleted" in why:
        [_, count] = lines
        assert count.endswith(f"records of the trace {path} were lost")
    else:
        assert len(lines) == 1
        loss = tpu_emu.read(path).loss
        assert loss is not None
        assert (loss.error, loss.records > 20) == (0, True)


def test_a_disk_that_is_full_from_the_start_is_no_reason_not_to_start():
    done = run(PROGRAM + '    work(5)\n    print("done")', {"TPU_EMU_TRACE": "/dev/full"})
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    [first, last] = [line for line in done.stderr.splitlines() if "trace" in line]
    assert first.endswith(f"{ENDS}No space left on device (os error 28)")
    assert last.endswith("records of the trace /dev/full were lost")


def test_a_reader_that_goes_away_ends_the_trace_and_not_the_program(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def read_a_little():
        with path.open("rb") as pipe:
            pipe.read(2000)

    reader = threading.Thread(target=read_a_little)
    reader.start()
    program = PROGRAM + (
        "    signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n    work(100)\n"
        '    print("done", flush=True)\n'
    )
    done = run(program, {"TPU_EMU_TRACE": str(path)})
    reader.join()
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    [first, last] = [line for line in done.stderr.splitlines() if "trace" in line]
    assert first.endswith(f"{ENDS}Broken pipe (os error 32)")
    assert last.endswith(f"records of the trace {path} were lost")


@pytest.mark.parametrize("end", ["reader", "closed", "full"])
def test_text_on_a_standard_error_that_nobody_reads_ends_nothing(end):
    program = textwrap.dedent(
        PROGRAM + "    signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        '    work(100)\n    print("done", flush=True)\n'
    )
    command = [sys.executable, "-c", program]
    if end != "reader":
        redirection = "2>&-" if end == "closed" else "2>/dev/full"
        command = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command]
    with subprocess.Popen(
        command,
        env={**os.environ, "TPU_EMU_TRACE": "-"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        if end == "reader":
            child.stderr.read(100)
        child.stderr.close()
        assert child.stdout.read() == b"done\n"
        assert child.wait(timeout=TIMEOUT_S) == 0


@pytest.mark.parametrize("target", ["folder", "missing/trace", "read-only/trace"])
def test_a_place_that_takes_no_file_is_named_at_the_start(tmp_path, target):
    (tmp_path / "folder").mkdir()
    (tmp_path / "read-only").touch()
    path = tmp_path / target
    done = run(PROGRAM + "    work(1)", {"TPU_EMU_TRACE": str(path)})
    assert done.returncode == 1
    assert f"TPU_EMU_TRACE={path} cannot be written: " in done.stderr
