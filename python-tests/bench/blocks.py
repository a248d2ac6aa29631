"""What the page shows of each run, and the aims beside what was reached."""

import statistics
from collections.abc import Iterable
from typing import TypedDict

from figures import (
    BOUND,
    PLATFORMS,
    GrowthRun,
    Ratios,
    Row,
    SliceRow,
    SuiteRow,
    compilation_ms,
    geometric_mean,
    growth,
    growth_table,
    least,
    significant,
    slice_ratios,
    slice_table,
    suite_table,
    summary_table,
    table,
    vectors_table,
    wall,
    workload_table,
)


class WorkloadRun(TypedDict):
    """A run of all workloads.

    Attributes:
        machine: what the numbers depend on besides the code.
        rounds: processes a workload and platform.
        minutes: how long it took in all.
        rows: by the machine's own vectors.
        vectors: by narrower ones, a process each.
    """

    machine: dict[str, str]
    rounds: int
    minutes: float
    rows: list[Row]
    vectors: dict[str, list[Row]]


class SliceRun(TypedDict):
    """A run of the step on many devices.

    Attributes:
        machine: what the numbers depend on besides the code.
        rounds: processes a row and platform.
        minutes: how long it took in all.
        rows: by form and number of devices.
        off: how far a loss was from that of one device, at most.
    """

    machine: dict[str, str]
    rounds: int
    minutes: float
    rows: list[SliceRow]
    off: float


def workloads_block(run: WorkloadRun) -> str:
    """The summary, then a table a family."""
    machine = run["machine"]
    ratios = Ratios(run["rows"])
    parts = [
        (
            f"{machine['processor']}, {machine['cores']} cores, JAX {machine['jax']}; "
            f"{len(run['rows'])} workloads, {run['rounds']} processes each on each platform, "
            f"{run['minutes']:.0f} minutes in all."
        ),
        summary_table(ratios),
        beyond_line(ratios),
        "Geometric means where both are held to narrower vectors, of a process each:",
        vectors_table(run["rows"], run["vectors"]),
    ]
    for family, members in by_family(run["rows"]).items():
        parts += [f"### {family[0].upper()}{family[1:]}", workload_table(members)]
    return "\n\n".join(parts)


def beyond_line(ratios: Ratios) -> str:
    """Which steady states are over the bound."""
    beyond = [f"{name} ({significant(ratio)})" for name, ratio in ratios.beyond().items()]
    told = f"Steady states beyond {BOUND}: {len(beyond)} of {len(ratios.pairs)}"
    return f"{told}: {', '.join(beyond)}." if beyond else f"{told}."


