"""Medians, ratios and tables out of what was measured; knows nothing of JAX."""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NotRequired, TypedDict

PLATFORMS = ("tpu", "cpu")
# The results whose times are told: the first, the tenth and so on.
RESULTS = (1, 10, 100, 1000)
# What holds both platforms to vectors narrower than the machine's. XLA's backend knows none below
# those of SSE 4.2; ours then uses what every x86-64 has.
VECTORS = {
    "avx2": {"TPU_EMU_SIMD": "avx2", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
    "portable": {"TPU_EMU_SIMD": "portable", "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
}
# The columns of geometric means by vectors, and what counts as slow there.
VECTOR_KEYS = ("steady", "first", "compile")
VECTOR_BOUND = 1.5
# No workload's steady state may take more than this, times the CPU backend's.
BOUND = 2.5


class Sample(TypedDict):
    """One process's numbers of one workload: milliseconds, and MiB at the peak.

    `plugin` is the part of `compile` that is spent behind PJRT; on the CPU backend, all of it.
    """

    lower: float
    compile: float
    plugin: float
    first: float
    steady: float
    peak: float


class Row(TypedDict):
    """All samples of one workload, a list a platform, or why there are none."""

    family: str
    name: str
    samples: dict[str, list[Sample]]
    error: NotRequired[str]


def middle(samples: Sequence[Sample]) -> Sample:
    """The medians of the samples, number by number."""
    keys = samples[0].keys()
    return Sample(**{key: statistics.median(sample[key] for sample in samples) for key in keys})  # type: ignore[literal-required, typeddict-item]


def until(sample: Sample, result: int) -> float:
    """Milliseconds from the Python function to its n-th result."""
    return sample["lower"] + sample["compile"] + sample["first"] + (result - 1) * sample["steady"]


def geometric_mean(ratios: Iterable[float]) -> float:
    """The n-th root of the product.

    Raises:
        statistics.StatisticsError: there are none.
    """
    return statistics.geometric_mean(ratios)


def significant(value: float, digits: int = 3) -> str:
    """The value with so many digits that say something, and no exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def beside(ours: float, theirs: float) -> str:
    """Two numbers and their ratio, as a cell."""
    return f"{significant(ours)} / {significant(theirs)} ({significant(ours / theirs, 2)})"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns stand under one another in plain text too."""
    widths = [max(len(cell) for cell in column) for column in zip(headers, *rows, strict=True)]
    rule = ["-" * max(3, width - 1) + (":" if at else "-") for at, width in enumerate(widths)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    return "\n".join([line(headers), "| " + " | ".join(rule) + " |", *map(line, rows)])


class Ratios:
    """The ratios of all workloads that ran on both platforms, ours over the CPU backend's."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """Take the medians of the rows without an error."""
        self.pairs = {
            row["name"]: (middle(row["samples"]["tpu"]), middle(row["samples"]["cpu"]))
            for row in rows
            if "error" not in row
        }

    def of(self, key: str) -> dict[str, float]:
        """By name, of one number of the samples."""
        return {
            name: ours[key] / theirs[key]  # type: ignore[literal-required]
            for name, (ours, theirs) in self.pairs.items()
        }

    def until(self, result: int) -> dict[str, float]:
        """By name, of the time until the n-th result."""
        return {
            name: until(ours, result) / until(theirs, result)
            for name, (ours, theirs) in self.pairs.items()
        }

    def beyond(self, bound: float = BOUND) -> dict[str, float]:
        """The steady states over the bound, worst first."""
        found = {name: ratio for name, ratio in self.of("steady").items() if ratio > bound}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


HEADERS = (
    "workload",
    "lower ms",
    "compile ms",
    "plugin's own",
    "first call ms",
    "steady ms",
    *(f"until {n}" for n in RESULTS),
    "peak MiB",
)


def workload_table(rows: Sequence[Row]) -> str:
    """A line a workload, each cell ours / the CPU backend's (ratio), or the ratio alone."""
    return table(HEADERS, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    if "error" in row:
        return [row["name"], row["error"], *[""] * (len(HEADERS) - 2)]
    ours, theirs = (middle(row["samples"][platform]) for platform in PLATFORMS)
    return [
        row["name"],
        beside(ours["lower"], theirs["lower"]),
        beside(ours["compile"], theirs["compile"]),
        significant(ours["plugin"]),
        beside(ours["first"], theirs["first"]),
        beside(ours["steady"], theirs["steady"]),
        *(significant(until(ours, n) / until(theirs, n), 2) for n in RESULTS),
        beside(ours["peak"], theirs["peak"]),
    ]


def summary_table(ratios: Ratios) -> str:
    """Geometric means, medians and the worst of each column."""
    columns = {
        "lower": ratios.of("lower"),
        "compile": ratios.of("compile"),
        "plugin's own compile over the CPU backend's": ratios.of("plugin"),
        "first call": ratios.of("first"),
        "steady state": ratios.of("steady"),
        **{f"until result {n}": ratios.until(n) for n in RESULTS},
        "peak of memory": ratios.of("peak"),
    }
    rows = []
    for name, found in columns.items():
        worst = max(found, key=lambda workload: found[workload])
        values = list(found.values())
        rows.append(
            [
                name,
                significant(geometric_mean(values)),
                significant(statistics.median(values)),
                f"{significant(found[worst])} ({worst})",
            ]
        )
    return table(("ratio to the CPU backend", "geometric mean", "median", "worst"), rows)


def vectors_table(own: Sequence[Row], narrower: dict[str, list[Row]]) -> str:
    """A line for each kind of vectors, the machine's own first."""
    lines = []
    for name, rows in {"the machine's own": own, **narrower}.items():
        ratios = Ratios(rows)
        steady = ratios.of("steady")
        worst = max(steady, key=lambda workload: steady[workload])
        lines.append(
            [
                name,
                *(significant(geometric_mean(ratios.of(of).values())) for of in VECTOR_KEYS),
                f"{sum(ratio > VECTOR_BOUND for ratio in steady.values())} of {len(steady)}",
                f"{significant(steady[worst])} ({worst})",
            ]
        )
    headers = (
        "vectors of both",
        "steady state",
        "first call",
        "compile",
        f"steady beyond {VECTOR_BOUND}",
        "worst steady",
    )
    return table(headers, lines)


class SuiteRun(TypedDict):
    """Of one process of tests.

    Attributes:
        wall: seconds from its start to its end.
        processor: the same of all its threads.
        passed: seconds of each test that has passed.
        durations: seconds of each program that JAX has traced, lowered and compiled.
    """

    wall: float
    processor: float
    passed: dict[str, float]
    durations: dict[str, list[float]]


class SuiteRow(TypedDict):
    """A test file, or a project's suite, on each platform."""

    name: str
    runs: dict[str, SuiteRun]


SUITE_HEADERS = (
    "suite",
    "wall s",
    "processor s",
    "s of tests that pass on both",
    "tests passed",
    "tracing, lowering s",
    "compiling s",
    "a compilation, median ms",
)


def suite_table(rows: Sequence[SuiteRow]) -> str:
    """A line a suite, ours / the CPU backend's (ratio), and one of the sums."""
    cells = [_suite_cells(row["name"], [row]) for row in rows]
    if len(rows) > 1:
        cells.append(_suite_cells("all of them", rows))
    return table(SUITE_HEADERS, cells)


def wall(rows: Iterable[SuiteRow], platform: str) -> float:
    """Wall seconds of all."""
    return sum(row["runs"][platform]["wall"] for row in rows)


def _suite_cells(name: str, rows: Sequence[SuiteRow]) -> list[str]:
    ours, theirs = ([row["runs"][platform] for row in rows] for platform in PLATFORMS)
    both = [a["passed"].keys() & b["passed"].keys() for a, b in zip(ours, theirs, strict=True)]
    shared = [
        sum(run["passed"][test] for run, tests in zip(runs, both, strict=True) for test in tests)
        for runs in (ours, theirs)
    ]
    passed = [str(sum(len(run["passed"]) for run in runs)) for runs in (ours, theirs)]
    return [
        name,
        beside(wall(rows, "tpu"), wall(rows, "cpu")),
        beside(*(sum(run["processor"] for run in runs) for runs in (ours, theirs))),
        _beside(*shared),
        " / ".join(passed),
        _beside(*(spent(runs, "trace", "lower") for runs in (ours, theirs))),
        _beside(*(spent(runs, "compile") for runs in (ours, theirs))),
        _beside(*(compilation_ms(runs) for runs in (ours, theirs))),
    ]


def spent(runs: Iterable[SuiteRun], *kinds: str) -> float:
    """Seconds of the kinds of work, of all programs."""
    return sum(sum(run["durations"].get(kind, ())) for run in runs for kind in kinds)


def compilation_ms(runs: Iterable[SuiteRun]) -> float:
    """The median of all programs, 0 where there are none."""
    all_s = [seconds for run in runs for seconds in run["durations"].get("compile", ())]
    return statistics.median(all_s) * 1e3 if all_s else 0


def _beside(ours: float, theirs: float) -> str:
    return beside(ours, theirs) if ours and theirs else ""


class GrowthRow(TypedDict):
    """Seconds by series (the platforms, and `plugin` for its own part) and by size."""

    name: str
    seconds: dict[str, dict[str, float]]


class GrowthRun(TypedDict):
    """Calls by the number of elements, compilations by the number of operations."""

    data: list[GrowthRow]
    programs: list[GrowthRow]


def each(seconds: dict[str, float]) -> list[float]:
    """Seconds for one of them, size by size."""
    return [value / int(size) for size, value in seconds.items()]


def growth(seconds: dict[str, float]) -> float:
    """Time for one at the largest size, over the least for one at a smaller size."""
    values = each(seconds)
    return values[-1] / min(values[:-1], default=values[-1])


def growth_table(rows: Sequence[GrowthRow], of: str, unit: float) -> str:
    """A line a program and series: time for one, with the unit as so many a second."""
    sizes = list(
        dict.fromkeys(size for row in rows for one in row["seconds"].values() for size in one)
    )
    lines = [
        [
            row["name"],
            {"tpu": "plugin, in JAX", "cpu": "CPU backend", "plugin": "plugin alone"}[series],
            *(
                significant(seconds[size] / int(size) * unit) if size in seconds else ""
                for size in sizes
            ),
            significant(growth(seconds), 2),
        ]
        for row in rows
        for series, seconds in row["seconds"].items()
    ]
    headers = (of, "on", *(f"{int(size):,}" for size in sizes), "last / best before")
    return table(headers, lines)


class SliceSample(TypedDict):
    """One process's numbers of a step on many devices.

    Attributes:
        compile: milliseconds of processor time.
        step: the same of a step.
        peak: MiB of the process.
        losses: of the steps.
    """

    compile: float
    step: float
    peak: float
    losses: list[float]


class SliceRow(TypedDict):
    """All samples of one form of the step on so many devices, a list a platform."""

    form: str
    devices: int
    samples: dict[str, list[SliceSample]]


SLICE_KEYS = ("compile", "step", "peak")


def least(row: SliceRow, platform: str, key: str) -> float:
    """The least of the samples."""
    return min(sample[key] for sample in row["samples"][platform])  # type: ignore[literal-required]


def slice_ratios(rows: Sequence[SliceRow], key: str) -> dict[str, float]:
    """By form and devices, ours over the CPU backend's."""
    ours, theirs = PLATFORMS
    return {
        f"{row['form']} on {row['devices']}": least(row, ours, key) / least(row, theirs, key)
        for row in rows
    }


def slice_table(rows: Sequence[SliceRow]) -> str:
    """A line a form and number of devices, ours / the CPU backend's (ratio)."""
    lines = [
        [
            f"{row['form']}, {row['devices']} devices",
            *(beside(*(least(row, platform, key) for platform in PLATFORMS)) for key in SLICE_KEYS),
        ]
        for row in rows
    ]
    return table(("step", "compile, processor ms", "step, processor ms", "peak MiB"), lines)
