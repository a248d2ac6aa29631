"""Changes in memory as text for people."""

from collections.abc import Iterator

from tpu_emu.trace import Change, Frame, Trace


def change_text(change: Change) -> str:
    """One change: lines on what and where, what for, how and who, then its stack.

    Sizes are in bytes, times in seconds since the start of the machine.
    """
    where = str(change.space)
    if change.sequence:
        where += f" at {change.address:#x}"
    spec = change.spec
    entry = change.entry or "outside of the API"
    lines = [
        f"{change.kind.value} {spec} on {where}",
        f"  {spec.logical_bytes} bytes of data, {change.size} bytes in memory",
        f"  {entry}, thread {change.thread}, {_seconds(change.time_ns)} s",
    ]
    if change.label:
        lines.insert(1, f"  {change.label}")
    frames = enumerate(change.stack)
    lines.extend(f"    #{number:<3} {frame_text(frame)}" for number, frame in frames)
    return "\n".join(lines)


def frame_text(frame: Frame) -> str:
    """`file:line function` of a Python frame, `function at file:line [module]` of another."""
    place = frame.file if frame.line == 0 else f"{frame.file}:{frame.line}"
    if frame.python:
        return f"{place} {frame.function}"
    module = frame.module.rpartition("/")[2]
    return frame.function + (f" at {place}" if place else "") + (f" [{module}]" if module else "")


def trace_text(trace: Trace) -> Iterator[str]:
    """A trace, one text a paragraph: the process, every change, and what lives at the end."""
    header = trace.header
    yield f"tpu-emu {header.version}, process {header.process}, {header.topology}"
    for change in trace.changes:
        yield change_text(change)
    for usage in trace.usages:
        yield (
            f"{usage.space}: {usage.in_use_bytes} bytes in use, at most {usage.peak_bytes},"
            f" {usage.allocations} allocations, largest hole {usage.largest_hole_bytes}"
        )
    live = trace.live
    yield f"{len(live)} live allocations, {sum(change.size for change in live)} bytes"
    if not trace.complete:
        yield "The last record is cut off: the process ended while it wrote."


def _seconds(nanos: int) -> str:
    return f"{nanos // 10**9}.{nanos % 10**9 // 1000:06}"
