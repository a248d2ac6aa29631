"""What is found in kernels that are watched: memory that nobody has written, and races."""

import functools
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator import JAXLIB, output

if JAXLIB < (0, 8):
    pytest.skip("written with the names that Pallas has since JAX 0.8", allow_module_level=True)

from watched_kernels import KERNELS, marked

HERE = Path(__file__).parent
TOPOLOGIES = {"watched_subcores.py": "v6e:1x1", "watched_cores.py": "v5p:2x2x1"}
NAMES = [function.__name__ for function, _ in KERNELS]


@functools.cache
def watched(order: str, name: str = "watched_kernels.py") -> dict[str, list[str]]:
    environment = {"TPU_EMU_PALLAS_CHECK": "uninit,races", "TPU_EMU_PALLAS_DMA": order}
    if name in TOPOLOGIES:
        environment["TPU_EMU_TOPOLOGY"] = TOPOLOGIES[name]
    program = (
        f"import runpy, sys; sys.path.append({str(HERE)!r}); "
        f"runpy.run_path({str(HERE / name)!r}, run_name='__main__')"
    )
    found: dict[str, list[str]] = json.loads(output(program, environment))
    return found


@pytest.mark.parametrize("order", ["late", "early", "random:3"])
@pytest.mark.parametrize(("function", "said"), KERNELS, ids=NAMES)
def test_a_mistake_is_told_and_the_same_without_it_is_not(function, said, order):
    wrong, right = watched(order)[function.__name__]
    assert said in wrong
    assert "watched_kernels.py" in wrong
    assert right == ""


@pytest.mark.parametrize(("function", "said"), KERNELS, ids=NAMES)
def test_the_line_of_the_mistake_is_told_first(function, said):
    wrong, _ = watched("late")[function.__name__]
    first = wrong.split(said)[0]
    assert f"watched_kernels.py:{marked(function)}:" in first, wrong


@pytest.mark.skipif(JAXLIB < (0, 10), reason="names of cores and kernels since JAX 0.10")
@pytest.mark.parametrize(
    ("name", "kernels", "orders"),
    [
        ("watched_subcores", "KERNELS_OF_SUBCORES", ["late", "early"]),
        ("watched_cores", "KERNELS_OF_CORES", ["late"]),
        ("watched_forms", "KERNELS_OF_FORMS", ["late"]),
        ("watched_rings", "KERNELS_OF_RINGS", ["late"]),
    ],
    ids=["subcores", "cores", "forms", "rings"],
)
def test_mistakes_of_cores_and_libraries_are_told_and_the_same_without_are_not(
    name, kernels, orders
):
    # Older ones of JAX cannot import them.
    every = getattr(importlib.import_module(name), kernels)
    for order in orders:
        found = watched(order, f"{name}.py")
        for function, said in every:
            wrong, right = found[function.__name__]
            assert said in wrong, function
            assert right == "", function
            if order == "late":
                first = wrong.split(said)[0] if said in ("race", "deadlock") else wrong
                assert f"{name}.py:{marked(function)}:" in first, wrong


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("late", ["test_pallas.py", "test_pallas_devices.py"]),
        ("early", ["test_pallas_devices.py"]),
        ("random:1", ["test_pallas_devices.py"]),
    ],
)
def test_nothing_is_found_in_kernels_without_mistakes(order, names):
    files = [HERE / name for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    environment = {"TPU_EMU_PALLAS_CHECK": "uninit,races", "TPU_EMU_PALLAS_DMA": order}
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
