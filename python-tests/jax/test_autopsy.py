"""What an out-of-memory error advises: a program that follows it fits."""

import json
import os
from pathlib import Path

import pytest
from test_command import command

from emulator import output, run

# Blocks of 1 MiB that go, between blocks of 256 KiB that stay: then 32 MiB are asked for.
FRAGMENTS = """
    import os
    import jax
    import numpy as np

    ADVICE = os.environ.get("ADVICE")
    kept, passing = [], []

    def log(i):
        kept.append(jax.device_put(np.full((64, 1024), i, np.float32)))

    def activate():
        passing.append(jax.device_put(np.ones((256, 1024), np.float32)))

    for i in range(40):
        activate()
        log(i)
    jax.block_until_ready([kept, passing])
    passing.clear()
    if ADVICE == "free":
        kept.clear()
    if ADVICE == "defragment":
        moved = jax.device_get(kept)
        kept.clear()
        kept.extend(jax.device_put(moved))
        jax.block_until_ready(kept)
    big = jax.block_until_ready(jax.device_put(np.ones((8, 1024, 1024), np.float32)))
    print("it fits")
"""

# Its result is as large as its first argument, and something else is kept.
DONATION = """
    import os
    import jax
    import numpy as np

    ADVICE = os.environ.get("ADVICE")

    def step(w, x):
        return w * 2 + x

    step = jax.jit(step, donate_argnums=(0,) if ADVICE == "donate" else ())

    def keep():
        return jax.block_until_ready(jax.device_put(np.ones((10, 256, 1024), np.float32)))

    w = jax.block_until_ready(jax.device_put(np.ones((4, 1024, 1024), np.float32)))
    x = jax.block_until_ready(jax.device_put(np.ones(1024, np.float32)))
    kept = keep()
    if ADVICE == "free":
        kept = None
    w = jax.block_until_ready(step(w, x))
    print("it fits")
"""

# A last axis of 130 takes 256 lanes.
PADDING = """
    import os
    import jax
    import numpy as np

    ADVICE = os.environ.get("ADVICE")
    kept = []

    def keep():
        rows = np.ones((8, 130, 5), np.float32)
        kept.append(jax.device_put(rows.reshape(8, 650) if ADVICE == "reshape" else rows))

    for _ in range(100):
        keep()
    jax.block_until_ready(kept)
    big = jax.block_until_ready(jax.device_put(np.ones((3, 256, 1024), np.float32)))
    print("it fits")
"""


def refused(program: str, hbm: int, **environment: str) -> str:
    """What the error of a program says."""
    done = run(program, {"TPU_EMU_HBM_BYTES": str(hbm), **environment})
    assert done.returncode == 1, done
    return done.stderr[done.stderr.index("RESOURCE_EXHAUSTED: ") :]


def fits(program: str, hbm: int, advice: str) -> bool:
    """Whether a program that follows an advice fits."""
    return "it fits" in output(program, {"TPU_EMU_HBM_BYTES": str(hbm), "ADVICE": advice})


def advised(text: str) -> list[str]:
    """The lines of what would make it fit."""
    _, _, behind = text.partition("what would make it fit, each checked by replay:\n")
    helping, _, _ = behind.partition("what would not:\n")
    return [line.strip() for line in helping.splitlines() if line.startswith("  ")]


def traced(program: str, path: Path, hbm: int) -> dict:
    """The autopsy of a program's trace."""
    refused(program, hbm, TPU_EMU_TRACE=str(path))
    done = command("autopsy", path, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout)["autopsy"]


def helping(autopsy: dict) -> list[str]:
    return [advice["kind"] for advice in autopsy["advice"] if advice["helps"]]


@pytest.fixture(scope="module")
def least(tmp_path_factory) -> int:
    """The least memory in which the program with fragments fits, as `fit` says."""
    path = tmp_path_factory.mktemp("fit") / "run.trace"
    assert output(FRAGMENTS, {"TPU_EMU_TRACE": str(path)}).strip() == "it fits"
    done = command("fit", path, "--hbm", "1GiB", "--json")
    assert done.returncode == 0
    return json.loads(done.stdout)["smallest"]


def test_fit_finds_the_least_memory_to_the_granule(least):
    assert "it fits" in output(FRAGMENTS, {"TPU_EMU_HBM_BYTES": str(least)})
    assert "Attempting to allocate 32.00M." in refused(FRAGMENTS, least - 512)


def test_fit_ends_with_its_own_status_where_there_is_no_room(least, tmp_path):
    path = tmp_path / "run.trace"
    output(FRAGMENTS, {"TPU_EMU_TRACE": str(path)})
    done = command("fit", path, "--hbm", str(least - 512), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["fits"]) == (3, False)
    [space] = found["spaces"]
    assert space["refused"]["asked"] == 32 << 20
    assert command("fit", path, "--topology", "v5p:2x2x1").returncode == 0
    assert command("fit", path).returncode == 2
    assert command("fit", path, "--topology", "v9:1x1").returncode == 2


