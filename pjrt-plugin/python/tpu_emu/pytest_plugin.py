"""The pytest plugin: tests that say how much of a device's memory they may take.

It is loaded with the package, and imports neither JAX nor the rest of the package until a test uses
one of its names: `docs/guide/tests.md` has them all.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tpu_emu import budgets, fresh_process, limits, sizes
from tpu_emu.limits import MARKERS, LeakLimit, Limit, MarkerError, fail

if TYPE_CHECKING:
    from tpu_emu.recording import Recording

_SEEN = "tpu_emu"
"""The property of a report that has the numbers of its test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and the settings of `pyproject.toml`."""
    group = parser.getgroup("tpu-emu", "memory of emulated TPUs")
    group.addoption(
        "--hbm-snapshot",
        action="store_const",
        const="check",
        dest="hbm_snapshot",
        help="fail each test that takes more than its line in the budget file says",
    )
    # An option of its own name: one that takes a value or none would take a file behind it.
    group.addoption(
        "--hbm-snapshot=review",
        action="store_const",
        const="review",
        dest="hbm_snapshot",
        help="tell what differs from the budget file, and fail nothing",
    )
    group.addoption(
        "--hbm-snapshot-update", action="store_true", help="write the budget file as it is now"
    )
    group.addoption(
        "--hbm-report", metavar="DIR", help="write a report there for each test that fails"
    )
    parser.addini("hbm_limit", "how much of a device's memory each test may take at once")
    parser.addini("hbm_snapshot_file", "the budget file", default="hbm-budgets.txt")
    parser.addini("hbm_tolerance", "what a budget may be passed by: 4 KiB, 1 %", default="1 %")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the markers known, and reads the budgets where they are asked for."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.stash[_STATE] = State(config)
    fresh_process.remember(config)


Value = TypeVar("Value")


def _setting(name: str, given: str, read: Callable[[object], Value]) -> Value:
    """What a setting says.

    Raises:
        UsageError: for what it cannot say.
    """
    try:
        return read(given)
    except ValueError as why:
        raise pytest.UsageError(f"{name} = {given!r}: {why}") from None


class State:
    """What a session knows: which limits hold, and which numbers were seen."""

    def __init__(self, config: pytest.Config) -> None:
        """Reads options and settings.

        Raises:
            UsageError: for a size that is none.
        """
        self.config = config
        self.mode: str | None = config.getoption("hbm_snapshot")
        self.updates: bool = config.getoption("--hbm-snapshot-update")
        self.reports: str | None = config.getoption("--hbm-report")
        self.file = config.rootpath / config.getini("hbm_snapshot_file")
        limit = config.getini("hbm_limit")
        self.limit = _setting("hbm_limit", limit, sizes.size) if limit else None
        tolerance = config.getini("hbm_tolerance")
        self.tolerance = _setting("hbm_tolerance", tolerance, budgets.tolerance)
        self.lines: budgets.Budgets | None = None
        self.seen: dict[str, budgets.Line] = {}
        self.collected: set[str] = set()
        self.told: list[str] = []
        self.left_out = ""

    def budget(self, nodeid: str) -> budgets.Line | None:
        """The line of a test; the file is read once."""
        if self.lines is None:
            self.lines = budgets.read(self.file)
        return self.lines.get(nodeid)


_STATE = pytest.StashKey[State]()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Notes that there is a test, chosen or not."""
    fresh_process.remember_name(item)
    item.config.stash[_STATE].collected.add(item.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Iterable[str]) -> None:  # noqa: ANN401
    """Notes the tests of a worker."""
    names = list(ids)
    collected: set[str] = node.config.stash[_STATE].collected
    collected.update(names)
    # With groups of tests, xdist puts that of a test behind its name.
    collected.update(name.rpartition("@")[0] for name in names if "@" in name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test that asks for a topology in a process of its own."""
    try:
        topology = limits.topology_of(item)
    except MarkerError:
        # The test fails with it, where it would have run.
        return None
    if topology is None:
        return None
    return fresh_process.ran_in_fresh_process(item, nextitem, topology)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Records what a test takes, where somebody asks, and holds it against its limits."""
    asked = _asked(item)
    if asked is None:
        return (yield)
    for _ in range(asked.leak_limit.warmups if asked.leak_limit else 0):
        item.runtest()
    from tpu_emu.recording import record  # noqa: PLC0415 (for tests that ask)

    if asked.snapshot:
        # What other tests have compiled would make the numbers of this one depend on them.
        sys.modules["jax"].clear_caches()
        gc.collect()
    elif asked.leak_limit is not None:
        gc.collect()
    else:
        _collect_young()
    with record() as recording:
        try:
            result = yield
        except (Exception, pytest.fail.Exception):
            if told := _report(item, recording):
                item.add_report_section("call", "hbm", told)
            raise
        limits.settle()
        if asked.leak_limit is not None:
            gc.collect()
    if problems := _problems(item, asked, recording):
        fail("\n\n".join(problems))
    return result


def _collect_young() -> None:
    """Has what the collector does within a test depend less on what was before it.

    A whole collection beside JAX takes some sixty milliseconds, longer than most tests.
    """
    gc.collect(1)


@dataclass(frozen=True)
class _Asked:
    """What is to be looked at of a test."""

    limits: list[Limit]
    leak_limit: LeakLimit | None
    tolerance: budgets.Tolerance
    snapshot: bool


def _asked(item: pytest.Item) -> _Asked | None:
    """What its markers, the options and the settings ask of a test; None for nothing."""
    state = item.config.stash[_STATE]
    names = {mark.name for mark in item.iter_markers()}
    marked = "hbm_snapshot" in names
    snapshot = state.mode is not None or state.updates or marked
    by_name = snapshot or not names.isdisjoint(("limit_hbm", "limit_hbm_leaks", "tpu_topology"))
    if not by_name and state.limit is None and state.reports is None:
        return None
    problem = None
    try:
        asked = _Asked(
            limits.limits_of(item, state.limit),
            limits.leak_limit_of(item),
            limits.tolerance_of(item) or state.tolerance,
            snapshot,
        )
        limits.topology_of(item)
    except MarkerError as why:
        problem = str(why)
    if problem is not None:
        fail(problem)
    if (missing := _missing_emulator()) is not None:
        if by_name:
            fail(missing)
        item.user_properties.append((_SEEN + "_left_out", missing))
        return None
    return asked


def _problems(item: pytest.Item, asked: _Asked, recording: Recording) -> list[str]:
    """What is wrong with what a test took, and where its report is; its numbers go with it."""
    state, root = item.config.stash[_STATE], item.config.rootpath
    line = budgets.Line.of(recording, root)
    name = fresh_process.name_of(item)
    item.user_properties.append((_SEEN, f"{name}\t{line.fields()}"))
    problems = [text for limit in asked.limits if (text := limits.over(recording, limit, root))]
    if asked.leak_limit and (text := limits.leaked(recording, asked.leak_limit, root)):
        problems.append(text)
    if asked.snapshot and not state.updates:
        problems += _compare(item, asked, line, recording)
    if problems and (told := _report(item, recording)):
        problems.append(told)
    return problems


def _missing_emulator() -> str | None:
    """Why nothing can be recorded. JAX gets its devices by this question."""
    from tpu_emu.library import is_loaded  # noqa: PLC0415 (for tests that ask)

    if is_loaded():
        return None
    try:
        import jax  # noqa: PLC0415 (for tests that ask)

        why = f"JAX runs on {jax.default_backend()}"
    except (ImportError, RuntimeError) as error:
        why = str(error)
    if is_loaded():
        return None
    return (
        "the memory of an emulated TPU is limited or looked at, and there is none:"
        f" {why}; JAX_PLATFORMS=tpu asks for one"
    )


def _compare(
    item: pytest.Item, asked: _Asked, line: budgets.Line, recording: Recording
) -> list[str]:
    """What is wrong with a test beside its line in the budget file."""
    state = item.config.stash[_STATE]
    marked = item.get_closest_marker("hbm_snapshot") is not None
    try:
        budget = state.budget(fresh_process.name_of(item))
    except (OSError, ValueError) as why:
        return [str(why)]
    if budget is None and not marked and line.peak == 0:
        return []
    problem = budgets.compare(line, budget, asked.tolerance, state.file.name)
    if problem is None:
        return []
    if state.mode == "review":
        item.user_properties.append(
            (_SEEN + "_review", f"{fresh_process.name_of(item)}: {problem}")
        )
        return []
    rows = limits.origins(recording.peak_by("line"), item.config.rootpath)
    return ["\n".join([problem, *rows])]


def _report(item: pytest.Item, recording: Recording) -> str | None:
    """Writes what was recorded, as a page where the command is there; says where it is."""
    state = item.config.stash[_STATE]
    if state.reports is None:
        return None
    from tpu_emu.named import with_names  # noqa: PLC0415 (for tests that fail)
    from tpu_emu.test_report import write_report  # noqa: PLC0415 (for tests that fail)

    folder = Path(state.config.invocation_params.dir) / state.reports
    return write_report(folder, fresh_process.name_of(item), with_names(recording.data))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keeps the numbers of a test, of workers and of other processes too."""
    fresh_process.say_what_was_seen(report)


class _Collector:
    """Gathers what reports tell, where the session's results come together."""

    def __init__(self, state: State) -> None:
        self.state = state

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes the numbers out of a report."""
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == _SEEN and report.passed:
                test, _, fields = str(value).partition("\t")
                self.state.seen[test] = budgets.Line.from_fields(fields)
            elif name == _SEEN + "_review" and not self.state.updates:
                self.state.told.append(str(value))
            elif name == _SEEN + "_left_out":
                self.state.left_out = str(value)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begins to gather, but not in the workers of xdist, whose reports come to the controller."""
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Collector(session.config.stash[_STATE]))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the budget file, if that was asked for."""
    state = session.config.stash[_STATE]
    if not state.updates or hasattr(session.config, "workerinput"):
        return
    whole = not any("::" in argument for argument in session.config.args)
    try:
        old = budgets.read(state.file, conflicts=True)
        collected = budgets.Collected(session.config.rootpath, state.collected, whole)
        state.told.append(budgets.update(state.file, old, state.seen, collected))
    except (OSError, ValueError) as why:
        state.told.append(f"{state.file} was not written: {why}")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:  # noqa: ANN401
    """Says what differs, and what was written."""
    state = config.stash[_STATE]
    if state.left_out:
        what = "hbm_limit" if state.limit is not None else "--hbm-report"
        state.told.append(f"{what} was left out: {state.left_out}")
    if state.told:
        terminalreporter.section("memory of emulated TPUs")
        for text in state.told:
            terminalreporter.line(text)


@pytest.fixture
def tpu() -> Any:  # noqa: ANN401 (JAX is imported where it is used)
    """The devices, with nothing in the caches of JAX: their numbers are those of this test."""
    import jax  # noqa: PLC0415 (for tests that ask)

    devices = jax.devices()
    if (missing := _missing_emulator()) is not None:
        fail(missing)
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()
    return devices


@pytest.fixture
def hbm() -> Generator[Recording, None, None]:
    """A recording of what the test takes: `tpu_emu.Recording`, which can be asked in the test."""
    if (missing := _missing_emulator()) is not None:
        fail(missing)
    from tpu_emu.recording import record  # noqa: PLC0415 (for tests that ask)

    _collect_young()
    with record() as recording:
        yield recording
