"""Launches: donated arguments, memory of arguments, temporaries and results, errors."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tpu_emu
from emulator import JAXLIB, output


def memory_of(compiled: Any) -> Any:
    """The memory analysis, which JAX may lack on other backends."""
    memory = compiled.memory_analysis()
    assert memory is not None
    return memory


LAUNCH = "PJRT_LoadedExecutable_Execute"


def put(elements: int) -> jax.Array:
    """An array of f32 on the first device, in memory already."""
    return jax.block_until_ready(jax.device_put(np.zeros(elements, np.float32)))


def test_a_result_is_an_allocation_of_its_launch():
    argument = put(1024)
    program = jax.jit(lambda x: (x + 1, x[:3]))
    results = jax.block_until_ready(program(argument))
    changes = [change for change in tpu_emu.snapshot().live if change.entry == LAUNCH]
    assert [(str(change.spec), change.size) for change in changes] == [
        ("f32[1024]{0:T(1024)}", 4096),
        ("f32[3]{0:T(128)}", 512),
    ]
    assert results[0].on_device_size_in_bytes() == 4096


def test_temporaries_count_for_the_peak_and_are_given_back():
    program = jax.jit(lambda x: jnp.sin(jnp.cumsum(jnp.cos(x))[::-1]).sum())
    device = jax.devices()[0]
    argument = put(1 << 20)
    compiled = program.lower(argument).compile()
    # The first launch also places the program's constants.
    jax.block_until_ready(compiled(argument))
    before = device.memory_stats()
    result = jax.block_until_ready(compiled(argument))
    after = device.memory_stats()
    temporaries = memory_of(compiled).temp_size_in_bytes
    assert temporaries >= 4 << 20
    assert after["peak_bytes_in_use"] >= before["bytes_in_use"] + temporaries
    assert after["bytes_in_use"] == before["bytes_in_use"] + result.on_device_size_in_bytes()


def test_a_donated_argument_becomes_the_result():
    argument = put(1 << 16)
    address = argument.unsafe_buffer_pointer()
    before = jax.devices()[0].memory_stats()
    result = jax.jit(lambda x: x * 2, donate_argnums=0)(argument)
    assert argument.is_deleted()
    assert result.unsafe_buffer_pointer() == address
    after = jax.devices()[0].memory_stats()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(argument)


def test_an_argument_that_is_not_donated_stays_as_it_is():
    argument = put(1 << 16)
    result = jax.jit(lambda x: x.at[0].set(7))(argument)
    assert result.unsafe_buffer_pointer() != argument.unsafe_buffer_pointer()
    assert float(argument[0]) == 0
    assert float(result[0]) == 7


def test_a_loop_of_donating_steps_takes_the_memory_of_one_state():
    step = jax.jit(lambda state: state * 0.5 + 1, donate_argnums=0)
    state = jax.block_until_ready(step(put(1 << 18)))
    peak = jax.devices()[0].memory_stats()["bytes_in_use"]
    for _ in range(20):
        state = jax.block_until_ready(step(state))
        assert jax.devices()[0].memory_stats()["bytes_in_use"] == peak
    assert float(state[0]) == pytest.approx(2)


def test_an_array_that_is_donated_and_used_beside_names_both_arguments():
    argument = put(4)
    program = jax.jit(lambda a, b: (a + 1, b + 2), donate_argnums=0)
    with pytest.raises(Exception, match=r"donated.*arguments 0 and 1"):
        program(argument, argument)


def test_a_deleted_argument_is_an_error():
    argument = put(4)
    argument.delete()
    with pytest.raises(RuntimeError, match=r"deleted with shape=float32\[4\]"):
        jax.jit(lambda x: x + 1)(argument)


def test_the_analyses_of_a_compiled_program_tell_sizes_and_operations():
    x = put(1 << 16).reshape(256, 256)
    compiled = jax.jit(lambda x: x @ x).lower(x).compile()
    memory = memory_of(compiled)
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 256 * 256 * 4
    assert memory.alias_size_in_bytes == 0
    costs: Any = compiled.cost_analysis()
    costs = costs[0] if isinstance(costs, list) else costs
    assert costs["flops"] == 2 * 256**3
    assert costs["bytes accessed"] > 0


def test_a_donated_argument_is_an_alias_of_the_analysis():
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(put(1024)).compile()
    assert memory_of(compiled).alias_size_in_bytes == 4096


SMALL = {"TPU_EMU_HBM_BYTES": "16MiB"}


def test_a_program_larger_than_the_memory_does_not_compile():
    program = """
    import jax, jax.numpy as jnp
    try:
        jax.jit(lambda x: jnp.broadcast_to(x, (8 << 20,)) + 1)(1.0)
    except RuntimeError as error:
        print(error)
    print(jax.jit(lambda x: x + 1)(1))
    """
    text = output(program, SMALL)
    assert text.startswith("RESOURCE_EXHAUSTED: ")
    assert "(32.00M)" in text
    assert "exceeds available HBM (16.00M)" in text
    assert "HLO module: jit__lambda" in text
    assert text.endswith("\n2\n")


def test_a_program_whose_result_does_not_fit_beside_what_lives_does_not_run():
    program = """
    import jax, jax.numpy as jnp, numpy as np
    program = jax.jit(lambda x: jnp.full((8 << 20,), x, jnp.int8))
    held = jax.block_until_ready(jax.device_put(np.zeros(12 << 20, np.int8)))
    try:
        jax.block_until_ready(program(3))
    except RuntimeError as error:
        print(error)
    held.delete()
    print(int(program(3)[5]))
    """
    text = output(program, SMALL)
    assert text.startswith("RESOURCE_EXHAUSTED: ")
    assert "Attempting to allocate 8.00M" in text
    assert text.endswith("\n3\n")


@pytest.mark.skipif(JAXLIB < (0, 5), reason="jax.ffi is younger")
def test_unknown_custom_calls_are_told_all_at_once_with_their_lines():
    def program(x: jax.Array) -> jax.Array:
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        once = jax.ffi.ffi_call("nobody_knows", shape)(x)
        return jax.ffi.ffi_call("me_neither", shape)(once)

    first = program.__code__.co_firstlineno + 2
    with pytest.raises(Exception, match="UNIMPLEMENTED") as raised:
        jax.jit(program)(put(2))
    lines = str(raised.value).splitlines()
    for line, (number, target) in zip(
        lines, enumerate(["nobody_knows", "me_neither"], first), strict=False
    ):
        assert f"test_launch.py:{number}" in line
        assert f'custom call target "{target}" is not registered' in line


def test_a_program_is_found_in_the_cache_of_an_earlier_process(tmp_path):
    program = """
    import sys
    import jax
    from jax._src import monitoring

    jax.config.update("jax_compilation_cache_dir", sys.argv[1])
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    events = []
    monitoring.register_event_listener(lambda event, **_: events.append(event.split("/")[-1]))
    print(jax.jit(lambda x: x * 2)(3), "cache_hits" in events)
    """
    assert output(program, None, str(tmp_path)) == "6 False\n"
    assert output(program, None, str(tmp_path)) == "6 True\n"
