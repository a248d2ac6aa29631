"""The block of memory in which an array lies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

import tpu_emu
from tpu_emu import Allocation


def only(array: jax.Array) -> Allocation:
    """The one block of an array."""
    found = tpu_emu.allocation_of(array)
    assert isinstance(found, Allocation)
    assert tpu_emu.allocations_of(array) == [found]
    return found


def spread(spec: PartitionSpec) -> jax.Array:
    """16 x 128 floats on four devices."""
    mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
    return jax.device_put(np.ones((16, 128), np.float32), NamedSharding(mesh, spec))


def test_the_block_of_an_array_says_where_it_is_and_who_took_it():
    array = jax.device_put(np.ones((1000, 1), jnp.bfloat16), jax.devices()[2])
    found = only(array)
    assert (found.device, str(found.space)) == (2, "TPU_2 device")
    assert (found.logical_bytes, found.padded_bytes) == (2000, 4096)
    assert found.size >= found.padded_bytes
    assert found.line.endswith(f"test_allocation_of.py:28 {_here()}")
    assert (found.executable, found.label) == ("no program", "")
    assert _here() in [frame.function for frame in found.stack]
    [piece] = [piece for piece in tpu_emu.memory_map(2) if piece.address == found.address]
    assert piece.block is not None
    assert (piece.size, piece.block.stack) == (found.size, found.stack)
    assert str(found).startswith("bf16[1000,1]")


def _here() -> str:
    return "test_the_block_of_an_array_says_where_it_is_and_who_took_it"


def test_the_result_of_a_program_names_it():
    @jax.jit
    def doubled(x):
        return x * 2

    found = only(doubled(jnp.ones((8, 128))))
    assert found.executable == "jit_doubled"
    assert found.label.startswith("result 0 of jit_doubled")


@pytest.mark.parametrize(
    ("spec", "size"), [(PartitionSpec("d"), 2048), (PartitionSpec(), 8192)], ids=["split", "copies"]
)
def test_an_array_over_several_devices_has_a_block_on_each(spec, size):
    found = tpu_emu.allocation_of(spread(spec))
    assert isinstance(found, list)
    assert [part.device for part in found] == [0, 1, 2, 3]
    assert {part.padded_bytes for part in found} == {size}


def test_keys_scalars_slices_and_host_memory_have_blocks():
    assert only(jax.random.key(0)).logical_bytes == 8
    assert only(jnp.float32(3)).logical_bytes == 4
    assert only(jnp.ones((8, 128))[2:4]).spec.shape == (2, 128)
    host = SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
    found = only(jax.device_put(np.ones((16, 128), np.float32), host))
    assert (found.device, str(found.space)) == (None, "host pinned_host")


def test_what_is_no_array_of_a_device_is_refused():
    for value in (np.ones(3), 3, None, "x", [jnp.ones(3)]):
        with pytest.raises(TypeError, match="is no array of JAX"):
            tpu_emu.allocation_of(value)
    with pytest.raises(ValueError, match=r"shape \(0, 4\) has no elements and no memory"):
        tpu_emu.allocation_of(jnp.ones((0, 4)))


def test_deleted_and_donated_arrays_are_refused():
    deleted, donated = jnp.ones(5), jnp.ones((8, 128))
    deleted.delete()
    kept = jax.jit(lambda x: x + 1, donate_argnums=0)(donated)
    for array in (deleted, donated):
        with pytest.raises(ValueError, match="deleted or donated"):
            tpu_emu.allocation_of(array)
    assert only(kept).size == 4096


def test_a_tracer_is_refused():
    told = []

    def asks(x):
        with pytest.raises(TypeError, match="has no memory: ask for what the function returns"):
            tpu_emu.allocation_of(x)
        told.append(x)
        return x.sum()

    jax.jit(asks)(jnp.ones(3))
    jax.grad(asks)(jnp.ones(3))
    assert len(told) == 2
