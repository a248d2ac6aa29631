"""The HTML report in Chromium: each view is clicked through, and its numbers are the ledger's."""

import json
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, cast

import pytest

import tpu_emu
from chromium import ROOT, TOOLS, Browser, refused, report, tool
from scenes import EVIL, Scene, by_line, clean_up, everything, many, many_devices, many_stacks

VIEWS = ("who", "flame", "map", "allocations", "programs", "leaks", "padding", "refusals", "calls")
DRAWN = """(() => {
  const drawn = (canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0);
  return [...document.querySelectorAll('main canvas')].every(drawn);
})()"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, driven by puppeteer."""
    node, chromium = tool("node"), tool("chromium", "chromium-browser", "google-chrome")
    if not (TOOLS / "node_modules/puppeteer-core").is_dir():
        pytest.skip("puppeteer-core is not installed: make test-report does it")
    driver = [node, str(Path(__file__).with_name("drive.mjs")), str(TOOLS), chromium]
    with subprocess.Popen(
        driver, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Browser(process)
        cast("IO[str]", process.stdin).close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scene]:
    """A report with something in every view, and its ledger before the clean-up."""
    scene = everything()
    path = tmp_path_factory.mktemp("full") / "full.trace"
    clean_up(everything()).write(path)
    return report(path), scene


def shown(words: str) -> str:
    """A text as the page shows it, on one line."""
    return "".join(" " if letter in "\n\u202e" else letter for letter in words)


@pytest.mark.parametrize("dark", [False, True])
def test_every_view_opens_without_an_error(
    browser: Browser, full: tuple[Path, Scene], dark: bool
) -> None:
    browser.open(full[0], dark=dark)
    for view in VIEWS:
        browser.view(view)
        assert browser.eval("document.querySelector('main').innerText.trim().length") > 20, view
        assert browser.eval(DRAWN), view
    assert browser.eval("window.broken") is None
    assert browser.errors() == []


def test_who_and_cards_are_the_ledger(browser: Browser, full: tuple[Path, Scene]) -> None:
    path, scene = full
    browser.open(path)
    for space in (0, 1, 2):
        browser.do("select", selector=".controls select", value=str(space))
        assert browser.number("#card-peak") == scene.peaks[space]
        browser.do("click", selector="#at-peak")
        expected = by_line(scene, scene.at_peak[space])
        assert browser.rows() == expected
        assert browser.number("#held-bytes") == sum(size for size, _ in expected.values())
        browser.do("click", selector="#at-end")
        live = [block for block in scene.live.values() if block.space == space]
        assert browser.rows() == by_line(scene, live)
        assert browser.number("#card-end") == scene.in_use[space]
        padding = sum(block.size - block.logical for block in live)
        browser.view("padding")
        assert browser.number("#padding-bytes") == padding
        browser.view("who")
    assert browser.errors() == []


def test_leaks_are_what_was_taken_after_a_mark(browser: Browser, full: tuple[Path, Scene]) -> None:
    path, scene = full
    browser.open(path)
    browser.do("select", selector=".controls select", value="0")
    browser.view("leaks")
    leaked = {
        words: row
        for words, row in by_line(scene, list(scene.live.values())).items()
        if "leak" in words
    }
    assert browser.rows() == leaked
    assert browser.number("#leaked-bytes") == 6 * 4096


def test_the_map_has_the_holes_and_what_stands_beside_them(
    browser: Browser, full: tuple[Path, Scene]
) -> None:
    path, scene = full
    browser.open(path)
    browser.do("select", selector=".controls select", value="0")
    browser.do("click", selector="#at-end")
    browser.view("map")
    end = 65536 + 5 * 8192 + 4096
    title = browser.eval("document.querySelector('#largest-hole').title")
    assert title == f"{(1 << 20) - end:,} bytes"
    first = browser.eval("document.querySelector('#holes tbody tr').innerText")
    assert "leak" in first
    assert "end of the memory" in first
    holes = browser.eval("document.querySelectorAll('#holes tbody tr').length")
    starts = sorted(
        (block.address, block.size) for block in scene.live.values() if block.space == 0
    )
    gaps = [after[0] - before[0] - before[1] for before, after in pairwise(starts)]
    assert holes == sum(gap > 0 for gap in gaps) + 1


def test_programs_refusals_and_calls_have_their_records(
    browser: Browser, full: tuple[Path, Scene]
) -> None:
    path, scene = full
    browser.open(path)
    browser.view("programs")
    text = browser.eval("document.querySelector('main').innerText")
    assert "Temporaries at their peak, operation 1: 12.0 KiB in 2 slots" in text
    assert browser.eval("document.querySelector('#launch-count').dataset.count") == "40"
    text = browser.eval("document.querySelector('main .grid').innerText")
    assert "5.01 µs" in text
    browser.do("click", selector="main .grid-row")
    assert "Run 1 of jit_step" in browser.eval("document.querySelector('.drawer').innerText")
    browser.do("press", key="Escape")
    browser.view("refusals")
    text = browser.eval("document.querySelector('main').innerText")
    assert "TPU_0 had no room for 1.00 MiB" in text
    assert "in 7 holes" in text
    assert "needs 9.00 GiB of 1.00 GiB" in text
    assert "a larger chip: v6e" in text
    helps = browser.eval(
        "[...document.querySelectorAll('.helps')].map((of) => of.innerText).join()"
    )
    assert "reshape(-1)" in helps
    browser.view("calls")
    assert browser.eval("document.querySelector('#calls tbody tr').dataset.count") == "13"
    text = browser.eval("document.querySelector('main').innerText")
    assert shown(EVIL).split()[0] in text
    assert "my_target" in text
    assert scene.changes > 0


