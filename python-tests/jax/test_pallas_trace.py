"""What traces have of kernels: the memories of cores, and what is moved."""

import json
import subprocess
from typing import Any

import pytest

import tpu_emu
from emulator import JAXLIB, output

if JAXLIB < (0, 8):
    pytest.skip("written with the names that Pallas has since JAX 0.8", allow_module_level=True)

PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def adds(n_ref, x_ref, y_ref, o_ref, scratch, done):
    def scoped(part, sem):
        copy = pltpu.make_async_copy(y_ref, part, sem)  # copies
        copy.start()
        copy.wait()
        scratch[...] = x_ref[...] + part[...]
    pl.run_scoped(scoped, pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA)
    o_ref[...] = scratch[...] * n_ref[0].astype(jnp.float32)

block = pl.BlockSpec((8, 128), lambda i, n: (i, 0))
run = jax.jit(pl.pallas_call(
    adds,
    grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(4,),
        in_specs=[block, pl.BlockSpec(memory_space=pl.ANY)], out_specs=block,
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.REGULAR((3,))]),
    out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32), name="adds"))
def launches():
    ones = jnp.ones((32, 128), jnp.float32)
    return run(jnp.array([2], jnp.int32), ones, jnp.ones((8, 128), jnp.float32))
assert np.asarray(launches()).sum() == 32 * 128 * 4
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory) -> Any:
    path = tmp_path_factory.mktemp("trace") / "run.trace"
    output(PROGRAM, {"TPU_EMU_TRACE": str(path)})
    return tpu_emu.read(path), path


def changes(trace: Any, kind: str) -> list[Any]:
    of = [change for change in trace.changes if change.space.kind == kind]
    assert {change.space.owner for change in of} == {"TPU_0"}
    return of


def taken(events: list[Any]) -> list[tuple[str, int]]:
    allocations = [event for event in events if event.kind is tpu_emu.Kind.ALLOCATE]
    assert len(events) == 2 * len(allocations)
    return [(event.label, event.size) for event in allocations]


def test_the_memories_of_a_core_have_all_that_a_kernel_takes(trace):
    vmem = taken(changes(trace[0], "vmem"))
    assert vmem[:3] == [
        ("window of operand 1, two buffers of kernel adds", 2 * 4096),
        ("window of result 0, two buffers of kernel adds", 2 * 4096),
        ("scratch 0 of kernel adds", 4096),
    ]
    points = [label.rpartition(", grid point ")[2] for label, _ in vmem[3:]]
    assert points == ["[0]", "[1]", "[2]", "[3]"]
    assert {size for _, size in vmem[3:]} == {4096}
    assert all(label.startswith("allocated by kernel adds at ") for label, _ in vmem[3:])
    [scalar] = taken(changes(trace[0], "smem"))
    assert scalar[0] == "scalar operand 0 of kernel adds"
    semaphores = taken(changes(trace[0], "semaphores"))
    assert semaphores[0] == ("scratch 1 of kernel adds", 12)
    assert [size for _, size in semaphores[1:]] == [4] * 4


def test_blocks_lie_apart_and_have_the_stack_of_the_launch(trace):
    live: dict[int, int] = {}
    for event in changes(trace[0], "vmem"):
        if event.kind is tpu_emu.Kind.FREE:
            del live[event.address]
            continue
        for start, end in live.items():
            assert event.address >= end or event.address + event.size <= start
        live[event.address] = event.address + event.size
        assert any(frame.function == "launches" for frame in event.stack)
    assert live == {}


def test_what_a_kernel_moves_is_counted(trace):
    [run] = [one for one in trace[0].dispatches if one.target == "tpu_custom_call"]
    told = {name: value.split(" ")[0] for name, value in run.attributes.items()}
    assert told == {
        "kernel": '"adds"',
        "operand 1: blocks": "4",
        "operand 1: blocks, bytes": "16384",
        "result 0: blocks": "4",
        "result 0: blocks, bytes": "16384",
        "copies": "4",
        "copies, bytes": "16384",
    }


def test_the_summary_has_the_memories_and_the_command_s_other_words_read_on(trace):
    command = tpu_emu.library_path().resolve().parent / "tpu-emu"

    def words(*arguments: str) -> str:
        return subprocess.run(
            [command, *arguments], capture_output=True, text=True, check=True
        ).stdout

    told = words("summary", str(trace[1]))
    assert "TPU_0 vmem: at most 24.0 KiB" in told
    assert "TPU_0 semaphores: at most 16 B at" in told
    spaces = json.loads(words("summary", "--json", str(trace[1])))["spaces"]
    assert [one["space"] for one in spaces if one["device"] is not None] == ["TPU_0"]
    for word in ("tree", "leaks", "padding", "holes", "timeline", "lifetimes"):
        assert words(word, str(trace[1])) != ""
    for form in ("pprof", "perfetto", "pytorch", "xspace", "collapsed", "speedscope"):
        assert subprocess.run(
            [command, "export", "--format", form, str(trace[1])], capture_output=True, check=True
        ).stdout
