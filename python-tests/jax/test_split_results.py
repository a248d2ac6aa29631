"""Results of which a program does not say how they are split are split as XLA splits them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from split_programs import PROGRAMS, places

from emulator import JAXLIB

if JAXLIB < (0, 8):
    pytest.skip("XLA splits by Shardy from jaxlib 0.8 on", allow_module_level=True)


@pytest.fixture(scope="module")
def wanted() -> dict[str, object]:
    """What XLA says, for its devices on the host."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("TPU_")}
    flags = "--xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("split_programs.py")],
        env=mine | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    said: dict[str, object] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_stated_is_split_as_xla_splits_it(name: str, wanted: dict[str, object]) -> None:
    if "no equal parts" in name and JAXLIB < (0, 10):
        pytest.skip("an older jaxlib splits such a result along a part of the mesh's axis")
    assert places(*PROGRAMS[name]) == wanted[name]
