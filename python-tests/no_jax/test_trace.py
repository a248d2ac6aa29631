"""The reader of traces, on bytes written here."""

from pathlib import Path

import pytest

from tpu_emu import Argument, ArraySpec, Fault, Frame, Kind, Loss, Space, Stage, TraceError, read
from tpu_emu.text import change_text, dispatch_text, fault_text, trace_text
from trace_writer import Writer, fields


def test_what_is_written_is_read_back(small):
    trace = read(bytes(small.data))

    assert trace.complete
    assert (trace.header.version, trace.header.format) == ("0.1.0", (1, 0))
    assert (trace.header.process, trace.header.topology) == (4711, "v5e:2x4")
    assert trace.header.started_ns == 1_700_000_000_000_000_000
    hbm = Space(0, 0, "TPU_0", "device", 1 << 34)
    assert trace.spaces == (hbm, Space(8, None, "host", "pinned_host", 1 << 38))
    kinds = [change.kind for change in trace.changes]
    assert kinds == [Kind.ALLOCATE, Kind.FREE, Kind.ALLOCATE]
    [first, _, _] = trace.changes
    assert first.space == hbm
    assert first.device == 0
    assert first.spec == ArraySpec("f32", (8, 129), "{1,0:T(8,128)}", 4128, 8192)
    assert str(first.spec) == "f32[8,129]{1,0:T(8,128)}"
    assert (first.sequence, first.address, first.size) == (1, 0, 8192)
    assert (first.thread, first.time_ns) == (77, 12_345_678_901)
    assert first.entry == "PJRT_Client_BufferFromHostBuffer"


def test_a_stack_begins_at_the_function_recorded_and_ends_at_the_outermost(small):
    [change] = read(bytes(small.data)).live
    assert change.stack == (
        Frame("tpu_emu::hbm::heap::allocate", "heap.rs", 99, "/lib/libpjrt_x.so", python=False),
        Frame("put", "put.rs", 48, "/lib/libpjrt_x.so", python=False),
        Frame("PJRT_Client_BufferFromHostBuffer", "", 0, "/lib/libpjrt_x.so", python=False),
        Frame("train", "train.py", 41, "python", python=True),
    )


def test_stack_0_is_empty(writer):
    writer.start()
    writer.definitions()
    writer.put(6, 0, 1, 0, 8192, 5, 0, 77, 0, "")
    assert read(bytes(writer.data)).live[0].stack == ()


def test_live_is_what_was_not_freed_by_space_in_the_order_it_was_taken(writer):
    writer.start()
    writer.definitions()
    writer.change(6, 1, 4096, space=8)
    # Two threads wrote these three in another order than the heap served them.
    writer.change(6, 3, 0)
    writer.change(7, 2, 0)
    writer.change(6, 1, 0)
    writer.change(6, 4, 8192)
    # A refusal has no address: it neither takes nor frees.
    writer.change(8, 0, 0)
    live = read(bytes(writer.data)).live
    assert [(change.space.number, change.sequence) for change in live] == [(0, 3), (0, 4), (8, 1)]


