"""Changes in memory, custom calls and refused calls as text for people."""

import os
from collections.abc import Iterator

from tpu_emu.records import Argument, Change, Dispatch, Fault, Frame, Loss
from tpu_emu.trace import Trace

_ERRORS = 1 << 31
"""More than any number of an error of the system."""


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


def dispatch_text(dispatch: Dispatch) -> str:
    """One stage of a custom call: where and when, arguments, attributes, memory, its stack.

    Sizes are in bytes, times in seconds since the start of the machine, durations in µs.
    """
    run = f", run {dispatch.run}" if dispatch.run else ""
    entry = dispatch.entry or "outside of the API"
    micros = f"{dispatch.duration_ns // 1000}.{dispatch.duration_ns % 1000:03}"
    lines = [
        (
            f"custom call {dispatch.target}: {dispatch.stage.name.lower()}"
            f" on TPU_{dispatch.device}{run}, {micros} µs"
        ),
        f"  in {dispatch.program} at {dispatch.line or 'an unknown line'}",
        f"  {entry}, thread {dispatch.thread}, {_seconds(dispatch.time_ns)} s",
    ]
    for what, arguments in (("operand", dispatch.operands), ("result", dispatch.results)):
        for number, argument in enumerate(arguments):
            lines.append(f"  {what} {number}: {_argument_text(argument)}")
    lines.extend(f"  attribute {name} = {value}" for name, value in dispatch.attributes.items())
    if dispatch.opaque:
        lines.append(f"  opaque {dispatch.opaque!r}")
    lines.extend(f"  scratch of {size} bytes at {at:#x}" for at, size in dispatch.scratch)
    if dispatch.error is not None:
        lines.append(f"  failed: {dispatch.error}")
    frames = enumerate(dispatch.stack)
    lines.extend(f"    #{number:<3} {frame_text(frame)}" for number, frame in frames)
    return "\n".join(lines)


def fault_text(fault: Fault) -> str:
    """A refused call: which and why, who and when, then its stack."""
    lines = [f"refused {fault.entry or 'a call outside of the API'}"]
    lines.extend(f"  {line}" for line in fault.message.splitlines())
    lines.append(f"  thread {fault.thread}, {_seconds(fault.time_ns)} s")
    frames = enumerate(fault.stack)
    lines.extend(f"    #{number:<3} {frame_text(frame)}" for number, frame in frames)
    return "\n".join(lines)


def _argument_text(argument: Argument) -> str:
    if argument.address is None:
        return str(argument)
    return f"{argument}, {argument.size} bytes at {argument.address:#x}"


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
    # The lists are in the order of writing, which is that of time but for races.
    events: list[Change | Dispatch | Fault] = [*trace.changes, *trace.dispatches, *trace.faults]
    for event in sorted(events, key=lambda event: event.time_ns):
        yield _event_text(event)
    for usage in trace.usages:
        yield (
            f"{usage.space}: {usage.in_use_bytes} bytes in use, at most {usage.peak_bytes},"
            f" {usage.allocations} allocations, largest hole {usage.largest_hole_bytes}"
        )
    live = trace.live
    size = sum(change.size for change in live)
    if trace.loss is not None:
        yield loss_text(trace.loss)
        yield (
            f"{len(live)} allocations lived where the trace ends, {size} bytes;"
            " what became of them is not known"
        )
        return
    yield f"{len(live)} live allocations, {size} bytes"
    if trace.damaged is not None:
        start, end = trace.damaged
        yield f"The file is damaged between its bytes {start} and {end}: what it says may be wrong."
    elif not trace.complete:
        yield (
            "The last record is cut off: the process ended while it wrote,"
            " or the file is damaged there."
        )


def live_text(trace: Trace) -> Iterator[str]:
    """What lives at the end of a trace, one text a paragraph."""
    if trace.loss is not None:
        yield loss_text(trace.loss)
        yield "These allocations lived where the trace ends; what became of them is not known:"
    yield from map(change_text, trace.live)


def loss_text(loss: Loss) -> str:
    """Why a trace ends before its process did."""
    # A damaged trace may have any number there.
    is_of_system = 0 < loss.error < _ERRORS
    why = os.strerror(loss.error) if is_of_system else "another program changed the file"
    what = f"{loss.records} records are" if loss.records > 1 else "1 record is"
    return f"The trace was cut off by an error of its writer, and {what} missing at its end: {why}"


def _event_text(event: Change | Dispatch | Fault) -> str:
    if isinstance(event, Change):
        return change_text(event)
    return dispatch_text(event) if isinstance(event, Dispatch) else fault_text(event)


def _seconds(nanos: int) -> str:
    return f"{nanos // 10**9}.{nanos % 10**9 // 1000:06}"
