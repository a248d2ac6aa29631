"""The user guide: its commands run as they stand there, and print what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tpu_emu

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
COMMANDS = tpu_emu.library_path().resolve().parent
PAGES = sorted(path.name for path in GUIDE.glob("*.md") if path.name != "SUMMARY.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d[\d.,]*")


def blocks(page: str) -> list[tuple[str, str]]:
    """The kinds and texts of a page's blocks of code."""
    return BLOCK.findall((GUIDE / page).read_text())


def write_programs(page: str, folder: Path) -> None:
    """Writes the programs that a page shows, each to the file that its first line names."""
    for kind, text in blocks(page):
        first = text.partition("\n")[0]
        if kind == "python" and first.startswith("# ") and first.endswith(".py"):
            (folder / first[2:]).write_text(text)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_and_print_what_it_says(page, tmp_path):
    write_programs("README.md", tmp_path)
    write_programs(page, tmp_path)
    path = os.pathsep.join([str(COMMANDS), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "VIRTUAL_ENV": sys.prefix}
    environment.pop("JAX_PLATFORMS")
    said = ""
    for kind, text in blocks(page):
        if kind == "sh":
            done = subprocess.run(
                ["/bin/bash", "-eu", "-o", "pipefail", "-c", text],
                cwd=tmp_path,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
            said = done.stdout + done.stderr
        elif kind == "text":
            lines = {" ".join(NUMBER.sub("0", line).split()) for line in said.splitlines()}
            for line in text.splitlines():
                shown = " ".join(NUMBER.sub("0", line).split())
                assert any(found.endswith(shown) for found in lines), f"{line!r} in:\n{said}"


def test_the_summary_has_every_page_and_no_other():
    listed = re.findall(r"\]\(([^)]+)\)", (GUIDE / "SUMMARY.md").read_text())
    assert sorted(listed) == PAGES


def test_links_between_pages_lead_to_files():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)\)", (GUIDE / page).read_text()):
            assert link.startswith("https://") or (GUIDE / link).is_file(), f"{page}: {link}"
