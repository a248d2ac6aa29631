"""What the package says of the memories of this process: recordings, origins, holders."""

import functools
import gc
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

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
    assert recording.live_by().origins[0].key.endswith("test_recording.py:22 block")
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


def test_a_device_that_is_not_there_is_refused_wherever_one_is_named():
    with tpu_emu.record() as recording:
        block().delete()
    [name] = {tpu_emu.snapshot().header.topology}
    asked: list[Callable[[Any], object]] = [
        recording.peak,
        lambda device: recording.live_by("line", device),
        lambda device: recording.trace.held("peak", "line", device),
        lambda device: tpu_emu.live(device=device),
        tpu_emu.peak,
        tpu_emu.memory_map,
    ]
    for ask in asked:
        ask(jax.devices()[1])
        with pytest.raises(ValueError, match=f"no device 99 in {name}, its devices are 0 to 7"):
            ask(99)
        with pytest.raises(TypeError, match="is no device"):
            ask("TPU_0")
    with pytest.raises(ValueError, match='"place" is none of line, function'):
        recording.peak_by("place")
    assert recording.devices == tuple(range(8))


def test_a_recording_that_has_not_begun_has_nothing_to_say():
    recording = tpu_emu.Recording()
    assert repr(recording) == "<recording that has not begun>"
    with pytest.raises(RuntimeError, match="the recording has not begun"):
        recording.peak()


def test_a_recording_begins_once_and_says_what_it_has():
    with tpu_emu.record() as recording:
        kept = block()
        with pytest.raises(RuntimeError, match="the recording has begun before"):
            recording.start()
    assert repr(recording).startswith(f"<recording: peak {recording.peak():,} B, live 1,048,576 B,")
    with pytest.raises(RuntimeError, match="the recording has begun before"):
        recording.start()
    kept.delete()


def test_the_child_of_a_fork_is_told_that_its_parent_has_the_devices():
    program = """
        import os, jax, tpu_emu
        jax.devices()
        with tpu_emu.record() as recording:
            child = os.fork()
            if child == 0:
                for ask in (recording.peak, tpu_emu.snapshot, tpu_emu.Recording().start):
                    try:
                        ask()
                    except RuntimeError as why:
                        print(why, flush=True)
                os._exit(0)
            os.waitpid(child, 0)
    """
    told = output(program)
    assert told.count("this is the child of a fork, and its parent has the TPU") == 3


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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('hbm="much"', "is no size"),
        ("hbm=0", "1 byte to 64 TiB"),
        ("hbm=True", "is no size"),
        ('topology="v9:1x1"', "A topology is FAMILY:XxY"),
    ],
)
def test_a_tpu_that_cannot_be_emulated_is_refused_where_it_is_chosen(given, told):
    program = f"""
        import tpu_emu
        try:
            tpu_emu.configure({given})
        except ValueError as why:
            print(why)
    """
    assert told in output(program)


def test_a_mark_is_a_moment_of_the_trace(tmp_path):
    program = """
        import jax, jax.numpy as jnp, tpu_emu
        first = jnp.ones((512, 512)).block_until_ready()
        tpu_emu.mark("warm")
        second = jnp.ones((512, 512)).block_until_ready()
        try:
            tpu_emu.mark(3)
        except TypeError as why:
            print(why)
    """
    path = tmp_path / "marked.trace"
    told = output(program, {"TPU_EMU_TRACE": str(path)})
    assert told.strip() == "the name of a moment is a text, not 3"
    trace = tpu_emu.read(path)
    [mark] = trace.marks
    assert (mark.name, mark.time_ns > 0) == ("warm", True)
    assert trace.held("warm").size == BLOCK
    assert trace.leaks("warm", "end").size == BLOCK


def test_the_end_of_a_program_is_before_its_modules_are_emptied(tmp_path):
    program = """
        import atexit, jax, jax.numpy as jnp
        kept = [jnp.ones((512, 512)) for _ in range(3)]
        jax.block_until_ready(kept)
        atexit.register(lambda: kept.pop())
    """
    path = tmp_path / "ended.trace"
    output(program, {"TPU_EMU_TRACE": str(path), "TPU_EMU_STACKS": "off"})
    assert tpu_emu.read(path).held("end").size == 2 * BLOCK


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


def test_holders_find_what_waits_what_failed_and_what_is_behind_attributes():
    class Slotted:
        __slots__ = ("part",)

        def __init__(self, part: jax.Array) -> None:
            self.part = part

    def waiting():
        held = jnp.zeros(101)
        yield held.shape
        yield held

    def failing():
        inner = jnp.zeros(102)
        raise ValueError(inner.shape)

    waits = waiting()
    next(waits)
    with pytest.raises(ValueError, match="102") as caught:
        failing()
    failed = caught.value
    slotted = Slotted(jnp.zeros(103))
    partial = functools.partial(print, jnp.zeros(104))
    # The frames of what pytest keeps lead to them too, so that the names are not looked at whole.
    paths = {holder.shape: holder.path for holder in tpu_emu.holders()}
    assert paths[(101,)].endswith("waits.held")
    assert paths[(102,)].endswith("__traceback__.<" + failing.__qualname__ + "()>.inner")
    assert paths[(103,)].endswith("slotted.part")
    assert paths[(104,)].endswith("partial.args[0]")
    assert (str(failed), partial.func, slotted.part.shape) == ("(102,)", print, (103,))


def test_holders_of_some_arrays_are_those_alone():
    wanted, other = jnp.zeros((13, 2)), jnp.zeros((13, 3))
    [found] = tpu_emu.holders([wanted])
    assert (found.shape, found.path.endswith(".wanted")) == ((13, 2), True)
    assert other.shape == (13, 3)


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
