"""Programs of their own: how they end, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")


def run(name, **env):
    """The outcome of a program on eight chips."""
    environ = {k: v for k, v in os.environ.items() if k not in {"TPU_EMU_TOPOLOGY", "XLA_USE_SPMD"}}
    return subprocess.run(
        [sys.executable, PROGRAMS / f"{name}.py"],
        env=environ | env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def passed(name, **env):
    done = run(name, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_process_that_has_failed_to_compile_ends_by_itself():
    done = run("failed_graph")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "custom_call" in done.stderr + done.stdout


def test_several_processes_are_refused_by_name():
    done = run("one_array", TPU_PROCESS_BOUNDS="2,2,1", TPU_VISIBLE_CHIPS="1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "TPU_PROCESS_BOUNDS=2,2,1 asks for 4 processes" in done.stderr


@pytest.mark.parametrize("bounds", ["1,1,1", ""])
def test_the_bounds_of_one_process_are_accepted(bounds):
    assert passed("one_array", TPU_PROCESS_BOUNDS=bounds).strip() == "[2.0, 2.0]"


def test_a_split_array_and_its_product_are_whole_in_a_program_of_their_own():
    assert passed("spmd_step").strip() == "(16, 6) {devices=[8,1]<=[8]}"
