"""Mistakes in `TPU_EMU_*` are told by name, with what would be right."""

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
