"""Every command of `tpu-emu` with bad input: a sentence and a code, 1 for input, 2 for usage."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import tpu_emu
from trace_writer import Writer, fields

COMMAND = tpu_emu.library_path().resolve().parent / "tpu-emu"

# Words before a trace, which stands last.
READERS: dict[str, list[str]] = {
    "summary": ["summary"],
    "summary-limit": ["summary", "--limit", "1GiB", "--by", "stack"],
    "tree": ["tree"],
    "leaks": ["leaks"],
    "padding": ["padding"],
    "holes": ["holes"],
    "timeline": ["timeline"],
    "lifetimes": ["lifetimes"],
    "pprof": ["export", "--format", "pprof"],
    "collapsed": ["export", "--format", "collapsed"],
    "speedscope": ["export", "--format", "speedscope"],
    "pytorch": ["export", "--format", "pytorch"],
    "perfetto": ["export", "--format", "perfetto"],
    "xspace": ["export", "--format", "xspace"],
    "report": ["report", "--output", "-"],
    "top": ["top", "--once"],
    "guidebook": ["guidebook"],
    "guidebook-html": ["guidebook", "--format", "html"],
    "autopsy": ["autopsy"],
    "fit": ["fit", "--hbm", "1GiB"],
    "fit-topology": ["fit", "--topology", "v5p:2x2x1"],
}
# Those that print JSON on --json.
TELLERS = [
    name
    for name, words in READERS.items()
    if words[0] not in ("export", "report") and name != "guidebook-html"
]

HEAD = b"TPUEMUTR\x01\x00\x00\x00"


def run(*words: str | bytes | Path, **more: str) -> subprocess.CompletedProcess[bytes]:
    """The command, with no Python of an environment in reach."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere"} | more
    return subprocess.run(
        [COMMAND, *words], env=environment, capture_output=True, check=False, timeout=120
    )


def told(done: subprocess.CompletedProcess[bytes], code: int) -> str:
    """The sentence of a command that ends with a code and prints nothing."""
    err = done.stderr.decode(errors="surrogateescape")
    assert (done.returncode, done.stdout) == (code, b""), done
    assert "panicked" not in err
    assert err.startswith("tpu-emu: " if code == 1 else ("error: ", "tpu-emu: ")), err
    return err


def bad_files(folder: Path) -> dict[str, tuple[Path, str]]:
    """Files that are no traces, with what is said of them."""
    contents = {
        "empty": (b"", "it is empty"),
        "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "TPUEMUTR"),
        "text": (b"TPU_EMU_TRACE=run.trace\n" * 100, "TPUEMUTR"),
        "html": (b"<!doctype html><title>a report</title>", "TPUEMUTR"),
        "head's half": (HEAD[:5], ""),
        "head's most": (HEAD[:9], ""),
        "newer": (b"TPUEMUTR\x02\x00\x00\x00" + bytes(100), "2"),
        "newest": (b"TPUEMUTR\xff\xff\xff\xff" + b"\xff" * 100, ""),
        "wild": (HEAD + b"\xff" * 4096, ""),
        "long record": (HEAD + b"\x01\xff\xff\xff\x7f" + bytes(64), ""),
        "line\nbreak": (b"no trace, whatever its name says", "TPUEMUTR"),
        "</script>": (b"no trace, whatever its name says", "TPUEMUTR"),
    }
    found = {}
    for name, (data, why) in contents.items():
        path = folder / name.replace("/", "_")
        path.write_bytes(data)
        found[name] = (path, why)
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("absent")
    found["missing"] = (folder / "absent", "No such file")
    found["below a file"] = (folder / "empty" / "run.trace", "Not a directory")
    found["directory"] = (folder, "a folder")
    found["loop"] = (folder / "loop", "symbolic links")
    found["dangling"] = (folder / "dangling", "No such file")
    found["long name"] = (folder / ("n" * 300), "too long")
    found["nothing"] = (Path("/dev/null"), "it is empty")
    return found


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_trace_is_a_sentence_with_its_name_and_code_1(tmp_path, reader):
    for name, (path, reason) in bad_files(tmp_path).items():
        # What `top` follows may begin later.
        why = "not begun yet" if (reader, reason) == ("top", "it is empty") else reason
        err = told(run(*READERS[reader], path), 1)
        assert why in err, (name, err)
        assert str(path) in err or "\n" in name, (name, err)


def test_a_name_that_is_no_text_is_taken(tmp_path, small):
    path = os.fsencode(tmp_path) + b"/\xff\xfe\n'\".trace"
    Path(os.fsdecode(path)).write_bytes(small.data)
    for name, words in READERS.items():
        if name != "top":
            assert run(*words, path).returncode == 0, name
    told(run("summary", path + b"x"), 1)


