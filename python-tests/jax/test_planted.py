"""Programs that leak, pad and fragment on purpose: what is said of them, byte by byte."""

import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_command import command, printed

import tpu_emu
from emulator import run

# Each step is a mark, and what the client itself says of its memory then.
STEP = """
    import functools, json, os, sys, threading
    import jax
    import jax.numpy as jnp
    import numpy as np
    import tpu_emu

    ADVICE = os.environ.get("ADVICE")
    told = []

    def step():
        jax.block_until_ready(jax.live_arrays())
        tpu_emu.mark(f"step {len(told)}")
        stats = [device.memory_stats() for device in jax.local_devices()]
        told.append([(of["bytes_in_use"], of["peak_bytes_in_use"]) for of in stats])

    def ones(mib):
        return np.ones((mib, 256, 1024), np.float32)

"""

END = """
    step()
    print(json.dumps(told))
"""

# What leaks does so in the function `leak`; a second, smaller leak is in `other`.
PLANTED = {
    "closures and caches": """
    hooks = []

    @functools.lru_cache(maxsize=None)
    def other(rows):
        return jnp.arange(rows * 128, dtype=jnp.float32).reshape(rows, 128)

    def leak(number):
        batch = jax.device_put(np.full((512, 129), number, np.float32))
        hooks.append(lambda: batch.sum())

    for number in range(1, 9):
        passing = other(8 * number) * 2
        leak(number)
        step()
    """,
    "columns of bf16": """
    kept = []

    def other():
        kept.append(jax.device_put(np.ones((64, 128), np.float32)))

    def leak():
        kept.append(jax.device_put(np.ones((4096, 1), jnp.bfloat16)))

    for _ in range(6):
        leak()
        step()
    other()
    """,
    "arrays of threads, deleted out of order": """
    kept = {}

    def other():
        kept["other"] = jnp.ones((8, 1024)) + 1

    def leak(number):
        kept[number] = jax.device_put(np.full((64, 256), number, np.float32))

    for round in range(3):
        workers = [threading.Thread(target=leak, args=(3 * round + n,)) for n in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        kept.pop(3 * round + 1).delete()
        step()
    other()
    """,
    "several devices": """
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("x",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    add = jax.jit(lambda x: x + 1, out_shardings=split)
    kept = []

    def leak(x):
        kept.append(add(x))

    def other(device):
        kept.append(jax.device_put(np.ones(300, np.float32), device))

    x = jax.device_put(np.ones((64, 1024), np.float32), split)
    step()
    for device in jax.devices():
        leak(x)
        other(device)
        step()
    x.delete()
    """,
    "temporaries and an evaluation between steps": """
    kept = []

    @jax.jit
    def attention(x):
        scores = jax.nn.softmax(jnp.sort(x @ x.T, axis=1), axis=-1)
        return scores @ x

    def other(x):
        return jnp.ones((512, 128)) + x[0, 0]

    def leak(x):
        kept.append(jnp.copy(x))

    x = jax.device_put(np.ones((512, 64), np.float32))
    for number in range(4):
        x = attention(x)
        leak(x)
        step()
        if number == 2:
            held = jax.device_put(ones(3))
            step()
            del held
    last = other(x)
    """,
    "constants that a function has captured": """
    table = np.random.default_rng(0).normal(size=(256, 1024)).astype(np.float32)
    look = jax.jit(lambda rows: rows @ table)
    kept = []

    def leak(rows):
        return look(rows)

    def other(number):
        kept.append(jax.device_put(np.full((8, 128), number, np.float32)))

    rows = jax.device_put(np.ones((4, 256), np.float32))
    for number in range(3):
        other(number)
        passing = leak(rows)
        step()
    """,
}


def traced(program: str, path: Path, **environment: str) -> list[list[list[int]]]:
    """Runs a program with a trace; gives what it says of its memory, by step, then device."""
    topology = {"TPU_EMU_TOPOLOGY": "v5e:2x2"}
    done = run(STEP + program + END, {"TPU_EMU_TRACE": str(path), **topology, **environment})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=list(PLANTED.values()), ids=list(PLANTED))
def planted(request, tmp_path_factory) -> tuple[Path, list[list[list[int]]]]:
    """A trace of such a program, and what the program said."""
    path = tmp_path_factory.mktemp("planted") / "run.trace"
    return path, traced(request.param, path)


