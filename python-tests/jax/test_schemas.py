"""What commands print with --json is as docs/schemas says."""

import copy
import json
from pathlib import Path

import pytest
from schema import faults
from test_command import command

from emulator import run

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"

PROGRAM = """
    import jax
    import numpy as np

    @jax.jit
    def step(x):
        return (x @ x).sum()

    kept = [jax.device_put(np.ones((64, 100), np.float32)) for _ in range(4)]
    jax.block_until_ready(step(jax.device_put(np.ones((100, 100), np.float32))))
    try:
        jax.block_until_ready(jax.device_put(np.ones((1024, 1024), np.float32)))
    except RuntimeError as error:
        print("refused")
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("schemas") / "run.trace"
    done = run(PROGRAM, {"TPU_EMU_TRACE": str(path), "TPU_EMU_HBM_BYTES": "3MiB"})
    assert done.stdout.strip() == "refused", done
    return path


def printed(path: Path, name: str) -> dict:
    words: dict[str, list[str | Path]] = {
        "diff": ["diff", path, path],
        "fit": ["fit", path, "--hbm", "1MiB"],
    }
    done = command(*words.get(name, [name, path]), "--json")
    assert done.returncode == (3 if name == "fit" else 0), done
    return json.loads(done.stdout)


NAMES = [
    *["autopsy", "diff", "fit", "holes", "leaks", "lifetimes", "padding", "summary", "timeline"],
    "tree",
]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_is_as_the_schema_says(path, name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    answer = printed(path, name)
    assert faults(answer, schema, schema) == []
    # A schema that takes everything would say nothing.
    for field in schema["required"]:
        less = copy.deepcopy(answer)
        del less[field]
        assert faults(less, schema, schema) == [f"$: no {field}"]
    assert faults({**answer, "mood": 1}, schema, schema) == ["$: mood is not in the schema"]
