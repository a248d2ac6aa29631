"""Damages traces and reads them: `python trace_damage.py SECONDS [SEED]`.

The reader is the one in Rust, as Python calls it. Damage knows records and numbers; what is read
must come out as a trace with its texts, or as a `TraceError` inside of the input, and soon.
"""

import os
import random
import sys
import time
from collections.abc import Iterator

from tpu_emu import TraceError, read
from tpu_emu.text import trace_text
from trace_writer import Writer, fields, number

PLANTED = "TPU_EMU_TEST_PLANTED"
"""The variable that makes a block of 77 bytes a fault, which a net must find."""

UNLUCKY = 77

SLOW_S = 2.0

NUMBERS = (0, 1, 2, 3, 5, 8, 77, 127, 128, 255, 1 << 14, 1 << 31, 1 << 32, (1 << 64) - 1, 1 << 64)

HEAD = 12
"""Magic and version."""


class FoundError(AssertionError):
    """The reader is wrong about these bytes."""


def seeds() -> list[bytes]:
    """Traces with records of every kind."""
    small = Writer()
    small.start()
    small.definitions()
    small.change(6, 1, 0)
    small.change(7, 2, 0)
    full = Writer()
    full.start(minor=200)
    full.definitions()
    full.put(10, 3, "result 0 of jit_f")
    full.record(6, fields(0, 1, 0, 8192, 5, 3, 9, 12, "PJRT_Call", 3))
    full.change(8, 0, 0)
    full.put(9, 0, 8192, 8192, 1, 4096)
    call = (0, 3, 7, "f", "jit_f", "a.py:3", 1, "f32", 2, 8, 129, 4097, 4128, 0)
    full.put(11, *call, 1, "n", "1 : i32", "", 3, 9, 12, "PJRT_Call", 5, 1, 64, 128, "it failed")
    full.put(12, "refused", 3, 9, 12, "PJRT_Call")
    full.put(200, 1, 2, 3)
    return [bytes(small.data), bytes(full.data)]


def records(data: bytes) -> list[tuple[int, bytes]]:
    """Kind and payload of each record that is whole."""
    found, at = [], HEAD
    while at + 5 <= len(data):
        end = at + 5 + int.from_bytes(data[at + 1 : at + 5], "little")
        if end > len(data):
            break
        found.append((data[at], data[at + 5 : end]))
        at = end
    return found


def damage(rng: random.Random, data: bytes) -> bytes:
    """Bytes that were changed one to three times, most often inside of a record."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = _damage_bytes(rng, data) if rng.random() < 1 / 3 else _damage_record(rng, data)
    return data


def _damage_bytes(rng: random.Random, data: bytes) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    end = at + rng.randrange(16)
    part = data[at:end]
    return rng.choice(
        (
            data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            data[:at] + data[end:],
            data[:at] + part + part + data[end:],
            data[:at] + rng.randbytes(len(part)) + data[end:],
            data[:at],
        )
    )


def _damage_record(rng: random.Random, data: bytes) -> bytes:
    all_records = records(data)
    if not all_records:
        return data
    place = rng.randrange(len(all_records))
    kind, payload = all_records[place]
    at = rng.randrange(len(payload) + 1)
    # A text becomes a number of frames or extents, a number a text's length.
    changed = rng.choice(
        (
            (kind, payload[:at] + number(rng.choice(NUMBERS)) + payload[at + 1 :]),
            (kind, payload[:at] + number(rng.choice(NUMBERS)) + payload[at + 2 :]),
            (kind, payload[:at] + payload[at + 1 :]),
            (kind, payload[:at]),
            (rng.randrange(14), payload),
            rng.choice(all_records),
        )
    )
    rng.choice(
        (
            lambda: all_records.__setitem__(place, changed),
            lambda: all_records.insert(place, changed),
            lambda: all_records.insert(rng.randrange(len(all_records)), all_records.pop(place)),
        )
    )()
    parts = [bytes([k]) + len(p).to_bytes(4, "little") + p for k, p in all_records]
    return data[:HEAD] + b"".join(parts)


def check(data: bytes, *, planted: bool = False) -> bool:
    """Reads; whether it was a trace.

    Raises:
        FoundError: for anything but a trace or an error inside of the input, soon.
    """
    begin = time.monotonic()
    try:
        trace = read(data)
        lines = sum(1 for _ in trace_text(trace)) + len(trace.live)
    except TraceError as error:
        if not 0 <= error.offset <= len(data):
            message = f"offset {error.offset} of {len(data)} bytes"
            raise FoundError(message) from error
        return False
    except Exception as error:
        raise FoundError(repr(error)) from error
    if time.monotonic() - begin > SLOW_S:
        message = f"{time.monotonic() - begin:.1f} s for {len(data)} bytes, {lines} lines"
        raise FoundError(message)
    if planted and any(change.size == UNLUCKY for change in trace.changes):
        message = "the planted fault"
        raise FoundError(message)
    return True


def search(seed: int, *, planted: bool) -> Iterator[tuple[bytes, bool]]:
    """Damaged traces without an end, each with whether it was one."""
    rng = random.Random(seed)  # noqa: S311
    begins = seeds()
    while True:
        data = damage(rng, rng.choice(begins))
        try:
            good = check(data, planted=planted)
        except FoundError as found:
            found.add_note(data.hex())
            raise
        yield data, good


def main() -> None:
    """Searches for a number of seconds."""
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    end = time.monotonic() + seconds
    count = good = 0
    for _, was_trace in search(seed, planted=PLANTED in os.environ):
        count, good = count + 1, good + was_trace
        if time.monotonic() > end:
            break
    print(f"trace: {count} damaged traces, {good} of them still read", file=sys.stderr)


if __name__ == "__main__":
    main()
