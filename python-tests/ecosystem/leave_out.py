"""A pytest plugin that leaves out the tests that a file names, one a line as reports name them.

The environment variable `LEAVE_OUT` is the file's path.
"""

import os
from pathlib import Path

import pytest


def reported(nodeid: str) -> str:
    """JUnit's name of a test: `folder.file.Class::test[1]` for `folder/file.py::Class::test[1]`."""
    path, bracket, parameters = nodeid.partition("[")
    file, *inside = path.split("::")
    module = file.removesuffix(".py").replace("/", ".")
    return ".".join([module, *inside[:-1]]) + f"::{inside[-1]}{bracket}{parameters}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the named ones."""
    named = set(Path(os.environ["LEAVE_OUT"]).read_text().splitlines())
    config.hook.pytest_deselected(items=[item for item in items if reported(item.nodeid) in named])
    items[:] = [item for item in items if reported(item.nodeid) not in named]
