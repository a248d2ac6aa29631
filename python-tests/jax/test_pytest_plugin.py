"""The pytest plugin, in suites of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_command import command

import tpu_emu
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


GROUPED = """
@pytest.mark.xdist_group("group")
@pytest.mark.tpu_topology("v5p:2x2x1")
def test_of_a_group():
    (jnp.ones((64, 1024)) + 1).block_until_ready()

def test_plain():
    pass
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
    assert "test_suite.KEPT[1]" in told
    assert "the process of the test on v5p:2x2x1 ended early, with signal 9" in told
    assert "the marker limit_hbm(size, device, of): 'much' is no size" in told
    traces = sorted((tmp_path / "reports").glob("*.trace"))
    assert [trace.name.split("-")[1] for trace in traces] == ["test_is_over", "test_keeps"]


WRONG = [
    ("limit_hbm", "missing a required argument: 'size'"),
    ("limit_hbm('1 MiB', sise=3)", "got an unexpected keyword argument 'sise'"),
    ("limit_hbm('1 MiB', of='top')", "of='top': it is peak, allocated or end"),
    ("limit_hbm('1 MiB', device='TPU_0')", "device='TPU_0': it is the id of a device"),
    ("limit_hbm('1 MiB', device=99)", "limit_hbm(device=99): there is none, the devices are 0 to"),
    ("limit_hbm(1.5)", "1.5 is no size"),
    ("limit_hbm_leaks(warmups=-1)", "warmups=-1: it is a number from 0"),
    ("limit_hbm_leaks(warmups=True)", "warmups=True: it is a number from 0"),
    ("limit_hbm_leaks('1 B', 2, 3)", "too many positional arguments"),
    ("tpu_topology", "missing a required argument: 'name'"),
    ("tpu_topology(5)", "name=5: it is a text, such as v5p:2x2x1"),
    ("tpu_topology('v9:1x1')", "A topology is FAMILY:XxY"),
    ("hbm_snapshot('much')", "'much' is no size"),
]


def test_markers_with_other_arguments_than_they_take_fail_their_tests_with_a_sentence(
    installed, tmp_path
):
    tests = (
        f"@pytest.mark.{marker}\ndef test_{number}(): pass\n"
        for number, (marker, _) in enumerate(WRONG)
    )
    (tmp_path / "test_wrong.py").write_text("import pytest\n" + "".join(tests))
    _, told = run(installed, tmp_path)
    assert f"{len(WRONG)} failed" in told, told
    for marker, why in WRONG:
        assert why in told, f"{marker}: {told}"
    assert "During handling" not in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("hbm_limit=lots", "hbm_limit = 'lots': 'lots' is no size"),
        ("hbm_tolerance=much", "hbm_tolerance = 'much': 'much' is no size"),
    ],
)
def test_settings_that_are_none_are_refused_by_name(installed, tmp_path, option, told):
    (tmp_path / "test_suite.py").write_text("def test_plain(): pass\n")
    code, said = run(installed, tmp_path, "-o", option)
    assert (code, told in said, "Traceback" in said) == (4, True, False), said


FRESH = """
import jax
import jax.numpy as jnp
import pytest

@pytest.fixture(scope="module")
def kept():
    yield jnp.ones((64, 128))

def test_before(kept): pass

@pytest.mark.tpu_topology("v5p:2x2x1")
def test_in_a_fresh_process(kept, request):
    assert len(jax.devices()) == 4
    assert request.config.getoption("--mine") == "value"

@pytest.mark.tpu_topology("v5p:2x2x1")
@pytest.mark.skip(reason="not now")
def test_skipped(): pass

@pytest.mark.tpu_topology("v5p:2x2x1")
@pytest.mark.xfail(reason="known")
def test_known(): assert len(jax.devices()) == 3

@pytest.mark.tpu_topology("v5p:2x2x1")
@pytest.mark.parametrize("name", ["a//b", "c d"])
def test_named(name, record_property):
    record_property("kept", object())
"""


@pytest.mark.parametrize("platforms", ["tpu", "cpu", ""])
def test_a_fresh_process_is_told_what_the_session_was_and_its_reports_are_whole(
    installed, tmp_path, platforms
):
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--mine')\n"
    )
    (tmp_path / "test_a.py").write_text(FRESH)
    (tmp_path / "test_b.py").write_text("def test_behind(): pass\n")
    junit = tmp_path / "junit.xml"
    arguments = ["--mine", "value", f"--junitxml={junit}", "-rs", "test_a.py", "test_b.py"]
    code, told = run(installed, tmp_path, *arguments, JAX_PLATFORMS=platforms)
    assert (code, "5 passed, 1 skipped, 1 xfailed" in told) == (0, True), told
    assert ": not now" in told
    assert junit.read_text().count("<testcase") == 7