def test_a_trace_can_be_read_from_a_file(small, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(small.data)
    assert read(path) == read(str(path)) == read(small.data) == read(memoryview(small.data))


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")


def test_a_label_says_what_a_program_took_a_block_for(writer):
    writer.start(minor=1)
    writer.definitions()
    writer.put(10, 4, "result 0 of jit_f: stablehlo.add at train.py:12")
    writer.put(6, 0, 1, 0, 8192, 5, 3, 77, 0, "PJRT_LoadedExecutable_Execute", 4)
    writer.put(6, 0, 2, 8192, 8192, 5, 3, 77, 0, "PJRT_Client_BufferFromHostBuffer", 0)
    [result, put] = read(bytes(writer.data)).live
    assert result.label == "result 0 of jit_f: stablehlo.add at train.py:12"
    assert put.label == ""
    assert change_text(result).splitlines()[1].strip() == result.label


def test_usage_says_how_full_a_space_is(writer):
    writer.start()
    writer.definitions()
    writer.put(9, 8, 200, 300, 3, 1 << 40)
    [usage] = read(bytes(writer.data)).usages
    assert usage.space.owner == "host"
    assert (usage.in_use_bytes, usage.peak_bytes) == (200, 300)
    assert (usage.allocations, usage.largest_hole_bytes) == (3, 1 << 40)


def test_every_truncation_is_an_error_or_incomplete(small):
    data = bytes(small.data)
    for size in range(len(data)):
        if size < small.boundaries[0]:
            with pytest.raises(TraceError):
                read(data[:size])
        else:
            trace = read(data[:size])
            assert trace.complete == (size in small.boundaries), size
            assert len(trace.changes) == sum(end <= size for end in small.boundaries[-3:])


def test_every_damaged_byte_is_read_or_refused_with_an_offset_in_the_input(small):
    data = bytes(small.data)
    for at in range(len(data)):
        for flipped in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= flipped
            try:
                read(damaged)
            except TraceError as error:
                assert 0 <= error.offset <= len(data)  # noqa: PT017 (most damage is not seen)


def test_unknown_records_and_fields_of_later_minor_versions_are_skipped(writer):
    writer.start(minor=8)
    writer.record(200, b"\xff" * 300)
    writer.definitions()
    entry = "PJRT_Client_BufferFromHostBuffer"
    writer.put(6, 0, 1, 0, 8192, 5, 3, 77, 0, entry, 0, "a field of version 1.8", 9)
    writer.record(0, b"")
    trace = read(bytes(writer.data))
    assert trace.header.format == (1, 8)
    assert [change.entry for change in trace.live] == [entry]
    assert trace.complete


@pytest.mark.parametrize("major", [0, 2, 65535])
def test_another_major_version_is_refused(writer, major):
    writer.start(major=major)
    with pytest.raises(TraceError, match=f"format version {major}.0; this reader takes 1.x"):
        read(bytes(writer.data))


def test_other_files_are_refused(writer):
    writer.start(magic=b"\x7fELF\x02\x01\x01\x00")
    with pytest.raises(TraceError, match=r"no trace: .*, at byte 0"):
        read(bytes(writer.data))


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (6, (9, 1, 0, 1, 5, 3, 1, 1, ""), "space 9 is used before it is defined"),
        (6, (0, 1, 0, 1, 6, 3, 1, 1, ""), "array type 6 is used before it is defined"),
        (6, (0, 1, 0, 1, 5, 4, 1, 1, ""), "stack 4 is used before it is defined"),
        (6, (0, 1, 0, 1, 5, 3, 1, 1, "", 2), "label 2 is used before it is defined"),
        (5, (4, 9, 900), "stack 9 is used before it is defined"),
        (5, (4, 4, 900), "stack 4 is used before it is defined"),
        (5, (4, 1, 904), "frame 904 is used before it is defined"),
        (5, (1, 0, 900), "stack 1 is defined twice"),
        (5, (0, 0, 900), "stack 0 is defined twice"),
        (6, (0, 1, 0), "a number is cut off"),
        (3, (9, "f32", 1 << 62, 1, 1), "is cut off"),
        (4, (9, 1 << 62), "is cut off"),
        (2, (1, 2, "TPU_1"), "is cut off"),
        (1 + 8, (0, 1 << 64), "a number has more than 64 bits"),
        (9, (0, 1 << 71), "a number has more than 64 bits"),
    ],
)
def test_damage_is_named(writer, kind, values, message):
    writer.start()
    writer.definitions()
    start = len(writer.data)
    writer.put(kind, *values)
    with pytest.raises(TraceError, match=message) as caught:
        read(bytes(writer.data))
    assert start < caught.value.offset <= len(writer.data)


def test_a_text_that_is_not_utf8_is_named(writer):
    writer.start()
    writer.record(2, fields(0, 0) + b"\x02\xc3\x28" + fields("device", 1))
    with pytest.raises(TraceError, match="a text is not UTF-8"):
        read(bytes(writer.data))


def test_a_text_longer_than_its_record_is_refused(writer):
    writer.start()
    writer.record(2, fields(0, 0, 1 << 40))
    with pytest.raises(TraceError, match="a text of 1099511627776 bytes is cut off"):
        read(bytes(writer.data))


def test_a_deep_stack_is_read_without_recursion(writer):
    writer.start()
    writer.definitions()
    for node in range(4, 20_004):
        writer.put(5, node, node - 1, 901)
    writer.put(6, 0, 1, 0, 8192, 5, 20_003, 77, 0, "")
    assert len(read(bytes(writer.data)).live[0].stack) == 20_004


