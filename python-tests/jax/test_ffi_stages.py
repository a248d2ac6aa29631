"""Handlers in stages, with states, scratch memory, threads and futures."""

import ctypes
import gc
import threading

import jax
import numpy as np
import pytest
from jaxlib import xla_client

import handlers
import tpu_emu
from emulator import run
from handlers import PROGRAM, call, ffi, register, shape

X = np.arange(1000, dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def _counts() -> None:
    """The type and the bundle of stages.cc, as this jaxlib takes them."""
    jax.devices()
    number = handlers.pointer("stages_type_id")
    if hasattr(xla_client, "register_custom_type"):
        fields = {"type_id": number, "type_info": handlers.pointer("stages_type_info")}
        xla_client.register_custom_type("stages.Counts", fields, platform="tpu")
    else:
        xla_client.register_custom_type_id(  # type: ignore[attr-defined]
            "stages.Counts", number, platform="tpu"
        )
    ffi.register_ffi_target("stages", handlers.bundle("stages"), platform="tpu")


def live_states() -> int:
    """States of stages.cc that are alive, after what Python has forgotten is gone."""
    gc.collect()
    count = handlers.library().stages_live_states
    count.restype = ctypes.c_int64
    return count()


def counting(start: int = 0, calls: int = 1) -> jax.stages.Wrapped:
    """A program that gives what each stage counted, for each of its calls."""
    function = ffi.ffi_call("stages", shape((3,), np.int32), has_side_effect=True)
    return jax.jit(lambda: [function(start=np.int64(start)) for _ in range(calls)])


def test_each_stage_runs_as_often_as_it_should():
    program = counting().lower().compile()
    for turn in range(1, 4):
        [counts] = program()
        assert list(np.asarray(counts)) == [turn, turn, turn]


def test_each_place_in_a_program_has_a_state_of_its_own():
    program = counting(calls=3).lower().compile()
    for turn in range(1, 3):
        for counts in program():
            assert list(np.asarray(counts)) == [turn, turn, turn]


def test_a_state_lives_as_long_as_its_program():
    before = live_states()
    one, three = counting(1).lower().compile(), counting(2, calls=3).lower().compile()
    assert live_states() == before + 4
    jax.block_until_ready((one(), three()))
    del one
    jax.clear_caches()
    assert live_states() == before + 3
    del three
    jax.clear_caches()
    assert live_states() == before


def test_an_attribute_that_instantiate_refuses_is_an_error_of_the_compilation():
    before = live_states()
    with pytest.raises(Exception, match="start is below 0"):
        counting(-1).lower().compile()
    assert live_states() == before


def test_a_call_in_a_loop_executes_each_time_and_is_prepared_once():
    function = ffi.ffi_call("stages", shape((3,), np.int32), has_side_effect=True)

    @jax.jit
    def loop():
        body = lambda _, counts: counts * 0 + function(start=np.int64(0))  # noqa: E731
        return jax.lax.fori_loop(0, 5, body, np.zeros(3, np.int32))

    assert list(np.asarray(loop())) == [1, 1, 5]


@pytest.mark.parametrize("size", [4000, 4096, 1 << 20])
def test_scratch_memory_is_taken_for_the_time_of_the_call(size):
    register("scratch_reverse")
    before = len(tpu_emu.snapshot().live)
    result = call("scratch_reverse", shape((1000,)), X, attributes={"bytes": np.int64(size)})
    np.testing.assert_array_equal(np.asarray(result), X[::-1])
    del result
    gc.collect()
    assert len(tpu_emu.snapshot().live) <= before + 1


def test_the_trace_tells_who_took_scratch_memory(tmp_path):
    program = f"""{PROGRAM}
    library = ctypes.CDLL(sys.argv[1])
    ffi.register_ffi_target(
        "scratch_reverse", ffi.pycapsule(library.scratch_reverse), platform="tpu"
    )

    def my_own_function():
        x = np.arange(8, dtype=np.float32)
        reverse = ffi.ffi_call("scratch_reverse", jax.ShapeDtypeStruct((8,), np.float32))
        return jax.jit(lambda x: reverse(x, bytes=np.int64(123_456)))(x)

    jax.block_until_ready(my_own_function())
    """
    file = tmp_path / "run.trace"
    done = run(program, {"TPU_EMU_TRACE": str(file)}, str(handlers.path()))
    assert done.returncode == 0, done.stderr
    trace = tpu_emu.read(file)
    taken = [change for change in trace.changes if 123_456 <= change.size < 130_000]
    assert [change.kind.value for change in taken] == ["allocate", "free"]
    frames = [str(frame) for frame in taken[0].stack]
    handler = [n for n, frame in enumerate(frames) if "scratch.cc" in frame]
    user = [n for n, frame in enumerate(frames) if "my_own_function" in frame]
    assert handler
    assert user
    assert max(handler) < min(user)
    [dispatch] = [entry for entry in trace.dispatches if entry.target == "scratch_reverse"]
    assert (dispatch.device, dispatch.error, dispatch.stage) == (0, None, tpu_emu.Stage.EXECUTE)
    assert dispatch.scratch == ((taken[0].address, taken[0].size),)
    assert "123456" in dispatch.attributes["bytes"]


@pytest.mark.parametrize("tasks", [1, 3, 16])
def test_the_devices_threads_run_tasks(tasks):
    register("parallel_square")
    result = call("parallel_square", shape((1000,)), X, attributes={"tasks": np.int64(tasks)})
    np.testing.assert_array_equal(np.asarray(result), X * X)


def test_there_is_a_thread():
    register("thread_count")
    assert call("thread_count", shape((), np.int32)) >= 1


def test_a_future_ends_the_call():
    register("future_negate")
    function = ffi.ffi_call("future_negate", shape((1000,)))
    result = jax.jit(lambda x: function(function(x) * 2) + 1)(X)
    np.testing.assert_array_equal(np.asarray(result), 2 * X + 1)


def test_a_promise_that_nobody_fulfils_fails_the_call_in_time():
    program = f"""{PROGRAM}
    library = ctypes.CDLL(sys.argv[1])
    for name in ("future_never", "copy_any"):
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(library, name)), platform="tpu")
    try:
        call("future_never")
    except Exception as error:
        print(error)
    print(call("copy_any"))
    """
    done = run(program, {"TPU_EMU_FFI_TIMEOUT": "1"}, str(handlers.path()))
    assert "future_never" in done.stdout, done.stderr
    assert "DEADLINE_EXCEEDED" in done.stdout
    assert done.stdout.endswith("3.0\n")


def test_eight_threads_call_handlers_at_once():
    names = ["parallel_square", "future_negate", "scratch_reverse", "copy_any"]
    for name in names:
        register(name)
    attributes = [{"tasks": np.int64(4)}, {}, {"bytes": np.int64(1 << 14)}, {}]
    expected = [X * X, -X, X[::-1], X]
    wrong, start = [], threading.Barrier(8)

    def work(number: int) -> None:
        kind = number % len(names)
        function = ffi.ffi_call(names[kind], shape((1000,)))
        program = jax.jit(lambda x: function(x, **attributes[kind]))
        x = jax.device_put(X, jax.devices()[number])
        start.wait()
        for _ in range(25):
            is_right = np.array_equal(np.asarray(program(x)), expected[kind])
            wrong.extend([] if is_right else [names[kind]])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
