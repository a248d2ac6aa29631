"""Prints the oldest Python of a version or later that works here; nothing where there is none.

    python pythons.py 3.12

A command on the path may be a shim that leads nowhere, so each one is run.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LAST_MINOR = 20
PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2], sys.executable)"


def main() -> None:
    """Prints what `oldest` finds for the version on the command line."""
    major, minor = map(int, sys.argv[1].split("."))
    print(oldest((major, minor)) or "")


def oldest(version: tuple[int, int]) -> str | None:
    """The executable of the oldest working Python that is no older than this version."""
    working = (found for command in commands(version) if (found := probed(command)))
    fitting = [found for found in working if found[0] >= version]
    return min(fitting, key=lambda found: found[0])[1] if fitting else None


def commands(version: tuple[int, int]) -> Iterator[str]:
    """Names on the path, and what pyenv has installed."""
    yield "python3"
    for minor in range(version[1], LAST_MINOR):
        yield f"python{version[0]}.{minor}"
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    yield from map(str, sorted(root.glob("versions/*/bin/python")))


def probed(command: str) -> tuple[tuple[int, int], str] | None:
    """The version and the file of a Python; None for what does not run or has no `venv`."""
    try:
        done = subprocess.run(
            [command, "-c", PROBE], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor, executable = done.stdout.strip().split(maxsplit=2)
    return (int(major), int(minor)), executable


if __name__ == "__main__":
    main()
