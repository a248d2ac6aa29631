"""Compiled programs take arrays that lie on the devices that they were compiled for.

JAX compares the layouts of the arrays with those that the program tells: by the extension for
layouts in newer versions, in the program's own text up to 0.8.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "elements": lambda x: x * 2,
    "a sum": lambda x: x.sum(0),
    "a loop": lambda x: lax.fori_loop(0, 3, lambda _, y: y + x, x),
    "a branch": lambda x: lax.cond(x[0, 0] > 0, lambda y: y + 1, lambda y: y - 1, x),
    "a scan": lambda x: lax.scan(lambda a, row: (a + row, a.sum()), x[0], x),
    "a sort": lambda x: jnp.sort(x, axis=1),
    "an update": lambda x: x.at[3].add(1.0),
    "a softmax and its gradient": jax.grad(lambda x: (jax.nn.softmax(x) ** 2).sum()),
    "three results": lambda x: (x.max(1), x.argmax(1), x @ x.T),
    "16 bits": lambda x: x.astype(jnp.bfloat16).sum(0),
}


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_program_takes_arrays_of_its_devices(name: str, *, split: bool):
    x = np.random.default_rng(0).integers(-4, 4, (64, 48)).astype(np.float32)
    mesh = Mesh(np.array(jax.devices()), ("i",))
    alone = SingleDeviceSharding(jax.devices()[1])
    here = jax.device_put(x, NamedSharding(mesh, PartitionSpec("i")) if split else alone)
    function = PROGRAMS[name]
    compiled = jax.jit(function).lower(here).compile()
    found, wanted = compiled(here), jax.jit(function)(x)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(
            np.asarray(one, np.float32), np.asarray(other, np.float32), rtol=1e-6
        )
    assert "HloModule" in (compiled.as_text() or "")
