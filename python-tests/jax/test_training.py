"""A small GPT learns on the plugin what it learns on XLA's CPU backend, step by step."""

import json
from functools import cache
from pathlib import Path

import tpu_emu
from emulator import output

EXAMPLE = Path(tpu_emu.__file__).resolve().parents[1] / "examples" / "train_gpt.py"
STEPS = 100
# Losses fall from 2.9 to 0.8. Sums in another order are the only difference of exact products
# (9e-7 at most in these steps with jaxlib 0.10.2); products of bf16 passes are 3e-2 apart.
TOLERANCE = 1e-4


@cache
def losses(platform: str, numerics: str) -> list[float]:
    """The loss of each step in a process of its own."""
    program = f"import sys; sys.argv = [sys.argv[1], '{STEPS}']; import runpy; "
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    environment = {"JAX_PLATFORMS": platform, "TPU_EMU_NUMERICS": numerics}
    values: list[float] = json.loads(output(program, environment, str(EXAMPLE)))
    assert len(values) == STEPS
    return values


def apart(one: list[float], two: list[float]) -> float:
    """The greatest difference of two curves."""
    return max(abs(first - second) for first, second in zip(one, two, strict=True))


def test_with_exact_products_the_losses_are_those_of_the_cpu_backend():
    emulated = losses("tpu", "ieee")
    assert emulated[0] > 2.5
    assert emulated[-1] < 1
    assert apart(emulated, losses("cpu", "ieee")) < TOLERANCE


def test_bf16_passes_train_as_well_on_another_curve():
    emulated = losses("tpu", "tpu")
    assert emulated[-1] < 1
    assert TOLERANCE < apart(emulated, losses("cpu", "ieee")) < 0.5
