"""The pytest plugin: tests that say how much of a device's memory they may take.

It is loaded with the package, and imports neither JAX nor the rest of the package until a test uses
one of its names: `docs/guide/tests.md` has them all.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tpu_emu import budgets, fresh_process

if TYPE_CHECKING:
    from tpu_emu.recording import Recording

MARKERS = (
    (
        "limit_hbm(size, device=None, of='peak'): fails a test that takes more of a device's"
        " memory; of is peak, allocated or end"
    ),
    (
        "limit_hbm_leaks(size='0 B', warmups=1): fails a test behind which more of what it took"
        " lives; it runs before as often as warmups says"
    ),
    "tpu_topology(name): the test runs in a process of its own, on that TPU",
    "hbm_snapshot(tolerance=None): fails a test that takes more than its line in the budget file",
)

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
        try:
            limit = config.getini("hbm_limit")
            self.limit = budgets.size(limit) if limit else None
            self.tolerance = budgets.tolerance(config.getini("hbm_tolerance"))
        except ValueError as why:
            raise pytest.UsageError(str(why)) from None
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
    item.config.stash[_STATE].collected.add(item.nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Iterable[str]) -> None:  # noqa: ANN401
    """Notes the tests of a worker."""
    node.config.stash[_STATE].collected.update(ids)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Runs a test that asks for a topology in a process of its own."""
    mark = item.get_closest_marker("tpu_topology")
    if mark is None or not mark.args:
        return None
    return fresh_process.ran_in_fresh_process(item, str(mark.args[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Records what a test takes, where somebody asks, and holds it against its limits."""
    asked = _asked(item)
    if asked is None:
        return (yield)
    for _ in range(asked.warmups):
        item.runtest()
    from tpu_emu.recording import record  # noqa: PLC0415 (for tests that ask)

    gc.collect()
    if asked.snapshot:
        # What other tests have compiled would make the numbers of this one depend on them.
        sys.modules["jax"].clear_caches()
    with record() as recording:
        result = yield
        _settle()
        if asked.leak_limit is not None:
            gc.collect()
    if problems := _problems(item, asked, recording):
        pytest.fail("\n\n".join(problems), pytrace=False)
    return result


@dataclass(frozen=True)
class _Asked:
    """What is to be looked at of a test."""

    limits: list[tuple[int, str, int | None]]
    """Size, of what, and device of each."""
    leak_limit: int | None
    warmups: int
    snapshot: bool


def _asked(item: pytest.Item) -> _Asked | None:
    """What its markers, the options and the settings ask of a test; None for nothing."""
    state = item.config.stash[_STATE]
    limits = list(item.iter_markers("limit_hbm"))
    leaks = item.get_closest_marker("limit_hbm_leaks")
    marked = item.get_closest_marker("hbm_snapshot") is not None
    snapshot = state.mode is not None or state.updates or marked
    by_name = bool(limits) or leaks is not None or snapshot
    if not by_name and state.limit is None:
        return None
    if (missing := _missing_emulator()) is not None:
        if by_name:
            pytest.fail(missing, pytrace=False)
        item.user_properties.append((_SEEN + "_left_out", missing))
        return None
    try:
        leak_limit, warmups = _leak_limit(leaks) if leaks else (None, 0)
        return _Asked(_limits(state, limits), leak_limit, warmups, snapshot)
    except (TypeError, ValueError) as why:
        pytest.fail(str(why), pytrace=False)


def _problems(item: pytest.Item, asked: _Asked, recording: Recording) -> list[str]:
    """What is wrong with what a test took, and where its report is; its numbers go with it."""
    state = item.config.stash[_STATE]
    line = budgets.Line.of(recording, item.config.rootpath)
    item.user_properties.append((_SEEN, line.fields()))
    problems = [text for limit in asked.limits if (text := _over(recording, *limit))]
    if asked.leak_limit is not None and recording.live() > asked.leak_limit:
        problems.append(_leak_text(recording, asked.leak_limit))
    if asked.snapshot and not state.updates:
        problems += _compare(item, line, recording)
    return [*problems, *_write_report(state, item, recording)] if problems else []


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


def _limits(state: State, marks: list[pytest.Mark]) -> list[tuple[int, str, int | None]]:
    """Size, of what, and device of each limit; that of the suite where the test has none."""
    if not marks:
        return [(state.limit, "peak", None)] if state.limit is not None else []
    found = []
    for mark in marks:
        given: dict[str, Any] = {**dict(zip(("size",), mark.args, strict=False)), **mark.kwargs}
        of, device = given.pop("of", "peak"), given.pop("device", None)
        if of not in ("peak", "allocated", "end"):
            raise ValueError(f"limit_hbm(of={of!r}): it is peak, allocated or end")
        if set(given) != {"size"}:
            raise TypeError(f"limit_hbm takes a size, device and of, not {sorted(given)}")
        found.append((budgets.size(given["size"]), of, device))
    return found


def _leak_limit(mark: pytest.Mark) -> tuple[int, int]:
    names = ("size", "warmups")
    given: dict[str, Any] = {**dict(zip(names, mark.args, strict=False)), **mark.kwargs}
    limit, warmups = budgets.size(given.pop("size", 0)), given.pop("warmups", 1)
    if given or not isinstance(warmups, int) or warmups < 0:
        raise TypeError("limit_hbm_leaks takes a size, and warmups as a number")
    return limit, warmups


def _settle() -> None:
    """Waits for what the test has begun, so that it counts here and not in the next one."""
    for array in sys.modules["jax"].live_arrays():
        if not array.is_deleted():
            array.block_until_ready()


def _over(recording: Recording, limit: int, of: str, device: int | None) -> str | None:
    """What is wrong with a test that took more than its limit."""
    numbers = {
        "peak": recording.peak,
        "allocated": recording.allocated,
        "end": recording.live,
    }
    origins = {
        "peak": recording.peak_by,
        "allocated": recording.allocated_by,
        "end": recording.live_by,
    }
    took = numbers[of](device)
    if took <= limit:
        return None
    where = "" if device is None else f" of device {device}"
    words = {"peak": "at its peak", "allocated": "in all", "end": "at its end"}[of]
    return "\n".join(
        [
            (
                f"the test took {took:,} bytes{where} {words}, {took - limit:,} more than its"
                f" limit of {limit:,}"
            ),
            *_origins(origins[of]("line", device)),
            *_before(recording),
        ]
    )


def _leak_text(recording: Recording, limit: int) -> str:
    from tpu_emu.holders import holders  # noqa: PLC0415 (for tests that fail)

    kept = recording.live_by("line")
    names = [holder for holder in holders() if holder.path][:5]
    return "\n".join(
        [
            f"{kept.size:,} bytes that the test took live behind it, its limit is {limit:,}",
            *_origins(kept),
            *(["arrays that live, and what keeps them:"] if names else []),
            *(f"  {holder}" for holder in names),
        ]
    )


def _origins(held: Any) -> list[str]:  # noqa: ANN401 (imported where it is used)
    rows = [f"  {row.size:>16,} B  {row.blocks:>5} x  {row.key}" for row in held.origins[:5]]
    left = held.origins[5:]
    if left:
        rows.append(f"  {sum(row.size for row in left):>16,} B  of {len(left)} other origins")
    return rows


def _before(recording: Recording) -> list[str]:
    held = recording.before_by("line")
    if not held.blocks:
        return []
    row = held.origins[0]
    return [
        (
            f"(not counted: {held.size:,} bytes of other tests, caches and fixtures lived before"
            f" it, {row.size:,} of them of {row.key})"
        ),
    ]


def _compare(item: pytest.Item, line: budgets.Line, recording: Recording) -> list[str]:
    """What is wrong with a test beside its line in the budget file."""
    state = item.config.stash[_STATE]
    mark = item.get_closest_marker("hbm_snapshot")
    try:
        allowed = state.tolerance
        if mark is not None and mark.kwargs.get("tolerance") is not None:
            allowed = budgets.tolerance(mark.kwargs["tolerance"])
        budget = state.budget(item.nodeid)
    except ValueError as why:
        return [str(why)]
    if budget is None and mark is None and line.peak == 0:
        return []
    problem = budgets.compare(line, budget, allowed, state.file.name)
    if problem is None:
        return []
    if state.mode == "review":
        item.user_properties.append((_SEEN + "_review", f"{item.nodeid}: {problem}"))
        return []
    return ["\n".join([problem, *_origins(recording.peak_by("line"))])]


def _write_report(state: State, item: pytest.Item, recording: Recording) -> list[str]:
    """Writes what was recorded, as a page where the command is there; says where it is."""
    if state.reports is None:
        return []
    from tpu_emu.test_report import write_report  # noqa: PLC0415 (for tests that fail)

    folder = Path(state.config.invocation_params.dir) / state.reports
    return [write_report(folder, item.nodeid, recording.data)]


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
                self.state.seen[report.nodeid] = budgets.Line.from_fields(str(value))
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
        state.told.append(budgets.update(state.file, old, state.seen, state.collected, whole=whole))
    except (OSError, ValueError) as why:
        state.told.append(f"{state.file} was not written: {why}")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:  # noqa: ANN401
    """Says what differs, and what was written."""
    state = config.stash[_STATE]
    if state.left_out:
        state.told.append(f"hbm_limit was left out: {state.left_out}")
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
        pytest.fail(missing, pytrace=False)
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()
    return devices


@pytest.fixture
def hbm() -> Generator[Recording, None, None]:
    """A recording of what the test takes: `tpu_emu.Recording`, which can be asked in the test."""
    if (missing := _missing_emulator()) is not None:
        pytest.fail(missing, pytrace=False)
    from tpu_emu.recording import record  # noqa: PLC0415 (for tests that ask)

    gc.collect()
    with record() as recording:
        yield recording