def test_the_bytes_of_every_step_are_those_of_memory_stats_and_of_the_ledger(planted):
    path, told = planted
    trace = tpu_emu.read(path)
    for number, of in enumerate(told):
        for device, (in_use, _) in enumerate(of):
            held = trace.held(f"step {number}", "line", device)
            assert (held.size, sum(origin.size for origin in held.origins)) == (in_use, in_use)
    live: dict[tuple[str, int], int] = {}
    most: dict[str, int] = {}
    for change in trace.changes:
        place = (str(change.space), change.address)
        if change.kind is tpu_emu.Kind.ALLOCATE:
            live[place] = change.size
            held_now = sum(size for (space, _), size in live.items() if space == place[0])
            most[place[0]] = max(most.get(place[0], 0), held_now)
        else:
            assert live.pop(place) == change.size
    assert live == {}
    summary = printed("summary", path)
    for space in summary["spaces"]:
        if space["device"] is None:
            continue
        in_use, peak = told[-1][space["device"]]
        sizes = [space[at]["size"]["in_memory"] for at in ("end", "peak")]
        assert sizes == [in_use, peak]
        assert sum(row["size"]["in_memory"] for row in space["peak"]["rows"]) == peak
    assert max(most.values()) == max(peak for _, peak in told[-1])


def test_the_planted_lines_stand_first(planted):
    path, _ = planted
    first, second, *_ = (row["key"].rpartition(" ")[2] for row in printed("leaks", path)["rows"])
    assert (first, second) == ("leak", "other")
    for space in printed("summary", path)["spaces"]:
        [row, *_] = space["end"]["rows"]
        assert row["key"].endswith(" leak")
    assert " leak\n" in command("tree", path, "--at", "end", "--least", "0").stdout.decode()


def test_a_trace_lies_in_its_own_memory_as_it_did(planted):
    path, _ = planted
    found = json.loads(command("fit", path, "--hbm", "16GiB", "--json").stdout)
    assert (found["fits"], found["careful"]) == (True, [])


def test_what_a_function_held_when_it_returned_can_be_asked_for(tmp_path):
    program = """
    def leak():
        return jax.device_put(np.ones((64, 256), np.float32))

    def main():
        kept = [leak() for _ in range(5)]
        step()

    main()
    """
    path = tmp_path / "run.trace"
    traced(program, path)
    assert printed("leaks", path)["rows"] == []
    said = command("leaks", path).stdout.decode()
    assert "5 blocks lived behind the last allocation" in said
    [row] = printed("leaks", path, "--to", "allocated")["rows"]
    assert (row["key"].rpartition(" ")[2], row["blocks"]) == ("leak", 5)


# Launched ahead of what is ready, with temporaries, donations and frees in between; at its end
# there is no room.
TIGHT = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    kept, passing = [], []

    @jax.jit
    def work(x):
        return jnp.tanh(jnp.sort(x @ x.T, axis=1)) @ x

    take = jax.jit(lambda x, y: x + y, donate_argnums=0)
    x = jax.device_put(np.ones((256, 128), np.float32))
    for number in range(40):
        x = take(x, work(x))
        kept.append(x[: number + 1] * 2)
        passing.append(work(x))
        if number % 3 == 2:
            passing.pop(0)
            kept[number // 2].delete()
    big = jax.block_until_ready(jax.device_put(np.ones((4, 256, 1024), np.float32)))
"""


def test_addresses_holes_and_refusal_are_the_same_in_every_run_on_a_busy_machine(tmp_path):
    program = textwrap.dedent(TIGHT)
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(2 * (os.cpu_count() or 1))
    ]

    def once(number: int) -> tuple[list[tuple[str, int, int]], str]:
        path = tmp_path / f"{number}.trace"
        done = run(program, {"TPU_EMU_TRACE": str(path), "TPU_EMU_HBM_BYTES": "6MiB"})
        assert "RESOURCE_EXHAUSTED" in done.stderr, done.stderr
        refusal = done.stderr[done.stderr.index("RESOURCE_EXHAUSTED") :]
        changes = tpu_emu.read(path).changes
        return [(of.kind.name, of.address, of.size) for of in changes if of.device == 0], refusal

    try:
        with ThreadPoolExecutor(2) as pool:
            first, *others = pool.map(once, range(4))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    (changes, refusal), at = first, [kind for kind, *_ in first[0]].index("OUT_OF_MEMORY")
    assert at > 200
    assert "largest hole: " in refusal
    for other_changes, other_refusal in others:
        assert other_changes[: at + 1] == changes[: at + 1]
        assert other_refusal == refusal
