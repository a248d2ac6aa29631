"""What markers ask of a test, and what is wrong with what it took."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from tpu_emu import budgets, sizes

if TYPE_CHECKING:
    from tpu_emu.recording import Recording
    from tpu_emu.records import Held

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

_WORDS = {"peak": "at its peak", "allocated": "in all", "end": "at its end"}


class MarkerError(ValueError):
    """What is wrong with the arguments of a marker, in words for the one who wrote it."""


@dataclass(frozen=True)
class Limit:
    """The bytes that a test may take of one device, or of the fullest."""

    size: int
    of: str = "peak"
    device: int | None = None


@dataclass(frozen=True)
class LeakLimit:
    """The bytes that may live behind a test, and how often it runs before."""

    size: int
    warmups: int


def limits_of(item: pytest.Item, of_suite: int | None) -> list[Limit]:
    """The limits of a test; that of the suite where it has none.

    Raises:
        MarkerError: for a marker with other arguments than it takes.
    """
    marks = list(item.iter_markers("limit_hbm"))
    if not marks:
        return [] if of_suite is None else [Limit(of_suite)]
    return [_bound(mark, _limit_hbm) for mark in marks]


def leak_limit_of(item: pytest.Item) -> LeakLimit | None:
    """The limit of what lives behind a test, if it has one.

    Raises:
        MarkerError: for a marker with other arguments than it takes.
    """
    mark = item.get_closest_marker("limit_hbm_leaks")
    return None if mark is None else _bound(mark, _limit_hbm_leaks)


def topology_of(item: pytest.Item) -> str | None:
    """The topology that a test asks for.

    Raises:
        MarkerError: for a marker with other arguments than it takes.
    """
    mark = item.get_closest_marker("tpu_topology")
    return None if mark is None else _bound(mark, _tpu_topology)


def tolerance_of(item: pytest.Item) -> budgets.Tolerance | None:
    """The tolerance that a test has for itself.

    Raises:
        MarkerError: for a marker with other arguments than it takes.
    """
    mark = item.get_closest_marker("hbm_snapshot")
    return None if mark is None else _bound(mark, _hbm_snapshot)


def _bound(mark: pytest.Mark, function: Callable[..., Any]) -> Any:  # noqa: ANN401 (its result)
    """What a function makes of a marker's arguments."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*mark.args, **mark.kwargs)
        return function(*bound.args, **bound.kwargs)
    except (TypeError, ValueError) as why:
        takes = ", ".join(str(part).split(":")[0] for part in signature.parameters.values())
        raise MarkerError(f"the marker {mark.name}({takes}): {why}") from None


def _limit_hbm(size: object, device: object = None, of: object = "peak") -> Limit:
    if not isinstance(of, str) or of not in _WORDS:
        raise ValueError(f"of={of!r}: it is peak, allocated or end")
    if device is not None and (isinstance(device, bool) or not isinstance(device, int)):
        raise ValueError(f"device={device!r}: it is the id of a device")
    return Limit(sizes.size(size), of, device)


def _limit_hbm_leaks(size: object = "0 B", warmups: object = 1) -> LeakLimit:
    if isinstance(warmups, bool) or not isinstance(warmups, int) or warmups < 0:
        raise ValueError(f"warmups={warmups!r}: it is a number from 0")
    return LeakLimit(sizes.size(size), warmups)


def _tpu_topology(name: object) -> str:
    from tpu_emu import native  # noqa: PLC0415 (for tests that ask)

    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: it is a text, such as v5p:2x2x1")
    native.module().check_topology(name)
    return name


def _hbm_snapshot(tolerance: object = None) -> budgets.Tolerance | None:
    return None if tolerance is None else budgets.tolerance(tolerance)


def over(recording: Recording, limit: Limit, root: Path) -> str | None:
    """What is wrong with a test that took more than its limit."""
    devices = recording.devices
    if limit.device is not None and limit.device not in devices:
        there = f"{min(devices)} to {max(devices)}" if devices else "none"
        return f"limit_hbm(device={limit.device}): there is none, the devices are {there}"
    number, by = {
        "peak": (recording.peak, recording.peak_by),
        "allocated": (recording.allocated, recording.allocated_by),
        "end": (recording.live, recording.live_by),
    }[limit.of]
    asked = devices if limit.device is None else (limit.device,)
    fullest = max(asked, key=number, default=None)
    took = 0 if fullest is None else number(fullest)
    if took <= limit.size:
        return None
    more = f"{took - limit.size:,} more than its limit of {limit.size:,}"
    return "\n".join(
        [
            f"the test took {took:,} bytes of TPU_{fullest} {_WORDS[limit.of]}, {more}",
            *origins(by("line", fullest), root),
            *_before(recording, root),
        ]
    )


def leaked(recording: Recording, limit: LeakLimit, root: Path) -> str | None:
    """What is wrong with a test behind which more lives than it may."""
    kept = recording.live_by("line")
    if kept.size <= limit.size:
        return None
    from tpu_emu.allocations import blocks_of  # noqa: PLC0415 (for tests that fail)
    from tpu_emu.holders import holders  # noqa: PLC0415 (for tests that fail)

    places = recording.live_places()
    names = holders(array for array in _arrays() if blocks_of(array) & places)
    left = names[5:]
    return "\n".join(
        [
            f"{kept.size:,} bytes that the test took live behind it, its limit is {limit.size:,}",
            *origins(kept, root),
            *(["what keeps them:"] if names else ["no array of Python has them"]),
            *(f"  {holder}" for holder in names[:5]),
            *([f"  and {len(left)} more arrays"] if left else []),
        ]
    )


def settle() -> None:
    """Waits for what a test has begun, so that it counts here and not in the next one."""
    for array in _arrays():
        # An array whose program failed raises: that is for the test to say.
        try:
            array.block_until_ready()
        except Exception as why:  # noqa: BLE001 (of any kind)
            _ = why


def _arrays() -> list[Any]:
    return [array for array in sys.modules["jax"].live_arrays() if not array.is_deleted()]


def origins(held: Held, root: Path) -> list[str]:
    """The largest origins, a line each; files inside of `root` are named from there."""
    rows = [
        f"  {row.size:>16,} B  {row.blocks:>5} x  {row.key.removeprefix(f'{root}/')}"
        for row in held.origins[:5]
    ]
    left = held.origins[5:]
    if left:
        rows.append(f"  {sum(row.size for row in left):>16,} B  of {len(left)} other origins")
    return rows


def _before(recording: Recording, root: Path) -> list[str]:
    held = recording.before_by("line")
    if not held.blocks:
        return []
    row = held.origins[0]
    return [
        (
            f"(not counted: {held.size:,} bytes of other tests, caches and fixtures lived before"
            f" it, {row.size:,} of them of {row.key.removeprefix(f'{root}/')})"
        ),
    ]


def fail(text: str) -> NoReturn:
    """Fails the test with a text alone."""
    __tracebackhide__ = True
    pytest.fail(text, pytrace=False)
