"""`device.memory_stats()`: the keys of a real TPU, and sizes padded to tiles."""

import ml_dtypes
import numpy as np
import pytest

import jax

KEYS = {
    *("bytes_in_use", "bytes_limit", "bytes_reservable_limit", "bytes_reserved"),
    *("largest_alloc_size", "largest_free_block_bytes", "num_allocs"),
    *("peak_bytes_in_use", "peak_bytes_reserved"),
}


@pytest.fixture
def device() -> jax.Device:
    """One that no other test uses."""
    return jax.devices()[7]


def test_the_keys_are_those_of_a_real_tpu(device):
    stats = device.memory_stats()
    assert stats.keys() >= KEYS
    # What jaxlib makes of a field that the plugin does not set is its own business.
    assert not {key for key in stats if key.startswith("pool")}


def test_a_v5e_chip_has_a_little_less_than_16_gib(device):
    stats = device.memory_stats()
    assert 15 << 30 < stats["bytes_limit"] < 16 << 30
    assert stats["bytes_reservable_limit"] == stats["bytes_limit"]
    assert stats["bytes_reserved"] == stats["peak_bytes_reserved"] == 0


@pytest.mark.parametrize(
    ("shape", "dtype", "padded"),
    [
        ((), "int32", 512),
        ((3,), "float32", 512),
        ((8, 128), "float32", 4096),
        ((8, 129), "float32", 8192),
        ((9, 128), "float32", 8192),
        ((8, 129), "bfloat16", 4096),
        ((512, 512), "int8", 512 * 512),
        ((512, 512), "int4", 512 * 512 // 2),
    ],
    ids=str,
)
def test_an_array_is_charged_in_tiles(device, shape, dtype, padded):
    before = device.memory_stats()
    values = np.zeros(shape, getattr(ml_dtypes, dtype, dtype))
    array = jax.device_put(values, device)
    after = device.memory_stats()
    assert after["bytes_in_use"] - before["bytes_in_use"] == padded
    assert after["num_allocs"] - before["num_allocs"] == 1
    assert array.on_device_size_in_bytes() == padded
    array.delete()
    assert device.memory_stats()["bytes_in_use"] == before["bytes_in_use"]


def test_the_peak_stays_when_the_memory_is_given_back(device):
    size = 64 << 20
    before = device.memory_stats()
    jax.device_put(np.zeros(size, np.uint8), device).delete()
    after = device.memory_stats()
    assert after["bytes_in_use"] == before["bytes_in_use"]
    assert after["peak_bytes_in_use"] >= before["bytes_in_use"] + size
    assert after["largest_alloc_size"] >= size
    assert after["largest_free_block_bytes"] == after["bytes_limit"] - after["bytes_in_use"]
