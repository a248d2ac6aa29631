"""The Python side of tpu-emu: where the plugin is, and who holds its emulated HBM."""

from tpu_emu.allocations import Allocation, allocation_of, allocations_of
from tpu_emu.holders import Holder, holders
from tpu_emu.library import library_path, mark, snapshot
from tpu_emu.memory import Piece, configure, live, memory_map, peak
from tpu_emu.named import save_snapshot
from tpu_emu.recording import Recording, record
from tpu_emu.records import (
    Argument,
    ArraySpec,
    Change,
    Dispatch,
    Fault,
    Frame,
    Header,
    Held,
    Kind,
    Loss,
    Mark,
    Origin,
    Space,
    Stage,
    Usage,
)
from tpu_emu.text import change_text, dispatch_text, fault_text, frame_text
from tpu_emu.trace import Trace, TraceError, read

__version__ = "0.1.0"

__all__ = [
    "Allocation",
    "Argument",
    "ArraySpec",
    "Change",
    "Dispatch",
    "Fault",
    "Frame",
    "Header",
    "Held",
    "Holder",
    "Kind",
    "Loss",
    "Mark",
    "Origin",
    "Piece",
    "Recording",
    "Space",
    "Stage",
    "Trace",
    "TraceError",
    "Usage",
    "allocation_of",
    "allocations_of",
    "change_text",
    "configure",
    "dispatch_text",
    "fault_text",
    "frame_text",
    "holders",
    "library_path",
    "live",
    "mark",
    "memory_map",
    "peak",
    "read",
    "record",
    "save_snapshot",
    "snapshot",
]
