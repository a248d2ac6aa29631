"""Chromium and the command `tpu-emu report`, for tests of the page."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any, cast

import pytest

import tpu_emu

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "target/report-page"


def tool(name: str, *others: str) -> str:
    """The path of a program; the test is skipped where there is none."""
    found = next((path for path in map(shutil.which, (name, *others)) if path), None)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


class Browser:
    """A page in Chromium."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Of a driver that runs."""
        self.process = process

    def do(self, what: str, **words: object) -> Any:
        """Gives a command, and waits for its answer."""
        given, answers = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        given.write(json.dumps({"do": what, **words}) + "\n")
        given.flush()
        answer = json.loads(answers.readline())
        assert "why" not in answer, answer["why"]
        return answer["value"]

    def open(self, path: Path, **words: object) -> int:
        """Opens a report, and gives the milliseconds that it took."""
        return int(self.do("open", path=str(path), **words))

    def eval(self, code: str) -> Any:
        """What an expression is in the page."""
        return self.do("eval", code=code)

    def view(self, name: str) -> None:
        """Goes to a view by its tab."""
        self.do("click", selector=f"#tab-{name}")

    def number(self, selector: str, name: str = "bytes") -> int:
        """A number that an element has beside its words."""
        return int(self.eval(f"document.querySelector('{selector}').dataset.{name}"))

    def rows(self) -> dict[str, tuple[int, int]]:
        """Bytes and blocks of the rows of sums that are shown."""
        code = "[...document.querySelectorAll('main tr.opens')].map(r => [r.dataset.key, +r.dataset.bytes, +r.dataset.blocks])"
        return {key: (size, count) for key, size, count in self.eval(code)}

    def errors(self) -> list[str]:
        """What the page complained of, and what it fetched."""
        return cast("list[str]", self.do("errors"))


def report(trace: Path, *options: str) -> Path:
    """The report of a trace."""
    program = tpu_emu.library_path().resolve().parent / "tpu-emu"
    out = trace.with_suffix(".html")
    done = subprocess.run(
        [program, "report", trace, "-o", out, *options],
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return out


def refused(*arguments: str | Path) -> tuple[int, str]:
    """The exit code and the words of a report that cannot be made."""
    program = tpu_emu.library_path().resolve().parent / "tpu-emu"
    done = subprocess.run(
        [program, "report", *arguments], capture_output=True, check=False, timeout=60
    )
    return done.returncode, done.stderr.decode()
