"""`TPU_EMU_POISON=1`: memory that nobody has written, or that was freed, shows."""

import json
import textwrap

import pytest

import handlers
from emulator import output

POISON = {"TPU_EMU_POISON": "1"}

SILENT = 'extern "C" void silent(void *out, const void **in) {}'


def test_freed_memory_is_full_of_ones_and_large_arrays_too():
    program = """
    import ctypes, json
    import jax
    import numpy as np
    found = []
    for count in (100, 1 << 20, 160 << 20):
        array = jax.block_until_ready(jax.device_put(np.ones(count, np.float32)))
        address = array.unsafe_buffer_pointer()
        view = np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))
        before = float(view[count - 1])
        array.delete()
        found.append([before, bool(np.isnan(view[[0, count // 2, count - 1]]).all())])
    print(json.dumps(found))
    """
    assert json.loads(output(program, POISON)) == [[1.0, True]] * 3


@pytest.mark.parametrize("poison", ["0", "1"])
def test_a_result_that_a_handler_has_not_written_shows(tmp_path, poison):
    source = tmp_path / "silent.cc"
    source.write_text(SILENT)
    library = str(handlers.build([source]))
    program = f"""
    import ctypes, json
    import jax
    import jax.numpy as jnp
    import numpy as np
    try:
        from jax import ffi
    except ImportError:
        from jax.extend import ffi
    silent = ffi.pycapsule(ctypes.CDLL({library!r}).silent)
    ffi.register_ffi_target("silent", silent, platform="tpu", api_version=0)
    shape = jax.ShapeDtypeStruct((300,), np.float32)
    call = ffi.ffi_call("silent", shape, custom_call_api_version=1)
    inside = jax.jit(lambda x: jnp.sin(call(x * 2)) + 1)
    x = np.ones(300, np.float32)
    alone, within = np.asarray(jax.jit(call)(x)), np.asarray(inside(x))
    print(json.dumps([bool(np.isnan(alone).all()), bool(np.isnan(within).all())]))
    """
    shown = json.loads(output(program, {"TPU_EMU_POISON": poison}))
    assert shown == [poison == "1"] * 2


def test_programs_give_what_they_give_without_poison():
    program = """
    import hashlib
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    x = np.random.RandomState(0).randn(64, 48).astype(np.float32)
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), P("i"))
    functions = [
        lambda x: jnp.linalg.cholesky(x.T @ x + 50 * jnp.eye(48)),
        lambda x: jax.lax.conv_general_dilated(x[None, None], x[None, None, :3], (1, 2), "SAME"),
        lambda x: jnp.fft.rfft(x).imag, lambda x: jnp.sort(x, axis=0), lambda x: jnp.cumsum(x, 1),
        lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (3, 3), (2, 2), "VALID"),
        lambda x: jax.ops.segment_sum(x, np.arange(64) % 7, 9), lambda x: jnp.pad(x, 3),
        lambda x: jax.lax.fori_loop(0, 9, lambda i, x: x.at[i, i].add(1.0), x),
        lambda x: jax.random.normal(jax.random.PRNGKey(1), x.shape), lambda x: jnp.linalg.svd(x)[1],
        lambda x: (x * 7).astype(jnp.int4).astype(jnp.int32), lambda x: x > 0, lambda x: x[:0],
    ]
    for function in functions:
        for argument in (x, jax.device_put(x, sharding)):
            compiled = jax.jit(function)
            for _ in range(4):
                print(hashlib.sha256(np.asarray(compiled(argument)).tobytes()).hexdigest())
    """
    assert output(program, POISON) == output(program)


def test_the_variable_takes_two_values():
    program = textwrap.dedent("""
    import jax
    try:
        jax.devices()
    except Exception as error:
        print("TPU_EMU_POISON=2: 1 or 0" in str(error))
    """)
    assert output(program, {"TPU_EMU_POISON": "2"}) == "True\n"
