"""What goes wrong with a custom call: every text reaches Python, and the device stays usable."""

import gc

import jax
import numpy as np
import pytest

import handlers
import tpu_emu
from handlers import call, register, shape

X = np.array([1, 2, 3], np.float32)


def failure(name, results, *arguments, **options):
    """The text of the error of a call, after which the device still computes."""
    with pytest.raises(Exception, match=r"\w") as caught:
        jax.block_until_ready(call(name, results, *arguments, has_side_effect=True, **options))
    assert jax.jit(lambda x: x + 1)(1) == 2
    return str(caught.value)


def test_a_handler_that_fails_is_named_with_its_text_and_line():
    register("always_error")
    text = failure("always_error", shape())
    assert "INTERNAL: " in text
    assert "this handler always fails" in text
    assert "always_error" in text
    assert "handlers.py:" in text


def test_a_handler_that_fails_leaves_no_memory_behind():
    register("always_error")
    for _ in range(5):
        failure("always_error", shape((1024,)), np.zeros(1024, np.float32))
    # Exceptions hold frames, frames hold arrays.
    gc.collect()
    assert [change for change in tpu_emu.snapshot().live if change.size >= 4096] == []


@pytest.mark.parametrize(
    ("arguments", "results", "expected"),
    [
        ((X,), shape(), "Wrong number of arguments: expected 2 but got 1"),
        ((X, X, X), shape(), "Wrong number of arguments: expected 2 but got 3"),
        ((X, X), (shape(), shape()), "Wrong number of results: expected 1 but got 2"),
        (
            (X, np.array([1, 2, 3], np.int32)),
            shape(),
            "Wrong buffer dtype: expected F32 but got S32",
        ),
        ((X, np.array([[1]], np.float32)), shape(), "Wrong buffer rank: expected 1 but got 2"),
        ((X, X), shape((1,)), "Wrong buffer rank: expected 0 but got 1"),
        ((X, X[:2]), shape(), "both vectors must have one length"),
    ],
    ids=["few", "many", "results", "dtype", "rank", "result-rank", "own"],
)
def test_arguments_that_do_not_fit_are_told_in_the_bindings_words(arguments, results, expected):
    register("constrained_dot")
    assert expected in failure("constrained_dot", results, *arguments)


GOOD = {"scale": np.float32(2), "offsets": np.array([1], np.int64), "mode": "affine"}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, "Wrong number of attributes: expected 3 but got 0"),
        ({"scale": np.float32(2), "mode": "affine"}, "Wrong number of attributes: expected 3"),
        ({**GOOD, "extra": 1}, "Wrong number of attributes: expected 3 but got 4"),
        ({**GOOD, "scale": np.int32(2)}, "Wrong scalar data type: expected F32 but got S32"),
        (
            {**GOOD, "offsets": np.int64(1)},
            "Wrong attribute type: expected array but got scalar",
        ),
        ({**GOOD, "mode": np.int32(1)}, "Wrong attribute type: expected string but got scalar"),
        ({**GOOD, "mode": "square"}, "unknown mode square"),
    ],
    ids=["none", "missing", "extra", "scalar", "array", "string", "own"],
)
def test_attributes_that_do_not_fit_are_told_in_the_bindings_words(attributes, expected):
    register("attributes_affine")
    text = failure("attributes_affine", shape((3,)), X, attributes=attributes)
    assert expected in text


def test_a_struct_without_a_field_and_a_dictionary_without_a_name_are_told():
    register("struct_clip")
    text = failure("struct_clip", shape((3,)), X, attributes={"low": np.float32(0)})
    assert "expected 2 attributes but got 1" in text
    register("dictionary_polynomial")
    text = failure("dictionary_polynomial", shape((3,)), X, attributes={"d": np.float32(0)})
    assert "c0" in text


def test_an_enum_of_another_width_is_told():
    register("enum_round")
    text = failure("enum_round", shape((3,)), X, attributes={"how": np.int64(1)})
    assert "expected S32 but got S64" in text
    text = failure("enum_round", shape((3,)), X, attributes={"how": np.int32(7)})
    assert "no such rounding" in text


def test_a_target_that_nobody_registered_is_refused_when_it_is_compiled():
    register("copy_any")
    lowered = jax.jit(handlers.ffi.ffi_call("not_there", shape((3,)))).lower(X)
    with pytest.raises(Exception, match="not_there") as caught:
        lowered.compile()
    text = str(caught.value)
    assert 'custom call target "not_there" is not registered' in text
    assert "copy_any" in text
    assert "test_ffi_errors.py:" in text


def test_more_scratch_memory_than_the_device_has_is_an_error_of_the_call():
    register("scratch_reverse")
    text = failure("scratch_reverse", shape((3,)), X, attributes={"bytes": np.int64(1 << 42)})
    assert "4398046511104" in text
    text = failure("scratch_reverse", shape((3,)), X, attributes={"bytes": np.int64(4)})
    assert "too few bytes of scratch memory" in text


def test_a_promise_that_fails_fails_the_call():
    register("future_error")
    text = failure("future_error", shape(), attributes={"text": "broken promise"})
    assert "broken promise" in text
    assert "future_error" in text


def test_an_error_ends_the_programs_that_need_its_result():
    register("always_error")
    register("future_negate")
    failing = jax.jit(lambda x: handlers.ffi.ffi_call("always_error", shape((3,)))(x) + 1)
    with pytest.raises(Exception, match="this handler always fails"):
        jax.block_until_ready(jax.jit(lambda x: x * 2)(failing(X)))
    assert list(np.asarray(call("future_negate", shape((3,)), X))) == [-1, -2, -3]


def test_an_error_in_a_loop_ends_the_loop():
    register("copy_any")
    register("scratch_reverse")

    def body(i, x):
        size = np.int64(4)
        y = handlers.ffi.ffi_call("copy_any", shape((3,)))(x)
        bad = handlers.ffi.ffi_call("scratch_reverse", shape((3,)))
        return jax.lax.cond(i == 3, lambda: bad(y, bytes=size), lambda: y + 1)

    with pytest.raises(Exception, match="too few bytes of scratch memory"):
        jax.block_until_ready(jax.jit(lambda x: jax.lax.fori_loop(0, 6, body, x))(X))
    assert list(np.asarray(call("copy_any", shape((3,)), X))) == [1, 2, 3]
