"""Arrays that move between devices and kinds of memory, and arrays spread over devices."""

import numpy as np
import pytest
import tpu_emu
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

import jax

KINDS = ["device", "pinned_host", "unpinned_host"]
VALUES = np.arange(8 * 129, dtype=np.float32).reshape(8, 129)


def spaces_in_use() -> dict[str, int]:
    """Bytes of live allocations a memory space."""
    sums: dict[str, int] = {}
    for change in tpu_emu.snapshot().live:
        sums[str(change.space)] = sums.get(str(change.space), 0) + change.size
    return sums


@pytest.fixture(autouse=True)
def nothing_before_and_after():
    jax.devices()
    assert spaces_in_use() == {}
    yield
    assert spaces_in_use() == {}


def test_a_copy_lives_on_the_other_device_beside_the_first():
    devices = jax.devices()
    first = jax.device_put(VALUES, devices[0])
    second = jax.device_put(first, devices[5])
    assert second.devices() == {devices[5]}
    assert np.array_equal(np.asarray(second), VALUES)
    assert spaces_in_use() == {"TPU_0 device": 8192, "TPU_5 device": 8192}
    first.delete()
    assert np.array_equal(np.asarray(second), VALUES)
    assert spaces_in_use() == {"TPU_5 device": 8192}


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_an_array_moves_between_kinds_of_memory(source, target):
    sharding = SingleDeviceSharding(jax.devices()[2], memory_kind=source)
    first = jax.device_put(VALUES, sharding)
    assert first.sharding.memory_kind == source
    second = jax.device_put(first, sharding.with_memory_kind(target))
    assert second.sharding.memory_kind == target
    assert np.array_equal(np.asarray(second), VALUES)
    owner = {"device": "TPU_2"}
    assert spaces_in_use().keys() == {
        f"{owner.get(kind, 'host')} {kind}" for kind in (source, target)
    }


def test_host_memory_is_not_charged_to_the_device():
    device = jax.devices()[3]
    before = device.memory_stats()["bytes_in_use"]
    array = jax.device_put(VALUES, SingleDeviceSharding(device, memory_kind="pinned_host"))
    assert device.memory_stats()["bytes_in_use"] == before
    assert array.is_fully_addressable


def test_a_sharded_array_takes_its_shard_on_each_device():
    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("rows", "columns"))
    values = np.arange(16 * 512, dtype=np.int32).reshape(16, 512)
    array = jax.device_put(values, NamedSharding(mesh, PartitionSpec("rows", "columns")))
    assert np.array_equal(np.asarray(array), values)
    assert {shard.data.shape for shard in array.addressable_shards} == {(8, 128)}
    for shard in array.addressable_shards:
        assert np.array_equal(np.asarray(shard.data), values[shard.index])
    assert spaces_in_use() == {f"TPU_{device} device": 4096 for device in range(8)}


def test_a_replicated_array_takes_all_of_it_on_each_device():
    mesh = Mesh(np.array(jax.devices()), ("all",))
    array = jax.device_put(VALUES, NamedSharding(mesh, PartitionSpec()))
    assert array.is_fully_replicated
    assert np.array_equal(np.asarray(array), VALUES)
    assert spaces_in_use() == {f"TPU_{device} device": 8192 for device in range(8)}


def test_an_array_is_made_of_parts_that_live_already():
    mesh = Mesh(np.array(jax.devices()[:2]), ("all",))
    sharding = NamedSharding(mesh, PartitionSpec("all"))
    parts = [
        jax.device_put(VALUES[:4], jax.devices()[0]),
        jax.device_put(VALUES[4:], jax.devices()[1]),
    ]
    array = jax.make_array_from_single_device_arrays(VALUES.shape, sharding, parts)
    assert np.array_equal(np.asarray(array), VALUES)
    assert sum(spaces_in_use().values()) == sum(part.on_device_size_in_bytes() for part in parts)


def test_an_array_is_spread_anew_over_other_devices():
    devices = np.array(jax.devices())
    first = jax.device_put(VALUES, NamedSharding(Mesh(devices[:4], ("x",)), PartitionSpec("x")))
    second = jax.device_put(first, NamedSharding(Mesh(devices[4:], ("x",)), PartitionSpec("x")))
    assert np.array_equal(np.asarray(second), VALUES)
    assert second.sharding.device_set == set(devices[4:])