def test_a_diff_names_the_one_of_its_files_that_is_bad(tmp_path, small):
    good = tmp_path / "good"
    good.write_bytes(small.data)
    for path, why in bad_files(tmp_path).values():
        for words in ([good, path], [path, good]):
            assert why in told(run("diff", *words), 1)
    assert run("diff", good, good).returncode == 0


@pytest.mark.parametrize("reader", READERS)
def test_a_trace_that_is_cut_anywhere_is_read_as_far_as_it_goes_or_refused(tmp_path, small, reader):
    path = tmp_path / "cut"
    for length in range(0, len(small.data), 29):
        path.write_bytes(small.data[:length])
        done = run(*READERS[reader], path)
        assert done.returncode in (0, 1), done
        assert b"panicked" not in done.stderr
        if done.returncode:
            told(done, 1)


def test_a_trace_without_changes_is_told_of_by_every_command(tmp_path, writer):
    writer.start()
    for has_definitions in (False, True):
        if has_definitions:
            writer.definitions()
        path = tmp_path / "nothing"
        path.write_bytes(writer.data)
        for name, words in READERS.items():
            done = run(*words, path)
            assert (done.returncode, done.stderr) == (0, b""), (name, done)
        for name in TELLERS:
            assert run(*READERS[name], "--json", path).stdout.startswith(b"{"), name


def hostile(writer: Writer) -> None:
    """A trace whose numbers and texts are as bad as its format lets them be."""
    text = "a\n\"'</script><img src=x onerror=alert(1)>\x1b]8;;http://x\x07\u202e"
    # So large that the few of this trace have a sum.
    most = 1 << 58
    writer.data += b"TPUEMUTR\x01\x00\x00\x00"
    writer.record(1, fields((1 << 64) - 1, (1 << 64) - 1, text, text))
    writer.put(2, 0, 1, text, "device", most)
    writer.put(2, 1, 1, text, "device", 0)
    writer.put(3, 5, text, 2, most, most, text, most, most)
    writer.put(4, 900, 1, 1, text, text, most >> 32, text)
    writer.put(5, 1, 0, 900)
    for space in (0, 1):
        writer.put(6, space, 1, 0, most, 5, 1, most >> 32, most, text)
        writer.put(6, space, 2, most, most, 5, 1, most >> 32, most, text)
        writer.put(8, space, 0, 0, most, 5, 1, most >> 32, most, text)
        writer.put(7, space, 3, 0, most, 5, 1, most >> 32, most, text)


@pytest.mark.parametrize("reader", READERS)
def test_numbers_and_texts_of_the_worst_kind_are_shown_or_refused(tmp_path, writer, reader):
    hostile(writer)
    path = tmp_path / "worst"
    for end in writer.boundaries:
        path.write_bytes(writer.data[:end])
        done = run(*READERS[reader], path)
        assert done.returncode in (0, 1, 3), done
        assert b"panicked" not in done.stderr
        if reader not in ("pprof", "pytorch", "perfetto", "xspace"):
            assert b"\x1b" not in done.stdout + done.stderr
        if reader in ("report", "guidebook-html"):
            assert b"<img src=x" not in done.stdout
        if reader == "guidebook":
            # Nor does Markdown make an element of what is escaped, or stands between backticks.
            text = re.sub(rb"`[^`\n]*`", b"", done.stdout)
            assert b"<img src=x" not in text.replace(b"\\<", b"")


USAGE = [
    *(["tree", "F", f"--least={value}"] for value in ("nan", "inf", "-1", "101", "much", "")),
    *(["top", "F", f"--every={value}"] for value in ("nan", "inf", "-1", "0", "1e300", "")),
    *(
        [name, "F", f"--top={value}"]
        for name in ("summary", "leaks", "lifetimes")
        for value in ("-1", str(1 << 64), "all", "")
    ),
    *([name, "F", "--by", "mood"] for name in ("summary", "leaks", "lifetimes", "top")),
    *(
        ["fit", "F", f"--hbm={value}"]
        for value in ("0", "-1", "65TiB", str(1 << 64), "9" * 99 + "GiB", "much", "1.5GiB", "")
    ),
    *(["summary", "F", f"--limit={value}"] for value in ("0", "-1", str(1 << 64), "much", "")),
    *(
        [*words, value]
        for words in (["topologies"], ["fit", "F", "--topology"], ["tpu-info", "--topology"])
        for value in ("v9:2x2", "v5e", "v5e:0x0", "v5e:1000000x1000000", "v5e:2x2,num_slices=x")
    ),
    ["topologies", "v5e:2x2,num_slices=999999999999"],
    *(["autopsy", "F", f"--refusal={value}"] for value in ("0", "-1", str(1 << 32), "first")),
    *(["tpu-info", f"--port={value}"] for value in ("0", "-1", "65536", "http", "")),
    *(["export", "F", "--format", value] for value in ("png", "")),
    ["export", "F"],
    ["export", "F", "--format", "pytorch", "--last=-1"],
    ["export", "F", "--format", "collapsed", "--last", "1"],
    ["export", "F", "--format", "perfetto", "--at", "peak"],
    ["export", "F", "--format", "pytorch", "--at", "peak", "--to", "end"],
    *(["guidebook", "F", f"--stacks={value}"] for value in ("-1", str(1 << 64))),
    ["guidebook", "F", "--format", "pdf"],
    ["walkthrough", "--most=-1", "F"],
    ["walkthrough"],
    *([name] for name in ("summary", "tree", "leaks", "padding", "holes", "timeline", "fit")),
    *([name, "F"] for name in ("diff", "fit")),
    *([name, "F", "--at", ""] for name in ("tree", "holes")),
    *([name, "F", "F", "F"] for name in ("summary", "diff", "report")),
    ["run"],
    ["run", "--limit"],
    ["run", "--hbm", "none", "F"],
    ["run", "--topology", "v9", "F"],
    ["doctor", "F"],
    ["mood"],
    ["--mood"],
    [],
]


