"""Custom calls among JAX's transformations: vmap, loops, gradients, layouts, aliases, effects."""

import ctypes

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import handlers
from emulator import JAXLIB
from handlers import call, ffi, register, shape

X = np.arange(12, dtype=np.float32).reshape(3, 4)
METHODS = ["sequential", "expand_dims", "broadcast_all"]
METHODS += ["sequential_unrolled"] if JAXLIB >= (0, 5) else []


def journal() -> list[int]:
    """What side_effect.cc wrote down since the last time."""
    entries = (ctypes.c_int64 * 100)()
    count = handlers.library().journal_read(entries, ctypes.c_size_t(len(entries)))
    handlers.library().journal_clear()
    return list(entries[:count])


@pytest.mark.parametrize("method", METHODS)
def test_a_call_is_mapped_over_an_axis(method):
    register("copy_any")

    def copy(x):
        result = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return ffi.ffi_call("copy_any", result, vmap_method=method)(x)

    np.testing.assert_array_equal(np.asarray(jax.vmap(copy)(X)), X)
    np.testing.assert_array_equal(np.asarray(jax.jit(jax.vmap(copy, in_axes=1))(X)), X.T)


def test_a_call_is_mapped_row_by_row():
    register("constrained_dot")
    dot = ffi.ffi_call("constrained_dot", shape(), vmap_method="sequential")
    result = jax.jit(jax.vmap(dot, in_axes=(0, None)))(X, X[1])
    np.testing.assert_array_equal(np.asarray(result), X @ X[1])


def test_a_call_stands_in_scan_while_and_cond():
    register("copy_any")
    copy = ffi.ffi_call("copy_any", shape((4,)))

    @jax.jit
    def program(x):
        total, rows = jax.lax.scan(lambda total, row: (total + copy(row), copy(row) * 2), x[0], x)
        grown = jax.lax.while_loop(lambda y: y.sum() < 500, lambda y: copy(y) * 2, total)
        flipped = jax.lax.cond(grown[0] > 0, copy, lambda y: -copy(y), grown)
        return total, rows, flipped

    total, rows, flipped = (np.asarray(value) for value in program(X + 1))
    np.testing.assert_array_equal(total, (X + 1).sum(0) + X[0] + 1)
    np.testing.assert_array_equal(rows, 2 * (X + 1))
    grown = total
    while grown.sum() < 500:
        grown = grown * 2
    np.testing.assert_array_equal(flipped, grown)


def test_a_call_has_a_gradient_of_its_own():
    register("constrained_dot")

    @jax.custom_vjp
    def dot(x, y):
        return ffi.ffi_call("constrained_dot", shape())(x, y)

    dot.defvjp(lambda x, y: (dot(x, y), (x, y)), lambda kept, g: (g * kept[1], g * kept[0]))
    x, y = jnp.float32([1, 2, 3]), jnp.float32([4, 5, 6])
    value, slopes = jax.jit(jax.value_and_grad(lambda x, y: dot(x, y) ** 2, (0, 1)))(x, y)
    assert value == 32**2
    np.testing.assert_array_equal(np.asarray(slopes[0]), 64 * np.asarray(y))
    np.testing.assert_array_equal(np.asarray(slopes[1]), 64 * np.asarray(x))


# A layout names the outermost dimension first.
COLUMNS = (1, 0)


@pytest.mark.parametrize("argument", [None, (0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("result", [None, (0, 1), (1, 0)], ids=str)
def test_the_bytes_of_an_array_lie_as_the_call_wants_them(argument, result):
    register("copy_any")
    options = {}
    if argument is not None:
        options["input_layouts"] = [argument]
    if result is not None:
        options["output_layouts"] = result
    copied = call("copy_any", shape((3, 4)), X, **options)
    memory = (X.T if argument == COLUMNS else X).ravel()
    expected = memory.reshape(4, 3).T if result == COLUMNS else memory.reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(copied), expected)


def test_three_dimensions_lie_in_any_order():
    register("copy_any")
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    copied = call("copy_any", shape((2, 3, 4)), values, input_layouts=[(0, 2, 1)])
    memory = values.transpose(0, 2, 1).ravel()
    np.testing.assert_array_equal(np.asarray(copied), memory.reshape(2, 3, 4))


@pytest.mark.parametrize("donated", [False, True])
def test_a_result_begins_with_the_values_of_its_alias(donated):
    register("alias_increment")
    results = (shape((4,)), shape((), np.int32))
    function = ffi.ffi_call("alias_increment", results, input_output_aliases={0: 0})
    program = jax.jit(function, donate_argnums=(0,) if donated else ())
    x = jnp.arange(4, dtype=jnp.float32)
    incremented, shared = program(x)
    assert list(np.asarray(incremented)) == [1, 2, 3, 4]
    assert int(shared) == 1
    assert x.is_deleted() == donated
    if not donated:
        assert list(np.asarray(x)) == [0, 1, 2, 3]


def test_an_alias_of_a_value_that_is_needed_later_spares_it():
    register("alias_increment")
    results = (shape((4,)), shape((), np.int32))
    function = ffi.ffi_call("alias_increment", results, input_output_aliases={0: 0})

    @jax.jit
    def program(x):
        y = x * 2
        incremented, _ = function(y)
        return incremented - y, y

    difference, y = program(np.array([1, 2, 3, 4], np.float32))
    assert list(np.asarray(difference)) == [1, 1, 1, 1]
    assert list(np.asarray(y)) == [2, 4, 6, 8]


def test_effects_are_kept_and_happen_in_the_programs_order():
    register("journal_append")
    append = ffi.ffi_call("journal_append", (), has_side_effect=True)

    @jax.jit
    def program(x):
        append(entry=np.int64(1))
        y = jnp.sin(x)
        append(entry=np.int64(2))
        append(entry=np.int64(3))
        return y

    journal()
    for _ in range(2):
        program(1.0).block_until_ready()
    assert journal() == [1, 2, 3, 1, 2, 3]


def test_an_effect_in_a_loop_happens_in_every_turn():
    register("journal_append")
    append = ffi.ffi_call("journal_append", (), has_side_effect=True)

    def body(i, x):
        append(entry=np.int64(7))
        return x + i

    journal()
    jax.jit(lambda x: jax.lax.fori_loop(0, 4, body, x))(0).block_until_ready()
    assert journal() == [7, 7, 7, 7]


def test_a_call_without_an_effect_is_dropped_where_nobody_needs_it():
    register("journal_append")
    journal()
    append = ffi.ffi_call("journal_append", shape(), has_side_effect=False)

    @jax.jit
    def program(x):
        append(entry=np.int64(9))
        return x + 1

    program(1).block_until_ready()
    assert journal() == []
