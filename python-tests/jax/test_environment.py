"""Mistakes in `TPU_EMU_*` are told by name, with what would be right."""

import re

from emulator import run


def test_all_mistakes_are_told_at_once():
    wrong = {
        "TPU_EMU_HBM_BYTE": "2GiB",
        "TPU_EMU_STACKS": "some",
        "TPU_EMU_HISTORY": "-1",
        "TPU_EMU_TOPOLOGY": "v99:2x2",
    }
    done = run("import jax; jax.devices()", wrong)
    assert done.returncode == 1
    assert "TPU_EMU_HBM_BYTE is no variable of tpu-emu" in done.stderr
    assert "did you mean TPU_EMU_HBM_BYTES?" in done.stderr
    assert "TPU_EMU_STACKS=some: full, native, python or off" in done.stderr
    assert "TPU_EMU_HISTORY=-1: a number from 0" in done.stderr
    assert "TPU_EMU_TOPOLOGY=v99:2x2: " in done.stderr


def test_a_trace_file_that_cannot_be_made_is_an_error():
    done = run("import jax; jax.devices()", {"TPU_EMU_TRACE": "/nothing/here/trace"})
    assert done.returncode == 1
    assert "TPU_EMU_TRACE=/nothing/here/trace cannot be written" in done.stderr


def test_a_process_that_the_topology_does_not_have_is_an_error():
    done = run("import jax; jax.devices()", {"TPU_EMU_PROCESS_INDEX": "1"})
    assert done.returncode == 1
    assert "TPU_EMU_PROCESS_INDEX=1: the topology has 1 processes" in done.stderr


def test_the_log_has_every_call_with_its_time():
    program = "import jax; print(float(jax.device_put(2.0) * 3))"
    done = run(program, {"TPU_EMU_LOG": "debug"})
    assert done.returncode == 0, done.stderr
    log = re.sub("\x1b\\[[0-9;]*m", "", done.stdout + done.stderr)
    spans = re.findall(r'call\{function="(\w+)"\}: \S+: close time\.busy=\S+ time\.idle=', log)
    wanted = {"PJRT_Client_Create", "PJRT_Client_Compile", "PJRT_LoadedExecutable_Execute"}
    assert wanted < set(spans)
    # A filter below that level has none.
    assert "time.busy" not in run(program, {"TPU_EMU_LOG": "info"}).stderr
