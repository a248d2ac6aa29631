"""The end of an array: `delete`, the last reference, and use afterwards."""

import gc

import numpy as np
import pytest
import tpu_emu

import jax


def test_delete_gives_the_memory_back_at_once():
    array = jax.device_put(np.zeros((8, 128), np.float32))
    assert [change.size for change in tpu_emu.snapshot().live] == [4096]
    array.delete()
    assert tpu_emu.snapshot().live == ()
    assert array.is_deleted()


def test_the_last_reference_gives_the_memory_back():
    array = jax.device_put(np.zeros((8, 128), np.float32))
    also = array
    del array
    assert len(tpu_emu.snapshot().live) == 1
    del also
    gc.collect()
    assert tpu_emu.snapshot().live == ()


def test_a_deleted_array_cannot_be_read():
    array = jax.device_put(np.zeros((8, 129), np.float32))
    array.delete()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[8,129\]"):
        np.asarray(array)


def test_a_deleted_array_cannot_be_copied():
    array = jax.device_put(np.zeros(3, np.float32))
    array.delete()
    with pytest.raises((RuntimeError, ValueError), match="deleted"):
        jax.device_put(array, jax.devices()[1])


def test_deleting_twice_is_deleting_once():
    array = jax.device_put(1)
    array.delete()
    array.delete()
    assert array.is_deleted()


def test_what_was_read_before_stays_after_delete():
    values = np.arange(1000, dtype=np.int16)
    array = jax.device_put(values)
    read = np.asarray(array)
    array.delete()
    other = jax.device_put(np.full(1000, -1, np.int16))
    assert np.array_equal(read, values)
    other.delete()


def test_an_empty_array_takes_no_memory_and_can_be_deleted():
    array = jax.device_put(np.zeros((0, 7), np.float32))
    assert tpu_emu.snapshot().live == ()
    array.delete()
    assert array.is_deleted()
