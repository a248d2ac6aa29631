"""The Python side of tpu-emu: where the plugin is, and who holds its emulated HBM."""

from tpu_emu.library import library_path, snapshot
from tpu_emu.text import change_text, frame_text
from tpu_emu.trace import (
    ArraySpec,
    Change,
    Frame,
    Header,
    Kind,
    Space,
    Trace,
    TraceError,
    Usage,
    read,
)

__version__ = "0.1.0"

__all__ = [
    "ArraySpec",
    "Change",
    "Frame",
    "Header",
    "Kind",
    "Space",
    "Trace",
    "TraceError",
    "Usage",
    "change_text",
    "frame_text",
    "library_path",
    "read",
    "snapshot",
]
