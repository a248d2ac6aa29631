"""`tpu-emu guidebook` and `tpu-emu walkthrough`: what a program called, and from where."""

import json
from pathlib import Path

import pytest
from schema import misfits
from test_run import run

from trace_writer import Writer, fields

LONG = 10


def long(value: int) -> bytes:
    """A number in ten bytes, so that it can be written again in its place."""
    parts = [value >> 7 * place & 0x7F | 0x80 for place in range(LONG)]
    return bytes([*parts[:-1], parts[-1] & 0x7F])


@pytest.fixture
def counted(writer: Writer, tmp_path: Path) -> Path:
    """A trace with calls of two functions: one from two stacks, and one with a strange name."""
    writer.start(minor=5)
    writer.definitions()
    writer.put(4, 903, 1, 1, "load|<b>", "/home/a b/train.py", 7, "python")
    writer.put(5, 4, 0, 903)
    writer.put(5, 5, 4, 901)
    put, odd = "PJRT_Client_BufferFromHostBuffer", "Odd_</script>`|"
    for name, stack, first, counts in [
        (put, 3, 2_000, (3, 4_500_000, 12, 1)),
        (put, 5, 1_000, (1, 500_000, 4, 0)),
        (odd, 4, 500, (2, 20, 0, 0)),
    ]:
        payload = fields(name, stack, 77, first) + b"".join(map(long, counts))
        writer.record(14, payload)
    for stack, time, status in [(5, 1_000, 0), (3, 2_000, 0), (3, 3_000, 8)]:
        writer.put(15, put, stack, 77, time, 1_500_000, 4, status)
    path = tmp_path / "calls.trace"
    path.write_bytes(writer.data)
    return path


def test_functions_stand_in_the_order_of_first_call_with_their_sums(counted, tmp_path):
    code, out, err = run("guidebook", counted, "--json", folder=tmp_path)
    assert (code, err) == (0, "")
    book = json.loads(out)
    assert misfits("guidebook", book) == []
    odd, put = book["functions"]
    assert (odd["name"], odd["count"], odd["nanos"]) == ("Odd_</script>`|", 2, 20)
    assert [put[key] for key in ("count", "nanos", "bytes", "errors")] == [4, 5_000_000, 16, 1]
    assert (put["first"], put["distinct"]) == (1_000, 2)
    # Most calls first; frames from the outermost down to the function of the interface.
    frames = [[frame["function"] for frame in of["frames"]] for of in put["stacks"]]
    assert frames == [["train", put["name"]], ["load|<b>", put["name"]]]
    assert put["stacks"][1]["frames"][0]["url"] == "file:///home/a%20b/train.py"
    assert "openxla/xla" in put["url"]


def test_pages_show_names_as_they_are(counted, tmp_path):
    code, out, _ = run("guidebook", counted, folder=tmp_path, TPU_EMU_EDITOR="vscode")
    assert code == 0
    assert (
        "| 2 | [PJRT_Client_BufferFromHostBuffer](#2-pjrt_client_bufferfromhostbuffer) | 4 |" in out
    )
    assert "[/home/a b/train.py:7](vscode://file/home/a%20b/train.py:7)" in out
    assert "Odd_\\</script\\>\\`\\|" in out
    code, out, _ = run("guidebook", counted, "-o", "book.html", folder=tmp_path)
    assert (code, out) == (0, "book.html\n")
    page = (tmp_path / "book.html").read_text()
    assert "</script>" not in page
    assert "Odd_&lt;/script&gt;`|" in page
    assert "load|&lt;b&gt;" in page
    assert page.count("<details") == 3


def test_what_was_not_seen_of_many_calls_is_told(writer, tmp_path):
    writer.start(minor=5)
    writer.definitions()
    name = "PJRT_Buffer_Destroy"
    for stack, counts in [(3, (30, 3_000, 0, 0)), (0, (1_970, 197_000, 0, 0))]:
        payload = fields(name, stack, 77, 1_000) + b"".join(map(long, counts))
        writer.record(14, payload)
    path = tmp_path / "calls.trace"
    path.write_bytes(writer.data)
    code, out, err = run("guidebook", path, "--json", folder=tmp_path)
    assert (code, err) == (0, "")
    book = json.loads(out)
    assert misfits("guidebook", book) == []
    [of] = book["functions"]
    assert (of["count"], of["nanos"], of["is_estimated"]) == (2_000, 200_000, True)
    assert (of["distinct"], of["unseen"], len(of["stacks"])) == (1, 1_970, 1)
    for form in ("md", "html"):
        code, out, _ = run("guidebook", path, "--format", form, folder=tmp_path)
        assert code == 0
        assert "2,000 calls, about 200.00 µs in all, about 100 ns each" in out
        assert "Of 1,970 calls no stack was taken" in out
        assert "1+" in out
    code, out, _ = run("walkthrough", path, folder=tmp_path)
    assert code == 0
    assert "No stack was taken." in out


def test_a_walk_shows_each_call_once_with_its_numbered_stack(counted, tmp_path):
    code, out, _ = run("walkthrough", counted, folder=tmp_path)
    assert code == 0
    put = "PJRT_Client_BufferFromHostBuffer"
    assert f"1. {put} at 0.000001 s: 1 call, 1.50 ms, 4 B\n" in out
    assert f"2. {put} at 0.000002 s: 2 calls, 3.00 ms, 8 B, 1 failed\n" in out
    assert "Python:\n\n  1. train at train.py:41\n\nNative:\n\n  1. " + put in out
    assert out.endswith("2 distinct calls.\n")


def test_what_has_no_calls_is_told_by_its_changes(small, tmp_path):
    (tmp_path / "old.trace").write_bytes(small.data)
    code, out, _ = run("guidebook", "old.trace", folder=tmp_path)
    assert (code, "has no counts of calls" in out, "time unknown" in out) == (0, True, True)
    code, out, _ = run("walkthrough", "--json", "old.trace", folder=tmp_path)
    [step] = json.loads(out)
    assert (code, step["count"], step["bytes"]) == (0, 3, 2 * 8192)
    code, out, err = run("guidebook", "absent", folder=tmp_path)
    assert (code, out, err) == (1, "", "tpu-emu: absent: No such file or directory (os error 2)\n")
    code, out, err = run("guidebook", "old.trace", "-o", "absent/x", folder=tmp_path)
    assert (code, out) == (1, "")
    assert err.startswith("tpu-emu: absent/x: No such file")