def test_names_stand_beside_what_they_keep(browser: Browser, full: tuple[Path, Scene]) -> None:
    path, scene = full
    browser.open(path)
    browser.do("select", selector=".controls select", value="0")
    browser.do("click", selector="#at-end")
    browser.view("leaks")
    found = browser.eval("document.querySelectorAll('#keepers tbody tr').length")
    assert found > 0
    named = browser.eval("document.querySelector('#keepers tbody tr').dataset.name")
    address = int(named.split("[")[1].split("]")[0])
    assert (0, address) in scene.live
    assert "kept by __main__.kept[" in browser.eval("document.querySelector('main').innerText")
    browser.view("allocations")
    assert "Kept by" in browser.eval("document.querySelector('.grid-head').innerText")


def test_frames_lead_to_their_source(browser: Browser, full: tuple[Path, Scene]) -> None:
    browser.open(full[0])
    browser.do("click", selector="main tr.opens")
    browser.eval(
        "[...document.querySelectorAll('.drawer button')].find((b) => b.innerText === 'All frames').click()"
    )
    links = browser.eval("[...document.querySelectorAll('.drawer .frames a')].map((a) => a.href)")
    assert "file:///home/user/train.py" in links
    assert any("github.com/search" in link and "PjRtCApiClient" in link for link in links)
    text = browser.eval("document.querySelector('.drawer').innerText")
    assert "tpu-emu/src/hbm/heap.rs:50" in text
    assert "/build/" not in text
    browser.do("press", key="Escape")
    assert browser.eval("document.querySelector('.drawer').hidden")
    browser.do("select", selector="header select", value="vscode")
    link = browser.eval("document.querySelector('main tr.opens a').href")
    assert link == "vscode://file/home/user/it's%20%22here%22/%3Cb%3E.py:56"
    browser.do("select", selector="header select", value="file")


def test_keys_go_through_moments_memories_and_views(
    browser: Browser, full: tuple[Path, Scene]
) -> None:
    browser.open(full[0])
    before = browser.number("#moment", "at")
    browser.do("press", key="ArrowRight")
    assert browser.number("#moment", "at") == before + 1
    browser.do("press", key="e")
    assert browser.eval("document.querySelector('#at-end').ariaPressed") == "true"
    browser.do("press", key="m")
    assert browser.eval("document.querySelectorAll('.controls select')[1].value") == "mark-0"
    browser.do("press", key="d")
    assert browser.eval("document.querySelector('.controls select').value") == "0"
    for place, view in enumerate(VIEWS):
        browser.do("press", key=str(place + 1))
        assert browser.eval(f"document.querySelector('#tab-{view}').ariaSelected") == "true"
    browser.do("press", key="4")
    browser.do("press", key="/")
    assert browser.eval("document.activeElement.type") == "search"
    assert browser.errors() == []


def test_a_click_on_the_timeline_chooses_its_moment(
    browser: Browser, full: tuple[Path, Scene]
) -> None:
    browser.open(full[0])
    before = browser.number("#moment", "at")
    browser.eval(
        """(() => {
          const over = document.querySelector('.u-over');
          const box = over.getBoundingClientRect();
          for (const type of ['mousedown', 'mouseup']) {
            over.dispatchEvent(new MouseEvent(type, { clientX: box.left + box.width * 0.3, clientY: box.top + 50, bubbles: true }));
          }
        })()"""
    )
    at = browser.number("#moment", "at")
    assert 0 < at < before


def test_the_table_of_allocations_is_sorted_and_searched(
    browser: Browser, full: tuple[Path, Scene]
) -> None:
    path, scene = full
    browser.open(path)
    browser.do("select", selector=".controls select", value="0")
    browser.do("click", selector="#at-end")
    browser.view("allocations")
    first = "document.querySelector('.grid-row').innerText.replaceAll('\\n', ' ')"
    assert browser.eval(first).startswith("52.0 KiB")
    browser.eval("document.querySelector('.grid-head button').click()")
    assert browser.eval(first).startswith("4.00 KiB")
    browser.do("type", selector="main input", words="leak")
    assert (
        browser.eval("document.querySelector('#allocation-count').innerText")
        == "6 blocks, 24.0 KiB"
    )
    assert len(scene.live) > 6


def test_a_trace_that_is_cut_off_says_so_on_top(browser: Browser, tmp_path: Path) -> None:
    scene = everything()
    path = tmp_path / "cut.trace"
    path.write_bytes(scene.out[:-3])
    browser.open(report(path))
    assert "cut off" in browser.eval("document.querySelector('.careful').innerText")
    assert browser.errors() == []


