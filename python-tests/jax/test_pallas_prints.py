"""What kernels print."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from emulator import JAXLIB

if JAXLIB < (0, 8):
    pytest.skip("written with the names that Pallas has since JAX 0.8", allow_module_level=True)


def test_values_stand_where_the_text_names_them(capfd):
    def kernel(n_ref, x_ref, o_ref):
        pl.debug_print("from {} to {}.", n_ref[0], n_ref[1])
        pl.debug_print("half", x_ref[0, 0])
        o_ref[0, 0] = x_ref[0, 0]

    spaces = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.SMEM)]
    call = pl.pallas_call(
        kernel,
        in_specs=spaces,
        out_specs=spaces[0],
        out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
    )
    np.asarray(call(jnp.array([-3, 12]), jnp.full((1, 1), 0.5)))
    lines = capfd.readouterr().err.splitlines()
    assert "from -3 to 12." in lines
    assert "half f32[] 0.5" in lines