def by_family(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each family, in the order of the first of each."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["family"], []).append(row)
    return found


def suites_block(rows: list[SuiteRow]) -> str:
    """A line a suite."""
    return suite_table(rows)


def growth_block(run: GrowthRun) -> str:
    """A table for data, one for programs."""
    return "\n\n".join(
        [
            growth_table(run["data"], "ns an element", 1e9),
            growth_table(run["programs"], "µs of compilation an operation", 1e6),
        ]
    )


def slices_block(run: SliceRun) -> str:
    """A line a form of the step and number of devices."""
    machine = run["machine"]
    told = (
        f"{machine['processor']}, {machine['cores']} cores, JAX {machine['jax']}; the least of "
        f"{run['rounds']} processes each on each platform, {run['minutes']:.0f} minutes in all. "
        f"Every loss is within {run['off']:.1e} of that of one device."
    )
    return f"{told}\n\n{slice_table(run['rows'])}"


def aims_block(
    workloads: WorkloadRun | None,
    suites: list[SuiteRow] | None,
    grown: GrowthRun | None,
    slices: SliceRun | None = None,
) -> str:
    """A line an aim."""
    lines = [
        *(_workload_aims(Ratios(workloads["rows"])) if workloads else []),
        *(_slice_aims(slices["rows"]) if slices else []),
        *(_suite_aims(suites) if suites else []),
        *(_growth_aims(grown) if grown else []),
    ]
    return table(("what, ours over the CPU backend's", "aim", "reached", "met"), lines)


def _line(what: str, aim: float, reached: float, note: str = "") -> list[str]:
    told = f"{reached}" if isinstance(reached, int) else significant(reached)
    return [what, f"≤ {aim:g}", f"{told}{note}", "yes" if reached <= aim else "no"]


def _workload_aims(ratios: Ratios) -> list[list[str]]:
    compiles, peaks, own = ratios.of("compile"), ratios.of("peak"), ratios.of("plugin")
    beyond, heavy = len(ratios.beyond()), sum(ratio > 1.1 for ratio in peaks.values())
    slowest = max(compiles, key=lambda name: compiles[name])
    around = [ours["compile"] - ours["plugin"] for ours, _ in ratios.pairs.values()]
    first = geometric_mean(ratios.until(1).values())
    return [
        _line(
            "compile, median of the workloads",
            1 / 50,
            statistics.median(compiles.values()),
            f" ({significant(statistics.median(around))} ms outside of the plugin)",
        ),
        _line("the plugin's own part of it, median", 1 / 50, statistics.median(own.values())),
        _line("compile, the worst", 1, compiles[slowest], f" ({slowest})"),
        _line("steady state, geometric mean", 1, geometric_mean(ratios.of("steady").values())),
        _line(f"steady states beyond {BOUND}", 0, beyond, f" of {len(ratios.pairs)}"),
        _line("until the first result, geometric mean", 1 / 5, first),
        _line("peak of memory, the worst", 1.1, max(peaks.values()), f" ({heavy} beyond 1.1)"),
    ]


def _slice_aims(rows: list[SliceRow]) -> list[list[str]]:
    lines = []
    for what, key, aim in (
        ("step on many devices, processor time", "step", 1.0),
        ("compile of it, processor time", "compile", 0.1),
        ("peak of memory of it", "peak", 1.0),
    ):
        ratios = slice_ratios(rows, key)
        worst = max(ratios, key=lambda name: ratios[name])
        lines.append(_line(f"{what}, the worst", aim, ratios[worst], f" ({worst})"))
    per_device = [row for row in rows if row["form"] == "shard_map"]
    first, last = (least(row, "tpu", "compile") for row in (per_device[0], per_device[-1]))
    what = "compile in `shard_map`, the most devices over the fewest"
    return [*lines, _line(what, 2, last / first)]


def _suite_aims(rows: list[SuiteRow]) -> list[list[str]]:
    jax = [row for row in rows if row["name"].startswith("jax ")]
    lines = []
    if jax:
        lines.append(
            _line("JAX's test files, wall time", 0.45, wall(jax, "tpu") / wall(jax, "cpu"))
        )
        ours, theirs = (compilation_ms([row["runs"][it] for row in jax]) for it in PLATFORMS)
        if theirs:
            lines.append(_line("compile, median of JAX's test programs", 1 / 50, ours / theirs))
    return lines + [
        [
            f"{row['name']}'s tests, wall time",
            "shown",
            significant(wall([row], "tpu") / wall([row], "cpu")),
            "",
        ]
        for row in rows
        if row not in jax
    ]


def _growth_aims(run: GrowthRun) -> list[list[str]]:
    lines = []
    for what, rows, series in (
        ("time an element", run["data"], "tpu"),
        ("compile an operation", run["programs"], "plugin"),
    ):
        for row in rows:
            ours = growth(row["seconds"][series])
            theirs = row["seconds"].get("cpu", {})
            note = f" (CPU backend: {significant(growth(theirs), 2)})" if len(theirs) > 1 else ""
            lines.append(
                [f"growth of {what}: {row['name']}", "flat", f"{significant(ours, 2)}{note}", ""]
            )
    return lines
