"""The Python that `make` takes for JAX versions that need a later one than the default."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "pythons.py"


def found(folder: Path, version: str) -> str:
    """What the script prints where the path has this folder alone."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), version],
        env={"PATH": str(folder), "PYENV_ROOT": str(folder / "pyenv")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()


def command(path: Path, says: str) -> Path:
    """A command that says this, or fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


def test_the_oldest_that_works_is_taken_wherever_it_is(tmp_path):
    command(tmp_path / "python3", "echo 3 11 /usr/bin/python3")
    command(tmp_path / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    command(tmp_path / "python3.14", "echo 3 14 /opt/my python/bin/python")
    assert found(tmp_path, "3.12") == "/opt/my python/bin/python"
    command(tmp_path / "pyenv/versions/3.13.0/bin/python", "echo 3 13 /pyenv/3.13.0")
    command(tmp_path / "pyenv/versions/3.12.1/bin/python", "echo 3 12 /pyenv/3.12.1")
    assert found(tmp_path, "3.12") == "/pyenv/3.12.1"
    assert found(tmp_path, "3.13") == "/pyenv/3.13.0"


def test_nothing_is_printed_where_none_is_late_enough(tmp_path):
    command(tmp_path / "python3", "echo 3 11 /usr/bin/python3")
    assert found(tmp_path, "3.12") == ""