def test_an_older_trace_says_what_it_does_not_have(browser: Browser, tmp_path: Path) -> None:
    scene = Scene(minor=4)
    scene.start()
    scene.array(1, 8, 128)
    scene.line(10, "load", 12)
    scene.take(0, 4096)
    browser.open(report(scene.write(tmp_path / "old.trace")))
    for view in ("programs", "calls"):
        browser.view(view)
        assert "since format 1.5, and it is of 1.4" in browser.eval(
            "document.querySelector('.missing').innerText"
        )


def test_a_trace_without_changes_has_a_report(browser: Browser, tmp_path: Path) -> None:
    scene = Scene()
    scene.start()
    browser.open(report(scene.write(tmp_path / "nothing.trace")))
    for view in VIEWS:
        browser.view(view)
    assert browser.number("#card-peak") == 0
    assert browser.errors() == []


def test_256_devices_are_rows_and_a_sum(browser: Browser, tmp_path: Path) -> None:
    scene = many_devices()
    browser.open(report(scene.write(tmp_path / "devices.trace")))
    assert browser.number("#card-end") == 4096 * sum(range(1, 257))
    assert browser.eval("document.querySelectorAll('.overview tbody tr').length") == 257
    browser.eval("document.querySelectorAll('.overview tbody button')[256].click()")
    assert browser.number("#card-peak") == 4096 * 257
    assert browser.errors() == []


def test_a_hundred_thousand_stacks_are_shown(browser: Browser, tmp_path: Path) -> None:
    scene = many_stacks()
    browser.open(report(scene.write(tmp_path / "stacks.trace")))
    for view in VIEWS:
        browser.view(view)
    assert browser.number("#card-peak") == 4096 * 100_000
    assert browser.errors() == []


def test_pages_are_whole_at_twice_the_size(browser: Browser, full: tuple[Path, Scene]) -> None:
    browser.open(full[0], width=640, height=480, scale=2)
    for view in VIEWS:
        browser.view(view)
        wide = browser.eval(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, view


def test_a_quarter_of_a_million_changes_follow_no_pattern_and_add_up(
    browser: Browser, tmp_path: Path
) -> None:
    scene = many(250_000)
    path = report(scene.write(tmp_path / "many.trace"))
    assert path.stat().st_size < 6_250_000
    browser.open(path)
    assert browser.number("#card-peak") == scene.peaks[0]
    browser.do("click", selector="#at-last")
    expected = by_line(scene, list(scene.live.values()))
    assert browser.number("#held-bytes") == scene.in_use[0]
    assert browser.rows() == expected
    assert browser.errors() == []


def test_the_page_and_the_command_say_the_same(browser: Browser, full: tuple[Path, Scene]) -> None:
    path, _ = full
    program = tpu_emu.library_path().resolve().parent / "tpu-emu"
    trace = path.with_suffix(".trace")
    done = subprocess.run(
        [program, "summary", trace, "--json", "--top", "1000"], capture_output=True, check=True
    )
    browser.open(path)
    for space in json.loads(done.stdout)["spaces"]:
        number = browser.eval(
            f"[...document.querySelector('.controls select').options].find((o) => o.text === '{space['space']}').value"
        )
        browser.do("select", selector=".controls select", value=number)
        browser.do("click", selector="#at-peak")
        told = {
            row["key"]: (row["size"]["in_memory"], row["blocks"]) for row in space["peak"]["rows"]
        }
        assert browser.rows() == told


def test_bad_files_are_refused_by_a_sentence(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.trace"
    foreign.write_text("no trace at all")
    code, words = refused(foreign)
    assert (code, words.count("\n")) == (1, 1)
    scene = Scene()
    scene.start()
    trace = scene.write(tmp_path / "a.trace")
    code, words = refused(trace, "-o", trace)
    assert (code, "that is the trace itself" in words) == (1, True)
    assert trace.read_bytes() == bytes(scene.out)
    code, words = refused(trace, "-o", tmp_path / "no/such/folder.html")
    assert (code, words.count("\n")) == (1, 1)
    code, words = refused(trace, "-o", "/dev/full")
    assert (code, "No space left" in words) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.trace", "foreign.trace"]


def test_the_built_script_is_that_of_the_sources(tmp_path: Path) -> None:
    node = tool("node")
    if not (TOOLS / "node_modules/esbuild").is_dir():
        pytest.skip("esbuild is not installed: make test-report does it")
    sources = ROOT / "tpu-emu/report/web"
    for name in ("build.mjs", "tsconfig.json"):
        (TOOLS / name).write_bytes((sources / name).read_bytes())
    copied = TOOLS / "src"
    copied.mkdir(exist_ok=True)
    for path in (sources / "src").iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    subprocess.run([node, "build.mjs", tmp_path], cwd=TOOLS, check=True, capture_output=True)
    for path in sorted((sources.parent / "built").iterdir()):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), (
            f"make report-page: {path.name}"
        )
