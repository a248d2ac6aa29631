"""What the package says of the memories of this process: recordings, origins, holders."""

import gc
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

import tpu_emu
from emulator import output

BLOCK = 1 << 20
"""Bytes of an array of `block`."""


def block() -> jax.Array:
    return jnp.ones((512, 512), jnp.float32).block_until_ready()


def test_a_recording_counts_what_was_taken_in_it_and_nothing_else():
    before = block()
    with tpu_emu.record() as recording:
        kept = block()
        block().delete()
        before.delete()
    assert recording.live() == BLOCK
    assert BLOCK <= recording.peak() <= 3 * BLOCK
    assert recording.allocated() >= 2 * BLOCK
    assert recording.before_by("line").size >= BLOCK
    assert kept.shape == (512, 512)


def test_origins_of_a_recording_add_up_to_its_numbers():
    with tpu_emu.record() as recording:
        kept = [block() for _ in range(3)]
    for held, total in [
        (recording.peak_by(), recording.peak()),
        (recording.live_by(), recording.live()),
        (recording.allocated_by(), recording.allocated()),
    ]:
        assert held.size == sum(origin.size for origin in held.origins) == total
    assert recording.live_by().origins[0].key.endswith("test_recording.py:19 block")
    assert len(kept) == 3


def test_a_recording_can_be_asked_while_it_goes_on_and_lie_in_another():
    with tpu_emu.record() as outer:
        first = block()
        with tpu_emu.record() as inner:
            second = block()
            assert inner.live() == BLOCK
        assert outer.live() == 2 * BLOCK
        second.delete()
        assert outer.live() == BLOCK
        assert inner.live() == BLOCK
    assert outer.live() == BLOCK
    first.delete()


def test_a_recording_of_one_device_is_that_of_its_memory():
    with tpu_emu.record() as recording:
        kept = jax.device_put(jnp.ones((512, 512)), jax.devices()[1]).block_until_ready()
    assert recording.live(1) == BLOCK
    assert recording.live(2) == 0
    assert recording.live_by("space", 1).origins[0].key == "TPU_1"
    kept.delete()


def test_a_recording_that_has_not_begun_has_nothing_to_say():
    with pytest.raises(RuntimeError, match="the recording has not begun"):
        tpu_emu.Recording().peak()


def test_what_lives_adds_up_to_what_is_in_use():
    kept = block()
    [in_use] = {jax.devices()[0].memory_stats()["bytes_in_use"]}
    assert tpu_emu.live("line", 0).size == in_use
    pieces = tpu_emu.memory_map(0)
    assert sum(piece.size for piece in pieces if piece.block) == in_use
    limit = jax.devices()[0].memory_stats()["bytes_limit"]
    assert sum(piece.size for piece in pieces) == limit
    assert tpu_emu.peak(0) == jax.devices()[0].memory_stats()["peak_bytes_in_use"]
    with pytest.raises(ValueError, match="there is no device 99"):
        tpu_emu.memory_map(99)
    kept.delete()


def test_the_emulated_tpu_is_chosen_before_it_is_there():
    with pytest.raises(RuntimeError, match="the emulated TPU is there already"):
        tpu_emu.configure(topology="v5p:2x2x1")
    program = """
        import tpu_emu
        tpu_emu.configure(topology="v5p:2x2x1", hbm="2 GiB")
        import jax
        print(len(jax.devices()), jax.devices()[0].memory_stats()["bytes_limit"])
    """
    assert output(program).split() == ["4", str(2 << 30)]


KEPT: list[jax.Array] = []


def test_holders_name_the_shortest_path_to_each_array():
    def closes_over(array):
        return lambda: array

    local = block()
    KEPT.append(jnp.zeros((3, 5)))
    trainer = SimpleNamespace(
        history=[None, jnp.zeros((3, 6))], callback=closes_over(jnp.zeros(17))
    )
    sys.modules[__name__].__dict__["TRAINER"] = trainer
    del trainer
    paths = {holder.shape: holder.path for holder in tpu_emu.holders()}
    here = test_holders_name_the_shortest_path_to_each_array.__qualname__
    assert paths[(512, 512)] == f"{here}().local"
    assert paths[(3, 5)] == f"{__name__}.KEPT[0]"
    assert paths[(3, 6)] == f"{__name__}.TRAINER.history[1]"
    assert paths[(17,)] == f"{__name__}.TRAINER.callback.<closure array>"
    del sys.modules[__name__].__dict__["TRAINER"]
    KEPT.clear()
    local.delete()


def test_an_array_in_a_cycle_that_nothing_leads_to_has_no_path():
    gc.disable()
    try:
        cycle = SimpleNamespace(array=jnp.zeros((7, 11)))
        cycle.itself = cycle
        del cycle
        [found] = [holder for holder in tpu_emu.holders() if holder.shape == (7, 11)]
        assert found.path == ""
        assert "gc.collect()" in str(found)
    finally:
        gc.enable()
        gc.collect()
