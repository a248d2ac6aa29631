"""Tests that run in a process of their own, because a process has one TPU."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_REPORTS = "_TPU_EMULATOR_REPORTS"
"""The variable that names, to such a process, the file for its reports."""

_OF_THE_SESSION = {
    **dict.fromkeys(("--numprocesses", "-n", "--maxprocesses", "--dist", "--tx", "--px"), True),
    **dict.fromkeys(("--junitxml", "--junit-xml", "--report-log", "--html", "--log-file"), True),
    **dict.fromkeys(("--json-report-file", "--basetemp"), True),
    **dict.fromkeys(("-d", "-f", "--looponfail", "--pdb", "--trace"), False),
    "--hbm-snapshot-update": False,
}
"""Options that are for the whole session, or write a file of it; whether a value stands behind."""


def ran_in_fresh_process(
    item: pytest.Item, nextitem: pytest.Item | None, topology: str
) -> bool | None:
    """Runs a test in a process of its own and tells its reports; None in that process."""
    if _REPORTS in os.environ:
        return None
    config = item.config
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reports"
        environment = _environment() | {_REPORTS: str(file), "TPU_EMU_TOPOLOGY": topology}
        done = subprocess.run(  # noqa: S603 (pytest again)
            [*_command(item), "-o", f"cache_dir={folder}/cache"],
            cwd=config.invocation_params.dir,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=None if config.getoption("capture") == "no" else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        reports = [
            config.hook.pytest_report_from_serializable(config=config, data=told)
            for told in _told(file)
        ]
    if not any(report.when == "teardown" for report in reports):
        reports.append(_died(item, topology, done))
    for report in reports:
        report.nodeid = item.nodeid
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    # The fixtures of its module and its class that tests before it have left for it.
    item.session._setupstate.teardown_exact(nextitem)  # noqa: SLF001 (pytest has no other way)
    return True


def _environment() -> dict[str, str]:
    """The variables of a process whose TPU is the emulated one, whatever this one runs on."""
    environment = {"TPU_EMU": "1"} | dict(os.environ)
    platforms = environment.get("JAX_PLATFORMS", "")
    if platforms and "tpu" not in platforms.split(","):
        environment["JAX_PLATFORMS"] = f"tpu,{platforms}"
    return environment


def say_what_was_seen(report: pytest.TestReport) -> None:
    """In such a process, writes a report where the process that began it reads."""
    file = os.environ.get(_REPORTS)
    if file and _CONFIG:
        config = _CONFIG[0]
        data = config.hook.pytest_report_to_serializable(config=config, report=report)
        with Path(file).open("ab") as out:
            out.write(marshal.dumps(_plain(data)))


_NAME = pytest.StashKey[str]()


def remember_name(item: pytest.Item) -> None:
    """Notes the name of a test, behind which xdist may put that of its group."""
    item.stash[_NAME] = item.nodeid


def name_of(item: pytest.Item) -> str:
    """The name of a test, the same with xdist and without."""
    return item.stash.get(_NAME, item.nodeid)


_CONFIG: list[pytest.Config] = []


def remember(config: pytest.Config) -> None:
    """The session of this process."""
    _CONFIG[:] = [config]


def _told(file: Path) -> Iterator[Any]:
    """What was written of reports; the last may be cut off where the process died."""
    if not file.exists():
        return
    with file.open("rb") as reports:
        while True:
            try:
                yield marshal.load(reports)  # noqa: S302 (this package wrote it, a moment ago)
            except (EOFError, ValueError, TypeError):
                return


def _plain(data: Any) -> Any:  # noqa: ANN401 (what marshal takes)
    """A report's data with texts for what only its process has, such as a test's own objects."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    if isinstance(data, tuple):
        # Tuples stay tuples: pytest tells a skipped test by one.
        return tuple(_plain(value) for value in data)
    if data is None or type(data) in (bool, int, float, str, bytes):
        return data
    return str(data)


def _command(item: pytest.Item) -> list[str]:
    """Pytest for the one test, with the options of this session that are none of the whole."""
    config = item.config
    # Whoever started pytest without the current folder among the places of modules wants none.
    places = [] if os.getcwd() in sys.path or "" in sys.path else ["-P"]  # noqa: PTH109 (a text)
    command = [sys.executable, *places, "-m", "pytest", *_options(config)]
    # No path of pathlib: it changes the names of parameters that look like one.
    command += [f"{config.rootpath}/{name_of(item)}", f"--rootdir={config.rootpath}", "-q"]
    if config.inipath is not None:
        command += ["-c", str(config.inipath)]
    if config.pluginmanager.hasplugin("xdist"):
        command += ["-n", "0"]
    if config.pluginmanager.hasplugin("pytest_cov"):
        command.append("--no-cov")
    if config.getoption("--hbm-snapshot-update"):
        # Its numbers come in its report; the session that began it writes the file.
        command.append("--hbm-snapshot=review")
    return command


def _options(config: pytest.Config) -> list[str]:
    """What this session was given, without the tests and what is for the session as a whole."""
    given = [*map(str, config.invocation_params.args)]
    for test in config.option.file_or_dir or ():
        # Rather one that stands behind no option, whose value it might be.
        places = [at for at, argument in enumerate(given) if argument == test]
        places.sort(key=lambda at: not given[at - 1].startswith("-") if at else True)
        if places:
            del given[places[-1]]
    kept = []
    is_value = False
    for argument in given:
        name, _, value = argument.partition("=")
        if is_value:
            is_value = False
        elif name in _OF_THE_SESSION:
            is_value = _OF_THE_SESSION[name] and not value
        elif not argument.startswith("-n"):
            kept.append(argument)
    return kept


def _died(
    item: pytest.Item, topology: str, done: subprocess.CompletedProcess[str]
) -> pytest.TestReport:
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    told = "what it wrote stands above" if done.stdout is None else done.stdout
    text = f"the process of the test on {topology} ended early, with {how}:\n{told}"
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=text,
        when="call",
    )
