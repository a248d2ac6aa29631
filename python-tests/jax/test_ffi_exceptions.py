"""C++ exceptions that leave a handler are errors of their call; the device goes on."""

import gc
import platform

import jax
import numpy as np
import pytest
from test_ffi_errors import failure

import handlers
from handlers import STAGES, call, register, shape

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="an exception ends the process on this processor"
)

KINDS = {
    "threw std::runtime_error: the matrix is singular, which nobody expected": 0,
    "threw int: 42": 1,
    "threw char const*: only words": 2,
    "threw exceptions::Plain": 3,
    "threw exceptions::Failure: behind two bases": 4,
    "threw std::out_of_range: thrown again": 5,
}
NOTHING = 6


def attributes(stage: int, kind: int) -> dict[str, np.int64]:
    """What a call tells the handlers: in which stage to throw what."""
    return {"stage": np.int64(stage), "kind": np.int64(kind)}


@pytest.fixture(scope="module")
def live():
    """How many objects of the thrown kind there are; none are left at the end."""
    jax.devices()
    stages = {stage: handlers.capsule(f"exceptions_{stage}") for stage in STAGES}
    handlers.ffi.register_ffi_target("exceptions", stages, platform="tpu")
    register("exceptions_uncaught")
    live = handlers.library().exceptions_live
    assert live() == 0
    yield live
    assert live() == 0


def uncaught() -> int:
    """What a handler sees that asks on a thread of the device."""
    return int(call("exceptions_uncaught", shape((), np.int32), has_side_effect=True))


@pytest.mark.parametrize("stage", range(len(STAGES)), ids=STAGES)
@pytest.mark.parametrize("text", KINDS)
def test_an_exception_is_an_error_with_its_type_and_words(live, stage, text):
    said = failure("exceptions", shape((3,)), attributes=attributes(stage, KINDS[text]))
    assert f"the {STAGES[stage]} handler {text}" in said
    assert "INTERNAL: " in said
    assert "exceptions" in said.replace(text, "")
    assert "handlers.py:" in said
    assert live() == 0
    assert uncaught() == 0


def test_many_exceptions_leave_nothing_behind(live):
    for _ in range(200):
        failure("exceptions", shape((3,)), attributes=attributes(3, 3))
    assert live() == 0
    assert uncaught() == 0


@pytest.mark.usefixtures("live")
def test_a_program_whose_call_threw_runs_again():
    function = handlers.ffi.ffi_call("exceptions", shape((3,)), has_side_effect=True)
    run = jax.jit(lambda x: (function(**attributes(3, 4)), x + 1))
    for _ in range(3):
        with pytest.raises(Exception, match="behind two bases"):
            jax.block_until_ready(run(np.float32(1)))
    jax.block_until_ready(call("exceptions", shape((3,)), attributes=attributes(3, NOTHING)))


@pytest.mark.usefixtures("live")
def test_an_exception_beside_results_that_are_pending():
    register("future_negate")
    negate = handlers.ffi.ffi_call("future_negate", shape((1 << 16,)))
    throw = handlers.ffi.ffi_call("exceptions", shape((3,)), has_side_effect=True)
    x = np.ones(1 << 16, np.float32)
    for _ in range(20):
        run = jax.jit(lambda x: (negate(negate(x)), throw(**attributes(3, 0)), negate(x)))
        with pytest.raises(Exception, match="the matrix is singular"):
            jax.block_until_ready(run(x))
    np.testing.assert_array_equal(np.asarray(jax.jit(negate)(x)), -x)
    gc.collect()


@pytest.mark.usefixtures("live")
def test_an_exception_of_a_task_ends_the_calls_future():
    register("exceptions_task")
    text = failure("exceptions_task", shape((3,)))
    assert "a task of the execute handler threw std::runtime_error: the matrix is sing" in text
    assert "exceptions_task" in text
    assert uncaught() == 0


@pytest.mark.usefixtures("live")
def test_an_exception_of_an_untyped_function():
    register("exceptions_untyped", api_version=0)
    text = failure("exceptions_untyped", shape(), custom_call_api_version=1)
    assert "the function threw std::runtime_error: the matrix is singular" in text
    assert "exceptions_untyped" in text


@pytest.mark.usefixtures("live")
def test_a_launch_over_several_devices_that_throw_fails_as_one():
    devices = jax.devices()[:4]
    function = handlers.ffi.ffi_call("exceptions", shape((3,)), has_side_effect=True)
    x = np.ones((len(devices), 2), np.float32)
    mapped = jax.pmap(lambda x: (function(**attributes(3, 0)), x + 1), devices=devices)
    with pytest.raises(Exception, match="the matrix is singular"):
        jax.block_until_ready(mapped(x))
    again = jax.pmap(lambda x: x + 1, devices=devices)(x)
    np.testing.assert_array_equal(np.asarray(again), x + 1)
