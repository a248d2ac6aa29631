"""Programs of their own: how they end, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("programs")


def run(name, *arguments, **env):
    """The outcome of a program on eight chips."""
    environ = {k: v for k, v in os.environ.items() if k not in {"TPU_EMU_TOPOLOGY", "XLA_USE_SPMD"}}
    return subprocess.run(
        [sys.executable, PROGRAMS / f"{name}.py", *arguments],
        env=environ | env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def passed(name, *arguments, **env):
    done = run(name, *arguments, **env)
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


@pytest.mark.parametrize("what", ["collectives", "training", "one"])
def test_launch_starts_a_thread_for_each_chip(what):
    assert passed("ranks", what).strip() == "ended"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("disagreement", ["the replicas do not agree: ", "TPU_5 is at ", "_ops.py:"]),
        ("too_few", ["the replicas do not agree: ", "TPU_2 had ended", "_ops.py:"]),
    ],
)
def test_ranks_that_do_not_agree_are_told_who_is_where(what, words):
    # With these torch_xla says where its operations come from: a line of torch's own.
    done = run("ranks", what, XLA_IR_DEBUG="1", XLA_HLO_DEBUG="1")
    assert done.returncode == 1, done.stdout + done.stderr
    for word in words:
        assert word in done.stderr


def test_launch_without_the_plugin_counts_chips_on_the_bus():
    """As docs/torch-xla.md says; where torch_xla finds another way, the page is to be changed."""
    done = run("unregistered")
    assert done.returncode == 1
    assert "max_workers must be greater than 0" in done.stderr