REPORTED = """
import jax.numpy as jnp
import pytest

def test_fails_by_itself():
    kept = jnp.ones((256, 256))
    assert kept.shape == (3,)

def test_says_that_it_fails():
    kept = jnp.ones((256, 256))
    pytest.fail("on purpose")

def test_is_skipped():
    pytest.skip("on purpose")

def test_passes():
    jnp.ones((256, 256)).block_until_ready()
"""


def test_every_test_that_fails_has_a_report_where_one_is_asked_for(installed, tmp_path):
    (tmp_path / "test_suite.py").write_text(REPORTED)
    _, told = run(installed, tmp_path, "--hbm-report", "reports")
    assert "2 failed, 1 passed, 1 skipped" in told
    reports = sorted((tmp_path / "reports").glob("*.trace"))
    names = ["test_fails_by_itself", "test_says_that_it_fails"]
    assert [report.name.split("-")[1] for report in reports] == names
    for report in reports:
        assert str(report.with_suffix("")) in told, told
        assert tpu_emu.read(report).held("last").size >= 256 * 256 * 4
    code, told = run(installed, tmp_path, "--hbm-report", "reports", JAX_PLATFORMS="cpu")
    assert (code, "--hbm-report was left out" in told) == (1, True), told


def test_a_leak_names_what_keeps_it_and_no_other_array(installed, tmp_path):
    (tmp_path / "test_suite.py").write_text(
        "import jax.numpy as jnp\nimport pytest\nOTHER = {}\nKEPT = []\n"
        "def test_first(): OTHER['large'] = jnp.ones((512, 512))\n"
        "@pytest.mark.limit_hbm_leaks\ndef test_keeps(): KEPT.append(jnp.ones(700))\n"
    )
    code, told = run(installed, tmp_path)
    assert (code, "test_suite.KEPT[1]" in told, "OTHER" in told) == (1, True, False), told
    _, told = run(installed, tmp_path, "--hbm-report", "reports")
    [report] = (tmp_path / "reports").glob("*.trace")
    found = json.loads(command("leaks", report, "--from", "0s", "--to", "last", "--json").stdout)
    names = {name for row in found["rows"] for name in row["names"]}
    assert "test_suite.KEPT[1]" in names, found


COLLECTED = """
import gc
import pytest

SEEN = []
gc.callbacks.append(lambda phase, told: SEEN.append(told["generation"]))

@pytest.fixture
def counted():
    gc.disable()
    SEEN.clear()
    yield
    gc.enable()

def test_recorded(counted, hbm):
    assert 2 not in SEEN

@pytest.mark.limit_hbm("1 MiB")
def test_limited(counted):
    assert 2 not in SEEN
"""


def test_a_recording_does_without_a_whole_collection(installed, tmp_path):
    # It takes sixty milliseconds beside JAX, a recording a tenth of one.
    (tmp_path / "test_suite.py").write_text(COLLECTED)
    code, told = run(installed, tmp_path)
    assert (code, "2 passed" in told) == (0, True), told


def test_a_budget_file_that_cannot_be_written_fails_the_session(installed, tmp_path):
    (tmp_path / "test_suite.py").write_text("def test_plain(): pass\n")
    (tmp_path / "hbm-budgets.txt").write_bytes(b"\xff")
    code, told = run(installed, tmp_path, "--hbm-snapshot-update")
    assert (code, "hbm-budgets.txt is no text of UTF-8" in told) == (1, True), told


def test_totals_are_the_same_with_xdist(installed, tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "test_growing.py").write_text(GROWING + GROUPED)
    budgets = tmp_path / "hbm-budgets.txt"
    assert run(installed, tmp_path, "--hbm-snapshot-update")[0] == 0
    alone = budgets.read_text()
    assert "test_growing.py::test_of_a_group\t" in alone
    budgets.unlink()
    groups = ["-n", "2", "--dist", "loadgroup"]
    assert run(installed, tmp_path, "--hbm-snapshot-update", *groups)[0] == 0
    assert budgets.read_text() == alone
    assert run(installed, tmp_path, "--hbm-snapshot", *groups)[0] == 0
    code, told = run(installed, tmp_path, "--hbm-snapshot", *groups, MORE="1")
    assert (code, "1 failed, 4 passed" in told) == (1, True), told


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
