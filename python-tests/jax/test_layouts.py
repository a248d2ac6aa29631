"""The layouts that arrays and compiled programs tell, and the text of a compiled program."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from emulator import JAXLIB

if JAXLIB >= (0, 7):
    from jax.experimental.layout import Format, Layout

    def order(of: Any) -> tuple[int, ...]:
        """Axes of a format, the outermost first."""
        return tuple(of.layout.major_to_minor)


needs_formats = pytest.mark.skipif(JAXLIB < (0, 7), reason="the names of layouts are other ones")
X = np.arange(128 * 256, dtype=np.float32).reshape(128, 256)


@needs_formats
def test_a_result_of_free_layout_lies_as_what_it_is_made_of() -> None:
    free = Format(Layout.AUTO)
    program = jax.jit(lambda x: (jnp.sin(x.T), x * 2), in_shardings=free, out_shardings=free)
    compiled = program.lower(jax.ShapeDtypeStruct(X.shape, X.dtype)).compile()

    turned, same = compiled(X)

    [taken] = compiled.input_formats[0]
    assert order(taken) == (0, 1)
    assert [order(one) for one in compiled.output_formats] == [(1, 0), (0, 1)]
    assert [order(one.format) for one in (turned, same)] == [(1, 0), (0, 1)]
    np.testing.assert_allclose(turned, np.sin(X.T), atol=1e-5)
    np.testing.assert_array_equal(same, X * 2)


@needs_formats
def test_a_parameter_of_free_layout_lies_as_its_result_must_or_in_the_fewest_tiles() -> None:
    free = Format(Layout.AUTO)
    small = jax.ShapeDtypeStruct((256, 4, 2), jnp.float32)

    def orders(*, result: Any) -> list[tuple[int, ...]]:
        program = jax.jit(lambda x: (x * 2).T, in_shardings=free, out_shardings=result)
        compiled = program.lower(small).compile()
        return [order(compiled.input_formats[0][0]), order(compiled.output_formats)]

    assert orders(result=None) == [(2, 1, 0), (0, 1, 2)]
    assert orders(result=free) == [(2, 1, 0), (0, 1, 2)]
    kept = jax.jit(lambda x: (x.T, x), in_shardings=free).lower(small).compile()
    default: Any = jnp.zeros(small.shape)
    assert order(kept.input_formats[0][0]) == order(default.format) == (1, 2, 0)


@needs_formats
def test_an_argument_is_not_given_up_for_a_result_that_lies_in_another_way() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    turned = Format(Layout(major_to_minor=(1, 0)), split)
    x = jax.device_put(np.ones((128, 1000), jnp.bfloat16), split)

    double = jax.jit(lambda x: x * 2, out_shardings=turned, donate_argnums=0)
    y = double(x)

    assert order(y.format) == (1, 0)
    assert not x.is_deleted()
    np.testing.assert_array_equal(y, np.full((128, 1000), 2, jnp.bfloat16))


def test_the_text_of_a_compiled_program_has_bodies_where_functions_were_called() -> None:
    @jax.jit
    def inner(x: jax.Array) -> jax.Array:
        return jnp.tanh(x) * 3

    def outer(x: jax.Array) -> jax.Array:
        return inner(inner(x) + 1)

    lowered = jax.jit(outer).lower(X)
    text = lowered.compile().as_text() or ""

    assert "call @" in (lowered.as_text() or "")
    assert " call(" not in text
    assert text.count(" tanh(") == 2
