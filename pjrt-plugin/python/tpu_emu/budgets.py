"""The file of budgets: a line a test, sorted, which says what the test may take.

    tests/test_step.py::test_forward<TAB>8912896<TAB>524288<TAB>train.py:41 step

Peak, temporaries at the peak, and the largest origin, in bytes of a device's memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpu_emu.recording import Recording

_HEAD = "# test\tpeak\ttemporaries\tlargest origin (bytes; pytest --hbm-snapshot-update)\n"
_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")
_PER_CENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


def size(given: object) -> int:
    """Bytes of a number, or of a text such as `2 GiB`, `200 MB`, `4096`.

    Raises:
        ValueError: for what is no size.
    """
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        return given
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    if found is None or found[2].upper() not in _UNITS:
        raise ValueError(f"{given!r} is no size: 2 GiB, 200 MB, 512 KiB or a number of bytes")
    return round(float(found[1]) * _UNITS[found[2].upper()])


@dataclass(frozen=True)
class Tolerance:
    """What a budget may be passed by."""

    size: int = 0
    per_cent: float = 0.0

    def above(self, budget: int) -> int:
        """The most that passes."""
        return budget + self.size + int(budget * self.per_cent / 100)


def tolerance(given: object) -> Tolerance:
    """A size, or `1 %`.

    Raises:
        ValueError: for what is neither.
    """
    if isinstance(given, str) and (found := _PER_CENT.fullmatch(given)):
        return Tolerance(per_cent=float(found[1]))
    return Tolerance(size=size(given))


@dataclass(frozen=True)
class Line:
    """What a test took: the most at once, its temporaries then, and the largest origin of both."""

    peak: int
    temporaries: int
    largest: str

    @classmethod
    def of(cls, recording: Recording, root: Path) -> Line:
        """The line of what was recorded; files inside of `root` are named from there."""
        labels = recording.peak_by("label").origins
        temporaries = sum(row.size for row in labels if row.key.startswith("temporaries"))
        origins = recording.peak_by("line").origins
        largest = origins[0].key.removeprefix(f"{root}/") if origins else ""
        return cls(recording.peak(), temporaries, " ".join(largest.split()))

    def fields(self) -> str:
        """What stands behind the test's name."""
        return f"{self.peak}\t{self.temporaries}\t{self.largest}"

    @classmethod
    def from_fields(cls, text: str) -> Line:
        """The line of what stands behind a test's name.

        Raises:
            ValueError: where it is no such text.
        """
        peak, temporaries, largest = text.split("\t")
        return cls(int(peak), int(temporaries), largest)


Budgets = dict[str, Line]


def read(file: Path, *, conflicts: bool = False) -> Budgets:
    """The budgets in a file; none where there is no file.

    With `conflicts` the marks of a merge are left out, and the larger of two lines is taken.

    Raises:
        ValueError: for a line that is none, with its number.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    found: Budgets = {}
    for number, text in enumerate(lines, 1):
        if not text.strip() or text.startswith("#"):
            continue
        if text.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||")):
            if conflicts:
                continue
            raise ValueError(
                f"{file.name}:{number} has a merge that is not resolved: keep one line of each"
                " test, or run pytest --hbm-snapshot-update"
            )
        name, _, rest = text.partition("\t")
        try:
            line = Line.from_fields(rest)
        except ValueError:
            raise ValueError(f"{file.name}:{number} is no line of a budget: {text!r}") from None
        if name in found and not conflicts:
            raise ValueError(f"{file.name}:{number} has a second line for {name}")
        if name not in found or found[name].peak < line.peak:
            found[name] = line
    return found


def compare(line: Line, budget: Line | None, allowed: Tolerance, file: str) -> str | None:
    """What is wrong with what a test took; None where nothing is."""
    if budget is None:
        return (
            f"the test has no line in {file}; it took {line.peak:,} bytes at its peak:"
            " pytest --hbm-snapshot-update writes one"
        )
    most = allowed.above(budget.peak)
    if line.peak <= most:
        return None
    more = line.peak - budget.peak
    part = f" ({100 * more / budget.peak:.1f} %)" if budget.peak else ""
    moved = "" if line.largest == budget.largest else f", which was {budget.largest or 'none'}"
    return (
        f"the test took {line.peak:,} bytes at its peak, {more:,}{part} more than the"
        f" {budget.peak:,} of {file}, of which at most {most:,} pass; temporaries"
        f" {line.temporaries:,}, before {budget.temporaries:,}; largest origin"
        f" {line.largest or 'none'}{moved}"
    )


def update(file: Path, old: Budgets, seen: Budgets, collected: set[str], *, whole: bool) -> str:
    """Writes the budgets of what was seen; gives a sentence on it.

    Lines of tests that were not run stay. Those of tests that are gone go: of files that were
    collected as a whole, and of files that are not there.
    """
    files = {name.partition("::")[0] for name in collected}

    def is_gone(name: str) -> bool:
        of = name.partition("::")[0]
        if not (file.parent / of).exists():
            return True
        return whole and of in files and name not in collected

    kept = {name: line for name, line in old.items() if name in seen or not is_gone(name)}
    new = kept | {name: line for name, line in seen.items() if line.peak or name in old}
    text = _HEAD + "".join(f"{name}\t{new[name].fields()}\n" for name in sorted(new))
    written = file.with_name(file.name + ".new")
    written.write_text(text, encoding="utf-8")
    written.replace(file)
    changed = sum(old.get(name) != line for name, line in new.items())
    return f"{file.name}: {len(new)} tests, {changed} changed, {len(old) - len(kept)} gone"
