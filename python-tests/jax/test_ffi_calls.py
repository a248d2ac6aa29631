"""The example handlers, called out of jitted programs: types, attributes, results."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import handlers
from handlers import call, register, shape

FLOATS = np.arange(12, dtype=np.float32).reshape(3, 4)
DTYPES: list[Any] = [np.bool_, np.int8, np.uint16, np.int32, np.float16, np.float32, np.complex64]
DTYPES.append(jnp.bfloat16)


def test_a_handler_without_arguments_succeeds():
    register("always_success")
    assert not call("always_success", (), has_side_effect=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("dimensions", [(), (5,), (2, 3), (0, 4), (2, 1, 3, 2)], ids=str)
def test_a_buffer_of_any_type_and_rank_is_copied(dtype, dimensions):
    register("copy_any")
    values = (np.arange(np.prod(dimensions)).reshape(dimensions) % 2).astype(dtype)
    copy = call("copy_any", shape(dimensions, dtype), values)
    assert copy.dtype == dtype
    np.testing.assert_array_equal(np.asarray(copy), values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.zeros((), np.float32), (11, 0, 1, 4)),
        (np.zeros((2, 3), np.int8), (2, 2, 6, 6)),
        (np.zeros((3,), np.bool_), (1, 1, 3, 3)),
        (np.zeros((2, 0), np.int32), (4, 2, 0, 0)),
        (np.zeros((2, 2, 2), jnp.bfloat16), (16, 3, 8, 16)),
        (np.zeros((1,), np.complex64), (15, 1, 1, 8)),
    ],
    ids=["scalar", "i8", "bool", "empty", "bf16", "complex"],
)
def test_a_handler_sees_the_type_rank_and_size_of_a_buffer(values, expected):
    register("describe_any")
    described = call("describe_any", shape((4,), np.int32), values)
    assert tuple(np.asarray(described)) == expected


def test_vectors_have_a_dot_product():
    register("constrained_dot")
    x, y = np.arange(5, dtype=np.float32), np.full(5, 2, np.float32)
    assert call("constrained_dot", shape(), x, y) == 20


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_call_has_as_many_arguments_and_results_as_it_likes(count):
    register("variadic_scale")
    arrays = [np.full((n + 1, 2), n, np.float32) for n in range(count)]
    shapes = [shape(array.shape) for array in arrays]
    results = call("variadic_scale", shapes, np.float32(3), *arrays, has_side_effect=True)
    assert len(results) == count
    for array, result in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(np.asarray(result), 3 * array)


def test_an_argument_and_a_result_may_be_left_out():
    register("optional_add")
    x, y = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
    result, count = call("optional_add", (shape((2,)), shape((), np.int32)), x, y)
    assert (list(np.asarray(result)), int(count)) == ([11, 22], 2)
    result, count = call("optional_add", (shape((2,)), shape((), np.int32)), x)
    assert (list(np.asarray(result)), int(count)) == ([1, 2], 1)
    result = call("optional_add", shape((2,)), x)
    assert list(np.asarray(result)) == [1, 2]


def test_attributes_are_scalars_arrays_and_strings():
    register("attributes_affine")
    attributes = {"scale": np.float32(2), "offsets": np.array([10, 20], np.int64), "mode": "affine"}
    result = call(
        "attributes_affine", shape((3,)), np.array([1, 2, 3], np.float32), attributes=attributes
    )
    assert list(np.asarray(result)) == [12, 24, 16]


@pytest.mark.parametrize(("how", "expected"), [(0, [1, -2]), (1, [2, -1]), (2, [2, -2])])
def test_an_enum_is_its_number(how, expected):
    register("enum_round")
    attributes = {"how": np.int32(how)}
    result = call(
        "enum_round", shape((2,)), np.array([1.75, -1.75], np.float32), attributes=attributes
    )
    assert list(np.asarray(result)) == expected


def test_a_dictionary_has_any_attributes():
    register("dictionary_polynomial")
    x = np.array([0, 1, 2], np.float32)
    for coefficients in ([5], [1, 2], [1, 0, 3, 1]):
        attributes = {f"c{n}": np.float32(value) for n, value in enumerate(coefficients)}
        result = call("dictionary_polynomial", shape((3,)), x, attributes=attributes)
        expected = np.polynomial.polynomial.polyval(x, coefficients)
        np.testing.assert_array_equal(np.asarray(result), expected)


def test_a_struct_is_decoded_from_attributes_or_from_one_of_them():
    register("struct_clip")
    x = np.array([-5, 0.5, 5], np.float32)
    bounds = {"low": np.float32(-1), "high": np.float32(2)}
    result = call("struct_clip", shape((3,)), x, attributes=bounds)
    assert list(np.asarray(result)) == [-1, 0.5, 2]


def test_a_dictionary_in_a_dictionary_is_a_struct():
    register("named_struct_clip")
    text = """
    module {
      func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        %0 = stablehlo.custom_call @named_struct_clip(%x) {api_version = 4 : i32,
          backend_config = {range = {high = 2.0 : f32, low = -1.0 : f32}}}
          : (tensor<3xf32>) -> tensor<3xf32>
        return %0 : tensor<3xf32>
      }
    }
    """
    [result] = handlers.run_text(text, np.array([-5, 0.5, 5], np.float32))
    assert list(result) == [-1, 0.5, 2]


def test_the_device_adds_a_wrapped_vector():
    register("do_custom_call")
    b, c = np.arange(128, dtype=np.float32), np.arange(2048, dtype=np.float32) / 4
    result = call("do_custom_call", shape((2048,)), b, c)
    np.testing.assert_array_equal(np.asarray(result), b[np.arange(2048) % 128] + c)


def test_a_call_has_several_results():
    register("min_max")
    least, greatest = call("min_max", (shape(), shape()), np.array([3, -7, 9, 1], np.float32))
    assert (least, greatest) == (-7, 9)


def test_a_result_is_temporary_memory():
    register("median_with_temporary")
    function = handlers.ffi.ffi_call("median_with_temporary", (shape(), shape((5,))))
    values = np.array([9, 1, 5, 7, 3], np.float32)
    assert jax.jit(lambda x: function(x)[0] + 1)(values) == 6


def test_calls_stand_among_other_operations():
    register("copy_any")
    function = handlers.ffi.ffi_call("copy_any", shape((3, 4)))
    result = jax.jit(lambda x: function(x.T.reshape(3, 4) * 2) @ x.T)(FLOATS)
    expected = (FLOATS.T.reshape(3, 4) * 2) @ FLOATS.T
    np.testing.assert_array_equal(np.asarray(result), expected)


def test_a_result_of_another_call_is_an_argument():
    register("min_max")
    register("constrained_dot")
    dot = handlers.ffi.ffi_call("constrained_dot", shape())
    ends = handlers.ffi.ffi_call("min_max", (shape(), shape()))

    def function(x):
        least, greatest = ends(x)
        return dot(x - least, jnp.full(x.shape, greatest))

    assert jax.jit(function)(np.array([1, 2, 3], np.float32)) == 9


if handlers.HAS_RUN_ID:

    def test_each_execution_has_a_run_id_and_its_device():
        register("run_and_device")
        run = jax.jit(
            lambda x: (
                handlers.ffi.ffi_call(
                    "run_and_device", shape((3,), np.int32), has_side_effect=True
                )()
                + x * 0
            )
        )
        seen = set()
        for device in (0, 0, 3):
            high, low, ordinal = np.asarray(run(jax.device_put(np.int32(0), jax.devices()[device])))
            assert ordinal == device
            seen.add((int(high), int(low)))
        assert len(seen) == 3