@pytest.mark.parametrize("words", USAGE, ids=lambda words: " ".join(words)[:60])
def test_options_that_are_none_are_a_sentence_and_code_2(tmp_path, small, words):
    path = tmp_path / "run.trace"
    path.write_bytes(small.data)
    done = run(*[path if word == "F" else word for word in words])
    assert (done.returncode, done.stdout) == (2, b""), done
    assert b"panicked" not in done.stderr
    assert b"error: " in done.stderr or b"Usage: " in done.stderr, done


@pytest.mark.parametrize("name", ["dawn", "refusal", "mark:peak", "refusal#0", "peak#99", "-1s"])
def test_a_moment_that_a_trace_does_not_have_is_a_sentence_and_code_2(tmp_path, small, name):
    path = tmp_path / "run.trace"
    path.write_bytes(small.data)
    for words in (
        *(["tree", "--at"], ["holes", "--at"], ["leaks", "--from"], ["leaks", "--to"]),
        *(["report", "-o", "-", "--at"], ["export", "--format", "pprof", "--at"]),
        *(["export", "--format", "pytorch", "--from"], ["export", "--format", "xspace", "--to"]),
    ):
        done = run(*words[:-1], f"{words[-1]}={name}", path)
        assert name in told(done, 2), (words, done)


@pytest.mark.parametrize("reader", READERS)
def test_a_full_disk_behind_standard_output_is_a_sentence_and_code_1(tmp_path, small, reader):
    path = tmp_path / "run.trace"
    path.write_bytes(small.data)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, *READERS[reader], path],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1, done
    assert b"No space left on device" in done.stderr
    assert b"panicked" not in done.stderr


def test_a_file_that_cannot_be_written_is_named_and_the_trace_stays(tmp_path, small):
    path = tmp_path / "run.trace"
    path.write_bytes(small.data)
    wrong = {
        tmp_path: "directory",
        tmp_path / "absent" / "out.html": "No such file",
        path / "out.html": "Not a directory",
        tmp_path / ("n" * 300 + ".html"): "too long",
        Path("/dev/full"): "No space left",
    }
    for output, why in wrong.items():
        for name in ("report", "guidebook"):
            err = told(run(name, path, "-o", output), 1)
            assert why in err, (name, err)
            assert str(output) in err, (name, err)
    told(run("report", path, "-o", path), 1)
    assert path.read_bytes() == small.data
    assert sorted(found.name for found in tmp_path.iterdir()) == ["run.trace"]


def test_a_program_that_cannot_be_started_is_named_with_code_1(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    library = str(tpu_emu.library_path().resolve())
    for program in ("/absent/program", str(tmp_path), str(plain)):
        err = told(run("run", "--", program, TPU_EMU_LIBRARY=library), 1)
        assert program in err
        err = told(run("run", "--python", program, "x.py", TPU_EMU_LIBRARY=library), 1)
        assert program in err
        err = told(run("walkthrough", "--python", program, "x.py", TPU_EMU_LIBRARY=library), 1)
        assert program in err
    for name in ("run", "walkthrough"):
        err = told(run(name, "x.py", TPU_EMU_LIBRARY="/absent.so"), 1)
        assert err == "tpu-emu: TPU_EMU_LIBRARY=/absent.so is no file\n"


@pytest.mark.parametrize("name", ["4294967295", "0", "99999999999999999999", "-1", "a b"])
def test_a_process_that_is_none_is_a_sentence(name):
    done = run("top", "--once", "--", name)
    assert name in told(done, 1)


@pytest.mark.parametrize("reader", sorted(READERS.keys() - {"top"}))
def test_an_editor_that_is_none_is_told_where_links_are_made(tmp_path, small, reader):
    path = tmp_path / "run.trace"
    path.write_bytes(small.data)
    done = run(*READERS[reader], path, TPU_EMU_EDITOR="ed")
    if READERS[reader][0] in ("report", "guidebook"):
        assert "TPU_EMU_EDITOR" in told(done, 1)
    else:
        assert done.returncode == 0, done