def test_the_error_has_the_words_of_a_real_tpu_first_and_the_reasons_beneath(least):
    first, empty, reasons, *lines = refused(FRAGMENTS, least - 512).splitlines()
    assert first.endswith("; (0x0x0_HBM0)")
    assert empty == ""
    assert reasons.startswith("TPU_0: 10.0 MiB of ")
    assert lines[0] == "who holds it, by line:"
    assert lines[1].split() == ["10.0", "MiB", "40", "blocks", *lines[1].split()[4:]]
    assert lines[1].endswith(" log")
    assert any(line.startswith("largest hole: 32.0 MiB at ") for line in lines)


@pytest.mark.parametrize("advice", ["free", "defragment"])
def test_holes_open_by_what_is_advised(least, advice):
    words = {"free": "freed before: 10.0 MiB in 40 blocks of ", "defragment": "defragmented: "}
    lines = advised(refused(FRAGMENTS, least - 512))
    assert any(line.startswith(words[advice]) for line in lines), lines
    assert fits(FRAGMENTS, least - 512, advice)


def test_the_autopsy_of_the_trace_is_that_of_the_error(least, tmp_path):
    autopsy = traced(FRAGMENTS, tmp_path / "run.trace", least - 512)
    assert helping(autopsy)[:2] == ["defragment", "free"]
    assert autopsy["in_use"] == sum(row["size"]["in_memory"] for row in autopsy["holders"])
    assert autopsy["in_use"] + autopsy["free"] == least - 512
    assert autopsy["careful"] == []
    text = command("autopsy", tmp_path / "run.trace").stdout.decode()
    assert "what would make it fit, each checked by replay:\n" in text


def test_an_argument_that_is_donated_makes_room_for_the_result():
    hbm = 40 << 20
    lines = advised(refused(DONATION, hbm))
    assert any("donated (donate_argnums): argument 0 " in line for line in lines), lines
    assert any(line.startswith("freed before: 10.0 MiB ") for line in lines), lines
    assert fits(DONATION, hbm, "donate")
    assert fits(DONATION, hbm, "free")


def test_padding_that_is_avoided_makes_room(tmp_path):
    whole = output(PADDING, {"TPU_EMU_TRACE": str(tmp_path / "whole.trace")})
    assert whole.strip() == "it fits"
    found = command("fit", tmp_path / "whole.trace", "--hbm", "1GiB", "--json")
    hbm = json.loads(found.stdout)["smallest"] - 512
    autopsy = traced(PADDING, tmp_path / "run.trace", hbm)
    [advice] = [advice for advice in autopsy["advice"] if advice["kind"] == "reshape"]
    assert (advice["helps"], advice["how"]) == (True, "reshape(8, 650)")
    assert fits(PADDING, hbm, "reshape")


def test_a_program_that_goes_on_after_a_refusal_is_told_of_each(tmp_path):
    program = """
    import jax
    import numpy as np

    held = jax.block_until_ready(jax.device_put(np.ones(3 << 20, np.uint8)))
    for size in (2 << 20, 3 << 20):
        try:
            jax.block_until_ready(jax.device_put(np.ones(size, np.uint8)))
        except RuntimeError as error:
            print(str(error).count("freed before: 3.00 MiB"))
    """
    path = tmp_path / "run.trace"
    settings = {"TPU_EMU_HBM_BYTES": "4MiB", "TPU_EMU_TRACE": str(path)}
    assert output(program, settings).split() == ["1", "1"]
    for number in ("1", "2"):
        done = command("autopsy", path, "--refusal", number, "--json")
        assert json.loads(done.stdout)["refusals"] == 2
    third = command("autopsy", path, "--refusal", "3")
    assert (third.returncode, third.stdout) == (2, b"")
    said = f"{os.fspath(path)}: it has 2 refusals, and no refusal 3"
    assert third.stderr.decode() == f"tpu-emu: {said}\n"


# Two results of one size, of which the second finds no room; each could take an argument over.
TWINS = """
    import os
    import jax
    import numpy as np

    ADVICE = os.environ.get("ADVICE")

    def ones(mib):
        return jax.block_until_ready(jax.device_put(np.ones((mib, 256, 1024), np.float32)))

    def step(w, m, g):
        return w - g, m + g

    step = jax.jit(step, donate_argnums=0 if ADVICE == "donate" else ())
    w, m, g = ones(4), ones(4), ones(4)
    kept = ones(3)
    if ADVICE == "free":
        kept = None
    w, m = jax.block_until_ready(step(w, m, g))
    print("it fits")
"""


def test_what_a_launch_took_before_it_was_refused_is_nobody_s_to_free(tmp_path):
    hbm = (23 << 20) - 512
    autopsy = traced(TWINS, tmp_path / "run.trace", hbm)
    assert (autopsy["in_use"], autopsy["asked_before"]) == (15 << 20, 4 << 20)
    assert helping(autopsy) == ["donate", "free", "enlarge"]
    [donated, freed, _] = [advice for advice in autopsy["advice"] if advice["helps"]]
    assert [given["argument"] for given in donated["arguments"]] == [0]
    assert [line["size"]["in_memory"] for line in freed["lines"]] == [3 << 20]
    error = refused(TWINS, hbm)
    assert all(advice["words"] in error for advice in autopsy["advice"])
    assert fits(TWINS, hbm, "donate")
    assert fits(TWINS, hbm, "free")


