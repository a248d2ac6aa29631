"""Medians, ratios and tables of the benchmarks, and the page that they are written into."""

import blocks
import figures
import page
import pytest


def sample(scale: float) -> figures.Sample:
    """Numbers that are easy to divide."""
    return {
        "lower": 4 * scale,
        "compile": 2 * scale,
        "plugin": 2 * scale,
        "first": 3 * scale,
        "steady": 1 * scale,
        "peak": 100 * scale,
    }


def row(name: str, ours: list[figures.Sample], theirs: list[figures.Sample]) -> figures.Row:
    return {"family": "some", "name": name, "samples": {"tpu": ours, "cpu": theirs}}


def test_the_middle_is_the_median_of_each_number():
    first, second, third = sample(1), sample(5), sample(2)
    first["steady"] = 9
    found = figures.middle([first, second, third])
    assert found["lower"] == 8
    assert found["steady"] == 5


def test_the_nth_result_costs_all_before_it():
    assert figures.until(sample(1), 1) == 9
    assert figures.until(sample(1), 1000) == 9 + 999


def test_the_geometric_mean_of_a_ratio_and_its_inverse_is_1():
    assert figures.geometric_mean([4, 0.25]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.012345, "0.0123"), (1.0, "1.00"), (12.34, "12.3"), (1234.5, "1234")],
)
def test_three_digits_say_something(value, text):
    assert figures.significant(value) == text


def test_a_table_has_its_columns_under_one_another():
    assert figures.table(("what", "n"), [("a", "1"), ("long one", "1000")]).splitlines() == [
        "| what     |    n |",
        "| -------- | ---: |",
        "| a        |    1 |",
        "| long one | 1000 |",
    ]


def test_ratios_are_ours_over_theirs_and_the_worst_stands_first():
    ratios = figures.Ratios(
        [
            row("even", [sample(1)], [sample(1)]),
            row("slow", [sample(3)], [sample(1)]),
            row("slower", [sample(4)], [sample(1)]),
            {**row("broken", [], []), "error": "no"},
        ]
    )
    assert ratios.of("steady") == {"even": 1, "slow": 3, "slower": 4}
    assert list(ratios.beyond()) == ["slower", "slow"]
    assert ratios.until(10) == {"even": 1, "slow": 3, "slower": 4}


def test_a_workload_that_failed_keeps_its_line():
    broken: figures.Row = {**row("broken", [], []), "error": "tpu: refused"}
    assert "tpu: refused" in figures.workload_table([broken])


def test_a_missed_aim_says_so():
    run: blocks.WorkloadRun = {
        "machine": {},
        "rounds": 1,
        "minutes": 1,
        "rows": [row("slow", [sample(3)], [sample(1)])],
        "vectors": {},
    }
    lines = blocks.aims_block(run, None, None).splitlines()
    [steady] = [line for line in lines if "steady state, geometric mean" in line]
    assert [cell.strip() for cell in steady.split("|")[2:5]] == ["≤ 1", "3.00", "no"]


def test_a_step_on_many_devices_is_held_to_its_aims():
    def of(form: str, devices: int, compiled: float, step: float) -> figures.SliceRow:
        def one(factor: float) -> figures.SliceSample:
            numbers = {"compile": compiled * factor, "step": step * factor}
            return {"compile": numbers["compile"], "step": numbers["step"], "peak": 5, "losses": []}

        theirs: figures.SliceSample = {"compile": 100, "step": 10, "peak": 10, "losses": []}
        return {
            "form": form,
            "devices": devices,
            "samples": {"tpu": [one(2), one(1)], "cpu": [theirs]},
        }

    rows = [of("jit", 8, 8, 15), of("shard_map", 8, 4, 5), of("shard_map", 64, 9, 5)]
    run: blocks.SliceRun = {"machine": {}, "rounds": 2, "minutes": 1, "rows": rows, "off": 1e-6}
    lines = blocks.aims_block(None, None, None, run).splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")[2:5]] for line in lines]
    assert cells == [
        ["≤ 1", "1.50 (jit on 8)", "no"],
        ["≤ 0.1", "0.0900 (shard_map on 64)", "yes"],
        ["≤ 1", "0.500 (jit on 8)", "yes"],
        ["≤ 2", "2.25", "no"],
    ]
    table = figures.slice_table(rows).splitlines()
    assert [cell.strip() for cell in table[2].split("|")[1:3]] == [
        "jit, 8 devices",
        "8.00 / 100 (0.080)",
    ]


def test_each_kind_of_vectors_has_its_line():
    own = [row("even", [sample(1)], [sample(1)])]
    narrower = [row("slow", [sample(4)], [sample(1)]), row("even", [sample(1)], [sample(1)])]
    text = figures.vectors_table(own, {"avx2": narrower})
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]
    assert lines == [
        ["the machine's own", "1.00", "1.00", "1.00", "0 of 1", "1.00 (even)"],
        ["avx2", "2.00", "2.00", "2.00", "1 of 2", "4.00 (slow)"],
    ]


def test_a_suite_is_compared_by_the_tests_that_pass_on_both():
    ours: figures.SuiteRun = {
        "wall": 5,
        "processor": 4,
        "passed": {"a": 1, "b": 9},
        "durations": {"trace": [1], "lower": [2], "compile": [0.002, 0.004, 0.003]},
    }
    theirs: figures.SuiteRun = {
        "wall": 10,
        "processor": 8,
        "passed": {"a": 2, "c": 7},
        "durations": {"trace": [1], "lower": [1], "compile": [0.03]},
    }
    text = figures.suite_table([{"name": "one", "runs": {"tpu": ours, "cpu": theirs}}])
    cells = [cell.strip() for cell in text.splitlines()[-1].split("|")[1:-1]]
    assert cells == [
        "one",
        "5.00 / 10.0 (0.50)",
        "4.00 / 8.00 (0.50)",
        "1.00 / 2.00 (0.50)",
        "2 / 2",
        "3.00 / 2.00 (1.5)",
        "0.00900 / 0.0300 (0.30)",
        "3.00 / 30.0 (0.10)",
    ]


def test_growth_compares_the_largest_size_with_the_best_before_it():
    assert figures.growth({"10": 40, "100": 200, "1000": 4000}) == 2


def test_a_block_replaces_what_stood_between_its_markers():
    text = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n"
    once = page.between(text, "x", "new")
    assert once == "a\n<!-- x -->\n\nnew\n\n<!-- /x -->\nb\n"
    assert page.between(once, "x", "new") == once


def test_a_page_without_the_markers_is_an_error():
    with pytest.raises(ValueError, match="no <!-- x -->"):
        page.between("nothing", "x", "new")
