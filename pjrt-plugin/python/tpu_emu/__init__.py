"""The Python side of tpu-emu: where the plugin is, and who holds its emulated HBM."""

from tpu_emu.library import library_path, snapshot
from tpu_emu.text import change_text, dispatch_text, fault_text, frame_text
from tpu_emu.trace import (
    Argument,
    ArraySpec,
    Change,
    Dispatch,
    Fault,
    Frame,
    Header,
    Kind,
    Loss,
    Space,
    Stage,
    Trace,
    TraceError,
    Usage,
    read,
)

__version__ = "0.1.0"

__all__ = [
    "Argument",
    "ArraySpec",
    "Change",
    "Dispatch",
    "Fault",
    "Frame",
    "Header",
    "Kind",
    "Loss",
    "Space",
    "Stage",
    "Trace",
    "TraceError",
    "Usage",
    "change_text",
    "dispatch_text",
    "fault_text",
    "frame_text",
    "library_path",
    "read",
    "snapshot",
]