def test_a_donation_that_saves_nothing_is_not_named():
    # Its transpose is read to the end, so that the result needs a place of its own.
    program = """
    import jax
    import numpy as np

    kept = jax.block_until_ready(jax.device_put(np.ones((6, 256, 1024), np.float32)))
    w = jax.block_until_ready(jax.device_put(np.ones((1024, 1024), np.float32)))
    jax.block_until_ready(jax.jit(lambda w: jax.numpy.sin(w).T + w.T)(w))
    """
    error = refused(program, 13 << 20)
    assert "result 0 of jit__lambda" in error
    assert "donated" not in error


# Its arguments and results are more than the device has.
TOO_LARGE = """
    import os
    import jax
    import numpy as np

    ADVICE = os.environ.get("ADVICE")
    step = jax.jit(lambda w: w * 2, donate_argnums=0 if ADVICE == "donate" else ())
    w = jax.block_until_ready(jax.device_put(np.ones((8, 256, 1024), np.float32)))
    w = jax.block_until_ready(step(w))
    print("it fits")
"""


def test_a_program_that_is_refused_when_it_is_compiled_says_what_would_make_it_fit(tmp_path):
    hbm = 12 << 20
    error = refused(TOO_LARGE, hbm)
    assert "CompileTimeHbmOom" in error
    _, _, advice = error.partition("What would make it fit, each checked by compiling it:\n")
    donated, chip, least, *_ = [line.strip() for line in advice.splitlines()]
    assert donated == "donated (donate_argnums): argument 0 (8.00M) for result 0"
    assert chip.startswith("a larger chip: ")
    assert fits(TOO_LARGE, hbm, "donate")
    needed = int(least.removesuffix(" bytes of HBM on each device"))
    assert fits(TOO_LARGE, needed, "")
    assert "CompileTimeHbmOom" in refused(TOO_LARGE, needed - 1)
    # Which is what `fit` says.
    path = tmp_path / "run.trace"
    output(TOO_LARGE, {"TPU_EMU_TRACE": str(path)})
    found = json.loads(command("fit", path, "--hbm", str(needed - 1), "--json").stdout)
    [space] = found["spaces"]
    assert (found["fits"], found["smallest"]) == (False, needed)
    assert needed - 512 < space["program"]["needed"] <= needed


@pytest.mark.parametrize("allocates", [True, False])
def test_the_trace_has_a_program_that_is_refused_when_it_is_compiled(tmp_path, allocates):
    """Also where nothing else was allocated: the argument is only described then."""
    make = "np.ones((8, 256, 1024), np.float32)"
    described = "jax.ShapeDtypeStruct((8, 256, 1024), np.float32)"
    program = TOO_LARGE
    if not allocates:
        program = program.replace(f"jax.block_until_ready(jax.device_put({make}))", described)
        program = program.replace("jax.block_until_ready(step(w))", "step.lower(w).compile()")
    path = tmp_path / "run.trace"
    error = refused(program, 12 << 20, TPU_EMU_TRACE=str(path))
    _, _, advice = error.partition("each checked by compiling it:\n")
    wanted = [line.strip() for line in advice.splitlines()]
    found = json.loads(command("autopsy", path, "--json").stdout)
    assert (found["refusals"], found["autopsy"]) == (0, None)
    [of] = found["programs"]
    assert of["program"] == "jit__lambda"
    assert of["needed"] > of["available"] == 12 << 20
    assert (of["arguments"], of["results"]) == (8 << 20, 8 << 20)
    assert of["advice"] == wanted[:3]
    assert ":" in of["line"], of
    text = command("autopsy", path).stdout.decode()
    assert "program refused at" in text
    assert of["advice"][0] in text
    [words] = json.loads(command("summary", path, "--json").stdout)["refused_programs"]
    assert words.startswith("jit__lambda needs ")
    assert words in command("summary", path).stdout.decode()
    told = command("fit", path, "--hbm", str(of["needed"] - 512), "--json")
    assert (told.returncode, json.loads(told.stdout)["fits"]) == (3, False)
    page = tmp_path / "run.html"
    assert command("report", path, "-o", page).returncode == 0


def test_what_no_program_can_move_does_not_come_together():
    # A program's constants lie between two holes.
    program = """
    import jax
    import numpy as np

    def ones(mib):
        return jax.block_until_ready(jax.device_put(np.ones((mib, 256, 1024), np.float32)))

    table = np.random.default_rng(0).normal(size=(512, 1024)).astype(np.float32)
    below = ones(4)
    look = jax.jit(lambda i: jax.numpy.take(table, i, axis=0))
    rows = jax.block_until_ready(look(np.int32(3)))
    below.delete()
    above = ones(7)
    """
    error = refused(program, 12 << 20)
    assert "between blocks that no program can move, which is too few" in error
