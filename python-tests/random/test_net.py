"""The net of random programs finds faults that are planted into what it compares."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import search

HERE = Path(__file__).resolve().parent
# A program in which the order of elements, a sum and a loop matter, in place of a random one.
PROGRAM = """
import json, sys
import numpy as np
import jax
import worker, generate, values
from generate import Line, Value

program = generate.Program(1)
shapes = {"v0": (2, 3, 4), "v1": (4, 2, 3), "v2": (4, 2, 3), "v3": (2, 3)}
program.values = {name: Value(name, shape, "float32") for name, shape in shapes.items()}
program.arguments = [program.values["v0"]]
program.lines = [
    Line("v1", "lax.transpose(v0, (2, 0, 1))", ("v0",), "exact"),
    Line("v2", "lax.add(v1, v1)", ("v1",), "exact"),
    Line("v3", "jnp.sum(v2, axis=0)", ("v2",), "sum", 8),
]
program.results = ["v2", "v3"]
"""
REPORT = """
check = worker.Check(program)
check.all()
print(json.dumps(check.problems))
"""
FAULTS = {
    "nothing": ("", None),
    "the whole program has another order of elements": (
        """
text = generate.Program.text
generate.Program.text = lambda self: text(self).replace("transpose(v0", "transpose(v0[:, ::-1]")
""",
        "v2 together differs",
    ),
    "a line gives what XLA does not give": (
        """
on_cpu = worker.on_cpu
worker.on_cpu = lambda lines: [of + np.float32(1e-3) for of in on_cpu(lines)]
""",
        "lax.add(v1, v1): ",
    ),
    "an argument that is given away changes the result": (
        """
whole = worker.Check.whole
def changed(self, donate, runs):
    all = whole(self, donate=donate, runs=runs)
    return [[of + np.float32(donate) for of in one] for one in all]
worker.Check.whole = changed
""",
        "v2 given away differs",
    ),
    "a later run gives something else": (
        """
whole = worker.Check.whole
def changed(self, donate, runs):
    all = enumerate(whole(self, donate=donate, runs=runs))
    return [[of + np.float32(number == 2) for of in one] for number, one in all]
worker.Check.whole = changed
""",
        "v2 in run 2 differs",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str):
    code, wanted = FAULTS[fault]
    environment = os.environ | search.COMMON | {"TPU_EMU_NUMERICS": "ieee", "PYTHONPATH": str(HERE)}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM + code + REPORT],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    problems = json.loads(ended.stdout.splitlines()[-1])
    if wanted is None:
        assert problems == []
    else:
        assert any(wanted in problem for problem in problems), problems


def test_another_result_in_another_process_and_an_early_end_are_told(
    monkeypatch: pytest.MonkeyPatch,
):
    def other(way: search.Way, first: int, _count: int, _seconds: float) -> search.Found:
        odd = way == search.WAYS[2]
        found = search.Found(str(way), {first: "b" if odd else "a"})
        if way == search.WAYS[3]:
            found.died[first + 1] = "ended with -11: "
        return found

    monkeypatch.setattr(search, "run", other)
    problems = search.batch(7, 2, 1)
    assert sorted(problems) == [7, 8]
    assert "other results" in problems[7][0]
    assert "ended with -11" in problems[8][0]
