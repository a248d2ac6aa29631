"""A pytest plugin: writes how long JAX has traced, lowered and compiled, program by program.

The file of the variable `BENCH_DURATIONS` gets seconds in lists, by the kind of work.
"""

import json
import os
from pathlib import Path

import jax
import pytest

KINDS = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
FOUND: dict[str, list[float]] = {kind: [] for kind in KINDS.values()}


def note(event: str, duration_secs: float, **_: str | int) -> None:
    """Keep an event of the kinds that are asked for."""
    if event in KINDS:
        FOUND[KINDS[event]].append(duration_secs)


@pytest.hookimpl
def pytest_configure() -> None:
    """Listen from the beginning."""
    jax.monitoring.register_event_duration_secs_listener(note)


@pytest.hookimpl
def pytest_unconfigure() -> None:
    """Write what was heard."""
    Path(os.environ["BENCH_DURATIONS"]).write_text(json.dumps(FOUND))
