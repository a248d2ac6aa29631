"""StableHLO programs that check themselves: every value that `main` returns must be true."""

from pathlib import Path
from typing import Any

import jax
import jaxlib.xla_client
import numpy as np
import pytest

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.mlir"))


def compiled(text: str) -> Any:
    """A program for the first device, in the words of this jaxlib."""
    device = jax.devices()[0]
    options = jaxlib.xla_client.CompileOptions()
    if hasattr(device.client, "compile_and_load"):
        devices = jaxlib.xla_client.DeviceList((device,))
        return device.client.compile_and_load(text, devices, options)
    return device.client.compile(text, options)


def test_there_are_programs():
    assert len(PROGRAMS) > 4


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_value_of_a_program_is_true(path):
    results = compiled(path.read_text()).execute_sharded([])
    for [value] in results.disassemble_into_single_device_arrays():
        assert value.dtype == np.bool_
        assert np.asarray(value).all(), np.asarray(value)


def test_a_program_that_is_wrong_is_told_so():
    text = (PROGRAMS[0].parent / "integers.mlir").read_text().replace("EQ", "NE")
    [[value]] = compiled(text).execute_sharded([]).disassemble_into_single_device_arrays()
    assert not np.asarray(value).all()


def test_text_that_is_no_program_is_an_error_and_the_next_program_runs():
    with pytest.raises(Exception, match="expected"):
        compiled("module { func.func public @main() -> tensor<f32> {")
    assert jax.jit(lambda x: x + 1)(1) == 2
