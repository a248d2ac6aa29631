"""The pytest plugin, in suites of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator import LIBRARY

SUITE = """
import os
import jax
import jax.numpy as jnp
import pytest

KEPT = []

def work(rows):
    kept = jnp.ones((rows, 128))
    return (kept + 1).block_until_ready()

@pytest.mark.limit_hbm("2 MiB")
def test_fits():
    work(1024)

@pytest.mark.limit_hbm("100 KiB")
def test_is_over():
    work(1024)

@pytest.mark.limit_hbm("600 KiB", of="end")
def test_leaves_little():
    work(1024)

@pytest.mark.limit_hbm_leaks("0 B")
def test_keeps_nothing():
    work(512)

@pytest.mark.limit_hbm_leaks
def test_keeps():
    KEPT.append(jnp.ones((256, 256)))

@pytest.mark.tpu_topology("v5p:2x2x1")
def test_has_a_topology():
    assert len(jax.devices()) == 4

@pytest.mark.tpu_topology("v5p:2x2x1")
def test_dies():
    os.kill(os.getpid(), 9)

@pytest.mark.limit_hbm("much")
def test_has_no_size():
    work(8)

def test_has_a_recorder(tpu, hbm):
    kept = jnp.ones((512, 512))
    assert hbm.live(tpu[0].id) == 1 << 20
    assert kept.shape == (512, 512)

def test_plain():
    work(8)
"""

GROWING = """
import os
import jax.numpy as jnp
import pytest

@pytest.mark.parametrize("rows", [256, 512])
def test_same(rows):
    (jnp.ones((rows, 1024)) + 1).block_until_ready()

def test_grows():
    kept = [jnp.ones((256, 1024)) for _ in range(10 + int(os.environ.get("MORE", "0")))]
    kept[-1].block_until_ready()
"""


def run(installed: Path, folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and output of pytest in a folder, where the package is installed."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    inherited.pop("TPU_LIBRARY_PATH", None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=inherited
        | {"PYTHONPATH": str(installed), "TPU_EMU_LIBRARY": str(LIBRARY)}
        | {"JAX_PLATFORMS": "tpu"}
        | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


def test_markers_and_fixtures_hold_tests_to_their_limits(installed, tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    _, told = run(installed, tmp_path, "--hbm-report", "reports", "-rA")
    outcomes: dict[str, str] = {}
    for line in told.splitlines():
        if line.startswith(("PASSED ", "FAILED ")):
            outcome, name = line.split(" - ")[0].split(" ", 1)
            outcomes[name] = outcome
    failed = {name.split("::")[1] for name, outcome in outcomes.items() if outcome == "FAILED"}
    assert failed == {"test_is_over", "test_keeps", "test_dies", "test_has_no_size"}, told
    assert len(outcomes) == 10
    assert "more than its limit of 102,400" in told
    assert "test_suite.py:10 work" in told
    assert "262,144 bytes that the test took live behind it, its limit is 0" in told
    assert "test_suite.KEPT[0]" in told
    assert "the process of the test on v5p:2x2x1 ended early, with signal 9" in told
    assert "'much' is no size" in told
    traces = sorted((tmp_path / "reports").glob("*.trace"))
    assert [trace.name.split("-")[1] for trace in traces] == ["test_is_over", "test_keeps"]


def test_a_test_that_grows_fails_and_no_other(installed, tmp_path):
    (tmp_path / "test_growing.py").write_text(GROWING)
    code, told = run(installed, tmp_path, "--hbm-snapshot-update")
    assert (code, "3 tests, 3 changed, 0 gone" in told) == (0, True), told
    budgets = (tmp_path / "hbm-budgets.txt").read_text().splitlines()
    assert [line.split("\t")[0] for line in budgets[1:]] == [
        "test_growing.py::test_grows",
        "test_growing.py::test_same[256]",
        "test_growing.py::test_same[512]",
    ]
    assert run(installed, tmp_path, "--hbm-snapshot")[0] == 0
    assert run(installed, tmp_path, "--hbm-snapshot", "test_growing.py")[0] == 0
    code, told = run(installed, tmp_path, "--hbm-snapshot", MORE="1")
    assert (code, "1 failed, 2 passed" in told) == (1, True), told
    assert "test_grows" in told
    code, told = run(installed, tmp_path, "--hbm-snapshot=review", MORE="1")
    assert (code, "3 passed" in told, "more than the" in told) == (0, True, True), told


@pytest.mark.parametrize(("limit", "failures"), [("1 MiB", 1), ("1 GiB", 0)])
def test_a_suite_has_a_limit(installed, tmp_path, limit, failures):
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\nhbm_limit = '{limit}'\n")
    (tmp_path / "test_suite.py").write_text(
        "import jax.numpy as jnp\n"
        "def test_large(): jnp.ones((512, 1024)).block_until_ready()\n"
        "def test_small(): jnp.ones((8, 128)).block_until_ready()\n"
    )
    code, told = run(installed, tmp_path)
    assert code == failures, told
    assert f"{2 - failures} passed" in told


def test_without_an_emulated_tpu_a_marker_fails_and_a_setting_is_left_out(installed, tmp_path):
    (tmp_path / "test_suite.py").write_text(
        "import pytest\n@pytest.mark.limit_hbm('1 B')\ndef test_marked(): pass\n"
        "def test_plain(): pass\n"
    )
    code, told = run(installed, tmp_path, "-o", "hbm_limit=1", JAX_PLATFORMS="cpu")
    assert (code, "1 failed, 1 passed" in told) == (1, True), told
    assert "there is none: JAX runs on cpu; JAX_PLATFORMS=tpu asks for one" in told
    assert "hbm_limit was left out" in told


def test_a_suite_that_uses_none_of_it_imports_no_jax(installed, tmp_path):
    (tmp_path / "test_suite.py").write_text(
        "import sys\ndef test_plain(): assert not {'jax', 'tpu_emu._native'} & set(sys.modules)\n"
    )
    assert run(installed, tmp_path)[0] == 0
