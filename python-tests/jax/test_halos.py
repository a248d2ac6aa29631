"""Programs that need what lies next to their parts: devices pass on the ends of these."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = PartitionSpec("i")


def convolved(x: Any) -> Any:
    """Three filters of three rows and columns, over images of one feature."""
    kernel = jnp.ones((3, 3, 1, 1), x.dtype)
    numbers = ("NHWC", "HWIO", "NHWC")
    images = x[None, :, :, None]
    for _ in range(3):
        images = lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    return images[0, :, :, 0]


def pooled(x: Any) -> Any:
    """The largest of each two rows and columns."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a roll": lambda x: jnp.roll(x, 3, 0),
    "a roll to the left": lambda x: jnp.roll(x, -1, 0),
    "differences": lambda x: jnp.pad(x[1:] - x[:-1], ((0, 1), (0, 0))),
    "a stencil": lambda x: jnp.pad(x[2:] + x[:-2] - 2 * x[1:-1], ((1, 1), (0, 0))),
    "a flip": lambda x: x[::-1] + x,
    "every second row": lambda x: (
        lax.slice(x, (0, 0), x.shape, (2, 1)) + lax.slice(x, (1, 0), x.shape, (2, 1))
    ),
    "shifted rows": lambda x: jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]], 0) * x,
    "a convolution": convolved,
    "a pool": pooled,
    "the gradient of a convolution": jax.grad(lambda x: jnp.sum(convolved(x) * x)),
    "the gradient of a pool": jax.grad(lambda x: jnp.sum(pooled(x) ** 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_device_has_the_whole_of_it(name: str):
    function = FUNCTIONS[name]
    x = np.random.default_rng(0).integers(-8, 8, (512, 256)).astype(np.float32)
    wanted = function(jnp.asarray(x))
    mesh = Mesh(np.array(jax.devices()), ("i",))
    split = jax.device_put(x, NamedSharding(mesh, ROWS))
    compiled = jax.jit(function).lower(split).compile()
    text = compiled.as_text() or ""
    assert "all-gather" not in text.replace("_", "-")
    alone: Any = jax.jit(function).lower(x).compile().memory_analysis()
    sizes: Any = compiled.memory_analysis()
    assert sizes.temp_size_in_bytes < max(x.nbytes, alone.temp_size_in_bytes // 4)
    found = compiled(split)
    assert found.sharding.is_equivalent_to(split.sharding, 2), found.sharding
    np.testing.assert_array_equal(found, wanted)


def test_rows_that_devices_cannot_share_evenly_are_whole_at_the_end():
    mesh = Mesh(np.array(jax.devices()), ("i",))
    x = np.arange(64 * 4, dtype=np.float32).reshape(64, 4)
    split = jax.device_put(x, NamedSharding(mesh, ROWS))
    found = jax.jit(lambda x: x[1:] * 2)(split)
    assert found.sharding.is_fully_replicated
    np.testing.assert_array_equal(found, x[1:] * 2)
    total = jax.jit(lambda x: jnp.sum(jnp.exp(x[1:] * 0), 0))(split)
    np.testing.assert_array_equal(total, np.full(4, 63, np.float32))
