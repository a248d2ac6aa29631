"""A writer of traces, as small as the format."""

from dataclasses import dataclass, field

import pytest


def number(value: int) -> bytes:
    """Seven bits a byte, lowest first, the top bit set on all but the last."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(*values: int | str) -> bytes:
    """Numbers, and texts with their length."""
    parts = []
    for value in values:
        if isinstance(value, str):
            parts.append(number(len(value.encode())) + value.encode())
        else:
            parts.append(number(value))
    return b"".join(parts)


@dataclass
class Writer:
    """Bytes of a trace, a record at a time."""

    data: bytearray = field(default_factory=bytearray)
    boundaries: list[int] = field(default_factory=list)
    """Where a record, or the header, ended."""

    def start(self, major: int = 1, minor: int = 0, magic: bytes = b"TPUEMUTR") -> None:
        """The header and the record of the process."""
        self.data += magic + major.to_bytes(2, "little") + minor.to_bytes(2, "little")
        self.record(1, fields(4711, 1_700_000_000_000_000_000, "0.1.0", "v5e:2x4"))

    def record(self, kind: int, payload: bytes) -> None:
        """Any record."""
        self.data += bytes([kind]) + len(payload).to_bytes(4, "little") + payload
        self.boundaries.append(len(self.data))

    def put(self, kind: int, *values: int | str) -> None:
        """A record of numbers and texts."""
        self.record(kind, fields(*values))

    def definitions(self) -> None:
        """Two spaces, one array, and the stacks 1 (`train.py`) and 3 (through the library)."""
        self.put(2, 0, 1, "TPU_0", "device", 1 << 34)
        self.put(2, 8, 0, "host", "pinned_host", 1 << 38)
        self.put(3, 5, "f32", 2, 8, 129, "{1,0:T(8,128)}", 4128, 8192)
        self.put(4, 900, 1, 1, "train", "train.py", 41, "python")
        self.put(4, 901, 1, 0, "PJRT_Client_BufferFromHostBuffer", "", 0, "/lib/libpjrt_x.so")
        # Two functions at one address: the compiler put one into the other.
        self.put(
            4,
            902,
            *(2, 0, "tpu_emu::hbm::heap::allocate", "heap.rs", 99, "/lib/libpjrt_x.so"),
            *(0, "put", "put.rs", 48, "/lib/libpjrt_x.so"),
        )
        self.put(5, 1, 0, 900)
        self.put(5, 2, 1, 901)
        self.put(5, 3, 2, 902)

    def change(self, kind: int, sequence: int, address: int, *, space: int = 0) -> None:
        """A change of the one array, by stack 3."""
        entry = "PJRT_Client_BufferFromHostBuffer"
        self.put(kind, space, sequence, address, 8192, 5, 3, 77, 12_345_678_901, entry)


@pytest.fixture
def writer() -> Writer:
    """A writer with nothing written."""
    return Writer()


@pytest.fixture
def small(writer: Writer) -> Writer:
    """A trace with one allocation, freed, and a second one."""
    writer.start()
    writer.definitions()
    writer.change(6, 1, 0)
    writer.change(7, 2, 0)
    writer.change(6, 3, 8192)
    return writer
