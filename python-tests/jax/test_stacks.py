"""The stack of an allocation: from the user's line to the heap, Python and native in one."""

import inspect
import threading
from pathlib import Path

import jax
import numpy as np
import pytest

import tpu_emu
from emulator import JAXLIB, output

HERE = Path(__file__).name

# jaxlib's part of `jax.device_put`, outermost first. The bindings moved from one namespace to
# another with 0.7.
BINDINGS = "xla" if JAXLIB < (0, 7) else "jax"
NATIVE = [
    f"{BINDINGS}::PyArray::BatchedDevicePut",
    "xla::ifrt::PjRtClient::MakeArrayFromHostBuffer",
    "xla::PjRtCApiClient::BufferFromHostBuffer",
    "PJRT_Client_BufferFromHostBuffer",
    "allocate_destination_buffer",
    "Heap<R>::allocate",
]


def line() -> int:
    """The line that calls this."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def stack_of_the_one_allocation() -> list[tpu_emu.Frame]:
    """Outermost frame first."""
    [change] = tpu_emu.snapshot().live
    return list(reversed(change.stack))


def assert_in_order(stack: list[tpu_emu.Frame], wanted: list[str]) -> None:
    """The texts of the frames contain the wanted ones, in this order."""
    rest = iter(tpu_emu.frame_text(frame) for frame in stack)
    for text in wanted:
        assert any(text in frame for frame in rest), f"{text} is missing or out of order"


def test_device_put_leads_from_the_users_line_to_the_heap():
    array, here = jax.device_put(1), line()
    stack = stack_of_the_one_allocation()
    own = f"{HERE}:{here} {inspect.stack()[0].function}"
    assert_in_order(stack, ["_start", own, "api.py", "batched_device_put", *NATIVE])
    assert_in_order(stack, [own, " device_put"])
    array.delete()


def test_the_innermost_frame_is_the_heap_and_not_the_recording():
    array = jax.device_put(np.zeros(3, np.float32))
    innermost = stack_of_the_one_allocation()[-1]
    assert innermost.function.endswith("Heap<R>::allocate")
    assert innermost.file.endswith("tpu-emu/src/hbm/heap.rs")
    assert innermost.line > 0
    assert "libpjrt_tpu_emu" in innermost.module
    array.delete()


def test_every_frame_has_a_name_and_a_place():
    array = jax.device_put(1)
    stack = stack_of_the_one_allocation()
    for frame in stack:
        assert frame.function
        assert frame.file if frame.python else frame.module, frame
    assert any(frame.python for frame in stack)
    assert not all(frame.python for frame in stack)
    array.delete()


def deeper(depth: int) -> jax.Array:
    return jax.device_put(1) if depth == 0 else deeper(depth - 1)


@pytest.mark.parametrize("depth", [0, 1, 100])
def test_every_python_frame_is_there_once(depth):
    array = deeper(depth)
    stack = stack_of_the_one_allocation()
    ours = [frame.function for frame in stack if Path(frame.file).name == HERE]
    assert ours == ["test_every_python_frame_is_there_once", *["deeper"] * (depth + 1)]
    array.delete()


def test_two_lines_have_two_stacks_and_one_line_has_one():
    arrays = [jax.device_put(turn) for turn in range(3)]
    arrays.append(jax.device_put(3))
    first, second, third, other = (change.stack for change in tpu_emu.snapshot().live)
    assert first == second == third != other
    for array in arrays:
        array.delete()


def test_the_thread_is_the_operating_systems_number():
    taken: dict[int, jax.Array] = {}

    def take() -> None:
        taken[threading.get_native_id()] = jax.device_put(1)

    take()
    other = threading.Thread(target=take)
    other.start()
    other.join()
    assert [change.thread for change in tpu_emu.snapshot().live] == list(taken)
    for array in taken.values():
        array.delete()


PROGRAM = """
    import os, sys
    import jax, tpu_emu

    def taker():
        return jax.device_put(1)

    def giver(array):
        array.delete()

    giver(taker())
    taken, given = tpu_emu.read(sys.argv[1]).changes
    for change in (taken, given):
        python = {frame.function for frame in change.stack if frame.python}
        native = any("PyArray::" in frame.function for frame in change.stack)
        print(len(change.stack) > 0, "taker" in python, "giver" in python, native)
"""


@pytest.mark.parametrize(
    ("mode", "taken", "given"),
    [
        ("full", "True True False True", "True False True True"),
        ("python", "True True False False", "True False True False"),
        ("native", "True False False True", "True False False True"),
        ("off", "False False False False", "False False False False"),
    ],
)
def test_the_environment_chooses_the_frames_of_allocations_and_frees(tmp_path, mode, taken, given):
    path = str(tmp_path / "trace")
    printed = output(PROGRAM, {"TPU_EMU_TRACE": path, "TPU_EMU_STACKS": mode}, path)
    assert printed.splitlines() == [taken, given]


UNWOUND = """
    import sys
    import jax, jax.numpy as jnp, tpu_emu

    def deeper(depth, what):
        return list(map(lambda _: deeper(depth - 1, what), [0]))[0] if depth else what()

    # A run whose argument is not there yet goes on in the background, and a program that nobody
    # holds is given up by one thread or another: their stacks differ from process to process.
    four = jnp.arange(4.0).block_until_ready()
    wave = jax.jit(lambda x: jnp.sin(x) + 1)
    one = deeper(0, lambda: jax.device_put(1))
    two = deeper(40, lambda: jax.device_put([1.0, 2.0]))
    three = deeper(3, lambda: wave(four).block_until_ready())
    del one, two, three, four
    for change in tpu_emu.read(sys.argv[1]).changes:
        print(len(change.stack), *map(tpu_emu.frame_text, change.stack), sep="\\n")
"""


def test_both_unwinders_find_the_same_frames_of_whole_programs(tmp_path):
    def by(unwinder: str) -> str:
        path = str(tmp_path / unwinder)
        return output(UNWOUND, {"TPU_EMU_TRACE": path, "TPU_EMU_UNWINDER": unwinder}, path)

    compiled, backtrace = by("compiled"), by("backtrace")
    assert "PJRT_LoadedExecutable_Execute" in compiled
    assert compiled.count("_PyEval_EvalFrameDefault") > 50
    assert compiled.splitlines() == backtrace.splitlines()
