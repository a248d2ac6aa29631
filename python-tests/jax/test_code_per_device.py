"""What each device does for itself inside of `shard_map`: callbacks, kernels, draws, more of it.

Callbacks run on JAX's CPU backend, so each check has a process with one beside the emulated TPU.
"""

import os
import pathlib
import subprocess
import sys

import pytest

from emulator import JAXLIB, LIBRARY

CHECKS = pathlib.Path(__file__).with_name("code_per_device.py")
SINCE = {
    "check_each_device_makes_its_own_call": (0, 4),
    "check_effects_happen_on_every_device_also_where_all_have_the_same": (0, 4),
    "check_calls_inside_of_loops_and_branches": (0, 4),
    "check_parts_of_any_size_reach_the_host": (0, 4),
    "check_draws_without_a_state_differ_between_devices": (0, 4),
    # Pallas lowered to another format before.
    "check_a_kernel_on_each_device": (0, 6),
    # Before, JAX refused callbacks where some axes of the mesh are not manual.
    "check_code_per_device_inside_of_such_code": (0, 10),
}


@pytest.mark.parametrize("check", SINCE)
def test_what_each_device_does_for_itself(check: str):
    if SINCE[check] > JAXLIB:
        pytest.skip("this version of JAX does not have it")
    variables = {"TPU_LIBRARY_PATH": str(LIBRARY), "JAX_PLATFORMS": "tpu,cpu"}
    ran = subprocess.run(
        [sys.executable, str(CHECKS), check],
        env=os.environ | variables,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.stdout == "checked\n", ran.stderr
