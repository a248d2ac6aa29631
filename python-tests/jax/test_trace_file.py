"""`TPU_EMU_TRACE`: a file that is whole however the process ends, or text."""

import re
import signal

import pytest
import tpu_emu
from emulator import run

PROGRAM = """
    import os
    import signal
    import sys

    import jax
    import numpy as np

    freed = jax.device_put(np.zeros((8, 129), np.float32))
    freed.delete()
    kept = jax.block_until_ready(jax.device_put(1, jax.devices()[3]))
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("raise ValueError('the end')", 1),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.abort()", -signal.SIGABRT),
    ],
    ids=["exception", "sys.exit", "os._exit", "SIGKILL", "abort"],
)
def test_the_file_holds_every_change_however_the_process_ends(tmp_path, end, status):
    path = tmp_path / "trace"
    done = run(f"{PROGRAM}\n    {end}\n", {"TPU_EMU_TRACE": str(path)})
    assert done.returncode == status, done.stderr

    trace = tpu_emu.read(path)

    assert trace.complete
    assert trace.header.version == tpu_emu.__version__
    assert [space.owner for space in trace.spaces[:8]] == [f"TPU_{device}" for device in range(8)]
    first, free, second = trace.changes[:3]
    assert [first.kind, free.kind] == [tpu_emu.Kind.ALLOCATE, tpu_emu.Kind.FREE]
    assert (first.address, first.size) == (free.address, free.size) == (0, 8192)
    assert str(first.spec) == "f32[8,129]{1,0:T(8,128)}"
    assert (second.device, second.size, second.spec.logical_bytes) == (3, 512, 4)
    assert first.time_ns <= free.time_ns <= second.time_ns
    if status in (0, 1, 3):
        # The interpreter dropped the last array on its way out.
        assert len(trace.changes) in (3, 4)
    else:
        assert trace.live == (second,)


def test_the_command_prints_the_file(tmp_path):
    path = tmp_path / "trace"
    assert run(PROGRAM + "    os._exit(0)", {"TPU_EMU_TRACE": str(path)}).returncode == 0
    done = run("from tpu_emu.cli import main; import sys; main(sys.argv[1:])", {}, str(path))
    assert "free f32[8,129]{1,0:T(8,128)} on TPU_0 device at 0x0" in done.stdout
    assert "1 live allocations, 512 bytes" in done.stdout


def test_a_dash_prints_the_changes_on_standard_error():
    done = run(PROGRAM + "    os._exit(0)", {"TPU_EMU_TRACE": "-"})
    assert done.returncode == 0
    assert done.stdout == ""
    heads = re.findall(
        r"^\[ *\d+\.\d+\] (\w+) (TPU_\d \w+) \S+ (\w+\[[\d,]*\])", done.stderr, re.MULTILINE
    )
    assert heads == [
        ("allocate", "TPU_0 device", "f32[8,129]"),
        ("free", "TPU_0 device", "f32[8,129]"),
        ("allocate", "TPU_3 device", "s32[]"),
    ]
