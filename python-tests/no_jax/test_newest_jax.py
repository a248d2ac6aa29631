"""The newest JAX that can be installed is one of those that are tested."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
# Later than any Python, so that no release is left out for the one that runs here.
ANY_PYTHON = "3.99"
TIMEOUT_S = 120


def numbers(version: str) -> tuple[int, ...]:
    """A release's version, to be compared."""
    return tuple(map(int, version.split(".")))


def tested() -> list[str]:
    """The versions that the Makefile runs."""
    lists = re.findall(
        r"^(?:NEWEST|MODERN) := (.*)$", (CHECKOUT / "Makefile").read_text(), re.MULTILINE
    )
    return sorted(" ".join(lists).split(), key=numbers)


def newest() -> str:
    """The newest release on the package index; the test is skipped where there is none."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "0"]
    command = [*pip, "--timeout", "20", "index", "versions", "jax", "--python-version", ANY_PYTHON]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"the package index does not answer in {TIMEOUT_S} s")
    found = re.search(r"^jax \(([\d.]+)\)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or found is None:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        pytest.skip(f"no package index tells the versions of jax: {said}")
    return found[1]


def test_every_version_that_is_tested_is_pinned():
    requirements = CHECKOUT / "python-tests" / "requirements"
    for version in tested():
        pins = (requirements / f"jax-{version}.txt").read_text().splitlines()
        assert {f"jax=={version}", f"jaxlib=={version}"} <= set(pins)


def test_the_newest_jax_of_the_index_is_tested():
    latest, ours = newest(), tested()[-1]
    assert numbers(latest) <= numbers(ours), (
        f"jax {latest} can be installed and is not tested; the newest that is tested is {ours}:"
        f" add python-tests/requirements/jax-{latest}.txt, and the version to the Makefile's MODERN"
    )
