"""The file of budgets: a line a test, sorted, which says what the test may take.

    tests/test_step.py::test_forward<TAB>8912896<TAB>524288<TAB>train.py:41 step

Peak, temporaries at the peak, and the largest origin, in bytes of a device's memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_emu.sizes import size

if TYPE_CHECKING:
    from tpu_emu.recording import Recording

_HEAD = "# test\tpeak\ttemporaries\tlargest origin (bytes; pytest --hbm-snapshot-update)\n"
_NUMBER = re.compile(r":[0-9]+ ")
_PER_CENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


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

    def is_moved(self, other: Line) -> bool:
        """Whether both say the same but for the number of the line."""

        def same(line: Line) -> tuple[int, int, str]:
            return line.peak, line.temporaries, _NUMBER.sub(": ", line.largest)

        return same(self) == same(other)

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
    except UnicodeDecodeError as why:
        raise ValueError(f"{file.name} is no text of UTF-8, at byte {why.start}") from None
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


@dataclass(frozen=True)
class Collected:
    """The tests that a session found: names below a folder, and whether of whole files."""

    root: Path
    names: set[str]
    whole: bool

    def lacks(self, name: str) -> bool:
        """Whether a test is gone, as far as the session can know."""
        of = name.partition("::")[0]
        if not (self.root / of).exists():
            return True
        files = {name.partition("::")[0] for name in self.names}
        return self.whole and of in files and name not in self.names


def update(file: Path, old: Budgets, seen: Budgets, collected: Collected) -> str:
    """Writes the budgets of what was seen; gives a sentence on it.

    Lines of tests that were not run stay. Those of tests that are gone go: of files that were
    collected as a whole, and of files that are not there. A line whose origin has only moved within
    its file stays as it is.
    """
    kept = {name: line for name, line in old.items() if name in seen or not collected.lacks(name)}
    new = kept | {
        name: line
        for name, line in seen.items()
        if (line.peak or name in old) and not (name in old and line.is_moved(old[name]))
    }
    text = _HEAD + "".join(f"{name}\t{new[name].fields()}\n" for name in sorted(new))
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_name(file.name + ".new")
    written.write_text(text, encoding="utf-8")
    written.replace(file)
    changed = sum(old.get(name) != line for name, line in new.items())
    tests = "1 test" if len(new) == 1 else f"{len(new)} tests"
    return f"{file.name}: {tests}, {changed} changed, {len(old) - len(kept)} gone"
