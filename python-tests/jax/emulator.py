"""What the tests with JAX share: the plugin, programs of their own, and versions."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping

import jaxlib.version

import tpu_emu

# Fails with the places that were searched where there is no plugin to test.
LIBRARY = tpu_emu.library_path().resolve()

JAXLIB: tuple[int, ...] = tuple(map(int, jaxlib.version.__version__.split(".")[:3]))

TIMEOUT_S = 180


def run(
    program: str, environment: Mapping[str, str] | None = None, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program in a fresh interpreter, with more in its environment."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def output(program: str, environment: Mapping[str, str] | None = None, *arguments: str) -> str:
    """What a program prints that must succeed."""
    done = run(program, environment, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
