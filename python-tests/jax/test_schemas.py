"""What commands print with --json is as docs/schemas says."""

import copy
import json
from pathlib import Path

import pytest
from schema import SCHEMAS, faults, misfits, schema_of
from test_command import command

from emulator import run

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
    *["autopsy", "diff", "fit", "holes", "leaks", "lifetimes", "padding", "plans", "summary"],
    "timeline",
    "tree",
]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_is_as_the_schema_says(path, name):
    schema = schema_of(name)
    answer = printed(path, name)
    assert faults(answer, schema, schema) == []
    # A schema that takes everything would say nothing.
    for field in schema["required"]:
        less = copy.deepcopy(answer)
        del less[field]
        assert faults(less, schema, schema) == [f"$: no {field}"]
    assert faults({**answer, "mood": 1}, schema, schema) == ["$: mood is not in the schema"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("guidebook", ["guidebook", "--frames", "full"]),
        ("walkthrough", ["walkthrough", "--json", "--most", "3"]),
        ("top", ["top", "--by", "array"]),
    ],
)
def test_what_commands_that_follow_calls_print_is_as_the_schema_says(path, name, words):
    done = command(*words, *([] if "--json" in words else ["--json"]), path)
    assert done.returncode == 0, done
    answer = json.loads(done.stdout)
    assert answer
    assert misfits(name, answer) == []


def test_one_topology_and_all_of_them_are_as_the_schema_says():
    for words in ([], ["v5p:2x2x1,num_slices=2"], ["v4:4x4x4"]):
        assert (
            misfits("topologies", json.loads(command("topologies", "--json", *words).stdout)) == []
        )
    assert misfits("topologies", {"kind": "TPU v4"}) != []


def objects(schema: object) -> list[dict]:
    """All objects that a schema tells of."""
    if isinstance(schema, list):
        return [found for one in schema for found in objects(one)]
    if not isinstance(schema, dict):
        return []
    below = [found for one in schema.values() for found in objects(one)]
    return below + ([schema] if schema.get("type") == "object" else [])


@pytest.mark.parametrize("name", sorted(path.stem for path in SCHEMAS.glob("*.json")))
def test_a_schema_names_every_field_and_allows_no_other(name):
    schema = schema_of(name)
    assert schema["title"].startswith(f"tpu-emu {name} --json")
    for found in objects(schema):
        assert found["additionalProperties"] is False
        assert found["required"] == list(found["properties"])