def test_a_loss_is_none_until_there_is_one(small):
    # Ten bytes a number, as a writer makes them that puts the record in its own place again.
    padded = b"\x80" * 8
    small.record(13, b"\x80" + padded + b"\0" + b"\x80" + padded + b"\0")
    assert read(bytes(small.data)).loss is None
    assert read(bytes(small.data)).complete
    small.record(13, b"\x87" + padded + b"\0" + b"\x9c" + padded + b"\0")
    trace = read(bytes(small.data))
    assert trace.loss == Loss(7, 28)
    assert not trace.complete
    [*_, loss, live] = trace_text(trace)
    assert loss.endswith("and 7 records are missing at its end: No space left on device")
    assert live == (
        "1 allocations lived where the trace ends, 8192 bytes; what became of them is not known"
    )


def test_an_empty_file_is_no_trace():
    with pytest.raises(TraceError, match="no trace: it is empty, at byte 0"):
        read(b"")


def test_the_page_about_the_format_names_every_record_kind():
    page = (Path(__file__).resolve().parents[2] / "docs" / "trace-format.md").read_text()
    for kind in range(1, 14):
        assert f"\n### {kind} " in page


def test_writer_and_reader_agree_on_the_first_bytes():
    writer = Writer()
    writer.start()
    assert writer.data[:13] == b"TPUEMUTR\x01\x00\x00\x00\x01"


def dispatched(writer: Writer, stage: int, error: str) -> None:
    """A custom call with an operand, a result, an attribute and a block of scratch memory."""
    writer.put(
        11,
        *(0, stage, 7, "axpy", "jit_f", "train.py:12:3"),
        *(1, "f32", 2, 2, 3, 513, 24),
        *(1, "token", 0, 0, 0),
        *(1, "alpha", "2.5 : f32", ""),
        *(3, 77, 12_345_678_901, "PJRT_LoadedExecutable_Execute", 4_321),
        *(1, 1024, 512, error),
    )


def test_a_custom_call_is_read_with_all_that_it_had(writer):
    writer.start(minor=2)
    writer.definitions()
    dispatched(writer, 3, "")
    [call] = read(bytes(writer.data)).dispatches
    assert (call.device, call.stage, call.run) == (0, Stage.EXECUTE, 7)
    assert (call.target, call.program, call.line) == ("axpy", "jit_f", "train.py:12:3")
    assert call.operands == (Argument("f32", (2, 3), 512, 24),)
    assert call.results == (Argument("token", (), None, 0),)
    assert call.attributes == {"alpha": "2.5 : f32"}
    assert (call.opaque, call.error, call.scratch) == ("", None, ((1024, 512),))
    assert (call.duration_ns, call.time_ns, call.thread) == (4_321, 12_345_678_901, 77)
    assert call.stack[-1].function == "train"


def test_a_custom_call_reads_as_text(writer):
    writer.start(minor=2)
    writer.definitions()
    dispatched(writer, 3, "no such axis")
    [call] = read(bytes(writer.data)).dispatches
    lines = dispatch_text(call).splitlines()
    assert lines[:8] == [
        "custom call axpy: execute on TPU_0, run 7, 4.321 µs",
        "  in jit_f at train.py:12:3",
        "  PJRT_LoadedExecutable_Execute, thread 77, 12.345678 s",
        "  operand 0: f32[2,3], 24 bytes at 0x200",
        "  result 0: token[]",
        "  attribute alpha = 2.5 : f32",
        "  scratch of 512 bytes at 0x400",
        "  failed: no such axis",
    ]


def test_an_unknown_stage_is_damage(writer):
    writer.start(minor=2)
    writer.definitions()
    dispatched(writer, 4, "")
    with pytest.raises(TraceError, match="a stage with the number 4"):
        read(bytes(writer.data))


def test_a_refused_call_is_read_and_reads_as_text_where_it_happened(small):
    message = "no live block of TPU_0 starts at 0x1000: there is none"
    small.put(12, message, 1, 77, 12_345_678_000, "TpuExecutor_Deallocate")
    trace = read(bytes(small.data))
    [fault] = trace.faults
    train = Frame("train", "train.py", 41, "python", python=True)
    entry = "TpuExecutor_Deallocate"
    assert fault == Fault(message, (train,), 77, 12_345_678_000, entry)
    assert fault_text(fault).splitlines() == [
        "refused TpuExecutor_Deallocate",
        f"  {message}",
        "  thread 77, 12.345678 s",
        "    #0   train.py:41 train",
    ]
    # It was before the changes, though it was written after them.
    paragraphs = list(trace_text(trace))
    assert paragraphs[1] == fault_text(fault)
    assert paragraphs[2].startswith("allocate ")
