"""Tests that run in a process of their own, because a process has one TPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

_REPORTS = "_TPU_EMULATOR_REPORTS"
"""The variable that names, to such a process, the file for its reports."""


def ran_in_fresh_process(item: pytest.Item, topology: str) -> bool | None:
    """Runs a test in a process of its own and tells its reports; None in that process."""
    if _REPORTS in os.environ:
        return None
    config = item.config
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reports"
        environment = os.environ | {_REPORTS: str(file), "TPU_EMU_TOPOLOGY": topology}
        done = subprocess.run(  # noqa: S603 (pytest again)
            _command(item),
            cwd=config.invocation_params.dir,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        told = file.read_text().splitlines() if file.exists() else []
    reports = [
        config.hook.pytest_report_from_serializable(config=config, data=json.loads(line))
        for line in told
    ]
    if not any(report.when == "teardown" for report in reports):
        reports.append(_died(item, topology, done))
    for report in reports:
        report.nodeid = item.nodeid
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def say_what_was_seen(report: pytest.TestReport) -> None:
    """In such a process, writes a report where the process that began it reads."""
    file = os.environ.get(_REPORTS)
    if file and _CONFIG:
        config = _CONFIG[0]
        data: Any = config.hook.pytest_report_to_serializable(config=config, report=report)
        with Path(file).open("a") as out:
            out.write(json.dumps(data) + "\n")


_CONFIG: list[pytest.Config] = []


def remember(config: pytest.Config) -> None:
    """The session of this process."""
    _CONFIG[:] = [config]


def _command(item: pytest.Item) -> list[str]:
    config = item.config
    nodeid = str(config.rootpath / item.nodeid)
    command = [sys.executable, "-m", "pytest", nodeid, f"--rootdir={config.rootpath}", "-q"]
    if config.inipath is not None:
        command += ["-c", str(config.inipath)]
    if config.pluginmanager.hasplugin("xdist"):
        command += ["-n", "0"]
    if mode := config.getoption("hbm_snapshot"):
        command.append("--hbm-snapshot" if mode == "check" else "--hbm-snapshot=review")
    if config.getoption("--hbm-snapshot-update"):
        # Its numbers come in its report; the session that began it writes the file.
        command.append("--hbm-snapshot=review")
    if folder := config.getoption("--hbm-report"):
        command.append(f"--hbm-report={folder}")
    return command


def _died(
    item: pytest.Item, topology: str, done: subprocess.CompletedProcess[str]
) -> pytest.TestReport:
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    text = f"the process of the test on {topology} ended early, with {how}:\n{done.stdout}"
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=text,
        when="call",
    )
