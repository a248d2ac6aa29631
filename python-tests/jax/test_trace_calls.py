"""What a trace has beside changes: calls, marks, programs, launches, holes, the client's end."""

import struct

import pytest

from emulator import run

PROGRAM = """
    import ctypes
    import os

    import jax
    import jax.numpy as jnp
    import numpy as np

    library = ctypes.CDLL(os.environ["TPU_LIBRARY_PATH"])

    @jax.jit
    def f(x):
        y = jnp.tanh(x @ x.T)
        return (y @ x).sum() + jnp.sin(y).sum()

    x = jax.device_put(np.ones((64, 64), np.float32))
    for _ in range(5):
        f(x).block_until_ready()
    name = "a mark".encode()
    assert library.tpu_emu_mark(name, ctypes.c_size_t(len(name))) == 0
"""


class _Reader:
    """Numbers and texts of a record."""

    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.payload[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def text(self):
        size = self.number()
        self.at += size
        return self.payload[self.at - size : self.at].decode()


def records(path):
    """The kind and the fields of each record, in their order."""
    data = path.read_bytes()
    at, found = 12, []
    while at < len(data) and data[at]:
        kind, size = struct.unpack_from("<BI", data, at)
        found.append((kind, _Reader(data[at + 5 : at + 5 + size])))
        at += 5 + size
    return found


def of_kind(path, wanted):
    return [reader for kind, reader in records(path) if kind == wanted]


def counts(path):
    """Calls, bytes and errors by function and whether the stack is known."""
    found: dict[str, list[int]] = {}
    for calls in of_kind(path, 14):
        function, stack = calls.text(), calls.number()
        calls.numbers(2)
        count, time, size, errors = calls.numbers(4)
        assert time > 0
        sums = found.setdefault(function, [0, 0, 0, 0])
        for place, more in enumerate((count, size, errors, count if stack else 0)):
            sums[place] += more
    return found


def test_calls_are_counted_with_their_bytes(tmp_path):
    path = tmp_path / "trace"
    assert run(PROGRAM, {"TPU_EMU_TRACE": str(path)}).returncode == 0
    found = counts(path)
    executed = found["PJRT_LoadedExecutable_Execute"]
    assert executed[0] >= 5
    assert found["PJRT_Client_BufferFromHostBuffer"][1] >= 64 * 64 * 4
    assert found["tpu_emu_mark"][0] == 1
    # Few calls have all of their stacks.
    assert executed[3] == executed[0]


@pytest.mark.parametrize("mode", ["off", "counts", "each"])
def test_how_much_of_calls_is_in_the_trace_is_asked_for(tmp_path, mode):
    path = tmp_path / "trace"
    assert run(PROGRAM, {"TPU_EMU_TRACE": str(path), "TPU_EMU_CALLS": mode}).returncode == 0
    found, single = counts(path), of_kind(path, 15)
    assert bool(found) == (mode != "off")
    assert bool(single) == (mode == "each")
    if mode == "counts":
        assert all(known == 0 for *_, known in found.values())
    if mode == "each":
        names = [call.text() for call in single]
        name = "PJRT_LoadedExecutable_Execute"
        assert names.count(name) == found[name][0]


def test_a_program_its_launches_a_mark_and_the_end_are_in_the_trace(tmp_path):
    path = tmp_path / "trace"
    assert run(PROGRAM, {"TPU_EMU_TRACE": str(path)}).returncode == 0
    programs = {}
    for program in of_kind(path, 17):
        number, name = program.number(), program.text()
        temporaries, *_ = program.numbers(4)
        slots = []
        for _ in range(program.number()):
            offset, size, logical, first, last = program.numbers(5)
            dtype = program.text()
            shape = program.numbers(program.number())
            slots.append((offset, size, logical, first, last, dtype, shape))
            texts = [program.text() for _ in range(3)]
            assert texts[1]
        positions = program.number()
        for offset, size, logical, first, last, _, _ in slots:
            assert offset + size <= temporaries
            assert 0 < logical <= size
            assert first <= last < positions
        # What lives at once lies apart.
        for one in slots:
            for other in slots:
                if one is not other and one[3] <= other[4] and other[3] <= one[4]:
                    assert one[0] + one[1] <= other[0] or other[0] + other[1] <= one[0]
        programs[name] = (number, temporaries, slots)
    number, temporaries, slots = programs["jit_f"]
    assert temporaries > 0
    assert slots
    launches = [launch.numbers(9) for launch in of_kind(path, 20)]
    of_f = [launch for launch in launches if launch[0] == number]
    assert len(of_f) == 5
    for _, run_number, device, _, stack, enqueued, started, ended, status in of_f:
        assert (device, status) == (0, 0)
        assert stack
        assert run_number
        assert enqueued <= started <= ended
    [mark] = of_kind(path, 16)
    assert mark.text() == "a mark"
    [end] = of_kind(path, 19)
    end.numbers(3)
    places = [tuple(end.numbers(2)) for _ in range(end.number())]
    assert dict(places)[0] > 0
    assert end.text() == "atexit of Python"
    kinds = [kind for kind, _ in records(path)]
    changes = [kind for kind in kinds[: kinds.index(19)] if kind in (6, 7)]
    assert len(changes) == dict(places)[0]


def test_a_refusal_has_the_holes_before_it(tmp_path):
    path = tmp_path / "trace"
    program = """
    import jax
    import numpy as np

    held = [jax.device_put(np.ones((1 << 18,), np.float32)) for _ in range(6)]
    del held[1], held[2]
    try:
        jax.device_put(np.ones((1 << 21,), np.float32)).block_until_ready()
    except Exception as why:
        assert "RESOURCE_EXHAUSTED" in str(why)
    else:
        raise AssertionError("it fits")
    """
    environment = {"TPU_EMU_TRACE": str(path), "TPU_EMU_HBM_BYTES": "8MiB"}
    done = run(program, environment)
    assert done.returncode == 0, done.stderr
    found = records(path)
    [at] = [place for place, (kind, _) in enumerate(found) if kind == 8]
    kind, holes = found[at - 1]
    assert kind == 18
    space, sequence, _, asked, in_use, free, largest, count = holes.numbers(8)
    listed = [tuple(holes.numbers(2)) for _ in range(holes.number())]
    assert (space, sequence, asked, in_use) == (0, 8, 8 << 20, 4 << 20)
    assert (free, largest, count) == (4 << 20, 2 << 20, 3)
    assert listed == [(6 << 20, 2 << 20), (3 << 20, 1 << 20), (1 << 20, 1 << 20)]
